"""A namespace over time as one JSON document: the forecast, every cycle's tree, loops, occupancy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

from msgspec import Struct

from engine.answer import FLAT, about, extended
from engine.balance.settings import BalanceSettings
from engine.bundles.curve import FlowCurve
from engine.bundles.occupancy import CountedOccupancy
from engine.bundles.plan import LoadManager
from engine.config import SplitAlgorithmName
from engine.errors import Rejection
from engine.views.bundles.model import AttemptRow, BalanceView, BundleRow, LoopRow, TreeRow
from engine.views.bundles.view import balance_frame
from engine.views.bundles.words import curve_texts


class CycleSettings(BalanceSettings, frozen=True, kw_only=True):
    """Settings that give cycles their times, and what a cycle may do."""

    loadBalancerMaxNumberOfBundlesToSplitPerCycle: Annotated[int, about("For each broker; 0 or less is no limit.")]
    loadBalancerNamespaceBundleSplitConditionHitCountThreshold: Annotated[
        int, about("One hit more than this in a row makes a split.")
    ]


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
    occupancy: Annotated[CountedOccupancy | NotCounted, about("How topics are spread now, or why that is unknown.")]
    bundles_needed: Annotated[
        int | None,
        about("The fewest bundles with which chance keeps busiest / average at 1.5; null where none does.", 1),
    ]
    bad_topics: Annotated[int, about("Topics that were left out.", 0)]
    problems: Annotated[Sequence[Rejection], about("What is wrong with the input or odd about the settings.")]


def balance_document(view: BalanceView) -> BundlesDocument:
    """A view with trees with the bundles after the last cycle.

    Rates are msg/s and bytes/s, times are seconds from now. O(attempts + bundles).
    """
    configured = view.configured
    return extended(
        BundlesDocument,
        view,
        load_manager=view.question.load_manager,
        cycles=view.question.cycles,
        growth_per_cycle=view.question.growth_per_cycle,
        intervals=_cycle_settings(view),
        decides=not view.idle,
        why_not=view.idle or None,
        algorithm=configured.algorithm,
        next_split=configured.next_split(),
        next_attempt=configured.next_attempt(),
        now=balance_frame(view, configured.algorithm, 0).leaves,
        trees=[_tree(view, tree) for tree in view.trees],
        occupancy=NotCounted(view.occupancy) if isinstance(view.occupancy, Rejection) else view.occupancy,
        bundles_needed=view.needed.bundles or None,
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
    return extended(
        TreeDocument,
        tree,
        splits=len(tree.splits),
        hottest=HottestBundle(tree.hottest, tree.hottest_msgs_per_sec),
        after=balance_frame(view, tree.algorithm, view.question.cycles).leaves,
    )


class CurveDocument(Struct, frozen=True):
    """What `ringside forecast --curve --json` prints: the traffic of a bundle's topics along the hash axis."""

    FORMAT: ClassVar = "ringside.curve/1"

    namespace: Annotated[str, about("tenant/namespace.")]
    curve: Annotated[FlowCurve, FLAT]

    @property
    def sentences(self) -> Annotated[tuple[str, ...], about("What it says; the first one is the outcome.")]:
        return curve_texts(self.curve)
