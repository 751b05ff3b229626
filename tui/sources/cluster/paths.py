"""Paths of requests that only read, with every name from a cluster as one safe segment."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

from engine.names import TopicName

VERSION: Final = "/admin/v2/brokers/version"
CLUSTERS: Final = "/admin/v2/clusters"
BROKERS: Final = "/admin/v2/brokers"
RUNTIME: Final = "/admin/v2/brokers/configuration/runtime"
DYNAMIC: Final = "/admin/v2/brokers/configuration/values"
OF_ONE_BROKER: Final = "/admin/v2/broker-stats/"
LOADED_TOPICS: Final = f"{OF_ONE_BROKER}topics"
LOAD_REPORT: Final = f"{OF_ONE_BROKER}load-report"
METRICS: Final = f"{OF_ONE_BROKER}metrics"
TENANTS: Final = "/admin/v2/tenants"
SCALABLE: Final = "/admin/v2/scalable/"
DOMAINS: Final = ("persistent", "non-persistent")
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_LOST_IN_A_DUMP: Final = re.compile(r"^\.|\.(?=(?:json|gz)$)", re.IGNORECASE)
"""Dots in the name of a folder or a file that hide it, or make it end as the file of an answer does."""


def can_be_sent(name: str) -> bool:
    r"""Whether a name can be a part of a request: half a surrogate pair, which JSON can name, is in no text.

    >>> can_be_sent("ü"), can_be_sent("\ud800")
    (True, False)
    """
    return name.isascii() or not _SURROGATES.search(name)


def segment(name: str) -> str:
    """One segment of a path, and one name of a file: never a step upwards.

    >>> segment("a/b?@c"), segment(".."), segment("ü")
    ('a%2Fb%3F%40c', '%2E%2E', '%C3%BC')
    """
    quoted = quote(name, safe="")
    return quoted.replace(".", "%2E") if not quoted.strip(".") else quoted


def brokers_of(cluster: str) -> str:
    return f"{BROKERS}/{segment(cluster)}"


def isolation_policies_of(cluster: str) -> str:
    return f"{CLUSTERS}/{segment(cluster)}/namespaceIsolationPolicies"


def failure_domains_of(cluster: str) -> str:
    return f"{CLUSTERS}/{segment(cluster)}/failureDomains"


def owned_by(cluster: str, broker: str) -> str:
    return f"{brokers_of(cluster)}/{segment(broker)}/ownedNamespaces"


def namespaces_of(tenant: str) -> str:
    return f"/admin/v2/namespaces/{segment(tenant)}"


def policies_of(namespace: str) -> str:
    return f"/admin/v2/namespaces/{_joined(namespace)}"


def bundles_of(namespace: str) -> str:
    return f"{policies_of(namespace)}/bundles"


def anti_affinity_of(namespace: str) -> str:
    return f"{policies_of(namespace)}/antiAffinity"


def topics_of(domain: str, namespace: str) -> str:
    return f"/admin/v2/{domain}/{_joined(namespace)}"


def partitioned_topics_of(domain: str, namespace: str) -> str:
    return f"{topics_of(domain, namespace)}/partitioned"


def of_topic(name: TopicName, what: str) -> str:
    """A request about a topic or a partition; ``what`` is ``stats``, ``partitions``, ``partitioned-stats`` ..."""
    return f"{topics_of(name.domain, name.namespace)}/{segment(name.local_name)}/{what}"


def of_scalable(name: TopicName) -> tuple[str, str]:
    """The requests for the record of a scalable topic and for its statistics."""
    record = f"{SCALABLE}{_joined(name.namespace)}/{segment(name.local_name)}"
    return record, f"{record}/stats"


def file_of(path: str) -> str:
    """The file of an answer, below the folder of its moment.

    >>> file_of("/admin/v2/namespaces/t/x.json/bundles"), file_of("/admin/v2/namespaces/t/.x?applied=true")
    ('admin/v2/namespaces/t/x%2Ejson/bundles.json', 'admin/v2/namespaces/t/%2Ex@applied=true.json')
    """
    route, _, query = path.partition("?")
    names = (_LOST_IN_A_DUMP.sub("%2E", name) for name in route.lstrip("/").split("/"))
    return "/".join(names) + (f"@{query}" if query else "") + ".json"


def _joined(namespace: str) -> str:
    return "/".join(segment(part) for part in namespace.split("/"))
