"""What the screen of brokers shows: usage by resource, bundles, the next cycle, the whole forecast, other shedders."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Final, Literal

from engine.admin.interruptions import Interruption
from engine.admin.shed_inputs import ShedInputs
from engine.answer import FLAT, about
from engine.balance.ahead.broker_changes import Landing
from engine.balance.ahead.model import AheadMove, Evenness, ShedAhead, Spread
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
Fault = Literal["", "no-limit", "not-reported", "not-a-number", "negative"]
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
    """One resource of a broker.

    ``counts``: whether its weight is above 0, so that it takes part in the weighted usage.
    """

    resource: Annotated[Resource, about("Which one.")]
    share: Annotated[float, about("The used share. Null where it is not a number.", nan=True)]
    threshold: Annotated[
        float | None, about("The share from which the shedder acts; null where this resource has none.")
    ]
    fault: Annotated[Fault, about("What is wrong with what is reported.", null="")] = ""
    counts: bool = True


@dataclass(frozen=True, slots=True)
class Block:
    """One bundle of a broker. ``namespace``: its place among all; ``arrived``: it was elsewhere in the reports."""

    bundle: Annotated[str, about("Its full name.")]
    namespace: int
    topics: Annotated[int, about("Topics in it.")]
    msgs_per_sec: Annotated[float, about("Messages/s in and out. Null where it is not a number.", nan=True)]
    bytes_per_sec: Annotated[float, about("Bytes/s in and out. Null where it is not a number.", nan=True)]
    leaves: Annotated[bool, about("Whether the next cycle unloads it.", key="leaves_next")] = False
    arrived: bool = False


@dataclass(frozen=True)
class BrokerRow:
    """A broker after some cycles. What only a row in sight needs is made when it is asked for."""

    broker: Annotated[str, about("Its id.")]
    usage: Annotated[
        float,
        about(
            "The largest weighted usage, as a share, as placement and shedding see it. Null where it is not a number.",
            key="weighted_usage",
            nan=True,
        ),
    ]
    msgs_per_sec: Annotated[float, about("Messages/s in and out. Null where it is not a number.", nan=True)]
    bytes_per_sec: Annotated[float, about("Bytes/s in and out. Null where it is not a number.", nan=True)]
    topics: Annotated[int, about("How many topics it has.")]
    bundles: int
    is_new: Annotated[bool, about("Whether a change added it.", key="added")]
    older_ms: Annotated[
        int,
        about(
            "How much older its report is than the newest, in milliseconds, where load data would not live as long;"
            " else 0.",
            key="report_older_ms",
        ),
    ]
    make_bars: Callable[[], tuple[Bar, ...]] = field(repr=False, compare=False)
    make_blocks: Callable[[], tuple[Block, ...]] = field(repr=False, compare=False)

    @cached_property
    def bars(self) -> Annotated[tuple[Bar, ...], about("Usage by resource.", key="resources")]:
        """In the order of ``RESOURCES``."""
        return self.make_bars()

    @cached_property
    def blocks(self) -> Annotated[tuple[Block, ...], about("Its bundles, by namespace and range.", key="bundles")]:
        return self.make_blocks()


@dataclass(frozen=True, slots=True)
class Numbers:
    """What was compared: ``figure`` with ``limit``, and where that is enough to shed, ``need`` with ``least``."""

    measure: Annotated[
        Comparison | Literal["load"], about("What figure and limit are; null where nothing was compared.")
    ]
    figure: Annotated[
        float, about("What was compared with the limit: shares for usage and load, percent, points, times or cycles.")
    ]
    limit: Annotated[float, about("The limit, or the load of the other broker of a pair.")]
    need: Annotated[
        float, about("The messages/s or bytes/s that the broker should lose, 0 where it did not come to that.")
    ] = 0.0
    need_measure: Annotated[TrafficMeasure, about("Of which the need and the least are.")] = "bytes"
    least: Annotated[float, about("Less is not worth an unload; 0 without such a limit.")] = 0.0

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
    a pair (``other``).
    """

    broker: Annotated[str, about("Its id.")]
    why: Annotated[WhyLeft, about("The reason.")]
    bundle: Annotated[str, about("The first of the bundles; null where it is about the broker.", null="")] = ""
    other: Annotated[str, about("The other broker of a pair.", null="")] = ""
    count: int = 1
    numbers: Annotated[Numbers | None, FLAT] = None

    @property
    def bundles(self) -> Annotated[int, about("How many bundles stay for this reason.")]:
        return self.count if self.bundle else 0


