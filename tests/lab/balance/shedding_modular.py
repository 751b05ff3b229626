"""The leader of the modular manager on a recorded cluster: its averages, its shedding cycles, and its look-ups.

The series has every report that was written and the averages that were stored; the leader's log has what it unloaded,
how many brokers it considered for a bundle, and which bundles it owned itself. A cycle that found nothing leaves no
line, so its time is that of the cycle before it, plus the interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from engine.balance.brokers import BrokerLoad, ReportFigures, changes, overload_usage
from engine.balance.leadership.placement import Selection, look_up
from engine.balance.leadership.shedding import SheddingCycle, shed
from engine.balance.leadership.state import Leader, LeaderState, brokers_changed, elected, reports_read
from engine.balance.placement.model import Placement
from engine.balance.settings import LOAD_SETTING_DEFAULTS, MS_PER_MINUTE, LoadSettings, default_load_settings
from engine.config import ReleaseBehaviour
from engine.errors import Rejection
from engine.verify.report import Ledger
from engine.verify.statistics import RELATIVE
from tests.lab.balance.modular import average_text, is_same, storings
from tests.lab.balance.records import BalanceRecords
from tests.lab.balance.series import AVERAGES, WrittenAverages, WrittenReport
from tests.lab.balance.shedding_log import ModularLine, modular_lines
from tests.lab.facts import StepFact

_DAY_MS: Final = 24 * 60 * 60 * 1000
_SAME_CYCLE_MS: Final = 20_000
_SOON_MS: Final = 3000
_POLLED_MS: Final = 500
"""The recorder looks every 0.4 s, so what it misses went up to that long before."""
_RULE: Final = "doLoadShedding"


def load_settings(named: dict[str, str], behaviour: ReleaseBehaviour) -> LoadSettings:
    """The settings of a scenario that are about shedding and placement; what cannot be read has its default."""
    settings = default_load_settings(behaviour)
    for name, text in named.items():
        if name in LOAD_SETTING_DEFAULTS:
            changed = settings.with_setting(name, text)
            settings = settings if isinstance(changed, Rejection) else changed
    return settings


@dataclass(frozen=True, slots=True)
class LoggedCycle:
    """One cycle as the log has it: none of its members for one that said nothing."""

    at_ms: int
    until_ms: int
    found: tuple[float, ...] = ()
    unloads: tuple[tuple[str, str], ...] = ()
    considered: tuple[tuple[str, int], ...] = ()
    one_broker: bool = False


@dataclass(frozen=True, slots=True)
class _Gone:
    at_ms: int
    broker: str


@dataclass(frozen=True, slots=True)
class _Stored:
    at_ms: int
    entries: tuple[WrittenAverages, ...]


_Event = WrittenReport | _Gone | _Stored | ModularLine | LoggedCycle


@dataclass(slots=True)
class SheddingComparison:
    """Goes through the events of a recording with the state of its leader. ``ids``: letter -> id of a broker."""

    records: BalanceRecords
    leader: Leader
    ids: dict[str, str]
    ledger: Ledger
    state: LeaderState = field(init=False)
    reports: dict[str, BrokerLoad] = field(default_factory=dict)
    owned: set[str] = field(default_factory=set)
    wanted: dict[str, str] = field(default_factory=dict)
    owners: list[tuple[int, str, str]] = field(default_factory=list)

    def compare(self) -> None:
        """Compare every stored average, cycle and look-up of the one leader that the logs name."""
        lines = self._lines()
        leaders = {line.broker for line in lines if line.word == "elected"}
        if len(leaders) != 1:
            self.ledger.skip("shedding of a cluster whose logs do not name one leader", len(leaders))
            return
        (letter,) = leaders
        self.owners = [(line.at_ms, line.bundle, self.ids[line.broker]) for line in lines if line.word == "acquired"]
        self._compare_reports(lines)
        self.state = elected(self.leader)
        events = self._events([line for line in lines if line.broker == letter])
        for event in events:
            self.ledger.moment = f"{event.at_ms / 1000:.3f} s"
            self._go_on(event)

    def _lines(self) -> list[ModularLine]:
        lines: list[ModularLine] = []
        for letter, text in self.records.logs.items():
            for line in modular_lines(text, letter):
                at_ms = (line.at_ms - self.records.zero_ms + _DAY_MS // 2) % _DAY_MS - _DAY_MS // 2
                parts = (line.word, line.bundle, line.source, line.target, line.number)
                lines.append(ModularLine(at_ms, letter, *parts))
        return [line for line in sorted(lines, key=lambda line: line.at_ms) if line.broker in self.ids]

    def _events(self, lines: Sequence[ModularLine]) -> list[_Event]:
        series = self.records.series
        events: list[_Event] = list(series.reports)
        events += self._departures()
        events += [_Stored(entries[0].at_ms, tuple(entries)) for entries in storings(series.averages)]
        cycles, rest = self._cycles(lines)
        events += cycles
        events += [line for line in rest if line.word in ("considered", "acquired", "released")]
        return sorted(events, key=lambda event: event.at_ms)

    def _departures(self) -> list[_Gone]:
        """When brokers left: a later report makes their node anew. The averages of their bundles went at that time."""
        gone: list[_Gone] = []
        series = self.records.series
        last: dict[str, WrittenReport] = {}
        for written in series.reports:
            before = last.get(written.broker)
            if written.is_new and before is not None:
                paths = {AVERAGES + name for name in before.load.bundles}
                times = [
                    removal.at_ms
                    for removal in series.removals
                    if removal.path in paths and before.at_ms < removal.at_ms <= written.at_ms
                ]
                gone.append(_Gone(min(times, default=written.at_ms) - _POLLED_MS, written.broker))
            last[written.broker] = written
        return gone

    def _cycles(self, lines: Sequence[ModularLine]) -> tuple[list[LoggedCycle], list[ModularLine]]:
        """The leader's cycles, silent ones included, and its lines that belong to none."""
        words = ("found", "unloading", "one-broker")
        groups: list[list[ModularLine]] = []
        for line in lines:
            if line.word in words:
                if groups and line.at_ms - groups[-1][-1].at_ms < _SAME_CYCLE_MS:
                    groups[-1].append(line)
                else:
                    groups.append([line])
        interval = self.leader.settings.loadBalancerSheddingIntervalMinutes * MS_PER_MINUTE
        due = next(line.at_ms for line in lines if line.word == "elected") + interval
        until = max(line.at_ms for line in lines)
        cycles: list[LoggedCycle] = []
        used: set[int] = set()
        for group in [*groups, None]:
            begin = group[0].at_ms if group else until
            while due < begin - interval // 2:
                cycles.append(LoggedCycle(due, due))
                due += interval
            if group:
                cycle = _logged(group, lines, used)
                cycles.append(cycle)
                due = cycle.until_ms + interval
        return cycles, [line for at, line in enumerate(lines) if at not in used]

    def _go_on(self, event: _Event) -> None:
        if isinstance(event, WrittenReport):
            known = event.broker in self.reports
            self.reports[event.broker] = event.load
            self._read(changed=not known)
        elif isinstance(event, _Gone):
            self.reports.pop(event.broker, None)
            self._read(changed=True)
        elif isinstance(event, _Stored):
            self._read(changed=False)
            self._compare_averages(event)
        elif isinstance(event, LoggedCycle):
            self._compare_cycle(event)
        elif event.word == "considered":
            self._compare_look_up(event)
        elif event.word == "acquired":
            self.owned.add(event.bundle)
        else:
            self.owned.discard(event.bundle)

    def _read(self, *, changed: bool) -> None:
        read = brokers_changed if changed else reports_read
        self.state = read(self.leader, self.state, tuple(self.reports.values()), self.owned)

    def _pick(self, bundle: str, placement: Placement) -> str:
        expected = self.wanted.get(bundle)
        return expected if expected in placement.answers else placement.answers[0]

    def _compare_averages(self, stored: _Stored) -> None:
        for entry in stored.entries:
            data = self.state.data.get(entry.bundle)
            text = average_text(entry.data)
            modelled = text if is_same(data, entry.data) else average_text(data)
            rule = "one sample of every bundle at each report of any broker, two when a broker comes or goes"
            self.ledger.compare(StepFact.STORED_AVERAGE, entry.bundle, text, modelled, rule)

    def _compare_cycle(self, logged: LoggedCycle) -> None:
        self.wanted = dict(logged.unloads)
        self.state, cycle = shed(self.leader, self.state, logged.at_ms, self._pick)
        carried_out = [(unload.bundle, unload.destination or "") for unload in cycle.carried_out]
        ends = (
            "one broker" if logged.one_broker else _moves_text(logged.unloads),
            "one broker" if cycle.no_run == "one-broker" else _moves_text(carried_out),
        )
        self.ledger.compare(StepFact.SHED_CYCLE, "cycle", *ends, _RULE)
        values = [
            bundle.value
            for verdict in cycle.plan.verdicts
            for bundle in verdict.bundles
            if bundle.outcome == "unloaded"
        ]
        for number, one in enumerate(logged.found):
            other = values[number] if number < len(values) else math.nan
            text = f"{one:.12g}"
            same = text if math.isclose(one, other, rel_tol=RELATIVE) else f"{other:.12g}"
            self.ledger.compare(StepFact.SHED_TRAFFIC, f"bundle {number + 1}", text, same, "short-term average")
        self._compare_destinations(logged, cycle)

    def _compare_destinations(self, logged: LoggedCycle, cycle: SheddingCycle) -> None:
        selections = {unload.bundle: unload.selection for unload in cycle.unloads if unload.selection is not None}
        for bundle, target in logged.unloads:
            chances = selections[bundle].chances if bundle in selections else {}
            modelled = target if target in chances else f"one of {sorted(chances)}"
            self.ledger.compare(StepFact.SHED_DESTINATION, bundle, target, modelled, _RULE)
        for bundle, count in logged.considered:
            selection = selections.get(bundle)
            self._compare_considered(bundle, count, selection)

    def _compare_considered(self, bundle: str, count: int, selection: Selection | None) -> None:
        modelled = "not placed" if selection is None else str(selection.considered)
        rule = "permitted brokers with fewest bundles of the namespace"
        self.ledger.compare(StepFact.BROKERS_CONSIDERED, bundle, str(count), modelled, rule)

    def _compare_look_up(self, line: ModularLine) -> None:
        """A look-up that the leader placed. One that used up the wish of an unload leaves no line."""
        bundle = line.bundle
        wishes = {name: broker for name, broker in self.state.wishes.items() if name != bundle}
        acquired = [
            owner for at, name, owner in self.owners if name == bundle and line.at_ms <= at <= line.at_ms + _SOON_MS
        ]
        self.wanted = {bundle: acquired[0]} if acquired else {}
        self.state, answer = look_up(self.leader, replace(self.state, wishes=wishes), bundle, self._pick)
        selection = None if isinstance(answer, Rejection) else answer.selection
        self._compare_considered(bundle, round(line.number or 0), selection)
        if acquired and selection is not None:
            modelled = acquired[0] if acquired[0] in selection.chances else f"one of {sorted(selection.chances)}"
            self.ledger.compare(StepFact.PLACED_BY_LEADER, bundle, acquired[0], modelled, "selectBroker")

    def _compare_reports(self, lines: Sequence[ModularLine]) -> None:
        """Why each report was written: the greatest change since the one before it, to the last digit printed."""
        last: dict[str, WrittenReport] = {}
        written = {
            broker: [line for line in lines if line.word == "writing" and self.ids[line.broker] == broker]
            for broker in self.ids.values()
        }
        for report in self.records.series.reports:
            before, last[report.broker] = last.get(report.broker), report
            near = [line for line in written[report.broker] if abs(line.at_ms - report.at_ms) < 1000]
            if before is None or report.is_new or len(near) != 1 or near[0].number is None:
                continue
            self.ledger.moment = f"{report.at_ms / 1000:.3f} s"
            change = max(value for _, value in changes(self._figures(before.load), self._figures(report.load)))
            text = f"{near[0].number:.12g} %"
            same = math.isclose(change, near[0].number, rel_tol=RELATIVE)
            modelled = text if same else f"{change:.12g} %"
            self.ledger.compare(StepFact.REPORT_CHANGE, report.broker, text, modelled, "needBrokerDataUpdate")

    def _figures(self, load: BrokerLoad) -> ReportFigures:
        usage = overload_usage(load, self.leader.settings, self.leader.rules)
        rates = (
            load.msg_rate_in,
            load.msg_rate_out,
            load.throughput_in_bytes_per_sec,
            load.throughput_out_bytes_per_sec,
        )
        return ReportFigures(usage, *rates, bundles=len(load.bundles))


def _logged(group: Sequence[ModularLine], lines: Sequence[ModularLine], used: set[int]) -> LoggedCycle:
    """One cycle from its own lines, and those of its placements, each just before its unload."""
    considered: list[tuple[str, int]] = []
    for line in group:
        at = lines.index(line)
        used.add(at)
        before = lines[at - 1] if at else line
        if line.word == "unloading" and (before.word, before.bundle) == ("considered", line.bundle):
            considered.append((line.bundle, round(before.number or 0)))
            used.add(at - 1)
    return LoggedCycle(
        group[0].at_ms,
        group[-1].at_ms,
        tuple(line.number for line in group if line.word == "found" and line.number is not None),
        tuple((line.bundle, line.target) for line in group if line.word == "unloading"),
        tuple(considered),
        any(line.word == "one-broker" for line in group),
    )


def _moves_text(moves: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{bundle} to {target}" for bundle, target in moves) or "nothing"
