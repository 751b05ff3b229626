"""``shed``: the next cycles as text, each with who sheds which bundle to whom, and what is left alone and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from engine.balance.ahead.model import AheadCycle, AheadMove, Evenness, ShedAhead
from engine.balance.leadership.shedding import SheddingCycle
from engine.balance.shedding.model import BrokerVerdict
from engine.views.brokers.view import shedder_of
from tui.brokers.words import ASSUMED_TEXTS, BROKER_TEXTS, PAIR_TEXTS, SKIPPED_TEXTS, STAYS_TEXTS
from tui.cli.plain import Align, table, wrapped
from tui.kit.wording import counted, percent, safe_name

BUNDLES_SHOWN: Final = 12
_COMPARED: Final[tuple[Align, ...]] = ("<", ">", ">", ">", ">", ">", ">", ">")


def shed_lines(found: ShedAhead, compared: Sequence[ShedAhead] = ()) -> list[str]:
    """The forecast, cycle by cycle; cycles that say the same as the one before are one line."""
    start = found.start
    first = f"{shedder_of(found)} over {counted(len(start.loads), 'broker')}, {counted(len(found.cycles), 'cycle')}"
    lines = [first, *_indented(f"before: {_even(found.before)}")]
    last: list[str] = []
    for cycle in found.cycles:
        said = _cycle_lines(cycle)
        if said == last and not cycle.moves:
            lines.append(f"cycle {cycle.number}: the same")
        else:
            lines += [f"cycle {cycle.number}, after {cycle.at_ms / 60_000:g} min", *said]
        last = said
    lines += ["", *_total_lines(found), "assumed:"]
    for assumption in found.assumptions:
        lines += _indented(ASSUMED_TEXTS[assumption])
    if compared:
        lines += ["", *_compared_lines(compared)]
    return lines


def _indented(sentence: str, indent: str = "  ") -> list[str]:
    return wrapped(sentence, first=indent, rest=indent + "  ")


def _cycle_lines(cycle: AheadCycle) -> list[str]:
    decision = cycle.decision
    lines: list[str] = []
    skipped = decision.no_run if isinstance(decision, SheddingCycle) else decision.skip
    if skipped is not None:
        lines += _indented(f"nothing: {SKIPPED_TEXTS[skipped]}")
    if isinstance(decision, SheddingCycle):
        for verdict in decision.plan.verdicts:
            lines += _indented(_verdict(verdict))
        for unload in decision.unloads:
            if unload.outcome != "unloaded":
                lines += _indented(f"{safe_name(unload.bundle)} stays: {STAYS_TEXTS[unload.outcome]}", "    ")
    else:
        for pair in decision.pairs:
            lines += _indented(f"{safe_name(pair.fuller)} and {safe_name(pair.emptier)} {PAIR_TEXTS[pair.outcome]}")
    for move in cycle.moves[:BUNDLES_SHOWN]:
        lines += _indented(_move(move), "    ")
    if len(cycle.moves) > BUNDLES_SHOWN:
        lines.append(f"    and {len(cycle.moves) - BUNDLES_SHOWN} more (--json has them all)")
    if cycle.moves:
        lines += _indented(f"then: {_even(cycle.evenness)}")
    return lines


def _verdict(verdict: BrokerVerdict) -> str:
    figures = f"{_short(verdict.figure)} of {_short(verdict.limit)}"
    return f"{safe_name(verdict.broker)} {BROKER_TEXTS[verdict.outcome]} ({figures})"


def _move(move: AheadMove) -> str:
    target = "nobody" if move.destination is None else safe_name(move.destination)
    others = [f"{safe_name(broker)} {percent(chance)}" for broker, chance in move.chances.items()]
    drawn = f", drawn from {', '.join(others[:6])}" if len(others) > 1 else ""
    back = ", where it was before" if move.returns else ""
    carries = f"{counted(move.topics, 'topic')}, {_short(move.msgs_per_sec)} msg/s"
    return f"{safe_name(move.bundle)} to {target}{back}{drawn}: {carries}"


def _even(even: Evenness) -> str:
    parts = (("usage", even.usage), ("messages", even.msgs), ("bytes", even.bytes))
    said = [f"{name} {_short(spread.max_over_mean)}" for name, spread in parts if math.isfinite(spread.max_over_mean)]
    return f"the fullest broker over the mean: {', '.join(said)}" if said else "no broker has any load"


def _total_lines(found: ShedAhead) -> list[str]:
    topics = sum(move.topics for move in found.moves)
    returned = sum(move.returns for move in found.moves)
    quiet = found.quiet_after
    ends = "still unloading in the last cycle" if quiet is None else f"quiet after {counted(quiet, 'cycle')}"
    back = f", {counted(returned, 'bundle')} back where they were" if returned else ""
    return wrapped(
        f"{counted(len(found.moves), 'unload')} ({found.unloads_per_hour:.1f} an hour),"
        f" {counted(topics, 'topic')} interrupted{back}; {ends}; {_even(found.after)}",
        rest="  ",
    )


def _compared_lines(compared: Sequence[ShedAhead]) -> list[str]:
    heading = ("shedder", "unloads", "an hour", "topics", "back", "quiet after", "messages", "bytes")
    rows = [
        (
            shedder_of(each),
            str(len(each.moves)),
            f"{each.unloads_per_hour:.1f}",
            str(sum(move.topics for move in each.moves)),
            str(sum(move.returns for move in each.moves)),
            "-" if each.quiet_after is None else str(each.quiet_after),
            _short(each.after.msgs.max_over_mean),
            _short(each.after.bytes.max_over_mean),
        )
        for each in compared
    ]
    return [*table([heading, *rows], _COMPARED), "messages and bytes: the fullest broker over the mean, at the end"]


def _short(value: float) -> str:
    return "-" if not math.isfinite(value) else f"{value:,.4g}"
