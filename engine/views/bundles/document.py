"""A namespace over time as one JSON document: the forecast, every cycle's tree, loops, occupancy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Annotated, Any, ClassVar

from msgspec import Struct, structs

from engine.answer import about, extended
from engine.balance.settings import BalanceSettings
from engine.bundles.curve import FlowCurve
from engine.bundles.occupancy import CountedOccupancy, ExpectedOccupancy
from engine.bundles.plan import LoadManager
from engine.bundles.sizing import BundlesNeeded
from engine.config import SplitAlgorithmName
from engine.documents import document
from engine.errors import Rejection
from engine.views.bundles.model import AttemptRow, BalanceFrame, BalanceView, LoopRow, MeasureRow, TreeRow
from engine.views.bundles.view import balance_frame
from engine.views.bundles.words import curve_texts


class CycleSettings(BalanceSettings, frozen=True, kw_only=True):
    """Settings that give cycles their times, and what a cycle may do."""

    loadBalancerMaxNumberOfBundlesToSplitPerCycle: Annotated[int, about("For each broker; 0 or less is no limit.")]
    loadBalancerNamespaceBundleSplitConditionHitCountThreshold: Annotated[
        int, about("One hit more than this in a row makes a split.")
    ]


class BundleRow(Struct, frozen=True):
    bundle: Annotated[str, about("The bundle.")]
    broker: Annotated[str | None, about("Its owner, null where nobody has it.")]
    topics: Annotated[int, about("Topics in it, assumed ones among them.", 0)]
    sessions: Annotated[int, about("Producers and consumers.", 0)]
    msgs_per_sec: Annotated[float | None, about("Messages per second, in and out; null where a topic lacks rates.", 0)]
    bytes_per_sec: Annotated[float | None, about("Bytes per second, in and out; null where a topic lacks rates.", 0)]
    nearest_limit: Annotated[MeasureRow, about("The number that is nearest to its limit.")]
    over: Annotated[bool, about("Whether it is above a limit.")]
    since_cycle: Annotated[int, about("The cycle that made it, 0 for the start.", 0)]


class HottestBundle(Struct, frozen=True):
    """The busiest bundle at the end."""

    bundle: Annotated[str, about("The bundle.")]
    msgs_per_sec: Annotated[float, about("Messages per second.", 0)]


class TreeDocument(Struct, frozen=True):
    """What one algorithm makes of the namespace."""

    algorithm: Annotated[SplitAlgorithmName, about("Pulsar's name of it.")]
    configured: Annotated[bool, about("Whether the settings lead to it.")]
    splits: Annotated[int, about("How many attempts changed something.", 0)]
    attempts: Annotated[Sequence[AttemptRow], about("All attempts, first ones first.")]
    loops: Annotated[Sequence[LoopRow], about("What goes round, what lasts first.")]
    empty_bundles: Annotated[int, about("Bundles without a topic at the end.", 0)]
    hottest: Annotated[HottestBundle, about("The busiest bundle at the end.")]
    after: Annotated[Sequence[BundleRow], about("The bundles after the last cycle, ascending.")]


class Counted(Struct, frozen=True):
    """Topics counted in bundles and on brokers."""

    topics: Annotated[int, about("Topics that are in a bundle.", 0)]
    per_bundle: Annotated[Mapping[str, int], about("Topics by range.", 0)]
    per_broker: Annotated[Mapping[str, int], about("Topics by broker.", 0)]
    empty_bundles: Annotated[int, about("Bundles without a topic.", 0)]
    idle_brokers: Annotated[Sequence[str], about("Brokers without a topic.")]
    fullest_bundle: Annotated[int, about("Topics in the fullest bundle.", 0)]
    fullest_broker: Annotated[int, about("Topics of the fullest broker.", 0)]
    unplaced: Annotated[Sequence[str], about("Topics in no bundle.")]
    expected: Annotated[ExpectedOccupancy, about("What chance does with as many topics in equal bundles, on average.")]


class NotCounted(Struct, frozen=True):
    """Why not."""

    problem: Annotated[Rejection, about("What stands in the way.")]


class BundlesDocument(Struct, frozen=True):
    """What `ringside forecast --json` prints: a namespace over time, its bundles beside their limits."""

    FORMAT: ClassVar = "ringside.bundles/1"

    namespace: Annotated[str, about("tenant/namespace.")]
    release: Annotated[str, about("The Pulsar version whose rules hold.")]
    load_manager: Annotated[LoadManager, about("Which one decides.")]
    brokers: Annotated[Sequence[str], about("Made-up ids, host:webport.")]
    cycles: Annotated[int, about("How many cycles ahead.", 1)]
    growth_per_cycle: Annotated[float, about("What the traffic is multiplied by at each full interval.", 0)]
    intervals: Annotated[CycleSettings, about("Settings that give cycles their times, and what a cycle may do.")]
    bundles: Annotated[int, about("Bundles now.", 1)]
    topics: Annotated[int, about("Topics, assumed ones among them.", 0)]
    assumed_topics: Annotated[
        Sequence[str], about("Topics that no answer lists and brokers have all the same; every bundle counts them.")
    ]
    msgs_per_sec: Annotated[float | None, about("Messages per second, in and out; null where a topic lacks rates.", 0)]
    bytes_per_sec: Annotated[float | None, about("Bytes per second, in and out; null where a topic lacks rates.", 0)]
    decides: Annotated[bool, about("Whether anything is decided at all.")]
    why_not: Annotated[str | None, about("Why nothing is.")]
    algorithm: Annotated[SplitAlgorithmName, about("The one that the settings lead to.")]
    next_split: Annotated[AttemptRow | None, about("The first attempt that changes something, null for none.")]
    next_attempt: Annotated[AttemptRow | None, about("The first attempt of any outcome, null for none.")]
    now: Annotated[Sequence[BundleRow], about("The bundles now, ascending.")]
    trees: Annotated[Sequence[TreeDocument], about("Each algorithm, the configured one among them.")]
    occupancy: Annotated[Counted | NotCounted, about("How topics are spread now, or why that is unknown.")]
    bundles_needed: Annotated[
        int | None, about("How many bundles would keep the brokers even, null where none does.", 1)
    ]
    bad_topics: Annotated[int, about("Topics that were left out.", 0)]
    problems: Annotated[Sequence[Rejection], about("What is wrong with the input or odd about the settings.")]


def balance_document(view: BalanceView) -> BundlesDocument:
    """A view with trees with the bundles after the last cycle.

    Rates are msg/s and bytes/s, times are seconds from now. O(attempts + bundles).
    """
    configured = view.configured
    split, attempt = configured.next_split(), configured.next_attempt()
    return BundlesDocument(
        namespace=view.namespace,
        release=view.release,
        load_manager=view.question.load_manager,
        brokers=view.brokers,
        cycles=view.question.cycles,
        growth_per_cycle=view.question.growth_per_cycle,
        intervals=_cycle_settings(view),
        bundles=view.bundles,
        topics=view.topics,
        assumed_topics=view.assumed_topics,
        msgs_per_sec=view.msgs_per_sec,
        bytes_per_sec=view.bytes_per_sec,
        decides=not view.idle,
        why_not=view.idle or None,
        algorithm=configured.algorithm,
        next_split=split,
        next_attempt=attempt,
        now=_rows(balance_frame(view, configured.algorithm, 0)),
        trees=[_tree(view, tree) for tree in view.trees],
        occupancy=_occupancy(view.occupancy),
        bundles_needed=view.needed.bundles or None,
        bad_topics=view.bad_topics,
        problems=view.problems,
    )


def _cycle_settings(view: BalanceView) -> CycleSettings:
    settings = view.forecast.trees[0].balance.start.settings
    return extended(
        CycleSettings,
        view.question.intervals,
        loadBalancerMaxNumberOfBundlesToSplitPerCycle=settings.loadBalancerMaxNumberOfBundlesToSplitPerCycle,
        loadBalancerNamespaceBundleSplitConditionHitCountThreshold=(
            settings.loadBalancerNamespaceBundleSplitConditionHitCountThreshold
        ),
    )


def _tree(view: BalanceView, tree: TreeRow) -> TreeDocument:
    last = balance_frame(view, tree.algorithm, view.question.cycles)
    return TreeDocument(
        algorithm=tree.algorithm,
        configured=tree.configured,
        splits=len(tree.splits),
        attempts=tree.attempts,
        loops=tree.loops,
        empty_bundles=tree.empty_bundles,
        hottest=HottestBundle(bundle=tree.hottest, msgs_per_sec=tree.hottest_msgs_per_sec),
        after=_rows(last),
    )


def _rows(frame: BalanceFrame) -> list[BundleRow]:
    return [
        BundleRow(
            bundle=row.range_text,
            broker=row.broker or None,
            topics=row.topics,
            sessions=row.sessions,
            msgs_per_sec=row.msgs_per_sec,
            bytes_per_sec=row.bytes_per_sec,
            nearest_limit=row.nearest,
            over=row.over,
            since_cycle=row.born_in,
        )
        for row in frame.leaves
    ]


def _occupancy(occupancy: CountedOccupancy | Rejection) -> Counted | NotCounted:
    return NotCounted(occupancy) if isinstance(occupancy, Rejection) else counted_document(occupancy)


def counted_document(occupancy: CountedOccupancy) -> Counted:
    """Topics counted in bundles and on brokers, and what chance would do."""
    return Counted(
        topics=occupancy.topics,
        per_bundle={str(bundle): count for bundle, count in zip(occupancy.bundles, occupancy.per_bundle, strict=True)},
        per_broker=dict(occupancy.per_broker),
        empty_bundles=occupancy.empty_bundles,
        idle_brokers=occupancy.idle_brokers,
        fullest_bundle=occupancy.fullest_bundle,
        fullest_broker=occupancy.fullest_broker,
        unplaced=occupancy.unplaced,
        expected=occupancy.expected,
    )


def needed_document(needed: BundlesNeeded) -> dict[str, Any]:
    """How many bundles it takes, the bounds, and the table of other numbers beside it."""
    return {
        "bundles": needed.bundles,
        "max_over_mean": needed.max_over_mean,
        "idle_share": needed.idle_share,
        "governed_by": needed.governed_by,
        "within_maximum": needed.within_maximum,
        "expected": document(needed.expected),
        "table": [document(row) for row in needed.table],
        "explanation": list(needed.explanation),
    }


def curve_document(curve: FlowCurve) -> dict[str, Any]:
    """A curve with its points along the hash axis, limits, cuts and sentences."""
    return asdict(replace(curve, points=(), idle=())) | {
        "bundle": str(curve.bundle),
        "points": [asdict(point) for point in curve.points],
        "cuts": [asdict(cut) for cut in curve.cuts],
        "positions": list(curve.positions),
        "idle": list(curve.idle),
        "problems": [structs.asdict(problem) for problem in curve.problems],
        "sentences": list(curve_texts(curve)),
    }
