"""``shed``: the next cycles as text, each with who sheds which bundle to whom, and what is left alone and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from engine.balance.leadership.shedding import SheddingCycle
from engine.balance.shed_ahead_model import AheadCycle, ShedAhead
from engine.balance.shedding.model import BrokerVerdict
from engine.views.shed_document import shedder_of
from tui.brokers.words import ASSUMED, OUTCOMES, PAIRS, SKIPPED, STAYS, even_text, move_text, short
from tui.cli.plain import Align, table, wrapped
from tui.kit.wording import counted, safe_name

BUNDLES_SHOWN: Final = 12
_COMPARED: Final[tuple[Align, ...]] = ("<", ">", ">", ">", ">", ">", ">", ">")


def shed_lines(found: ShedAhead, compared: Sequence[ShedAhead] = ()) -> list[str]:
    """The forecast, cycle by cycle; cycles that say the same as the one before are one line."""
    start = found.start
    first = f"{shedder_of(found)} over {counted(len(start.loads), 'broker')}, {counted(len(found.cycles), 'cycle')}"
    lines = [first, *_indented(f"before: {even_text(found.before)}")]
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
        lines += _indented(ASSUMED[assumption])
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
        lines += _indented(f"nothing: {SKIPPED[skipped]}")
    if isinstance(decision, SheddingCycle):
        for verdict in decision.plan.verdicts:
            lines += _indented(_verdict(verdict))
        for unload in decision.unloads:
            if unload.outcome != "unloaded":
                lines += _indented(f"{safe_name(unload.bundle)} stays: {STAYS[unload.outcome]}", "    ")
    else:
        for pair in decision.pairs:
            lines += _indented(f"{safe_name(pair.fuller)} and {safe_name(pair.emptier)} {PAIRS[pair.outcome]}")
    for move in cycle.moves[:BUNDLES_SHOWN]:
        lines += _indented(move_text(move), "    ")
    if len(cycle.moves) > BUNDLES_SHOWN:
        lines.append(f"    and {len(cycle.moves) - BUNDLES_SHOWN} more (--json has them all)")
    if cycle.moves:
        lines += _indented(f"then: {even_text(cycle.evenness)}")
    return lines


def _verdict(verdict: BrokerVerdict) -> str:
    figures = f"{short(verdict.figure)} of {short(verdict.limit)}"
    return f"{safe_name(verdict.broker)} {OUTCOMES[verdict.outcome]} ({figures})"


def _total_lines(found: ShedAhead) -> list[str]:
    topics = sum(move.topics for move in found.moves)
    returned = sum(move.returns for move in found.moves)
    quiet = found.quiet_after
    ends = "still unloading in the last cycle" if quiet is None else f"quiet after {counted(quiet, 'cycle')}"
    back = f", {counted(returned, 'bundle')} back where they were" if returned else ""
    return wrapped(
        f"{counted(len(found.moves), 'unload')} ({found.unloads_per_hour:.1f} an hour),"
        f" {counted(topics, 'topic')} interrupted{back}; {ends}; {even_text(found.after)}",
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
            short(each.after.msgs.max_over_mean),
            short(each.after.bytes.max_over_mean),
        )
        for each in compared
    ]
    return [*table([heading, *rows], _COMPARED), "messages and bytes: the fullest broker over the mean, at the end"]
