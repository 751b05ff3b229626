"""Check whether a planned state meets its goals, by the rules of a broker of the planned release."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.bulk_hashing import crc32_bulk
from engine.bundles.boundaries import default_boundaries
from engine.bundles.occupancy import ExpectedOccupancy, expected_occupancy
from engine.cluster.moves import moves
from engine.cluster.owners import dispatch_order
from engine.cluster.state import Subscription
from engine.compare.heirs import losses, without
from engine.compare.key_shared import KnownKeys, slot_counts, worst_loss
from engine.compare.verdict import Evenness, evenness, evenness_of, shares
from engine.errors import Rejection
from engine.keyshared.admission import JoinRefused, KeySharedMode, assemble
from engine.keyshared.bulk import slot_owners
from engine.keyshared.model import RANGE_SIZE, Consumer, Selector
from engine.plan.model import FailoverPlan, Goal, Judged, KeyPlan, KeyTerms, NamespacePlan, Outcome, Plan

TOLERANCE: Final = 1e-9
"""The rounding margin by which a number may exceed what is allowed."""


def judge_plan(plan: Plan) -> Judged:
    """Check every goal of a plan, in order. A ``survive`` goal costs one check per combination of lost consumers."""
    outcomes: list[Outcome] = []
    for part in plan.parts:
        if isinstance(part, FailoverPlan):
            outcomes += _failover(part)
        elif isinstance(part, KeyPlan):
            outcomes += _key_shared(part)
        else:
            outcomes += _namespace(part)
    return Judged(plan, tuple(outcomes))


def _outcome(part: str, goal: Goal, value: float, who: Iterable[str] = (), key: str = "") -> Outcome:
    met = value <= goal.allowed + TOLERANCE * max(1.0, goal.allowed)
    # Infinity (nobody is left) cannot be written as JSON.
    if not math.isfinite(value):
        return Outcome(part, goal, met=False, who=tuple(who), reason="nobody is left")
    return Outcome(part, goal, met, value, tuple(who), "", key if not met else "")


# Failover.


def _failover(part: FailoverPlan) -> Iterator[Outcome]:
    subscription = part.state.subscriptions[0]
    even = evenness(part.state, subscription)
    counts, rates = shares(part.state, subscription)
    order = dispatch_order(subscription.consumers)

    def busiest(of: NDArray[np.int64] | NDArray[np.float64]) -> tuple[str, ...]:
        return (order[int(of.argmax())].name,) if len(order) and of.max() > 0 else ()

    for goal in part.goals:
        if goal.kind == "survive":
            value, lost = _worst_failover(part, subscription, goal)
            yield _outcome(part.name, goal, value, lost)
        elif goal.kind == "moved":
            assert part.before is not None, "reading asks for a state before"
            moved = moves(part.before, part.state, part.name)
            yield _outcome(part.name, goal, (len(moved.moved) + len(moved.orphaned)) / max(moved.partitions, 1))
        elif not order and goal.kind != "idle":
            yield Outcome(part.name, goal, met=False, reason="nobody consumes it")
        elif goal.kind == "max_over_mean":
            yield _outcome(part.name, goal, even.max_over_mean, busiest(counts))
        elif goal.kind == "max_over_mean_msgs":
            yield _outcome(part.name, goal, even.max_over_mean_rate or 0.0, busiest(rates))
        elif goal.kind == "busiest_msgs":
            yield _outcome(part.name, goal, even.busiest_msgs_per_sec or 0.0, busiest(rates))
        else:
            yield _outcome(part.name, goal, even.idle)


def _worst_failover(part: FailoverPlan, subscription: Subscription, goal: Goal) -> tuple[float, tuple[str, ...]]:
    """The largest share over the mean after ``goal.losses`` are lost, and who they are; infinite if nobody is left."""

    def ratio(even: Evenness) -> float:
        return (even.max_over_mean_rate or 0.0) if goal.by_messages else even.max_over_mean

    if len(subscription.consumers) <= goal.losses:
        return math.inf, tuple(consumer.name for consumer in subscription.consumers)
    if goal.losses == 1:
        worst = max(losses(part.state, subscription), key=lambda loss: ratio(loss.after))
        return ratio(worst.after), (worst.consumer.name,)
    largest, who = -1.0, tuple[str, ...]()
    for gone in combinations(subscription.consumers, goal.losses):
        left = without(part.state, part.name, {lost.consumer_id for lost in gone})
        value = ratio(evenness(left, left.subscriptions[0]))
        if value > largest:
            largest, who = value, tuple(lost.name for lost in gone)
    return largest, who


# Key_Shared.


def _key_shared(part: KeyPlan) -> Iterator[Outcome]:
    consumers, keys = part.terms.consumers, KnownKeys.of({key.encode(): rate for key, rate in part.keys.items()})
    joins = Goal("joins", 0.0, part.line)
    selector = _selector(part.terms)
    if isinstance(selector, JoinRefused):
        yield Outcome(part.name, joins, met=False, who=(selector.consumer.name,), reason=selector.rejection.message)
    elif isinstance(selector, Rejection):
        yield Outcome(part.name, joins, met=False, reason=selector.message)
    else:
        yield Outcome(part.name, joins, met=True, actual=0.0)
    for goal in part.goals:
        if goal.kind == "overlap":
            slots, who = _overlap(consumers)
            yield _outcome(part.name, goal, slots, who)
        elif isinstance(selector, (JoinRefused, Rejection)):
            yield Outcome(part.name, goal, met=False, reason="not every consumer can join")
        elif not consumers and goal.kind not in ("idle", "moved", "gaps"):
            yield Outcome(part.name, goal, met=False, reason="nobody consumes it")
        elif goal.kind == "survive":
            yield _worst_of_keys(part, goal, selector, keys)
        elif goal.kind == "moved":
            assert part.before is not None, "reading asks for a state before"
            before = _selector(part.before)
            if isinstance(before, (JoinRefused, Rejection)):
                yield Outcome(part.name, goal, met=False, reason="not every consumer could join before")
            else:
                yield _outcome(part.name, goal, _moved(before, selector))
        else:
            yield _of_slots(part, goal, selector, keys)


def _of_slots(part: KeyPlan, goal: Goal, selector: Selector, keys: KnownKeys) -> Outcome:
    counts, rates = slot_counts(selector), keys.sums(selector)
    even = evenness_of(counts.astype(np.int64), rates, selector.slots.occurring)
    names = [consumer.name for consumer in selector.consumers]
    if goal.kind == "gaps":
        return _outcome(part.name, goal, even.items - even.owned)
    if goal.kind == "idle":
        return _outcome(part.name, goal, even.idle, [names[at] for at in np.flatnonzero(counts == 0).tolist()])
    if goal.kind == "max_over_mean":
        return _outcome(part.name, goal, even.max_over_mean, [names[int(counts.argmax())]])
    if not even.msgs_per_sec:
        return Outcome(part.name, goal, met=False, reason="no key has messages: write [subscriptions.keys]")
    busiest, alone = [names[int(rates.argmax())]], float(keys.rates.max())
    hottest, _ = keys.hottest
    if goal.kind == "busiest_msgs":
        hot = alone > goal.allowed
        return _outcome(part.name, goal, even.busiest_msgs_per_sec or 0.0, busiest, hottest if hot else "")
    hot = alone * len(names) / even.msgs_per_sec > goal.allowed
    return _outcome(part.name, goal, even.max_over_mean_rate or 0.0, busiest, hottest if hot else "")


def _worst_of_keys(part: KeyPlan, goal: Goal, selector: Selector, keys: KnownKeys) -> Outcome:
    """After so many leave, in the order they joined; where halves are given back, another order can give others."""
    if len(selector.consumers) <= goal.losses:
        return _outcome(part.name, goal, math.inf, [consumer.name for consumer in selector.consumers])
    if goal.by_messages and not keys.rates.sum():
        return Outcome(part.name, goal, met=False, reason="no key has messages: write [subscriptions.keys]")
    value, who = worst_loss(selector, goal.losses, keys.sums if goal.by_messages else slot_counts)
    return _outcome(part.name, goal, value, [lost.name for lost in who])


def _selector(terms: KeyTerms) -> Selector | Rejection | JoinRefused:
    mode = KeySharedMode.STICKY if terms.mode.declares else KeySharedMode.AUTO_SPLIT
    return assemble(terms.consumers, mode, terms.settings, terms.behaviour)


def _moved(before: Selector, after: Selector) -> float:
    """The part of the slots that has another owner, 0..1; a stretch that is shared counts by its last slot.

    Where there are more slots or fewer than before (a ring has 65,535, halves 65,536), the slot of a hash in one says
    next to nothing about its slot in the other, so shares are multiplied.
    """
    if before.slots.size != after.slots.size:
        old_counts, new_counts = slot_counts(before), slot_counts(after)
        part = dict(zip((consumer.consumer_id for consumer in before.consumers), old_counts.tolist(), strict=True))
        stay = sum(
            part.get(consumer.consumer_id, 0) * count
            for consumer, count in zip(after.consumers, new_counts.tolist(), strict=True)
        )
        return float(1.0 - stay / (before.slots.occurring * after.slots.occurring))
    old, new = slot_owners(before), slot_owners(after)
    low, high = max(before.slots.lowest, after.slots.lowest), min(before.slots.high, after.slots.high)
    ends = np.unique(np.concatenate((old.end, new.end, [high])))
    ends = ends[(ends >= low) & (ends <= high)]
    widths = np.diff(ends, prepend=low - 1)
    return float(widths[old.look_up(ends) != new.look_up(ends)].sum()) / (high - low + 1)


def _overlap(consumers: Sequence[Consumer]) -> tuple[int, tuple[str, ...]]:
    """How many slots are declared by several consumers, and the names of those consumers."""
    edges: list[tuple[int, int]] = []
    pieces = sorted(
        (max(start, 0), min(end, RANGE_SIZE - 1), consumer.consumer_id, consumer.name)
        for consumer in consumers
        for start, end in consumer.declared or ()
        if start <= end
    )
    who: dict[str, None] = {}
    furthest: tuple[int, int, str] = (-1, -1, "")
    for start, end, number, name in pieces:
        edges += [(start, 1), (end + 1, -1)]
        if start <= furthest[0] and number != furthest[1]:
            who |= {furthest[2]: None, name: None}
        furthest = max(furthest, (end, number, name))
    slots = depth = 0
    edges.sort()
    for (at, step), following in pairwise([*edges, (RANGE_SIZE, 0)]):
        depth += step
        slots += (following[0] - at) if depth > 1 else 0
    return slots, tuple(who)


# Bundles.


def _namespace(part: NamespacePlan) -> Iterator[Outcome]:
    for goal in part.goals:
        brokers = part.brokers - goal.losses
        if brokers < 1:
            yield _outcome(part.name, goal, math.inf)
        elif part.topics:
            per_bundle, per_broker = _dealt(part, brokers)
            yield _outcome(part.name, goal, _of_counts(goal, per_bundle, per_broker))
        else:
            expected = expected_occupancy(part.expected_topics, part.bundles, brokers)
            if isinstance(expected, Rejection):
                yield Outcome(part.name, goal, met=False, reason=expected.message)
            else:
                yield _outcome(part.name, goal, _by_chance(goal, expected))


def _dealt(part: NamespacePlan, brokers: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The topics of each bundle, and of each broker when bundles are dealt out in turn."""
    boundaries = default_boundaries(part.bundles)
    assert not isinstance(boundaries, Rejection), "reading asks for a number of bundles in range"
    hashes = crc32_bulk(list(part.topics)).astype(np.int64)
    place = np.minimum(np.searchsorted(np.array(boundaries), hashes, side="right") - 1, part.bundles - 1)
    per_bundle = np.bincount(place, minlength=part.bundles)
    per_broker = np.bincount(np.arange(part.bundles) % brokers, weights=per_bundle, minlength=brokers)
    return per_bundle.astype(np.int64), per_broker.astype(np.int64)


def _of_counts(goal: Goal, per_bundle: NDArray[np.int64], per_broker: NDArray[np.int64]) -> float:
    if goal.kind == "fullest_bundle":
        return float(per_bundle.max())
    if goal.kind == "idle":
        return float(np.count_nonzero(per_broker == 0))
    return float(per_broker.max()) * len(per_broker) / float(per_broker.sum())


def _by_chance(goal: Goal, expected: ExpectedOccupancy) -> float:
    if goal.kind == "fullest_bundle":
        return expected.fullest_bundle
    if goal.kind == "idle":
        return expected.idle_brokers
    return expected.dealt_max_over_mean
