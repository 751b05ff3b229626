"""The next automatic step of scalable topics, and what blocks it.

After ``AutoScalePolicyEvaluator`` of Pulsar 5.0.1. Three passes: consumers without a segment, traffic beyond a limit,
and pairs of cold neighbours. Where loads are equal, a Java map whose order is salted in each JVM decides; then all
steps that some order gives are candidates. Everything is in columns over many topics; one topic is a case of many.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import pairwise
from typing import Final

import numpy as np

from engine.scalable.columns import Bools, Floats, Ints, SegmentColumns, columns_of, largest, sums
from engine.scalable.layout import Clocks
from engine.scalable.load_reports import LoadRecord
from engine.scalable.model import Layout
from engine.scalable.settings import METRICS, AutoScaleSettings

NEVER_MS: Final = -(2**62)
BELOW_FLOOR: Final = "below-split-rate-floor"
AT_MAX_SEGMENTS: Final = "at-max-segments"
CONSUMER_COUNT: Final = "consumer-count"
COLD: Final = "cold"
MAX_SEGMENTS: Final = "max_segments"
MAX_ENTRY_BUCKETS: Final = "max_entry_buckets"
MAX_DAG_DEPTH: Final = "max_dag_depth"
UNSPLITTABLE: Final = "unsplittable"
INVALID_POLICY: Final = "invalid_policy"
REASONS: Final = (
    "", *METRICS, CONSUMER_COUNT, COLD, BELOW_FLOOR, AT_MAX_SEGMENTS,
    MAX_SEGMENTS, MAX_ENTRY_BUCKETS, MAX_DAG_DEPTH, UNSPLITTABLE, INVALID_POLICY,
)  # fmt: skip
"""All reasons, of steps and of blocks; columns have their positions here, 0 for none."""
_CODE: Final = {reason: code for code, reason in enumerate(REASONS)}


class Action(IntEnum):
    NONE = 0
    SPLIT = 1
    MERGE = 2
    REBUCKET = 3
    BLOCKED = 4


@dataclass(frozen=True, slots=True)
class Step:
    """One decision: a split of one segment, a merge of two, a rebucket of several, or nothing, perhaps with a reason.

    ``buckets`` is the target of a rebucket. The smaller id of a merge is first. ``shown`` is the reason that statistics
    show until the next evaluation.
    """

    action: Action
    segment_ids: tuple[int, ...] = ()
    reason: str = ""
    buckets: int = 0
    shown: str = ""


@dataclass(frozen=True, slots=True)
class ScalingColumns:
    """What is known of many topics. ``segments`` are the active ones; ``rates`` has the four rates of each as columns.

    ``modified_ms`` is when a load record was written, ``NEVER_MS`` where there is none. By topic: the greatest number
    of consumers of a subscription, of one that may not share segments, and of one that may; three clocks, now.
    """

    segments: SegmentColumns
    rates: Floats
    modified_ms: Ints
    consumers: Ints
    whole_consumers: Ints
    sharing_consumers: Ints
    last_split_ms: Ints
    last_merge_ms: Ints
    last_rebucket_ms: Ints
    now_ms: Ints
    settings: Sequence[AutoScaleSettings]
    """Of each topic, or of all of them in one entry."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """The answer for each topic, as codes of ``Action`` and ``REASONS``.

    ``candidates`` marks segments: of which one is split, which are rebucketed to ``targets``, or the left one of each
    pair of which one is merged. ``candidate_reasons`` are those of splits. ``shown`` is the reason in statistics.
    """

    segments: SegmentColumns
    actions: Ints
    reasons: Ints
    shown: Ints
    candidates: Bools
    candidate_reasons: Ints
    targets: Ints

    def steps(self, topic: int) -> tuple[Step, ...]:
        """The steps that can come next of one topic, by ids; more than one where equal loads leave it open."""
        action, reason = Action(self.actions[topic]), REASONS[self.reasons[topic]]
        begin, end = int(self.segments.offsets[topic]), int(self.segments.offsets[topic + 1])
        rows = (begin + np.flatnonzero(self.candidates[begin:end])).tolist()
        ids = self.segments.segment_ids
        if action is Action.SPLIT:
            return tuple(sorted({self._split(row) for row in rows}, key=lambda step: step.segment_ids))
        if action is Action.MERGE:
            pairs = sorted(tuple(sorted((int(ids[row]), int(ids[row + 1])))) for row in rows)
            return tuple(Step(action, pair, reason) for pair in pairs)
        if action is Action.REBUCKET:
            return (Step(action, tuple(sorted(ids[rows].tolist())), reason, int(self.targets[topic])),)
        return (Step(action, (), reason, shown=REASONS[self.shown[topic]]),)

    def _split(self, row: int) -> Step:
        if self.segments.ends[row] == self.segments.starts[row]:
            return Step(Action.BLOCKED, (), UNSPLITTABLE, shown=UNSPLITTABLE)
        return Step(Action.SPLIT, (int(self.segments.segment_ids[row]),), REASONS[self.candidate_reasons[row]])


def evaluate(inputs: ScalingColumns) -> Decisions:
    """The next step of every topic. O(n) for n segments, in numpy."""
    passes = _Passes(inputs)
    passes.consumers_without_segment()
    passes.traffic()
    passes.cold_pairs()
    return passes.decisions()


@dataclass(frozen=True, slots=True)
class ScalingState:
    """What is known of one topic. ``consumers`` has the stored ones of each STREAM and CHECKPOINT subscription.

    ``sharing`` are the subscriptions whose consumers may share a segment.
    """

    layout: Layout
    loads: Mapping[int, LoadRecord]
    consumers: Mapping[str, int]
    sharing: Collection[str]
    clocks: Clocks = field(default_factory=Clocks)
    settings: AutoScaleSettings = field(default_factory=AutoScaleSettings)

    def most_consumers(self) -> tuple[int, int, int]:
        """The greatest number of consumers of any subscription, of one that may not share segments, of one that may."""
        whole = [count for name, count in self.consumers.items() if name not in self.sharing]
        shared = [count for name, count in self.consumers.items() if name in self.sharing]
        return max(self.consumers.values(), default=0), max(whole, default=0), max(shared, default=0)


def scaling_columns(states: Sequence[ScalingState], now_ms: int) -> ScalingColumns:
    """The columns of these topics at one time."""
    listed = columns_of([state.layout for state in states])
    segments = listed.only(~listed.sealed)
    bounds = pairwise(segments.offsets.tolist())
    records = [
        state.loads.get(one)
        for state, (begin, end) in zip(states, bounds, strict=True)
        for one in segments.segment_ids[begin:end].tolist()
    ]
    consumers, whole, shared = np.array([state.most_consumers() for state in states], np.int64).reshape(-1, 3).T
    split, merge, rebucket = np.array([_times(state.clocks) for state in states], np.int64).reshape(-1, 3).T
    return ScalingColumns(
        segments=segments,
        rates=np.array([one.rates.values() if one else (0.0,) * 4 for one in records], np.float64).reshape(-1, 4),
        modified_ms=np.array([one.modified_ms if one else NEVER_MS for one in records], np.int64),
        consumers=consumers,
        whole_consumers=whole,
        sharing_consumers=shared,
        last_split_ms=split,
        last_merge_ms=merge,
        last_rebucket_ms=rebucket,
        now_ms=np.full(len(states), now_ms, np.int64),
        settings=[state.settings for state in states],
    )


def next_steps(state: ScalingState, now_ms: int) -> tuple[Step, ...]:
    """The steps that can come next of one topic, evaluated now."""
    return evaluate(scaling_columns([state], now_ms)).steps(0)


def _times(clocks: Clocks) -> tuple[int, ...]:
    times = (clocks.last_split_ms, clocks.last_merge_ms, clocks.last_rebucket_ms)
    return tuple(NEVER_MS if time is None else time for time in times)


class _Passes:
    """The three passes over one set of columns; a topic that is decided is left alone by later ones."""

    def __init__(self, inputs: ScalingColumns) -> None:
        self.inputs = inputs
        self.segments = segments = inputs.segments
        self.topics = segments.topics
        self.topic = segments.topic_of_each()
        self.count = np.diff(segments.offsets)
        self.capacity = sums(segments.buckets, segments.offsets)
        self.actions = np.zeros(self.topics, np.int64)
        self.reasons = np.zeros(self.topics, np.int64)
        self.targets = np.zeros(self.topics, np.int64)
        self.notes = np.zeros(self.topics, np.int64)
        """Of the first pass that left one."""
        self.candidates = np.zeros(len(self.topic), bool)
        self.candidate_reasons = np.zeros(len(self.topic), np.int64)
        self.width_one = segments.ends == segments.starts
        self.full = self.count >= self._setting("maxSegments")
        self.split_cools = self._cools(inputs.last_split_ms, "splitCooldownSeconds")
        self.open = (self._setting("enabled") != 0) & (self.count > 0)
        """Topics for which a later pass may still decide."""

    def _setting(self, name: str) -> Ints:
        """A whole setting by topic."""
        return np.broadcast_to(self._values(name).astype(np.int64), self.topics)

    def _values(self, name: str) -> Floats:
        return np.array([getattr(one, name) for one in self.inputs.settings], np.float64)

    def _limits(self, kind: str) -> Floats:
        """Limits by topic, or one row for all."""
        rows = [getattr(one, f"{kind}_limits")() for one in self.inputs.settings]
        return np.array(rows, np.float64).reshape(-1, len(METRICS))

    def _per_segment(self, by_topic: Floats) -> Floats:
        return by_topic if len(by_topic) == 1 else by_topic[self.topic]

    def _cools(self, last_ms: Ints, cooldown: str) -> Bools:
        return self.inputs.now_ms - last_ms < self._setting(cooldown) * 1000

    def _decide(self, topics: Bools, action: Action, reasons: Ints | int) -> None:
        self.actions = np.where(topics, action, self.actions)
        self.reasons = np.where(topics, reasons, self.reasons)
        self.open = self.open & ~topics

    def _note(self, topics: Bools, reason: str) -> None:
        self.notes = np.where(topics & self.open & (self.notes == 0), _CODE[reason], self.notes)

    def consumers_without_segment(self) -> None:
        """Split the busiest segment, or give segments more buckets where a split is not worth it."""
        inputs, segments = self.inputs, self.segments
        asked = self.open & (inputs.consumers > self.count)
        if not asked.any():
            return
        busiest = largest(inputs.rates[:, 0], segments.offsets, 0.0)
        slow = busiest < self._values("splitVsRebucketMinMsgRateInThreshold")
        splits = asked & ~self.full & ~slow & ~self.split_cools
        self._mark_busiest(splits, busiest)
        widens = asked & (self.full | slow)
        note = widens & self.full & ~slow & ~self.split_cools & (inputs.whole_consumers > self.count)
        lacks = widens & (inputs.sharing_consumers > self.capacity)
        lacks &= ~self._cools(inputs.last_rebucket_ms, "rebucketCooldownSeconds")
        share = -(-inputs.sharing_consumers // np.maximum(self.count, 1))
        self.targets = np.minimum(_power_of_two(share), self._setting("entryBucketMaxPerSegment"))
        below = lacks[self.topic] & (segments.buckets < self.targets[self.topic])
        some = sums(below.astype(np.int64), segments.offsets) > 0
        self._note(lacks & ~some, MAX_ENTRY_BUCKETS)
        self._note(note & ~(lacks & some), MAX_SEGMENTS)
        self.candidates |= below
        self._decide(lacks & some, Action.REBUCKET, np.where(self.full, _CODE[AT_MAX_SEGMENTS], _CODE[BELOW_FLOOR]))

    def _mark_busiest(self, splits: Bools, busiest: Floats) -> None:
        equal = splits[self.topic] & (self.inputs.rates[:, 0] == busiest[self.topic])
        rows = np.flatnonzero(equal)
        # The smallest id of each topic: sorted by topic, then id, the first of each topic.
        rows = rows[np.lexsort((self.segments.segment_ids[rows], self.topic[rows]))]
        _, at = np.unique(self.topic[rows], return_index=True)
        self._mark_splits(splits, rows[at], _CODE[CONSUMER_COUNT])

    def _mark_splits(self, topics: Bools, rows: Ints, reasons: Ints | int) -> None:
        self.candidates[rows] = True
        self.candidate_reasons[rows] = reasons
        possible = self._some(self.topic[rows[~self.width_one[rows]]])
        self._decide(topics & ~possible, Action.BLOCKED, _CODE[UNSPLITTABLE])
        self._decide(topics & possible, Action.SPLIT, 0)

    def traffic(self) -> None:
        """Split the segment that is furthest beyond a limit."""
        inputs, segments = self.inputs, self.segments
        scores = inputs.rates / self._per_segment(self._limits("split"))
        score = scores.max(axis=1, initial=0.0)
        greatest = largest(score, segments.offsets, 0.0)
        hot = self.open & ~self.split_cools & (greatest > 1.0)
        self._note(hot & self.full, MAX_SEGMENTS)
        splits = hot & ~self.full
        rows = np.flatnonzero(splits[self.topic] & (score == greatest[self.topic]))
        self._mark_splits(splits, rows, 1 + scores[rows].argmax(axis=1))

    def cold_pairs(self) -> None:
        """Merge the pair with the least load of those that have been cold for long enough."""
        inputs, segments = self.inputs, self.segments
        asked = self.open & (self.count > self._setting("minSegments"))
        asked &= ~self._cools(inputs.last_merge_ms, "mergeCooldownSeconds")
        if len(self.topic) < 2 or not asked.any():
            return
        window = (self._setting("mergeWindowSeconds") * 1000)[self.topic]
        cold = asked[self.topic] & (inputs.modified_ms != NEVER_MS)
        cold &= inputs.now_ms[self.topic] - inputs.modified_ms >= window
        cold &= (inputs.rates < self._per_segment(self._limits("merge"))).all(axis=1)
        left = np.flatnonzero(
            cold[:-1] & cold[1:] & (self.topic[:-1] == self.topic[1:]) & (segments.ends[:-1] + 1 == segments.starts[1:])
        )
        paired = topic = self.topic[left]
        deep = np.maximum(segments.merge_depths[left], segments.merge_depths[left + 1])
        deep_ones = deep >= self._setting("maxDagDepth")[topic]
        both = segments.buckets[left] + segments.buckets[left + 1]
        kept = self.capacity[topic] - both + np.minimum(both, self._setting("entryBucketMaxPerSegment")[topic])
        small_ones = ~deep_ones & (kept < np.minimum(inputs.consumers, self.capacity)[topic])
        loads = inputs.rates.sum(axis=1)
        fits = ~deep_ones & ~small_ones
        left, topic = left[fits], topic[fits]
        combined = loads[left] + loads[left + 1]
        least = np.full(self.topics, np.inf)
        np.minimum.at(least, topic, combined)
        self.candidates[left[combined == least[topic]]] = True
        self._decide(asked & np.isfinite(least), Action.MERGE, _CODE[COLD])
        self._note(self._some(paired[deep_ones]), MAX_DAG_DEPTH)
        self._note(self._some(paired[small_ones]), MAX_ENTRY_BUCKETS)

    def _some(self, topics: Ints) -> Bools:
        """Which topics are named."""
        named = np.zeros(self.topics, bool)
        named[topics] = True
        return named

    def decisions(self) -> Decisions:
        blocked = (self.actions == Action.NONE) & (self.notes > 0) & self.open
        self._decide(blocked, Action.BLOCKED, self.notes)
        idle = (self.actions == Action.NONE) | (self.actions == Action.BLOCKED)
        shown = np.where(self.actions == Action.BLOCKED, self.reasons, 0)
        starved = self.full & (self.inputs.whole_consumers > self.count)
        shown = np.where(idle & starved, _CODE[MAX_SEGMENTS], shown)
        return Decisions(
            self.segments, self.actions, self.reasons, shown, self.candidates, self.candidate_reasons, self.targets
        )


def _power_of_two(least: Ints) -> Ints:
    """The smallest powers of two that are no less than these (below 2^53), 1 for what is below 1."""
    _, exponents = np.frexp(np.maximum(least - 1, 0).astype(np.float64))
    result: Ints = np.int64(1) << exponents.astype(np.int64)
    return result
