"""Limits of the evaluation, to the millisecond and to the message."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.scalable.columns import columns_of
from engine.scalable.layout import Clocks, first_layout, merge, split
from engine.scalable.load_reports import INTERVAL, LoadRecord, Rates, interval_seconds, is_written
from engine.scalable.model import Layout
from engine.scalable.scaling import Action, ScalingState, Step, evaluate, next_steps, scaling_columns
from engine.scalable.settings import AutoScaleSettings, max_buckets, refuse_settings, settings_in_force
from engine.scalable.statistics import SegmentStatistics, bare_name
from tests.golden.scalable_builder import Registered, topic_statistics

NOW_MS = 10_000_000


def state(segments: int, rates: dict[int, float] | None = None, age_ms: int = 400_000, **more: object) -> ScalingState:
    layout = first_layout(segments)
    assert isinstance(layout, Layout)
    loads = {one: LoadRecord(Rates(rate), NOW_MS - age_ms) for one, rate in (rates or {}).items()}
    return replace(ScalingState(layout, loads, {}, []), **more)  # type: ignore[arg-type]


def step(subject: ScalingState) -> Step:
    (found,) = next_steps(subject, NOW_MS)
    return found


NONE = Step(Action.NONE)


@pytest.mark.parametrize(("rate", "splits"), [(10_000.0, False), (10_000.1, True)])
def test_a_limit_has_to_be_passed(rate: float, splits: bool) -> None:
    assert step(state(1, {0: rate})) == (Step(Action.SPLIT, (0,), "msgRateIn") if splits else NONE)


@pytest.mark.parametrize(("ago", "splits"), [(59_999, False), (60_000, True)])
def test_a_split_waits_for_the_cooldown(ago: int, splits: bool) -> None:
    found = step(state(1, {0: 20_000.0}, clocks=Clocks(last_split_ms=NOW_MS - ago)))
    assert found.action is (Action.SPLIT if splits else Action.NONE)


@pytest.mark.parametrize(("age", "merges"), [(299_999, False), (300_000, True)])
def test_a_pair_has_to_be_cold_for_the_window(age: int, merges: bool) -> None:
    assert step(state(2, {0: 1.0, 1: 1.0}, age)) == (Step(Action.MERGE, (0, 1), "cold") if merges else NONE)


@pytest.mark.parametrize(("ago", "merges"), [(299_999, False), (300_000, True)])
def test_a_merge_waits_for_the_cooldown(ago: int, merges: bool) -> None:
    found = step(state(2, {0: 1.0, 1: 1.0}, clocks=Clocks(last_merge_ms=NOW_MS - ago)))
    assert found.action is (Action.MERGE if merges else Action.NONE)


@pytest.mark.parametrize(("ago", "widens"), [(59_999, False), (60_000, True)])
def test_a_rebucket_waits_for_the_cooldown(ago: int, widens: bool) -> None:
    crowded = state(1, consumers={"s": 5}, sharing=["s"], clocks=Clocks(last_rebucket_ms=NOW_MS - ago))
    assert step(crowded) == (Step(Action.REBUCKET, (0,), "below-split-rate-floor", 8) if widens else NONE)


@pytest.mark.parametrize(("consumers", "buckets"), [(5, 8), (8, 8), (9, 16), (2049, 1024)])
def test_buckets_are_the_next_power_of_two_up_to_the_limit(consumers: int, buckets: int) -> None:
    crowded = state(1, consumers={"s": consumers}, sharing=["s"])
    assert step(crowded).buckets == buckets


def test_the_busiest_segment_is_split_for_consumers_and_the_smallest_of_equals() -> None:
    crowded = state(3, {0: 999.0, 1: 1000.0, 2: 1000.0}, 0, consumers={"s": 4})
    assert step(crowded) == Step(Action.SPLIT, (1,), "consumer-count")
    assert step(replace(crowded, consumers={"s": 3})) == NONE
    slower = replace(crowded, loads={0: LoadRecord(Rates(999.9), NOW_MS)})
    assert step(slower) == NONE


def test_groups_are_not_helped_and_at_the_limit_statistics_say_so() -> None:
    settings = AutoScaleSettings(maxSegments=2)
    full = state(2, {0: 2000.0, 1: 2000.0}, 0, consumers={"group": 3}, settings=settings)
    assert step(full) == Step(Action.BLOCKED, (), "max_segments", shown="max_segments")
    slow = state(2, consumers={"group": 3}, settings=settings)
    assert step(slow) == Step(Action.NONE, (), "", shown="max_segments")
    assert step(replace(slow, consumers={"group": 2})) == NONE


def test_equal_loads_leave_open_which_pair_is_merged() -> None:
    idle = state(3, dict.fromkeys(range(3), 0.0))
    assert [one.segment_ids for one in next_steps(idle, NOW_MS)] == [(0, 1), (1, 2)]


def test_a_merge_keeps_room_for_the_consumers_there_are() -> None:
    idle = state(2, dict.fromkeys(range(2), 0.0), settings=AutoScaleSettings(entryBucketMaxPerSegment=3))
    for consumers, action, reason in ((3, Action.MERGE, "cold"), (4, Action.BLOCKED, "max_entry_buckets")):
        found = step(replace(idle, consumers={"s": consumers}, sharing=["s"]))
        assert (found.action, found.reason) == (action, reason)


def test_depth_of_merges_is_bounded() -> None:
    layout = first_layout(4)
    assert isinstance(layout, Layout)
    merged = merge(layout, 0, 1)
    assert isinstance(merged, Layout)
    loads = {one: LoadRecord(Rates(), 0) for one in merged.segments}
    for depth, action in ((1, Action.MERGE), (2, Action.MERGE)):
        found = next_steps(ScalingState(merged, loads, {}, [], settings=AutoScaleSettings(maxDagDepth=depth)), NOW_MS)
        assert {one.action for one in found} == {action}
        assert {one.segment_ids for one in found} == ({(2, 3)} if depth == 1 else {(2, 3), (2, 4)})
    tight = ScalingState(merged, loads, {}, [], settings=AutoScaleSettings(maxDagDepth=0))
    assert step(tight) == Step(Action.BLOCKED, (), "max_dag_depth", shown="max_dag_depth")


def test_without_topics_or_segments_nothing_is_decided() -> None:
    assert evaluate(scaling_columns([], NOW_MS)).actions.tolist() == []
    nothing = ScalingState(Layout({}), {}, {"s": 3}, [])
    assert step(nothing) == NONE
    assert columns_of([]).topics == 0
    both = evaluate(scaling_columns([nothing, state(1, {0: 2e4})], NOW_MS))
    assert both.actions.tolist() == [Action.NONE, Action.SPLIT]


def test_one_entry_of_settings_is_for_all_topics() -> None:
    inputs = scaling_columns([state(2, {0: 50.0, 1: 1.0}), state(1, {0: 60.0})], NOW_MS)
    settings = replace(AutoScaleSettings(), splitMsgRateInThreshold=40.0)
    decisions = evaluate(replace(inputs, settings=[settings]))
    assert [decisions.steps(at)[0].segment_ids for at in range(2)] == [(0,), (0,)]
    assert np.flatnonzero(decisions.candidates).tolist() == [0, 2]


def test_of_equal_scores_one_segment_may_be_too_narrow() -> None:
    layout = first_layout(1)
    assert isinstance(layout, Layout)
    for _ in range(16):
        narrower = split(layout, layout.active()[0].segment_id)
        assert isinstance(narrower, Layout)
        layout = narrower
    narrow, wide = layout.active()[0].segment_id, layout.active()[-1].segment_id
    loads = {narrow: LoadRecord(Rates(2e4), 0), wide: LoadRecord(Rates(0, 1e8), 0)}
    found = next_steps(ScalingState(layout, loads, {}, []), NOW_MS)
    assert set(found) == {
        Step(Action.BLOCKED, (), "unsplittable", shown="unsplittable"),
        Step(Action.SPLIT, (wide,), "byteRateIn"),
    }


def test_later_settings_override_earlier_ones_and_buckets_are_the_brokers() -> None:
    broker = AutoScaleSettings(maxSegments=9, entryBucketMaxPerSegment=7)
    merged = settings_in_force(broker, {"maxSegments": 8, "entryBucketMaxPerSegment": 2}, {"minSegments": 3})
    assert (merged.maxSegments, merged.minSegments, merged.entryBucketMaxPerSegment) == (8, 3, 7)
    assert settings_in_force() == AutoScaleSettings()
    refused = refuse_settings(replace(merged, minSegments=9))
    assert refused is not None
    assert (refused.field, refused.status) == ("maxSegments", 412)
    assert refuse_settings(replace(merged, minSegments=8)) is None


def test_the_smallest_limits_and_bucket_numbers_are_taken() -> None:
    low = replace(
        AutoScaleSettings(),
        splitMsgRateInThreshold=0.5,
        splitBytesRateInThreshold=0.5,
        splitMsgRateOutThreshold=0.5,
        splitBytesRateOutThreshold=0.5,
        mergeMsgRateInThreshold=0.0,
        mergeBytesRateInThreshold=0.0,
        mergeMsgRateOutThreshold=0.0,
        mergeBytesRateOutThreshold=0.0,
        entryBucketMaxPerSegment=1,
    )
    assert refuse_settings(low) is None
    none = refuse_settings(replace(low, entryBucketMaxPerSegment=0))
    assert none is not None
    assert none.field == "maxEntryBucketsPerSegment"


def test_a_size_is_known_below_a_message_a_second() -> None:
    layout = first_layout(1)
    assert isinstance(layout, Layout)
    slow = {0: SegmentStatistics(msgRateIn=0.5, byteRateIn=100.0)}
    assert topic_statistics("topic://t/n/x", layout, slow, Registered()).averageMsgSize == 200.0


def test_a_record_is_written_on_more_than_a_quarter_of_change() -> None:
    assert not is_written(Rates(100.0), Rates(75.0))
    assert is_written(Rates(100.0, 8.0), Rates(100.0, 10.1))
    assert not is_written(Rates(), Rates())


def test_a_name_that_is_only_a_suffix_is_a_name() -> None:
    assert bare_name("-seg-3", 3) == "-seg-3"


def test_printed_settings_are_numbers_of_a_size_that_they_can_have() -> None:
    default = AutoScaleSettings().entryBucketMaxPerSegment
    printed = ("1", "99999", "100000", "0", "-1", "²", "")
    assert [max_buckets(text) for text in printed] == [1, 99_999, *(default,) * 5]
    printed = ("0", "999999999", "1000000000", "-1", "²", "")
    assert [interval_seconds({INTERVAL: text}) for text in printed] == [0, 999_999_999, None, None, None, None]


def test_a_topic_without_segments_gets_nothing() -> None:
    state = ScalingState(Layout({}), {}, {"s": 3}, ["s"], Clocks(), AutoScaleSettings())
    assert next_steps(state, 1_000_000) == (Step(Action.NONE),)


def test_chosen_segments_have_no_family_tree() -> None:
    layout = first_layout(2)
    assert isinstance(layout, Layout)
    halves = split(layout, 0)
    assert isinstance(halves, Layout)
    chosen = columns_of([halves]).only(np.array([False, True, False, True]))
    assert (chosen.topics, chosen.segment_ids.size, chosen.edge_children.size, chosen.edge_parents.size) == (1, 2, 0, 0)
