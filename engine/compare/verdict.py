"""How evenly the work of a subscription is spread over its consumers, and whether a change makes it better or worse.

A verdict can be computed before or after a change; it includes what the change moves.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Final, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from engine.answer import about
from engine.cluster.commands import Command, SetSetting
from engine.cluster.decide import decide
from engine.cluster.evolve import evolve
from engine.cluster.moves import Moves, moves
from engine.cluster.owners import (
    active_ids,
    columns_of,
    dispatch_order,
    places_in,
    rules_of,
    runs_of,
    sums_by_modulo,
    sums_of_runs,
)
from engine.cluster.partitions import PartitionColumns, traffic
from engine.cluster.state import ClusterState, Subscription, behaviour_in
from engine.config import FLAG
from engine.errors import Rejection
from engine.failover.choose import Rule, cohort, rule_in_force
from engine.memo import Remembered


class Evenness(Struct, frozen=True):
    """The work of the consumers that can be active; standbys do not count.

    ``items`` are partitions (slots of a Key_Shared subscription), ``owned`` those that somebody has, ``busiest`` those
    of the consumer with most of them; ``msgs_per_sec`` is what all get, ``busiest_msgs_per_sec`` the most that one gets
    (in a Key_Shared subscription messages of known keys, not a rate), None where statistics lack a rate.
    ``max_over_mean_*`` is the largest divided by the mean, 0.0 where there is nothing to divide. ``idle`` consumers
    have nothing.
    """

    consumers: Annotated[int, about("Consumers that can be active; standbys do not count.", 0)]
    items: Annotated[int, about("Partitions, or slots of a Key_Shared subscription.", 0)]
    owned: Annotated[int, about("Items that some consumer has.", 0)]
    busiest: Annotated[int, about("Items of the consumer with most of them.", 0)]
    idle: Annotated[int, about("Consumers without an item.", 0)]
    max_over_mean: Annotated[
        float, about("Items of the busiest consumer divided by the mean; 0 where there is nothing to divide.", 0)
    ]
    msgs_per_sec: Annotated[
        float | None,
        about(
            "Messages per second that all get; of a Key_Shared subscription the messages of known keys so far. Null"
            " where statistics lack a rate.",
            0,
        ),
    ]
    busiest_msgs_per_sec: Annotated[
        float | None, about("The most of these that one consumer gets; null where one is not known.", 0)
    ]
    max_over_mean_rate: Annotated[
        float | None, about("The same divided by the mean; 0 where nothing flows, null where a rate is not known.", 0)
    ]


def evenness_of(counts: NDArray[np.int64], rates: NDArray[np.float64] | None, items: int) -> Evenness:
    """The numbers for items and messages per second of each consumer: (c,) each; None for rates that are not known.

    >>> even = evenness_of(np.array([4, 2, 0]), np.array([1.0, 5.0, 0.0]), 6)
    >>> even.max_over_mean, even.max_over_mean_rate, even.idle
    (2.0, 2.5, 1)
    """
    size, owned, busiest = len(counts), int(counts.sum()), int(counts.max(initial=0))
    rate, fastest = (None, None) if rates is None else (float(rates.sum()), float(rates.max(initial=0.0)))
    return Evenness(
        consumers=size,
        items=items,
        owned=owned,
        busiest=busiest,
        idle=int(np.count_nonzero(counts == 0)),
        max_over_mean=busiest * size / owned if owned else 0.0,
        msgs_per_sec=rate,
        busiest_msgs_per_sec=fastest,
        max_over_mean_rate=over_mean(fastest, rate, size),
    )


def over_mean(most: float | None, whole: float | None, size: int) -> float | None:
    """The most divided by the mean of ``size``: 0.0 of nothing, None of what is not known."""
    if most is None or whole is None:
        return None
    return most * size / whole if whole > 0 else 0.0


NO_EVENNESS = evenness_of(np.zeros(0, dtype=np.int64), np.zeros(0), 0)
"""The evenness of a subscription that a state lacks."""

_evenness: Remembered[Evenness] = Remembered()
_shares: Remembered[tuple[NDArray[np.int64], NDArray[np.float64]]] = Remembered()


def evenness(state: ClusterState, subscription: Subscription) -> Evenness:
    """The evenness of a Failover subscription. O(partitions) once, less by modulo."""
    counts, rates = shares(state, subscription)

    def compute() -> Evenness:
        columns = columns_of(state, subscription)
        size = _candidates(state, columns, subscription)
        is_known = traffic(columns, state.loads, subscription.loads).unknown is None
        return evenness_of(counts[:size], rates[:size] if is_known else None, len(columns))

    return _evenness.get((counts, rates, subscription.consumers), (), compute)


def shares(state: ClusterState, subscription: Subscription) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Active partitions, and messages per second that go out, by place in the dispatcher's order: (c,) each.

    O(partitions) once; on the ring neighbours have one owner, so whole runs are added up.
    """
    columns = columns_of(state, subscription)
    flow = traffic(columns, state.loads, subscription.loads).msgs_per_sec
    ids = active_ids(state, subscription)

    def compute() -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        order = dispatch_order(subscription.consumers)
        if order and rules_of(state, columns) == {Rule.MODULO}:
            return sums_by_modulo(columns.index, flow, len(cohort(order)), len(order))
        runs = runs_of(ids)
        return sums_of_runs(runs, places_in(order, runs.owner), flow, len(order))

    return _shares.get((ids, flow, subscription.consumers), (), compute)


