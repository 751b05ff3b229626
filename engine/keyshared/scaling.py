"""Plan another number of nodes with consistent sticky ranges: what each declares, what moves, what stalls, step by
step.

A node knows only its index and the count. The broker accepts no range that another consumer still has, so all nodes
stop before any starts with the new count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray

from engine.answer import about
from engine.errors import Rejection
from engine.hashing import murmur3_32
from engine.keyshared.consistent_sticky import MAX_POINTS, node_ranges
from engine.keyshared.keys import text_of_key
from engine.keyshared.model import RANGE_SIZE, Consumer
from engine.keyshared.scaling_modes import (
    ModeMoves,
    NodeChange,
    ScalingMode,
    SlotOwners,
    auto_split_moves,
    message_of,
    moves_of,
    node_name,
    ring_moves,
)
from engine.keyshared.sticky import conflict_with
from engine.ranges import HashRange


class PlanAction(Enum):
    """What is done in a step; the value is the phrase for users."""

    STOP = "stop every node: none may hold a range while another one declares it anew"
    CONFIGURE = "give every node its new index and the new count"
    START = "start the nodes, in any order"


def _ends(pieces: Sequence[HashRange]) -> Sequence[tuple[int, int]]:
    return [(piece.start, piece.end) for piece in pieces]


def _first_and_last(piece: HashRange) -> tuple[int, int]:
    return piece.start, piece.end


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step and the nodes it concerns.

    From the first stop on the slots of a stopped node stall, after the last one all 65536 do; a slot and its keys go on
    when the node that has it afterwards (``NodePlan.after``) has started.
    """

    step: Annotated[int, about("From 1.", 1)]
    action: Annotated[PlanAction, about("What is done, in words.", key="text")]
    nodes: Annotated[tuple[int, ...], about("By which nodes.", 0)]

    @property
    def word(self) -> Annotated[Literal["stop", "configure", "start"], about("What is done.", key="action")]:
        return _WORDS[self.action]


_WORDS: Final[Mapping[PlanAction, Literal["stop", "configure", "start"]]] = {
    PlanAction.STOP: "stop",
    PlanAction.CONFIGURE: "configure",
    PlanAction.START: "start",
}


@dataclass(frozen=True, slots=True)
class NodePlan:
    """One node (a process) before and after; its ranges are empty while it does not run."""

    node: Annotated[int, about("Its number: the index before, new ones from there on.", 0)]
    index_before: Annotated[int | None, about("Null: it did not run.", 0)]
    index_after: Annotated[int | None, about("Null: it leaves.", 0)]
    before: Annotated[tuple[HashRange, ...], about("What it declares before.", 0, key="ranges_before", form=_ends)]
    after: Annotated[tuple[HashRange, ...], about("What it declares then.", 0, key="ranges_after", form=_ends)]
    keys_before: Annotated[int, about("Known keys before.", 0, key="known_keys_before")]
    keys_after: Annotated[int, about("Known keys then.", 0, key="known_keys_after")]

    @property
    def slots_before(self) -> Annotated[int, about("Slots before.", 0)]:
        return sum(piece.size for piece in self.before)

    @property
    def slots_after(self) -> Annotated[int, about("Slots then.", 0)]:
        return sum(piece.size for piece in self.after)


@dataclass(frozen=True, slots=True)
class SlotMove:
    range: Annotated[HashRange, about("First and last slot.", 0, form=_first_and_last)]
    source: Annotated[int, about("From this node.", 0, key="from")]
    target: Annotated[int, about("To this one.", 0, key="to")]


@dataclass(frozen=True, slots=True)
class KeyMove:
    """A known key that changes its node."""

    key: Annotated[bytes, about("The key as text, hex: or base64: for bytes that are none.", form=text_of_key)]
    slot: Annotated[int, about("Its slot.", 0)]
    source: Annotated[int, about("From this node.", 0, key="from")]
    target: Annotated[int, about("To this one.", 0, key="to")]


@dataclass(frozen=True, slots=True)
class Stalls:
    """What is not served between the last stop and a start."""

    slots: Annotated[int, about("Slots.", 0)]
    known_keys: Annotated[int, about("Known keys.", 0)]


@dataclass(frozen=True, slots=True)
class Turns:
    """An order in which less stalls, where somebody takes care of it."""

    stop_first: Annotated[tuple[int, ...], about("Nodes.", 0)]
    restart_one_by_one: Annotated[tuple[int, ...], about("Nodes.", 0)]
    start_last: Annotated[tuple[int, ...], about("Nodes.", 0)]


