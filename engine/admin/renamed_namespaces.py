"""Pair namespaces of two dumps that have another tenant or name, and read a dump as if its namespaces were others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from msgspec import structs

from engine.admin.facts import Snapshot
from engine.admin.moments import Moment
from engine.names import TopicName, parse_topic_name

_ALIKE: Final = 0.5
"""Two namespaces with at least this part of their topics in common, by name, may be one."""
_MOST_COMPARED: Final = 40_000
"""The most pairs of namespaces of different names that are compared."""
_Value = TypeVar("_Value")


def paired_namespaces(before: Snapshot, after: Snapshot) -> dict[str, str]:
    """The namespaces of ``before`` that ``after`` lacks, with those of ``after`` that ``before`` lacks and that have
    most of their topics by name; each once, of equals those of the same name under another tenant.
    """
    old, new = topics_by_namespace(before), topics_by_namespace(after)
    gone, came = sorted(old.keys() - new.keys()), sorted(new.keys() - old.keys())
    alike = sorted(
        (-len(old[name] & new[other]) / len(old[name] | new[other]), not is_other_tenant, name, other)
        for name in gone
        for other in came
        if (is_other_tenant := name.partition("/")[2] == other.partition("/")[2])
        or len(gone) * len(came) <= _MOST_COMPARED
    )
    pairs: dict[str, str] = {}
    for score, _, name, other in alike:
        if -score >= _ALIKE and name not in pairs and other not in pairs.values():
            pairs[name] = other
    return pairs


def topics_by_namespace(snapshot: Snapshot) -> Mapping[str, set[str]]:
    """The topics of each namespace by their local names, partitions as one."""
    found: dict[str, set[str]] = defaultdict(set)
    for text in snapshot.topics:
        name = parse_topic_name(text)
        if isinstance(name, TopicName):
            found[name.namespace].add(name.partitioned_topic.rpartition("/")[2])
    return found


def as_namespaces(moments: Sequence[Moment], names: Mapping[str, str]) -> tuple[Moment, ...]:
    """Moments whose namespaces have other names. O(topics)."""
    return tuple(structs.replace(moment, snapshot=_renamed(moment.snapshot, names)) for moment in moments)


def _renamed(snapshot: Snapshot, names: Mapping[str, str]) -> Snapshot:
    def new(text: str) -> str:
        domain, separator, name = text.rpartition("://")
        old = next((old for old in names if name == old or name.startswith(f"{old}/")), "")
        return f"{domain}{separator}{names[old]}{name[len(old) :]}" if old else text

    def keyed(values: Mapping[str, _Value]) -> dict[str, _Value]:
        return {new(name): value for name, value in values.items()}

    topics = {
        new(name): replace(facts, name=new(facts.name), namespace=new(facts.namespace))
        for name, facts in snapshot.topics.items()
    }
    return structs.replace(
        snapshot,
        topics=topics,
        bundles=keyed(snapshot.bundles),
        bundle_of_topic=keyed(snapshot.bundle_of_topic),
        known_names=frozenset(map(new, snapshot.known_names)),
        ledgers=keyed(snapshot.ledgers),
        topic_policies=keyed(snapshot.topic_policies),
        namespace_policies=keyed(snapshot.namespace_policies),
        loaded=None if snapshot.loaded is None else frozenset(map(new, snapshot.loaded)),
        owners=keyed(snapshot.owners),
    )
