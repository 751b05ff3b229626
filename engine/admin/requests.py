"""Admin requests of a recording, and the topic or namespace of answers that do not name theirs.

A recording's ``scenario.json`` names the request best; then the file name; then the neighbours in the folder.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Any, Final
from urllib.parse import parse_qsl, unquote

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from engine.config import DEFAULTS, BrokerSettings
from engine.errors import Problem, Rejection
from engine.names import NAMELESS, TopicName, parse_topic_name, refuse_namespace
from engine.reading.shapes import UNNAMED
from engine.text import moment_ms

_DOMAINS = ("persistent", "non-persistent")
TOPIC_POLICIES: Final = (
    "maxUnackedMessagesOnConsumer",
    "maxUnackedMessagesOnSubscription",
    "dispatchRate",
    "subscriptionDispatchRate",
    "delayedDelivery",
    "backlogQuotaMap",
    "maxProducers",
)
"""Policies of a topic that explain why nothing arrives; with ``?applied=true`` the answer is the limit in force."""
TOPIC_ANSWERS: Final = (*TOPIC_POLICIES, "retention", "messageTTL", "subscriptions")
"""Answers about a topic that only the request tells from other JSON; ``record`` asks for the policies above."""
NAMESPACE_POLICIES: Final = {
    "backlogQuotaMap": "backlog_quota_map",
    "dispatchRate": "topicDispatchRate",
    "subscriptionDispatchRate": "subscriptionDispatchRate",
    "retention": "retention_policies",
    "messageTTL": "message_ttl_in_seconds",
    "subscriptionExpirationTime": "subscription_expiration_time_minutes",
    "maxUnackedMessagesPerConsumer": "max_unacked_messages_per_consumer",
    "maxUnackedMessagesPerSubscription": "max_unacked_messages_per_subscription",
    "maxProducersPerTopic": "max_producers_per_topic",
}
"""Policies of a namespace that are asked for alone, with their names in the whole."""
ANTI_AFFINITY: Final = "antiAffinity"
"""The group of a namespace: plain text, empty for a namespace without one."""
_LONGEST_RELEASE: Final = 64
_RELEASE: Final = re.compile(r"\d{1,4}\.\d{1,4}[-.\w]*")
_MIRRORED: Final = re.compile(r"(?:^|/)((?:admin|lookup)/v2/.+?)\.json(?:\.gz)?$")


class AdminRequest(msgspec.Struct, frozen=True):
    """One request. ``what`` names the resource (``stats``, ``bundles``, ``split`` …), "" if unknown.

    ``topic`` is a full name, ``namespace`` is ``tenant/namespace``, ``bundle`` the range text or ``LARGEST``/``HOT``,
    ``setting`` the dynamic setting, the anti-affinity group, the failure domain or the id of a segment, ``broker`` the
    id of the owner of listed bundles. ``fault`` says what is wrong with the topic or the namespace, which are "" then.
    """

    method: str
    what: str
    topic: str = ""
    namespace: str = ""
    bundle: str = ""
    query: Mapping[str, str] = msgspec.field(default_factory=dict)
    setting: str = ""
    broker: str = ""
    fault: str = ""

    @property
    def leaves_out(self) -> bool:
        """Whether the answer lacks consumers or publishers because the request excluded them."""
        return "true" in (
            self.query.get("excludeConsumers", "").lower(),
            self.query.get("excludePublishers", "").lower(),
        )


PATHS_KEPT: Final = 1 << 14
"""How many parsed paths are cached: a cluster that is read every few seconds has the same ones each time."""


def parse_request(text: str) -> AdminRequest:
    """Parse ``GET /admin/v2/persistent/t/n/x/stats``; an unknown request has ``what == ""``.

    >>> parse_request("GET /admin/v2/persistent/t/n/a%20b/stats").topic
    'persistent://t/n/a b'
    >>> parse_request("PUT /admin/v2/namespaces/t/n/LARGEST/split?splitAlgorithmName=x").bundle
    'LARGEST'
    """
    request = _parsed(text)
    refusal = refuse_namespace(request.namespace) if request.namespace else None
    if refusal is None and request.topic:
        read = parse_topic_name(request.topic)
        refusal = read if isinstance(read, Rejection) else None
    return request if refusal is None else replace(request, topic="", namespace="", fault=refusal.message)


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
        case ["admin", "v2", "scalable", tenant, name, *rest]:
            return _about_scalable(method, f"{tenant}/{name}", rest, query)
        case ["admin", "v2", "broker-stats", "topics" | "destinations"]:
            return AdminRequest(method, "broker-stats-topics", query=query)
        case ["admin", "v2", "broker-stats", what]:
            return AdminRequest(method, what, query=query)
        case ["admin", "v2", "brokers", "configuration", setting, _] if method in ("POST", "PUT"):
            return AdminRequest(method, "dynamic-configuration", query=query, setting=setting)
        case ["admin", "v2", "brokers", "configuration", "runtime" | "values" as what]:
            return AdminRequest(method, "runtime-configuration" if what == "runtime" else "dynamic-values", query=query)
        case ["admin", "v2", "brokers", "version"]:
            return AdminRequest(method, "version", query=query)
        case ["admin", "v2", "brokers", _, broker, "ownedNamespaces"]:
            return AdminRequest(method, "ownedNamespaces", query=query, broker=broker)
        case ["lookup", "v2", "topic", domain, tenant, name, topic, *rest]:
            full = f"{domain}://{tenant}/{name}/{topic}"
            return AdminRequest(method, "lookup-bundle" if rest == ["bundle"] else "lookup", full, f"{tenant}/{name}")
    return AdminRequest(method, "", query=query)


@lru_cache(maxsize=PATHS_KEPT)
def request_of_path(name: str) -> AdminRequest | None:
    """Return the request of a file by its place in a mirror of the admin API; None outside one. A query follows ``@``.

    >>> request_of_path("2026-11-22T09-48-07Z/admin/v2/persistent/t/n/x/stats@getPreciseBacklog=true.json").topic
    'persistent://t/n/x'
    """
    match = _MIRRORED.search(name)
    if match is None:
        return None
    folder, _, last = match[1].rpartition("/")
    return parse_request(f"GET /{folder}/{last.replace('@', '?', 1)}")


def release_text(data: bytes) -> str:
    """Read a release as brokers print it, in plain text; "" for another text.

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
        case [what] if what in NAMESPACE_POLICIES:
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
        case [topic, what] if what in TOPIC_ANSWERS:
            return AdminRequest(method, what, f"{domain}://{namespace}/{topic}", namespace, "", query)
    return AdminRequest(method, "", "", namespace, "", query)


