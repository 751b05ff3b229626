"""The screen "producers" as values: the matrix, rows, costs, steps, notices, and what is answered on demand."""

from __future__ import annotations

import json

import numpy as np
import pytest

from engine.cluster.producers.state import ProducerPlan
from engine.cluster.state import shown_places
from engine.cluster.timeline import Timeline
from engine.errors import Rejection
from engine.hashing import java_string_hash
from engine.routing.clients import JAVA_DEFAULT, every_routing
from engine.views.producers.answers import growth_view, known_keys_view, route_answer, send_answer, statistics_view
from engine.views.producers.document import producers_document
from engine.views.producers.model import (
    ADDED,
    EAGER,
    FRESH,
    KEY,
    LAZY_START,
    LOST,
    REASON,
    ROUTER,
    ProducersView,
)
from engine.views.producers.view import CURVE_POINTS, curve_partitions, producers_view
from tests.engine.cluster.producer_states import timeline_after
from tests.engine.cluster.support import ORDERS

BY_NAME = "aggregatePublisherStatsByProducerName"
LAZY = f"producer add count 3 lazy batching off on {ORDERS}"


def view_after(*lines: str, partitions: int = 6) -> ProducersView:
    return producers_view(timeline_after(*lines, partitions=partitions), ORDERS)


def reasons(view: ProducersView, number: int) -> dict[int, int]:
    """Partition -> reason, of those a producer has opened."""
    row = view.matrix[number] & REASON
    return {int(at): int(row[at]) for at in np.flatnonzero(row)}


def codes(view: ProducersView) -> list[str]:
    return [notice.code for notice in view.notices]


def test_a_cell_says_why_its_partition_was_opened() -> None:
    """Eager start, lazy start, the router, a key, and a partition that was added later."""
    timeline = timeline_after(
        f"producer add batching off on {ORDERS}",
        "producer add lazy batching off",
        "producer send #1",
        "producer send #1 key k0",
        f"topic partitions {ORDERS} 8",
        "wait 60000",
    )
    view = producers_view(timeline, ORDERS)
    assert reasons(view, 0) == dict.fromkeys(range(6), EAGER) | {6: ADDED, 7: ADDED}
    (start,) = (at for at, reason in reasons(view, 1).items() if reason == LAZY_START)
    assert reasons(view, 1) == {start: LAZY_START, (start + 1) % 6: ROUTER, 5: KEY}
    assert [tuple(row.reasons.values()) for row in view.producers] == [(6, 0, 0, 0, 2), (0, 1, 1, 1, 0)]
    assert [row.known for row in view.producers] == [8, 8]
    assert view.partitions.new_from == 8, "the last step added none"


def test_the_last_step_alone_is_fresh() -> None:
    timeline = timeline_after(LAZY, "producer send all", "producer send #2")
    view = producers_view(timeline, ORDERS)
    assert [row.gained for row in view.producers] == [0, 0, 1]
    assert int((view.matrix & FRESH > 0).sum()) == 1
    back = producers_view(timeline.undo(), ORDERS)
    assert [row.gained for row in back.producers] == [1, 1, 1]
    created = producers_view(timeline.undo().undo(), ORDERS)
    assert [row.gained for row in created.producers] == [1, 1, 1], "the step that created them opened all they have"


def test_a_partition_that_fails_shows_whose_connection_is_lost_and_what_waits() -> None:
    eager = f"producer add count 2 batching off on {ORDERS}"
    view = view_after(eager, "partition fail 3", "producer send all times 6")
    assert (view.matrix[:, 3] & LOST).tolist() == [LOST, LOST]
    assert [(one.partition, one.error) for one in view.partitions.failing] == [(3, "the partition is not served")]
    assert view.partitions.pending.tolist() == [0, 0, 0, 2, 0, 0]
    assert view.partitions.producers.tolist() == [2, 2, 2, 0, 2, 2]
    assert [(row.opened, row.connected, row.pending_msgs) for row in view.producers] == [(6, 5, 1), (6, 5, 1)]
    assert view.foot.pending_msgs == 2 and view.foot.broker_producers == 10
    assert view.events[-1].effect == "10 sent, 2 waiting" and view.events[-2].gone == 2
    healed = view_after(eager, "partition fail 3", "producer send all times 6", "partition recover 3")
    assert healed.foot.pending_msgs == 0 and healed.foot.sent_msgs == 12
    assert healed.producers[0].last == "back at partition 3, 1 that waited published"
    assert healed.events[-1].gone == 0 and healed.events[-1].effect == "2 back"


def test_closing_takes_the_row_out_of_the_matrix_and_leaves_its_messages() -> None:
    view = view_after(LAZY, "producer send all times 2", "producer close #1")
    assert not view.matrix[1].any() and view.producers[1].opened == 0
    assert view.producers[1].state == "Closed" and view.producers[1].sent_msgs == 2
    assert (view.foot.producers, view.foot.ready) == (3, 2)
    assert view.events[-1].gone == 3, "one at its creation and two for its messages"


