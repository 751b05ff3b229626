"""Which bundles a load manager would split by the numbers of now, and what would come of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import fsum

from engine.balance.limits import BundleStats, SplitReason, exceeded_limit
from engine.bundles.algorithms import resolve_algorithm
from engine.bundles.boundaries import BundleRange, NamespaceBundles
from engine.bundles.loads import TopicLoad
from engine.bundles.split import choose_cuts
from engine.errors import Rejection
from engine.lint.model import World


@dataclass(frozen=True, slots=True)
class Attempt:
    """One bundle above a limit, with all its topics, and the cuts of the default algorithm.

    ``cuts`` None: the algorithm has nothing to split. ``refusal``: it cannot work at all. ``full``: the namespace has
    as many bundles as it may, so that the algorithm is not even asked. Rates are in plus out.
    """

    bundle: BundleRange
    topics: tuple[TopicLoad, ...]
    reason: SplitReason
    msgs_per_sec: float
    bytes_per_sec: float
    algorithm: str
    cuts: tuple[int, ...] | None
    refusal: Rejection | None = None
    full: bool = False

    @property
    def children(self) -> tuple[BundleRange, ...]:
        """The bundles after it; empty when the cuts cannot be carried out."""
        ends = (self.bundle.lower, *(self.cuts or ()), self.bundle.upper)
        if not self.cuts or any(low >= high for low, high in pairwise(ends)):
            return ()
        return tuple(BundleRange(low, high) for low, high in pairwise(ends))


def attempts(
    world: World,
    bundles: NamespaceBundles,
    by_bundle: Iterable[tuple[BundleRange, tuple[TopicLoad, ...]]],
    sessions_of: Mapping[str, int],
) -> Iterator[Attempt]:
    """The splits that are due, by bundle. O(t log b), and O(k log k) for k topics of a bundle above a limit.

    As in both load managers only bundles with two or more loaded topics count, and only while
    ``loadBalancerAutoBundleSplitEnabled``. Rates are those of now, which the modular one averages over time.
    """
    settings = world.settings
    if not settings.loadBalancerAutoBundleSplitEnabled:
        return
    full = len(bundles) >= settings.loadBalancerNamespaceMaximumBundles
    for bundle, topics in by_bundle:
        loaded = [topic for topic in topics if topic.has_stats]
        if len(loaded) < 2 or not bundle.can_split:
            continue
        rate = fsum(topic.msgs_per_sec for topic in loaded)
        throughput = fsum(topic.bytes_per_sec for topic in loaded)
        # Only their sum is compared, so it does not matter that all of them are told as producers.
        sessions = sum(sessions_of.get(topic.name, 0) for topic in loaded)
        stats = BundleStats(f"{bundles.namespace}/{bundle}", topics=len(loaded), producers=sessions)
        reason = exceeded_limit(stats, rate, throughput, settings)
        if reason != "Unknown":
            algorithm, cuts, refusal = (algorithm_of(world), None, None) if full else cuts_of(world, bundle, topics)
            yield Attempt(bundle, topics, reason, rate, throughput, algorithm, cuts, refusal, full)


def cuts_of(
    world: World, bundle: BundleRange, topics: tuple[TopicLoad, ...]
) -> tuple[str, tuple[int, ...] | None, Rejection | None]:
    """The default algorithm's exact name, its cuts for these topics, and why there can be none."""
    algorithm = algorithm_of(world)
    cuts = choose_cuts(bundle, algorithm, None, topics, world.settings)
    return (algorithm, None, cuts) if isinstance(cuts, Rejection) else (algorithm, cuts, None)


def algorithm_of(world: World) -> str:
    """The exact name of the algorithm of automatic splits."""
    default = world.settings.defaultNamespaceBundleSplitAlgorithm
    return resolve_algorithm(None, default, world.behaviour.split_algorithms)
