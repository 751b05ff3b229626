"""What answers prove that show no subscription: which brokers own which topics, how many topics and bundles there are.

Who consumes, what waits and what goes out is in statistics only, so those are what to record next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from engine.admin.facts import Snapshot
from engine.admin.moments import Moment
from engine.diagnosis.model import Cause, Diagnosis, Numbers, Verdict
from engine.diagnosis.policies import said_by_policies
from engine.diagnosis.seen import NOBODY, parent_of
from engine.names import namespace_of
from engine.text import counted, joined, shell_line

NO_STATISTICS: Final = "no_statistics"
_FEW: Final = 3
_MOST_SAID: Final = 8


def without_any_statistics(moments: Sequence[Moment]) -> list[Diagnosis]:
    """Diagnose answers without a subscription in them: what they show, and what to record; [] where nothing is known.

    O(names).
    """
    snapshot = moments[-1].snapshot
    owners = {name: url for name, url in snapshot.owners.items() if "://" in name}
    names = sorted(snapshot.known_names | owners.keys() | snapshot.topic_policies.keys())
    shown = [*_shown(snapshot, owners, names)]
    if not shown:
        return []
    topic = parent_of(names[0]) if names else ""
    namespace = namespace_of(topic) if topic else next(iter([*snapshot.bundles, *snapshot.namespace_policies]), "")
    numbers: Numbers = (
        *((("topics", len(names)),) if names else ()),
        *((("owners", len(set(owners.values()))),) if owners else ()),
        *((("bundles", sum(len(known.ranges) for known in snapshot.bundles.values())),) if snapshot.bundles else ()),
        *((("brokers", len(snapshot.living[1])),) if snapshot.living is not None else ()),
    )
    cause = Cause(
        NO_STATISTICS,
        Verdict.CANNOT_TELL,
        "; ".join([*shown, "nothing here says who consumes, what waits or what goes out"]),
        topic,
        topics=max(len(names), 1),
        by=tuple(sorted(set(owners.values()))),
        numbers=numbers,
        fix=f"record statistics, twice some seconds apart: {_next(names, namespace)}",
        fields=_fields(snapshot, owners),
    )
    return [Diagnosis(namespace, "", NOBODY, topic, max(len(names), 1), len(moments), None, (cause,))]


def _shown(snapshot: Snapshot, owners: dict[str, str], names: Sequence[str]) -> Iterator[str]:
    if owners:
        most = Counter(owners.values()).most_common()
        at = joined([f"{count:,} at {url}" for url, count in most], _FEW)
        yield f"{counted(len(owners), 'topic')} (partitions count singly) {_have(len(owners))} an owner: {at}"
    unowned = len(names) - len(owners.keys() | snapshot.topic_policies.keys())
    if unowned:
        yield f"{counted(unowned, 'topic')} {_have(unowned)} a name{' alone' if not owners else ', and no owner here'}"
    for namespace, known in list(snapshot.bundles.items())[:_FEW]:
        yield f"{namespace} has {counted(len(known.ranges), 'bundle')}"
    if snapshot.living is not None:
        yield f"{counted(len(snapshot.living[1]), 'broker')} {'is' if len(snapshot.living[1]) == 1 else 'are'} alive"
    said = list(said_by_policies(snapshot))
    yield from said[:_MOST_SAID]
    if len(said) > _MOST_SAID:
        yield f"{counted(len(said) - _MOST_SAID, 'more policy')}"
    elif not said and (snapshot.namespace_policies or snapshot.topic_policies):
        yield "the policies have no limit"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


def _next(names: Sequence[str], namespace: str) -> str:
    """The command for the first topic; with names of none, the one that lists them."""
    if not names:
        return (
            shell_line("pulsar-admin", "topics", "list", namespace) if namespace else "pulsar-admin broker-stats topics"
        )
    topic = parent_of(names[0])
    if topic != names[0]:
        return shell_line("pulsar-admin", "topics", "partitioned-stats", "--per-partition", topic)
    return shell_line("pulsar-admin", "topics", "stats", topic)


def _fields(snapshot: Snapshot, owners: dict[str, str]) -> tuple[str, ...]:
    has_policies = bool(snapshot.namespace_policies or snapshot.topic_policies)
    members = (
        ("brokerUrl", bool(owners)), ("topics", bool(snapshot.known_names)), ("boundaries", bool(snapshot.bundles)),
        ("brokers", snapshot.living is not None), ("policies", has_policies),
    )  # fmt: skip
    return tuple(name for name, is_known in members if is_known)
