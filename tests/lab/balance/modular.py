"""The modular load manager on a recorded cluster: what the leader chose, by which numbers, and what it stored."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from engine.bundles import (
    AveragesStored,
    BrokerReport,
    BundleData,
    BundlesChanged,
    ReplayedReport,
    ReportWritten,
    TimeAverageMessageData,
    replay_modular,
    visiting_order,
)
from engine.bundles.flow import BYTES_PER_MBYTE
from engine.hashing import java_string_hash
from tests.lab.balance.broker_log import LoggedNumbers
from tests.lab.balance.lists import ListBook
from tests.lab.balance.reading_order import Agreement, Events, best_order
from tests.lab.balance.records import BalancingTold
from tests.lab.balance.series import Series, WrittenAverages, WrittenReport
from tests.lab.judge import Judge
from tests.lab.report import FactKind, Ledger

_MOST_BUCKETS = 2**16
_STORING_MS = 5000  # the leader writes one bundle after the other
_RELATIVE = 1e-9
_EVER = (-(2**62), 2**62)
_OTHER_ORDER = "changes to the order of two events within a second: the leader reads them when it can"
Averages = Sequence[Sequence[WrittenAverages]]
Choices = Mapping[str, Sequence[str]]


class ModularBalancing:
    """Replays the reports of a series and compares what came of them."""

    def __init__(self, told: BalancingTold, book: ListBook, judge: Judge, ledger: Ledger) -> None:
        self._told = told
        self._judge = judge
        self._ledger = ledger
        self._stored = _storings(told.series.averages)
        self._events = _events(told.series, book, self._stored)
        self._logged = _logged(told)

    def compare(self) -> None:
        """Reports, decisions and averages; the order of events within a second is found by what came of them."""
        self._ledger.file = self._told.files[0]
        for report in self._told.series.reports:
            self._ledger.step = f"{report.at_ms / 1000:.3f} s"
            compare_report(report, self._ledger)
        first = replay_modular(self._events, self._judge.settings)
        perfect = sum(map(len, self._stored)) + sum(map(len, self._logged.values()))
        events, changes = best_order(self._events, self._agreement, perfect)
        self._ledger.skip(_OTHER_ORDER, changes)
        steps = first if not changes else replay_modular(events, self._judge.settings)
        self._compare_averages(first, steps)
        self._ledger.step = ""
        if self._told.has_logs:
            self._compare_choices(steps, events)
        else:
            self._ledger.skip("decisions of the leader, whose log is not there", sum(len(s.attempted) for s in steps))

    def _agreement(self, events: Events) -> Agreement:
        """How many stored averages and logged choices an order explains, and when the first average went wrong."""
        steps = replay_modular(events, self._judge.settings)
        agree, since_ms, until_ms = 0, _EVER[0], _EVER[1]
        for entries, step in zip(self._stored, _storing_steps(steps), strict=True):
            same = sum(_is_same(step.averages.get(each.bundle), each.data) for each in entries)
            agree += same
            if until_ms == _EVER[1]:
                since_ms, until_ms = (
                    (entries[-1].at_ms, until_ms) if same == len(entries) else (since_ms, entries[-1].at_ms)
                )
        modelled = _modelled(steps)
        for bundle in self._logged.keys() | modelled.keys():
            one, other = self._logged.get(bundle, ()), modelled.get(bundle, ())
            agree += sum(a == b for a, b in zip(one, other, strict=False)) - abs(len(one) - len(other))
        return Agreement(agree, since_ms, until_ms) if until_ms < _EVER[1] else Agreement(agree, *_EVER)

    def _compare_averages(self, first: Iterable[ReplayedReport], steps: Iterable[ReplayedReport]) -> None:
        """Those that the recorded order explains are counted apart from those that need another one."""
        both = zip(_storing_steps(first), _storing_steps(steps), strict=True)
        for entries, (plain, found) in zip(self._stored, both, strict=True):
            self._ledger.step = f"{entries[0].at_ms / 1000:.3f} s"
            for each in entries:
                at_once = _is_same(plain.averages.get(each.bundle), each.data)
                data = (plain if at_once else found).averages.get(each.bundle)
                explained = not at_once and _is_same(data, each.data)
                kind = FactKind.STORED_AVERAGE_OTHER_ORDER if explained else FactKind.STORED_AVERAGE
                recorded = _text(each.data)
                modelled = recorded if at_once or explained else _text(data)
                rule = "one sample of every bundle at each report of any broker"
                self._ledger.compare(kind, each.bundle, recorded, modelled, rule)

    def _compare_choices(self, steps: Sequence[ReplayedReport], events: Events) -> None:
        modelled = _modelled(steps)
        self._ledger.file = "the leader's log"
        rule = "BundleSplitterTask, at each report of any broker"
        for bundle in sorted(self._logged.keys() | modelled.keys()):
            one, other = self._logged.get(bundle, ()), modelled.get(bundle, ())
            for number in range(max(len(one), len(other))):
                sides = (_nth(one, number), _nth(other, number))
                self._ledger.compare(FactKind.SPLIT_CHOICE, f"{bundle}, choice {number + 1}", *sides, rule)
        logged, numbers = _logged_numbers(self._told), _chosen_numbers(steps, events)
        for bundle in sorted(logged.keys() & numbers.keys()):
            for number, (found, wanted) in enumerate(zip(logged[bundle], numbers[bundle], strict=False), 1):
                recorded = _numbers_text(found)
                same = recorded if _are_same(found, wanted) else _numbers_text(wanted)
                by = "topics and sessions as reported, rates as long-term averages"
                subject = f"{bundle}, choice {number}"
                self._ledger.compare(FactKind.SPLIT_CHOICE_NUMBERS, subject, recorded, same, by)


def compare_report(report: WrittenReport, ledger: Ledger) -> None:
    """A load report's own sums, and its bundles in the order of a Java map."""
    told = {name: report.totals[name] for name in report.totals}
    sums = {
        "numTopics": sum(each.topics for each in report.bundles),
        "numBundles": len(report.bundles),
        "numConsumers": sum(each.consumers for each in report.bundles),
        "numProducers": sum(each.producers for each in report.bundles),
        "msgRateIn": sum(each.msg_rate_in for each in report.bundles),
        "msgRateOut": sum(each.msg_rate_out for each in report.bundles),
    }
    other = [name for name in told if not math.isclose(told[name], sums[name], rel_tol=_RELATIVE, abs_tol=_RELATIVE)]
    recorded, modelled = (tuple(f"{name} {side[name]:.9g}" for name in other) for side in (told, sums))
    ledger.compare(FactKind.REPORT_TOTALS, report.broker, recorded, modelled, "the sums over its bundles")
    names = tuple(each.bundle for each in report.bundles)
    rule = "a Java map's, by the hash of the name"
    ledger.compare(FactKind.REPORT_ORDER, report.broker, names, _in_map_order(names), rule)


