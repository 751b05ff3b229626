"""A namespace over time, for the screen "bundles" and its headless twin: computed on demand and cached; and one
cycle of it as a tree: bundles in force, and those that were split, with their children.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from engine.balance.limits import BundleStats, SplitReason, limit_measures
from engine.balance.splitting.forecast import ForecastTree, forecast
from engine.balance.splitting.loops import Loop
from engine.balance.splitting.model import Attempt, Balance, BalanceCycle, BalanceVerdict
from engine.balance.splitting.modular import why_no_run
from engine.balance.splitting.start import BalanceStart, balance_start
from engine.balance.splitting.topics import TopicColumns
from engine.bundles.algorithms import flow_limits
from engine.bundles.boundaries import BundleRange, parse_range
from engine.bundles.columns import LoadColumns, sum_in_order
from engine.bundles.curve import FlowCurve, FlowRule, flow_curve
from engine.bundles.occupancy import count_occupancy
from engine.bundles.plan import LoadManager
from engine.bundles.sizing import EVEN_ENOUGH, bundles_needed
from engine.cluster.bundles import RATES_UNKNOWN, lacking_rates, listed_numbers, topic_loads
from engine.cluster.partitions import partition_columns
from engine.cluster.state import ClusterState, behaviour_in, bundles_of
from engine.config import SplitAlgorithmName
from engine.errors import Rejection
from engine.memo import Remembered
from engine.names import partition_name
from engine.text import counted, shell_line
from engine.views.bundles.model import (
    AttemptRow,
    BalanceFrame,
    BalanceQuestion,
    BalanceView,
    BundleRow,
    BundlesNeededRow,
    LoopRow,
    MeasureRow,
    TreeRow,
)
from engine.views.bundles.words import NO_RUNS, attempt_text, loop_text, span_text, verdict_text, why_text

BROKER_PORT: Final = 8080
MOST_TOPICS_ASKED: Final = 100_000
"""For more topics, computing the number of bundles takes seconds, too long for a screen."""
_sessions: Remembered[NDArray[np.int64]] = Remembered()

_views: Remembered[BalanceView | Rejection] = Remembered()
_frames: Remembered[BalanceFrame] = Remembered()
_curves: Remembered[FlowCurve | Rejection] = Remembered()


MAX_BROKERS: Final = 10_000


def too_many_brokers(count: int) -> Rejection | None:
    """The refusal of more brokers than have synthetic ids; None for fewer."""
    if count <= MAX_BROKERS:
        return None
    return Rejection("TooManyBrokers", f"{count} brokers: up to {MAX_BROKERS} are modelled here", "brokers")


def broker_ids(count: int) -> tuple[str, ...]:
    """Made-up ids of so many brokers, ``host:webport``; the state does not know its brokers."""
    assert count <= MAX_BROKERS, "refuse them first"
    return tuple(f"broker-{number}:{BROKER_PORT}" for number in range(1, count + 1))


def balance_view(state: ClusterState, namespace: str, question: BalanceQuestion) -> BalanceView | Rejection:
    """Forecast a namespace whose traffic stays as it is, or grows (:func:`engine.bundles.forecast`).

    Refused: an unknown namespace, no brokers, a number of cycles, growth or interval that cannot be; ``field`` names
    it. Bad topics are left out and counted. Costs four simulations, O(cycles × topics) each; remembered.
    """
    if namespace not in state.namespaces:
        known = ", ".join(sorted(state.namespaces)[:5]) or "none"
        return Rejection("NotFound", f"no namespace {namespace!r} here; there is {known}", "namespace", 404)
    return _views.get(_parts(state), (namespace, question, state.release), lambda: _compute(state, namespace, question))


def known_balance_view(
    state: ClusterState, namespace: str, question: BalanceQuestion
) -> BalanceView | Rejection | None:
    """``balance_view`` from the cache, None where it is not computed yet. O(1)."""
    return _views.known(_parts(state), (namespace, question, state.release))


def _parts(state: ClusterState) -> tuple[object, ...]:
    """All that a forecast is computed from."""
    return (
        state.topics, state.loads, state.namespaces, state.settings,
        state.subscriptions, state.key_subscriptions, state.producer_topics,
    )  # fmt: skip


def balance_frame(view: BalanceView, algorithm: SplitAlgorithmName, cycle: int) -> BalanceFrame:
    """The tree under an algorithm after a cycle, 0 being now; cycles past the end show the last one. Remembered."""
    tree = next(candidate for candidate in view.forecast.trees if candidate.algorithm == algorithm)
    number = max(0, min(cycle, len(tree.balance.cycles)))
    return _frames.get((tree.balance,), (number,), lambda: frame_of(tree.balance, algorithm, number, view.unrated))


def curve_after(
    view: BalanceView, algorithm: str, cycle: int, range_text: str, rule: FlowRule = "merged"
) -> FlowCurve | Rejection:
    """The traffic of a range along the hash axis with what flows after a cycle, the limits and the cuts. Remembered."""
    tree = next(candidate for candidate in view.forecast.trees if candidate.algorithm == algorithm)
    cycles = tree.balance.cycles
    interval = cycles[min(cycle, len(cycles)) - 1].interval if cycle > 0 and cycles else 0
    start = tree.balance.start

    def compute() -> FlowCurve | Rejection:
        return _curve(start.topics.loads_at(interval), range_text, start, rule)

    return _curves.get((start.topics, start.settings), (interval, range_text, rule), compute)


def curve_of(state: ClusterState, namespace: str, range_text: str, rule: FlowRule = "merged") -> FlowCurve | Rejection:
    """The same for a bundle or any range of a state as it is. Refused: an unknown namespace, a text without a range."""
    view = balance_start(
        bundles_of(state, namespace),
        balanced_topics(state, namespace, 1.0),
        broker_ids(1),
        state.settings,
        change_events=False,
    )
    if isinstance(view, Rejection):
        return view
    curve = _curve(view.topics.loads_at(0), range_text, view, rule)
    if isinstance(curve, Rejection):
        return curve
    return replace(curve, problems=(*view.problems, *curve.problems), bad_topics=view.bad_topics)


def _curve(loads: LoadColumns, range_text: str, start: BalanceStart, rule: FlowRule) -> FlowCurve | Rejection:
    piece = parse_range(range_text)
    if isinstance(piece, Rejection):
        return piece
    return flow_curve(piece, loads, flow_limits(start.settings), rule)


def balanced_topics(state: ClusterState, namespace: str, growth: float) -> TopicColumns:
    """The topics of a namespace as a simulation takes them: traffic, sessions, and the same growth for all."""
    loads = topic_loads(state, namespace)
    sessions = sessions_of(state)[:, listed_numbers(state, namespace)]
    return TopicColumns(loads, sessions, np.full(len(loads), growth))


def start_of_state(state: ClusterState, namespace: str, question: BalanceQuestion) -> BalanceStart | Rejection:
    """Where a simulation of this namespace begins: its topics with traffic and sessions, synthetic brokers."""
    refusal = too_many_brokers(question.brokers)
    if refusal is not None:
        return refusal
    settings = state.settings
    if question.as_if_on:
        settings = structs.replace(settings, loadBalancerAutoBundleSplitEnabled=True)
    return balance_start(
        bundles_of(state, namespace),
        balanced_topics(state, namespace, question.growth_per_cycle),
        broker_ids(question.brokers),
        settings,
        intervals=question.intervals,
        load_manager=question.load_manager,
        behaviour=behaviour_in(state),
    )


def _compute(state: ClusterState, namespace: str, question: BalanceQuestion) -> BalanceView | Rejection:
    growth = question.growth_per_cycle
    if not 0 <= growth < float("inf"):
        message = f"a growth of {growth} a cycle: give a finite number, 0 or above; 1 is none, 1.1 ten percent"
        return Rejection("IllegalArgumentException", message, "growth")
    start = start_of_state(state, namespace, question)
    if isinstance(start, Rejection):
        return start
    trees_ahead = forecast(start, question.cycles)
    if isinstance(trees_ahead, Rejection):
        return trees_ahead
    loads = start.topics.loads
    msgs_per_sec, bytes_per_sec = map(sum_in_order, loads.flow)
    unrated = _unrated(state, namespace)
    reason = why_no_run(start.settings, is_leader=True, known_brokers=len(start.brokers))
    if question.load_manager == "extensible" and reason == "one-broker":
        reason = None
    return BalanceView(
        namespace=namespace,
        release=state.release,
        question=question,
        brokers=start.brokers,
        bundles=len(start.bundles),
        topics=len(loads),
        assumed_topics=loads.names.more,
        msgs_per_sec=None if unrated else msgs_per_sec,
        bytes_per_sec=None if unrated else bytes_per_sec,
        idle=NO_RUNS[reason] if reason is not None else "",
        trees=tuple(_tree(tree) for tree in trees_ahead.trees),
        occupancy=count_occupancy(start.bundles, loads, start.brokers),
        needed=_needed(len(loads), len(start.brokers), start.settings.loadBalancerNamespaceMaximumBundles),
        problems=(*_without_rates(len(unrated)), *start.problems),
        bad_topics=start.bad_topics,
        forecast=trees_ahead,
        unrated=unrated,
    )


def _unrated(state: ClusterState, namespace: str) -> tuple[int, ...]:
    """The hashes of topics that have statistics without one of their rates, ascending."""
    numbers = listed_numbers(state, namespace)
    hashes = state.topics.crc32[numbers[lacking_rates(state, numbers)]]
    return tuple(np.sort(hashes).tolist())


def _without_rates(topics: int) -> tuple[Rejection, ...]:
    lacking = f"the statistics of {counted(topics, 'topic')} lack rates"
    text = f"{lacking}; the forecast takes 0 for them, so splits may come earlier"
    return (Rejection(RATES_UNKNOWN, text, "topics"),) if topics else ()


def _needed(topics: int, brokers: int, maximum: int) -> BundlesNeededRow:
    if topics > MOST_TOPICS_ASKED:
        numbers = ("--topics", str(topics), "--brokers", str(brokers), "--max-over-mean", str(EVEN_ENOUGH))
        line = shell_line("ringside", "suggest", "bundles", *numbers)
        message = f"{line} says how many bundles keep them even"
        return BundlesNeededRow(0, (), Rejection("TooManyTopics", message, "topics"))
    needed = bundles_needed(topics, brokers, maximum_bundles=maximum)
    if isinstance(needed, Rejection):
        return BundlesNeededRow(0, (), needed)
    return BundlesNeededRow(needed.bundles, needed.explanation)


def _tree(tree: ForecastTree) -> TreeRow:
    hottest = tree.hottest
    return TreeRow(
        algorithm=tree.algorithm,
        configured=tree.configured,
        bundles=len(tree.shares),
        empty_bundles=tree.empty_bundles,
        hottest=str(hottest.bundle),
        hottest_msgs_per_sec=hottest.msgs_per_sec,
        attempts=_attempts(tree.balance, tree.algorithm),
        loops=_loops(tree.loops),
    )


def _attempts(balance: Balance, algorithm: str) -> tuple[AttemptRow, ...]:
    def row(number: int, at_ms: int, attempt: Attempt) -> AttemptRow:
        return attempt_row(number, at_ms, attempt, algorithm, balance.start.load_manager)

    return tuple(row(cycle.number, cycle.at_ms, attempt) for cycle in balance.cycles for attempt in cycle.attempts)


def _loops(loops: tuple[Loop, ...]) -> tuple[LoopRow, ...]:
    """Bundles that go round in the same way are one row: those of one kind, detail and outcome."""
    groups: dict[tuple[str, str, bool], list[Loop]] = {}
    for loop in loops:
        detail = "" if loop.kind in ("unloaded-for-nothing", "returns-to-former-owner") else loop.detail
        groups.setdefault((loop.kind, detail, loop.lasts), []).append(loop)
    rows = []
    for group in groups.values():
        ranges = tuple(range_of(loop.bundle) for loop in group)
        rows.append(
            LoopRow(
                kind=group[0].kind,
                bundles=ranges,
                first_cycle=min(loop.cycles[0] for loop in group),
                last_cycle=max(loop.cycles[-1] for loop in group),
                times=sum(loop.times for loop in group),
                lasts=group[0].lasts,
                sentence=loop_text(group, ranges),
            )
        )
    # Loops that continue come first: they need action.
    return tuple(sorted(rows, key=lambda row: not row.lasts))


def sessions_of(state: ClusterState) -> NDArray[np.int64]:
    """Producers and consumers of each partition by the numbers of the table of topics: (2, n)."""
    parts = (state.topics, state.subscriptions, state.key_subscriptions, state.producer_topics)
    return _sessions.get(parts, (), lambda: _count(state))


def _count(state: ClusterState) -> NDArray[np.int64]:
    topics = state.topics
    producers, consumers = sessions = np.zeros((2, topics.partition_count), dtype=np.int64)
    for topic in state.producer_topics:
        for index, objects in enumerate(topic.producers.topic.connected):
            number = topics.partition_number(partition_name(topic.topic, index))
            if number >= 0:
                producers[number] += len(objects)
    for subscription in state.subscriptions:
        consumers[partition_columns(topics, subscription).numbers] += len(subscription.consumers)
    for keyed in state.key_subscriptions:
        places = topics.places(keyed.topics)
        consumers[topics.numbers_of(places[places >= 0])] += len(keyed.consumers)
    return sessions


def range_of(full_name: str) -> str:
    """The range of a full bundle name; a name without a range is returned as it is."""
    return full_name.rpartition("/")[2] if "_0x" in full_name else full_name


def attempt_row(cycle: int, at_ms: int, attempt: Attempt, algorithm: str, load_manager: LoadManager) -> AttemptRow:
    """An attempt with its sentences."""
    measure = attempt.measure
    return AttemptRow(
        cycle=cycle,
        at_seconds=at_ms / 1000,
        range_text=range_of(attempt.bundle),
        broker=attempt.broker,
        outcome=attempt.outcome,
        reason=attempt.reason,
        measured=measure.measured if measure is not None else None,
        limit=measure.limit if measure is not None else None,
        cuts=attempt.cuts,
        children=tuple(str(child) for child in attempt.children),
        echo=attempt.echo,
        why=why_text(attempt.reason, measure, load_manager),
        sentence=attempt_text(attempt, algorithm),
    )


def frame_of(balance: Balance, algorithm: SplitAlgorithmName, cycle: int, unrated: Sequence[int] = ()) -> BalanceFrame:
    """The tree after a cycle of the simulation, 0 for its start. O(topics + bundles of all cycles up to it).

    ``unrated``: hashes of topics whose rates no answer has, ascending; their bundles have unknown rates.
    """
    this = balance.cycles[cycle - 1] if cycle else None
    manager = balance.start.load_manager
    attempts = () if this is None else this.attempts
    at_ms = this.at_ms if this is not None else 0
    return BalanceFrame(
        algorithm=algorithm,
        cycle=cycle,
        at_seconds=at_ms / 1000,
        early=this is not None and this.early,
        rows=tuple(_Tree.after(balance, cycle, unrated).rows()),
        attempts=tuple(attempt_row(cycle, at_ms, attempt, algorithm, manager) for attempt in attempts),
        moves=tuple(_moves(this)),
        remarks=tuple(_remarks(this, balance)),
    )


def _moves(cycle: BalanceCycle | None) -> Iterator[str]:
    for move in cycle.moves if cycle is not None else ():
        where = f"back to {move.to_broker}" if move.came_back else f"from {move.from_broker} to {move.to_broker}"
        noun = "topic" if len(move.topics) == 1 else "topics"
        yield f"{range_of(move.bundle)} unloaded, {where}: {len(move.topics)} {noun} interrupted"


def _remarks(cycle: BalanceCycle | None, balance: Balance) -> Iterator[str]:
    if cycle is None:
        return
    if cycle.early:
        yield f"reports written early, {span_text(cycle.at_ms / 1000)} from now: much had changed since the last ones"
    for reason in dict.fromkeys(run.no_run for run in cycle.runs if run.no_run is not None):
        yield NO_RUNS[reason]
    for namespace in dict.fromkeys(name for run in cycle.runs for name in run.full_namespaces):
        most = balance.start.settings.loadBalancerNamespaceMaximumBundles
        yield f"{namespace} is full (loadBalancerNamespaceMaximumBundles {most}): bundles above a limit stay"
    unseen = sum(verdict.outcome == "not-looked-at" for run in cycle.runs for verdict in run.verdicts)
    if unseen:
        most = balance.start.settings.loadBalancerMaxNumberOfBundlesToSplitPerCycle
        yield f"{unseen} not looked at and without a hit: a broker splits at most {most} in a cycle"
    echoes = sum(attempt.echo for attempt in cycle.attempts)
    if echoes:
        yield f"{echoes} of the attempts echo a split: judged by the first rates after the unload"
    for run in cycle.runs:
        if run.thrown is not None:
            yield f"{run.broker} gives the whole cycle up: {run.thrown.message}"


@dataclass(slots=True)
class _Tree:
    """The data of each range after a cycle, while a frame is built."""

    balance: Balance
    cycle: int
    bundles: tuple[BundleRange, ...]
    children: dict[BundleRange, tuple[BundleRange, ...]] = field(default_factory=dict)
    born: dict[BundleRange, int] = field(default_factory=dict)
    ended: dict[BundleRange, tuple[int, SplitReason]] = field(default_factory=dict)
    owners: Mapping[BundleRange, str] = field(default_factory=dict)
    verdicts: Mapping[str, BalanceVerdict] = field(default_factory=dict)
    interval: int = 0
    unrated: Sequence[int] = ()

    @classmethod
    def after(cls, balance: Balance, cycle: int, unrated: Sequence[int]) -> _Tree:
        start = balance.start
        tree = cls(balance, cycle, start.bundles.bundles, unrated=unrated)
        for number, attempt in balance.splits:
            if number <= cycle:
                parent = BundleRange(attempt.children[0].lower, attempt.children[-1].upper)
                tree.children[parent] = attempt.children
                tree.ended[parent] = (number, attempt.reason)
                tree.born |= dict.fromkeys(attempt.children, number)
        brokers = start.brokers
        tree.owners = {
            bundle: start.owners.get(str(bundle), brokers[place % len(brokers)])
            for place, bundle in enumerate(start.bundles)
        }
        if cycle:
            this = balance.cycles[cycle - 1]
            tree.interval = this.interval
            tree.owners = dict(this.owners)
            tree.verdicts = _last_verdicts(this)
        return tree

    def rows(self) -> Iterator[BundleRow]:
        for place, bundle in enumerate(self.bundles):
            yield from self._below(bundle, (place == len(self.bundles) - 1,))

    def _below(self, bundle: BundleRange, last_of: tuple[bool, ...]) -> Iterator[BundleRow]:
        yield self._row(bundle, last_of)
        children = self.children.get(bundle, ())
        for child in children:
            yield from self._below(child, (*last_of, child is children[-1]))

    def _row(self, bundle: BundleRange, last_of: tuple[bool, ...]) -> BundleRow:
        settings, name = self.balance.start.settings, f"{self.balance.start.bundles.namespace}/{bundle}"
        stats = self._stats(bundle, name)
        first = bisect_left(self.unrated, bundle.lower)
        is_known = first == len(self.unrated) or not bundle.includes(self.unrated[first])
        measures = limit_measures(stats, stats.msgs_per_sec, stats.bytes_per_sec, settings)
        split_in, reason = self.ended.get(bundle, (0, "Unknown"))
        verdict = self.verdicts.get(name)
        needed = settings.loadBalancerNamespaceBundleSplitConditionHitCountThreshold + 1
        return BundleRow(
            range_text=str(bundle),
            lower=bundle.lower,
            upper=bundle.upper,
            depth=len(last_of) - 1,
            last_of=last_of,
            broker=self.owners.get(bundle, ""),
            topics=stats.topics,
            sessions=stats.sessions,
            msgs_per_sec=stats.msgs_per_sec if is_known else None,
            bytes_per_sec=stats.bytes_per_sec if is_known else None,
            measures=tuple(
                MeasureRow(measure.reason, measure.measured, measure.limit, measure.share_of_limit)
                for measure in measures
            ),
            born_in=self.born.get(bundle, 0),
            split_in=split_in,
            split_reason=reason,
            hits=verdict.hits if verdict is not None else 0,
            verdict=verdict_text(verdict.outcome, verdict.reason, verdict.hits, needed) if verdict is not None else "",
        )

    def _stats(self, bundle: BundleRange, name: str) -> BundleStats:
        return BundleStats(name, *self.balance.start.topics.sums_by_hash(bundle, self.interval))


def _last_verdicts(cycle: BalanceCycle) -> dict[str, BalanceVerdict]:
    """The last verdict on each bundle. Very many runs share their verdicts, so each verdict is examined once."""
    last: dict[str, BalanceVerdict] = {}
    before: tuple[BalanceVerdict, ...] = ()
    for run in cycle.runs:
        if run.verdicts is not before:
            before = run.verdicts
            last.update((verdict.bundle, verdict) for verdict in before)
    return last
