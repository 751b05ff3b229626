"""The extensible load manager on a recorded cluster: the decisions of each broker in each of its cycles, with hits.

What a broker saw is taken from its own log, which names every bundle it looked at with the numbers it compared, and the
rest from the series: bundle lists, and topics with their rates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from engine.balance.limits import BundleStats, bandwidth_limit
from engine.balance.splitting.extensible import CycleDecision, CycleObservation, CycleVerdict, SplitMemory, cycle
from engine.bundles.algorithms import BYTES_PER_MBYTE, flow_limits
from engine.bundles.boundaries import BundleRange, NamespaceBundles, parse_range
from engine.bundles.loads import TopicLoad
from engine.verify.report import Ledger, Rules
from tests.lab.balance.broker_log import CycleLine, LoggedCycle, LoggedNumbers
from tests.lab.balance.lists import ListHistory, cut_texts
from tests.lab.balance.records import BalanceRecords
from tests.lab.bundles.flow_rates import Window
from tests.lab.facts import StepFact

_PRINTED: Final = 0.005
"""Rates are printed with two decimals."""
_AT_LIMIT: Final = "decisions by a rate printed at its limit itself: two decimals do not show on which side it was"
_RULE: Final = "DefaultNamespaceBundleSplitStrategyImpl"
_ROOM: Final = 1e-6
"""The part of a limit that rates made for given cuts leave free, against rounding."""
Topics = dict[str, list[TopicLoad]]
Outcome = tuple[SplitMemory, CycleDecision]


class ExtensibleComparison:
    """Replays the cycles of each broker's log, each with a memory of its own."""

    def __init__(self, records: BalanceRecords, history: ListHistory, rules: Rules, ledger: Ledger) -> None:
        self._records = records
        self._history = history
        self._rules = rules
        self._ledger = ledger

    def compare(self) -> None:
        """Compare every cycle of every log. The hits before the first cycle of a log are unknown and count as none."""
        for letter, logged in self._records.cycles.items():
            self._ledger.file = f"log of broker {letter}"
            broker = _Broker()
            for one in logged:
                self._ledger.moment = f"{one.at_ms / 1000:.3f} s"
                self._compare_cycle(broker, one)

    def _compare_cycle(self, broker: _Broker, logged: LoggedCycle) -> None:
        lists = self._history.at(logged.at_ms)
        stats = [broker.stats_of(line) for line in logged.lines]
        at_limit = {line.bundle for line, one in zip(logged.lines, stats, strict=True) if self._is_at_limit(line, one)}
        stats = [self._as_decided(line, one, at_limit) for line, one in zip(logged.lines, stats, strict=True)]
        if logged.stopped:
            # The log names nobody after the last choice; those known before exist still, and keep their hits.
            named = {one.bundle for one in stats}
            stats += [one for name, one in broker.known.items() if name not in named and _is_current(name, lists)]
        plain, best = self._outcomes(broker.memory, logged, stats, lists)
        broker.memory, decision = best
        self._compare_decision(logged, plain[1], decision, at_limit)
        broker.remember(stats)

    def _outcomes(
        self,
        memory: SplitMemory,
        logged: LoggedCycle,
        stats: Sequence[BundleStats],
        lists: Mapping[str, NamespaceBundles],
    ) -> tuple[Outcome, Outcome]:
        """The outcome with rates as they were recorded, and the one that explains most lines of all that are tried.

        The rates of the moment itself are not recorded. So the topics seen before the cycle are tried, those seen after
        it, the highest and the lowest rates around it, and last, for each bundle that none of them explains, rates that
        give the recorded cuts, if there are any in the intervals around the cycle.
        """
        namespaces = sorted({line.bundle.rpartition("/")[0] for line in logged.lines})
        counts = {name: len(lists[name]) for name in namespaces if name in lists}

        def outcome(topics: Topics) -> tuple[int, Outcome]:
            observation = CycleObservation(tuple(stats), counts, topics)
            reached = cycle(memory, observation, self._rules.settings, None, self._rules.behaviour)
            pairs = zip(logged.lines, reached[1].verdicts, strict=False)
            return sum(_explains(verdict, line, logged) for line, verdict in pairs), reached

        everything = len(logged.lines)
        tried: list[tuple[int, Topics, Outcome]] = []
        for seen, at in (
            (self._history.topics, 0),
            (self._history.topics, 1),
            (self._history.extremes, 0),
            (self._history.extremes, 1),
        ):
            if any(score == everything for score, _, _ in tried):
                break
            by_name = {name: seen(name, logged.at_ms) for name in namespaces}
            topics = {name: loads[min(at, len(loads) - 1)] for name, loads in by_name.items() if loads}
            score, reached = outcome(topics)
            tried.append((score, topics, reached))
        plain = max(tried[:2], key=lambda one: one[0])
        best = max(tried, key=lambda one: one[0])
        if best[0] < everything:
            within = self._with_recorded_cuts(best[1], logged, best[2][1])
            score, reached = outcome(within)
            best = max((best, (score, within, reached)), key=lambda one: one[0])
        return plain[2], best[2]

    def _with_recorded_cuts(self, topics: Topics, logged: LoggedCycle, decision: CycleDecision) -> Topics:
        """Topics with rates that give the recorded cuts of the bundles whose verdict differs, where some may."""
        changed = dict(topics)
        limits = flow_limits(self._rules.settings)
        for line, verdict in zip(logged.lines, decision.verdicts, strict=False):
            namespace, _, text = line.bundle.rpartition("/")
            bundle, cuts = parse_range(text), _recorded_cuts(line, logged)
            if cuts is None or not isinstance(bundle, BundleRange) or _explains(verdict, line, logged):
                continue
            if self._history.may_cut(self._rules, namespace, bundle, logged.at_ms, cuts):
                windows = self._history.windows(namespace, bundle, logged.at_ms)
                others = [load for load in changed.get(namespace, []) if not bundle.includes(load.hash)]
                fitting = rates_for(windows, cuts, limits.max_msgs_per_sec)
                changed[namespace] = [*others, *fitting]
        return changed

    def _is_at_limit(self, line: CycleLine, stats: BundleStats) -> bool:
        if line.numbers is None:
            return False
        settings = self._rules.settings
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
        limit = float(self._rules.settings.loadBalancerNamespaceBundleMaxMsgRate)
        return replace(stats, msg_rate_in=limit + (_PRINTED if above else -_PRINTED))

    def _compare_decision(
        self, logged: LoggedCycle, plain: CycleDecision, decision: CycleDecision, at_limit: set[str]
    ) -> None:
        for number, line in enumerate(logged.lines):
            verdict = decision.verdicts[number]
            if line.word == "other":
                self._ledger.skip("bundles passed over in a cycle for reasons that are not modelled")
                continue
            if line.bundle in at_limit:
                continue
            recorded, modelled = _recorded(line, logged), _modelled(verdict)
            kind = StepFact.HIT_COUNT if line.word == "hits" else StepFact.CYCLE_DECISION
            if recorded == modelled != _modelled(plain.verdicts[number]):
                kind = StepFact.CYCLE_DECISION_WITHIN
            self._ledger.compare(kind, line.bundle, recorded, modelled, _RULE)
        algorithm = self._rules.settings.defaultNamespaceBundleSplitAlgorithm
        rule = f"{_RULE}: the reason, and the children by {algorithm}"
        chosen = {verdict.bundle: verdict for verdict in decision.chosen}
        for one in logged.decisions:
            modelled = _split_text(chosen.pop(one.bundle, None))
            recorded = f"{one.reason}: {', '.join(one.children)}"
            self._ledger.compare(StepFact.CYCLE_SPLIT, one.bundle, recorded, modelled, rule)
        for name, verdict in chosen.items():
            self._ledger.compare(StepFact.CYCLE_SPLIT, name, "not split", _split_text(verdict), rule)


