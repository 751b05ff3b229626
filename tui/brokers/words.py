"""English for brokers and what a cycle of shedding decides, on the screen and in printed pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from engine.balance.ahead.model import Assumption
from engine.balance.leadership.shedding import UnloadOutcome
from engine.balance.shedding.model import BrokerOutcome, BundleOutcome
from engine.balance.shedding.transfer import PairOutcome, SkipReason, TopBundleOutcome
from engine.text import counted
from engine.views.brokers.model import (
    BrokersFrame,
    BrokersView,
    ChangeDone,
    Compared,
    Fault,
    LeftAlone,
    NextMove,
    Resource,
)
from engine.views.brokers.view import SHEDDERS
from tui.kit.wording import Line, bytes_per_sec, msgs_per_sec, percent, quantity, safe_name

ASSUMED_TEXTS: Final[dict[Assumption, str]] = {
    "traffic-stays": "traffic stays as it is reported",
    "usage-moves-with-traffic": "cpu, direct memory and bandwidth move with a bundle's share of its broker's bytes",
    "averages-from-one-report": "the leader's averages are the reported rates, since each broker has one report only",
    "averages-from-reports": "the leader's averages come from the reports given, which may not be all there were",
    "history-empty": "hit counts and recent unloads, which only the leader knows, are empty",
    "policies-unknown": "no policy is known, so every broker may own every bundle",
    "isolation-unknown": "no isolation policy is known, so every broker may own every bundle",
    "groups-unknown": "no anti-affinity group is known",
    "domains-unknown": "failureDomainsEnabled is true, but no failure domain is known",
    "map-order-unknown": "names share a bucket of a Java map, so another order of bundles is possible",
}
BROKER_TEXTS: Final[dict[BrokerOutcome, str]] = {
    "sheds": "sheds",
    "below-threshold": "is not over the limit",
    "too-few-bundles": "has fewer than two bundles",
    "below-minimum-traffic": "would offload too little to be worth an unload",
    "nothing-to-take": "has no bundle that may be taken or fits",
    "not-the-busiest": "is not the broker that sheds",
    "hits-too-few": "was over the limit too few times in a row",
}
STAYS_TEXTS: Final[dict[UnloadOutcome, str]] = {
    "unloaded": "is unloaded",
    "excluded-namespace": "its namespace is excluded from shedding",
    "no-other-broker": "no other broker may own it",
    "anti-affinity": "its anti-affinity group is spread as well as it can be",
    "no-broker": "the placement finds no broker for it",
    "stays": "the placement chooses its present broker again",
    "refused": "the placement fails",
}
SKIPPED_TEXTS: Final[dict[SkipReason | str, str]] = {
    "switched-off": "shedding is switched off",
    "one-broker": "only one broker is there",
    "CoolDown": "a broker took part in an unload too recently for its load data (CoolDown)",
    "HitCount": "the brokers are even, or were uneven in too few cycles in a row (HitCount)",
    "NoBrokers": "no broker has load data (NoBrokers)",
    "NoBundles": "the fuller brokers have no bundle to move (NoBundles)",
    "NoLoadData": "a broker has no load data at the moment (NoLoadData)",
    "OutDatedData": "all load data is too old (OutDatedData)",
}
PAIR_TEXTS: Final[dict[PairOutcome, str]] = {
    "moves": "exchange bundles",
    "no-load-data": "have no load data",
    "no-bundles-reported": "have no bundle reported",
    "one-bundle": "have one reported bundle only, which stays",
    "nothing-to-move": "have no bundle that may move or fits",
    "only-idle-bundles": "move bundles without traffic only",
}
BUNDLE_TEXTS: Final[dict[BundleOutcome | TopBundleOutcome, str]] = {
    "unloaded": "unloaded",
    "moved": "moved",
    "swapped": "moved back to make room",
    "recently-unloaded": "unloaded within the grace period",
    "no-averages": "in no report that the leader has averages of",
    "enough-taken": "enough was taken before",
    "too-large": "larger than what should move",
    "idle": "without traffic",
    "maximum-reached": "the maximum of a cycle was reached",
    "not-owned": "not owned any more",
    "excluded-namespace": "the namespace is excluded from shedding",
    "not-movable": "bound by policies, or refused by every filter",
    "last-one": "one reported bundle always stays",
    "not-looked-at": "not looked at, enough was found",
}


RESOURCE_TEXTS: Final[dict[Resource, str]] = {
    "cpu": "cpu",
    "memory": "memory",
    "direct_memory": "direct",
    "bandwidth_in": "in",
    "bandwidth_out": "out",
}
FAULT_TEXTS: Final[dict[Fault, str]] = {
    "": "",
    "no-limit": "no limit is reported, so Pulsar counts it as 0 %",
    "not-a-number": "is not a number",
    "negative": "is negative",
}
SHORT_NAMES: Final[dict[str, str]] = {
    "ThresholdShedder": "Threshold",
    "OverloadShedder": "Overload",
    "UniformLoadShedder": "Uniform",
    "AvgShedder": "Avg",
    "TransferShedder": "Transfer",
}
LANDINGS_SHOWN: Final = 12
CANDIDATES_SHOWN: Final = 4
USAGES_SHOWN: Final = 8
MOVES_SHOWN: Final = 30
LEFT_SHOWN: Final = 30
PROBLEMS_SHOWN: Final = 12
LOOPS_SHOWN: Final = 10
_SHARES: Final = ("ThresholdShedder", "OverloadShedder")
LEFT_TEXTS: Final[dict[str, str]] = {
    str(why): text for texts in (STAYS_TEXTS, BUNDLE_TEXTS, BROKER_TEXTS, PAIR_TEXTS) for why, text in texts.items()
}


def status_text(view: BrokersView) -> str:
    """Which rules the forecast is made by."""
    placement = "" if view.placement is None else f", {view.placement}"
    changed = ", ".join(f"{safe_name(name)}={safe_name(text)}" for name, text in view.question.settings)
    release = f"Pulsar {view.given.release}"
    return f"{release}, {view.load_manager}: {view.shedder}{placement}{', ' + changed if changed else ''}"


def hint_text(view: BrokersView, frame: BrokersFrame) -> str:
    """What the page shows in one sentence: whether it is reported or computed, and what comes of it."""
    seen = "as reported" if not frame.cycle and not view.changes else "computed"
    if not frame.cycle:
        when = "now" if not view.changes else "before cycle 1"
    else:
        when = f"after cycle {frame.cycle} of {view.question.cycles}"
    quiet = view.ahead.quiet_after
    ends = "not quiet by then" if quiet is None else f"quiet after {counted(quiet, 'cycle')}" if quiet else "quiet"
    unloads = sum(cell.unloads for cell in view.strip)
    loops = f", {counted(len(view.loops), 'bundle')} in loops" if view.loops else ""
    return f"{when}, {seen}; {spread_text(frame)}; forecast: {counted(unloads, 'unload')}, {ends}{loops}"


def spread_text(frame: BrokersFrame) -> str:
    """How even the brokers are."""
    value = frame.evenness.usage.max_over_mean
    return "no weighted usage" if not math.isfinite(value) else f"max/mean {value:.2f}"


def next_lines(view: BrokersView, frame: BrokersFrame) -> list[Line]:
    """The next cycle: unloads with reasons, then what stays; before it what the changes did, after it the loops."""
    lines: list[Line] = []
    if not frame.cycle:
        for change in view.changes:
            lines += change_lines(change, view.question.cycles)
        for broker, older in view.older.items():
            text = f"{safe_name(broker)}: its report is {older / 60_000:.0f} min older than the newest"
            lines.append((f"{text}; if it is gone, x takes it away", "warn"))
        lines += fault_lines(frame)
    coming = frame.next
    if coming is None:
        lines.append((f"the forecast ends with cycle {frame.cycle}", "head"))
    else:
        lines.append((f"cycle {coming.number}, after {coming.at_ms / 60_000:g} min", "head"))
        if coming.skipped is not None:
            lines.append((f"nothing: {SKIPPED_TEXTS[coming.skipped]}", "dim"))
        shown = coming.moves[:MOVES_SHOWN]
        lines += [(move_text(move, view.shedder), "warn" if move.move.returns else "text") for move in shown]
        if len(coming.moves) > MOVES_SHOWN:
            lines.append((f"and {len(coming.moves) - MOVES_SHOWN} more (--json has them all)", "dim"))
        if not coming.moves and coming.skipped is None:
            lines.append(("nothing is unloaded", "good"))
        if coming.doubtful:
            lines.append(("other bundles are possible as well: a Java map's order is unknown (see below)", "dim"))
        if coming.left_alone:
            lines.append(("left alone", "head"))
            lines += [(left_text(left, view.shedder), "dim") for left in coming.left_alone[:LEFT_SHOWN]]
            if len(coming.left_alone) > LEFT_SHOWN:
                lines.append((f"and {len(coming.left_alone) - LEFT_SHOWN} more (--json has them all)", "dim"))
    return [*lines, *loop_lines(view), *problem_lines(view), *assumed_lines(view.ahead.assumptions)]


def move_text(coming: NextMove, shedder: str) -> str:
    """Who sheds what to whom, and why."""
    move = coming.move
    target = "nobody" if move.destination is None else safe_name(move.destination)
    names = [f"{safe_name(broker)} {percent(chance)}" for broker, chance in move.chances.items()]
    more = f" and {len(names) - CANDIDATES_SHOWN} more" if len(names) > CANDIDATES_SHOWN else ""
    drawn = f" (drawn from {', '.join(names[:CANDIDATES_SHOWN])}{more})" if len(names) > 1 else ""
    back = ", back where it was" if move.returns else ""
    why = f", because {compared_text(coming.figure, coming.limit, shedder)}" if coming.figure is not None else ""
    carries = f"{counted(move.topics, 'topic')}, {msgs_per_sec(move.msgs_per_sec)}"
    return f"{safe_name(move.source)} sheds {safe_name(move.bundle)} to {target}{drawn}{back}: {carries}{why}"


def compared_text(figure: float | None, limit: float | None, shedder: str) -> str:
    """Two numbers as the shedder compares them."""
    if figure is None or limit is None:
        return ""
    if shedder in _SHARES:
        return f"{percent(figure)} against a limit of {percent(limit)}"
    if shedder == "TransferShedder":
        return f"loads of {percent(figure)} and {percent(limit)}"
    return f"{figure:,.4g} against a limit of {limit:,.4g}"


def left_text(left: LeftAlone, shedder: str) -> str:
    """Who or what stays, and why."""
    broker, numbers = safe_name(left.broker), compared_text(left.figure, left.limit, shedder)
    numbers = f" ({numbers})" if numbers else ""
    if left.other:
        return f"{broker} and {safe_name(left.other)} {LEFT_TEXTS[left.why]}{numbers}"
    if not left.bundle:
        return f"{broker} {LEFT_TEXTS[left.why]}{numbers}"
    which = safe_name(left.bundle) if left.count == 1 else counted(left.count, "bundle")
    return f"{broker}: {which}: {LEFT_TEXTS[left.why]}"


def change_lines(change: ChangeDone, cycles: int) -> list[Line]:
    """What the death or the arrival of a broker does."""
    broker = safe_name(change.broker)
    if change.kind == "joins":
        if change.idle_cycles is None:
            return [(f"{broker} joins and gets no bundle in {counted(cycles, 'cycle')}", "warn")]
        gained = f"{counted(change.gained, 'bundle')} at the end"
        return [(f"{broker} joins and stays idle for {counted(change.idle_cycles, 'cycle')}; {gained}", "good")]
    topics = sum(landing.stats.topics for landing in change.landings)
    lines: list[Line] = [
        (f"{broker} dies: {counted(len(change.landings), 'bundle')}, {counted(topics, 'topic')} interrupted", "head")
    ]
    usages = [f"{safe_name(name)} {percent(was)} > {percent(now)}" for name, was, now in change.usages[:USAGES_SHOWN]]
    lines.append((f"usage of the others, by one of the possible draws: {', '.join(usages)}", "text"))
    for landing in change.landings[:LANDINGS_SHOWN]:
        names = [f"{safe_name(name)} {percent(chance)}" for name, chance in landing.chances.items()]
        more = f" and {len(names) - CANDIDATES_SHOWN} more" if len(names) > CANDIDATES_SHOWN else ""
        if landing.destination is None:
            why = f": {safe_name(landing.refusal)}" if landing.refusal else ""
            lines.append((f"{safe_name(landing.bundle)}: nobody may own it{why}", "bad"))
            continue
        if len(names) == 1:
            lines.append((f"{safe_name(landing.bundle)} lands on {safe_name(landing.destination)}", "text"))
        else:
            where = ", ".join(names[:CANDIDATES_SHOWN])
            lines.append((f"{safe_name(landing.bundle)} may land on {where}{more}", "text"))
    if len(change.landings) > LANDINGS_SHOWN:
        lines.append(
            (f"and {counted(len(change.landings) - LANDINGS_SHOWN, 'bundle')} more (--json has them all)", "dim")
        )
    return lines


def fault_lines(frame: BrokersFrame) -> list[Line]:
    """Usages that cannot be what the broker uses."""
    return [
        (f"{safe_name(row.broker)}: {RESOURCE_TEXTS[bar.resource]} {FAULT_TEXTS[bar.fault]}", "bad")
        for row in frame.rows
        for bar in row.bars
        if bar.fault in ("not-a-number", "negative")
    ]


def loop_lines(view: BrokersView) -> list[Line]:
    """Bundles that come back, and pairs of brokers that exchange bundles."""
    lines: list[Line] = []
    for loop in view.loops[:LOOPS_SHOWN]:
        where = ", ".join(map(str, loop.cycles[:6]))
        way = safe_name(loop.detail.replace(", ", " > "))
        lines.append(
            (f"loop: {safe_name(loop.bundle)} comes back {counted(loop.times, 'time')} (cycle {where}): {way}", "bad")
        )
    if len(view.loops) > LOOPS_SHOWN:
        lines.append((f"and {len(view.loops) - LOOPS_SHOWN} more loops", "bad"))
    for swap in view.swaps[:LOOPS_SHOWN]:
        pair = f"{safe_name(swap.first)} and {safe_name(swap.second)}"
        lines.append((f"swap: {pair} give each other bundles, {swap.there} there and {swap.back} back", "warn"))
    return [("going round in circles", "head"), *lines] if lines else []


def problem_lines(view: BrokersView) -> list[Line]:
    """What was wrong with what was read, and what became of it."""
    problems = view.given.problems
    lines: list[Line] = [(safe_name(str(problem)), "warn") for problem in problems[:PROBLEMS_SHOWN]]
    if len(problems) > PROBLEMS_SHOWN:
        lines.append((f"and {len(problems) - PROBLEMS_SHOWN} more (--once says them all)", "dim"))
    return [("wrong in what was read", "head"), *lines] if lines else []


def assumed_lines(assumptions: Sequence[Assumption]) -> list[Line]:
    return [
        ("assumed, since no report says it", "head"),
        *((ASSUMED_TEXTS[assumption], "dim") for assumption in assumptions),
    ]


_NAME_CELLS: Final = 10
_WIDE: Final = (("/h", 7), ("topics", 7), ("back", 6), ("quiet", 6), ("max/mean", 9), ("dev.", 6))
_MEDIUM: Final = (("/h", 6), ("topics", 7), ("quiet", 6), ("max", 5), ("dev.", 5))
_NARROW: Final = (("/h", 6), ("quiet", 6), ("max", 5), ("dev.", 5))


def _columns(width: int) -> tuple[tuple[str, int], ...]:
    """The columns that ``width`` cells have room for; both measures of how even the brokers are always have."""
    for columns in (_WIDE, _MEDIUM):
        if _NAME_CELLS + sum(cells for _, cells in columns) <= width:
            return columns
    return _NARROW


def compare_lines(compared: Sequence[Compared], cycles: int, width: int) -> list[Line]:
    """Every shedder in one line; those that are still computed have theirs already, so that nothing moves."""
    columns = _columns(width)
    lines: list[Line] = [(" " * _NAME_CELLS + "".join(name.rjust(cells) for name, cells in columns), "dim")]
    lines += [_compared_line(shedder, columns) for shedder in compared]
    shown = {shedder.shedder for shedder in compared}
    lines += [(f" {SHORT_NAMES[name]} …", "dim") for name in SHEDDERS if name not in shown]
    mean = "max/mean" if columns is _WIDE else "max"
    return [
        *lines,
        (f"*: in force. After {counted(cycles, 'cycle')}:", "dim"),
        ("/h: unloads an hour", "dim"),
        ("quiet: cycles until nothing moves", "dim"),
        (f"{mean}: fullest broker over the mean", "dim"),
        ("dev.: standard deviation over mean", "dim"),
    ]


def _compared_line(compared: Compared, columns: Sequence[tuple[str, int]]) -> Line:
    mark = "*" if compared.in_force else " "
    name = f"{mark}{SHORT_NAMES.get(compared.shedder, compared.shedder)}".ljust(_NAME_CELLS)
    if compared.after is None:
        return (f"{name} not in this release" if compared.refused else name), "dim"
    usage = compared.after.usage
    max_over_mean = _ratio(usage.max_over_mean)
    per_hour = compared.unloads_per_hour
    texts = {
        "/h": f"{per_hour:.1f}" if per_hour < 100 else quantity(per_hour),
        "topics": quantity(compared.topics),
        "back": quantity(compared.returned),
        "quiet": "-" if compared.quiet_after is None else str(compared.quiet_after),
        "max/mean": max_over_mean,
        "max": max_over_mean,
        "dev.": _ratio(usage.deviation_over_mean),
    }
    cells = "".join(texts[key].rjust(room) for key, room in columns)
    return name + cells, "head" if compared.in_force else "text"


def _ratio(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "-"


def strip_words(view: BrokersView) -> tuple[str, str, str]:
    """The totals of the three lines of the strip: unloads, topics interrupted, messages/s moved."""
    cells = view.strip
    figures = ((cell.unloads, cell.topics, cell.msgs_per_sec) for cell in cells)
    unloads, topics, msgs = (sum(line) for line in zip(*figures, strict=True)) if cells else (0, 0, 0.0)
    return quantity(unloads), quantity(topics), quantity(msgs)


def row_text(msgs: float, octets: float, topics: int, bundles: int) -> str:
    """The traffic of a broker in words."""
    return f"{counted(bundles, 'bundle')}, {counted(topics, 'topic')}, {msgs_per_sec(msgs)}, {bytes_per_sec(octets)}"
