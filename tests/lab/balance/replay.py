"""Recorded reports played through the deciders: what the brokers should have decided, report by report.

For comparing a model with a recording. What is given are the things a recording shows (reports in the order of
writing, bundle lists, times of storing); what comes back is every decision, and the memory behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, permutations

from engine.balance.averages import BundleData
from engine.balance.splitting.extensible import CycleDecision, CycleLimits, CycleObservation, SplitMemory, cycle
from engine.balance.splitting.modular import BrokerReport, ModularDecision
from engine.bundles.boundaries import BundleRange, NamespaceBundles, parse_range
from engine.config import CURRENT, BrokerSettings, ReleaseBehaviour
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


@dataclass(frozen=True, slots=True)
class ReplayedCycle:
    """What one broker should have decided in one cycle; ``memory`` is what it keeps after it."""

    broker: str
    decision: CycleDecision
    memory: SplitMemory


def replay_extensible(
    observations: Iterable[tuple[str, CycleObservation]],
    settings: BrokerSettings,
    limits: CycleLimits | None = None,
    behaviour: ReleaseBehaviour = CURRENT,
) -> tuple[ReplayedCycle, ...]:
    """Every broker's decision in each of its cycles, given in the order they ran, each with the broker's id.

    Each broker has its own memory, empty at first.

    >>> from engine.balance.limits import BundleStats
    >>> seen = CycleObservation((BundleStats("t/n/0x00000000_0xffffffff", 2, msg_rate_in=30001),), {"t/n": 1})
    >>> [len(step.decision.chosen) for step in replay_extensible([("a", seen), ("b", seen)] * 4, BrokerSettings())]
    [0, 0, 0, 0, 0, 0, 1, 1]
    """
    memories: dict[str, SplitMemory] = {}
    results: list[ReplayedCycle] = []
    for broker, observation in observations:
        memory, decision = cycle(memories.get(broker, SplitMemory()), observation, settings, limits, behaviour)
        memories[broker] = memory
        results.append(ReplayedCycle(broker, decision, memory))
    return tuple(results)


SAME_MOMENT_MS = 700
MOST_EVENTS = 4
"""A moment of more events is left as written: the orders would be too many."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Events in the order that agrees best, the agreement, and how many moments are not as written."""

    events: tuple[ModularEvent, ...]
    agreement: int
    turned: int


def best_reading(events: Sequence[ModularEvent], agreement: Callable[[Sequence[ModularEvent]], int]) -> Reading:
    """Improve one moment after the other until none helps; as written wins a tie. ``agreement`` counts what agrees.

    O(rounds × moments × readings) calls of ``agreement``. It can end in a local best.

    >>> from engine.balance.splitting.modular import BrokerReport
    >>> written = [ReportWritten(0, BrokerReport("a", ())), ReportWritten(3, BrokerReport("b", ()))]
    >>> found = best_reading(written, lambda order: int(order[0].report.broker == "b"))
    >>> [(event.at_ms, event.report.broker) for event in found.events], found.agreement, found.turned
    ([(0, 'b'), (3, 'a')], 1, 1)
    """
    current = list(events)
    best = agreement(current)
    turned: set[int] = set()
    improved = True
    while improved:
        improved = False
        for number, places in enumerate(_moments(events)):
            for reading in _readings([events[place] for place in places]):
                trial = list(current)
                for place, event in zip(places, reading, strict=True):
                    # The places in time stay, so that bundle lists in between keep their order.
                    trial[place] = replace(event, at_ms=events[place].at_ms)
                count = agreement(trial)
                if count > best:
                    current, best, improved = trial, count, True
                    turned.add(number)
    return Reading(tuple(current), best, len(turned))


def _moments(events: Sequence[ModularEvent]) -> list[list[int]]:
    groups: list[list[int]] = []
    for place, event in enumerate(events):
        if isinstance(event, BundlesChanged | BrokerLeft):
            continue
        if groups and event.at_ms - events[groups[-1][0]].at_ms <= SAME_MOMENT_MS:
            groups[-1].append(place)
        else:
            groups.append([place])
    return [group for group in groups if 1 < len(group) <= MOST_EVENTS]


def _readings(moment: Sequence[ModularEvent]) -> Iterator[list[ModularEvent]]:
    for order in permutations(moment):
        yield list(order)
        reports = [place for place, event in enumerate(order) if isinstance(event, ReportWritten)]
        for place, later in pairwise(reports):
            first, second = order[place], order[later]
            assert isinstance(first, ReportWritten) and isinstance(second, ReportWritten)
            together = list(order)
            together[place] = replace(first, already=(second.report,))
            yield together
