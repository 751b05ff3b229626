"""Match two states by name: subscriptions, consumers, renamed topics; and the rows of two runs of a fleet.

Only names connect the two states. For runs, arrays in and arrays out: no loop over rows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Final, TypeAlias, TypeVar

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from engine.cluster.keys.state import KeySubscription
from engine.cluster.state import ClusterState, Subscription

LIKELY: Final = 0.75
"""Names with at least this similarity (0..1) may be one thing under a new name."""
COMPARED: Final = 200
"""The most names on either side that are compared pairwise; with more, none counts as renamed."""


AnySubscription = TypeVar("AnySubscription", Subscription, KeySubscription)


def matched_subscriptions(
    before: Iterable[AnySubscription], after: Iterable[AnySubscription]
) -> list[tuple[AnySubscription | None, AnySubscription | None]]:
    """Pairs with the same name and namespace, preferring those with most topics in common. None: missing.

    In the order of ``before``, then those only in ``after``.
    """
    left: dict[tuple[str, str], list[AnySubscription]] = defaultdict(list)
    for subscription in after:
        left[subscription.namespace, subscription.name].append(subscription)
    pairs: list[tuple[AnySubscription | None, AnySubscription | None]] = []
    for mine in before:
        candidates = left[mine.namespace, mine.name]
        if not candidates:
            pairs.append((mine, None))
            continue
        topics = set(mine.topics) if len(candidates) > 1 else set()
        best = max(candidates, key=lambda candidate: len(topics.intersection(candidate.topics)))
        candidates.remove(best)
        pairs.append((mine, best))
    pairs += [(None, subscription) for remaining in left.values() for subscription in remaining]
    return pairs


def counterpart(
    before: Iterable[AnySubscription], after: Iterable[AnySubscription], key: str
) -> AnySubscription | None:
    """The subscription of ``before`` that is compared with the one of this key in ``after``; None for none."""
    pairs = matched_subscriptions(before, after)
    return next((mine for mine, theirs in pairs if theirs is not None and theirs.key == key), None)


def renumbered(state: ClusterState, theirs: Subscription, mine: Subscription) -> tuple[ClusterState, Subscription]:
    """A state where the consumers of a subscription have the ids of ``mine``, name by name; others get new ones.

    Of namesakes the first connected here is the first connected there.

    >>> from engine.failover.model import Consumer
    >>> a = Subscription("s", "s", "t/n", (), (Consumer(7, "x"), Consumer(8, "y")))
    >>> b = Subscription("s", "s", "t/n", (), (Consumer(0, "y"), Consumer(1, "z")))
    >>> [consumer.consumer_id for consumer in renumbered(ClusterState(subscriptions=(b,)), b, a)[1].consumers]
    [8, 9]
    """
    ids = ids_by_name(
        [(consumer.name, consumer.consumer_id) for consumer in mine.consumers],
        [consumer.name for consumer in theirs.consumers],
    )
    shifted = replace(
        theirs,
        consumers=tuple(
            structs.replace(consumer, consumer_id=number)
            for consumer, number in zip(theirs.consumers, ids, strict=True)
        ),
    )
    others = tuple(shifted if subscription is theirs else subscription for subscription in state.subscriptions)
    return structs.replace(
        state, subscriptions=others, next_consumer_id=max([state.next_consumer_id, *ids]) + 1
    ), shifted


def ids_by_name(known: Sequence[tuple[str, int]], names: Sequence[str]) -> list[int]:
    """The ids of ``known`` (name, id) for these names, each id once; new ids for the others."""
    free: dict[str, list[int]] = defaultdict(list)
    for name, number in known:
        free[name].append(number)
    following = max((number for _, number in known), default=-1) + 1
    ids = []
    for name in names:
        if free[name]:
            ids.append(free[name].pop(0))
        else:
            ids.append(following)
            following += 1
    return ids


def came_and_left(before: Sequence[str], after: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names that are only in ``after``, and only in ``before``, as multisets.

    >>> came_and_left(["a", "b", "b"], ["b", "c"])
    (('c',), ('a', 'b'))
    """
    came, left = Counter(after) - Counter(before), Counter(before) - Counter(after)
    return tuple(sorted(came.elements())), tuple(sorted(left.elements()))


def renamed(gone: Sequence[str], came: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Pairs of names so similar that one is probably the new name of the other.

    >>> renamed(["orders-v1", "audit"], ["orders-v2"])
    (('orders-v1', 'orders-v2'),)
    """
    if not gone or not came or len(gone) > COMPARED or len(came) > COMPARED:
        return ()
    scored = sorted(
        ((SequenceMatcher(None, old, new).ratio(), old, new) for old in gone for new in came),
        key=lambda pair: (-pair[0], pair[1], pair[2]),
    )
    pairs: dict[str, str] = {}
    taken: set[str] = set()
    for score, old, new in scored:
        if score < LIKELY:
            break
        if old not in pairs and new not in taken:
            pairs[old] = new
            taken.add(new)
    return tuple(sorted(pairs.items()))


Ints: TypeAlias = NDArray[np.int64]
NOTHING: Final = -1
"""The code of a row without a value."""
_ROOM: Final = 2**62


@dataclass(frozen=True, eq=False, slots=True)
class Coded:
    """One column of both runs. Equal values have equal codes, and ``names[code]`` is the value of a code."""

    names: Sequence[str]
    before: Ints
    after: Ints

    def name(self, code: int) -> str | None:
        return None if code == NOTHING else self.names[code]


def keyed(*columns: Coded) -> tuple[Ints, Ints]:
    """The key of each row of both runs; keys are equal where all columns are. O(rows log rows)."""
    count = len(columns[0].before)
    keys = np.zeros(count + len(columns[0].after), dtype=np.int64)
    highest = 0
    for column in columns:
        size = len(column.names) + 1
        if (highest + 1) * size > _ROOM:
            keys = np.unique(keys, return_inverse=True)[1].astype(np.int64)
            highest = len(keys)
        keys = keys * size + (np.concatenate([column.before, column.after]) - NOTHING)
        highest = (highest + 1) * size
    return keys[:count], keys[count:]


def matched(before: Ints, after: Ints) -> tuple[Ints, Ints]:
    """Rows of both runs with equal keys, as two lists of places; of several rows with one key the first counts.

    >>> matched(np.array([7, 5, 9]), np.array([9, 7, 7]))
    (array([0, 2]), array([1, 0]))
    """
    _, first, second = np.intersect1d(before, after, return_indices=True)
    return first.astype(np.int64), second.astype(np.int64)


def missing_in(keys: Ints, others: Ints) -> Ints:
    """The rows of ``keys`` whose key ``others`` lacks, once per key, in order.

    >>> missing_in(np.array([7, 5, 9, 5]), np.array([9]))
    array([0, 1])
    """
    values, places = np.unique(keys, return_index=True)
    return np.sort(places[~np.isin(values, others)]).astype(np.int64)
