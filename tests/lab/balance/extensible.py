"""The extensible load manager on a recorded cluster: the decisions of each broker in each of its cycles, with hits.

What a broker saw is taken from its own log, which names every bundle it looked at with the numbers it compared, and
the rest from the series: bundle lists, and topics with their rates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from engine.bundles import (
    BundleRange,
    BundleStats,
    CycleDecision,
    CycleObservation,
    CycleVerdict,
    NamespaceBundles,
    SplitMemory,
    bandwidth_limit,
    cycle,
    parse_range,
)
from engine.bundles.flow import BYTES_PER_MBYTE
from tests.lab.balance.broker_log import CycleLine, LoggedCycle, LoggedNumbers
from tests.lab.balance.lists import ListBook
from tests.lab.balance.records import BalancingTold
from tests.lab.judge import Judge
from tests.lab.report import FactKind, Ledger

_PRINTED: Final = 0.005
"""Rates are printed with two decimals."""
_AT_LIMIT: Final = "decisions by a rate printed at its limit itself: two decimals do not tell on which side it was"
_RULE: Final = "DefaultNamespaceBundleSplitStrategyImpl"


class ExtensibleBalancing:
    """Replays the cycles of each broker's log, each with a memory of its own."""

    def __init__(self, told: BalancingTold, book: ListBook, judge: Judge, ledger: Ledger) -> None:
        self._told = told
        self._book = book
        self._judge = judge
        self._ledger = ledger

    def compare(self) -> None:
        """Every cycle of every log. A log that begins late makes hits of its first cycle uncertain: none are known."""
        for letter, logged in self._told.cycles.items():
            self._ledger.file = f"log of broker {letter}"
            broker = _Broker()
            for each in logged:
                self._ledger.step = f"{each.at_ms / 1000:.3f} s"
                self._cycle(broker, each)

    def _cycle(self, broker: _Broker, logged: LoggedCycle) -> None:
        lists = self._book.at(logged.at_ms)
        stats = [broker.stats_of(line) for line in logged.lines]
        at_limit = {
            line.bundle for line, each in zip(logged.lines, stats, strict=True) if self._is_at_limit(line, each)
        }
        stats = [self._as_decided(line, each, at_limit) for line, each in zip(logged.lines, stats, strict=True)]
        if logged.stopped:
            # The log names nobody after the last choice; those known before are there still, and keep their hits.
            named = {each.bundle for each in stats}
            stats += [each for name, each in broker.known.items() if name not in named and _is_current(name, lists)]
        tried = self._tried(broker, logged, stats, lists)
        plain, best = (max(part, key=lambda each: each[0]) for part in (tried[:2], tried))
        broker.memory, decision = best[1]
        self._compare(logged, plain[1][1], decision, at_limit)
        broker.remember(stats)

    def _tried(
        self,
        broker: _Broker,
        logged: LoggedCycle,
        stats: Sequence[BundleStats],
        lists: Mapping[str, NamespaceBundles],
    ) -> list[tuple[int, tuple[SplitMemory, CycleDecision]]]:
        """How many lines each try explains: with the topics seen before the cycle, those seen after it, and then with
        the highest and the lowest rates seen around it, because those of the moment itself are not recorded."""
        namespaces = sorted({line.bundle.rpartition("/")[0] for line in logged.lines})
        counts = {name: len(lists[name]) for name in namespaces if name in lists}
        seen, extremes = self._book.topics, self._book.extremes
        found: list[tuple[int, tuple[SplitMemory, CycleDecision]]] = []
        for tries, at in ((seen, 0), (seen, 1), (extremes, 0), (extremes, 1)):
            if any(score == len(logged.lines) for score, _ in found):
                break
            by_name = {name: tries(name, logged.at_ms) for name in namespaces}
            topics = {name: loads[min(at, len(loads) - 1)] for name, loads in by_name.items() if loads}
            observation = CycleObservation(tuple(stats), counts, topics)
            result = cycle(broker.memory, observation, self._judge.settings, None, self._judge.behaviour)
            pairs = zip(logged.lines, result[1].verdicts, strict=False)
            found.append((sum(_recorded(line, logged) == _modelled(verdict) for line, verdict in pairs), result))
        return found

    def _is_at_limit(self, line: CycleLine, stats: BundleStats) -> bool:
        if line.numbers is None:
            return False
        settings = self._judge.settings
        rate = abs(line.numbers.msgs_per_sec - settings.loadBalancerNamespaceBundleMaxMsgRate) <= _PRINTED
        limit = bandwidth_limit(settings).pulsar_bytes_per_sec / BYTES_PER_MBYTE
        size = abs(line.numbers.mbytes_per_sec - limit) <= _PRINTED
        beyond = stats.topics > settings.loadBalancerNamespaceBundleMaxTopics
        sessions = 0 < settings.loadBalancerNamespaceBundleMaxSessions < stats.sessions
        return (rate or size) and not beyond and not sessions

    def _as_decided(self, line: CycleLine, stats: BundleStats, at_limit: set[str]) -> BundleStats:
        """A rate at the limit is put on the side on which the broker found it."""
        if line.bundle not in at_limit:
            return stats
        self._ledger.skip(_AT_LIMIT)
        above = line.hits > 0 or line.word not in ("hits", "too-few-topics")
        limit = float(self._judge.settings.loadBalancerNamespaceBundleMaxMsgRate)
        return replace(stats, msg_rate_in=limit + (_PRINTED if above else -_PRINTED))

    def _compare(self, logged: LoggedCycle, plain: CycleDecision, decision: CycleDecision, at_limit: set[str]) -> None:
        for number, line in enumerate(logged.lines):
            verdict = decision.verdicts[number]
            if line.word == "other":
                self._ledger.skip("bundles passed over in a cycle for reasons that are not modelled")
                continue
            if line.bundle in at_limit:
                continue
            recorded, modelled = _recorded(line, logged), _modelled(verdict)
            kind = FactKind.HIT_COUNT if line.word == "hits" else FactKind.CYCLE_DECISION
            if recorded == modelled != _modelled(plain.verdicts[number]):
                kind = FactKind.CYCLE_DECISION_WITHIN
            self._ledger.compare(kind, line.bundle, recorded, modelled, _RULE)
        rule = f"{_RULE}: the reason, and the children by {self._judge.settings.defaultNamespaceBundleSplitAlgorithm}"
        chosen = {verdict.bundle: verdict for verdict in decision.chosen}
        for each in logged.decisions:
            modelled_split = _split_text(chosen.pop(each.bundle, None))
            recorded = f"{each.reason}: {', '.join(each.children)}"
            self._ledger.compare(FactKind.CYCLE_SPLIT, each.bundle, recorded, modelled_split, rule)
        for name, verdict in chosen.items():
            self._ledger.compare(FactKind.CYCLE_SPLIT, name, "not split", _split_text(verdict), rule)


