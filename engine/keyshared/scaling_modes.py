"""What each mode moves when the number of nodes changes: consistent sticky ranges, and modes that need no stop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Final

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from engine.answer import about
from engine.errors import Rejection
from engine.keyshared.autosplit import auto_split_selector
from engine.keyshared.model import Consumer, Selector
from engine.keyshared.ownership import slots_by_consumer
from engine.keyshared.ring import RingMember, ring_selector

FOLLOWED_LEAVES: Final = 20_000_000
"""Up to this many leaves times consumers, leaves from auto-split are simulated one by one: a few seconds."""

NOBODY: Final = -1


class ScalingMode(Enum):
    """The ways of sharing keys that are compared."""

    CONSISTENT_STICKY = "consistent-sticky"
    AUTO_SPLIT = "auto-split"
    CONSISTENT_AUTO_SPLIT = "consistent-auto-split"


@dataclass(frozen=True, slots=True)
class NodeChange:
    """Nodes by number: 0 .. ``before`` - 1 run; those of ``leaving`` go, then those of ``joining`` come, in order."""

    before: int
    leaving: tuple[int, ...]
    joining: tuple[int, ...]

    @property
    def after(self) -> int:
        return self.before - len(self.leaving) + len(self.joining)

    @property
    def least_share(self) -> float:
        """The part of the hash space (0..1) that has to move if both before and after all shares are equal."""
        return abs(self.after - self.before) / max(self.after, self.before)


def message_of(refusal: Rejection | None) -> str | None:
    return None if refusal is None else refusal.message


@dataclass(frozen=True, slots=True)
class ModeMoves:
    """What a change moves in one mode; with ``refusal`` the mode cannot do it, and the numbers are 0.

    Without a stop only keys that move wait, until the former owner has acknowledged theirs.
    """

    mode: Annotated[ScalingMode, about("Its name.")]
    needs_stop: Annotated[bool, about("Whether all nodes have to stop.")]
    moved_share: Annotated[float, about("Share of slots that change their consumer.", 0, 1)] = 0.0
    between_stayers: Annotated[float, about("Share of slots that move from one to another that both stay.", 0, 1)] = 0.0
    moved_keys: Annotated[int, about("Known keys that move.", 0)] = 0
    max_over_mean: Annotated[float, about("Largest number of slots over the mean.", 0)] = 0.0
    refusal: Annotated[Rejection | None, about("Why this mode cannot do it.", form=message_of)] = None


@dataclass(frozen=True, slots=True, eq=False)
class SlotOwners:
    """The node of each slot of a mode, ``NOBODY`` where a slot does not occur, before and after a change."""

    before: NDArray[np.int64]
    after: NDArray[np.int64]


def moves_of(
    mode: ScalingMode, owners: SlotOwners, key_slots: NDArray[np.int64], change: NodeChange, *, needs_stop: bool
) -> ModeMoves:
    """Count what moves, for the slots and for the known keys (by their slots). O(slots + keys)."""
    occurs = owners.before != NOBODY
    total = int(np.count_nonzero(occurs))
    moved = occurs & (owners.before != owners.after)
    stayers = moved & ~np.isin(owners.before, change.leaving) & ~np.isin(owners.after, change.joining)
    largest = int(np.bincount(owners.after[occurs]).max())
    return ModeMoves(
        mode=mode,
        needs_stop=needs_stop,
        moved_share=int(np.count_nonzero(moved)) / total,
        between_stayers=int(np.count_nonzero(stayers)) / total,
        moved_keys=int(np.count_nonzero(moved[key_slots])),
        max_over_mean=largest * change.after / total,
    )


def auto_split_moves(change: NodeChange, key_hashes: NDArray[np.int64]) -> ModeMoves:
    """The same change with auto-split, the nodes having joined in the order of their numbers."""
    mode = ScalingMode.AUTO_SPLIT
    if len(change.leaving) * change.before > FOLLOWED_LEAVES:
        message = f"{len(change.leaving)} leaves of {change.before} nodes are too many to follow one by one"
        return ModeMoves(mode, needs_stop=False, refusal=Rejection("TooManyLeaves", message, field="to"))
    empty = auto_split_selector()
    assert not isinstance(empty, Rejection), "the default range size is a power of two"
    before = empty.join_all(_consumers(range(change.before)))
    if isinstance(before, Rejection):
        return ModeMoves(mode, needs_stop=False, refusal=before)
    after = before
    for node in change.leaving:
        after = after.leave(node)
    joined = after.join_all(_consumers(change.joining))
    if isinstance(joined, Rejection):
        return ModeMoves(mode, needs_stop=False, refusal=joined)
    return _selector_moves(mode, before, joined, key_hashes, change)


def ring_moves(points: int, change: NodeChange, key_hashes: NDArray[np.int64]) -> ModeMoves:
    """The same change on the broker's ring in its current form, with as many points."""
    empty = ring_selector(points=points)
    assert not isinstance(empty, Rejection), "the number of points has been checked"
    members = tuple(RingMember(consumer, 0) for consumer in _consumers(range(change.before)))
    gone = frozenset(change.leaving)
    stay = tuple(member for member in members if member.consumer.consumer_id not in gone)
    come = tuple(RingMember(consumer, 0) for consumer in _consumers(change.joining))
    before, after = replace(empty, members=members), replace(empty, members=(*stay, *come))
    return _selector_moves(ScalingMode.CONSISTENT_AUTO_SPLIT, before, after, key_hashes, change)


def node_name(node: int) -> str:
    """The name a node has as a consumer; the technique hashes the same text."""
    return f"node-{node}"


def _consumers(nodes: Sequence[int]) -> tuple[Consumer, ...]:
    return tuple(Consumer(node, node_name(node)) for node in nodes)


def _selector_moves(
    mode: ScalingMode, before: Selector, after: Selector, key_hashes: NDArray[np.int64], change: NodeChange
) -> ModeMoves:
    slots = before.slots
    key_slots = key_hashes % slots.size + slots.low
    if slots.folds_zero:
        key_slots[key_slots == 0] = 1
    owners = SlotOwners(_slot_owners(before), _slot_owners(after))
    return moves_of(mode, owners, key_slots, change, needs_stop=False)


def _slot_owners(selector: Selector) -> NDArray[np.int64]:
    owners = np.full(selector.slots.high + 1, NOBODY, dtype=np.int64)
    for owner, pieces in slots_by_consumer(selector).items():
        for piece in pieces:
            owners[piece.range.start : piece.range.end + 1] = owner
    return owners