def _in_map_order(names: tuple[str, ...]) -> tuple[str, ...]:
    """The order of a Java map with these names: the given one if some number of buckets makes it.

    A map that once held more has more buckets than it needs now.
    """
    codes = [java_string_hash(name) for name in names]
    buckets = 16
    while buckets <= _MOST_BUCKETS:
        places = [(code ^ (code >> 16)) % buckets for code in codes]
        if len(names) <= buckets and places == sorted(places):
            return names
        buckets *= 2
    return visiting_order(names)


def _events(series: Series, book: ListBook, stored: Averages) -> Events:
    """Reports, lists and storings in the order in which the metadata store took them."""
    placed: list[tuple[int, ReportWritten | AveragesStored | BundlesChanged]] = [
        (each.order, ReportWritten(each.at_ms, BrokerReport(each.broker, each.bundles))) for each in series.reports
    ]
    placed += [(written.order, BundlesChanged(written.at_ms, found)) for written, found in book.lists]
    placed += [(entries[0].order, AveragesStored(entries[0].at_ms)) for entries in stored]
    return tuple(event for _, event in sorted(placed, key=lambda each: each[0]))


def _storings(averages: Sequence[WrittenAverages]) -> list[list[WrittenAverages]]:
    """The stored averages, one group for each time the leader stored them all."""
    groups: list[list[WrittenAverages]] = []
    for each in averages:
        if groups and each.at_ms - groups[-1][-1].at_ms < _STORING_MS:
            groups[-1].append(each)
        else:
            groups.append([each])
    return groups


