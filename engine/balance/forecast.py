"""Which bundle splits next, why and when, and what each algorithm makes of the namespace in some cycles."""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.balance.cycles import simulate
from engine.balance.loops import Loop, find_loops
from engine.balance.model import Attempt, Balance, BalanceCycle, BundleLoad
from engine.balance.start import BalanceStart
from engine.balance.topics import loads_at
from engine.bundles.algorithms import resolve_algorithm
from engine.bundles.plan import ChildShare, shares_of
from engine.config import SPLIT_ALGORITHMS
from engine.errors import Rejection


@dataclass(frozen=True, slots=True)
class ForecastAttempt:
    """An attempt and when it comes: number of the cycle, counted from 1, and milliseconds from now."""

    cycle: int
    at_ms: int
    attempt: Attempt

    @property
    def at_seconds(self) -> float:
        return self.at_ms / 1000


@dataclass(frozen=True, slots=True)
class ForecastTree:
    """What one algorithm, as the broker's default, makes of the namespace.

    ``shares``: the bundles after the last cycle, with topics and traffic. ``configured``: it is the algorithm the
    settings lead to.
    """

    algorithm: str
    configured: bool
    balance: Balance
    shares: tuple[ChildShare, ...]
    loops: tuple[Loop, ...]

    @property
    def split_count(self) -> int:
        return len(self.balance.splits)

    @property
    def empty_bundles(self) -> int:
        """Bundles without a topic."""
        return sum(not len(share.topics) for share in self.shares)

    @property
    def hottest(self) -> ChildShare:
        """The bundle with the highest message rate; of equals the first."""
        return max(self.shares, key=lambda share: share.msgs_per_sec)


@dataclass(frozen=True, slots=True)
class Forecast:
    """What comes of a namespace if its traffic goes on as given.

    ``next_split`` is the first split that changes something, ``next_attempt`` the first attempt of any outcome; None
    when none comes within ``cycles``. ``outlook``: the bundles in the first cycle, the nearest to a limit first.
    ``trees``: one for each of the four algorithms, in their usual order, the configured one among them.
    """

    start: BalanceStart
    cycles: int
    next_split: ForecastAttempt | None
    next_attempt: ForecastAttempt | None
    outlook: tuple[BundleLoad, ...]
    trees: tuple[ForecastTree, ...]

    @property
    def configured(self) -> ForecastTree:
        """The tree of the algorithm the settings lead to."""
        return next(tree for tree in self.trees if tree.configured)

    @property
    def loops(self) -> tuple[Loop, ...]:
        """What goes round in circles under the configured algorithm."""
        return self.configured.loops


def forecast(start: BalanceStart, cycles: int = 20) -> Forecast | Rejection:
    """The next split and four trees after ``cycles`` cycles (:func:`simulate` says what a cycle is).

    Refused: less than one cycle, or more than can be simulated. Costs four simulations.

    >>> from engine.balance.start import balance_start
    >>> from engine.bundles.boundaries import NamespaceBundles
    >>> from engine.bundles.loads import TopicLoad
    >>> from engine.config import BrokerSettings
    >>> topics = [TopicLoad("persistent://t/n/a", 1, 20000.0), TopicLoad("persistent://t/n/b", 0xF0000000, 20000.0)]
    >>> whole = NamespaceBundles("t/n", (0, 0xFFFFFFFF))
    >>> start = balance_start(whole, topics, ["b:1"], BrokerSettings(), load_manager="extensible", change_events=False)
    >>> coming = forecast(start, 5)
    >>> coming.next_split.cycle, coming.next_split.at_seconds, coming.next_split.attempt.reason
    (4, 240.0, 'MsgRate')
    >>> [len(tree.shares) for tree in coming.trees]
    [2, 2, 1, 2]
    """
    if cycles < 1:
        return Rejection("IllegalArgumentException", f"{cycles} cycles: a forecast needs 1 or more", field="cycles")
    default = start.settings.defaultNamespaceBundleSplitAlgorithm
    used = resolve_algorithm(None, default, start.behaviour.split_algorithms)
    trees: list[ForecastTree] = []
    for algorithm in SPLIT_ALGORITHMS:
        settings = replace(start.settings, defaultNamespaceBundleSplitAlgorithm=algorithm)
        # A release that does not know an algorithm falls back; the forecast of a tree asks what it would do.
        behaviour = replace(start.behaviour, split_algorithms=SPLIT_ALGORITHMS)
        balance = simulate(replace(start, settings=settings, behaviour=behaviour), cycles)
        if isinstance(balance, Rejection):
            return balance
        trees.append(ForecastTree(algorithm, algorithm == used, balance, _shares(balance), find_loops(balance)))
    done = next(tree for tree in trees if tree.configured).balance.cycles
    outlook = sorted(done[0].loads, key=lambda load: -load.nearest_limit.share_of_limit)
    return Forecast(start, cycles, _first(done, real=True), _first(done, real=False), tuple(outlook), tuple(trees))


def _shares(balance: Balance) -> tuple[ChildShare, ...]:
    return shares_of(balance.bundles.bundles, loads_at(balance.start.topics, balance.cycles[-1].interval))


def _first(cycles: tuple[BalanceCycle, ...], *, real: bool) -> ForecastAttempt | None:
    for each in cycles:
        for attempt in each.splits if real else each.attempts:
            return ForecastAttempt(each.number, each.at_ms, attempt)
    return None
