"""The JSON document: valid against its schema in every state, and the same facts as the view."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from engine.cluster.commands import AddConsumer, KillConsumer, SetSetting, SplitBundle
from engine.cluster.state import ClusterState
from engine.cluster.timeline import Timeline
from engine.scenarios.embedded import embedded, embedded_default
from engine.scenarios.synthetic import synthetic_state
from engine.views.failover.dashboard import dashboard_view
from engine.views.failover.document import dashboard_document
from tests.engine.views.states import FLAG, cluster, submitted
from tests.schemas import schema_of


def split_and_changed() -> Timeline:
    timeline = Timeline.start(embedded_default().state)
    return submitted(
        timeline,
        SetSetting(FLAG, "true"),
        KillConsumer("billing", 3),
        AddConsumer("billing", "billing-10"),
        SplitBundle("public/default", "0x00000000_0x40000000", "topic_count_equally_divide"),
        SplitBundle("public/default", "0x40000000_0x80000000", "range_equally_divide"),
    ).undo()


STATES = {
    "nothing": lambda: Timeline.start(ClusterState()),
    "nobody": lambda: Timeline.start(cluster([], {"x": 3})),
    "one consumer": lambda: Timeline.start(cluster(["a"], {"x": 3, "y": 0}, levels=[-7])),
    "no name": lambda: Timeline.start(cluster(["", "ä\ud800"], {"é": 2}, flag=True, release="2.11.0")),
    "scene": lambda: Timeline.start(embedded_default().state),
    "flow": lambda: Timeline.start(embedded("flow-split").state),
    "changed": split_and_changed,
    "a thousand": lambda: Timeline.start(synthetic_state(300, 1, 1000, consistent_hashing=True).state),
}


@pytest.mark.parametrize("name", STATES)
def test_a_document_is_valid_and_survives_json(name: str) -> None:
    document = dashboard_document(dashboard_view(STATES[name]()))
    written = json.loads(json.dumps(document, allow_nan=False))
    assert written == document
    faults = [fault.message for fault in Draft202012Validator(schema_of("dashboard")).iter_errors(written)]
    assert faults == []


def test_the_document_has_the_facts_of_the_view_by_name() -> None:
    view = dashboard_view(split_and_changed())
    document = dashboard_document(view)
    assert [row["active_partitions"] for row in document["consumers"]] == [
        row.active_partitions for row in view.consumers
    ]
    owned = [row["active_consumer"] for row in document["partitions"]]
    assert {row.name: owned.count(row.name) for row in view.consumers} == {
        row.name: row.active_partitions for row in view.consumers
    }
    assert document["ring"]["points"] == len(view.ring.points)
    (split,) = [root for root in document["namespaces"][0]["roots"] if root["children"]]
    assert (
        split["algorithm"] == "topic_count_equally_divide"
        and sum(c["topics"] for c in split["children"]) == split["topics"]
    )
