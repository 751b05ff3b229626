"""The doctor over Arrow batches: rows become cases, cases findings, findings rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from engine.admin.facts import ConsumerFacts
from engine.admin.files import AnswerFile, moment_ms
from engine.admin.inference import levels_of
from engine.admin.moments import read_moments
from engine.bundles.boundaries import FULL_LOWER_BOUND, FULL_UPPER_BOUND, NamespaceBundles
from engine.bundles.loads import TopicLoad
from engine.diagnosis.findings import findings_of
from engine.diagnosis.why import why
from engine.errors import InputError
from engine.failover.model import Consumer
from engine.hashing import crc32_hash
from engine.keyshared.model import Consumer as KeyConsumer
from engine.lint.doctor import lint_key_subscription, lint_namespace, lint_subscription
from engine.lint.model import Finding, KeyCase, NamespaceCase, ProducedTopic, SubscriptionCase, World
from engine.names import PARTITION_SUFFIX, partition_index
from engine.scenarios.key_subscriptions import KeyGroup, key_subscriptions_of
from pipeline.batches import whole_groups
from pipeline.schemas import FINDINGS

ANSWERS_TOGETHER: Final = 256
"""Few, since one of them can be the statistics of a whole namespace."""
_MIRRORED: Final = re.compile(r"(?:^|/)(?:admin|lookup)/v2/")
_SHARED_POINTS: Final = ("name_i", "name_nul_i")
_Lint = Callable[[World, dict[str, Any]], Iterable[Finding]]


def finding_row(found: Finding) -> tuple[Any, ...]:
    """A finding as a row of ``findings``."""
    where = found.where
    numbers = [{"name": name, "value": float(value)} for name, value in found.numbers]
    return (
        found.rule, found.severity.label, int(found.severity), where.namespace, where.subscription, where.bundle,
        where.topic, where.consumer, where.topics, found.what, found.advice, numbers,
    )  # fmt: skip


def findings_table(found: Iterable[Finding]) -> Any:
    """Findings as a ``pyarrow.Table``."""
    return FINDINGS.columns_of([finding_row(each) for each in found])


def row_linter(world: World, lint: _Lint) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function of tasks in which each row is a case."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            found = [each for row in batch.to_pylist() for each in lint(world, row)]
            yield from findings_table(found).to_batches()

    return run


def failover_findings(world: World, row: dict[str, Any]) -> Iterable[Finding]:
    """A row of ``transforms.lint_rows.failover_cases``; levels explain the order and what is told."""
    names = row["names"]
    told = [(each["topic"], each["partition_index"], each["active"]) for each in row["told"] or ()]
    flag = world.settings.activeConsumerFailoverConsistentHashing
    levels = levels_of(names, told, consistent_hashing=flag, behaviour=world.behaviour)
    if not row["partitioned"] and world.behaviour.nonpartitioned_failover != "ring":
        # Before 3.0 this list is not sorted, so its order tells nothing about levels.
        levels = (0,) * len(names)
    consumers = tuple(
        Consumer(place, name, level) for place, (name, level) in enumerate(zip(names, levels, strict=True))
    )
    counts = (row["partitioned"], row["unpartitioned"])
    return lint_subscription(
        SubscriptionCase(world, row["namespace"], row["subscription"], row["topic"], consumers, *counts)
    )


def key_findings(world: World, row: dict[str, Any]) -> Iterable[Finding]:
    """A row of ``transforms.lint_rows.key_cases``.

    The selector is the one that gives the ranges the brokers report; where two consumers report one slot none does,
    and the ranges stand for themselves.
    """
    members = tuple(
        ConsumerFacts(name=name, connected_since=since, range_arrays=tuple(zip(starts, ends, strict=True)))
        for name, since, starts, ends in zip(row["names"], row["since"], row["starts"], row["ends"], strict=True)
    )
    if all(member.connected_since for member in members):
        members = tuple(sorted(members, key=lambda member: member.connected_since.rstrip("Z")))
    place = (row["namespace"], row["subscription"], row["topic"], row["topics"])
    found: list[Finding] = []
    group = KeyGroup(row["subscription"], row["namespace"], members, [row["topic"]])
    opened, _ = key_subscriptions_of([group], world.settings, world.behaviour, set(), 1)
    for each in opened:
        found += lint_key_subscription(KeyCase(world, *place, each.consumers, each.delivery.selector, each.keys))
    if world.behaviour.key_shared_ring not in _SHARED_POINTS and _overlap(members):
        reported = tuple(KeyConsumer(at, member.name, member.key_hash_ranges) for at, member in enumerate(members))
        found += lint_key_subscription(KeyCase(world, *place, reported))
    return found


def _overlap(members: Sequence[ConsumerFacts]) -> bool:
    pieces = sorted(piece for member in members for piece in member.key_hash_ranges)
    return any(left[1] >= right[0] for left, right in pairwise(pieces))


@dataclass(frozen=True)
class CausePlan:
    """What tasks that look for causes need: answers that hold for all namespaces, and the release of the brokers."""

    everywhere: Sequence[tuple[str, bytes]]
    release: str


def cause_linter(plan: CausePlan) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function of tasks over kept answers sorted by namespace: the causes that ``why`` names, as findings."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        for table in whole_groups(batches, ("namespace",), rows_together=ANSWERS_TOGETHER):
            answers: dict[str, list[AnswerFile]] = {}
            for row in table.to_pylist():
                answers.setdefault(row["namespace"], []).append(AnswerFile(row["file"], row["body"]))
            found = [
                cause_finding for name, files in answers.items() for cause_finding in cause_findings(plan, name, files)
            ]
            yield from findings_table(found).to_batches()

    return run


def cause_findings(plan: CausePlan, namespace: str, answers: Sequence[AnswerFile]) -> Iterable[Finding]:
    """The causes of one namespace. Answers that hold for all belong to the dump they are in, and to those below it."""
    roots = {root_of(answer.name) for answer in answers}
    shared = [
        AnswerFile(name, body)
        for name, body in plan.everywhere
        if any(root.startswith(root_of(name)) for root in roots)
    ]
    version = AnswerFile("admin/v2/brokers/version.json", plan.release.encode())
    try:
        moments = read_moments(*answers, *shared, version)
    except InputError:
        # The import has said already what is wrong with them.
        return ()
    return findings_of(why(moments), namespace=namespace)


def root_of(name: str) -> str:
    """The folder of the dump that a file belongs to, with a slash at its end: what precedes its time and its request.

    >>> root_of("eu/2026-11-22T09-48-07Z/admin/v2/brokers/version.json"), root_of("eu/b/topics.json"), root_of("x.json")
    ('eu/', 'eu/b/', '')
    """
    path = _MIRRORED.split(name)[0] if _MIRRORED.search(name) else name.rpartition("/")[0]
    parts = [part for part in path.split("/") if part]
    if parts and moment_ms(parts[-1]) is not None:
        parts.pop()
    return "".join(f"{part}/" for part in parts)


def namespace_linter(world: World) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function of tasks over topics sorted by namespace."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        for table in whole_groups(batches, ("namespace",)):
            rows: dict[str, list[dict[str, Any]]] = {}
            for row in table.to_pylist():
                rows.setdefault(row["namespace"], []).append(row)
            found = [
                each for name, topics in rows.items() for each in lint_namespace(namespace_case(world, name, topics))
            ]
            yield from findings_table(found).to_batches()

    return run


def namespace_case(world: World, name: str, known: Sequence[dict[str, Any]]) -> NamespaceCase:
    """One namespace; ``known``: its rows of ``transforms.lint_rows.namespace_topics``."""
    boundaries = next((row["boundaries"] for row in known if row["topic"] is None), None)
    rows = [row for row in known if row["topic"] is not None]
    told = frozenset[str]() if boundaries is None else None
    bundles = NamespaceBundles(name, tuple(boundaries or (FULL_LOWER_BOUND, FULL_UPPER_BOUND)))
    loads = tuple(
        TopicLoad(
            row["topic"], crc32_hash(row["topic"]), row["msg_rate_in"], row["msg_rate_out"], row["msg_throughput_in"],
            row["msg_throughput_out"], row["has_stats"],
        )
        for row in rows
    )  # fmt: skip
    sessions = {row["topic"]: row["publishers"] + row["consumers"] for row in rows if row["has_stats"]}
    return NamespaceCase(world, bundles, loads, told, sessions, _produced(rows))


def _produced(rows: Sequence[dict[str, Any]]) -> tuple[ProducedTopic, ...]:
    versions: dict[str, set[str]] = {}
    partitions: dict[str, int] = {}
    for row in rows:
        index = partition_index(row["topic"])
        parent = row["topic"].rpartition(PARTITION_SUFFIX)[0] if index >= 0 else row["topic"]
        partitions[parent] = max(partitions.get(parent, 0), index + 1)
        if row["client_versions"]:
            versions.setdefault(parent, set()).update(row["client_versions"])
    return tuple(ProducedTopic(name, partitions[name], frozenset(each)) for name, each in versions.items())
