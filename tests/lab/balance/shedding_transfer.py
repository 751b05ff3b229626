"""The extensible manager on a recorded cluster: cycles of transfers, published load reports, and placements.

Everything is in the brokers' logs with debug mode on: each report before it is published or skipped, the largest
bundles, the leader's cycles and each placement. Percents and rates are printed with two decimals, so amounts are
compared within those.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from engine.balance.brokers import ReportFigures, changes, report_needed
from engine.balance.java_maps import concurrent_order
from engine.balance.limits import BundleStats
from engine.balance.placement.strategies import place_least_load
from engine.balance.settings import LoadSettings
from engine.balance.shedding.transfer import (
    PublishedLoad,
    TransferCycle,
    TransferMemory,
    TransferView,
    shed_transfer,
)
from engine.load_rules import LoadRules
from engine.verify.report import Ledger
from tests.lab.balance.records import BalanceRecords
from tests.lab.balance.shedding_log import (
    ExtensibleLine,
    LoggedMove,
    LoggedReport,
    LoggedSelection,
    LoggedTop,
    LoggedUnloadCycle,
    extensible_lines,
)
from tests.lab.facts import StepFact

_DAY_MS: Final = 24 * 60 * 60 * 1000
_PRINTED: Final = 0.006
"""Numbers are printed with two decimals."""
_AT_LIMIT: Final = 0.5
"""Percent points within which two printed decimals may hide on which side of the limit a change is."""
_RULE: Final = "TransferShedder"


@dataclass(slots=True)
class _Broker:
    """What one broker has published and measured last; ``reset``: it gained or lost a bundle since its last report."""

    published: LoggedReport | None = None
    reset: bool = True
    reset_at_ms: int = 0
    top: tuple[BundleStats, ...] = ()


@dataclass(slots=True)
class TransferComparison:
    """Goes through the lines of all brokers' logs. ``ids``: letter -> id of a broker."""

    records: BalanceRecords
    settings: LoadSettings
    rules: LoadRules
    ids: dict[str, str]
    ledger: Ledger
    memory: TransferMemory = field(default_factory=TransferMemory)
    brokers: dict[str, _Broker] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)

    def compare(self) -> None:
        """Compare every cycle of the leader, and what each broker says of its reports and placements."""
        self.brokers = {broker: _Broker() for broker in self.ids.values()}
        for line in self._lines():
            self.ledger.moment = f"{line.at_ms / 1000:.3f} s"
            match line:
                case LoggedReport():
                    self._compare_report(line)
                case LoggedTop():
                    self.brokers[line.broker].top = line.bundles
                case LoggedSelection():
                    self._compare_selection(line)
                case LoggedUnloadCycle():
                    self._compare_cycle(line)
                case LoggedMove():
                    self._moved(line)

    def _lines(self) -> list[ExtensibleLine]:
        lines: list[ExtensibleLine] = []
        for letter, text in self.records.logs.items():
            if letter in self.ids:
                for line in extensible_lines(text, self.ids[letter]):
                    at_ms = (line.at_ms - self.records.zero_ms + _DAY_MS // 2) % _DAY_MS - _DAY_MS // 2
                    lines.append(replace(line, at_ms=at_ms))
        return sorted(lines, key=lambda line: line.at_ms)

    def _reset(self, broker: str, at_ms: int) -> None:
        """A broker that gained or lost a bundle takes back what it published."""
        if broker in self.brokers:
            known = self.brokers[broker]
            known.reset, known.reset_at_ms, known.top = True, at_ms, ()

    def _loads(self) -> dict[str, PublishedLoad]:
        results: dict[str, PublishedLoad] = {}
        for broker, known in self.brokers.items():
            report = known.published
            if report is not None and not known.reset:
                results[broker] = PublishedLoad(
                    broker,
                    report.load,
                    report.throughput_average,
                    report.throughput_in,
                    report.throughput_out,
                    report.updated_at_ms,
                )
        return results

    def _compare_report(self, line: LoggedReport) -> None:
        broker = self.brokers[line.broker]
        last = broker.published
        if broker.reset or last is None:
            needed, sure = "published", True
        else:
            age = line.updated_at_ms - last.updated_at_ms
            figures = _figures(last), _figures(line)
            needed = "published" if report_needed(*figures, age, self.settings, "extensible") else "skipped"
            limit = self.settings.loadBalancerReportUpdateThresholdPercentage
            sure = all(abs(change - limit) > _AT_LIMIT for _, change in changes(*figures))
        if sure and line.at_ms - broker.reset_at_ms > 1000:
            said = "published" if line.published else "skipped"
            self.ledger.compare(StepFact.REPORT_PUBLISHED, line.broker, said, needed, "needBrokerDataUpdate")
        if line.published:
            broker.published, broker.reset = line, False

    def _compare_selection(self, line: LoggedSelection) -> None:
        loads = {broker: load.load for broker, load in self._loads().items()}
        if set(line.no_data) == set(line.candidates) - loads.keys():
            placed = place_least_load(list(concurrent_order(line.candidates)), loads, self.settings)
            possible = ", ".join(sorted(placed.answers))
            recorded = ", ".join(sorted(line.best))
            self.ledger.compare(StepFact.PLACED_WITHIN, line.bundle, recorded, possible, "LeastResourceUsageWithWeight")
        else:
            self.ledger.skip("placements by load data that was on its way")
        self._reset(line.owner, line.at_ms)

    def _moved(self, line: LoggedMove) -> None:
        source = self.sources.get(line.bundle)
        if line.word == "unloaded" and source is not None:
            self.memory = replace(
                self.memory,
                recent_bundles={**self.memory.recent_bundles, line.bundle: line.at_ms},
                recent_brokers={**self.memory.recent_brokers, source: line.at_ms},
            )

    def _compare_cycle(self, logged: LoggedUnloadCycle) -> None:
        loads = self._loads()
        zero = self._epoch_at(logged)
        memory = self.memory.within_grace(logged.at_ms, self.settings)
        memory = replace(memory, recent_brokers={broker: at + zero for broker, at in memory.recent_brokers.items()})
        view = TransferView(
            tuple(loads[broker] for broker in concurrent_order(loads)),
            logged.registered,
            {broker: known.top for broker, known in self.brokers.items() if known.top},
            zero + logged.at_ms,
        )
        memory, cycle = shed_transfer(memory, view, self.settings, self.rules)
        self.memory = replace(
            memory, recent_brokers={broker: at - zero for broker, at in memory.recent_brokers.items()}
        )
        self._compare_decisions(logged, cycle)
        for bundle, source, target, _ in logged.decisions or ():
            self.sources[bundle] = source
            self._reset(source, logged.at_ms)
            self._reset(target, logged.at_ms)

    def _epoch_at(self, logged: LoggedUnloadCycle) -> int:
        """Milliseconds from the clock of the reports to the recording's own zero."""
        reports = [known.published for known in self.brokers.values() if known.published is not None]
        if not reports:
            return 0
        latest = max(reports, key=lambda report: report.at_ms)
        return latest.updated_at_ms - latest.at_ms

    def _compare_decisions(self, logged: LoggedUnloadCycle, cycle: TransferCycle) -> None:
        said = sorted(logged.decisions or ())
        modelled = sorted(
            (decision.bundle, decision.source, decision.target or "", decision.reason) for decision in cycle.decisions
        )
        ends = _text(said) or logged.skip or "nothing", _text(modelled) or cycle.skip or "nothing"
        self.ledger.compare(StepFact.TRANSFER_CYCLE, "cycle", *ends, _RULE)
        order = ", ".join(logged.decided), ", ".join(decision.bundle for decision in cycle.decisions)
        if logged.decided:
            self.ledger.compare(StepFact.TRANSFER_ORDER, "cycle", *order, _RULE)
        for number, ((percent, kbytes), pair) in enumerate(zip(logged.offloads, cycle.pairs, strict=False), 1):
            offload = (pair.fuller_load - pair.emptier_load) / 2 * 100
            expected = pair.wanted_bytes_per_sec / 1024
            # The percent comes from loads that were printed with two decimals as well.
            near = math.isclose(offload, percent, abs_tol=2 * _PRINTED) and math.isclose(
                expected, kbytes, rel_tol=0.005
            )
            text = f"{percent:.2f} %, {kbytes:.2f} kB/s"
            modelled_text = text if near else f"{offload:.2f} %, {expected:.2f} kB/s"
            self.ledger.compare(StepFact.TRANSFER_AMOUNT, f"pair {number}", text, modelled_text, _RULE)
        stops = [
            (bundle.bundle, bundle.outcome)
            for pair in cycle.pairs
            for bundle in pair.bundles
            if bundle.outcome in ("too-large", "last-one")
        ]
        for number, said_stop in enumerate(logged.stopped):
            stop = stops[number] if number < len(stops) else ("none", "")
            self.ledger.compare(
                StepFact.TRANSFER_STOP, f"pair {number + 1}", " ".join(said_stop), " ".join(stop), _RULE
            )


def _figures(line: LoggedReport) -> ReportFigures:
    rates = line.rate_in, line.rate_out, line.throughput_in, line.throughput_out
    return ReportFigures(line.max_usage, *rates, bundles=line.bundles)


def _text(decisions: Iterable[tuple[str, str, str, str]]) -> str:
    return ", ".join(f"{bundle} from {source} to {target} ({reason})" for bundle, source, target, reason in decisions)
