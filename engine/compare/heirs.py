"""The heirs when consumers of a Failover subscription leave: some at once, or each alone.

``without``, with the moves it leads to, is the scalar form: one loss at a time, by the rules themselves. ``losses``
finds all single failures in one pass over the ring (the heir of a run of points of one consumer is the owner of the
next point) or over the partition indices; tests prove it equal.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from engine.cluster.moves import moves
from engine.cluster.owners import active_ids, columns_of, dispatch_order, rules_of
from engine.cluster.partitions import PartitionColumns, traffic
from engine.cluster.state import ClusterState, Subscription
from engine.compare.verdict import Evenness, Judgement, evenness, judge, over_mean
from engine.failover.bulk_ring import Rings, build_rings
from engine.failover.choose import Rule, cohort
from engine.failover.model import Consumer


@dataclass(frozen=True, slots=True)
class Loss:
    """The result of the failure of one consumer.

    It had ``items`` partitions with ``msgs_per_sec``; ``moved`` change hands, those of others too where modulo deals
    anew. ``heirs`` consumers get more partitions than before. ``before`` and ``after`` are the shares, ``busiest`` is
    the consumer with most messages (with most partitions where no message flows) afterwards; None where nobody is left.
    """

    consumer: Consumer
    items: int
    msgs_per_sec: float | None
    moved: int
    heirs: int
    busiest: Consumer | None
    judgement: Judgement
    before: Evenness
    after: Evenness


def without(state: ClusterState, key: str, gone: Collection[int]) -> ClusterState:
    """The state once the consumers of these ids have left a subscription, all at once."""
    return structs.replace(
        state,
        subscriptions=tuple(
            replace(subscription, consumers=tuple(one for one in subscription.consumers if one.consumer_id not in gone))
            if subscription.key == key
            else subscription
            for subscription in state.subscriptions
        ),
    )


def losses(state: ClusterState, subscription: Subscription) -> tuple[Loss, ...]:
    """Every single failure, the worst first: by the messages, then by the partitions of the busiest one afterwards.

    O(n + p log p) for n partitions and p points on the ring; by modulo O(consumers * highest partition index). Where
    two rules decide, or the only consumer of a level goes, one loss after another is computed.
    """
    columns, order = columns_of(state, subscription), dispatch_order(subscription.consumers)
    leading = cohort(order)
    rules = rules_of(state, columns)
    flow = traffic(columns, state.loads, subscription.loads).msgs_per_sec
    if len(leading) > 1 and rules == {Rule.RING}:
        failures = _on_the_ring(leading, columns, flow)
    elif len(leading) > 1 and rules == {Rule.MODULO}:
        failures = _by_modulo(leading, columns, flow)
    else:
        return tuple(sorted((one_loss(state, subscription, standby) for standby in order), key=_badness))
    before = evenness(state, subscription)
    standbys = [
        Loss(standby, 0, 0.0, 0, 0, _busiest_of(failures), "even", before, before) for standby in order[len(leading) :]
    ]
    return tuple(sorted([*_losses_of(leading, failures, before), *standbys], key=_badness))


def one_loss(state: ClusterState, subscription: Subscription, consumer: Consumer) -> Loss:
    """One failure by the rules themselves: compare the state with the one without that consumer. O(partitions)."""
    after = without(state, subscription.key, {consumer.consumer_id})
    left = next(other for other in after.subscriptions if other.key == subscription.key)
    ids_before, ids_after = active_ids(state, subscription), active_ids(after, left)
    sent = traffic(columns_of(state, subscription), state.loads, subscription.loads)
    flow = sent.msgs_per_sec
    was, now = evenness(state, subscription), evenness(after, left)
    moved = moves(state, after, subscription.key)
    more = _counts(ids_after, len(left.consumers), left) - _counts(ids_before, len(left.consumers), left)
    mine = ids_before == consumer.consumer_id
    counts, rates = _counts(ids_after, len(left.consumers), left), _sums(ids_after, flow, left)
    busiest = left.consumers[_top(counts, rates)] if left.consumers else None
    items = int(np.count_nonzero(mine))
    return Loss(
        consumer=consumer,
        items=items,
        msgs_per_sec=None if sent.unknown is not None and sent.unknown[mine].any() else float(flow[mine].sum()),
        moved=len(moved.moved) + len(moved.orphaned),
        heirs=int(np.count_nonzero(more > 0)),
        busiest=busiest,
        judgement=judge(was, now, items)[0],
        before=was,
        after=now,
    )


def _badness(loss: Loss) -> tuple[float, ...]:
    after = loss.after
    fastest, lost = after.busiest_msgs_per_sec or 0.0, loss.msgs_per_sec or 0.0
    return (after.owned - after.items, -fastest, -after.busiest, -lost, -loss.items)


@dataclass(frozen=True, eq=False, slots=True)
class _Failures:
    """Single failures of the m consumers of a cohort, in its order: (m,) each.

    ``counts`` and ``rates`` are before; ``busiest`` (a place) has ``most`` and ``fastest`` afterwards, ``idle`` have
    nothing then. ``most`` and ``fastest`` may be of two consumers.
    """

    counts: NDArray[np.int64]
    rates: NDArray[np.float64]
    moved: NDArray[np.int64]
    heirs: NDArray[np.int64]
    most: NDArray[np.int64] | NDArray[np.float64]
    fastest: NDArray[np.float64]
    busiest: NDArray[np.int64]
    idle: NDArray[np.int64]
    leading: Sequence[Consumer]
    items: int


def _losses_of(leading: Sequence[Consumer], failures: _Failures, before: Evenness) -> list[Loss]:
    owned, size, is_known = failures.items, len(leading) - 1, before.msgs_per_sec is not None
    rate = float(failures.rates.sum()) if is_known else None
    losses = []
    for at, consumer in enumerate(leading):
        most, fastest = int(failures.most[at]), float(failures.fastest[at]) if is_known else None
        after = Evenness(
            consumers=size,
            items=failures.items,
            owned=owned,
            busiest=most,
            idle=int(failures.idle[at]),
            max_over_mean=most * size / owned if owned else 0.0,
            msgs_per_sec=rate,
            busiest_msgs_per_sec=fastest,
            max_over_mean_rate=over_mean(fastest, rate, size),
        )
        losses.append(
            Loss(
                consumer=consumer,
                items=int(failures.counts[at]),
                msgs_per_sec=float(failures.rates[at]) if is_known else None,
                moved=int(failures.moved[at]),
                heirs=int(failures.heirs[at]),
                busiest=leading[int(failures.busiest[at])],
                judgement=judge(before, after, int(failures.counts[at]))[0],
                before=before,
                after=after,
            )
        )
    return losses


def _on_the_ring(leading: Sequence[Consumer], columns: PartitionColumns, flow: NDArray[np.float64]) -> _Failures:
    """All failures on the ring: the heir of a run of points is the owner of the next other point, round the end."""
    size = len(leading)
    rings = build_rings([[consumer.name for consumer in leading]])
    owners, counts_at, rates_at = _by_point(rings, columns, flow)
    heirs = _next_other(owners)
    counts = np.bincount(owners, weights=counts_at, minlength=size).astype(np.int64)
    rates = np.bincount(owners, weights=rates_at, minlength=size).astype(np.float64)
    pair = owners.astype(np.int64) * size + heirs
    pairs, place = np.unique(pair[counts_at > 0], return_inverse=True)
    losers, winners = pairs // size, pairs % size
    got = np.bincount(place, weights=counts_at[counts_at > 0], minlength=len(pairs)).astype(np.int64)
    got_rate = np.bincount(place, weights=rates_at[counts_at > 0], minlength=len(pairs))
    after, after_rate = counts[winners] + got, rates[winners] + got_rate
    # Consumers that inherit nothing keep their share; the largest of those is the first or the second of all.
    most, _ = _most_of_others(counts)
    fastest, place_of_fastest = _most_of_others(rates)
    _, place_of_most = _most_of_others(counts)
    flows = bool(rates.sum() > 0)
    busiest = (place_of_fastest if flows else place_of_most).copy()
    for loser, winner, items, rate in zip(
        losers.tolist(), winners.tolist(), after.tolist(), after_rate.tolist(), strict=True
    ):
        if rate > fastest[loser] or (not flows and items > most[loser]):
            busiest[loser] = winner
        most[loser] = max(most[loser], items)
        fastest[loser] = max(fastest[loser], rate)
    idle_before = int(np.count_nonzero(counts == 0))
    filled = np.bincount(losers[counts[winners] == 0], minlength=size)
    return _Failures(
        counts=counts,
        rates=rates,
        moved=counts,
        heirs=np.bincount(losers, minlength=size),
        most=most,
        fastest=fastest,
        busiest=busiest,
        idle=idle_before - (counts == 0) - filled,
        leading=leading,
        items=len(columns),
    )


def _by_point(
    rings: Rings, columns: PartitionColumns, flow: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.float64]]:
    """The owner of each point, how many partitions fall on it, and their messages per second: (p,) each.

    Hashes past the last point fall on the first one.
    """
    points, owners = rings.points_of(0), rings.owners_of(0)
    cuts = np.searchsorted(columns.hash, points.astype(np.int32), side="right")
    counts = np.diff(cuts, prepend=0)
    rates = np.zeros(len(points))
    some = np.flatnonzero(counts)
    if len(some):
        begin = np.concatenate(([0], cuts[some[:-1]]))
        rates[some] = np.add.reduceat(flow[: cuts[-1]], begin) if cuts[-1] else 0.0
    if cuts[-1] < len(columns):
        counts[0] += len(columns) - cuts[-1]
        rates[0] += float(flow[cuts[-1] :].sum())
    return owners, counts, rates


def _next_other(owners: NDArray[np.int32]) -> NDArray[np.int64]:
    """(p,) the owner of the next entry that has another owner, round the end; there are at least two owners.

    >>> _next_other(np.array([0, 0, 1, 0], dtype=np.int32)).tolist()
    [1, 1, 0, 1]
    """
    ends = np.flatnonzero(owners != np.roll(owners, -1))
    following = owners[(ends + 1) % len(owners)]
    at = np.searchsorted(ends, np.arange(len(owners)), side="left") % len(ends)
    return following[at].astype(np.int64)


def _most_of_others(values: NDArray[np.int64] | NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """For each value the largest of all others, and its index: (m,) each, m > 1."""
    first = int(np.argmax(values))
    rest = np.delete(np.arange(len(values)), first)
    second = int(rest[np.argmax(values[rest])])
    places = np.full(len(values), first)
    places[first] = second
    return values[places].astype(np.float64), places


def _by_modulo(leading: Sequence[Consumer], columns: PartitionColumns, flow: NDArray[np.float64]) -> _Failures:
    """All failures by modulo: nearly every index moves; the shares by place do not depend on who leaves."""
    size = len(leading)
    per_index = np.bincount(columns.index)
    rate_per_index = np.bincount(columns.index, weights=flow)
    index = np.arange(len(per_index))
    old, new = index % size, index % (size - 1)
    counts = np.bincount(old, weights=per_index, minlength=size).astype(np.int64)
    rates = np.bincount(old, weights=rate_per_index, minlength=size).astype(np.float64)
    then = np.bincount(new, weights=per_index, minlength=size - 1).astype(np.int64)
    then_rates = np.bincount(new, weights=rate_per_index, minlength=size - 1).astype(np.float64)
    top = _top(then, then_rates)
    places = np.arange(size)
    moved = np.empty(size, dtype=np.int64)
    heirs = np.empty(size, dtype=np.int64)
    for gone in range(size):
        # Consumers behind the one that leaves move up by one place.
        now = new + (new >= gone)
        moved[gone] = per_index[now != old].sum()
        kept = np.delete(places, gone)
        heirs[gone] = np.count_nonzero(then > counts[kept])
    return _Failures(
        counts=counts,
        rates=rates,
        moved=moved,
        heirs=heirs,
        most=np.full(size, then.max()),
        fastest=np.full(size, then_rates.max()),
        busiest=top + (top >= places),
        idle=np.full(size, np.count_nonzero(then == 0)),
        leading=leading,
        items=len(columns),
    )


def _top(counts: NDArray[np.int64], rates: NDArray[np.float64]) -> int:
    """The index of the busiest: by messages if there are any, else by partitions."""
    return int(np.argmax(rates if rates.sum() > 0 else counts))


def _busiest_of(failures: _Failures) -> Consumer:
    return failures.leading[_top(failures.counts, failures.rates)]


def _counts(ids: NDArray[np.int32], size: int, left: Subscription) -> NDArray[np.int64]:
    """(size,) the partitions of each of the remaining consumers."""
    sums = _sums(ids, np.ones(len(ids)), left)
    assert len(sums) == size, "one number a consumer"
    return sums.astype(np.int64)


def _sums(ids: NDArray[np.int32], weights: NDArray[np.float64], left: Subscription) -> NDArray[np.float64]:
    numbers = [consumer.consumer_id for consumer in left.consumers]
    sums = np.bincount(ids[ids >= 0], weights=weights[ids >= 0], minlength=max(numbers, default=0) + 1)
    return sums[numbers].astype(np.float64) if numbers else np.zeros(0)
