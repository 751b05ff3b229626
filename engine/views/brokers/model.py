"""What the screen of brokers shows: usage by resource, bundles, the next cycle, the whole forecast, other shedders."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal

from engine.admin.interruptions import Interruption
from engine.admin.shed_inputs import ShedInputs
from engine.balance.ahead.broker_changes import Landing
from engine.balance.ahead.model import AheadMove, Evenness, ShedAhead
from engine.balance.brokers import BrokerLoad
from engine.balance.leadership.shedding import UnloadOutcome
from engine.balance.settings import LoadSettings
from engine.balance.shedding.model import BrokerOutcome, BundleOutcome, Comparison, TrafficMeasure
from engine.balance.shedding.transfer import PairOutcome, SkipReason, TopBundleOutcome, UnevenSign
from engine.balance.splitting.loops import Loop
from engine.bundles.plan import LoadManager
from engine.config import CURRENT, ReleaseBehaviour
from engine.errors import Problem

Resource = Literal["cpu", "memory", "direct_memory", "bandwidth_in", "bandwidth_out"]
RESOURCES: Final[tuple[Resource, ...]] = ("cpu", "memory", "direct_memory", "bandwidth_in", "bandwidth_out")
Fault = Literal["", "no-limit", "not-a-number", "negative"]
"""Why the usage of a resource cannot be shown as a share."""
ChangeKind = Literal["dies", "joins"]
WhyLeft = BrokerOutcome | BundleOutcome | UnloadOutcome | PairOutcome | TopBundleOutcome
CYCLES: Final = 20


@dataclass(frozen=True, slots=True)
class BrokersInput:
    """What was read of a cluster, the settings in force, and the behaviour of its release.

    ``about``: what the cluster shows, if it was made for demonstration.
    """

    inputs: ShedInputs
    settings: LoadSettings
    behaviour: ReleaseBehaviour = CURRENT
    source: str = ""
    problems: tuple[Problem, ...] = ()
    about: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """A broker that dies (``broker``), or one that joins ("")."""

    kind: ChangeKind
    broker: str = ""


@dataclass(frozen=True, slots=True)
class BrokersQuestion:
    """What differs from the cluster as it is: strategies (None: its own), settings as texts, brokers that go or come.

    ``changes`` happen one after the other before the first cycle.
    """

    load_manager: LoadManager | None = None
    shedder: str | None = None
    placement: str | None = None
    settings: tuple[tuple[str, str], ...] = ()
    changes: tuple[Change, ...] = ()
    cycles: int = CYCLES
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Bar:
    """One resource of a broker: the used share of it, and the share from which the shedder acts (None: none).

    ``counts``: whether its weight is above 0, so that it takes part in the weighted usage.
    """

    resource: Resource
    share: float
    threshold: float | None
    fault: Fault = ""
    counts: bool = True


@dataclass(frozen=True, slots=True)
class Block:
    """One bundle of a broker: its namespace by its place among all, its traffic, and whether the next cycle takes it.

    ``arrived``: it was elsewhere in the reports.
    """

    bundle: str
    namespace: int
    topics: int
    msgs_per_sec: float
    bytes_per_sec: float
    leaves: bool = False
    arrived: bool = False


@dataclass(frozen=True)
class BrokerRow:
    """A broker after some cycles. ``usage`` is the weighted share that placement and shedding see.

    ``older_ms``: how much older its report is than the newest, where it is longer than load data lives; else 0. What
    only a row in sight needs is made when it is asked for.
    """

    broker: str
    usage: float
    msgs_per_sec: float
    bytes_per_sec: float
    topics: int
    bundles: int
    is_new: bool
    older_ms: int
    make_bars: Callable[[], tuple[Bar, ...]] = field(repr=False, compare=False)
    make_blocks: Callable[[], tuple[Block, ...]] = field(repr=False, compare=False)

    @cached_property
    def bars(self) -> tuple[Bar, ...]:
        """Its resources, in the order of ``RESOURCES``."""
        return self.make_bars()

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Its bundles by namespace and range."""
        return self.make_blocks()


@dataclass(frozen=True, slots=True)
class Numbers:
    """What was compared: ``figure`` with ``limit``, and where that is enough to shed, ``need`` with ``least``.

    ``need`` is the traffic that the broker should lose, 0.0 where it did not come to that; ``least``: 0.0 for none.
    """

    measure: Comparison | Literal["load"]
    figure: float
    limit: float
    need: float = 0.0
    need_measure: TrafficMeasure = "bytes"
    least: float = 0.0

    @property
    def decisive(self) -> tuple[Comparison | TrafficMeasure | Literal["load"], float, float]:
        """Measure, figure and limit of the comparison by which a broker sheds or not."""
        if 0 < self.need < self.least:
            return self.need_measure, self.need, self.least
        return self.measure, self.figure, self.limit


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """A broker, a pair or bundles of one broker that a cycle leaves alone, and why.

    ``count`` bundles for one reason, of which ``bundle`` is the first; "" where it is about the broker itself, or about
    a pair (``other``). ``numbers``: None where nothing was compared.
    """

    broker: str
    why: WhyLeft
    bundle: str = ""
    other: str = ""
    count: int = 1
    numbers: Numbers | None = None


