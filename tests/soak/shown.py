"""What screens and ``--json`` show, beside the oracle, and held to the committed schemas."""

from __future__ import annotations

from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from engine.cluster.timeline import Timeline
from engine.views.dashboard import dashboard_view
from engine.views.document import dashboard_document
from engine.views.keys import keys_view
from engine.views.keys_document import keys_document
from engine.views.producers import producers_view
from engine.views.producers_answers import statistics_view
from engine.views.producers_document import producers_document
from engine.views.schemas import schema_of
from tests.oracles.cluster import Cluster
from tests.soak.tally import Tally


def judge_documents(timeline: Timeline, cluster: Cluster, tally: Tally) -> None:
    """The documents of every subscription and of every topic with producers."""
    for at, subscription in enumerate(cluster.failover):
        document = dashboard_document(dashboard_view(timeline, subscription=at))
        _validate("dashboard", document, tally)
        shown = {row["name"]: row["active_consumer_id"] for row in document["partitions"]}
        tally.agree("active consumers shown", shown, cluster.actives(subscription), subscription.key)
        for node in document["namespaces"]:
            listed = len(cluster.listed(node["name"]))
            tally.agree("topics of a namespace shown", node["topics"], listed, node["name"])
    for keyed in cluster.keyed:
        document = keys_document(keys_view(timeline, keyed.key))
        _validate("keys", document, tally)
        selector = keyed.dispatcher.selector
        slots = sorted(selector.slot(key) for key in keyed.known)
        tally.agree("slots of keys shown", sorted(row["slot"] for row in document["keys"]), slots, keyed.key)
        for row in document["keys"]:
            tally.agree("owner of a key shown", row["consumer_id"], selector.owner(row["slot"]), row["key"])
    for producers in cluster.producers:
        view = producers_view(timeline, producers.topic)
        document = producers_document(view, statistics_view(timeline, producers.topic))
        _validate("producers", document, tally)
        objects = sum(map(len, producers.there))
        tally.agree("producer objects shown", document["totals"]["broker_producers"], objects, producers.topic)


@cache
def _validator(name: str) -> Any:
    return Draft202012Validator(schema_of(name))


def _validate(name: str, document: Any, tally: Tally) -> None:
    tally.agree(f"schema of {name}", [fault.message for fault in _validator(name).iter_errors(document)][:2], [])
