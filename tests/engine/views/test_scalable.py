"""A scalable topic as it was printed at every moment of the recordings, beside what the rules say."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from engine.admin.moments import Moment
from engine.admin.scalable import ScalableFacts
from engine.documents import document
from engine.errors import Rejection
from engine.ranges import HashRange
from engine.scalable.layout import merge, prune, rebucket, split
from engine.scalable.model import Layout, Segment, SegmentState
from engine.scalable.routing import router
from engine.scalable.statistics import ListedLayout, TopicConsumer, TopicStatistics, TopicSubscription
from engine.views.scalable.model import ScalableView
from engine.views.scalable.view import scalable_view
from engine.views.scalable.words import next_step_lines, wait_lines
from tests.engine.scalable.scenes import SCENES, moments_of, scene, time_of
from tests.schemas import schema_of


def view_of(facts: ScalableFacts, now_ms: int | None = None, keys: tuple[str, ...] = (), **more: Any) -> ScalableView:
    view = scalable_view(facts, now_ms, keys, **more)
    assert isinstance(view, ScalableView)
    return view


def facts_of(moment: Moment) -> ScalableFacts:
    (facts,) = moment.snapshot.scalable.values()
    return facts


def by_moment(folder: Path, name: str) -> dict[str, ScalableFacts]:
    times = {moment.at_ms: facts_of(moment) for moment in with_topic(folder, name)}
    return {moment: times[time_of(moment)] for moment in scene(name)["answers"] if time_of(moment) in times}


def with_topic(folder: Path, name: str) -> list[Moment]:
    """The moments at which the topic exists; one is migrated in its scene."""
    return [moment for moment in moments_of(folder, name) if moment.snapshot.scalable]


@pytest.mark.parametrize("name", SCENES)
def test_the_deal_is_the_one_that_brokers_print(tmp_path: Path, name: str) -> None:
    seen = 0
    for moment in with_topic(tmp_path, name):
        facts = facts_of(moment)
        assert facts.statistics is not None
        for row in view_of(facts, moment.at_ms).subscriptions:
            for consumer in row.consumers:
                assert (consumer.gaining, consumer.losing, consumer.stuck) == ((), (), ()), (moment.at_ms, consumer)
                seen += 1
            blocked = facts.statistics.subscriptions[row.name].segments
            assert {str(wait.segment) for wait in row.waits} == {one for one in blocked if blocked[one].blocked}
    assert seen >= 7


def test_who_has_what_is_what_was_noted_while_recording(tmp_path: Path) -> None:
    for name in SCENES:
        known = by_moment(tmp_path / name, name)
        for step in scene(name)["scenario"]["steps"]:
            if "moment" not in step or step["moment"] not in known:
                continue
            view = view_of(known[step["moment"]])
            noted: dict[str, dict[str, list[int]]] = step.get("consumers", {})
            shown = {
                row.name: {one.name: [share.segment for share in one.computed or ()] for one in row.consumers}
                for row in view.subscriptions
            }
            assert {key: shown[key] for key in noted} == noted
            active = [[one.start, one.end, one.id, one.buckets] for one in view.segments if one.state == "ACTIVE"]
            assert active == step["active"]


def test_every_key_went_to_the_segment_of_the_model(tmp_path: Path) -> None:
    sent = 0
    for name in ("manual", "order", "holdup"):
        known = by_moment(tmp_path / name, name)
        steps = scene(name)["scenario"]["steps"]
        for at, step in enumerate(steps):
            if "keys" not in step or None in step["keys"]:
                continue
            moment = next(later["moment"] for later in [*steps[at:], *reversed(steps[:at])] if "moment" in later)
            layout = known[moment].layout()
            assert layout is not None
            routes = router(list(layout.segments.values()))
            for key, segment_id in zip(step["keys"], step["segments"], strict=True):
                segment = routes.of_key(key)
                assert not isinstance(segment, Rejection)
                assert segment.segment_id == segment_id
                sent += 1
    assert sent >= 300


def test_messages_without_a_key_took_turns(tmp_path: Path) -> None:
    layout = next(iter(by_moment(tmp_path, "manual").values())).layout()
    assert layout is not None
    routes = router(list(layout.segments.values()))
    (step,) = [one for one in scene("manual")["scenario"]["steps"] if None in one.get("keys", ())]
    assert [routes.of_turn(turn).segment_id for turn in range(6)] == step["segments"]


def test_every_message_was_received_by_the_owner_of_its_bucket(tmp_path: Path) -> None:
    known = by_moment(tmp_path, "manual")
    received = shared = 0
    for step in scene("manual")["scenario"]["steps"]:
        if "moment" not in step or "keys" not in step:
            continue  # what was received of earlier moves tells nothing of the present owners
        for name, messages in step.get("received", {}).items():
            for key, segment_id, _ in messages:
                if key is None:
                    continue
                (row,) = view_of(known[step["moment"]], None, (key,)).keys
                if row.segment != segment_id:
                    continue  # it was sent before the last change of the layout
                assert row.owners[0].consumer == name, (step["step"], key)
                received += 1
                (segment,) = [one for one in view_of(known[step["moment"]]).segments if one.id == segment_id]
                shared += segment.buckets > 1
    assert (received > 150, shared > 30) == (True, True)


def changed(layout: Layout, request: str, now_ms: int) -> Layout | Rejection:
    words, _, query = request.rpartition("/orders/")[2].partition("?")
    match words.split("/"):
        case ["split", one]:
            return split(layout, int(one), now_ms)
        case ["merge", one, other]:
            return merge(layout, int(one), int(other), now_ms)
        case ["rebucket", one]:
            return rebucket(layout, int(one), int(query.partition("=")[2]), now_ms)
    raise AssertionError(request)


def test_operations_by_hand_make_the_layouts_that_were_recorded(tmp_path: Path) -> None:
    known = by_moment(tmp_path, "manual")
    layout = next(iter(known.values())).record
    assert layout is not None
    made = refusals = 0
    for step in scene("manual")["scenario"]["steps"]:
        recorded = known[step["moment"]].record if "moment" in step else None
        for call in step.get("calls", ()):
            if "/orders/" not in call["request"] or "Policy" in call["request"]:
                continue
            if call["status"] == 204:
                assert recorded is not None
                now_ms = max(segment.created_at_ms for segment in recorded.segments.values())
                after = changed(layout, call["request"], now_ms)
                assert isinstance(after, Layout)
                layout, made = after, made + 1
            elif "split" in call["request"] or "merge" in call["request"]:
                refused = changed(layout, call["request"], 0)
                assert isinstance(refused, Rejection)
                assert refused.message in call["answer"]["reason"]
                refusals += 1
        if recorded is not None:
            for gone in sorted(layout.segments.keys() - recorded.segments.keys()):
                after = prune(layout, gone)
                assert isinstance(after, Layout)
                layout = after
            assert layout == recorded
    assert (made, refusals) >= (3, 3)


def test_automatic_steps_are_among_those_that_were_possible(tmp_path: Path) -> None:
    moments = [(moment.at_ms, facts_of(moment)) for moment in with_topic(tmp_path, "auto-load")]
    checked: list[str] = []
    for (_, before), (now_ms, after) in pairwise(moments):
        assert before.record is not None
        assert after.record is not None
        assert after.statistics is not None
        assert now_ms is not None
        fresh = [one for one in after.record.segments.values() if one.segment_id >= before.record.next_segment_id]
        if not fresh or after.record.next_segment_id - before.record.next_segment_id > 2:
            continue
        parents = {parent for segment in fresh for parent in segment.parent_ids}
        if len(parents) == 1:
            continue  # the load that led to a split was measured between the two moments
        done_ms = fresh[0].created_at_ms
        later = view_of(measured(before, after, (now_ms - done_ms) / 1000), done_ms)
        assert sorted(parents) in [sorted(step.segments) for step in later.next.steps]
        checked += [step.action for step in later.next.steps if sorted(step.segments) == sorted(parents)]
    assert checked == ["merge", "merge", "merge"]


def measured(before: ScalableFacts, after: ScalableFacts, seconds: float) -> ScalableFacts:
    """The topic before a step with the loads that it was decided by, which are printed ``seconds`` later."""
    assert before.statistics is not None
    assert after.statistics is not None
    loads = {
        name: msgspec.structs.replace(one.load, ageSeconds=one.load.ageSeconds - seconds)
        for name, one in after.statistics.layout.segments.items()
        if one.load is not None
    }
    listed = {
        name: msgspec.structs.replace(one, load=loads.get(name, one.load))
        for name, one in before.statistics.layout.segments.items()
    }
    layout = msgspec.structs.replace(before.statistics.layout, segments=listed)
    return replace(before, statistics=msgspec.structs.replace(before.statistics, layout=layout))


def test_the_reason_of_a_wait_follows_from_the_backlog(tmp_path: Path) -> None:
    known = by_moment(tmp_path, "order")
    reasons = []
    for facts in known.values():
        (row,) = view_of(facts).subscriptions
        reasons.append({(wait.segment, wait.ancestor, wait.backlog, wait.reason) for wait in row.waits})
        assert len(wait_lines(row)) == (1 if row.waits else 0)
    waiting = {(1, 0, 29, "backlog"), (2, 0, 29, "backlog")}
    read = {(1, 0, 0, "drain_check"), (2, 0, 0, "drain_check")}
    assert reasons == [set(), set(), waiting, waiting, read, set(), set()]


def test_cooldowns_count_down_and_are_unknown_without_a_time(tmp_path: Path) -> None:
    facts = by_moment(tmp_path, "manual")["2026-11-27T15-14-58Z"]
    cooldowns = view_of(facts, time_of("2026-11-27T15-14-58Z")).next.cooldowns
    assert cooldowns.split == pytest.approx(25.365)
    assert cooldowns.merge == pytest.approx(294.831)
    unknown = view_of(facts).next.cooldowns
    assert (unknown.split, unknown.merge, unknown.rebucket) == (None, None, None)
    assert view_of(facts).next.enabled is False
    assert len(next_step_lines(view_of(facts).next)) == 1


def made_up(*, holds: tuple[int, ...] = (1,)) -> ScalableFacts:
    half = 32_768
    segments = {0: Segment(0, HashRange(0, half - 1)), 1: Segment(1, HashRange(half, 65_535))}
    consumers = (TopicConsumer("a", True, (0,)), TopicConsumer("b", True, (1,)), TopicConsumer("c", True, holds))
    subscription = TopicSubscription("STREAM", uncoveredSegmentIds=(), consumers=consumers)
    return ScalableFacts("topic://t/n/x", Layout(segments, 0, 2), TopicStatistics(subscriptions={"s": subscription}))


def test_a_segment_that_stays_with_a_consumer_that_lost_it_is_stuck() -> None:
    now = made_up(holds=(1,))
    (row,) = view_of(now).subscriptions
    assert [(one.name, one.losing, one.stuck, one.idle) for one in row.consumers] == [
        ("a", (), (), False),
        ("b", (), (), False),
        ("c", (1,), (), True),
    ]
    (row,) = view_of(now, before=made_up(holds=())).subscriptions
    assert [one.stuck for one in row.consumers] == [(), (), ()]
    (row,) = view_of(now, before=now).subscriptions
    assert [one.stuck for one in row.consumers] == [(), (), (1,)]


def test_a_group_is_recognised_and_its_readers_are_left_out() -> None:
    facts = made_up()
    assert facts.statistics is not None
    stream = facts.statistics.subscriptions["s"]
    group = msgspec.structs.replace(stream, uncoveredSegmentIds=None)
    queue = msgspec.structs.replace(stream, type="QUEUE")
    statistics = TopicStatistics(subscriptions={"g": group, "reader-x": queue, "q": queue})
    view = view_of(replace(facts, statistics=statistics))
    assert [(row.name, row.type) for row in view.subscriptions] == [("g", "CHECKPOINT"), ("q", "QUEUE")]
    assert view.readers == 1
    assert [one.computed for one in view.subscriptions[1].consumers] == [None, None, None]
    assert [[share.segment for share in one.computed or ()] for one in view.subscriptions[0].consumers] == [
        [0],
        [1],
        [],
    ]
    assert view.next.consumers == 3


def hostile() -> dict[str, Layout]:
    whole, half = HashRange(0, 65_535), HashRange(0, 9)
    return {
        "empty": Layout({}),
        "hole": Layout({0: Segment(0, half)}),
        "cycle": Layout({n: Segment(n, whole, SegmentState.SEALED, ((n + 1) % 3,), ((n - 1) % 3,)) for n in range(3)}),
        "own parent": Layout({0: Segment(0, whole, SegmentState.ACTIVE, (0,), (0,))}),
        "twice the ring": Layout({n: Segment(n, whole) for n in range(2)}),
    }


@pytest.mark.parametrize("kind", hostile())
def test_wrong_layouts_are_shown_all_the_same(kind: str) -> None:
    facts = made_up()
    view = view_of(replace(facts, record=hostile()[kind]), 10, ("a", "b", ""))
    assert len(view.keys) == 3
    assert msgspec.convert(document(view), ScalableView) == view


def test_without_record_and_statistics_there_is_nothing_to_show() -> None:
    assert isinstance(scalable_view(ScalableFacts("topic://t/n/x")), Rejection)
    listed = ScalableFacts("topic://t/n/x", None, TopicStatistics(layout=ListedLayout(epoch=4)))
    assert view_of(listed).epoch == 4


def test_the_schema_describes_every_member_of_every_part() -> None:
    schema = schema_of("scalable")
    for part in [*schema["oneOf"], *schema["$defs"].values()]:
        assert part["additionalProperties"] is False
        assert part["required"] == list(part["properties"])
        assert all(member["description"] for member in part["properties"].values())
