"""One cycle of a simulation as a tree: bundles in force, and those that were split, with their children."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from engine.balance.limits import BundleStats, SplitReason, limit_measures
from engine.balance.splitting.model import Attempt, Balance, BalanceCycle, BalanceVerdict, BundleLoad
from engine.bundles.boundaries import BundleRange
from engine.bundles.plan import LoadManager
from engine.config import SplitAlgorithmName
from engine.views.bundles.model import AttemptRow, BalanceFrame, BundleRow, MeasureRow
from engine.views.bundles.words import NO_RUNS, attempt_text, span_text, verdict_text, why_text


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
    seen: Mapping[BundleRange, BundleLoad] = field(default_factory=dict)
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
            tree.seen = {load.bundle: load for load in this.loads}
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
        seen, verdict = self.seen.get(bundle), self.verdicts.get(name)
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
            seen_msgs_per_sec=seen.msgs_per_sec if seen is not None else None,
            samples=seen.samples if seen is not None else 0,
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
