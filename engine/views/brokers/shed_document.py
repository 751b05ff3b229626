"""A forecast of shedding as plain JSON, as ``ringside shed --json`` prints it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from engine.balance.leadership.shedding import SheddingCycle
from engine.balance.shed_ahead_model import AheadCycle, AheadMove, Evenness, ShedAhead, Spread
from engine.balance.shedding.model import BrokerVerdict
from engine.balance.shedding.transfer import TransferCycle, TransferPair

FORMAT: Final = "ringside.shed/1"
TRANSFER: Final = "TransferShedder"


def shed_document(found: ShedAhead, compared: Sequence[ShedAhead] = ()) -> dict[str, Any]:
    """The forecast with every cycle; ``compared``: the same cluster under each shedder, in the order to be shown."""
    start = found.start
    return {
        "format": FORMAT,
        "load_manager": start.load_manager,
        "shedder": shedder_of(found),
        "placement": start.settings.loadBalancerLoadPlacementStrategy if start.load_manager == "modular" else None,
        "brokers": [load.broker for load in start.loads],
        "assumptions": list(found.assumptions),
        "before": _evenness(found.before),
        **_totals(found),
        "cycles": [_cycle(cycle) for cycle in found.cycles],
        "compared": [{"shedder": shedder_of(each), **_totals(each)} for each in compared],
    }


def shedder_of(found: ShedAhead) -> str:
    """The shedder that a forecast is of."""
    start = found.start
    return start.settings.loadBalancerLoadSheddingStrategy if start.load_manager == "modular" else TRANSFER


def _totals(found: ShedAhead) -> dict[str, Any]:
    moves = found.moves
    return {
        "unloads": len(moves),
        "unloads_per_hour": found.unloads_per_hour,
        "topics_interrupted": sum(move.topics for move in moves),
        "returned": sum(move.returns for move in moves),
        "quiet_after_cycles": found.quiet_after,
        "after": _evenness(found.after),
    }


def _evenness(even: Evenness) -> dict[str, Any]:
    return {"usage": _spread(even.usage), "msgs_per_sec": _spread(even.msgs), "bytes_per_sec": _spread(even.bytes)}


def _spread(spread: Spread) -> dict[str, Any]:
    return {"max_over_mean": _number(spread.max_over_mean), "deviation_over_mean": _number(spread.deviation_over_mean)}


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _cycle(cycle: AheadCycle) -> dict[str, Any]:
    decision = cycle.decision
    modular = isinstance(decision, SheddingCycle)
    return {
        "number": cycle.number,
        "at_ms": cycle.at_ms,
        "skipped": decision.no_run if isinstance(decision, SheddingCycle) else decision.skip,
        "moves": [_move(move) for move in cycle.moves],
        "left_alone": [
            {"bundle": unload.bundle, "broker": unload.source, "why": unload.outcome}
            for unload in (decision.unloads if isinstance(decision, SheddingCycle) else ())
            if unload.outcome != "unloaded"
        ],
        "brokers": [_verdict(each) for each in decision.plan.verdicts] if isinstance(decision, SheddingCycle) else [],
        "pairs": [] if modular else [_pair(each) for each in _pairs(decision)],
        "otherwise": None
        if cycle.otherwise is None
        else [{"broker": broker, "bundles": list(bundles)} for broker, bundles in cycle.otherwise],
        "evenness": _evenness(cycle.evenness),
    }


def _pairs(decision: SheddingCycle | TransferCycle) -> tuple[TransferPair, ...]:
    return decision.pairs if isinstance(decision, TransferCycle) else ()


def _move(move: AheadMove) -> dict[str, Any]:
    return {
        "bundle": move.bundle,
        "from": move.source,
        "to": move.destination,
        "candidates": [{"broker": broker, "chance": chance} for broker, chance in move.chances.items()],
        "topics": move.topics,
        "msgs_per_sec": move.msgs_per_sec,
        "bytes_per_sec": move.bytes_per_sec,
        "returns": move.returns,
    }


def _verdict(verdict: BrokerVerdict) -> dict[str, Any]:
    return {
        "broker": verdict.broker,
        "outcome": verdict.outcome,
        "figure": _number(verdict.figure),
        "limit": _number(verdict.limit),
        "need": _number(verdict.need),
        "bundles": [
            {"bundle": each.bundle, "outcome": each.outcome, "value": _number(each.value)} for each in verdict.bundles
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
            {"bundle": each.bundle, "outcome": each.outcome, "bytes_per_sec": each.bytes_per_sec}
            for each in pair.bundles
        ],
    }
