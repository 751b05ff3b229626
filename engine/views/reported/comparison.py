"""Compare what brokers reported with the model, fact by fact, and locate differences in the hash space."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.diagnosis.seen import Dispatcher, parent_of
from engine.text import counted
from engine.views.failover.model import RingView
from engine.views.reported.model import Comparison, Disagreement

ACTIVE: Final = "active consumer"
RANGES: Final = "hash ranges of"
"""A kind of fact; the name of the consumer follows."""
FEW: Final = 32
"""With so many times more names than dispatchers, names are searched one by one."""
RANGES_SHOWN: Final = 8
"""The most differing ranges that are listed; all are counted."""
NOBODY: Final = -1
Pairs = tuple[tuple[int, int], ...]


def is_settled(dispatcher: Dispatcher) -> bool:
    """Whether a dispatcher was reported the same at the moment before.

    A broker writes an answer while consumers come and go, so parts of it may be of different moments.
    """
    before = dispatcher.before
    if before is None:
        return False
    one, other = before.subscription, dispatcher.sub
    if one is other:
        return True
    if one.active_consumer_name != other.active_consumer_name or len(one.consumers) != len(other.consumers):
        return False
    return all(
        left.name == right.name and left.range_arrays == right.range_arrays and left.range_texts == right.range_texts
        for left, right in zip(one.consumers, other.consumers, strict=True)
    )


def compare_actives(
    dispatchers: Iterable[Dispatcher], ring: RingView, names: Sequence[str], subscription: str, rule: str
) -> Comparison:
    """The reported active consumers beside those of a ring; ``names`` are those of the rows.

    Brokers report names alone, so a namesake of the active consumer agrees. A dispatcher with other consumers than the
    rows is not compared: consumers were connecting or leaving. O(dispatchers x consumers), and O(t) for t topics where
    any differs.
    """
    here = sorted(names)
    reported: dict[int, str] = {}
    disagreements: list[Disagreement] = []
    differing: list[int] = []
    same_consumers: dict[tuple[str, ...], bool] = {(): True}
    for dispatcher, at in _placed(tuple(dispatchers), ring.topic_names):
        name = dispatcher.sub.active_consumer_name
        listed = tuple([consumer.name for consumer in dispatcher.sub.consumers])
        if listed not in same_consumers:
            same_consumers[listed] = sorted(listed) == here
        if not name or not same_consumers[listed]:
            continue
        owner = int(ring.topic_owners[at])
        modelled = names[owner] if owner >= 0 else ""
        reported[at] = name
        if name != modelled:
            differing.append(at)
            disagreements.append(Disagreement(ACTIVE, dispatcher.topic, subscription, name, modelled or "nobody", rule))
    if not disagreements:
        return Comparison(len(reported))
    positions = {name: at for at, name in reversed(list(enumerate(names)))}
    owners = np.full(len(ring.topic_names), NOBODY, dtype=np.int64)
    for at, name in reported.items():
        owner = int(ring.topic_owners[at])
        owners[at] = owner if owner >= 0 and names[owner] == name else positions.get(name, NOBODY)
    differs = np.zeros(len(owners), dtype=np.bool_)
    differs[differing] = True
    order = np.argsort(ring.topic_hashes, kind="stable")
    hashes = ring.topic_hashes[order].astype(np.int64)
    return Comparison(
        len(reported),
        tuple(disagreements),
        _midpoints(hashes, ring.space_size),
        ring.topic_owners[order].astype(np.int64),
        owners[order],
        differs[order],
    )


def _placed(dispatchers: Sequence[Dispatcher], names: Sequence[str]) -> Iterator[tuple[Dispatcher, int]]:
    """Yield the dispatchers whose topic is among the names, with its index."""
    if len(dispatchers) * FEW < len(names):
        yield from (
            (dispatcher, names.index(dispatcher.topic)) for dispatcher in dispatchers if dispatcher.topic in names
        )
        return
    places = {name: at for at, name in enumerate(names)}
    yield from ((dispatcher, places[dispatcher.topic]) for dispatcher in dispatchers if dispatcher.topic in places)


def _midpoints(hashes: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """The last hash of the piece around each topic: halfway to the next one, and round the end for the last."""
    following = np.append(hashes[1:], hashes[0] + size)
    ends = (hashes + following) // 2
    # The piece of the last topic may end behind the wrap, where the first one's begins.
    return np.asarray(np.minimum(ends, size - 1), dtype=np.int64)


def compare_ranges(
    dispatchers: Iterable[Dispatcher], given: Sequence[tuple[str, Pairs]], space_size: int, subscription: str, rule: str
) -> Comparison:
    """The reported hash ranges beside those ``given`` by the model, row by row; the first topic that differs is shown.

    Both are in the form in which the release prints them. Namesakes are taken together. Of the partitions of a topic,
    where consumers joined in orders of their own, the one that the model was opened with counts: the first with
    consumers. O(dispatchers x ranges).
    """
    modelled = _by_name(given)
    compared = 0
    topics: set[str] = set()
    disagreements: list[Disagreement] = []
    shown: Dispatcher | None = None
    for dispatcher in dispatchers:
        reported = _by_name((consumer.name, consumer.key_hash_ranges) for consumer in dispatcher.sub.consumers)
        topic = parent_of(dispatcher.topic)
        if not reported or topic in topics:
            continue
        topics.add(topic)
        if not any(reported.values()) or reported.keys() != modelled.keys():
            continue
        for name in modelled:
            compared += 1
            theirs, ours = reported[name], modelled[name]
            if theirs == ours:
                continue
            shown = shown or dispatcher
            sides = _only(theirs, ours), _only(ours, theirs)
            disagreements.append(Disagreement(f"{RANGES} {name}", dispatcher.topic, subscription, *sides, rule))
    if shown is None:
        return Comparison(compared)
    names = [name for name, _ in given]
    sides_shown = [(consumer.name, consumer.key_hash_ranges) for consumer in shown.sub.consumers]
    points = _ends((*given, *sides_shown), space_size)
    ours_at, theirs_at = _owners_at(points, given, names), _owners_at(points, sides_shown, names)
    return Comparison(compared, tuple(disagreements), points, ours_at, theirs_at, ours_at != theirs_at, shown.topic)


def _by_name(given: Iterable[tuple[str, Pairs]]) -> dict[str, Pairs]:
    pieces: dict[str, list[tuple[int, int]]] = {}
    for name, ranges in given:
        pieces.setdefault(name, []).extend(ranges)
    return {name: tuple(sorted(ranges)) for name, ranges in pieces.items()}


def _only(ours: Pairs, theirs: Pairs) -> str:
    """The ranges that one side has and the other has not.

    >>> _only(((1, 9), (20, 29), (40, 49)), ((20, 29),)), _only(((1, 9),), ((1, 9), (20, 29)))
    ('2 other ranges: 1-9, 40-49', 'no other range')
    """
    others = set(theirs)
    alone = [f"{start}-{end}" for start, end in ours if (start, end) not in others]
    if not alone:
        return "no other range"
    more = ", …" if len(alone) > RANGES_SHOWN else ""
    return f"{counted(len(alone), 'other range')}: {', '.join(alone[:RANGES_SHOWN])}{more}"


def _ends(sides: Iterable[tuple[str, Pairs]], space_size: int) -> NDArray[np.int64]:
    """The last slots of pieces of which each has one owner on either side."""
    ends = {space_size - 1}
    for _, ranges in sides:
        for start, end in ranges:
            ends.update((start - 1, end))
    return np.array(sorted(end for end in ends if 0 <= end < space_size), dtype=np.int64)


def _owners_at(points: NDArray[np.int64], side: Iterable[tuple[str, Pairs]], names: Sequence[str]) -> NDArray[np.int64]:
    """The position of each point's owner: the first row with its name."""
    positions = {name: at for at, name in reversed(list(enumerate(names)))}
    owners = np.full(len(points), NOBODY, dtype=np.int64)
    for name, ranges in side:
        for start, end in ranges:
            owners[np.searchsorted(points, start) : np.searchsorted(points, end, side="right")] = positions[name]
    return owners
