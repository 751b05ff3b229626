"""The modular load manager on a recorded cluster: what the leader chose, by which numbers, and what it stored."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from engine.balance.averages import BundleData, TimeAverageMessageData
from engine.balance.splitting.modular import BrokerReport
from engine.bundles.algorithms import BYTES_PER_MBYTE
from engine.verify.report import Ledger, Rules
from engine.verify.statistics import RELATIVE, compare_report
from tests.lab.balance.broker_log import LoggedNumbers
from tests.lab.balance.lists import ListHistory
from tests.lab.balance.reading_order import EVER, Agreement, Events, best_order
from tests.lab.balance.records import BalanceRecords
from tests.lab.balance.replay import AveragesStored, BundlesChanged, ReplayedReport, ReportWritten, replay_modular
from tests.lab.balance.series import Series, WrittenAverages
from tests.lab.facts import StepFact

_STORING_MS: Final = 5000  # the leader writes one bundle after the other
_CHANGES: Final = "changes to the order of two events within a second: the leader reads them when it can"
# The search tries the same orders again for every copy of a recording with the same reports.
_replay = lru_cache(maxsize=4000)(replay_modular)
Averages = Sequence[Sequence[WrittenAverages]]
Choices = Mapping[str, Sequence[str]]


class ModularComparison:
    """Replays the reports of a series and compares what came of them."""

    def __init__(self, records: BalanceRecords, history: ListHistory, rules: Rules, ledger: Ledger) -> None:
        self._records = records
        self._rules = rules
        self._ledger = ledger
        self._stored = storings(records.series.averages)
        self._events = _events(records.series, history, self._stored)
        self._logged = _logged_choices(records)

    def compare(self) -> None:
        """Compare reports, decisions and averages; what came of the events shows their order within a second."""
        self._ledger.file = self._records.files[0]
        for written in self._records.series.reports:
            self._ledger.moment = f"{written.at_ms / 1000:.3f} s"
            compare_report(self._ledger, written.broker, written.report)
        recorded = _replay(self._events, self._rules.settings)
        perfect = sum(map(len, self._stored)) + sum(map(len, self._logged.values()))
        events, changes = best_order(self._events, self._agreement, perfect)
        self._ledger.skip(_CHANGES, changes)
        best = _replay(events, self._rules.settings)
        self._compare_averages(recorded, best)
        self._ledger.moment = ""
        if self._records.has_logs:
            self._compare_choices(best, events)
        else:
            missing = sum(len(step.attempted) for step in best)
            self._ledger.skip("decisions of the leader, whose log is missing", missing)

    def _agreement(self, events: Events) -> Agreement:
        """How many stored averages and logged choices an order explains, and when the first average went wrong."""
        steps = _replay(events, self._rules.settings)
        agree, since_ms, until_ms = 0, *EVER
        for entries, step in zip(self._stored, _storing_steps(steps), strict=True):
            same = sum(is_same(step.averages.get(entry.bundle), entry.data) for entry in entries)
            agree += same
            if until_ms == EVER[1]:
                at_ms = entries[-1].at_ms
                since_ms, until_ms = (at_ms, until_ms) if same == len(entries) else (since_ms, at_ms)
        modelled = _modelled_choices(steps)
        for bundle in self._logged.keys() | modelled.keys():
            one, other = self._logged.get(bundle, ()), modelled.get(bundle, ())
            agree += sum(a == b for a, b in zip(one, other, strict=False)) - abs(len(one) - len(other))
        return Agreement(agree, since_ms, until_ms) if until_ms < EVER[1] else Agreement(agree, *EVER)

    def _compare_averages(self, recorded: Iterable[ReplayedReport], best: Iterable[ReplayedReport]) -> None:
        """Those that the recorded order explains are counted separately from those that need another one."""
        both = zip(_storing_steps(recorded), _storing_steps(best), strict=True)
        for entries, (plain, changed) in zip(self._stored, both, strict=True):
            self._ledger.moment = f"{entries[0].at_ms / 1000:.3f} s"
            for entry in entries:
                at_once = is_same(plain.averages.get(entry.bundle), entry.data)
                data = (plain if at_once else changed).averages.get(entry.bundle)
                explained = not at_once and is_same(data, entry.data)
                kind = StepFact.STORED_AVERAGE_OTHER_ORDER if explained else StepFact.STORED_AVERAGE
                text = average_text(entry.data)
                modelled = text if at_once or explained else average_text(data)
                rule = "one sample of every bundle at each report of any broker"
                self._ledger.compare(kind, entry.bundle, text, modelled, rule)

    def _compare_choices(self, steps: Sequence[ReplayedReport], events: Events) -> None:
        modelled = _modelled_choices(steps)
        self._ledger.file = "the leader's log"
        rule = "BundleSplitterTask, at each report of any broker"
        for bundle in sorted(self._logged.keys() | modelled.keys()):
            one, other = self._logged.get(bundle, ()), modelled.get(bundle, ())
            for number in range(max(len(one), len(other))):
                sides = _nth(one, number), _nth(other, number)
                self._ledger.compare(StepFact.SPLIT_CHOICE, f"{bundle}, choice {number + 1}", *sides, rule)
        logged, chosen = _logged_numbers(self._records), _chosen_numbers(steps, events)
        for bundle in sorted(logged.keys() & chosen.keys()):
            for number, (one, other) in enumerate(zip(logged[bundle], chosen[bundle], strict=False), 1):
                text = _numbers_text(one)
                same = text if _are_same(one, other) else _numbers_text(other)
                rule = "topics and sessions as reported, rates as long-term averages"
                subject = f"{bundle}, choice {number}"
                self._ledger.compare(StepFact.SPLIT_CHOICE_NUMBERS, subject, text, same, rule)


def _events(series: Series, history: ListHistory, stored: Averages) -> Events:
    """Reports, lists and storings in the order in which the metadata store took them."""
    placed: list[tuple[int, ReportWritten | AveragesStored | BundlesChanged]] = [
        (
            written.order,
            ReportWritten(written.at_ms, BrokerReport(written.broker, written.report.bundles), is_new=written.is_new),
        )
        for written in series.reports
    ]
    placed += [(written.order, BundlesChanged(written.at_ms, bundles)) for written, bundles in history.lists]
    placed += [(entries[0].order, AveragesStored(entries[0].at_ms)) for entries in stored]
    return tuple(event for _, event in sorted(placed, key=lambda pair: pair[0]))


def storings(averages: Sequence[WrittenAverages]) -> list[list[WrittenAverages]]:
    """The stored averages, one group for each time the leader stored them all."""
    groups: list[list[WrittenAverages]] = []
    for entry in averages:
        if groups and entry.at_ms - groups[-1][-1].at_ms < _STORING_MS:
            groups[-1].append(entry)
        else:
            groups.append([entry])
    return groups


def _storing_steps(steps: Iterable[ReplayedReport]) -> list[ReplayedReport]:
    return [step for step in steps if step.decision is None]


def _logged_choices(records: BalanceRecords) -> Choices:
    """Bundle -> what became of each choice of it: "attempted" or "gone"."""
    choices: dict[str, list[str]] = {}
    for line in records.leader:
        if line.word != "chosen":
            choices.setdefault(line.bundle, []).append(line.word)
    return choices


def _modelled_choices(steps: Iterable[ReplayedReport]) -> Choices:
    choices: dict[str, list[str]] = {}
    for step in steps:
        for bundle, _ in step.attempted:
            choices.setdefault(bundle, []).append("attempted")
        for bundle in step.dropped:
            choices.setdefault(bundle, []).append("gone")
    return choices


def _logged_numbers(records: BalanceRecords) -> dict[str, list[LoggedNumbers]]:
    numbers: dict[str, list[LoggedNumbers]] = {}
    for line in records.leader:
        if line.numbers is not None:
            numbers.setdefault(line.bundle, []).append(line.numbers)
    return numbers


def _chosen_numbers(steps: Iterable[ReplayedReport], events: Events) -> dict[str, list[LoggedNumbers]]:
    """Bundle -> the numbers of each choice of it, from the reports that the leader had read by then."""
    known: dict[str, BrokerReport] = {}
    numbers: dict[str, list[LoggedNumbers]] = {}
    for step in steps:
        event = events[step.event]
        if not isinstance(event, ReportWritten) or step.decision is None:
            continue
        known |= {report.broker: report for report in (*event.already, event.report)}
        for bundle, broker in step.decision.chosen.items():
            stats = next(one for one in known[broker].bundles if one.bundle == bundle)
            average = step.averages[bundle].long_term
            mbytes = average.bytes_per_sec / BYTES_PER_MBYTE
            numbers.setdefault(bundle, []).append(
                LoggedNumbers(stats.topics, stats.producers, stats.consumers, average.msgs_per_sec, mbytes)
            )
    return numbers


def _are_same(one: LoggedNumbers, other: LoggedNumbers) -> bool:
    counts = (one.topics, one.producers, one.consumers) == (other.topics, other.producers, other.consumers)
    rates = ((one.msgs_per_sec, other.msgs_per_sec), (one.mbytes_per_sec, other.mbytes_per_sec))
    return counts and all(math.isclose(a, b, rel_tol=RELATIVE, abs_tol=RELATIVE) for a, b in rates)


def _numbers_text(numbers: LoggedNumbers) -> str:
    sessions = f"{numbers.producers}+{numbers.consumers} sessions"
    return f"{numbers.topics} topics, {sessions}, {numbers.msgs_per_sec:.9g} msg/s, {numbers.mbytes_per_sec:.9g} MB/s"


def is_same(modelled: BundleData | None, recorded: BundleData) -> bool:
    if modelled is None or modelled.topics != recorded.topics:
        return False
    terms = ((modelled.short_term, recorded.short_term), (modelled.long_term, recorded.long_term))
    return all(_is_average(one, other) for one, other in terms)


def _is_average(one: TimeAverageMessageData, other: TimeAverageMessageData) -> bool:
    if (one.max_samples, one.num_samples) != (other.max_samples, other.num_samples):
        return False
    return all(
        math.isclose(a, b, rel_tol=RELATIVE, abs_tol=1e-12) for a, b in zip(_rates(one), _rates(other), strict=True)
    )


def _rates(average: TimeAverageMessageData) -> tuple[float, float, float, float]:
    return (
        average.msg_rate_in,
        average.msg_rate_out,
        average.throughput_in_bytes_per_sec,
        average.throughput_out_bytes_per_sec,
    )


def average_text(data: BundleData | None) -> str:
    if data is None:
        return "no average"
    terms = (("short", data.short_term), ("long", data.long_term))
    texts = (f"{name} {term.num_samples} of {term.max_samples} samples {_rates(term)}" for name, term in terms)
    return f"{data.topics} topics, {'; '.join(texts)}"


def _nth(words: Sequence[str], number: int) -> str:
    return words[number] if number < len(words) else "not chosen"
