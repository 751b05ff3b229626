"""What the screen "bundles" shows, as plain values: a namespace over time, its bundles beside their limits.

Rates are messages per second and bytes per second, in plus out; shares are fractions, 1.0 on a limit; hashes are
numbers; cycles count from 1, and 0 is the namespace as it is now. The sentences are in ``words``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from engine.answer import about
from engine.balance.limits import SplitReason
from engine.balance.settings import BalanceSettings
from engine.balance.splitting.forecast import Forecast
from engine.balance.splitting.loops import LoopKind
from engine.balance.splitting.model import AttemptOutcome
from engine.bundles.occupancy import CountedOccupancy
from engine.bundles.plan import LoadManager
from engine.config import SplitAlgorithmName
from engine.errors import Rejection


@dataclass(frozen=True, slots=True)
class BalanceQuestion:
    """The question besides the state: number of brokers, load manager, cycles, growth per cycle.

    ``intervals`` are the settings that give cycles their times; all others are the state's.
    ``growth_per_cycle`` 1.1 is ten percent more traffic at each full interval. ``as_if_on``: as if the state's brokers
    split by themselves, whatever their setting says.
    """

    brokers: int = 2
    load_manager: LoadManager = "modular"
    cycles: int = 20
    growth_per_cycle: float = 1.0
    intervals: BalanceSettings = field(default_factory=BalanceSettings)
    as_if_on: bool = False


@dataclass(frozen=True, slots=True)
class MeasureRow:
    """One number beside its limit, in the unit of ``reason`` (:class:`engine.bundles.LimitMeasure`)."""

    reason: Annotated[SplitReason, about("Which one.")]
    measured: Annotated[float, about("In its own unit.")]
    limit: Annotated[float, about("In the same unit.")]
    share: Annotated[float, about("Measured over limit: 1 is on it.")]


@dataclass(frozen=True, slots=True)
class BundleRow:
    """One line of the tree after a cycle, children below their parents.

    ``depth`` 0 is a bundle of the start; ``last_of`` says for each level whether nothing follows on it, so that guides
    can be drawn. ``split_in``: the cycle that split it, 0 for a bundle that is still there; ``born_in``: the cycle that
    made it, 0 for those of the start. ``measures`` are with the true traffic after the cycle. Rates are None where
    no answer has those of a topic in it; what is decided takes 0 for them, and so do the measures. ``hits``: in a row
    (extensible). ``verdict`` is in words, "" without one.
    """

    range_text: Annotated[str, about("The bundle.", key="bundle")]
    lower: int
    upper: int
    depth: int
    last_of: tuple[bool, ...]
    broker: Annotated[str, about("Its owner, null where nobody has it.", null="")]
    topics: Annotated[int, about("Topics in it, assumed ones among them.", 0)]
    sessions: Annotated[int, about("Producers and consumers.", 0)]
    msgs_per_sec: Annotated[float | None, about("Messages per second, in and out; null where a topic lacks rates.", 0)]
    bytes_per_sec: Annotated[float | None, about("Bytes per second, in and out; null where a topic lacks rates.", 0)]
    measures: tuple[MeasureRow, ...]
    born_in: Annotated[int, about("The cycle that made it, 0 for the start.", 0, key="since_cycle")]
    split_in: int
    split_reason: SplitReason
    hits: int
    verdict: str

    @property
    def nearest(
        self,
    ) -> Annotated[MeasureRow, about("The number that is nearest to its limit.", key="nearest_limit")]:
        """The measure with the largest share of its limit; of equals the first."""
        return max(self.measures, key=lambda measure: measure.share)

    @property
    def over(self) -> Annotated[bool, about("Whether it is above a limit.")]:
        """Whether a decider finds it above a limit; a bundle with fewer than two loaded topics is never considered."""
        return self.topics > 1 and any(measure.measured > measure.limit for measure in self.measures)


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """One split that a decider asked for; ``measured`` and ``limit`` in the reason's unit, ``at_seconds`` from now.

    ``sentence`` is about the outcome, ``why`` about the reason.
    """

    cycle: Annotated[int, about("The cycle, from 1.", 1)]
    at_seconds: Annotated[float, about("Seconds from now.", 0)]
    range_text: Annotated[str, about("The bundle.")]
    broker: Annotated[str, about("Its owner.")]
    outcome: Annotated[AttemptOutcome, about("What came of it.")]
    reason: Annotated[SplitReason, about("The limit that it is above.")]
    measured: Annotated[
        float | None, about("What was measured, in the reason's unit: topics, sessions, msg/s or bytes/s.")
    ]
    limit: Annotated[float | None, about("The limit, in the same unit.")]
    cuts: Annotated[tuple[int, ...], about("Hashes at which it was cut.", 0)]
    children: Annotated[tuple[str, ...], about("The new bundles.")]
    echo: Annotated[bool, about("Whether it was judged by the first rates after its unload alone.")]
    why: Annotated[str, about("A sentence about the reason.")]
    sentence: Annotated[str, about("A sentence about the outcome.")]


@dataclass(frozen=True, slots=True)
class LoopRow:
    """A loop: bundles that are split or attempted repeatedly, grouped by kind, with the name of the first."""

    kind: Annotated[LoopKind, about("What it is.")]
    bundles: Annotated[tuple[str, ...], about("The bundles that do it.")]
    first_cycle: Annotated[int, about("First seen in this cycle.", 1)]
    last_cycle: Annotated[int, about("Last seen in this one.", 1)]
    times: Annotated[int, about("How often in all.", 0)]
    lasts: Annotated[bool, about("Whether it was going on in the last cycle.")]
    sentence: Annotated[str, about("A sentence.")]


@dataclass(frozen=True, slots=True)
class TreeRow:
    """What one algorithm, as the broker's default, makes of the namespace in all cycles asked for."""

    algorithm: SplitAlgorithmName
    configured: bool
    bundles: int
    empty_bundles: int
    hottest: str
    hottest_msgs_per_sec: float
    attempts: tuple[AttemptRow, ...]
    loops: tuple[LoopRow, ...]

    @property
    def splits(self) -> tuple[AttemptRow, ...]:
        """The attempts that change something."""
        return tuple(attempt for attempt in self.attempts if attempt.outcome == "split")

    def next_split(self, after: int = 0) -> AttemptRow | None:
        """The first split after that cycle; None without one."""
        return next((attempt for attempt in self.splits if attempt.cycle > after), None)

    def next_attempt(self, after: int = 0) -> AttemptRow | None:
        """The first attempt after that cycle, whatever its outcome."""
        return next((attempt for attempt in self.attempts if attempt.cycle > after), None)


