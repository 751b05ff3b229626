"""The slots that a step moved between Key_Shared consumers, those that bystanders lost, and the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.cluster.keys.state import KeyDispatcherStarted, SharingMode
from engine.compare.verdict import NO_EVENNESS, Evenness, Verdict, evenness_of, items_of_leavers, judge
from engine.keyshared.ownership import OwnedSlots
from engine.ranges import HashRange
from engine.text import counted
from engine.views.keys.model import StepMoves
from engine.views.keys.slice import KeysSlice, keys_slice


@dataclass(frozen=True, eq=False, slots=True)
class KeyMoves:
    """Slots that changed hands between two slices.

    ``gained`` and ``lost`` count them by consumer id. ``moved`` had an owner before and have another one, or none, now;
    ``least`` of them had to, since their consumers have fewer now. ``bystanders`` lost slots to others that were
    connected before too, although they stayed themselves; none after a restart of the dispatcher, since then nobody
    stayed. ``keys`` marks the known keys that moved.
    """

    gained: Mapping[int, int]
    lost: Mapping[int, int]
    moved: int
    least: int
    bystanders: tuple[int, ...]
    changed: tuple[HashRange, ...]
    keys: NDArray[np.bool_]


def key_moves(before: KeysSlice | None, now: KeysSlice) -> KeyMoves:
    """Compare two slices; nothing moved without one before, or with the same selector. O(n log n + k)."""
    nothing = np.zeros(len(now.known.keys), dtype=np.bool_)
    if before is None or (before.selector is now.selector and before.subscription.agree and now.subscription.agree):
        return KeyMoves({}, {}, 0, 0, (), (), nothing)
    if _differ(before, now):
        return _of_partitions(before, now)
    if before.selector is now.selector:
        return KeyMoves({}, {}, 0, 0, (), (), _moved_keys(before, now))
    if _space(before) != _space(now):
        # A slot of one space is not the slot of that number in another: only keys can be compared.
        everything = (HashRange(now.selector.slots.low, now.selector.slots.high),)
        return KeyMoves({}, {}, 0, 0, (), everything, _moved_keys(before, now))
    shares = before.pieces.shared or now.pieces.shared
    gained, lost, bystanders, changed = (_slot_by_slot if shares else _piece_by_piece)(before, now)
    return KeyMoves(
        gained=gained,
        lost=lost,
        moved=sum(lost.values()),
        least=sum(max(0, count - gained.get(owner, 0)) for owner, count in lost.items()),
        bystanders=() if _restarts(before) != _restarts(now) else bystanders,
        changed=changed,
        keys=_moved_keys(before, now),
    )


def _differ(before: KeysSlice, now: KeysSlice) -> bool:
    """Whether both are of all partitions of one topic, and each partition has to be compared with itself."""
    if before.partition is not None or now.partition is not None or before.subscription.routing is None:
        return False
    agree = before.subscription.agree and now.subscription.agree
    return not agree and before.subscription.partitions == now.subscription.partitions


def _of_partitions(before: KeysSlice, now: KeysSlice) -> KeyMoves:
    """The sums over partitions; those with the same dispatchers before and after are compared once."""
    alike: dict[tuple[int, int], list[int]] = {}
    pairs = zip(before.subscription.selectors, now.subscription.selectors, strict=True)
    for partition, (was, selector) in enumerate(pairs):
        alike.setdefault((id(was), id(selector)), []).append(partition)
    gained: Counter[int] = Counter()
    lost: Counter[int] = Counter()
    bystanders: dict[int, None] = {}
    changed: dict[HashRange, None] = {}
    for partitions in alike.values():
        each = key_moves(
            keys_slice(before.state, before.subscription, partitions[0]),
            keys_slice(now.state, now.subscription, partitions[0]),
        )
        for total, part in ((gained, each.gained), (lost, each.lost)):
            total.update({consumer: count * len(partitions) for consumer, count in part.items()})
        bystanders.update(dict.fromkeys(each.bystanders))
        changed.update(dict.fromkeys(each.changed))
    least = sum(max(0, count - gained.get(owner, 0)) for owner, count in lost.items())
    return KeyMoves(
        gained, lost, sum(lost.values()), least, tuple(bystanders), tuple(changed), _moved_keys(before, now)
    )


def step_moves(before: KeysSlice | None, now: KeysSlice, moves: KeyMoves, positions: Mapping[int, int]) -> StepMoves:
    """``key_moves`` in words; ``positions``: id of a connected consumer -> its row."""
    return StepMoves(
        slots=moves.moved,
        least=moves.least,
        keys=int(moves.keys.sum()),
        bystanders=tuple(positions[consumer_id] for consumer_id in moves.bystanders if consumer_id in positions),
        sentence=_sentence(before, now, moves),
    )


def _sentence(before: KeysSlice | None, now: KeysSlice, moves: KeyMoves) -> str:
    if before is None or before.selector is now.selector:
        return "no slot moved"
    ids_before = {consumer.consumer_id for consumer in before.subscription.consumers}
    ids_now = {consumer.consumer_id for consumer in now.subscription.consumers}
    if not ids_before and not ids_now:
        return "no slot moved"
    if not ids_before:
        return "the first consumer has everything" if len(ids_now) == 1 else "the slots are taken up"
    if not ids_now:
        return "nobody is left: every message waits"
    keys = f"{int(moves.keys.sum()):,} of the known keys"
    if _space(before) != _space(now):
        return f"all stopped and came back; keys have other slots now, and {keys} another owner"
    amount = f"{counted(moves.moved, 'slot')} moved, {keys} with them"
    if before.subscription.mode is not now.subscription.mode:
        return f"all stopped and came back in another mode: {amount}"
    if before.subscription.points != now.subscription.points:
        return f"all stopped and came back with other points: {amount}"
    if _restarts(before) != _restarts(now):
        return f"all stopped and came back: {amount}"
    if not moves.gained and not moves.lost:
        return "no slot moved"
    if not moves.bystanders:
        return f"{amount}; nobody else lost any" if moves.moved else "no slot moved from one to another"
    others = "one other" if len(moves.bystanders) == 1 else f"{len(moves.bystanders)} others"
    return f"{amount}; {others} lost slots too: {_why_bystanders(now)}"


def same_space(before: KeysSlice, now: KeysSlice) -> bool:
    """Whether a slot of one is the slot of that number in the other."""
    return _space(before) == _space(now)


def _space(of: KeysSlice) -> tuple[int, int]:
    return of.selector.slots.low, of.selector.slots.size


def _restarts(of: KeysSlice) -> int:
    """How many dispatchers the subscription has had."""
    return sum(isinstance(event, KeyDispatcherStarted) for event in of.subscription.happened)


def _why_bystanders(now: KeysSlice) -> str:
    if now.subscription.mode is SharingMode.CONSISTENT_STICKY:
        return "the last node takes over the index that is free"
    if now.pieces.shared:
        return "consumers at one point take turns by slot mod how many, in this release"
    return "their ranges were declared anew"


_Found = tuple[dict[int, int], dict[int, int], tuple[int, ...], tuple[HashRange, ...]]
"""Gained and lost slots by consumer id, bystanders, and where slots have a new owner."""


def _piece_by_piece(before: KeysSlice, now: KeysSlice) -> _Found:
    """Compare piece by piece: between neighbouring ends of both tilings nothing changes."""
    first = max(before.pieces.first, now.pieces.first)  # releases differ in whether slot 0 occurs
    ends = np.union1d(before.pieces.ends, now.pieces.ends)
    ends = ends[ends >= first]
    widths = np.diff(ends, prepend=first - 1)
    old, new = before.pieces.owners_at(ends), now.pieces.owners_at(ends)
    different = old != new
    old, new, widths, ends = old[different], new[different], widths[different], ends[different]
    connected = np.array(_ids(before), dtype=np.int64)
    stayed = np.intersect1d(connected, np.array(_ids(now), dtype=np.int64))
    inherited = np.isin(old, stayed) & np.isin(new, connected)
    served = new >= 0
    starts = (ends - widths + 1)[served].tolist()
    changed = tuple(HashRange(start, end) for start, end in zip(starts, ends[served].tolist(), strict=True))
    return _summed(new, widths), _summed(old, widths), tuple(np.unique(old[inherited]).tolist()), changed


def _ids(of: KeysSlice) -> list[int]:
    return [consumer.consumer_id for consumer in of.selector.consumers]


def _summed(owners: NDArray[np.int64], widths: NDArray[np.int64]) -> dict[int, int]:
    ids, places = np.unique(owners, return_inverse=True)
    sums = np.bincount(places, widths, minlength=len(ids)).astype(np.int64)
    return {owner: count for owner, count in zip(ids.tolist(), sums.tolist(), strict=True) if owner >= 0}


def _slot_by_slot(before: KeysSlice, now: KeysSlice) -> _Found:
    """Where consumers share points a range is nobody's own: count by remainders inside the pieces of both."""
    gained: Counter[int] = Counter()
    lost: Counter[int] = Counter()
    stayed = set(before.owned) & set(now.owned)
    bystanders: dict[int, None] = {}
    changed: list[HashRange] = []
    was = _by_start(before)
    for piece, divisor, owners in _overlaid(was, _by_start(now)):
        for remainder in range(divisor):
            old, new = owners[0][remainder % len(owners[0])], owners[1][remainder % len(owners[1])]
            if old == new:
                continue
            count = OwnedSlots(piece, divisor, remainder).count
            if count:
                lost[old] += count
                gained[new] += count
                changed.append(piece)
                if old in stayed and new in before.owned:
                    bystanders[old] = None
    return dict(gained), dict(lost), tuple(bystanders), tuple(dict.fromkeys(changed))


