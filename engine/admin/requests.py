"""Admin requests as a recording names them: what was asked, about which topic, namespace or bundle."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import parse_qsl, unquote

from engine.errors import Rejection
from engine.names import parse_topic_name, refuse_namespace

_DOMAINS = ("persistent", "non-persistent")
TOPIC_POLICIES: Final = (
    "maxUnackedMessagesOnConsumer",
    "maxUnackedMessagesOnSubscription",
    "dispatchRate",
    "subscriptionDispatchRate",
    "delayedDelivery",
    "backlogQuotaMap",
)
"""Policies of a topic that say why nothing arrives; with ``?applied=true`` their answer is the limit in force."""
ANTI_AFFINITY: Final = "antiAffinity"
"""The group of a namespace: plain text, and nothing at all for a namespace without one."""
_LONGEST_RELEASE: Final = 64
_RELEASE: Final = re.compile(r"\d{1,4}\.\d{1,4}[-.\w]*")
_MIRRORED: Final = re.compile(r"(?:^|/)((?:admin|lookup)/v2/.+?)\.json(?:\.gz)?$")


@dataclass(frozen=True, slots=True)
class AdminRequest:
    """One request. ``what`` names the resource (``stats``, ``bundles``, ``split`` …), "" if unknown.

    ``topic`` is a full name, ``namespace`` is ``tenant/namespace``, ``bundle`` the range text or ``LARGEST``/``HOT``,
    ``setting`` the dynamic setting, the anti-affinity group or the failure domain it is about, ``broker`` the id of the
    one a list of owned bundles is about.
    ``fault`` says what is wrong with the topic or the namespace, which are "" then.
    """

    method: str
    what: str
    topic: str = ""
    namespace: str = ""
    bundle: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    setting: str = ""
    broker: str = ""
    fault: str = ""

    @property
    def leaves_out(self) -> bool:
        """Whether an answer lacks consumers or publishers because it was asked so."""
        return "true" in (
            self.query.get("excludeConsumers", "").lower(),
            self.query.get("excludePublishers", "").lower(),
        )


def parse_request(text: str) -> AdminRequest:
    """Read ``GET /admin/v2/persistent/t/n/x/stats``; what is not known here has ``what == ""``.

    >>> parse_request("GET /admin/v2/persistent/t/n/a%20b/stats").topic
    'persistent://t/n/a b'
    >>> parse_request("PUT /admin/v2/namespaces/t/n/LARGEST/split?splitAlgorithmName=x").bundle
    'LARGEST'
    """
    found = _parsed(text)
    refusal = refuse_namespace(found.namespace) if found.namespace else None
    if refusal is None and found.topic:
        read = parse_topic_name(found.topic)
        refusal = read if isinstance(read, Rejection) else None
    return found if refusal is None else replace(found, topic="", namespace="", fault=refusal.message)


def _parsed(text: str) -> AdminRequest:
    method, _, target = text.strip().partition(" ")
    if not target:
        method, target = "GET", method
    path, _, query_text = target.partition("?")
    query = dict(parse_qsl(query_text, keep_blank_values=True))
    parts = [unquote(part) for part in path.strip("/").split("/")]
    match parts:
        case ["admin", "v2", "clusters", _, *rest]:
            return _about_cluster(method, rest, query)
        case ["admin", "v2", "namespaces", tenant, name, *rest]:
            return _about_namespace(method, f"{tenant}/{name}", rest, query)
        case ["admin", "v2", domain, tenant, name, *rest] if domain in _DOMAINS:
            return _about_topics(method, domain, f"{tenant}/{name}", rest, query)
        case ["admin", "v2", "broker-stats", "topics" | "destinations"]:
            return AdminRequest(method, "broker-stats-topics", query=query)
        case ["admin", "v2", "broker-stats", what]:
            return AdminRequest(method, what, query=query)
        case ["admin", "v2", "brokers", "configuration", setting, _] if method in ("POST", "PUT"):
            return AdminRequest(method, "dynamic-configuration", query=query, setting=setting)
        case ["admin", "v2", "brokers", "configuration", "runtime"]:
            return AdminRequest(method, "runtime-configuration", query=query)
        case ["admin", "v2", "brokers", "configuration", "values"]:
            return AdminRequest(method, "dynamic-values", query=query)
        case ["admin", "v2", "brokers", "version"]:
            return AdminRequest(method, "version", query=query)
        case ["admin", "v2", "brokers", _, broker, "ownedNamespaces"]:
            return AdminRequest(method, "ownedNamespaces", query=query, broker=broker)
        case ["lookup", "v2", "topic", domain, tenant, name, topic, *rest]:
            full = f"{domain}://{tenant}/{name}/{topic}"
            return AdminRequest(method, "lookup-bundle" if rest == ["bundle"] else "lookup", full, f"{tenant}/{name}")
    return AdminRequest(method, "", query=query)


def request_of_path(name: str) -> AdminRequest | None:
    """What a file answers by its place in a mirror of the admin API; None outside of one. A query follows after ``@``.

    >>> request_of_path("2026-11-22T09-48-07Z/admin/v2/persistent/t/n/x/stats@getPreciseBacklog=true.json").topic
    'persistent://t/n/x'
    """
    match = _MIRRORED.search(name)
    if match is None:
        return None
    folder, _, last = match[1].rpartition("/")
    return parse_request(f"GET /{folder}/{last.replace('@', '?', 1)}")


def release_text(data: bytes) -> str:
    """A release as brokers print it, in plain text; "" for another text.

    >>> release_text(b"4.2.4"), release_text(b"<html>")
    ('4.2.4', '')
    """
    text = data[:_LONGEST_RELEASE].decode("utf-8", "replace").strip().strip('"')
    return text if _RELEASE.fullmatch(text) else ""


def _about_cluster(method: str, rest: list[str], query: Mapping[str, str]) -> AdminRequest:
    match rest:
        case ["namespaceIsolationPolicies" | "failureDomains" as what]:
            return AdminRequest(method, what, query=query)
        case ["failureDomains", domain]:
            return AdminRequest(method, "failureDomains", query=query, setting=domain)
    return AdminRequest(method, "", query=query)


def _about_namespace(method: str, namespace: str, rest: list[str], query: Mapping[str, str]) -> AdminRequest:
    if namespace.endswith("/antiAffinity") and len(rest) == 1 and ("tenant" in query or "property" in query):
        return AdminRequest(method, "antiAffinity-namespaces", query=query, setting=rest[0])  # of a cluster
    match rest:
        case []:
            return AdminRequest(method, "policies" if method == "GET" else "namespace", "", namespace, "", query)
        case ["bundles" | "antiAffinity" as what]:
            return AdminRequest(method, what, "", namespace, "", query)
        case [bundle, "split" | "unload" | "topicHashPositions" as what]:
            return AdminRequest(method, what, "", namespace, bundle, query)
    return AdminRequest(method, "", "", namespace, "", query)


def _about_topics(method: str, domain: str, namespace: str, rest: list[str], query: Mapping[str, str]) -> AdminRequest:
    match rest:
        case []:
            return AdminRequest(method, "topic-list", "", namespace, query.get("bundle", ""), query)
        case ["partitioned"] if method == "GET":
            return AdminRequest(method, "partitioned-list", "", namespace, "", query)
        case [bundle] if method == "GET" and bundle.startswith("0x"):
            return AdminRequest(method, "topic-list", "", namespace, bundle, query)
        case [topic]:
            return AdminRequest(method, "topic", f"{domain}://{namespace}/{topic}", namespace, "", query)
        case [topic, ("stats" | "partitioned-stats" | "internalStats" | "partitions") as what]:
            return AdminRequest(method, what, f"{domain}://{namespace}/{topic}", namespace, "", query)
        case [topic, "partitioned-internalStats"]:
            return AdminRequest(method, "partitioned-internalStats", f"{domain}://{namespace}/{topic}", namespace)
        case [topic, what] if what in TOPIC_POLICIES:
            return AdminRequest(method, what, f"{domain}://{namespace}/{topic}", namespace, "", query)
    return AdminRequest(method, "", "", namespace, "", query)