def _about_scalable(method: str, namespace: str, rest: list[str], query: Mapping[str, str]) -> AdminRequest:
    """Requests about scalable topics; ``setting`` is the id of a segment."""
    topic = f"topic://{namespace}/{rest[0]}" if rest else ""
    match rest:
        case []:
            return AdminRequest(method, "topic-list", "", namespace, query=query)
        case [_]:
            return AdminRequest(method, "scalable-record", topic, namespace, query=query)
        case [_, "stats"]:
            return AdminRequest(method, "scalable-stats", topic, namespace, query=query)
        case [_, "segments", segment_id, "stats"]:
            return AdminRequest(method, "segment-stats", topic, namespace, query=query, setting=segment_id)
    return AdminRequest(method, "", topic, namespace, query=query)


SCENARIO_NAME: Final = "scenario.json"
_OK: Final = 200


class ScenarioFacts(msgspec.Struct, frozen=True):
    """The release, the settings over the defaults, and the requests by file name, of a scenario.json.

    ``problems`` are requests with invalid names, whose answers are set aside. ``times`` are the recording times of
    answers, in epoch milliseconds, by file name.
    """

    version: str | None = None
    settings: BrokerSettings | None = None
    requests: Mapping[str, AdminRequest] = msgspec.field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    times: Mapping[str, int] = msgspec.field(default_factory=dict)


def scenario_facts(data: bytes, source: str = "scenario.json") -> ScenarioFacts:
    """Read a scenario.json; every member is optional, and values of a wrong kind are ignored."""
    try:
        scenario = msgspec.json.decode(data) if data else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        scenario = None
    if not isinstance(scenario, dict):
        return ScenarioFacts()
    version = scenario.get("pulsar_version")
    requests: dict[str, AdminRequest] = {}
    problems: list[Problem] = []
    times: dict[str, int] = {}
    for place, step in enumerate(_dicts(scenario.get("steps"))):
        for number, answer in enumerate(_dicts(step.get("answers"))):
            at_ms = moment_ms(str(step.get("at", "")))
            if "file" in answer and at_ms is not None:
                times[str(answer["file"])] = at_ms
            if "file" in answer and "request" in answer:
                request = requests[str(answer["file"])] = parse_request(str(answer["request"]))
                if request.fault and answer.get("status", _OK) == _OK:
                    where = f"$.steps[{place}].answers[{number}].request"
                    problems.append(Problem(source, where, request.fault, "what it answered is set aside"))
    settings = settings_of(scenario.get("broker_settings"))
    return ScenarioFacts(str(version) if version else None, settings, requests, tuple(problems), times)


def configuration_of(scenario: bytes) -> dict[str, str]:
    """The known settings that a scenario.json names, as texts by name; {} if it cannot be read."""
    try:
        members = msgspec.json.decode(scenario) if scenario else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    named = members.get("broker_settings") if isinstance(members, dict) else None
    if not isinstance(named, dict):
        return {}
    from engine.balance.settings import LOAD_SETTING_DEFAULTS

    return {name: _written(value) for name, value in named.items() if name in LOAD_SETTING_DEFAULTS or name in DEFAULTS}


def refused_settings(named: object) -> tuple[Rejection, ...]:
    """Return why :func:`settings_of` leaves known settings at their defaults; () unless ``named`` is an object."""
    known = {name: value for name, value in named.items() if name in DEFAULTS} if isinstance(named, dict) else {}
    changed = (BrokerSettings().with_setting(name, _written(value)) for name, value in known.items())
    return tuple(outcome for outcome in changed if isinstance(outcome, Rejection))


