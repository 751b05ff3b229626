"""The producers document: valid against its schema in every state, and the same facts as the view."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from engine.cluster.producers.state import ProducerPlan
from engine.cluster.timeline import Timeline
from engine.scenarios.synthetic import synthetic_producers
from engine.views.producers.answers import statistics_view
from engine.views.producers.document import producers_document
from engine.views.producers.view import producers_view
from tests.engine.cluster.producer_states import timeline_after
from tests.engine.cluster.support import ORDERS
from tests.schemas import schema_of

LAZY = f"producer add count 3 lazy batching off on {ORDERS}"


def timeline_of(count: int, partitions: int = 12, **how: Any) -> Timeline:
    return Timeline.start(synthetic_producers(ProducerPlan(count=count, **how), partitions).state)


STATES: dict[str, Callable[[], Timeline]] = {
    "nobody": lambda: timeline_of(0),
    "eager": lambda: timeline_of(2),
    "partial": lambda: timeline_of(4, lazy=True, router="partial", limit=3),
    "batched": lambda: timeline_of(2, client="cpp"),
    "single": lambda: timeline_of(3, lazy=True, router="single"),
    "a hundred": lambda: timeline_of(100, 200, lazy=True),
    "waiting": lambda: timeline_after(
        LAZY, "producer send all times 6", "partition fail 1", "producer send all times 6"
    ),
    "undone": lambda: timeline_after(LAZY, "producer send all", "producer close #0").undo(),
    "closed": lambda: timeline_after(LAZY, "producer close #0", "producer close #1", "producer close #2"),
    "grown": lambda: timeline_after(LAZY, "producer add", f"topic partitions {ORDERS} 9", "wait 60000"),
    "odd names": lambda: timeline_after(f'producer add named "\\u00e4 #1" on {ORDERS}', 'producer send #0 key ""'),
    "mixed": lambda: timeline_after(LAZY, "producer add client python named p", "producer send all key k"),
    "rates": lambda: timeline_after(
        LAZY,
        "producer rate #0 60 size 10",
        "producer rate #1 30 key k",
        "partition fail 1",
        "producer rate #2 6 keys 3",
    ),
    "no rate": lambda: timeline_after(LAZY, "producer rate all 0"),
    "fenced": lambda: timeline_after(LAZY, "producer send all times 6", "producer add access exclusivewithfencing"),
}


def document_of(timeline: Timeline) -> Any:
    topic = timeline.state.producer_topics[0].topic
    return producers_document(producers_view(timeline, topic), statistics_view(timeline, topic))


@pytest.mark.parametrize("name", STATES)
def test_a_document_is_valid_and_survives_json(name: str) -> None:
    document = document_of(STATES[name]())
    written = json.loads(json.dumps(document, allow_nan=False))
    assert written == document
    assert [fault.message for fault in Draft202012Validator(schema_of("producers")).iter_errors(written)] == []


@pytest.mark.parametrize("name", STATES)
def test_the_sums_of_a_document_agree(name: str) -> None:
    """Objects by producer, by partition and in all; the same of messages."""
    document = document_of(STATES[name]())
    totals = document["totals"]
    assert totals["broker_producers"] == sum(row["connected"] for row in document["producers"])
    assert totals["broker_producers"] == sum(document["partitions"]["producers"])
    assert totals["sent_msgs"] == sum(document["partitions"]["messages"])
    assert totals["idle"] + totals["partitions_used"] == document["status"]["partitions"]
    for row in document["producers"]:
        assert row["opened"] == sum(map(len, row["partitions"].values())) == sum(row["reasons"].values())
        assert row["opened"] - row["connected"] == len(row["lost"])


def test_rates_are_those_of_partitions_and_name_the_hottest() -> None:
    document = document_of(timeline_after("producer add count 2", "producer rate #0 60", "producer rate #1 100 key k"))
    rates = document["rates"]
    hot = rates["hottest"]
    assert sum(rates["msgs_per_sec"]) == pytest.approx(160)
    assert rates["msgs_per_sec"][hot] == max(rates["msgs_per_sec"]) == pytest.approx(110)
    assert rates["busiest_over_average"] == pytest.approx(110 * 6 / 160)
    assert (rates["fastest"], rates["fastest_msgs_per_sec"], rates["without"]) == (1, 100.0, 0)
    assert [row["msgs_per_sec"] for row in document["producers"]] == [60.0, 100.0]
    assert "producers-hot-partition" in [notice["code"] for notice in document["notices"]]
    assert document_of(STATES["eager"]())["rates"] is None
    assert "100 msg/s" in document["events"][-1]["effect"]
    idle = document_of(timeline_after("producer add router single", "producer rate #0 1"))
    assert idle["rates"]["without"] == 5
    assert "producers-idle-partitions" in [notice["code"] for notice in idle["notices"]]
    nothing = document_of(STATES["no rate"]())["rates"]
    assert (nothing["hottest"], nothing["fastest"], nothing["busiest_over_average"]) == (None, None, 0.0)