_Shared = list[tuple[HashRange, tuple[int, ...]]]


def _by_start(of: KeysSlice) -> _Shared:
    """The pieces of the space with the owners of each, in the order of their remainders."""
    owners_of: dict[HashRange, dict[int, int]] = {}
    for owner, pieces in of.owned.items():
        for piece in pieces:
            owners_of.setdefault(piece.range, {})[piece.remainder] = owner
    return [(piece, tuple(owners[at] for at in sorted(owners))) for piece, owners in sorted(owners_of.items())]


def _overlaid(was: _Shared, now: _Shared) -> list[tuple[HashRange, int, tuple[tuple[int, ...], tuple[int, ...]]]]:
    """The common pieces of two tilings: range, common divisor, owners before and after."""
    overlaid: list[tuple[HashRange, int, tuple[tuple[int, ...], tuple[int, ...]]]] = []
    left = right = 0
    while left < len(was) and right < len(now):
        old, new = was[left][0], now[right][0]
        start, end = max(old.start, new.start), min(old.end, new.end)
        if start <= end:
            owners = (was[left][1], now[right][1])
            overlaid.append((HashRange(start, end), int(np.lcm(len(owners[0]), len(owners[1]))), owners))
        left += old.end <= new.end
        right += new.end <= old.end
    return overlaid