@dataclass(slots=True)
class _Broker:
    """What one broker keeps between its cycles, and the last numbers known of each bundle."""

    memory: SplitMemory = field(default_factory=SplitMemory)
    known: dict[str, BundleStats] = field(default_factory=dict)

    def stats_of(self, line: CycleLine) -> BundleStats:
        """The numbers of the line, else the last ones known: a full namespace is logged without numbers."""
        if line.word == "too-few-topics":
            return BundleStats(line.bundle, topics=1)
        if line.numbers is None:
            return self.known.get(line.bundle, BundleStats(line.bundle, topics=2))
        return _stats(line.bundle, line.numbers)

    def remember(self, stats: Sequence[BundleStats]) -> None:
        self.known = {**self.known, **{one.bundle: one for one in stats}}


def rates_for(topics: Sequence[Window], cuts: Sequence[int], max_msgs_per_sec: float) -> list[TopicLoad]:
    """Loads of the topics with which the flow rule cuts exactly at ``cuts``: every piece is full but for a trace.

    >>> two = (Window("a", 10, 5.0, 6.0, 0, 0), Window("b", 20, 5.0, 6.0, 0, 0))
    >>> [round(load.msg_rate_in, 3) for cuts in ([16], []) for load in rates_for(two, cuts, 10)]
    [10.0, 10.0, 0.0, 0.0]
    """
    edges = [*sorted(cuts), 2**32]
    pieces: list[list[Window]] = [[] for _ in edges]
    for topic in topics:
        pieces[next(at for at, edge in enumerate(edges) if topic.hash < edge)].append(topic)
    return [
        TopicLoad(topic.name, topic.hash, msg_rate_in=max_msgs_per_sec * (1 - _ROOM) / len(piece) if cuts else 0.0)
        for piece in pieces
        for topic in piece
    ]


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


