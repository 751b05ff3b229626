"""The deal and the evaluation of many random topics at once against the oracle, topic by topic."""

from __future__ import annotations

import random
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from engine.errors import Rejection
from engine.scalable.columns import columns_of
from engine.scalable.dealing import assignable, deal, owners_in_columns
from engine.scalable.layout import (
    Clocks,
    clocks_of,
    first_layout,
    merge,
    merge_depths,
    migrated_layout,
    prune,
    rebucket,
    split,
)
from engine.scalable.load_reports import LoadRecord, Rates
from engine.scalable.model import RING_SIZE, Layout
from engine.scalable.scaling import Action, ScalingState, Step, evaluate, scaling_columns
from engine.scalable.settings import AutoScaleSettings
from tests.oracles import scalable as oracle

NOW_MS = 10_000_000


def random_layout(dice: random.Random) -> Layout:
    count = dice.choice([1, 1, 2, 3, 5, 8])
    layout: Any
    if dice.random() < 0.2:
        layout = migrated_layout("persistent://t/n/old", dice.choice([0, 2, 4]), budget=dice.choice([1, 4, 16]))
    else:
        layout = first_layout(count, budget=dice.choice([1, 4, 16, 200]))
    for _ in range(dice.randrange(12)):
        changed = random_change(layout, dice)
        layout = layout if isinstance(changed, Rejection) else changed
    assert isinstance(layout, Layout)
    return layout


def random_change(layout: Layout, dice: random.Random) -> Layout | Rejection:
    ids, now_ms = list(layout.segments), dice.randrange(NOW_MS)
    match dice.randrange(4):
        case 0:
            return split(layout, dice.choice(ids), now_ms)
        case 1:
            return merge(layout, dice.choice(ids), dice.choice(ids), now_ms)
        case 2:
            return rebucket(layout, dice.choice(ids), dice.randint(1, 9), now_ms)
    return prune(layout, dice.choice(ids))


def rows_of(layout: Layout) -> list[oracle.Row]:
    return [
        (s.segment_id, s.hash_range.start, s.hash_range.end, s.buckets, not s.active, s.parent_ids)
        for s in layout.segments.values()
    ]