def _moved_keys(before: KeysSlice, now: KeysSlice) -> NDArray[np.bool_]:
    if before.known.keys is now.known.keys:
        same: NDArray[np.bool_] = (before.known.owners >= 0) & (before.known.owners != now.known.owners)
        return same
    owners = {key: int(owner) for key, owner in zip(before.known.keys, before.known.owners, strict=True)}
    return np.array(
        [
            key in owners and owners[key] >= 0 and owners[key] != owner
            for key, owner in zip(now.known.keys, now.known.owners.tolist(), strict=True)
        ],
        dtype=np.bool_,
    )


def keys_evenness(now: KeysSlice) -> Evenness:
    """Slots, and messages of known keys so far, over all consumers."""
    counts, slots_in_all = now.slot_counts(), now.slot_count
    ids = np.array([consumer.consumer_id for consumer in now.consumers], dtype=np.int64)
    places = {number: at for at, number in enumerate(ids.tolist())}
    messages = np.zeros(len(ids))
    owned = now.known.owners >= 0
    at = np.array([places.get(owner, -1) for owner in now.known.owners[owned].tolist()], dtype=np.int64)
    np.add.at(messages, at[at >= 0], now.known.messages[owned][at >= 0])
    slots = np.array([counts.get(number, 0) for number in ids.tolist()], dtype=np.int64)
    return evenness_of(slots, messages, slots_in_all)


def keys_verdict(before: KeysSlice | None, now: KeysSlice, moves: KeyMoves) -> Verdict:
    """The verdict on a step. Slots of two spaces cannot be compared, so none counts as moved."""
    was, after = NO_EVENNESS if before is None else keys_evenness(before), keys_evenness(now)
    ids = [[consumer.consumer_id for consumer in side.consumers] for side in (before or now, now)]
    lost = items_of_leavers(moves.lost, *ids)
    judgement, judged_by = judge(was, after, lost)
    comparable = before is None or same_space(before, now)
    return Verdict(
        judgement=judgement,
        judged_by=judged_by,
        before=was,
        after=after,
        moved=moves.moved,
        least=moves.least,
        items=now.slot_count if comparable else 0,
        msgs_per_sec=0.0,
        bytes_per_sec=0.0,
        unacked_at_risk=0,
    )
