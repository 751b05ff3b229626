"""Bound the partitions of topics: one name with a huge index would create all partitions below it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from engine.admin.facts import Snapshot, TopicFacts
from engine.admin.text import child
from engine.cluster.limits import MAX_PARTITIONS, MAX_WITHOUT_STATISTICS
from engine.errors import Problem
from engine.names import PARTITION_SUFFIX, partition_index, partitioned_name

_LOOK: Final = "check what this file really is"


def bounded(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot without partitions beyond what the model takes; each is a problem with its place. O(n)."""
    indices = {name: index for name in _partitions(snapshot) if (index := partition_index(name)) >= 0}
    beyond = {name: index for name, index in indices.items() if index >= MAX_PARTITIONS}
    sparse = _sparse({name: index for name, index in indices.items() if name not in beyond}, snapshot)
    if not beyond and not sparse:
        return snapshot
    reasons = {
        name: f"partition {index:,}: up to {MAX_PARTITIONS:,} partitions of one topic are read"
        for name, index in beyond.items()
    }
    for name, index in indices.items():
        bare = sparse.get(partitioned_name(name))
        if bare is not None and name not in beyond:
            reasons[name] = (
                f"partition {index:,} of a topic that has {bare:,} partitions without statistics: up to"
                f" {MAX_WITHOUT_STATISTICS:,} of all topics are read"
            )
    problems = tuple(_problem(snapshot, name, reason) for name, reason in reasons.items())
    topics = {name: facts for name, facts in snapshot.topics.items() if name not in reasons}
    aside = len(snapshot.topics) - len(topics)
    return replace(
        snapshot,
        topics=topics,
        bundle_of_topic={name: place for name, place in snapshot.bundle_of_topic.items() if name not in reasons},
        known_names=snapshot.known_names - reasons.keys(),
        problems=(*snapshot.problems, *problems),
        counts=replace(snapshot.counts, topics=len(topics), topics_set_aside=snapshot.counts.topics_set_aside + aside),
    )


def _partitions(snapshot: Snapshot) -> Iterable[str]:
    yield from (name for name in snapshot.topics if PARTITION_SUFFIX in name)
    yield from sorted(name for name in snapshot.known_names if PARTITION_SUFFIX in name and name not in snapshot.topics)


def _sparse(indices: dict[str, int], snapshot: Snapshot) -> dict[str, int]:
    """Return the topics to leave out, largest first, until partitions without statistics are within the bound."""
    counts: Counter[str] = Counter()
    highest: dict[str, int] = {}
    for name, index in indices.items():
        parent = partitioned_name(name)
        counts[parent] += name in snapshot.topics
        highest[parent] = max(highest.get(parent, 0), index)
    bare = {parent: last + 1 - counts[parent] for parent, last in highest.items()}
    left = sum(bare.values())
    sparse: dict[str, int] = {}
    for parent, count in sorted(bare.items(), key=lambda item: -item[1]):
        if left <= MAX_WITHOUT_STATISTICS:
            break
        sparse[parent] = count
        left -= count
    return sparse


def _problem(snapshot: Snapshot, name: str, reason: str) -> Problem:
    facts = snapshot.topics.get(name)
    if facts is None:
        return Problem(snapshot.source, child("$", name), f"is listed: {reason}", _LOOK)
    return Problem(facts.source, _path(snapshot, facts), reason, _LOOK)


def _path(snapshot: Snapshot, facts: TopicFacts) -> str:
    """Return the JSON path of statistics, as far as a snapshot still knows it."""
    if facts.kind == "partitioned-stats":
        return child("$.partitions", facts.name)
    piece = snapshot.bundle_of_topic.get(facts.name) if facts.kind == "broker-stats" else None
    if piece is None:
        return child("$", facts.name)
    return child(child(child(child("$", facts.namespace), piece), facts.domain), facts.name)
