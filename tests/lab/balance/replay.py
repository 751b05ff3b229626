"""Recorded reports played through the deciders: what the brokers should have decided, report by report.

For comparing a model with a recording. What is given are the things a recording shows (reports in the order of
writing, bundle lists, times of storing); what comes back is every decision, and the memory behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from engine.balance.averages import BundleData
from engine.balance.splitting.modular import BrokerReport, ModularDecision
from engine.bundles.boundaries import BundleRange, NamespaceBundles, parse_range
from engine.config import BrokerSettings
from tests.lab.balance.leader import (
    LeaderMemory,
    attempted,
    broker_appeared,
    broker_left,
    report_written,
    sampled,
    with_reports,
)

MOMENT_MS = 1500
"""How long after a report its splits may be written: the leader splits one bundle after the other, then reads on."""


@dataclass(frozen=True, slots=True)
class ReportWritten:
    """A broker wrote its load report; bundles in the order of the report.

    ``already``: reports of other brokers that were there too when the leader read this one, because they were written
    within milliseconds of it; each still has its own event. ``is_new``: the broker has just started, so the leader
    takes two samples.
    """

    at_ms: int
    report: BrokerReport
    already: tuple[BrokerReport, ...] = ()
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class BrokerLeft:
    """A broker's report went with its session: the leader takes two samples of the others."""

    at_ms: int
    broker: str


@dataclass(frozen=True, slots=True)
class AveragesStored:
    """The leader stored its averages (every ``loadBalancerResourceQuotaUpdateIntervalMinutes``)."""

    at_ms: int


@dataclass(frozen=True, slots=True)
class BundlesChanged:
    """The bundle list of a namespace, new or after a split."""

    at_ms: int
    bundles: NamespaceBundles


ModularEvent = ReportWritten | AveragesStored | BundlesChanged | BrokerLeft


@dataclass(frozen=True, slots=True)
class ReplayedReport:
    """What follows from one :class:`ReportWritten` or :class:`AveragesStored` (``decision`` None).

    ``event`` counts the events given, from 0. ``attempted``: chosen bundles that the namespace still has, in the order
    of the choice, with their broker. ``dropped``: chosen from a report older than their split. ``averages``: by bundle,
    after this event's sample and before the attempts delete any.
    """

    event: int
    broker: str
    decision: ModularDecision | None
    attempted: tuple[tuple[str, str], ...]
    dropped: tuple[str, ...]
    averages: Mapping[str, BundleData] = field(repr=False)


def replay_modular(events: Sequence[ModularEvent], settings: BrokerSettings) -> tuple[ReplayedReport, ...]:
    """The leader's decision at each report of a recording, in ascending time. O(events × (reported bundles + events)).

    The leader reads one report after the other and splits before it reads on, so a split recorded up to ``MOMENT_MS``
    after the report that chose it is taken as done by the next one. Of two reports of the same moment a recording does
    not tell which was read first, nor whether the newer one was there already when the older was read.

    >>> from engine.balance.limits import BundleStats
    >>> hot = BundleStats("t/n/0x00000000_0xffffffff", topics=2, msg_rate_in=30001)
    >>> whole, halves = (NamespaceBundles("t/n", (0, *cut, 0xFFFFFFFF)) for cut in ((), (0x7FFFFFFF,)))
    >>> reports = [ReportWritten(at, BrokerReport(broker, (hot,))) for at, broker in ((10, "b:1"), (20, "b:2"))]
    >>> steps = replay_modular([BundlesChanged(0, whole), *reports, BundlesChanged(70, halves)], BrokerSettings())
    >>> [(len(step.attempted), len(step.dropped)) for step in steps]
    [(1, 0), (0, 1)]
    """
    memory = LeaderMemory()
    lists: dict[str, NamespaceBundles] = {}
    results: list[ReplayedReport] = []
    for place, event in enumerate(events):
        if isinstance(event, BundlesChanged):
            lists[event.bundles.namespace] = event.bundles
        elif isinstance(event, AveragesStored):
            memory = sampled(memory)
            results.append(ReplayedReport(place, "", None, (), (), memory.averages))
        elif isinstance(event, BrokerLeft):
            memory = broker_left(memory, event.broker)
        else:
            counts = {namespace: len(bundles) for namespace, bundles in lists.items()}
            memory = with_reports(memory, event.already)
            if event.is_new:
                memory = broker_appeared(memory, event.report)
            memory, decision = report_written(memory, event.report, counts, settings)
            averages, tried, dropped = memory.averages, [], []
            for bundle, broker in decision.chosen.items():
                if _is_bundle(bundle, lists):
                    tried.append((bundle, broker))
                    memory = attempted(memory, bundle)
                    _split_ahead(bundle, lists, events[place + 1 :], event.at_ms + MOMENT_MS)
                else:
                    dropped.append(bundle)
            results.append(ReplayedReport(place, event.report.broker, decision, tuple(tried), tuple(dropped), averages))
    return tuple(results)


def _is_bundle(bundle: str, lists: Mapping[str, NamespaceBundles]) -> bool:
    namespace, _, text = bundle.rpartition("/")
    parsed = parse_range(text)
    return namespace in lists and isinstance(parsed, BundleRange) and lists[namespace].validate_bundle(parsed) is None


def _split_ahead(
    bundle: str, lists: dict[str, NamespaceBundles], following: Iterable[ModularEvent], until_ms: int
) -> None:
    """Take a bundle's own cuts from the first list without it that was written soon enough; others' stay for later."""
    namespace, _, text = bundle.rpartition("/")
    parent = parse_range(text)
    assert isinstance(parent, BundleRange), parent
    for event in following:
        if event.at_ms > until_ms:
            return
        if isinstance(event, BundlesChanged) and event.bundles.namespace == namespace:
            inside = [cut for cut in event.bundles.boundaries if parent.lower < cut < parent.upper]
            if inside:
                current = lists[namespace]
                lists[namespace] = NamespaceBundles(namespace, tuple(sorted((*current.boundaries, *inside))))
                return