@dataclass(frozen=True, slots=True)
class NextMove:
    """An unload, and the numbers by which its broker sheds, None where nothing was compared.

    ``planned``: the broker that the shedder itself chose, "" where it chooses none; the bundle may go elsewhere.
    ``interruption``: None where nothing was reported of its topics.
    """

    move: AheadMove
    numbers: Numbers | None = None
    planned: str = ""
    interruption: Interruption | None = None


@dataclass(frozen=True, slots=True)
class NextCycle:
    """The cycle that comes next. ``skipped``: why it examined nothing; ``blamed``: the broker that is the reason.

    ``hits``: how many cycles in a row, this one included, were uneven, where the extensible manager counts them, the
    ``sign`` of it in this one, and ``deviation`` the standard deviation of loads, NaN where it is not computed.
    """

    number: int
    at_ms: int
    skipped: SkipReason | Literal["switched-off", "one-broker"] | None
    moves: tuple[NextMove, ...]
    left_alone: tuple[LeftAlone, ...]
    doubtful: bool = False
    blamed: str = ""
    hits: int | None = None
    deviation: float = math.nan
    sign: UnevenSign | None = None


@dataclass(frozen=True, slots=True)
class StripCell:
    """One cycle of the strip: unloads, topics they interrupt, messages/s they move; ``returns`` to former owners."""

    number: int
    unloads: int
    topics: int
    msgs_per_sec: float
    returns: int


@dataclass(frozen=True, slots=True)
class Course:
    """One broker before each cycle: its weighted usage, None while it is not there, and whether the cycle sheds it."""

    broker: str
    usages: tuple[float | None, ...]
    sheds: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Swap:
    """Two brokers that give each other bundles: how many went there and back, in which cycles."""

    first: str
    second: str
    there: int
    back: int
    cycles: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ChangeDone:
    """What a change did before the first cycle: the bundles that landed elsewhere, or how long a broker stays idle.

    ``idle_cycles``: how many cycles pass before the one that gives it a bundle; None where no cycle of the forecast
    does, and for a broker that died. ``gained``: bundles it has at the end of the forecast. ``usages``: of a death, the
    weighted usage of every other broker before and after it.
    """

    kind: ChangeKind
    broker: str
    landings: tuple[Landing, ...] = ()
    idle_cycles: int | None = None
    gained: int = 0
    usages: tuple[tuple[str, float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class BrokersView:
    """The answer to one question; :func:`engine.views.brokers.view.brokers_frame` gives a page of it.

    ``older``: brokers whose report is too old, by how many ms; ``born``: those that were added; ``home``: the broker of
    each bundle as reported; ``interruptions``: what the unloads of the forecast and the deaths before it interrupt, of
    bundles of whose topics something was reported.
    """

    given: BrokersInput
    question: BrokersQuestion
    ahead: ShedAhead
    shedder: str
    namespaces: tuple[str, ...]
    changes: tuple[ChangeDone, ...]
    strip: tuple[StripCell, ...]
    loops: tuple[Loop, ...]
    swaps: tuple[Swap, ...]
    older: Mapping[str, int]
    born: frozenset[str]
    home: Mapping[str, str]
    interruptions: Mapping[str, Interruption] = field(default_factory=dict)
    kept_blocks: dict[int, tuple[Block, ...]] = field(default_factory=dict, compare=False, repr=False)
    """Blocks by the identity of the load they are of: from cycle to cycle most brokers stay as they are."""

    @property
    def load_manager(self) -> LoadManager:
        return self.ahead.start.load_manager

    @property
    def placement(self) -> str | None:
        """None for the extensible manager, which has one only."""
        return self.ahead.start.placement

    @property
    def loads(self) -> tuple[BrokerLoad, ...]:
        """Before the first cycle."""
        return self.ahead.start.loads


@dataclass(frozen=True, slots=True)
class BrokersFrame:
    """The brokers after ``cycle`` cycles (0: now), and the cycle that comes next, None at the end of the forecast."""

    cycle: int
    at_ms: int
    rows: tuple[BrokerRow, ...]
    next: NextCycle | None
    evenness: Evenness


@dataclass(frozen=True, slots=True)
class Compared:
    """One shedder on the same cluster; ``refused`` says why no broker starts with it, and the rest is then empty."""

    shedder: str
    in_force: bool
    unloads: int = 0
    unloads_per_hour: float = 0.0
    topics: int = 0
    returned: int = 0
    quiet_after: int | None = None
    after: Evenness | None = None
    refused: str = ""
