"""The view of brokers as plain JSON, as ``ringside brokers --json`` prints it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from engine.admin.interruptions import Interruption
from engine.balance.ahead.model import AheadCycle, AheadMove, Evenness, ShedAhead, Spread
from engine.balance.leadership.shedding import SheddingCycle
from engine.balance.shedding.model import BrokerVerdict
from engine.balance.shedding.transfer import TransferCycle, TransferPair
from engine.views.brokers.model import BrokerRow, BrokersView, ChangeDone, Compared, LeftAlone, NextCycle, Numbers
from engine.views.brokers.view import brokers_frame, shedder_of

SHED_FORMAT: Final = "ringside.shed/1"


def shed_document(
    ahead: ShedAhead, compared: Sequence[ShedAhead] = (), interruptions: Mapping[str, Interruption] | None = None
) -> dict[str, Any]:
    """The forecast with every cycle; ``compared``: the same cluster under each shedder, in the order to be shown.

    ``interruptions``: what unloads interrupt by what was reported of topics, by bundle.
    """
    start = ahead.start
    return {
        "format": SHED_FORMAT,
        "load_manager": start.load_manager,
        "shedder": shedder_of(ahead),
        "placement": start.placement,
        "brokers": [load.broker for load in start.loads],
        "assumptions": list(ahead.assumptions),
        "before": _evenness(ahead.before),
        **_totals(ahead),
        "cycles": [_cycle(cycle, interruptions or {}) for cycle in ahead.cycles],
        "compared": [{"shedder": shedder_of(forecast), **_totals(forecast)} for forecast in compared],
    }


def _totals(ahead: ShedAhead) -> dict[str, Any]:
    moves = ahead.moves
    return {
        "unloads": len(moves),
        "unloads_per_hour": ahead.unloads_per_hour,
        "topics_interrupted": sum(move.topics for move in moves),
        "returned": sum(move.returns for move in moves),
        "quiet_after_cycles": ahead.quiet_after,
        "after": _evenness(ahead.after),
    }


def _evenness(even: Evenness) -> dict[str, Any]:
    return {"usage": _spread(even.usage), "msgs_per_sec": _spread(even.msgs), "bytes_per_sec": _spread(even.bytes)}


def _spread(spread: Spread) -> dict[str, Any]:
    return {"max_over_mean": _number(spread.max_over_mean), "deviation_over_mean": _number(spread.deviation_over_mean)}


def _cycle(cycle: AheadCycle, interruptions: Mapping[str, Interruption]) -> dict[str, Any]:
    decision = cycle.decision
    modular = isinstance(decision, SheddingCycle)
    return {
        "number": cycle.number,
        "at_ms": cycle.at_ms,
        "skipped": decision.no_run if isinstance(decision, SheddingCycle) else decision.no_run or decision.skip,
        "moves": [_move(move, interruptions.get(move.bundle)) for move in cycle.moves],
        "left_alone": [
            {"bundle": unload.bundle, "broker": unload.source, "why": unload.outcome}
            for unload in (decision.unloads if isinstance(decision, SheddingCycle) else ())
            if unload.outcome != "unloaded"
        ],
        "brokers": [_verdict(verdict) for verdict in decision.plan.verdicts]
        if isinstance(decision, SheddingCycle)
        else [],
        "pairs": [] if modular else [_pair(pair) for pair in _pairs(decision)],
        "otherwise": None
        if cycle.otherwise is None
        else [{"broker": broker, "bundles": list(bundles)} for broker, bundles in cycle.otherwise],
        "evenness": _evenness(cycle.evenness),
    }


def _pairs(decision: SheddingCycle | TransferCycle) -> tuple[TransferPair, ...]:
    return decision.pairs if isinstance(decision, TransferCycle) else ()


def _move(move: AheadMove, interruption: Interruption | None) -> dict[str, Any]:
    return {
        "bundle": move.bundle,
        "from": move.source,
        "to": move.destination,
        "candidates": [{"broker": broker, "chance": chance} for broker, chance in move.chances.items()],
        "topics": move.topics,
        "producers": move.producers,
        "consumers": move.consumers,
        **_anew(interruption),
        "msgs_per_sec": _number(move.msgs_per_sec),
        "bytes_per_sec": _number(move.bytes_per_sec),
        "returns": move.returns,
    }


def _anew(interruption: Interruption | None) -> dict[str, Any]:
    """What only statistics of topics show; null where there are none."""
    names = ("handovers", "draining_slots", "unacked_messages")
    return {name: None if interruption is None else getattr(interruption, name) for name in names}


def _verdict(verdict: BrokerVerdict) -> dict[str, Any]:
    return {
        "broker": verdict.broker,
        "outcome": verdict.outcome,
        "figure": _number(verdict.figure),
        "limit": _number(verdict.limit),
        "measure": verdict.measure,
        "need": _number(verdict.need),
        "need_measure": verdict.need_measure,
        "least": _number(verdict.least),
        "bundles": [
            {"bundle": bundle.bundle, "outcome": bundle.outcome, "value": _number(bundle.value)}
            for bundle in verdict.bundles
        ],
    }


def _pair(pair: TransferPair) -> dict[str, Any]:
    return {
        "fuller": pair.fuller,
        "emptier": pair.emptier,
        "outcome": pair.outcome,
        "reason": pair.reason,
        "fuller_load": _number(pair.fuller_load),
        "emptier_load": _number(pair.emptier_load),
        "wanted_bytes_per_sec": _number(pair.wanted_bytes_per_sec),
        "bundles": [
            {"bundle": bundle.bundle, "outcome": bundle.outcome, "bytes_per_sec": _number(bundle.bytes_per_sec)}
            for bundle in pair.bundles
        ],
    }


FORMAT: Final = "ringside.brokers/1"


def brokers_document(view: BrokersView, compared: Sequence[Compared]) -> dict[str, Any]:
    """The brokers as they are after the changes, what the changes did, the forecast, loops, and all shedders."""
    frame = brokers_frame(view, 0)
    forecast = shed_document(view.ahead, interruptions=view.interruptions)
    return {
        "format": FORMAT,
        "source": view.given.source,
        "release": view.given.behaviour.label,
        "load_manager": view.load_manager,
        "shedder": view.shedder,
        "placement": view.placement,
        "namespaces": list(view.namespaces),
        "brokers": [_broker(row) for row in frame.rows],
        "changes": [_change(change, view.interruptions) for change in view.changes],
        "next": None if frame.next is None else _next(frame.next),
        "strip": [
            {
                "cycle": cell.number,
                "unloads": cell.unloads,
                "topics_interrupted": cell.topics,
                "msgs_per_sec_moved": _number(cell.msgs_per_sec),
                "returns": cell.returns,
            }
            for cell in view.strip
        ],
        "loops": [
            {
                "bundle": loop.bundle,
                "kind": loop.kind,
                "cycles": list(loop.cycles),
                "times": loop.times,
                "way": loop.detail.split(", "),
            }
            for loop in view.loops
        ],
        "swaps": [
            {"brokers": [swap.first, swap.second], "there": swap.there, "back": swap.back, "cycles": list(swap.cycles)}
            for swap in view.swaps
        ],
        "compared": [_compared(shedder) for shedder in compared],
        "assumptions": forecast["assumptions"],
        "cycles": forecast["cycles"],
    }


def _broker(row: BrokerRow) -> dict[str, Any]:
    return {
        "broker": row.broker,
        "added": row.is_new,
        "report_older_ms": row.older_ms,
        "weighted_usage": _number(row.usage),
        "msgs_per_sec": _number(row.msgs_per_sec),
        "bytes_per_sec": _number(row.bytes_per_sec),
        "topics": row.topics,
        "resources": [
            {
                "resource": bar.resource,
                "share": _number(bar.share),
                "threshold": _number(bar.threshold),
                "fault": bar.fault or None,
            }
            for bar in row.bars
        ],
        "bundles": [
            {
                "bundle": block.bundle,
                "topics": block.topics,
                "msgs_per_sec": _number(block.msgs_per_sec),
                "bytes_per_sec": _number(block.bytes_per_sec),
                "leaves_next": block.leaves,
            }
            for block in row.blocks
        ],
    }


def _change(change: ChangeDone, interruptions: Mapping[str, Interruption]) -> dict[str, Any]:
    return {
        "kind": change.kind,
        "broker": change.broker,
        "idle_cycles": change.idle_cycles,
        "bundles_at_end": change.gained,
        "usages": [
            {"broker": name, "before": _number(before), "after": _number(after)}
            for name, before, after in change.usages
        ],
        "landings": [
            {
                "bundle": landing.bundle,
                "to": landing.destination,
                "candidates": [{"broker": name, "chance": chance} for name, chance in landing.chances.items()],
                "topics": landing.stats.topics,
                "producers": landing.stats.producers,
                "consumers": landing.stats.consumers,
                **_anew(interruptions.get(landing.bundle)),
            }
            for landing in change.landings
        ],
    }


def _next(cycle: NextCycle) -> dict[str, Any]:
    return {
        "cycle": cycle.number,
        "at_ms": cycle.at_ms,
        "skipped": cycle.skipped,
        "blamed": cycle.blamed or None,
        "hits": cycle.hits,
        "deviation": _number(cycle.deviation),
        "uneven_by": cycle.sign,
        "unloads": [
            {
                "bundle": move.move.bundle,
                "from": move.move.source,
                "to": move.move.destination,
                "planned": move.planned or None,
                **_numbers(move.numbers),
            }
            for move in cycle.moves
        ],
        "left_alone": [_left(left) for left in cycle.left_alone],
    }


def _left(left: LeftAlone) -> dict[str, Any]:
    return {
        "broker": left.broker,
        "other": left.other or None,
        "bundle": left.bundle or None,
        "bundles": left.count if left.bundle else 0,
        "why": left.why,
        **_numbers(left.numbers),
    }


def _numbers(numbers: Numbers | None) -> dict[str, Any]:
    """What was compared; all of it None where nothing was."""
    if numbers is None:
        return dict.fromkeys(("measure", "figure", "limit", "need", "need_measure", "least"))
    return asdict(numbers)


def _compared(compared: Compared) -> dict[str, Any]:
    usage = compared.after.usage if compared.after is not None else None
    return {
        "shedder": compared.shedder,
        "in_force": compared.in_force,
        "refused": compared.refused or None,
        "unloads": compared.unloads,
        "unloads_per_hour": compared.unloads_per_hour,
        "topics_interrupted": compared.topics,
        "returned": compared.returned,
        "quiet_after_cycles": compared.quiet_after,
        "max_over_mean": _number(usage.max_over_mean) if usage is not None else None,
        "deviation_over_mean": _number(usage.deviation_over_mean) if usage is not None else None,
    }


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