@dataclass(frozen=True, slots=True)
class BalanceFrame:
    """One algorithm's namespace after one cycle: the tree, what was done in that cycle, and what is to be noted of it.

    ``early``: reports were written before their time, because much had changed.
    """

    algorithm: SplitAlgorithmName
    cycle: int
    at_seconds: float
    early: bool
    rows: tuple[BundleRow, ...]
    attempts: tuple[AttemptRow, ...]
    moves: tuple[str, ...]
    remarks: tuple[str, ...]

    @property
    def leaves(self) -> tuple[BundleRow, ...]:
        """The bundles in force, ascending."""
        return tuple(row for row in self.rows if not row.split_in)

    @property
    def over(self) -> int:
        """How many bundles in force are above a limit."""
        return sum(row.over for row in self.leaves)


@dataclass(frozen=True, slots=True)
class BundlesNeededRow:
    """The number of bundles that keeps the brokers even, with the reason; ``problem`` where none does."""

    bundles: int
    sentences: tuple[str, ...]
    problem: Rejection | None = None


@dataclass(frozen=True, slots=True)
class BalanceView:
    """A namespace over time. ``balance_frame`` gives the tree after a cycle, ``curve_after`` a bundle's traffic then.

    ``idle``: why nothing is decided at all, "" where something is. ``trees`` in Pulsar's order of the algorithms, the
    configured one among them. ``problems``: what is wrong with the input or odd about the settings, ``bad_topics`` were
    left out. ``occupancy`` is that of now. ``assumed_topics``: names that the state does not list and brokers have all
    the same (``__change_events``); ``topics`` and every bundle count them. ``unrated``: the hashes of
    topics whose rates no answer has, ascending.
    """

    namespace: str
    release: str
    question: BalanceQuestion
    brokers: tuple[str, ...]
    bundles: int
    topics: int
    assumed_topics: tuple[str, ...]
    msgs_per_sec: float | None
    bytes_per_sec: float | None
    idle: str
    trees: tuple[TreeRow, ...]
    occupancy: CountedOccupancy | Rejection
    needed: BundlesNeededRow
    problems: tuple[Rejection, ...]
    bad_topics: int
    forecast: Forecast
    unrated: tuple[int, ...] = ()

    @property
    def configured(self) -> TreeRow:
        """The tree of the algorithm that the settings lead to."""
        return next(tree for tree in self.trees if tree.configured)

    def tree(self, algorithm: str) -> TreeRow:
        """The tree of an algorithm by its name."""
        return next(tree for tree in self.trees if tree.algorithm == algorithm)
