"""Which consumers may join a subscription, the selector that the first one determines, and a selector of a whole list.

Source: ``AbstractSubscription.checkForConsumerCompatibilityErrors``, the constructors of
``PersistentStickyKeyDispatcherMultipleConsumers`` and of its classic form.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from enum import Enum
from itertools import pairwise

from msgspec import Struct, structs
from msgspec.structs import replace

from engine.config import CLASSIC_KEY_SHARED, CURRENT, BrokerSettings, ReleaseBehaviour
from engine.errors import Rejection
from engine.keyshared.autosplit import AutoSplitSelector, auto_split_selector
from engine.keyshared.delivery_state import DeliveryTerms, OrderRule
from engine.keyshared.model import Consumer, Selector
from engine.keyshared.ring import MAX_RING_POINTS, RingForm, RingMember, RingSelector, refuse_ring, ring_selector
from engine.keyshared.sticky import (
    LegacyStickySelector,
    StickySelector,
    legacy_sticky_selector,
    policy_problem,
    sticky_selector,
)
from engine.ranges import HashRange


class SubscriptionType(Enum):
    """``CommandSubscribe.SubType``, as Pulsar writes it."""

    EXCLUSIVE = "Exclusive"
    SHARED = "Shared"
    FAILOVER = "Failover"
    KEY_SHARED = "Key_Shared"


class KeySharedMode(Enum):
    """``KeySharedMode`` of the subscribe command; AUTO_SPLIT also when the client sent no key-shared data."""

    AUTO_SPLIT = "AUTO_SPLIT"
    STICKY = "STICKY"


class SubscriptionTerms(Struct, frozen=True):
    """What a consumer asks for when it subscribes; the last two count only for Key_Shared."""

    subscription_type: SubscriptionType = SubscriptionType.KEY_SHARED
    mode: KeySharedMode = KeySharedMode.AUTO_SPLIT
    allow_out_of_order_delivery: bool = False


def join_refusal(active: SubscriptionTerms | None, newcomer: SubscriptionTerms) -> Rejection | None:
    """Why a newcomer may not join consumers that are connected on the terms ``active``; None when it may.

    ``active`` is None when nobody is connected: then a newcomer of any kind replaces the idle dispatcher. Pulsar's
    SubscriptionBusy arrives at the client as ``ConsumerBusy``. The first difference counts: type, mode, ordering.

    >>> refusal = join_refusal(SubscriptionTerms(), SubscriptionTerms(subscription_type=SubscriptionType.SHARED))
    >>> refusal.error, refusal.message[-58:]
    ('ConsumerBusy', "is different than the connecting consumer's type 'Shared'.")
    """
    if active is None:
        return None
    if active.subscription_type is not newcomer.subscription_type:
        return _busy(
            f"Active subscription type of '{active.subscription_type.value}' is different than the connecting "
            f"consumer's type '{newcomer.subscription_type.value}'.",
            "subscription_type",
        )
    if active.subscription_type is not SubscriptionType.KEY_SHARED:
        return None
    if active.mode is not newcomer.mode:
        return _busy(
            f"Active subscription key_shared mode of '{active.mode.value}' is different than the connecting "
            f"consumer's key_shared mode '{newcomer.mode.value}'.",
            "mode",
        )
    if active.allow_out_of_order_delivery is not newcomer.allow_out_of_order_delivery:
        return _busy(
            "Active subscription allows out of order delivery while the connecting consumer does not allow it."
            if active.allow_out_of_order_delivery
            else "Active subscription does not allow out of order delivery while the connecting consumer allows it.",
            "allow_out_of_order_delivery",
        )
    return None


def selector_for(
    mode: KeySharedMode, settings: BrokerSettings, behaviour: ReleaseBehaviour = CURRENT
) -> Selector | Rejection:
    """The empty selector determined by the first consumer of a subscription.

    Refused only for a number of replica points below 1.
    """
    folds_zero = behaviour.key_shared_folds_slot_zero
    if mode is KeySharedMode.STICKY:
        if behaviour.sticky_gaps == "unserved":
            return sticky_selector()
        return legacy_sticky_selector(folds_zero=folds_zero)
    if not settings.subscriptionKeySharedUseConsistentHashing:
        return auto_split_selector(folds_zero=folds_zero)
    return ring_selector(
        RingForm(behaviour.key_shared_ring),
        points=settings.subscriptionKeySharedConsistentHashingReplicaPoints,
        classic=uses_classic_dispatcher(settings, behaviour),
    )


def uses_classic_dispatcher(settings: BrokerSettings, behaviour: ReleaseBehaviour) -> bool:
    """Whether a persistent topic has the classic Key_Shared dispatcher.

    Before 4.0 there is no other one, and since 5.0 it is gone; a release without the setting ignores it.
    """
    chosen = settings.subscriptionKeySharedUseClassicPersistentImplementation
    only = behaviour.key_shared_order == "recently-joined"
    return only or (chosen and not behaviour.defaults.lacks(CLASSIC_KEY_SHARED))


def delivery_terms(
    terms: SubscriptionTerms, settings: BrokerSettings, behaviour: ReleaseBehaviour = CURRENT
) -> DeliveryTerms:
    """The order rule of a persistent topic, with the look-ahead and the delay of reads.

    Draining hashes apply only to AUTO_SPLIT in strict order outside the classic dispatcher. STICKY never drains; before
    4.0 it used the rule for recently joined consumers. Out-of-order delivery has no rule.
    """
    strict = not terms.allow_out_of_order_delivery
    order = OrderRule.NONE
    if strict and uses_classic_dispatcher(settings, behaviour):
        order = OrderRule.RECENTLY_JOINED
    elif strict and terms.mode is KeySharedMode.AUTO_SPLIT:
        order = OrderRule.DRAINING_HASHES
    return DeliveryTerms(
        order=order,
        takes_back=behaviour.draining_takes_back,
        keeps_slot_order=strict,
        ownerless_key=behaviour.ownerless_key,
        unblocking_interval_ms=settings.keySharedUnblockingIntervalMs,
        look_ahead_per_consumer=settings.keySharedLookAheadMsgInReplayThresholdPerConsumer,
        look_ahead=settings.keySharedLookAheadMsgInReplayThresholdPerSubscription,
        unacked_per_consumer=settings.maxUnackedMessagesPerConsumer,
        unacked=settings.maxUnackedMessagesPerSubscription,
    )


def _busy(difference: str, field: str) -> Rejection:
    return Rejection("ConsumerBusy", f"Subscription is of different type. {difference}", field=field)


class JoinRefused(Struct, frozen=True):
    """The first consumer that could not join, with the refusal of its client or the broker."""

    consumer: Consumer
    rejection: Rejection


def assemble(
    consumers: Sequence[Consumer],
    mode: KeySharedMode,
    settings: BrokerSettings,
    behaviour: ReleaseBehaviour = CURRENT,
) -> Selector | Rejection | JoinRefused:
    """The selector of these consumers, whose ids differ, joined in this order; the same as by single joins.

    A ``Rejection`` if the settings allow no such selector, ``JoinRefused`` if a consumer cannot join: for STICKY the
    clients' own checks come first, then the broker's. O((n + r) log^2 (n + r)) for r ranges or points
    in all, except for the form of the ring in which newcomers take points away: n joins of O(n).

    >>> halves = BrokerSettings(subscriptionKeySharedUseConsistentHashing=False)
    >>> selector = assemble([Consumer(1, "a"), Consumer(2, "b")], KeySharedMode.AUTO_SPLIT, halves)
    >>> [consumer.name for consumer in selector.consumers], selector.owner(30_000)
    (['a', 'b'], 2)
    """
    empty = selector_for(mode, settings, behaviour)
    if isinstance(empty, Rejection):
        return empty
    if isinstance(empty, AutoSplitSelector):
        joined = empty.join_all(tuple(consumers))
        # It refuses once every interval is 1 wide: after as many consumers as slots.
        return JoinRefused(consumers[empty.range_size], joined) if isinstance(joined, Rejection) else joined
    if isinstance(empty, RingSelector):
        return _ring(empty, consumers)
    assert isinstance(empty, (StickySelector, LegacyStickySelector)), "there are four kinds of selectors"
    return _sticky(empty, consumers)


def _ring(empty: RingSelector, consumers: Sequence[Consumer]) -> RingSelector | JoinRefused:
    refusal = refuse_ring(len(consumers), empty.points)
    if refusal is not None:
        return JoinRefused(consumers[MAX_RING_POINTS // empty.points], refusal)
    if empty.form is RingForm.INDEXED_REPLACE:
        for consumer in consumers:
            empty = empty.join(consumer)
        return empty
    seen: Counter[str] = Counter()
    members: list[RingMember] = []
    for consumer in consumers:
        # No consumer has left, so the name indices of namesakes have no gaps.
        members.append(RingMember(consumer, seen[consumer.name]))
        seen[consumer.name] += 1
    return replace(empty, members=tuple(members))


def _sticky(empty: StickySelector | LegacyStickySelector, consumers: Sequence[Consumer]) -> Selector | JoinRefused:
    for consumer in consumers:
        problem = policy_problem(consumer.declared or ())
        if problem is not None:
            return JoinRefused(consumer, problem)
    # Valid ranges are all accepted unless two consumers overlap; the first overlap is found by bisection, not by joins.
    fine = bisect_left(range(len(consumers)), True, key=lambda last: _overlap(consumers[: last + 1]))
    selector = _with_all(empty, consumers[:fine])
    if fine == len(consumers):
        return selector
    refused = selector.join(consumers[fine])
    assert isinstance(refused, Rejection), "ranges that overlap are refused"
    return JoinRefused(consumers[fine], refused)


def _pieces(consumers: Sequence[Consumer]) -> list[tuple[int, int, int]]:
    """Start, end and consumer id of all declared ranges, ascending."""
    return sorted(
        (start, end, consumer.consumer_id) for consumer in consumers for start, end in consumer.declared or ()
    )


def _overlap(consumers: Sequence[Consumer]) -> bool:
    pieces = _pieces(consumers)
    return any(left[1] >= right[0] for left, right in pairwise(pieces))


def _with_all(
    empty: StickySelector | LegacyStickySelector, consumers: Sequence[Consumer]
) -> StickySelector | LegacyStickySelector:
    """The selector of consumers whose ranges do not overlap."""
    pieces = _pieces(consumers)
    if isinstance(empty, StickySelector):
        ranges = tuple(HashRange(start, end) for start, end, _ in pieces)
        return structs.replace(
            empty, consumers=tuple(consumers), pieces=ranges, owners=tuple(owner for *_, owner in pieces)
        )
    ends = sorted({(end, owner) for *bounds, owner in pieces for end in bounds})
    return structs.replace(
        empty,
        consumers=tuple(consumers),
        ends=tuple(end for end, _ in ends),
        owners=tuple(owner for _, owner in ends),
    )