@dataclass(slots=True)
class _Broker:
    """What one broker keeps between its cycles, and the last numbers known of each bundle."""

    memory: SplitMemory = field(default_factory=SplitMemory)
    known: dict[str, BundleStats] = field(default_factory=dict)

    def stats_of(self, line: CycleLine) -> BundleStats:
        """The numbers of the line, else the last ones known: full namespaces are told without numbers."""
        if line.word == "too-few-topics":
            return BundleStats(line.bundle, topics=1)
        if line.numbers is None:
            return self.known.get(line.bundle, BundleStats(line.bundle, topics=2))
        return _stats(line.bundle, line.numbers)

    def remember(self, stats: Sequence[BundleStats]) -> None:
        self.known = {**self.known, **{each.bundle: each for each in stats}}


def _stats(bundle: str, numbers: LoggedNumbers) -> BundleStats:
    return BundleStats(
        bundle,
        numbers.topics,
        numbers.producers,
        numbers.consumers,
        msg_rate_in=numbers.msgs_per_sec,
        throughput_in_bytes_per_sec=numbers.mbytes_per_sec * BYTES_PER_MBYTE,
    )


def _is_current(name: str, lists: Mapping[str, NamespaceBundles]) -> bool:
    namespace, _, text = name.rpartition("/")
    bundles = lists.get(namespace)
    place = parse_range(text)
    return bundles is None or (isinstance(place, BundleRange) and bundles.validate_bundle(place) is None)


def _recorded(line: CycleLine, logged: LoggedCycle) -> str:
    """One line of the log in the words of the model."""
    if line.word == "hits":
        return f"{line.hits} hits"
    if line.word == "taken":
        return "chosen" if any(each.bundle == line.bundle for each in logged.decisions) else "taken, not split"
    if line.word == "not-one-boundary":
        return f"not-one-boundary: {', '.join(f'0x{cut:08x}' for cut in line.boundaries)}"
    return line.word


def _modelled(verdict: CycleVerdict) -> str:
    if verdict.outcome in ("counting", "below-limits"):
        return f"{verdict.hits} hits"
    if verdict.outcome == "not-one-boundary":
        return f"not-one-boundary: {', '.join(f'0x{cut:08x}' for cut in verdict.boundaries or ())}"
    return verdict.outcome


def _split_text(verdict: CycleVerdict | None) -> str:
    if verdict is None:
        return "not split"
    return f"{verdict.reason}: {', '.join(str(child) for child in verdict.children)}"
