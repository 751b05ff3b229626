"""What the screen "brokers" shows, as plain values: brokers with their bundles, cycle by cycle under one shedder.

Rates are messages and bytes per second, in plus out; usages are shares, 1.0 is the whole of a resource. Cycles count
from 1; a frame is the moment before the cycle of its number, so frame 1 is what was reported. Outcomes are codes of the
engine; sentences are made by the shells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from engine.balance.broker_lost import BrokerLost
from engine.balance.leadership.shedding import UnloadOutcome
from engine.balance.shed_ahead_model import AheadMove, Assumption, Evenness, ShedAhead
from engine.balance.shed_question import ShedQuestion
from engine.balance.shedding.model import BrokerOutcome
from engine.balance.shedding.transfer import PairOutcome, SkipReason
from engine.bundles.plan import LoadManager

Presence = Literal["reported", "added"]


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource of a broker: the used share, the weight it is judged with, and whether its limit is known."""

    name: Literal["cpu", "memory", "direct memory", "in", "out"]
    used: float
    weight: float
    is_known: bool


@dataclass(frozen=True, slots=True)
class Block:
    """One bundle on a broker. ``namespace`` is its place among the namespaces of the view; ``leaves`` in this cycle."""

    bundle: str
    namespace: int
    topics: int
    msgs_per_sec: float
    bytes_per_sec: float
    leaves: bool
    arrived: bool


@dataclass(frozen=True, slots=True)
class BrokerRow:
    """One broker before a cycle.

    ``usage`` is its largest weighted resource. ``judged`` is what the shedder made of it, None where it was not asked;
    it compared ``figure`` with ``limit``, whatever this shedder compares. ``mark``: that limit where it is a usage,
    for a line in the bar. ``idle_until``: the cycle that brings its first bundle, None if it has one or gets none.
    """

    broker: str
    presence: Presence
    resources: tuple[Resource, ...]
    usage: float
    topics: int
    msgs_per_sec: float
    bytes_per_sec: float
    blocks: tuple[Block, ...]
    judged: BrokerOutcome | None
    figure: float
    limit: float
    mark: float | None
    idle_until: int | None


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """A bundle that the plan would unload and that stays, with the reason."""

    bundle: str
    broker: str
    why: UnloadOutcome


@dataclass(frozen=True, slots=True)
class PairRow:
    """Two brokers that the extensible manager looked at together."""

    fuller: str
    emptier: str
    outcome: PairOutcome


@dataclass(frozen=True, slots=True)
class BrokersFrame:
    """The brokers before one cycle, and what this cycle does. ``number`` is above the last cycle at the end of all.

    ``at_ms``: when the cycle comes, from the reports on. ``skipped``: why nothing was asked.
    """

    number: int
    at_ms: int
    brokers: tuple[BrokerRow, ...]
    moves: tuple[AheadMove, ...]
    left_alone: tuple[LeftAlone, ...]
    pairs: tuple[PairRow, ...]
    skipped: SkipReason | Literal["switched-off", "one-broker"] | None
    evenness: Evenness


@dataclass(frozen=True, slots=True)
class CycleSum:
    """One cycle on the strip over all: how much it unloads, and how many of these bundles come back."""

    unloads: int
    topics: int
    msgs_per_sec: float
    returns: int


@dataclass(frozen=True, slots=True)
class Round:
    """Something that goes round: a bundle that returns, or two brokers that give each other bundles.

    ``name`` is the bundle, or both brokers in alphabetical order; ``times`` counts returns, or moves between the two.
    """

    kind: Literal["bundle-returns", "brokers-swap"]
    name: tuple[str, ...]
    times: int
    cycles: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ShedderRow:
    """One shedder on the same cluster; ``refused`` says why this release does not start with it."""

    shedder: str
    unloads: int = 0
    unloads_per_hour: float = 0.0
    topics: int = 0
    returns: int = 0
    quiet_after: int | None = None
    after: Evenness | None = None
    refused: str = ""


@dataclass(frozen=True, slots=True)
class BrokersView:
    """The answer to a question, cycle by cycle.

    ``threshold``: the setting that this shedder compares with first, and its value; ``losses``: what the brokers that
    are gone left behind, in the order in which they went; ``idle_until``: of each
    broker without a bundle, the cycle that brings its first one.
    """

    question: ShedQuestion
    forecast: ShedAhead
    shedder: str
    placement: str
    load_manager: LoadManager
    threshold: tuple[str, float]
    namespaces: tuple[str, ...]
    cycles: tuple[CycleSum, ...]
    rounds: tuple[Round, ...]
    assumptions: tuple[Assumption, ...]
    losses: tuple[BrokerLost, ...]
    idle_until: Mapping[str, int | None]

    @property
    def unloads(self) -> int:
        return sum(cycle.unloads for cycle in self.cycles)
