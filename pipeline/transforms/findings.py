"""The rules of the doctor over Arrow batches: from rows to cases, from cases to rows of findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.admin.facts import ConsumerFacts
from engine.admin.files import AnswerFile
from engine.admin.inference import levels_of
from engine.admin.moments import read_moments
from engine.bulk_hashing import crc32_bulk
from engine.bundles.boundaries import FULL_LOWER_BOUND, FULL_UPPER_BOUND, NamespaceBundles
from engine.bundles.columns import LoadColumns, PickedNames
from engine.diagnosis.findings import findings_of
from engine.diagnosis.why import why
from engine.errors import InputError
from engine.failover.model import Consumer
from engine.keyshared.model import Consumer as KeyConsumer
from engine.lint.doctor import lint_key_subscription, lint_namespace, lint_subscription
from engine.lint.model import Finding, KeyCase, NamespaceCase, ProducedTopic, SubscriptionCase, World
from engine.names import PARTITION_SUFFIX, partition_index
from engine.scenarios.key_subscriptions import KeyGroup, key_subscriptions_of
from engine.scenarios.linting import partitioned_findings, scalable_findings
from engine.views.fleet.tables import FINDINGS
from pipeline.batches import Texts, byte_column, codes_of, runs
from pipeline.clusters import ByCluster
from pipeline.transforms.bundle_topics import boundaries_of, known_and_topics, loads_of
from pipeline.transforms.namespace_answers import NamespaceAnswers

_SHARED_POINTS: Final = ("name_i", "name_nul_i")
_Lint = Callable[[World, dict[str, Any]], Iterable[Finding]]


def finding_row(cluster: str, finding: Finding) -> tuple[Any, ...]:
    """A finding about a cluster as a row of ``findings``."""
    where = finding.where
    numbers = [{"name": name, "value": float(value)} for name, value in finding.numbers]
    return (
        cluster, where.namespace, where.subscription, finding.rule, finding.severity.label, int(finding.severity),
        where.bundle, where.topic, where.consumer, where.topics, finding.what, finding.advice, numbers,
    )  # fmt: skip


def findings_table(findings: Iterable[tuple[str, Finding]]) -> Any:
    """Findings, each with its cluster, as a ``pyarrow.Table``."""
    return FINDINGS.columns_of([finding_row(*finding) for finding in findings])


def row_linter(worlds: ByCluster[World], lint: _Lint) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function of tasks whose rows are cases, one per row, for ``mapInArrow``."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            findings = [
                (row["cluster"], finding)
                for row in batch.to_pylist()
                for finding in lint(worlds.of(row["cluster"]), row)
            ]
            yield from findings_table(findings).to_batches()

    return run


def failover_findings(world: World, row: dict[str, Any]) -> Iterable[Finding]:
    """Findings about a row of ``transforms.subscriptions.failover_cases``.

    Priority levels are inferred from the order of the consumers and from the observed active consumers.
    """
    names = row["names"]
    observed = [(active["topic"], active["partition_index"], active["active"]) for active in row["actives"] or ()]
    flag = world.settings.activeConsumerFailoverConsistentHashing
    levels = levels_of(names, observed, consistent_hashing=flag, behaviour=world.behaviour)
    if not row["partitioned"] and world.behaviour.nonpartitioned_failover != "ring":
        # Before 3.0 this list is not sorted, so its order implies no levels.
        levels = (0,) * len(names)
    consumers = tuple(
        Consumer(place, name, level) for place, (name, level) in enumerate(zip(names, levels, strict=True))
    )
    counts = (row["partitioned"], row["unpartitioned"])
    return lint_subscription(
        SubscriptionCase(world, row["namespace"], row["subscription"], row["topic"], consumers, *counts)
    )


def key_findings(world: World, row: dict[str, Any]) -> Iterable[Finding]:
    """Findings about a row of ``transforms.subscriptions.key_cases``.

    The selector is the one that gives the ranges that brokers reported. Where two consumers reported the same slot
    there is no such selector, and the reported ranges are checked as they are.
    """
    members = tuple(
        ConsumerFacts(
            name=name,
            connected_since=since.isoformat() if since else "",
            range_arrays=tuple(zip(starts, ends, strict=True)),
        )
        for name, since, starts, ends in zip(row["names"], row["since"], row["starts"], row["ends"], strict=True)
    )
    if all(member.connected_since for member in members):
        members = tuple(sorted(members, key=lambda member: member.connected_since.rstrip("Z")))
    place = (row["namespace"], row["subscription"], row["topic"], row["topics"])
    findings: list[Finding] = []
    group = KeyGroup(row["subscription"], row["namespace"], members, [row["topic"]])
    opened, _ = key_subscriptions_of([group], world.settings, world.behaviour, set(), 1)
    for opened_one in opened:
        findings += lint_key_subscription(
            KeyCase(world, *place, opened_one.consumers, opened_one.delivery.selector, opened_one.keys)
        )
    if world.behaviour.key_shared_ring not in _SHARED_POINTS and _overlap(members):
        reported = tuple(KeyConsumer(at, member.name, member.key_hash_ranges) for at, member in enumerate(members))
        findings += lint_key_subscription(KeyCase(world, *place, reported))
    return findings


def _overlap(members: Sequence[ConsumerFacts]) -> bool:
    pieces = sorted(piece for member in members for piece in member.key_hash_ranges)
    return any(left[1] >= right[0] for left, right in pairwise(pieces))


def cause_linter(worlds: ByCluster[World], answers: NamespaceAnswers) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function of tasks over rows of ``answers_by_namespace``: the causes that ``why`` names, as findings."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        for cluster, namespace, files in answers.groups(batches):
            found = cause_findings(worlds.of(cluster), namespace, files)
            yield from findings_table((cluster, finding) for finding in found).to_batches()

    return run


def cause_findings(world: World, namespace: str, answers: Sequence[AnswerFile]) -> Iterable[Finding]:
    """The causes in one namespace, and what the rules about partitions as wholes find there."""
    version = AnswerFile("admin/v2/brokers/version.json", world.behaviour.label.encode())
    try:
        moments = read_moments(*answers, version)
    except InputError:
        # The import has reported what is wrong with them.
        return ()
    causes = findings_of(why(moments), namespace=namespace)
    if not moments:
        return causes
    of_partitions = partitioned_findings(moments[-1].snapshot, world, namespace)
    return (*causes, *of_partitions, *scalable_findings(moments, world, namespace))


def namespace_linter(worlds: ByCluster[World]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function of tasks over rows of ``by_namespace``, for ``mapInArrow``."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        for cluster, known, topics in known_and_topics(batches):
            cases = namespace_cases(worlds.of(cluster), known, topics)
            findings = [(cluster, finding) for case in cases for finding in lint_namespace(case)]
            yield from findings_table(findings).to_batches()

    return run


def namespace_cases(world: World, known: Any, rows: Any) -> Iterator[NamespaceCase]:
    """The namespaces of tables of ``known_and_topics`` that have topics, in the order in which brokers list these:
    those of partitions without statistics last, persistent ones first, then by name."""
    boundaries = boundaries_of(known)
    names, numbers = codes_of(rows["namespace"])
    last = pc.and_(pc.invert(rows["has_stats"]), pc.match_substring_regex(rows["topic"], r"-partition-\d+$"))
    persistent = pc.starts_with(rows["topic"], "persistent://")
    order = np.lexsort((~np.asarray(persistent, dtype=bool), np.asarray(last, dtype=bool), numbers))
    rows, numbers = rows.take(pa.array(order)), numbers[order]
    topics = rows["topic"].combine_chunks()
    publishers, consumers, *rates = np.nan_to_num(loads_of(rows))
    loads = LoadColumns(
        PickedNames(Texts(topics), np.arange(len(topics))),
        crc32_bulk(byte_column(topics)),
        np.array(rates),
        rows["has_stats"].to_numpy(),
    )
    sessions = (publishers + consumers).astype(np.int64)
    for low, high in runs(numbers):
        name = names[numbers[low]]
        listed = boundaries.get(name)
        yield NamespaceCase(
            world,
            NamespaceBundles(name, listed or (FULL_LOWER_BOUND, FULL_UPPER_BOUND)),
            loads.between(low, high),
            frozenset() if listed is None else None,
            sessions[low:high],
        )


def producer_findings(world: World, row: dict[str, Any]) -> Iterable[Finding]:
    """Findings about who produces to the topics of a row of ``bundle_topics.mixed_producers``."""
    whole = NamespaceBundles(row["namespace"], (FULL_LOWER_BOUND, FULL_UPPER_BOUND))
    return lint_namespace(NamespaceCase(world, whole, (), frozenset(), (), _produced(row["members"])))


def _produced(members: Sequence[dict[str, Any]]) -> tuple[ProducedTopic, ...]:
    versions: dict[str, set[str]] = {}
    partitions: dict[str, int] = {}
    for member in members:
        index = partition_index(member["topic"])
        parent = member["topic"].rpartition(PARTITION_SUFFIX)[0] if index >= 0 else member["topic"]
        partitions[parent] = max(partitions.get(parent, 0), index + 1)
        if member["client_versions"]:
            versions.setdefault(parent, set()).update(member["client_versions"])
    return tuple(ProducedTopic(name, partitions[name], frozenset(known)) for name, known in versions.items())
