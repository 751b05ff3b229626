"""Rows of partitions whose active consumer differs between two states: busiest first, built on demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

import numpy as np

from engine.answer import about
from engine.cluster.commands import Command
from engine.cluster.moves import aligned
from engine.cluster.owners import NEW_PARTITION, active_ids, columns_of
from engine.cluster.partitions import Traffic, traffic
from engine.cluster.state import ClusterState, Subscription
from engine.compare.verdict import Verdict, carried_out, subscription_of, verdict_between
from engine.errors import Rejection
from engine.memo import LazyRows
from engine.views.failover.table import Busiest
from engine.views.keys.moves import key_moves, keys_verdict
from engine.views.keys.slice import KeysSlice, keys_slice_by_key

Noun = Literal["partition", "slot"]
"""What is handed over: partitions of a Failover subscription, slots of a Key_Shared one."""
PARTITION: Final = "partition"
SLOT: Final = "slot"
HandoverKind = Literal["moved", "taken up", "orphaned", "appeared", "vanished"]

Pair = tuple[str | None, str | None]
"""The owner before and after, None for nobody."""


@dataclass(frozen=True, slots=True)
class HandoverRow:
    """One partition, or one known key of a Key_Shared subscription, and who has it before and after; None: nobody.

    Rates are those before (after for what appeared), of a key ``msgs_per_sec`` is the number of its messages so far;
    None where statistics lack them.
    """

    name: Annotated[str, about("Partition, or the text of a key.")]
    kind: Annotated[HandoverKind, about("What happened to it.")]
    before: Annotated[str | None, about("Who has it before; null for nobody.")]
    after: Annotated[str | None, about("Who has it after; null for nobody.")]
    msgs_per_sec: Annotated[
        float | None, about("Messages per second; of a key its messages so far; null where not known.")
    ]
    bytes_per_sec: Annotated[float | None, about("Bytes per second; null where not known.")]
    unacked: Annotated[int | None, about("Unacknowledged messages, which may be delivered twice; null as above.", 0)]

    @property
    def is_between_namesakes(self) -> bool:
        """Whether it goes to another consumer of the same name."""
        return self.kind == "moved" and self.before == self.after


def handovers(
    before: ClusterState, mine: Subscription, after: ClusterState, theirs: Subscription
) -> Sequence[HandoverRow]:
    """The partitions of two subscriptions (or of one in two states) that differ in their active consumer.

    Consumers are compared by id. O(partitions); those that differ are sorted only as far as rows are read.
    """
    old, new = columns_of(before, mine), columns_of(after, theirs)
    was, now = active_ids(before, mine), active_ids(after, theirs)
    flow, later = traffic(old, before.loads, mine.loads), traffic(new, after.loads, theirs.loads)
    gone = np.zeros(0, dtype=np.int64)
    place = np.arange(len(new))
    if old is not new:
        alignment = aligned(old.names, new.names)
        place, gone = alignment.place, alignment.gone
        was = np.append(was, np.int32(NEW_PARTITION))[place]
    changed = np.flatnonzero(was != now)
    at, count = place[changed], len(changed)
    rates = np.where(at >= 0, flow.msgs_per_sec[at], later.msgs_per_sec[changed]) if len(old) else later.msgs_per_sec
    rates = np.concatenate((rates, flow.msgs_per_sec[gone]))
    names = {consumer.consumer_id: consumer.name for consumer in mine.consumers}
    later_names = {consumer.consumer_id: consumer.name for consumer in theirs.consumers}
    every = LazyRows(
        count + len(gone), lambda at: new.names[int(changed[at])] if at < count else old.names[int(gone[at - count])]
    )
    rank = Busiest(np.arange(count + len(gone)), rates, every).place

    def row(number: int) -> HandoverRow:
        where = rank(number)
        if where >= count:
            old_place = int(gone[where - count])
            owner = int(active_ids(before, mine)[old_place])
            return _row(old.names[old_place], "vanished", (names.get(owner), None), flow, old_place)
        new_place, old_place = int(changed[where]), int(at[where])
        target = later_names.get(int(now[new_place]))
        name = new.names[new_place]
        if old_place < 0:
            return _row(name, "appeared", (None, target), later, new_place)
        source = names.get(int(was[new_place]))
        kind: HandoverKind = "taken up" if source is None else "orphaned" if target is None else "moved"
        return _row(name, kind, (source, target), flow, old_place)

    return LazyRows(count + len(gone), row)


def _row(name: str, kind: HandoverKind, pair: Pair, flow: Traffic, place: int) -> HandoverRow:
    lacks_rates = flow.unknown is not None and bool(flow.unknown[place])
    lacks_count = flow.unacked_unknown is not None and bool(flow.unacked_unknown[place])
    return HandoverRow(
        name,
        kind,
        *pair,
        None if lacks_rates else float(flow.msgs_per_sec[place]),
        None if lacks_rates else float(flow.bytes_per_sec[place]),
        None if lacks_count else int(flow.unacked[place]),
    )


@dataclass(frozen=True, eq=False, slots=True)
class ChangeView:
    """The change of one subscription between two states; ``rows`` are partitions or known keys."""

    noun: str
    verdict: Verdict
    rows: Sequence[HandoverRow]


def change_view(before: ClusterState, after: ClusterState, subscription_key: str) -> ChangeView | None:
    """The change of a subscription of either type in one history; None where one of the states lacks it."""
    mine, theirs = subscription_of(before, subscription_key), subscription_of(after, subscription_key)
    if mine is not None and theirs is not None:
        verdict = verdict_between(before, after, subscription_key)
        return ChangeView(PARTITION, verdict, handovers(before, mine, after, theirs))
    was, now = keys_slice_by_key(before, subscription_key), keys_slice_by_key(after, subscription_key)
    if was is None or now is None:
        return None
    return ChangeView(SLOT, keys_verdict(was, now, key_moves(was, now)), key_handovers(was, now))


def preview_of(state: ClusterState, command: Command, subscription_key: str) -> Verdict | Rejection | None:
    """The verdict on a command for one subscription of either type; None where it lacks one, before or after."""
    after = carried_out(state, command)
    if isinstance(after, Rejection):
        return after
    if subscription_of(state, subscription_key) is not None and subscription_of(after, subscription_key) is not None:
        return verdict_between(state, after, subscription_key)
    before, now = keys_slice_by_key(state, subscription_key), keys_slice_by_key(after, subscription_key)
    return None if before is None or now is None else keys_verdict(before, now, key_moves(before, now))


def key_handovers(
    before: KeysSlice, now: KeysSlice, known_as: Mapping[int, int] | None = None
) -> tuple[HandoverRow, ...]:
    """The known keys whose consumer changed, those with most messages first.

    ``known_as`` maps the ids of ``now`` to those of ``before`` where the two states number their consumers separately.
    """
    names = {consumer.consumer_id: consumer.name for consumer in before.selector.consumers}
    later = {consumer.consumer_id: consumer.name for consumer in now.selector.consumers}
    was = dict(zip(before.known.keys, before.known.owners.tolist(), strict=True))
    rows = []
    for text, key, owner, count in zip(
        now.known.texts, now.known.keys, now.known.owners.tolist(), now.known.messages.tolist(), strict=True
    ):
        old = was.get(key)
        if old is None or old == (owner if known_as is None else known_as.get(owner, -1)):
            continue
        rows.append(_handover_of_key(text, names.get(old), later.get(owner), count))
    return tuple(sorted(rows, key=lambda row: (-(row.msgs_per_sec or 0.0), row.name)))


def _handover_of_key(text: str, source: str | None, target: str | None, messages: int) -> HandoverRow:
    kind: HandoverKind = "taken up" if source is None else "orphaned" if target is None else "moved"
    return HandoverRow(text, kind, source, target, float(messages), 0.0, 0)
