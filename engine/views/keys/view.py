"""The projection of a Key_Shared subscription for the screen "keys"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import compress
from typing import Final

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from engine.cluster.grammar.forms import ranges_text
from engine.cluster.keys.state import KeyConsumerJoined, KeySubscription, SentFrom, SharingMode
from engine.cluster.state import subscription_keys
from engine.cluster.timeline import Timeline
from engine.keyshared.delivery_state import Wait, waits
from engine.keyshared.keys import text_of_key
from engine.keyshared.luck import Luck, Verdict, luck_of
from engine.keyshared.ring import RingSelector
from engine.memo import Remembered
from engine.text import counted
from engine.views.failover.model import Notice, RingView
from engine.views.failover.ring import CENTRE_WIDTH, centre_name
from engine.views.failover.table import letter_tag, max_over_mean
from engine.views.keys.model import (
    GapRow,
    KeyConsumerRow,
    KeysFoot,
    KeysStatus,
    KeysView,
    LuckView,
    WaitHolder,
    WaitRow,
)
from engine.views.keys.moves import KeyMoves, key_moves, step_moves
from engine.views.keys.partitions import partitions_view
from engine.views.keys.slice import KeysSlice, fairness, keys_slice_by_key
from engine.views.keys.words import (
    ORDER_RULES,
    PARTITIONS_DIFFER,
    REASONS,
    VERDICTS,
    form_text,
    key_notices,
    luck_sentence,
    rule_text,
    shown,
)
from engine.views.timeline import event_lines, state_before, timeline_view

_MODE_LINES: Final = {
    SharingMode.AUTO_SPLIT: "ranges halved",
    SharingMode.STICKY: "declared ranges",
}


DELIVERIES_SHOWN = 50
KEYS_IN_A_ROW = 20
"""Keys that are listed for one waiting slot or one gap."""

_luck: Remembered[Luck] = Remembered()


def keys_view(
    timeline: Timeline, subscription_key: str, *, partition: int | None = None, notes: Iterable[Notice] = ()
) -> KeysView:
    """Everything the screen shows at the cursor, of all partitions or of one; the subscription must be there.

    Changes are those of the last step; there are none at the opening. O(n log n + k log k + m): n pieces of the hash
    space, k known keys, m messages under way.
    """
    now = keys_slice_by_key(timeline.state, subscription_key, partition)
    assert now is not None, f"there is no Key_Shared subscription {subscription_key!r} with partition {partition}"
    earlier = state_before(timeline)
    before = keys_slice_by_key(earlier, subscription_key, partition) if earlier is not None else None
    moves = key_moves(before, now)
    waiting = [(number, wait) for number, dispatcher in now.dispatchers for wait in waits(dispatcher)]
    rows = _rows(now, moves, waiting)
    positions = {row.consumer_id: at for at, row in enumerate(rows)}
    return KeysView(
        status=_status(timeline, now),
        consumers=rows,
        foot=_foot(now, rows, waiting),
        ring=replace(keys_ring(now, moves, positions), sent=_sent(before, now, positions)),
        waits=tuple(_wait_row(wait, number, positions) for number, wait in waiting),
        gaps=_gap_rows(now, waiting),
        luck=_luck_view(now),
        moves=step_moves(before, now, moves, positions),
        events=event_lines(timeline, subscription_key, earlier),
        timeline=timeline_view(timeline),
        notices=(*key_notices(now), *notes),
        deliveries=_deliveries(now),
        key_partitions=tuple(now.known.partitions.tolist()),
        partitions=partitions_view(now),
    )


def key_colours(subscription: KeySubscription) -> Mapping[int, int]:
    """Consumer id -> its number from 0; a number is never given again, since ids of newcomers only grow."""
    joined = {event.consumer_id for event in subscription.happened if isinstance(event, KeyConsumerJoined)}
    return {consumer_id: number for number, consumer_id in enumerate(sorted(joined))}


def _status(timeline: Timeline, now: KeysSlice) -> KeysStatus:
    subscription = now.subscription
    selector = now.selector
    points = selector.points if isinstance(selector, RingSelector) else subscription.points
    return KeysStatus(
        mode=subscription.mode,
        form=form_text(subscription),
        rule_text=rule_text(subscription),
        order_rule=ORDER_RULES[subscription.delivery.terms.order],
        client_side=subscription.mode is SharingMode.CONSISTENT_STICKY,
        points=points,
        release=now.state.release,
        subscription=subscription.key,
        namespace=subscription.namespace,
        subscriptions=tuple(subscription_keys(now.state)),
        topic=subscription.topics[0],
        source=timeline.source,
        step=timeline.cursor,
        steps=timeline.length,
        seed=timeline.seed,
        now_ms=subscription.now_ms,
        partitions=subscription.partitions,
        partition=-1 if now.partition is None else now.partition,
        drawn_partition=0 if now.differs else -1,
        client=subscription.routing.client if subscription.routing is not None else "",
        hashing=subscription.routing.hashing if subscription.routing is not None else "",
    )


def _rows(now: KeysSlice, moves: KeyMoves, waiting: Iterable[tuple[int, Wait]]) -> tuple[KeyConsumerRow, ...]:
    subscription = now.subscription
    traffic = [dispatcher for _, dispatcher in now.dispatchers]
    colours = key_colours(subscription)
    slots, pieces = now.slot_counts(), now.piece_counts()
    lost_points = {shares.consumer_id: shares.lost_points for shares in fairness(now).consumers}
    points = now.selector.points if isinstance(now.selector, RingSelector) else 0
    keys: Counter[int] = Counter(now.known.owners.tolist())
    messages: Counter[int] = Counter()
    for owner, count in zip(now.known.owners.tolist(), now.known.messages.tolist(), strict=True):
        messages[owner] += count
    waits_for: Counter[int | None] = Counter()
    for _, wait in waiting:
        waits_for[wait.owner_id] += len(wait.messages)
    rows = []
    for consumer in now.consumers:
        number = consumer.consumer_id
        colour = colours.get(number, 0)
        rows.append(
            KeyConsumerRow(
                consumer_id=number,
                name=consumer.name,
                tag=letter_tag(colour),
                colour=colour,
                slots=slots.get(number, 0),
                share=slots.get(number, 0) / now.slot_count,
                ranges=pieces.get(number, 0),
                keys=keys[number],
                messages=messages[number],
                unacked=sum(len(delivery.pending.get(number, {})) for delivery in traffic),
                waiting=waits_for[number],
                draining=sum(len(delivery.draining.of_consumer(number)) for delivery in traffic),
                gained_slots=moves.gained.get(number, 0),
                lost_slots=moves.lost.get(number, 0),
                bystander=number in moves.bystanders,
                points=points,
                lost_points=lost_points.get(number, 0),
                declared=ranges_text(consumer.declared) if consumer.declared is not None else "",
            )
        )
    return tuple(rows)


def _foot(now: KeysSlice, rows: tuple[KeyConsumerRow, ...], waiting: Iterable[tuple[int, Wait]]) -> KeysFoot:
    return KeysFoot(
        consumers=len(rows),
        slots=now.slot_count,
        keys=len(now.known.keys),
        messages=int(now.known.messages.sum()),
        waiting=sum(len(wait.messages) for _, wait in waiting),
        unowned_slots=now.gaps.slot_count,
        unowned_keys=int((now.known.owners < 0).sum()),
        max_over_mean_slots=max_over_mean([row.slots for row in rows]),
        max_over_mean_keys=max_over_mean([row.keys for row in rows]),
        max_over_mean_messages=max_over_mean([row.messages for row in rows]),
        idle_consumers=sum(not row.keys if len(now.known.keys) else not row.slots for row in rows),
    )


def _wait_row(wait: Wait, partition: int, positions: Mapping[int, int]) -> WaitRow:
    return WaitRow(
        slot=wait.slot,
        keys=tuple(map(text_of_key, wait.keys[:KEYS_IN_A_ROW])),
        messages=len(wait.messages),
        owner=-1 if wait.owner_id is None else positions.get(wait.owner_id, -1),
        reason=REASONS[wait.reason],
        ends_when=wait.reason.value,
        holders=tuple(WaitHolder(positions.get(holder.consumer_id, -1), holder.unacked) for holder in wait.holders),
        since_ms=-1 if wait.since_ms is None else wait.since_ms,
        blocked_attempts=wait.blocked_attempts,
        partition=partition,
    )


def _gap_rows(now: KeysSlice, waiting: Iterable[tuple[int, Wait]]) -> tuple[GapRow, ...]:
    """The gaps with what is in them, the widest first."""
    slots, lost = now.known.slots, now.known.owners < 0
    by_slot: Counter[int] = Counter()
    for _, wait in waiting:  # delayed messages of a slot are a wait of their own
        by_slot[wait.slot] += len(wait.messages)
    held = np.array(sorted(by_slot), dtype=np.int64)
    rows = []
    for gap in sorted(now.gaps.ranges, key=lambda piece: (-piece.size, piece.start)):
        first, last = np.searchsorted(slots, [gap.start, gap.end + 1]).tolist()
        low, high = np.searchsorted(held, [gap.start, gap.end + 1]).tolist()
        count = sum(by_slot[slot] for slot in held[low:high].tolist())
        keys = tuple(compress(now.known.texts[first:last], lost[first:last].tolist()))
        rows.append(GapRow(gap.start, gap.end, keys[:KEYS_IN_A_ROW], count))
    return tuple(rows)


def _luck_view(now: KeysSlice) -> LuckView:
    if now.differs:
        return LuckView(0, 0, 0.0, 0, 0, 1.0, VERDICTS[Verdict.NOTHING], PARTITIONS_DIFFER, "", 0.0)
    keys = now.subscription.keys if now.partition is None else now.known.counts
    luck = _luck.get((now.selector, now.known), (), lambda: luck_of(now.selector, keys))
    return LuckView(
        keys=luck.keys,
        observed_max=luck.busiest_keys,
        expected_max=luck.expected_busiest or 0.0,
        low_max=luck.busiest_low,
        high_max=luck.busiest_high,
        probability=luck.probability,
        verdict=VERDICTS[luck.verdict],
        sentence=luck_sentence(luck),
        hot_key=text_of_key(luck.hottest_key) if luck.hottest_key is not None else "",
        hot_share=luck.hottest_share,
    )


def _sent(before: KeysSlice | None, now: KeysSlice, positions: Mapping[int, int]) -> tuple[tuple[int, int], ...]:
    """What went out since the state before; of very many messages the last ones."""
    if before is None or before.subscription.sent is now.subscription.sent:
        return ()
    known = {(one.partition, one.sent.consumer_id, one.sent.message.position) for one in before.subscription.sent}
    return tuple(
        (one.sent.message.slot, positions[one.sent.consumer_id])
        for one in _sent_from(now)
        if (one.partition, one.sent.consumer_id, one.sent.message.position) not in known
        and one.sent.consumer_id in positions
    )


def _sent_from(now: KeysSlice) -> list[SentFrom]:
    return [one for one in now.subscription.sent if now.partition in (None, one.partition)]


def _deliveries(now: KeysSlice) -> tuple[str, ...]:
    subscription = now.subscription
    names = {event.consumer_id: event.name for event in subscription.happened if isinstance(event, KeyConsumerJoined)}
    partitioned = subscription.routing is not None and now.partition is None
    return tuple(
        f"{shown(names[one.sent.consumer_id])} got {shown(text_of_key(one.sent.message.key))}"
        f" (message {one.sent.message.position}{f' of partition {one.partition}' if partitioned else ''})"
        for one in _sent_from(now)[-DELIVERIES_SHOWN:]
    )


def keys_ring(now: KeysSlice, moves: KeyMoves, positions: Mapping[int, int]) -> RingView:
    """Pieces by their last slots; without consumers there is none and every key has nobody. O(n log n + k)."""
    pieces, known = now.pieces, now.known
    anybody = bool(positions)
    ends = pieces.ends if anybody else pieces.ends[:0]
    return RingView(
        space_size=now.selector.slots.high + 1,
        points=ends,
        point_owners=_rows_of(pieces.owners[: len(ends)], positions),
        changed_arcs=_changed(ends, now, moves),
        topic_names=known.texts,
        topic_hashes=known.slots,
        topic_owners=_rows_of(known.owners, positions),
        topic_moved=moves.keys,
        lit=True,
        centre=_centre(now, positions),
    )


def _rows_of(ids: NDArray[np.int64], positions: Mapping[int, int]) -> NDArray[np.int64]:
    return np.array([positions.get(consumer_id, -1) for consumer_id in ids.tolist()], dtype=np.int64)


def _changed(ends: NDArray[np.int64], now: KeysSlice, moves: KeyMoves) -> NDArray[np.bool_]:
    """The pieces of which at least a part had another owner before."""
    changed = np.zeros(len(ends), dtype=np.bool_)
    for piece in moves.changed:
        first = int(np.searchsorted(ends, piece.start, side="left"))
        last = int(np.searchsorted(ends, min(piece.end, now.selector.slots.high), side="left"))
        changed[first : last + 1] = True
    return changed


def _centre(now: KeysSlice, positions: Mapping[int, int]) -> tuple[str, ...]:
    """How many, by which rule, and how many of the keys the busiest has."""
    count = len(positions)
    if not count:
        return ("no consumers", "every message waits", "press a to add one")
    lines = [f"{count} consumer{'s' if count > 1 else ''}", _rule_line(now)]
    owners = now.known.owners[now.known.owners >= 0]
    if len(owners):
        ids, counts = np.unique(owners, return_counts=True)
        at = int(counts.argmax())
        names = {consumer.consumer_id: consumer.name for consumer in now.consumers}
        rest = f": {int(counts[at])} of {len(now.known.keys)} key{'' if len(now.known.keys) == 1 else 's'}"
        lines.append(centre_name(names[int(ids[at])], rest))
    else:
        lines.append(f"{now.slot_count:,} slots")
    if now.gaps.slot_count:
        lines.append(f"{counted(now.gaps.slot_count, 'slot')} unowned")
    return tuple(line[:CENTRE_WIDTH] for line in lines)


def _rule_line(now: KeysSlice) -> str:
    subscription = now.subscription
    if isinstance(now.selector, RingSelector):
        return f"ring: {now.selector.points} points each"
    if subscription.mode is SharingMode.CONSISTENT_STICKY:
        return f"sticky: {subscription.points} points a node"
    return _MODE_LINES[subscription.mode]