def settings_of(named: object, defaults: BrokerSettings | None = None) -> BrokerSettings | None:
    """Return the defaults (of the current release) with the known settings of ``named``; None unless it is an
    object."""
    if not isinstance(named, dict):
        return None
    settings = defaults or BrokerSettings()
    for name, value in named.items():
        if name in DEFAULTS:
            changed = settings.with_setting(name, _written(value))
            settings = settings if isinstance(changed, Rejection) else changed
    return settings


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _dicts(items: object) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


class Naming(Struct, frozen=True, dict=True):
    """Finds the topic or namespace of answers that do not name it. ``names`` are full names of topics."""

    requests: Mapping[str, AdminRequest]
    names: Collection[str]

    @cached_property
    def known(self) -> tuple[TopicName, ...]:
        """The parsed names, computed only if a file does not name its subject."""
        parsed = (parse_topic_name(name) for name in sorted(self.names))
        return tuple(name for name in parsed if isinstance(name, TopicName))

    def topic(self, file_name: str) -> str | None:
        """Return the full name of the topic whose statistics are in a file."""
        request = self.request(file_name)
        if request is not None and (request.topic or request.fault):
            return request.topic or None
        stem = unquote(_stem(file_name))
        if "://" in stem:
            stem = stem[max(stem.find("non-persistent://"), 0) :] if "non-persistent://" in stem else stem
            stem = stem[stem.find("persistent://") :] if not stem.startswith("non-") else stem
            name = parse_topic_name(stem.removesuffix("-stats"))
            return None if isinstance(name, Rejection) else name.complete
        words = [word for word in (stem, *_tails(stem)) if word]
        for word in words:
            candidates = {name.complete for name in self.known if name.local_name == word}
            candidates |= {name.complete for name in self.known if name.local_name.endswith("-" + word) and "-" in word}
            if candidates:
                return candidates.pop() if len(candidates) == 1 else None
        return None

    def namespace(self, file_name: str) -> str | None:
        """Return the namespace whose bundles are in a file."""
        request = self.request(file_name)
        if request is not None and (request.namespace or request.fault):
            return request.namespace or None
        stem = unquote(_stem(file_name))
        namespaces = {name.namespace for name in self.known}
        named = {
            space
            for space in namespaces
            if space in stem or re.search(rf"(^|[-_.]){re.escape(_last(space))}[-_.]", stem)
        }
        # ``a/x`` and ``b/x`` differ by the tenant, however the slash is written.
        whole = {space for space in namespaces if re.search(rf"(^|[-_.]){_spelled(space)}([-_.]|$)", stem)}
        for candidates in (whole, named, namespaces):
            if len(candidates) == 1:
                return next(iter(candidates))
        return None

    def request(self, file_name: str) -> AdminRequest | None:
        """Return the request of a file; a scenario names its answers without the suffix of later compression."""
        return self.requests.get(file_name) or self.requests.get(file_name.removesuffix(".gz"))


def _last(namespace: str) -> str:
    return namespace.rpartition("/")[2]


def _spelled(namespace: str) -> str:
    """Return a pattern of a namespace in a file name, which cannot contain a slash."""
    return "[-_./]".join(re.escape(part) for part in namespace.split("/"))


_SUFFIX: Final = re.compile(r"\.(?:json|txt|log|out|ya?ml|md|conf)$", re.IGNORECASE)


def _stem(file_name: str) -> str:
    """The file's name without its ending and a leading number; the place of an answer in it follows a hyphen."""
    name, _, place = file_name.rpartition("/")[2].partition("#")
    stem = re.sub(r"^\d+-", "", _SUFFIX.sub("", name.removesuffix(".gz")))
    return f"{stem}-{place.replace('#', '-')}" if place else stem


def _tails(stem: str) -> Iterable[str]:
    for lead in ("stats-", "topic-stats-", "stats_", "topic-"):
        if stem.startswith(lead):
            yield stem[len(lead) :]


def nameless_topic(file_name: str) -> str:
    """Invent a name for an unnamed topic; a partition in the file name is kept.

    >>> nameless_topic("dump/05-stats.json.gz"), nameless_topic("x-partition-3.json")
    ('persistent://unknown/unknown/stats', 'persistent://unknown/unknown/x-partition-3')
    """
    stem = _stem(file_name)
    return f"persistent://{NAMELESS}/" + re.sub(r"[^-=:.A-Za-z0-9_]", "_", stem)


def with_placeholders(line: str) -> str:
    """A line to paste with TOPIC, TENANT/NAMESPACE and SUBSCRIPTION in place of invented names.

    >>> with_placeholders("stats -s unnamed persistent://unknown/unknown/x-partition-3; policies unknown/unknown")
    'stats -s SUBSCRIPTION TOPIC; policies TENANT/NAMESPACE'
    """
    line = re.sub(rf"-s {UNNAMED}(?=\s|$)", "-s SUBSCRIPTION", line)
    return re.sub(rf"persistent://{NAMELESS}/[-=:.A-Za-z0-9_]+", "TOPIC", line).replace(NAMELESS, "TENANT/NAMESPACE")
