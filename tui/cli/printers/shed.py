"""``shed``: the next cycles as text, each with who sheds which bundle to whom, and what is left alone and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from engine.balance.leadership.shedding import SheddingCycle, UnloadOutcome
from engine.balance.shed_ahead_model import AheadCycle, AheadMove, Assumption, Evenness, ShedAhead
from engine.balance.shedding.model import BrokerOutcome, BrokerVerdict
from engine.balance.shedding.transfer import PairOutcome, SkipReason
from engine.views.shed_document import shedder_of
from tui.cli.plain import Align, table, wrapped
from tui.kit.wording import counted, percent, safe_name

BUNDLES_SHOWN: Final = 12
_COMPARED: Final[tuple[Align, ...]] = ("<", ">", ">", ">", ">", ">", ">", ">")
_ASSUMED: Final[dict[Assumption, str]] = {
    "traffic-stays": "traffic stays as it is reported",
    "usage-moves-with-traffic": "cpu, direct memory and bandwidth move with a bundle's share of its broker's bytes",
    "averages-from-one-report": "the leader's averages are the reported rates, since each broker has one report only",
    "averages-from-reports": "the leader's averages come from the reports given, which may not be all there were",
    "history-empty": "hit counts and recent unloads, which only the leader knows, are empty",
    "policies-unknown": "no isolation policy is known, so every broker may own every bundle",
    "map-order-unknown": "names share a bucket of a Java map, so another order of bundles is possible",
}
_BROKER: Final[dict[BrokerOutcome, str]] = {
    "sheds": "sheds",
    "below-threshold": "is not over the limit",
    "too-few-bundles": "has fewer than two bundles",
    "below-minimum-traffic": "would offload too little to be worth an unload",
    "nothing-to-take": "has no bundle that may be taken or fits",
    "not-the-busiest": "is not the broker that sheds",
    "hits-too-few": "was over the limit too few times in a row",
}
_STAYS: Final[dict[UnloadOutcome, str]] = {
    "unloaded": "is unloaded",
    "excluded-namespace": "its namespace is excluded from shedding",
    "no-other-broker": "no other broker may own it",
    "anti-affinity": "its anti-affinity group is spread as well as it can be",
    "no-broker": "the placement finds no broker for it",
    "stays": "the placement chooses its present broker again",
    "refused": "the placement fails",
}
_SKIPPED: Final[dict[SkipReason | str, str]] = {
    "switched-off": "shedding is switched off",
    "one-broker": "only one broker is there",
    "CoolDown": "a broker took part in an unload too recently for its load data (CoolDown)",
    "HitCount": "the brokers are even, or were uneven in too few cycles in a row (HitCount)",
    "NoBrokers": "no broker has load data (NoBrokers)",
    "NoBundles": "the fuller brokers have no bundle to move (NoBundles)",
    "NoLoadData": "a broker has no load data at the moment (NoLoadData)",
    "OutDatedData": "all load data is too old (OutDatedData)",
}
_PAIR: Final[dict[PairOutcome, str]] = {
    "moves": "exchange bundles",
    "no-load-data": "have no load data",
    "no-bundles-reported": "have no bundle reported",
    "one-bundle": "have one reported bundle only, which stays",
    "nothing-to-move": "have no bundle that may move or fits",
}


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
        lines += _indented(_ASSUMED[assumption])
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
        lines += _indented(f"nothing: {_SKIPPED[skipped]}")
    if isinstance(decision, SheddingCycle):
        for verdict in decision.plan.verdicts:
            lines += _indented(_verdict(verdict))
        for unload in decision.unloads:
            if unload.outcome != "unloaded":
                lines += _indented(f"{safe_name(unload.bundle)} stays: {_STAYS[unload.outcome]}", "    ")
    else:
        for pair in decision.pairs:
            lines += _indented(f"{safe_name(pair.fuller)} and {safe_name(pair.emptier)} {_PAIR[pair.outcome]}")
    for move in cycle.moves[:BUNDLES_SHOWN]:
        lines += _indented(_move(move), "    ")
    if len(cycle.moves) > BUNDLES_SHOWN:
        lines.append(f"    and {len(cycle.moves) - BUNDLES_SHOWN} more (--json has them all)")
    if cycle.moves:
        lines += _indented(f"then: {_even(cycle.evenness)}")
    return lines


def _verdict(verdict: BrokerVerdict) -> str:
    figures = f"{_short(verdict.figure)} of {_short(verdict.limit)}"
    return f"{safe_name(verdict.broker)} {_BROKER[verdict.outcome]} ({figures})"


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