@pytest.mark.parametrize("seed", range(4))
def test_active_segments_tile_the_ring(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(50):
        ends = [(segment.hash_range.start, segment.hash_range.end) for segment in random_layout(dice).active()]
        assert ends[0][0] == 0
        assert ends[-1][1] == RING_SIZE - 1
        assert all(left[1] + 1 == right[0] for left, right in pairwise(ends))


@pytest.mark.parametrize("seed", range(6))
def test_one_deal_is_the_oracles(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(60):
        layout = random_layout(dice)
        names = [f"c{n}" for n in dice.sample(range(100), dice.choice([0, 1, 2, 3, 5, 9, 20, 60]))]
        drained = {one for one in layout.segments if dice.random() < 0.6}
        rule, whole = dice.random() < 0.8, dice.random() < 0.3
        found = deal(layout, names, drained, drain_rule=rule, checkpoint=whole)
        grants = {name: [(g.segment_id, g.buckets) for g in each] for name, each in found.grants.items()}
        assert grants == oracle.dealt(rows_of(layout), names, drained, rule=rule, whole=whole)
        rows = {row[0]: row for row in rows_of(layout)}
        waits = [
            one
            for one, row in rows.items()
            if not (row[4] and one in drained) and oracle.has_undrained_ancestor(rows, one, drained)
        ]
        assert list(found.waiting) == sorted(waits)


@pytest.mark.parametrize("seed", range(4))
def test_many_deals_at_once_are_the_deals_one_by_one(seed: int) -> None:
    dice = random.Random(seed)
    layouts = [random_layout(dice) for _ in range(80)]
    columns = columns_of(layouts)
    drained = np.array([dice.random() < 0.5 for _ in columns.segment_ids])
    rules = np.array([dice.random() < 0.7 for _ in layouts])
    whole = np.array([dice.random() < 0.3 for _ in layouts])
    counts = np.array([dice.choice([0, 1, 3, 7, 25, 90]) for _ in layouts])
    given = columns.only(assignable(columns, drained, rules))
    first, owners = owners_in_columns(given.offsets, given.buckets, counts, whole)
    for at, layout in enumerate(layouts):
        begin, end = columns.offsets[at], columns.offsets[at + 1]
        known = set(columns.segment_ids[begin:end][drained[begin:end]].tolist())
        names = [f"c{n:03}" for n in range(counts[at])]
        expected = deal(layout, names, known, drain_rule=bool(rules[at]), checkpoint=bool(whole[at]))
        low, high = given.offsets[at], given.offsets[at + 1]
        assert given.segment_ids[low:high].tolist() == list(expected.dealt)
        for row in range(low, high):
            of_row = names[first[row] : first[row] + owners[row]]
            assert tuple(of_row) == expected.owners(int(given.segment_ids[row]))


def random_state(dice: random.Random) -> ScalingState:
    layout = random_layout(dice)
    while any(dice.random() < 0.05 for _ in range(3)):  # down to a segment of one hash
        narrow = layout.active()[0].segment_id
        while not isinstance(halves := split(layout, narrow), Rejection):
            layout, narrow = halves, halves.active()[0].segment_id
    settings = AutoScaleSettings(
        enabled=dice.random() < 0.95,
        maxSegments=dice.choice([1, 3, 6, 64]),
        minSegments=dice.choice([1, 2, 4]),
        maxDagDepth=dice.choice([0, 1, 2, 10]),
        splitVsRebucketMinMsgRateInThreshold=dice.choice([0.0, 1000.0, 5000.0]),
        entryBucketMaxPerSegment=dice.choice([2, 8, 1024]),
    )
    loads = {}
    for segment in layout.active():
        if dice.random() < 0.85:
            scale = dice.choice([0.0, 0.3, 1.0, 9.0, 10.0, 12.0])
            rates = Rates(
                scale * 1000, scale * dice.choice([1e6, 5e6]), scale * 5000, scale * dice.choice([1e6, 2.5e7])
            )
            loads[segment.segment_id] = LoadRecord(rates, NOW_MS - dice.choice([0, 299_999, 300_000, 900_000]))
    names = [f"s{n}" for n in range(dice.randrange(4))]
    consumers = {name: dice.choice([0, 1, 2, 5, 9, 40]) for name in names}
    sharing = [name for name in names if dice.random() < 0.6]
    clocks = Clocks(*(dice.choice([None, NOW_MS - 59_999, NOW_MS - 60_000, NOW_MS - 300_000]) for _ in range(3)))
    return ScalingState(layout, loads, consumers, sharing, clocks, settings)


def as_answer(step: Step) -> oracle.Answer:
    match step.action:
        case Action.SPLIT | Action.MERGE:
            return (step.action.name.lower(), *step.segment_ids, step.reason)
        case Action.REBUCKET:
            return ("rebucket", step.segment_ids, step.buckets, step.reason)
        case Action.BLOCKED:
            return ("blocked", step.reason)
    return ("none",)


@pytest.mark.parametrize("seed", range(6))
def test_many_evaluations_at_once_are_the_oracles(seed: int) -> None:
    dice = random.Random(seed)
    states = [random_state(dice) for _ in range(150)]
    decisions = evaluate(scaling_columns(states, NOW_MS))
    for at, state in enumerate(states):
        depths = merge_depths(state.layout)
        active = [
            (s.segment_id, s.hash_range.start, s.hash_range.end, s.buckets, depths[s.segment_id])
            for s in state.layout.active()
        ]
        loads = {one: (record.rates.values(), record.modified_ms) for one, record in state.loads.items()}
        clocks = (state.clocks.last_split_ms, state.clocks.last_merge_ms, state.clocks.last_rebucket_ms)
        expected = oracle.next_steps(active, loads, state.most_consumers(), clocks, NOW_MS, asdict(state.settings))
        assert {as_answer(step) for step in decisions.steps(at)} == expected


def test_clocks_of_random_layouts_never_pass_the_last_change() -> None:
    dice = random.Random(5)
    for _ in range(50):
        layout = random_layout(dice)
        last = max(segment.created_at_ms for segment in layout.segments.values())
        clocks = clocks_of(layout)
        times = [clocks.last_split_ms, clocks.last_merge_ms, clocks.last_rebucket_ms]
        assert all(time is None or time <= last for time in times)
