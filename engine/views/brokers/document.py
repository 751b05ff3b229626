"""The view of brokers as plain JSON, as ``ringside brokers --json`` prints it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from engine.admin.interruptions import Interruption
from engine.answer import FLAT, about, extended
from engine.balance.ahead.broker_changes import Landing
from engine.balance.ahead.bundle_explained import BundleExplained
from engine.balance.ahead.model import AheadCycle, Assumption, Evenness
from engine.balance.leadership.shedding import SheddingCycle, Unload, UnloadOutcome
from engine.balance.limits import BundleStats
from engine.balance.shedding.model import BrokerVerdict
from engine.balance.shedding.transfer import SkipReason, TransferCycle, TransferPair
from engine.balance.splitting.loops import Loop
from engine.bundles.plan import LoadManager
from engine.views.brokers.model import (
    BrokerRow,
    BrokersView,
    ChangeDone,
    Compared,
    NextCycle,
    NextMove,
    StripCell,
    Swap,
)
from engine.views.brokers.view import brokers_frame, next_cycle


@dataclass(frozen=True, slots=True)
class UnloadLeft:
    bundle: Annotated[str, about("Its full name.")]
    broker: Annotated[str, about("Where it is.")]
    why: Annotated[UnloadOutcome, about("Why it stays.")]


@dataclass(frozen=True, slots=True)
class CycleRow:
    cycle: Annotated[AheadCycle, FLAT]
    moves: Annotated[tuple[NextMove, ...], about("The bundles unloaded, in order.")]
    skipped: Annotated[
        SkipReason | Literal["switched-off", "one-broker"] | None,
        about("Why nothing was decided; null when the brokers were compared and something may have moved."),
    ]

    @property
    def left_alone(
        self,
    ) -> Annotated[list[UnloadLeft], about("Bundles that the shedder chose and that stay all the same.")]:
        decision = self.cycle.decision
        unloads: Sequence[Unload] = decision.unloads if isinstance(decision, SheddingCycle) else ()
        return [
            UnloadLeft(unload.bundle, unload.source, unload.outcome)
            for unload in unloads
            if unload.outcome != "unloaded"
        ]

    @property
    def brokers(
        self,
    ) -> Annotated[
        Sequence[BrokerVerdict], about("What the shedder of the modular load manager decided about each broker.")
    ]:
        return self.cycle.decision.plan.verdicts if isinstance(self.cycle.decision, SheddingCycle) else ()

    @property
    def pairs(
        self,
    ) -> Annotated[Sequence[TransferPair], about("The pairs of brokers of the extensible load manager.")]:
        return self.cycle.decision.pairs if isinstance(self.cycle.decision, TransferCycle) else ()


@dataclass(frozen=True, slots=True)
class LandingRow:
    landing: Annotated[Landing, FLAT]
    interruption: Annotated[Interruption | None, FLAT]


@dataclass(frozen=True, slots=True)
class ChangeRow:
    change: Annotated[ChangeDone, FLAT]
    landings: Annotated[
        Sequence[LandingRow],
        about("The bundles of one that dies, in the order of its report, looked up one after the other."),
    ]


@dataclass(frozen=True, slots=True)
class BrokersDocument:
    """What `ringside brokers --json` prints: brokers, what-ifs, the next cycle, the forecast, all shedders."""

    FORMAT: ClassVar = "ringside.brokers/1"

    source: Annotated[str, about("Where the load reports are from.")]
    release: Annotated[str, about("The Pulsar release whose rules are applied.")]
    load_manager: Annotated[LoadManager, about("The load manager of the forecast.")]
    shedder: Annotated[str, about("The shedding strategy, by the name of its class.")]
    placement: Annotated[
        str | None,
        about(
            "The placement strategy, by the name of its class; null for the extensible load manager, which has only"
            " one."
        ),
    ]
    namespaces: Annotated[Sequence[str], about("All namespaces with a bundle, by name.")]
    before: Annotated[Evenness, about("How even the brokers are before the first cycle, after all changes.")]
    brokers: Annotated[Sequence[BrokerRow], about("The brokers before the first cycle, after all changes.")]
    changes: Annotated[Sequence[ChangeRow], about("What brokers that die or join do, in their order.")]
    next: Annotated[NextCycle | None, about("The first cycle.")]
    strip: Annotated[Sequence[StripCell], about("Every cycle in numbers.")]
    loops: Annotated[Sequence[Loop], about("Bundles that come back to a former owner, or are unloaded for nothing.")]
    swaps: Annotated[Sequence[Swap], about("Pairs of brokers that give each other bundles.")]
    compared: Annotated[Sequence[Compared], about("Every shedder on the same cluster.")]
    assumptions: Annotated[Sequence[Assumption], about("What load reports lack and the forecast assumed.")]
    cycles: Annotated[Sequence[CycleRow], about("The cycles in order.")]


def brokers_document(view: BrokersView, compared: Sequence[Compared]) -> BrokersDocument:
    """The brokers as they are after the changes, what the changes did, the forecast, loops, and all shedders."""
    frame, known = brokers_frame(view, 0), view.interruptions
    rows = []
    for cycle in view.ahead.cycles:
        coming = next_cycle(cycle, known)
        rows.append(CycleRow(cycle, coming.moves, coming.skipped))
    return extended(
        BrokersDocument,
        view,
        source=view.given.source,
        release=view.given.behaviour.label,
        before=view.ahead.before,
        brokers=frame.rows,
        changes=[
            ChangeRow(change, [LandingRow(landing, known.get(landing.bundle)) for landing in change.landings])
            for change in view.changes
        ],
        next=frame.next,
        compared=compared,
        assumptions=view.ahead.assumptions,
        cycles=rows,
    )


@dataclass(frozen=True, slots=True)
class Interrupts:
    stats: Annotated[BundleStats, FLAT]
    interruption: Annotated[Interruption | None, FLAT]


@dataclass(frozen=True, slots=True)
class BundleDocument(BundleExplained):
    """Which brokers may own a bundle."""

    FORMAT: ClassVar[str] = "ringside.explain/1"
    KIND: ClassVar[str] = "bundle"
    interrupts: Annotated[Interrupts, about("What unloading it interrupts.")]


def bundle_document(explanation: BundleExplained, interruption: Interruption | None) -> BundleDocument:
    """The answer of ``explain bundle``; ``interruption`` by the statistics of its topics, None without."""
    return extended(BundleDocument, explanation, interrupts=Interrupts(explanation.stats, interruption))