@dataclass(frozen=True, slots=True)
class ScalingPlan:
    """What `ringside plan --json` prints: another number of nodes with consistent sticky ranges, step by step."""

    FORMAT: ClassVar = "ringside.plan/1"

    points: Annotated[int, about("Points of each node.", 1)]
    before: Annotated[int, about("Nodes now.", 1)]
    after: Annotated[int, about("Nodes then.", 1)]
    leaving: Annotated[tuple[int, ...], about("Indices of nodes that go.", 0)]
    steps: Annotated[tuple[PlanStep, ...], about("In order.")]
    too_early: Annotated[
        Rejection | None,
        about(
            "What a broker answers to a node that starts too early; null where nothing would be in its way.",
            key="refused_when_too_early",
            form=message_of,
        ),
    ]
    nodes: Annotated[tuple[NodePlan, ...], about("Every node, before and after.")]
    least_share: Annotated[float, about("The share of slots that would have to move if all shares were equal.", 0, 1)]
    moves: Annotated[
        tuple[SlotMove, ...], about("Ranges that change their node, ascending, each as long as it can be.")
    ]
    keys: Annotated[int, about("Known keys in all.", 0, key="known_keys")]
    moved_keys: Annotated[tuple[KeyMove, ...], about("Known keys that change their node.")]
    modes: Annotated[tuple[ModeMoves, ...], about("The same change in other modes.")]

    @property
    def client_side_technique(
        self,
    ) -> Annotated[Literal[True], about("Brokers know the ranges as STICKY and nothing of how they are made.")]:
        return True

    @property
    def stalls_meanwhile(self) -> Annotated[Stalls, about("What is not served between the last stop and a start.")]:
        return Stalls(RANGE_SIZE, self.keys)

    @property
    def moved_slots(self) -> Annotated[int, about("Slots that change their node.", 0)]:
        return sum(move.range.size for move in self.moves)

    @property
    def in_turns(self) -> Annotated[Turns, about("An order in which less stalls, where somebody takes care of it.")]:
        """The nodes that stop first, those restarted one by one, and those that start last, if the order can be
        controlled.

        Nothing overlaps in that order, since a node that keeps its index only loses slots to nodes that start last, or
        only gains those of nodes that stopped first; so fewer slots stall than when all stop.
        """
        stays = tuple(node.node for node in self.nodes if node.index_before == node.index_after)
        others = tuple(node for node in self.nodes if node.index_before != node.index_after)
        stops = tuple(other.node for other in others if other.index_before is not None)
        return Turns(stops, stays, tuple(other.node for other in others if other.index_after is not None))


def plan_scaling(
    points: int,
    before: int,
    after: int,
    keys: Iterable[bytes] = (),
    *,
    leaving: Sequence[int] | None = None,
) -> ScalingPlan | Rejection:
    """The plan for another number of nodes; ``keys`` are known sticky keys, each counted once.

    ``leaving`` are the nodes that go when there are fewer (default: those with the last indices). A place that becomes
    free is taken over by the node with the last index, so that only its slots, and those of the leaving ones, move.

    Refused, by the names ``points``, ``nodes``, ``to`` and ``leaving``: what ``node_ranges`` refuses, the same number,
    leaving nodes that do not run, are repeated, or whose number does not match the reduction.
    O(points x nodes + keys), and what the comparison takes.

    >>> plan = plan_scaling(1, 1, 2, [b"a"])
    >>> [(str(move.range), move.source, move.target) for move in plan.moves]
    [('[12708,65535]', 0, 1)]
    """
    gone = _leaving(before, after, leaving)
    if isinstance(gone, Rejection):
        return gone
    ranges_before = node_ranges(points, before)
    if isinstance(ranges_before, Rejection):
        return ranges_before
    ranges_after = node_ranges(points, after)
    if isinstance(ranges_after, Rejection):
        return Rejection(ranges_after.error, ranges_after.message, field="to") if after < 1 else ranges_after
    change = NodeChange(before, gone, tuple(range(before, after)))
    places = _places(change)
    distinct = tuple(dict.fromkeys(keys))
    hashes = np.fromiter((murmur3_32(key) for key in distinct), dtype=np.int64, count=len(distinct))
    slots = np.maximum(hashes % RANGE_SIZE, 1)
    owners = SlotOwners(_owners(ranges_before, range(before)), _owners(ranges_after, places))
    nodes = _nodes(change, places, ranges_before, ranges_after, owners=owners, slots=slots)
    moves = _moves(owners)
    running = tuple(node.node for node in nodes if node.index_after is not None)
    return ScalingPlan(
        points=points,
        before=before,
        after=after,
        leaving=gone,
        nodes=nodes,
        steps=(
            PlanStep(1, PlanAction.STOP, tuple(range(before))),
            PlanStep(2, PlanAction.CONFIGURE, running),
            PlanStep(3, PlanAction.START, running),
        ),
        moves=moves,
        keys=len(distinct),
        moved_keys=_moved_keys(owners, distinct, slots),
        too_early=_too_early(moves),
        least_share=change.least_share,
        modes=(
            moves_of(ScalingMode.CONSISTENT_STICKY, owners, slots, change, needs_stop=True),
            auto_split_moves(change, hashes),
            ring_moves(points, change, hashes),
        ),
    )