def test_a_send_through_a_closed_lazy_producer_leaves_a_partition_open_at_the_broker() -> None:
    """``PartitionedProducerImpl`` opens the partition before it looks at its state."""
    view = view_after(LAZY, "producer close #1", "producer send #1")
    assert np.count_nonzero(view.matrix[1]) == 1
    row = view.producers[1]
    assert (row.state, row.opened, row.connected, row.sent_msgs) == ("Closed", 1, 1, 0)
    assert view.foot.broker_producers == view.partitions.producers.sum() == 3


def test_costs_are_those_of_the_same_work_with_each_way_to_start() -> None:
    """Lazy round robin opens one partition at creation and one for each message, partial no more than its limit."""
    view = view_after(LAZY, "producer send all times 2", partitions=50)
    counts = view.counts
    assert (counts.here.eager, counts.here.lazy, counts.here.partial) == (150.0, 9.0, 9.0)
    assert (counts.forever.eager, counts.forever.lazy, counts.forever.partial) == (150.0, 150.0, 9.0)
    assert counts.observed == view.foot.broker_producers == 9
    assert (counts.messages, counts.limit, counts.lazy_mode) == (2, 3, "round robin")
    assert view.foot.pairs == 150
    partial = view_after(f"producer add lazy partial 2 on {ORDERS}", "producer send all times 9").counts
    assert (partial.limit, partial.observed, partial.here.partial) == (2, 2, 2.0)


@pytest.mark.parametrize("partitions", [1, 2, 12, 13, 100, 1000, 99_999])
def test_the_curve_has_the_topic_among_its_points_and_goes_to_twice_as_many(partitions: int) -> None:
    points = curve_partitions(partitions)
    assert partitions in points and points[0] == 1 and points[-1] == 2 * partitions
    assert list(points) == sorted(set(points)) and len(points) <= CURVE_POINTS


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (("partition fail 2",), "producers-down"),
        (("set maxProducersPerTopic 1",), "producers-full"),
        ((f"topic partitions {ORDERS} 9",), "producers-behind"),
        (("producer add client python lazy named py",), "producers-clients-disagree"),
        (("producer add lazy partial 2 named p", "producer send p key k"), "producers-keys-ignored"),
        ((), "producers-by-position"),
        (
            ("set aggregatePublisherStatsByProducerName true", "producer add client cpp named c"),
            "producers-by-position",
        ),
        (("topic add other partitions 3", "producer add lazy access exclusive on other"), ""),
        (("producer add across 5 named q",), "producers-no-queue-limit"),
    ],
)
def test_notices_tell_what_a_number_alone_does_not(lines: tuple[str, ...], code: str) -> None:
    there = codes(view_after(LAZY, *lines))
    assert code in there if code else "producers-not-lazy" not in there


def test_an_exclusive_producer_is_not_lazy_whatever_it_asked_for() -> None:
    view = view_after(f"producer add lazy access exclusive on {ORDERS}")
    assert codes(view) == ["producers-not-lazy"]
    assert view.producers[0].opened == 6 and not view.producers[0].lazy


def test_by_name_the_statistics_of_java_producers_are_their_own_and_by_position_mixtures() -> None:
    timeline = timeline_after(LAZY, "producer send all times 3", "producer send #0 key k times 30")
    view = statistics_view(timeline, ORDERS)
    assert view.in_force == "by position" and "mixtures" in view.sentence
    assert [row.producers for row in view.by_name.entries] == [(0,), (1,), (2,)]
    assert [row.msgs_per_sec for row in view.by_name.entries] == [row.msgs_per_sec for row in view.truth]
    assert any(row.mixture for row in view.by_position.entries) and view.by_position.torn > 0 == view.by_name.torn
    on = statistics_view(timeline_after(LAZY, "set aggregatePublisherStatsByProducerName true"), ORDERS)
    assert on.in_force == "by name" and on.sentence.endswith("each its own")
    nobody = timeline_after(f"producer add on {ORDERS}", "producer close #0")
    assert statistics_view(nobody, ORDERS).sentence == "nobody is connected"


def test_a_send_is_explained_before_it_happens_and_beside_the_other_clients() -> None:
    timeline = timeline_after(LAZY)
    answer = send_answer(timeline, ORDERS, 1, "order-1")
    assert not isinstance(answer, Rejection)
    assert answer.explanation.route.partition == answer.explanation.result.partition == 0
    assert {(other.client, other.hashing) for other in answer.elsewhere} == {
        (routing.client, routing.hashing) for routing in every_routing() if routing != JAVA_DEFAULT
    }
    alone = send_answer(timeline, ORDERS, 1, None)
    assert not isinstance(alone, Rejection) and alone.elsewhere == ()
    unknown = send_answer(timeline, ORDERS, 9, None)
    assert isinstance(unknown, Rejection) and unknown.field == "producer"
    nowhere = send_answer(timeline, "persistent://t/n/x", 0, None)
    assert isinstance(nowhere, Rejection) and nowhere.field == "topic"


def test_what_happened_is_reported_newest_last_with_pulsars_words() -> None:
    view = view_after(LAZY, "partition fail 0", "producer send #0 key order-1")
    assert view.deliveries[-1] == (
        '#0 "order-1": failed at partition 0: Not connected to broker (the partition is not served)'
    )
    assert view.deliveries[0].startswith("#0: created, 1 partition opened")
    assert view.events[-1].effect == "1 failed: the partition is not served"