def _recorded_cuts(line: CycleLine, logged: LoggedCycle) -> tuple[int, ...] | None:
    """Where the default algorithm cut a bundle, as the log says it; None where it does not."""
    if line.word == "no-boundary":
        return ()
    if line.word == "not-one-boundary":
        return line.boundaries
    children = next((decision.children for decision in logged.decisions if decision.bundle == line.bundle), ())
    places = [parse_range(child) for child in children]
    return tuple(place.upper for place in places[:-1] if isinstance(place, BundleRange)) or None


def _recorded(line: CycleLine, logged: LoggedCycle) -> str:
    """One line of the log in the words of the model."""
    if line.word == "hits":
        return f"{line.hits} hits"
    if line.word == "taken":
        split = next((decision for decision in logged.decisions if decision.bundle == line.bundle), None)
        return "taken, not split" if split is None else "chosen"
    if line.word == "not-one-boundary":
        return f"not-one-boundary: {', '.join(cut_texts(line.boundaries))}"
    return line.word


def _modelled(verdict: CycleVerdict) -> str:
    if verdict.outcome in ("counting", "below-limits"):
        return f"{verdict.hits} hits"
    if verdict.outcome == "not-one-boundary":
        return f"not-one-boundary: {', '.join(cut_texts(verdict.boundaries or ()))}"
    return verdict.outcome


def _explains(verdict: CycleVerdict, line: CycleLine, logged: LoggedCycle) -> bool:
    """Whether a verdict is the recorded one, with the same children if it is a split."""
    if _recorded(line, logged) != _modelled(verdict):
        return False
    split = next((decision for decision in logged.decisions if decision.bundle == line.bundle), None)
    return split is None or split.children == tuple(str(child) for child in verdict.children)


def _split_text(verdict: CycleVerdict | None) -> str:
    if verdict is None:
        return "not split"
    return f"{verdict.reason}: {', '.join(str(child) for child in verdict.children)}"
