"""English about shedding: what a shedder made of brokers and bundles, what was assumed, and what goes round."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from engine.balance.broker_lost import BrokerLost
from engine.balance.leadership.shedding import UnloadOutcome
from engine.balance.shed_ahead_model import AheadMove, Assumption, Evenness
from engine.balance.shedding.model import BrokerOutcome
from engine.balance.shedding.transfer import PairOutcome, SkipReason
from engine.views.brokers_model import BrokerRow, BrokersFrame, BrokersView, LeftAlone, Round
from tui.kit.wording import Line, bytes_per_sec, counted, msgs_per_sec, percent, safe_name

MOVES_SHOWN: Final = 8
SHORT_NAMES: Final = {
    "ThresholdShedder": "Threshold",
    "OverloadShedder": "Overload",
    "UniformLoadShedder": "Uniform",
    "AvgShedder": "Avg",
    "TransferShedder": "Transfer",
}
ASSUMED: Final[dict[Assumption, str]] = {
    "traffic-stays": "traffic stays as it is reported",
    "usage-moves-with-traffic": "cpu, direct memory and bandwidth move with a bundle's share of its broker's bytes",
    "averages-from-one-report": "the leader's averages are the reported rates, since each broker has one report only",
    "averages-from-reports": "the leader's averages come from the reports given, which may not be all there were",
    "history-empty": "hit counts and recent unloads, which only the leader knows, are empty",
    "policies-unknown": "no isolation policy is known, so every broker may own every bundle",
    "map-order-unknown": "names share a bucket of a Java map, so another order of bundles is possible",
}
OUTCOMES: Final[dict[BrokerOutcome, str]] = {
    "sheds": "sheds",
    "below-threshold": "is not over the limit",
    "too-few-bundles": "has fewer than two bundles",
    "below-minimum-traffic": "would offload too little to be worth an unload",
    "nothing-to-take": "has no bundle that may be taken or fits",
    "not-the-busiest": "is not the broker that sheds",
    "hits-too-few": "was over the limit too few times in a row",
}
SHORT_OUTCOMES: Final[dict[BrokerOutcome, str]] = {
    "sheds": "sheds",
    "below-threshold": "below",
    "too-few-bundles": "one bundle",
    "below-minimum-traffic": "too little",
    "nothing-to-take": "none fits",
    "not-the-busiest": "not it",
    "hits-too-few": "too early",
}
STAYS: Final[dict[UnloadOutcome, str]] = {
    "unloaded": "is unloaded",
    "excluded-namespace": "its namespace is excluded from shedding",
    "no-other-broker": "no other broker may own it",
    "anti-affinity": "its anti-affinity group is spread as well as it can be",
    "no-broker": "the placement finds no broker for it",
    "stays": "the placement chooses its present broker again",
    "refused": "the placement fails",
}
SKIPPED: Final[dict[SkipReason | str, str]] = {
    "switched-off": "shedding is switched off",
    "one-broker": "only one broker is there",
    "CoolDown": "a broker took part in an unload too recently for its load data (CoolDown)",
    "HitCount": "the brokers are even, or were uneven in too few cycles in a row (HitCount)",
    "NoBrokers": "no broker has load data (NoBrokers)",
    "NoBundles": "the fuller brokers have no bundle to move (NoBundles)",
    "NoLoadData": "a broker has no load data at the moment (NoLoadData)",
    "OutDatedData": "all load data is too old (OutDatedData)",
}
PAIRS: Final[dict[PairOutcome, str]] = {
    "moves": "exchange bundles",
    "no-load-data": "have no load data",
    "no-bundles-reported": "have no bundle reported",
    "one-bundle": "have one reported bundle only, which stays",
    "nothing-to-move": "have no bundle that may move or fits",
}


def short(value: float) -> str:
    """A figure with four digits; "-" where there is none."""
    return "-" if not math.isfinite(value) else f"{value:,.4g}"


def even_text(even: Evenness) -> str:
    """How even the brokers are."""
    parts = (("usage", even.usage), ("messages", even.msgs), ("bytes", even.bytes))
    said = [f"{name} {short(spread.max_over_mean)}" for name, spread in parts if math.isfinite(spread.max_over_mean)]
    return f"the fullest broker over the mean: {', '.join(said)}" if said else "no broker has any load"


def move_text(move: AheadMove) -> str:
    """A bundle, where it goes with which chance, and what that interrupts."""
    target = "nobody" if move.destination is None else safe_name(move.destination)
    others = [f"{safe_name(broker)} {percent(chance)}" for broker, chance in move.chances.items()]
    drawn = f", drawn from {', '.join(others[:6])}" if len(others) > 1 else ""
    back = ", where it was before" if move.returns else ""
    carries = f"{counted(move.topics, 'topic')}, {msgs_per_sec(move.msgs_per_sec)}"
    return f"{safe_name(move.bundle)} to {target}{back}{drawn}: {carries}"


def stays_text(left: LeftAlone) -> str:
    return f"{safe_name(left.bundle)} stays: {STAYS[left.why]}"


def round_text(found: Round) -> str:
    """What goes round, and how often."""
    names = " and ".join(safe_name(name) for name in found.name)
    if found.kind == "bundle-returns":
        return f"{names} comes back {counted(found.times, 'time')} to a broker that it had left"
    return f"{names} give each other bundles: {counted(found.times, 'move')}"


def loss_lines(lost: BrokerLost) -> Iterator[Line]:
    """Where the bundles of a broker that is gone may land."""
    yield f"{safe_name(lost.broker)} is gone", "head"
    homeless = sum(each.destination is None for each in lost.landings)
    yield f"{counted(len(lost.landings), 'bundle')} looked up again", "text"
    if homeless:
        yield f"{counted(homeless, 'bundle')} without a broker that may own it", "bad"
    sure = [each for each in lost.landings if len(each.chances) == 1]
    for each in lost.landings[:MOVES_SHOWN]:
        where = ", ".join(f"{safe_name(broker)} {percent(chance)}" for broker, chance in list(each.chances.items())[:4])
        yield f"{safe_name(each.bundle)}: {where or 'nobody'}", "text"
    if len(lost.landings) > MOVES_SHOWN:
        yield f"and {len(lost.landings) - MOVES_SHOWN} more, {len(sure)} of all with one possible broker", "dim"
    yield f"then {even_text(lost.after)}", "text"


def cycle_lines(view: BrokersView, frame: BrokersFrame) -> Iterator[Line]:
    """The words beside the brokers: what this cycle does and leaves, what goes round, and what was assumed."""
    total = len(view.cycles)
    if frame.number > total:
        yield f"after {counted(total, 'cycle')}", "head"
        yield even_text(frame.evenness), "text"
    else:
        yield f"cycle {frame.number} of {total}, in {frame.at_ms / 60_000:g} min", "head"
        yield from _decision(view, frame)
    if view.unloads:
        topics = sum(each.topics for each in view.cycles)
        per_hour = f"{view.forecast.unloads_per_hour:.1f} an hour"
        yield f"in {counted(total, 'cycle')}: {counted(view.unloads, 'unload')} ({per_hour}), {topics:,} topics", "head"
    else:
        yield f"nothing is unloaded in {counted(total, 'cycle')}", "head"
    for found in view.rounds[:4]:
        yield f"! {round_text(found)}", "warn"
    for broker, cycle in view.idle_until.items():
        until = f"until cycle {cycle}" if cycle is not None else "in every cycle"
        yield f"! {safe_name(broker)} stays without a bundle {until}", "warn"
    for lost in view.losses[-1:]:
        yield from loss_lines(lost)
    yield "assumed", "head"
    for assumption in view.assumptions:
        yield ASSUMED[assumption], "dim"


def _decision(view: BrokersView, frame: BrokersFrame) -> Iterator[Line]:
    if frame.skipped is not None:
        yield f"nothing: {SKIPPED[frame.skipped]}", "text"
    elif not frame.moves and not frame.left_alone:
        yield f"{view.shedder} unloads nothing", "text"
    for move in frame.moves[:MOVES_SHOWN]:
        yield move_text(move), "warn" if move.returns else "good"
    if len(frame.moves) > MOVES_SHOWN:
        yield f"and {len(frame.moves) - MOVES_SHOWN} more", "dim"
    for left in frame.left_alone[:MOVES_SHOWN]:
        yield stays_text(left), "text"
    for pair in frame.pairs[:MOVES_SHOWN]:
        yield f"{safe_name(pair.fuller)} and {safe_name(pair.emptier)} {PAIRS[pair.outcome]}", "dim"


def hint_text(view: BrokersView, frame: BrokersFrame) -> str:
    """The sentence above the brokers: what comes next, and the key for it."""
    coming = next((at for at, each in enumerate(view.cycles, 1) if at >= frame.number and each.unloads), None)
    if coming == frame.number:
        moves = counted(len(frame.moves), "bundle")
        return f"This cycle unloads {moves}: ] shows the brokers after it. x: what if the selected broker dies?"
    if coming is not None:
        return f"Nothing moves in this cycle; s goes to the next unload, in cycle {coming}."
    if view.rounds:
        return f"! {round_text(view.rounds[0])}. r tries another shedder on the same cluster."
    return f"{view.shedder} unloads nothing more. r tries another shedder, + and - move its threshold."


def broker_lines(row: BrokerRow, view: BrokersView) -> Iterator[Line]:
    """One broker in full: every resource, what the shedder made of it, and its bundles."""
    traffic = f"{msgs_per_sec(row.msgs_per_sec)}, {bytes_per_sec(row.bytes_per_sec)}"
    yield f"{counted(len(row.blocks), 'bundle')}, {counted(row.topics, 'topic')}, {traffic}", "text"
    if row.judged is not None:
        figures = f"{short(row.figure)} of {short(row.limit)}"
        yield f"it {OUTCOMES[row.judged]} ({figures})", "warn" if row.judged == "sheds" else "text"
    for each in row.resources:
        used = percent(each.used) if each.is_known else "not reported"
        counts = f"weight {each.weight:g}" if each.weight else "does not count (weight 0)"
        yield f"{each.name}: {used}, {counts}", "text" if each.weight else "dim"
    for block in row.blocks:
        sign = "-> " if block.leaves else "new " if block.arrived else ""
        rates = f"{msgs_per_sec(block.msgs_per_sec)}, {bytes_per_sec(block.bytes_per_sec)}"
        yield (
            f"{sign}{safe_name(block.bundle)}: {counted(block.topics, 'topic')}, {rates}",
            ("warn" if block.leaves else "good" if block.arrived else "text"),
        )