def _candidates(state: ClusterState, columns: PartitionColumns, subscription: Subscription) -> int:
    """How many consumers can be active: the first in the dispatcher's order."""
    order = dispatch_order(subscription.consumers)
    behaviour = behaviour_in(state)
    if columns.without and rule_in_force(-1, consistent_hashing=False, behaviour=behaviour) is Rule.FIRST_CONNECTED:
        return len(order)  # levels play no part for such a topic
    return len(cohort(order))


Judgement = Literal["better", "worse", "even"]
JudgedBy = Literal["nobody", "messages", "items", "lost", "idle", "nothing"]
MARGIN: Final = 0.05
"""Two shares that differ by less of the larger one are even: rates of two minutes differ by as much, and no
change of owners is worth it.
"""


class Verdict(Struct, frozen=True):
    """The ``judgement``, the number that decided it (``judged_by``), and what the change moves.

    ``moved`` items of ``items`` have another owner, where ``least`` would lead to the same loads. ``msgs_per_sec`` and
    ``bytes_per_sec`` flow in what moved, by the numbers before; ``unacked_at_risk`` messages of it may be delivered
    twice; None where statistics lack one.
    """

    judgement: Annotated[
        Judgement,
        about(
            "Whether the busiest consumer has less, more or as much of all work; shares that differ by less than 5 % of"
            " the larger one are even, and a consumer that goes makes nothing better."
        ),
    ]
    judged_by: Annotated[
        JudgedBy,
        about(
            "The number that decided: items without a consumer, messages per second, items, items whose consumer left,"
            " idle consumers, or none."
        ),
    ]
    before: Annotated[Evenness, about("Before the change.")]
    after: Annotated[Evenness, about("After it.")]
    moved: Annotated[int, about("Items that change from one consumer to another.", 0)]
    least: Annotated[int, about("Fewest moves that lead to the same loads.", 0)]
    items: Annotated[int, about("Items after the change; 0 where slots before and after cannot be compared.", 0)]
    msgs_per_sec: Annotated[
        float | None, about("Messages per second of what moves, by the numbers before; null where one is not known.", 0)
    ]
    bytes_per_sec: Annotated[
        float | None, about("Bytes per second of what moves, by the numbers before; null where one is not known.", 0)
    ]
    unacked_at_risk: Annotated[
        int | None,
        about("Unacknowledged messages of what moves, which may be delivered twice; null where one is not known.", 0),
    ]


def judge(before: Evenness, after: Evenness, lost: int = 0) -> tuple[Judgement, JudgedBy]:
    """Better, worse or even, and by which number.

    The share of the busiest consumer decides: by messages per second if both sides have some, and if those are even, by
    items. So a newcomer that relieves nobody does not make it better, although the mean falls. Where ``lost`` items had
    to change hands because their consumer left, it is worse if somebody is overloaded by them, and never better. If
    both shares are even and equally many consumers take part, fewer idle ones are better. Work that nobody has is worse
    than any share.

    >>> from engine.compare.verdict import evenness_of
    >>> import numpy as np
    >>> even, two = (evenness_of(np.array(counts), np.zeros(3), 6) for counts in ([2, 2, 2], [4, 2, 0]))
    >>> judge(even, two), judge(two, even), judge(even, even), judge(even, even, lost=2)
    (('worse', 'items'), ('better', 'items'), ('even', 'nothing'), ('even', 'lost'))
    """
    unowned = (before.items - before.owned, after.items - after.owned)
    if unowned[0] != unowned[1] and (before.owned or after.owned):
        return _less_is_better(*unowned), "nobody"
    judgement, judged_by = _by_shares(before, after)
    if judgement == "worse" or (judgement == "better" and not lost):
        return judgement, judged_by
    if lost:
        return "even", "lost"
    if before.consumers == after.consumers and before.idle != after.idle:
        return _less_is_better(before.idle, after.idle), "idle"
    return "even", "nothing"


