"""The view of brokers as plain JSON, as ``ringside brokers --json`` prints it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal

from engine.admin.interruptions import Interruption
from engine.answer import about, extended
from engine.balance.ahead.bundle_explained import BundleExplained
from engine.balance.ahead.model import AheadCycle, AheadMove, Assumption, Evenness, ShedAhead, Spread
from engine.balance.leadership.shedding import SheddingCycle, UnloadOutcome
from engine.balance.shedding.model import BrokerVerdict, Comparison, TrafficMeasure
from engine.balance.shedding.transfer import TransferCycle, TransferPair, UnevenSign
from engine.balance.splitting.loops import LoopKind
from engine.bundles.plan import LoadManager
from engine.views.brokers.model import (
    BrokerRow,
    BrokersView,
    ChangeDone,
    ChangeKind,
    Compared,
    LeftAlone,
    NextCycle,
    Resource,
)
from engine.views.brokers.view import brokers_frame, shedder_of

LOAD_MANAGER: Final = about("The load manager of the forecast.")
SHEDDER: Final = about("The shedding strategy, by the name of its class.")
PLACEMENT: Final = about(
    "The placement strategy, by the name of its class; null for the extensible load manager, which has only one."
)


@dataclass(frozen=True, slots=True)
class EvennessRow:
    usage: Annotated[Spread, about("Of the weighted usage of resources.")]
    msgs_per_sec: Annotated[Spread, about("Of messages/s, in plus out.")]
    bytes_per_sec: Annotated[Spread, about("Of bytes/s, in plus out.")]


@dataclass(frozen=True, slots=True)
class Candidate:
    broker: Annotated[str, about("Its id.")]
    chance: Annotated[float, about("How likely it is.", 0, 1.000001)]


@dataclass(frozen=True, slots=True)
class Anew:
    """What only statistics of topics show."""

    handovers: Annotated[
        int | None,
        about(
            "Topics of Failover and Exclusive subscriptions whose active consumer is chosen anew; null without"
            " statistics.",
            0,
        ),
    ]
    draining_slots: Annotated[int | None, about("Slots of Key_Shared whose waiting ends; null as above.", 0)]
    unacked_messages: Annotated[int | None, about("Messages that were delivered and may come twice; null as above.", 0)]


@dataclass(frozen=True, slots=True)
class MoveRow(Anew):
    bundle: Annotated[str, about("Its full name.")]
    from_: Annotated[str, about("The broker it leaves.")]
    to: Annotated[str | None, about("The broker it goes to in this forecast; null if no broker may have it.")]
    candidates: Annotated[Sequence[Candidate], about("Every broker that it may go to.")]
    topics: Annotated[int, about("Topics interrupted.", 0)]
    producers: Annotated[int, about("Producers that connect again, by the load report.", 0)]
    consumers: Annotated[int, about("Consumers that connect again, by the load report.", 0)]
    msgs_per_sec: Annotated[float | None, about("Its messages/s, in plus out. Null where it is not a number.")]
    bytes_per_sec: Annotated[float | None, about("Its bytes/s, in plus out. Null where it is not a number.")]
    returns: Annotated[bool, about("Whether it goes back to a broker that it had left.")]


@dataclass(frozen=True, slots=True)
class UnloadLeft:
    bundle: Annotated[str, about("Its full name.")]
    broker: Annotated[str, about("Where it is.")]
    why: Annotated[UnloadOutcome, about("Why it stays.")]


@dataclass(frozen=True, slots=True)
class BrokerOtherwise:
    broker: Annotated[str, about("Its id.")]
    bundles: Annotated[Sequence[str], about("Bundles in order.")]


@dataclass(frozen=True, slots=True)
class CycleRow:
    number: Annotated[int, about("Counted from 1.", 1)]
    at_ms: Annotated[int, about("Milliseconds after the leader's election or the last report.", 0)]
    skipped: Annotated[
        Literal[
            "switched-off", "one-broker", "CoolDown", "HitCount", "NoBrokers", "NoBundles", "NoLoadData", "OutDatedData"
        ]
        | None,
        about("Why nothing was decided; null when the brokers were compared and something may have moved."),
    ]
    moves: Annotated[Sequence[MoveRow], about("The bundles unloaded, in order.")]
    left_alone: Annotated[Sequence[UnloadLeft], about("Bundles that the shedder chose and that stay all the same.")]
    brokers: Annotated[
        Sequence[BrokerVerdict], about("What the shedder of the modular load manager decided about each broker.")
    ]
    pairs: Annotated[Sequence[TransferPair], about("The pairs of brokers of the extensible load manager.")]
    otherwise: Annotated[
        Sequence[BrokerOtherwise] | None,
        about(
            "What the same cycle may unload instead, where names share a bucket of a Java map of unknown history;"
            " null where that changes nothing."
        ),
    ]
    evenness: Annotated[EvennessRow, about("How even the brokers are after it.")]


@dataclass(frozen=True, slots=True)
class Totals:
    unloads: Annotated[int, about("Bundles unloaded in all cycles.", 0)]
    unloads_per_hour: Annotated[float, about("The same per hour.")]
    topics_interrupted: Annotated[int, about("Topics of the unloaded bundles, each time.", 0)]
    returned: Annotated[int, about("Unloads back to a broker that the bundle had left before.", 0)]
    quiet_after_cycles: Annotated[
        int | None, about("After so many cycles nothing moves any more; null if the last one still moves something.", 0)
    ]
    after: Annotated[EvennessRow, about("How even the brokers are after the last cycle.")]


@dataclass(frozen=True, slots=True)
class ComparedShedder(Totals):
    shedder: Annotated[str, about("By the name of its class.")]


@dataclass(frozen=True, slots=True)
class ShedDocument(Totals):
    """What `ringside shed --json` prints: the next cycles of shedding."""

    FORMAT: ClassVar = "ringside.shed/1"

    load_manager: Annotated[LoadManager, LOAD_MANAGER]
    shedder: Annotated[str, SHEDDER]
    placement: Annotated[str | None, PLACEMENT]
    brokers: Annotated[Sequence[str], about("The brokers by id, in the order of their first reports.")]
    assumptions: Annotated[Sequence[Assumption], about("What load reports lack and the forecast assumed.")]
    before: Annotated[EvennessRow, about("How even the brokers are by their reports.")]
    cycles: Annotated[Sequence[CycleRow], about("The cycles in order.")]
    compared: Annotated[
        Sequence[ComparedShedder], about("The same cluster under each shedder; empty without --compare.")
    ]


def shed_document(
    ahead: ShedAhead, compared: Sequence[ShedAhead] = (), interruptions: Mapping[str, Interruption] | None = None
) -> ShedDocument:
    """The forecast with every cycle; ``compared``: the same cluster under each shedder, in the order to be shown.

    ``interruptions``: what unloads interrupt by what was reported of topics, by bundle.
    """
    start = ahead.start
    return extended(
        ShedDocument,
        _totals(ahead),
        load_manager=start.load_manager,
        shedder=shedder_of(ahead),
        placement=start.placement,
        brokers=[load.broker for load in start.loads],
        assumptions=ahead.assumptions,
        before=_evenness(ahead.before),
        cycles=[_cycle(cycle, interruptions or {}) for cycle in ahead.cycles],
        compared=[extended(ComparedShedder, _totals(other), shedder=shedder_of(other)) for other in compared],
    )


def _totals(ahead: ShedAhead) -> Totals:
    moves = ahead.moves
    return Totals(
        unloads=len(moves),
        unloads_per_hour=ahead.unloads_per_hour,
        topics_interrupted=sum(move.topics for move in moves),
        returned=sum(move.returns for move in moves),
        quiet_after_cycles=ahead.quiet_after,
        after=_evenness(ahead.after),
    )


def _evenness(even: Evenness) -> EvennessRow:
    return EvennessRow(usage=even.usage, msgs_per_sec=even.msgs, bytes_per_sec=even.bytes)


def _cycle(cycle: AheadCycle, interruptions: Mapping[str, Interruption]) -> CycleRow:
    decision = cycle.decision
    return CycleRow(
        number=cycle.number,
        at_ms=cycle.at_ms,
        skipped=decision.no_run if isinstance(decision, SheddingCycle) else decision.no_run or decision.skip,
        moves=[_move(move, interruptions.get(move.bundle)) for move in cycle.moves],
        left_alone=[
            UnloadLeft(bundle=unload.bundle, broker=unload.source, why=unload.outcome)
            for unload in (decision.unloads if isinstance(decision, SheddingCycle) else ())
            if unload.outcome != "unloaded"
        ],
        brokers=decision.plan.verdicts if isinstance(decision, SheddingCycle) else (),
        pairs=decision.pairs if isinstance(decision, TransferCycle) else (),
        otherwise=None
        if cycle.otherwise is None
        else [BrokerOtherwise(broker=broker, bundles=bundles) for broker, bundles in cycle.otherwise],
        evenness=_evenness(cycle.evenness),
    )


def _move(move: AheadMove, interruption: Interruption | None) -> MoveRow:
    return extended(
        MoveRow,
        _anew(interruption),
        bundle=move.bundle,
        from_=move.source,
        to=move.destination,
        candidates=[Candidate(broker, chance) for broker, chance in move.chances.items()],
        topics=move.topics,
        producers=move.producers,
        consumers=move.consumers,
        msgs_per_sec=move.msgs_per_sec,
        bytes_per_sec=move.bytes_per_sec,
        returns=move.returns,
    )


def _anew(interruption: Interruption | None) -> Anew:
    if interruption is None:
        return Anew(None, None, None)
    return Anew(interruption.handovers, interruption.draining_slots, interruption.unacked_messages)


@dataclass(frozen=True, slots=True)
class ResourceRow:
    resource: Annotated[Resource, about("Which one.")]
    share: Annotated[float | None, about("The used share. Null where it is not a number.")]
    threshold: Annotated[
        float | None, about("The share from which the shedder acts; null where this resource has none.")
    ]
    fault: Annotated[
        Literal["no-limit", "not-a-number", "negative"] | None, about("What is wrong with what is reported.")
    ]


@dataclass(frozen=True, slots=True)
class BundleOfBroker:
    bundle: Annotated[str, about("Its full name.")]
    topics: Annotated[int, about("Topics in it.")]
    msgs_per_sec: Annotated[float | None, about("Messages/s in and out. Null where it is not a number.")]
    bytes_per_sec: Annotated[float | None, about("Bytes/s in and out. Null where it is not a number.")]
    leaves_next: Annotated[bool, about("Whether the next cycle unloads it.")]


@dataclass(frozen=True, slots=True)
class BrokerLoadRow:
    broker: Annotated[str, about("Its id.")]
    added: Annotated[bool, about("Whether a change added it.")]
    report_older_ms: Annotated[
        int,
        about(
            "How much older its report is than the newest, in milliseconds, where load data would not live as long;"
            " else 0."
        ),
    ]
    weighted_usage: Annotated[
        float | None, about("The largest weighted usage, as a share. Null where it is not a number.")
    ]
    msgs_per_sec: Annotated[float | None, about("Messages/s in and out. Null where it is not a number.")]
    bytes_per_sec: Annotated[float | None, about("Bytes/s in and out. Null where it is not a number.")]
    topics: Annotated[int, about("How many topics it has.")]
    resources: Annotated[Sequence[ResourceRow], about("Usage by resource.")]
    bundles: Annotated[Sequence[BundleOfBroker], about("Its bundles, by namespace and range.")]


@dataclass(frozen=True, slots=True)
class UsageChange:
    broker: Annotated[str, about("Its id.")]
    before: Annotated[float | None, about("As a share, before. Null where it is not a number.")]
    after: Annotated[float | None, about("As a share, after. Null where it is not a number.")]


@dataclass(frozen=True, slots=True)
class LandingOfChange(Anew):
    bundle: Annotated[str, about("Its full name.")]
    to: Annotated[str | None, about("The broker drawn; null where nobody may own it.")]
    candidates: Annotated[Sequence[Candidate], about("Who may get it.")]
    topics: Annotated[int, about("Topics in it.")]
    producers: Annotated[int, about("Producers that connect again, by the load report.", 0)]
    consumers: Annotated[int, about("Consumers that connect again, by the load report.", 0)]


@dataclass(frozen=True, slots=True)
class ChangeRow:
    kind: Annotated[ChangeKind, about("Whether it goes or comes.")]
    broker: Annotated[str, about("Its id.")]
    idle_cycles: Annotated[
        int | None,
        about("How many cycles one that joins stays without a bundle; null where it gets none, and for one that dies."),
    ]
    bundles_at_end: Annotated[int, about("How many bundles one that joins has after the last cycle.")]
    usages: Annotated[Sequence[UsageChange], about("Of a death: the weighted usage of every other broker.")]
    landings: Annotated[
        Sequence[LandingOfChange],
        about("The bundles of one that dies, in the order of its report, looked up one after the other."),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class NumbersRow:
    measure: Annotated[
        Comparison | Literal["load"] | None,
        about("What figure and limit are; null where nothing was compared."),
    ] = None
    figure: Annotated[
        float | None,
        about("What was compared with the limit: shares for usage and load, percent, points, times or cycles."),
    ] = None
    limit: Annotated[float | None, about("The limit, or the load of the other broker of a pair.")] = None
    need: Annotated[
        float | None, about("The messages/s or bytes/s that the broker should lose, 0 where it did not come to that.")
    ] = None
    need_measure: Annotated[TrafficMeasure | None, about("Of which the need and the least are.")] = None
    least: Annotated[float | None, about("Less is not worth an unload; 0 without such a limit.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnloadRow(NumbersRow):
    bundle: Annotated[str, about("Its full name.")]
    from_: Annotated[str, about("Its broker.")]
    to: Annotated[str | None, about("The broker drawn.")]
    planned: Annotated[str | None, about("The broker that the shedder chose itself; filters may leave it out.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftAloneRow(NumbersRow):
    broker: Annotated[str, about("Its id.")]
    other: Annotated[str | None, about("The other broker of a pair.")]
    bundle: Annotated[str | None, about("The first of the bundles; null where it is about the broker.")]
    bundles: Annotated[int, about("How many bundles stay for this reason.")]
    why: Annotated[str, about("The reason.")]


@dataclass(frozen=True, slots=True)
class NextCycleRow:
    cycle: Annotated[int, about("Its number.")]
    at_ms: Annotated[int, about("Milliseconds from now.")]
    skipped: Annotated[str | None, about("Why nothing was looked at.")]
    blamed: Annotated[str | None, about("The broker that it is skipped for.")]
    hits: Annotated[
        int | None, about("Uneven cycles in a row, this one included, where the extensible manager counts them.")
    ]
    deviation: Annotated[float | None, about("Standard deviation of the loads; null where nobody computes it.")]
    uneven_by: Annotated[UnevenSign | None, about("The sign of unevenness in this cycle.")]
    unloads: Annotated[Sequence[UnloadRow], about("What is unloaded, in order.")]
    left_alone: Annotated[Sequence[LeftAloneRow], about("What stays.")]


@dataclass(frozen=True, slots=True)
class CycleSums:
    cycle: Annotated[int, about("Its number.")]
    unloads: Annotated[int, about("Bundles unloaded.")]
    topics_interrupted: Annotated[int, about("Topics in them.")]
    msgs_per_sec_moved: Annotated[float | None, about("Messages/s in and out of them. Null where it is not a number.")]
    returns: Annotated[int, about("Bundles that came back to a broker they had left.")]


@dataclass(frozen=True, slots=True)
class LoopOfBundle:
    bundle: Annotated[str, about("Its full name.")]
    kind: Annotated[LoopKind, about("Whether it was elsewhere meanwhile.")]
    cycles: Annotated[Sequence[int], about("When it was back.")]
    times: Annotated[int, about("How often.")]
    way: Annotated[Sequence[str], about("Its owners in order.")]


@dataclass(frozen=True, slots=True)
class SwapOfBrokers:
    brokers: Annotated[Sequence[str], about("The two.")]
    there: Annotated[int, about("Bundles from the first to the second.")]
    back: Annotated[int, about("Bundles from the second to the first.")]
    cycles: Annotated[Sequence[int], about("When.")]


@dataclass(frozen=True, slots=True)
class ComparedRow:
    shedder: Annotated[str, about("Its class.")]
    in_force: Annotated[bool, about("Whether it is the one of the forecast.")]
    refused: Annotated[str | None, about("Why no broker of the release starts with it.")]
    unloads: Annotated[int, about("Unloads in all cycles.")]
    unloads_per_hour: Annotated[float, about("The same an hour.")]
    topics_interrupted: Annotated[int, about("Topics in them.")]
    returned: Annotated[int, about("Unloads to a former owner.")]
    quiet_after_cycles: Annotated[
        int | None, about("After how many cycles nothing moves; null where the last one still does.")
    ]
    max_over_mean: Annotated[
        float | None, about("The highest weighted usage over the mean, at the end. Null where it is not a number.")
    ]
    deviation_over_mean: Annotated[
        float | None, about("Its standard deviation over the mean, at the end. Null where it is not a number.")
    ]


@dataclass(frozen=True, slots=True)
class BrokersDocument:
    """What `ringside brokers --json` prints: brokers, what-ifs, the next cycle, the forecast, all shedders."""

    FORMAT: ClassVar = "ringside.brokers/1"

    source: Annotated[str, about("Where the load reports are from.")]
    release: Annotated[str, about("The Pulsar release whose rules are applied.")]
    load_manager: Annotated[LoadManager, LOAD_MANAGER]
    shedder: Annotated[str, SHEDDER]
    placement: Annotated[str | None, PLACEMENT]
    namespaces: Annotated[Sequence[str], about("All namespaces with a bundle, by name.")]
    brokers: Annotated[Sequence[BrokerLoadRow], about("The brokers before the first cycle, after all changes.")]
    changes: Annotated[Sequence[ChangeRow], about("What brokers that die or join do, in their order.")]
    next: Annotated[NextCycleRow | None, about("The first cycle.")]
    strip: Annotated[Sequence[CycleSums], about("Every cycle in numbers.")]
    loops: Annotated[
        Sequence[LoopOfBundle], about("Bundles that come back to a former owner, or are unloaded for nothing.")
    ]
    swaps: Annotated[Sequence[SwapOfBrokers], about("Pairs of brokers that give each other bundles.")]
    compared: Annotated[Sequence[ComparedRow], about("Every shedder on the same cluster.")]
    assumptions: Annotated[Sequence[Assumption], about("What load reports lack and the forecast assumed.")]
    cycles: Annotated[Sequence[CycleRow], about("The cycles in order.")]


def brokers_document(view: BrokersView, compared: Sequence[Compared]) -> BrokersDocument:
    """The brokers as they are after the changes, what the changes did, the forecast, loops, and all shedders."""
    frame = brokers_frame(view, 0)
    forecast = shed_document(view.ahead, interruptions=view.interruptions)
    return BrokersDocument(
        source=view.given.source,
        release=view.given.behaviour.label,
        load_manager=view.load_manager,
        shedder=view.shedder,
        placement=view.placement,
        namespaces=view.namespaces,
        brokers=[_broker(row) for row in frame.rows],
        changes=[_change(change, view.interruptions) for change in view.changes],
        next=None if frame.next is None else _next(frame.next),
        strip=[
            CycleSums(
                cycle=cell.number,
                unloads=cell.unloads,
                topics_interrupted=cell.topics,
                msgs_per_sec_moved=cell.msgs_per_sec,
                returns=cell.returns,
            )
            for cell in view.strip
        ],
        loops=[
            LoopOfBundle(
                bundle=loop.bundle,
                kind=loop.kind,
                cycles=loop.cycles,
                times=loop.times,
                way=loop.detail.split(", "),
            )
            for loop in view.loops
        ],
        swaps=[
            SwapOfBrokers(brokers=[swap.first, swap.second], there=swap.there, back=swap.back, cycles=swap.cycles)
            for swap in view.swaps
        ],
        compared=[_compared(shedder) for shedder in compared],
        assumptions=forecast.assumptions,
        cycles=forecast.cycles,
    )


def _broker(row: BrokerRow) -> BrokerLoadRow:
    return BrokerLoadRow(
        broker=row.broker,
        added=row.is_new,
        report_older_ms=row.older_ms,
        weighted_usage=row.usage,
        msgs_per_sec=row.msgs_per_sec,
        bytes_per_sec=row.bytes_per_sec,
        topics=row.topics,
        resources=[
            ResourceRow(
                resource=bar.resource,
                share=bar.share,
                threshold=bar.threshold,
                fault=bar.fault or None,
            )
            for bar in row.bars
        ],
        bundles=[
            BundleOfBroker(
                bundle=block.bundle,
                topics=block.topics,
                msgs_per_sec=block.msgs_per_sec,
                bytes_per_sec=block.bytes_per_sec,
                leaves_next=block.leaves,
            )
            for block in row.blocks
        ],
    )


def _change(change: ChangeDone, interruptions: Mapping[str, Interruption]) -> ChangeRow:
    return ChangeRow(
        kind=change.kind,
        broker=change.broker,
        idle_cycles=change.idle_cycles,
        bundles_at_end=change.gained,
        usages=[UsageChange(broker=name, before=before, after=after) for name, before, after in change.usages],
        landings=[
            extended(
                LandingOfChange,
                _anew(interruptions.get(landing.bundle)),
                bundle=landing.bundle,
                to=landing.destination,
                candidates=[Candidate(name, chance) for name, chance in landing.chances.items()],
                topics=landing.stats.topics,
                producers=landing.stats.producers,
                consumers=landing.stats.consumers,
            )
            for landing in change.landings
        ],
    )


def _next(cycle: NextCycle) -> NextCycleRow:
    return NextCycleRow(
        cycle=cycle.number,
        at_ms=cycle.at_ms,
        skipped=cycle.skipped,
        blamed=cycle.blamed or None,
        hits=cycle.hits,
        deviation=cycle.deviation,
        uneven_by=cycle.sign,
        unloads=[
            extended(
                UnloadRow,
                move.numbers or NumbersRow(),
                bundle=move.move.bundle,
                from_=move.move.source,
                to=move.move.destination,
                planned=move.planned or None,
            )
            for move in cycle.moves
        ],
        left_alone=[_left(left) for left in cycle.left_alone],
    )


def _left(left: LeftAlone) -> LeftAloneRow:
    return extended(
        LeftAloneRow,
        left.numbers or NumbersRow(),
        broker=left.broker,
        other=left.other or None,
        bundle=left.bundle or None,
        bundles=left.count if left.bundle else 0,
        why=left.why,
    )


def _compared(compared: Compared) -> ComparedRow:
    usage = compared.after.usage if compared.after is not None else None
    return ComparedRow(
        shedder=compared.shedder,
        in_force=compared.in_force,
        refused=compared.refused or None,
        unloads=compared.unloads,
        unloads_per_hour=compared.unloads_per_hour,
        topics_interrupted=compared.topics,
        returned=compared.returned,
        quiet_after_cycles=compared.quiet_after,
        max_over_mean=usage.max_over_mean if usage is not None else None,
        deviation_over_mean=usage.deviation_over_mean if usage is not None else None,
    )


@dataclass(frozen=True, slots=True)
class Interrupts:
    topics: Annotated[int, about("Its topics, by the load report.", 0)]
    producers: Annotated[int, about("Producers that connect again, by the load report.", 0)]
    consumers: Annotated[int, about("Consumers that connect again, by the load report.", 0)]
    handovers: Annotated[
        int | None, about("Active consumers that are chosen anew. Null without statistics of its topics.", 0)
    ] = None
    draining_slots: Annotated[
        int | None, about("Slots of Key_Shared that no longer drain. Null without statistics of its topics.", 0)
    ] = None
    unacked_messages: Annotated[
        int | None, about("Messages that may come twice. Null without statistics of its topics.", 0)
    ] = None


@dataclass(frozen=True, slots=True)
class BundleDocument(BundleExplained):
    """Which brokers may own a bundle."""

    FORMAT: ClassVar[str] = "ringside.explain/1"
    KIND: ClassVar[str] = "bundle"
    interrupts: Annotated[Interrupts, about("What unloading it interrupts.")]


def bundle_document(explanation: BundleExplained, interruption: Interruption | None) -> BundleDocument:
    """The answer of ``explain bundle``; ``interruption`` by the statistics of its topics, None without."""
    by_report = {name: getattr(explanation.stats, name) for name in ("topics", "producers", "consumers")}
    whole = extended(Interrupts, interruption, **by_report) if interruption is not None else Interrupts(**by_report)
    return extended(BundleDocument, explanation, interrupts=whole)