@dataclass(frozen=True, slots=True)
class NextMove:
    """An unload, the numbers by which its broker sheds, and what it interrupts by what was reported of its topics."""

    move: Annotated[AheadMove, FLAT]
    numbers: Annotated[Numbers | None, FLAT] = None
    planned: Annotated[
        str, about("The broker that the shedder chose itself; the bundle may go elsewhere.", null="")
    ] = ""
    interruption: Annotated[Interruption | None, FLAT] = None


@dataclass(frozen=True, slots=True)
class NextCycle:
    """The cycle that comes next."""

    number: Annotated[int, about("Its number.", key="cycle")]
    at_ms: Annotated[int, about("Milliseconds from now.")]
    skipped: Annotated[SkipReason | Literal["switched-off", "one-broker"] | None, about("Why nothing was looked at.")]
    moves: Annotated[tuple[NextMove, ...], about("What is unloaded, in order.", key="unloads")]
    left_alone: Annotated[tuple[LeftAlone, ...], about("What stays.")]
    doubtful: bool = False
    blamed: Annotated[str, about("The broker that it is skipped for.", null="")] = ""
    hits: Annotated[
        int | None, about("Uneven cycles in a row, this one included, where the extensible manager counts them.")
    ] = None
    deviation: Annotated[float, about("Standard deviation of the loads; null where nobody computes it.", nan=True)] = (
        math.nan
    )
    sign: Annotated[UnevenSign | None, about("The sign of unevenness in this cycle.", key="uneven_by")] = None


@dataclass(frozen=True, slots=True)
class StripCell:
    """One cycle of the strip."""

    number: Annotated[int, about("Its number.", key="cycle")]
    unloads: Annotated[int, about("Bundles unloaded.")]
    topics: Annotated[int, about("Topics in them.", key="topics_interrupted")]
    msgs_per_sec: Annotated[
        float,
        about("Messages/s in and out of them. Null where it is not a number.", key="msgs_per_sec_moved", nan=True),
    ]
    returns: Annotated[int, about("Bundles that came back to a broker they had left.")]


@dataclass(frozen=True, slots=True)
class Course:
    """One broker before each cycle: its weighted usage, None while it is not there, and whether the cycle sheds it."""

    broker: str
    usages: tuple[float | None, ...]
    sheds: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Swap:
    """Two brokers that give each other bundles."""

    first: str
    second: str
    there: Annotated[int, about("Bundles from the first to the second.")]
    back: Annotated[int, about("Bundles from the second to the first.")]
    cycles: Annotated[tuple[int, ...], about("When.")]

    @property
    def brokers(self) -> Annotated[tuple[str, str], about("The two.")]:
        return self.first, self.second


@dataclass(frozen=True, slots=True)
class UsageChange:
    broker: Annotated[str, about("Its id.")]
    before: Annotated[float, about("As a share, before. Null where it is not a number.", nan=True)]
    after: Annotated[float, about("As a share, after. Null where it is not a number.", nan=True)]


@dataclass(frozen=True, slots=True)
class ChangeDone:
    """What a change did before the first cycle: the bundles that landed elsewhere, or how long a broker stays idle."""

    kind: Annotated[ChangeKind, about("Whether it goes or comes.")]
    broker: Annotated[str, about("Its id.")]
    landings: tuple[Landing, ...] = ()
    idle_cycles: Annotated[
        int | None,
        about("How many cycles one that joins stays without a bundle; null where it gets none, and for one that dies."),
    ] = None
    gained: Annotated[int, about("How many bundles one that joins has after the last cycle.", key="bundles_at_end")] = 0
    usages: Annotated[tuple[UsageChange, ...], about("Of a death: the weighted usage of every other broker.")] = ()


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

    shedder: Annotated[str, about("Its class.")]
    in_force: Annotated[bool, about("Whether it is the one of the forecast.")]
    unloads: Annotated[int, about("Unloads in all cycles.")] = 0
    unloads_per_hour: Annotated[float, about("The same an hour.")] = 0.0
    topics: Annotated[int, about("Topics in them.", key="topics_interrupted")] = 0
    returned: Annotated[int, about("Unloads to a former owner.")] = 0
    quiet_after: Annotated[
        int | None,
        about("After how many cycles nothing moves; null where the last one still does.", key="quiet_after_cycles"),
    ] = None
    after: Annotated[Evenness | None, about("How even the brokers are after the last cycle.")] = None
    refused: Annotated[str, about("Why no broker of the release starts with it.", null="")] = ""

    @property
    def usage(self) -> Annotated[Spread | None, FLAT]:
        """Of the weighted usage, at the end."""
        return None if self.after is None else self.after.usage