def _by_shares(before: Evenness, after: Evenness) -> tuple[Judgement, JudgedBy]:
    was, now = busiest_share(before), busiest_share(after)
    if was is not None and now is not None:
        judgement = _compared(was, now)
        if judgement != "even":
            return judgement, "messages"
    if before.owned and after.owned:
        return _compared(before.busiest / before.owned, after.busiest / after.owned), "items"
    return "even", "nothing"


def busiest_share(side: Evenness) -> float | None:
    """The part of all messages that the busiest consumer gets; None where none flow, or rates are not known."""
    return side.busiest_msgs_per_sec / side.msgs_per_sec if side.busiest_msgs_per_sec and side.msgs_per_sec else None


def _compared(before: float, after: float) -> Judgement:
    return "even" if abs(before - after) <= MARGIN * max(before, after) else _less_is_better(before, after)


def _less_is_better(before: float, after: float) -> Judgement:
    return "better" if after < before else "worse"


def items_of_leavers(items: Mapping[int, int], before: Collection[int], after: Collection[int]) -> int:
    """The ``items`` (by consumer id) of those that left, where fewer are connected; new names alone lose nothing.

    >>> items_of_leavers({1: 4, 2: 2}, (1, 2), (2,)), items_of_leavers({1: 4, 2: 2}, (1, 2), (2, 3))
    (4, 0)
    """
    return sum(items.get(gone, 0) for gone in set(before) - set(after)) if len(after) < len(before) else 0


def verdict_between(before: ClusterState, after: ClusterState, key: str, known: Moves | None = None) -> Verdict:
    """The verdict on a Failover subscription in two states; one that lacks it counts as without work. O(partitions).

    ``known``: the moves between them, where the caller has computed them already.
    """
    moved = moves(before, after, key) if known is None else known
    was, now = (_evenness_in(state, key) for state in (before, after))
    lost = items_of_leavers(moved.lost, *(_ids_in(state, key) for state in (before, after)))
    judgement, judged_by = judge(was, now, lost)
    return Verdict(
        judgement=judgement,
        judged_by=judged_by,
        before=was,
        after=now,
        moved=len(moved.moved),
        least=moved.least,
        items=moved.partitions,
        msgs_per_sec=moved.msgs_per_sec,
        bytes_per_sec=moved.bytes_per_sec,
        unacked_at_risk=moved.unacked_at_risk,
    )


def preview(state: ClusterState, command: Command, key: str) -> Verdict | Rejection:
    """The verdict on a command, without carrying it out; or why it would be refused."""
    after = carried_out(state, command)
    return after if isinstance(after, Rejection) else verdict_between(state, after, key)


def carried_out(state: ClusterState, command: Command) -> ClusterState | Rejection:
    """The state after a command."""
    events = decide(state, command)
    if isinstance(events, Rejection):
        return events
    for event in events:
        state = evolve(state, event)
    return state


def flag_change(state: ClusterState) -> Command:
    """The command that turns consistent hashing of Failover subscriptions on or off: the other of the two."""
    return SetSetting(FLAG, "false" if state.settings.activeConsumerFailoverConsistentHashing else "true")


def _evenness_in(state: ClusterState, key: str) -> Evenness:
    subscription = subscription_of(state, key)
    return NO_EVENNESS if subscription is None else evenness(state, subscription)


def _ids_in(state: ClusterState, key: str) -> list[int]:
    subscription = subscription_of(state, key)
    return [] if subscription is None else [consumer.consumer_id for consumer in subscription.consumers]


def subscription_of(state: ClusterState, key: str) -> Subscription | None:
    """The Failover subscription of that key."""
    return next((subscription for subscription in state.subscriptions if subscription.key == key), None)


SuggestionKind = Literal["names", "consumers", "partitions", "points", "flag"]
KINDS: Final[tuple[SuggestionKind, ...]] = ("names", "consumers", "partitions", "points", "flag")


class Goal(Struct, frozen=True):
    """At most ``max_over_mean`` by messages where ``by_messages`` (else by partitions), also after a loss where
    ``survive``, and at most ``busiest_msgs`` messages a second for one consumer (0.0: any).
    """

    max_over_mean: Annotated[float, about("At most.")] = 1.3
    survive: Annotated[bool, about("Also after the loss of any one.")] = False
    by_messages: Annotated[bool, about("By messages instead of partitions.")] = False
    busiest_msgs: Annotated[float, about("Most messages per second of one consumer; 0 for any.")] = 0.0