def _leaving(before: int, after: int, leaving: Sequence[int] | None) -> tuple[int, ...] | Rejection:
    """The nodes that go; checked."""
    fewer = max(before - max(after, 0), 0)
    if before == after:
        return Rejection("NothingToDo", f"there are {before} nodes already; name another number", field="to")
    if before > MAX_POINTS:
        message = f"there are {before} nodes? More than {MAX_POINTS} are not modelled"
        return Rejection("InvalidNodeCount", message, field="nodes")
    if leaving is None:
        return tuple(range(max(after, 0), before))
    strange = next((node for node in leaving if not 0 <= node < before), None)
    if strange is not None:
        message = f"there is no node {strange} among {before}; indices go from 0 to {before - 1}"
        return Rejection("InvalidNodeIndex", message, field="leaving")
    if len(set(leaving)) != len(leaving):
        return Rejection("InvalidNodeIndex", "a node leaves once; an index is listed twice", field="leaving")
    if len(leaving) != fewer:
        message = f"from {before} nodes to {after} {fewer} leave, not {len(leaving)}"
        return Rejection("InvalidNodeCount", message, field="leaving")
    return tuple(sorted(leaving))


def _places(change: NodeChange) -> tuple[int, ...]:
    """The node of each index afterwards: the last ones move into the places that become free.

    >>> _places(NodeChange(5, (1,), ()))
    (0, 4, 2, 3)
    """
    gone = frozenset(change.leaving)
    places = list(range(change.after))
    movers = [node for node in range(change.after, change.before) if node not in gone]
    for place in places:
        if place in gone:
            places[place] = movers.pop()
    return tuple(places)


def _owners(ranges: Sequence[Sequence[HashRange]], nodes: Sequence[int]) -> NDArray[np.int64]:
    owners = np.empty(RANGE_SIZE, dtype=np.int64)
    for node, pieces in zip(nodes, ranges, strict=True):
        for piece in pieces:
            owners[piece.start : piece.end + 1] = node
    return owners


def _nodes(
    change: NodeChange,
    places: tuple[int, ...],
    before: Sequence[tuple[HashRange, ...]],
    after: Sequence[tuple[HashRange, ...]],
    *,
    owners: SlotOwners,
    slots: NDArray[np.int64],
) -> tuple[NodePlan, ...]:
    count = max(change.before, change.after)
    keys_before = np.bincount(owners.before[slots], minlength=count).tolist()
    keys_after = np.bincount(owners.after[slots], minlength=count).tolist()
    index_after = {node: index for index, node in enumerate(places)}
    return tuple(
        NodePlan(
            node=node,
            index_before=node if node < change.before else None,
            index_after=index_after.get(node),
            before=before[node] if node < change.before else (),
            after=after[index_after[node]] if node in index_after else (),
            keys_before=keys_before[node],
            keys_after=keys_after[node],
        )
        for node in range(count)
    )


def _moves(owners: SlotOwners) -> tuple[SlotMove, ...]:
    was, now = owners.before, owners.after
    last_of_run = np.append((was[1:] != was[:-1]) | (now[1:] != now[:-1]), True)
    moves: list[SlotMove] = []
    start = 0
    for end in np.flatnonzero(last_of_run).tolist():
        if was[end] != now[end]:
            moves.append(SlotMove(HashRange(start, end), int(was[end]), int(now[end])))
        start = end + 1
    return tuple(moves)


def _moved_keys(owners: SlotOwners, keys: Sequence[bytes], slots: NDArray[np.int64]) -> tuple[KeyMove, ...]:
    moved = np.flatnonzero(owners.before[slots] != owners.after[slots]).tolist()
    return tuple(
        KeyMove(keys[at], int(slots[at]), int(owners.before[slots[at]]), int(owners.after[slots[at]])) for at in moved
    )


def _too_early(moves: Sequence[SlotMove]) -> Rejection | None:
    """The refusal if the node that gains the lowest slots starts first: their former owner still has them."""
    if not moves:
        return None
    holder = moves[0].source
    return conflict_with((Consumer(holder, node_name(holder)),), holder)
