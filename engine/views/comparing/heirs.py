"""The heirs when consumers leave, for both types of subscription; and every single failure, the worst first."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from engine.answer import about, extended
from engine.cluster.commands import KillConsumer
from engine.cluster.keys.state import KeySubscription
from engine.cluster.owners import dispatch_order
from engine.cluster.state import ClusterState, Subscription
from engine.compare.heirs import Loss, losses, without
from engine.compare.verdict import Judgement, Verdict, carried_out, shares, subscription_of, verdict_between
from engine.errors import Rejection
from engine.memo import Remembered
from engine.views.comparing.handovers import PARTITION, SLOT, HandoverRow, Noun, handovers, key_handovers
from engine.views.keys.moves import key_moves, keys_verdict
from engine.views.keys.slice import KeysSlice, keys_slice_by_key


@dataclass(frozen=True, slots=True)
class HeirRow:
    """One consumer that stays: its items and messages (a second, or of known keys so far) before and after."""

    consumer_id: Annotated[int, about("Its id here.", 0)]
    name: Annotated[str, about("Its name.")]
    items_before: Annotated[int, about("Items before.", 0)]
    items_after: Annotated[int, about("Items after.", 0)]
    msgs_before: Annotated[float, about("Messages per second (of known keys so far) before.")]
    msgs_after: Annotated[float, about("The same after.")]


@dataclass(frozen=True, eq=False, slots=True)
class HeirsView:
    """The result of losing ``gone`` (all at once): ``heirs`` are those that get more, the one with most first.

    ``items`` are of the kind ``noun`` (partition, slot); ``rows`` are partitions or known keys.
    """

    subscription: str
    noun: Noun
    gone: tuple[str, ...]
    verdict: Verdict
    heirs: tuple[HeirRow, ...]
    rows: Sequence[HandoverRow]


@dataclass(frozen=True, slots=True)
class LossRow:
    """One single failure: what the consumer had, what moves, and the busiest consumer afterwards.

    ``busiest`` is None where nobody is left. ``msgs`` are messages a second, of known keys so far.
    """

    consumer_id: Annotated[int, about("Id of the consumer that goes.", 0)]
    name: Annotated[str, about("Its name.")]
    items: Annotated[int, about("Items it had.", 0)]
    msgs: Annotated[float | None, about("Its messages per second, of known keys so far; null where unknown.")]
    moved: Annotated[int, about("Items that change hands, those of others too.", 0)]
    heirs: Annotated[int, about("Consumers that get more.", 0)]
    judgement: Annotated[Judgement, about("Whether the shares are more even afterwards.")]
    busiest: Annotated[str | None, about("The busiest consumer afterwards; null where nobody is left.")]
    busiest_items: Annotated[int, about("The most items that one has afterwards.", 0)]
    busiest_msgs: Annotated[float | None, about("The most messages that one gets afterwards; null where unknown.")]
    max_over_mean: Annotated[float, about("Items of the busiest divided by the mean, afterwards.")]
    max_over_mean_rate: Annotated[float | None, about("The same for messages; 0 where none flow, null where unknown.")]
    idle: Annotated[int, about("Consumers without an item afterwards.", 0)]


@dataclass(frozen=True, eq=False, slots=True)
class LossesView:
    """Every single failure of a subscription, the worst first; ``max_over_mean*`` are those of the state as it is."""

    subscription: str
    noun: Noun
    items: int
    max_over_mean: float
    max_over_mean_rate: float | None
    rows: tuple[LossRow, ...]


_losses: Remembered[LossesView] = Remembered()


def heirs_view(state: ClusterState, key: str, gone: Collection[int]) -> HeirsView | Rejection:
    """The result of losing these consumers; refused for an unknown subscription or consumer.

    O(partitions) for Failover; for Key_Shared a leave each.
    """
    failover = subscription_of(state, key)
    keys = next((subscription for subscription in state.key_subscriptions if subscription.key == key), None)
    among = failover or keys
    if among is None:
        return _nothing_to_inherit(key)
    known = {consumer.consumer_id: consumer.name for consumer in among.consumers}
    missing = [number for number in gone if number not in known]
    if missing or not gone:
        return Rejection("ConsumerNotFound", f"{key} has no consumer {missing[0] if missing else ''}", "consumer", 404)
    names = tuple(known[number] for number in gone)
    return _of_failover(state, failover, gone, names) if failover is not None else _of_keys(state, key, gone, names)


def _nothing_to_inherit(key: str) -> Rejection:
    what = f"{key!r} is not one of them" if key else "there is none"
    text = f"only consumers of Failover and Key_Shared subscriptions have heirs, and {what}"
    return Rejection("SubscriptionNotFound", text, "subscription", 404)


def losses_view(state: ClusterState, key: str) -> LossesView | Rejection:
    """Every single failure. For Key_Shared each consumer leaves once, so it takes consumers times points."""
    failover = subscription_of(state, key)
    if failover is not None:
        return _losses.get((state, failover), (), lambda: _failover_losses(state, failover))
    keys = next((subscription for subscription in state.key_subscriptions if subscription.key == key), None)
    if keys is None:
        return _nothing_to_inherit(key)
    return _losses.get((state, keys), (), lambda: _key_losses(state, keys))


def _of_failover(
    state: ClusterState, subscription: Subscription, gone: Collection[int], names: tuple[str, ...]
) -> HeirsView:
    after = without(state, subscription.key, gone)
    left = subscription_of(after, subscription.key)
    assert left is not None, "a subscription stays when its consumers go"
    counts, rates = shares(state, subscription)
    then, then_rates = shares(after, left)
    places = {consumer.consumer_id: at for at, consumer in enumerate(dispatch_order(subscription.consumers))}
    rows = [
        HeirRow(
            consumer.consumer_id,
            consumer.name,
            int(counts[places[consumer.consumer_id]]),
            int(then[at]),
            float(rates[places[consumer.consumer_id]]),
            float(then_rates[at]),
        )
        for at, consumer in enumerate(dispatch_order(left.consumers))
    ]
    return HeirsView(
        subscription=subscription.key,
        noun=PARTITION,
        gone=names,
        verdict=verdict_between(state, after, subscription.key),
        heirs=_more(rows),
        rows=handovers(state, subscription, after, left),
    )


def _more(rows: list[HeirRow]) -> tuple[HeirRow, ...]:
    """The consumers that get more, the one with most afterwards first."""
    got = [row for row in rows if row.items_after > row.items_before or row.msgs_after > row.msgs_before + 1e-9]
    return tuple(sorted(got, key=lambda row: (-row.msgs_after, -row.items_after, row.name)))


def _of_keys(state: ClusterState, key: str, gone: Collection[int], names: tuple[str, ...]) -> HeirsView | Rejection:
    after = state
    for number in gone:
        left = carried_out(after, KillConsumer(key, number))
        if isinstance(left, Rejection):
            return left
        after = left
    before, now = keys_slice_by_key(state, key), keys_slice_by_key(after, key)
    assert before is not None and now is not None, "a subscription stays when its consumers go"
    moves = key_moves(before, now)
    counts, then = before.slot_counts(), now.slot_counts()
    messages, later = _messages(before), _messages(now)
    rows = [
        HeirRow(
            consumer.consumer_id,
            consumer.name,
            counts.get(consumer.consumer_id, 0),
            then.get(consumer.consumer_id, 0),
            messages.get(consumer.consumer_id, 0.0),
            later.get(consumer.consumer_id, 0.0),
        )
        for consumer in now.consumers
    ]
    return HeirsView(
        subscription=key,
        noun=SLOT,
        gone=names,
        verdict=keys_verdict(before, now, moves),
        heirs=_more(rows),
        rows=key_handovers(before, now),
    )


def _messages(of: KeysSlice) -> dict[int, float]:
    messages: dict[int, float] = {}
    for owner, count in zip(of.known.owners.tolist(), of.known.messages.tolist(), strict=True):
        messages[owner] = messages.get(owner, 0.0) + count
    return messages


def _failover_losses(state: ClusterState, subscription: Subscription) -> LossesView:
    failures = losses(state, subscription)
    now = failures[0].before if failures else None
    return LossesView(
        subscription=subscription.key,
        noun=PARTITION,
        items=now.items if now is not None else 0,
        max_over_mean=now.max_over_mean if now is not None else 0.0,
        max_over_mean_rate=now.max_over_mean_rate if now is not None else 0.0,
        rows=tuple(map(_loss_row, failures)),
    )


def _loss_row(loss: Loss) -> LossRow:
    after = loss.after
    return LossRow(
        consumer_id=loss.consumer.consumer_id,
        name=loss.consumer.name,
        items=loss.items,
        msgs=loss.msgs_per_sec,
        moved=loss.moved,
        heirs=loss.heirs,
        judgement=loss.judgement,
        busiest=loss.busiest.name if loss.busiest is not None else None,
        busiest_items=after.busiest,
        busiest_msgs=after.busiest_msgs_per_sec,
        max_over_mean=after.max_over_mean,
        max_over_mean_rate=after.max_over_mean_rate,
        idle=after.idle,
    )


def _key_losses(state: ClusterState, subscription: KeySubscription) -> LossesView:
    before = keys_slice_by_key(state, subscription.key)
    assert before is not None, "the subscription is one of the state's"
    counts, slots, messages = before.slot_counts(), before.slot_count, _messages(before)
    rows, now = [], None
    for consumer in subscription.consumers:
        number = consumer.consumer_id
        view = _of_keys(state, subscription.key, (number,), (consumer.name,))
        if isinstance(view, Rejection):
            continue
        now, after = view.verdict.before, view.verdict.after
        busiest = max(view.heirs, key=lambda row: (row.msgs_after, row.items_after), default=None)
        rows.append(
            LossRow(
                consumer_id=number,
                name=consumer.name,
                items=counts.get(number, 0),
                msgs=messages.get(number, 0.0),
                moved=view.verdict.moved,
                heirs=len(view.heirs),
                judgement=view.verdict.judgement,
                busiest=busiest.name if busiest is not None else None,
                busiest_items=after.busiest,
                busiest_msgs=after.busiest_msgs_per_sec,
                max_over_mean=after.max_over_mean,
                max_over_mean_rate=after.max_over_mean_rate,
                idle=after.idle,
            )
        )
    order = {"worse": 0, "even": 1, "better": 2}
    rows.sort(key=lambda row: (order[row.judgement], -(row.busiest_msgs or 0.0), -row.busiest_items))
    return LossesView(
        subscription=subscription.key,
        noun=SLOT,
        items=slots,
        max_over_mean=now.max_over_mean if now is not None else 0.0,
        max_over_mean_rate=now.max_over_mean_rate if now is not None else 0.0,
        rows=tuple(rows),
    )


@dataclass(frozen=True, slots=True)
class EvennessNow:
    items: Annotated[int, about("Partitions or slots of all consumers.", 0)]
    max_over_mean: Annotated[float, about("Items of the busiest consumer over those of the average one.", 0)]
    max_over_mean_rate: Annotated[
        float | None, about("The same by messages; 0 where none flow, null where unknown.", 0)
    ]


@dataclass(frozen=True, slots=True)
class HeirsDocument:
    """What the loss of consumers does."""

    FORMAT: ClassVar = "ringside.heirs/1"

    subscription: Annotated[str, about("Key of the subscription.")]
    noun: Annotated[Noun, about("What items are.")]
    gone: Annotated[
        Sequence[str], about("Consumers that go, all at once; empty where every single failure is listed.")
    ] = ()
    verdict: Annotated[Verdict | None, about("The verdict on the loss.")] = None
    heirs: Annotated[
        Sequence[HeirRow], about("Consumers that get more, the one with most messages afterwards first.")
    ] = ()
    handovers: Annotated[Sequence[HandoverRow], about("What changes hands, busiest first.")] = ()
    now: Annotated[
        EvennessNow | None, about("The state before any of the losses; null where the loss of some is shown.")
    ] = None
    losses: Annotated[
        Sequence[LossRow], about("Every single failure, the worst first; empty where consumers were named.")
    ] = ()


def heirs_document(view: HeirsView) -> HeirsDocument:
    return extended(HeirsDocument, view, handovers=view.rows)


def losses_document(view: LossesView) -> HeirsDocument:
    return extended(HeirsDocument, view, now=extended(EvennessNow, view), losses=view.rows)