def _storing_steps(steps: Iterable[ReplayedReport]) -> list[ReplayedReport]:
    return [step for step in steps if step.decision is None]


def _logged(told: BalancingTold) -> Choices:
    """Bundle -> what became of each choice of it: "attempted" or "gone"."""
    found: dict[str, list[str]] = {}
    for line in told.leader:
        if line.word != "chosen":
            found.setdefault(line.bundle, []).append(line.word)
    return found


def _modelled(steps: Iterable[ReplayedReport]) -> Choices:
    found: dict[str, list[str]] = {}
    for step in steps:
        for bundle, _ in step.attempted:
            found.setdefault(bundle, []).append("attempted")
        for bundle in step.dropped:
            found.setdefault(bundle, []).append("gone")
    return found


def _logged_numbers(told: BalancingTold) -> dict[str, list[LoggedNumbers]]:
    found: dict[str, list[LoggedNumbers]] = {}
    for line in told.leader:
        if line.numbers is not None:
            found.setdefault(line.bundle, []).append(line.numbers)
    return found


def _chosen_numbers(steps: Iterable[ReplayedReport], events: Events) -> dict[str, list[LoggedNumbers]]:
    """Bundle -> the numbers of each choice of it, from the reports the leader had read by then."""
    known: dict[str, BrokerReport] = {}
    found: dict[str, list[LoggedNumbers]] = {}
    for step in steps:
        event = events[step.event]
        if not isinstance(event, ReportWritten) or step.decision is None:
            continue
        known |= {report.broker: report for report in (*event.already, event.report)}
        for bundle, broker in step.decision.chosen.items():
            stats = next(each for each in known[broker].bundles if each.bundle == bundle)
            average = step.averages[bundle].long_term
            mbytes = average.bytes_per_sec / BYTES_PER_MBYTE
            numbers = LoggedNumbers(stats.topics, stats.producers, stats.consumers, average.msgs_per_sec, mbytes)
            found.setdefault(bundle, []).append(numbers)
    return found


def _are_same(one: LoggedNumbers, other: LoggedNumbers) -> bool:
    counts = (one.topics, one.producers, one.consumers) == (other.topics, other.producers, other.consumers)
    rates = ((one.msgs_per_sec, other.msgs_per_sec), (one.mbytes_per_sec, other.mbytes_per_sec))
    return counts and all(math.isclose(a, b, rel_tol=_RELATIVE, abs_tol=_RELATIVE) for a, b in rates)


def _numbers_text(numbers: LoggedNumbers) -> str:
    sessions = f"{numbers.producers}+{numbers.consumers} sessions"
    return f"{numbers.topics} topics, {sessions}, {numbers.msgs_per_sec:.9g} msg/s, {numbers.mbytes_per_sec:.9g} MB/s"


def _is_same(modelled: BundleData | None, recorded: BundleData) -> bool:
    if modelled is None or modelled.topics != recorded.topics:
        return False
    return all(
        _is_average(one, other)
        for one, other in ((modelled.short_term, recorded.short_term), (modelled.long_term, recorded.long_term))
    )


def _is_average(one: TimeAverageMessageData, other: TimeAverageMessageData) -> bool:
    if (one.max_samples, one.num_samples) != (other.max_samples, other.num_samples):
        return False
    return all(
        math.isclose(a, b, rel_tol=_RELATIVE, abs_tol=1e-12) for a, b in zip(_rates(one), _rates(other), strict=True)
    )


def _rates(average: TimeAverageMessageData) -> tuple[float, float, float, float]:
    return (
        average.msg_rate_in,
        average.msg_rate_out,
        average.throughput_in_bytes_per_sec,
        average.throughput_out_bytes_per_sec,
    )


def _text(data: BundleData | None) -> str:
    if data is None:
        return "no average"
    terms = ((name, each) for name, each in (("short", data.short_term), ("long", data.long_term)))
    texts = (f"{name} {each.num_samples} of {each.max_samples} samples {_rates(each)}" for name, each in terms)
    return f"{data.topics} topics, {'; '.join(texts)}"


def _nth(words: Sequence[str], number: int) -> str:
    return words[number] if number < len(words) else "not chosen"