def test_places_go_through_subscriptions_and_then_topics_with_producers() -> None:
    timeline = timeline_after(f"subscribe keys to {ORDERS}", LAZY)
    assert shown_places(timeline.state) == ("billing", "keys", ORDERS)
    status = producers_view(timeline, ORDERS).status
    assert (status.place, status.places, status.partitions) == (2, ("billing", "keys", ORDERS), 6)


def test_a_jump_in_time_tells_every_step_between() -> None:
    timeline = timeline_after(LAZY, "producer send all", "partition fail 1", "producer close #0")
    fresh = Timeline.start(timeline.initial, 7, "a test")
    for step in timeline.steps:
        fresh = fresh.append(step.command, step.text, step.events)
    jumped = producers_view(fresh, ORDERS).events
    walked = producers_view(timeline, ORDERS).events
    assert jumped == walked and [each.kind for each in jumped] == ["open", "add", "send", "fail", "kill"]


def test_the_document_is_plain_and_complete() -> None:
    timeline = timeline_after(LAZY, "producer send all times 2", "partition fail 1")
    view = producers_view(timeline, ORDERS)
    document = json.loads(json.dumps(producers_document(view, statistics_view(timeline, ORDERS)), allow_nan=False))
    assert document["format"] == "ringside.producers/1"
    for row, result in zip(view.producers, document["producers"], strict=True):
        listed = [at for found in result["partitions"].values() for at in found]
        assert sorted(listed) == np.flatnonzero(view.matrix[row.number] & REASON).tolist()
        assert result["lost"] == np.flatnonzero(view.matrix[row.number] & LOST).tolist()
        assert sum(result["reasons"].values()) == row.opened
    assert document["partitions"]["failing"] == [{"partition": 1, "error": "the partition is not served"}]
    assert sum(document["partitions"]["messages"]) == document["totals"]["sent_msgs"]
    assert len(document["statistics"]["by_name"]["entries"]) == 3


def test_growing_by_a_factor_leaves_each_key_where_its_old_remainder_was() -> None:
    keys = [f"order-{number}" for number in range(200)]
    view = growth_view([*keys, keys[0]], 6, 12)
    assert not isinstance(view, Rejection)
    assert len(view.keys) == 200, "a key counts once"
    for each in view.keys:
        befores, afters = tuple(each.before.values()), tuple(each.after.values())
        for before, after in zip(befores, afters, strict=True):
            assert before is not None and after is not None and after % 6 == before
        assert each.moves == (each.before != each.after)
        assert each.disagrees == (each.java[1] != each.python[1]) == (afters[0] != afters[2])
    assert view.disagreeing == sum(key.disagrees for key in view.keys)
    for alike in view.clients:
        assert alike.moved == sum(key.before[alike.label] != key.after[alike.label] for key in view.keys)
        assert alike.expected_share == 0.5


def test_partitions_that_shrink_and_none_at_all_are_refused_by_name() -> None:
    for before, after in ((6, 5), (0, 3), (-1, 4)):
        view = growth_view(["k"], before, after)
        assert isinstance(view, Rejection) and view.field == "partitions"


def test_a_route_without_a_cluster_is_that_of_a_producer_in_one() -> None:
    for key in ("order-1", "", "é", None):
        for plan in (ProducerPlan(), ProducerPlan(client="python"), ProducerPlan(router="partial", limit=2)):
            alone = route_answer(key, plan, 6)
            assert not isinstance(alone, Rejection)
            assert 0 <= alone.explanation.partition < 6
            assert (alone.explanation.key is not None) == (bool(alone.elsewhere))
    bad = route_answer("k", ProducerPlan(), 0)
    assert isinstance(bad, Rejection) and bad.field == "partitions"
    limit = route_answer("k", ProducerPlan(router="partial", limit=9), 6)
    assert isinstance(limit, Rejection) and limit.field == "numPartitionsLimit"


def test_a_growth_says_how_many_known_keys_move_and_where_to() -> None:
    """Keys whose hash modulo 6 is not that modulo 8 lie in two partitions from then on."""
    keys = [f"k{number}" for number in range(6)]
    timeline = timeline_after(LAZY, *(f"producer send #0 key {key}" for key in keys), f"topic partitions {ORDERS} 8")
    moved = [key for key in keys if java_string_hash(key) % 6 != java_string_hash(key) % 8]
    assert moved and producers_view(timeline, ORDERS).events[-1].effect == (
        f"2 partitions more, {len(moved)} of 6 known keys move"
    )
    view = known_keys_view(timeline, ORDERS)
    assert view is not None and (view.before, view.after) == (6, 8)
    assert [key.key for key in view.keys if key.before["java"] != key.after["java"]] == moved
    still = known_keys_view(timeline_after(LAZY, "producer send #0 key k0"), ORDERS)
    assert still is not None and still.before == still.after == 6 and not still.keys[0].moves
    assert known_keys_view(timeline_after(LAZY), ORDERS) is None
