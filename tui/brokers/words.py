"""English for brokers and what a cycle of shedding decides, on the screen and in printed pages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from engine.admin.interruptions import Interruption
from engine.balance.ahead.model import Assumption
from engine.text import counted, listed, time_text
from engine.views.brokers.model import (
    BrokersFrame,
    BrokersView,
    ChangeDone,
    Compared,
    Fault,
    Resource,
)
from engine.views.brokers.view import SHEDDERS
from tui.brokers.cycle_words import chances_text, clients_text, cycle_lines
from tui.kit.wording import (
    BUSIEST,
    Line,
    bytes_per_sec,
    in_out_rate,
    percent,
    quantity,
    safe_name,
    shorten_middle,
)

ASSUMED_TEXTS: Final[dict[Assumption, str]] = {
    "traffic-stays": "traffic stays as it is reported",
    "usage-moves-with-traffic": "cpu, direct memory and bandwidth move with a bundle's share of its broker's bytes",
    "averages-from-one-report": "the leader's averages are the reported rates, since each broker has one report only",
    "averages-from-reports": "the leader's averages come from the reports given, which may not be all there were",
    "loads-from-metrics": "usage comes from the brokers' metrics and traffic from their loaded topics; the average"
    " throughput, which no metric shows, is taken as that of now",
    "history-empty": "hit counts and recent unloads, which only the leader knows, are empty",
    "loads-unknown": "usage and rates that a report lacks count as 0, so what is computed of such brokers may differ",
    "policies-unknown": "no policy is known, so every broker may own every bundle",
    "isolation-unknown": "no isolation policy is known, so every broker may own every bundle",
    "groups-unknown": "no anti-affinity group is known",
    "domains-unknown": "failureDomainsEnabled is true, but no failure domain is known",
    "map-order-unknown": "names share a bucket of a Java map, so another order of bundles is possible",
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
    "no-limit": "has no limit in the report, so Pulsar counts it as 0%",
    "not-reported": "is not in the report, and counts as 0% here",
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
USAGES_SHOWN: Final = 8
PROBLEMS_SHOWN: Final = 12
LOOPS_SHOWN: Final = 10
CYCLES_LISTED: Final = 6
WAY_SHOWN: Final = 6


def status_text(view: BrokersView) -> str:
    """Which rules the forecast is made by, and what was changed."""
    placement = "" if view.placement is None else f", {view.placement}"
    settings = [f"{safe_name(name)}={safe_name(text)}" for name, text in view.question.settings]
    gone = [safe_name(change.broker) for change in view.changes if change.kind == "dies"]
    changed = [*settings, *([f"without {listed(gone)}"] if gone else [])]
    if view.born:
        changed.append(f"with {counted(len(view.born), 'new broker')}")
    text = f"Pulsar {view.given.behaviour.label}, {view.load_manager}: {view.shedder}{placement}"
    return ", ".join([text, *changed])


def title_texts(view: BrokersView, cells: int) -> tuple[str, str]:
    """What is shown and by which rules, in ``cells``: shorter words before anything is cut.

    What was changed comes last, and is counted where it does not fit.
    """
    source, long = safe_name(view.given.source) if view.given.source else "", status_text(view)
    changes = len(view.question.settings) + len(view.changes)
    counts = f", {counted(changes, 'change')}" if changes else ""
    placement = "" if view.placement is None else f", {view.placement}"
    rules = f"{view.load_manager}: {SHORT_NAMES.get(view.shedder, view.shedder)}{placement}"
    if view.placement == view.shedder:  # AvgShedder is both
        rules = f"{view.load_manager}: {view.shedder}"
    short = f"{view.given.behaviour.label} {rules}{counts}"
    for text in (long, short, short.removesuffix(counts)):
        if len(source) + len(text) <= cells:
            return source, text
    short = short.removesuffix(counts)
    return shorten_middle(source, max(cells - len(short), 12)), short


def hint_text(view: BrokersView, frame: BrokersFrame) -> str:
    """What the page shows in one sentence: whether it is reported or computed, and what comes of it."""
    if frame.cycle:
        when = f"after cycle {frame.cycle} of {view.question.cycles}, computed"
    else:
        reported = "an example cluster" if view.given.about else "now, as reported"
        when = "as changed, computed" if view.changes else reported
    quiet = view.ahead.quiet_after
    ends = "no end" if quiet is None else f"quiet after cycle {quiet}"
    unloads = sum(cell.unloads for cell in view.strip)
    cycles = counted(view.question.cycles, "cycle")
    if unknown := len(view.ahead.start.lacking):
        cycles += f" if the load of {counted(unknown, 'broker')} that no report has is 0"
    if not unloads:
        return f"{when}; {spread_text(view, frame)}; no unload in {cycles}"
    loops = f", {counted(len(view.loops), 'loop')}" if view.loops else ""
    ahead = "" if frame.cycle else f"{cycles}: "
    return f"{when}; {spread_text(view, frame)}; {ahead}{counted(unloads, 'unload')}{loops}, {ends}"


def spread_text(view: BrokersView, frame: BrokersFrame) -> str:
    """How even the brokers are, as far as reports say it: by usage, and by messages where no usage counts."""
    even, lacking = frame.evenness, {one for lacks in view.ahead.start.lacking.values() for one in lacks}
    for what, spread, needs in (("", even.usage, "usage"), ("msg/s ", even.msgs, "rates")):
        if math.isfinite(spread.max_over_mean) and needs not in lacking:
            return f"{what}{BUSIEST} {spread.max_over_mean:.2f}"
    return "the load of some brokers is unknown" if lacking else "no load"


def next_lines(view: BrokersView, frame: BrokersFrame) -> list[Line]:
    """The next cycle: unloads with reasons, then what stays; before it what the changes did, after it the loops."""
    lines: list[Line] = []
    if not frame.cycle:
        if view.given.about and not view.changes:
            lines.append((view.given.about, "text"))
        for change in view.changes:
            lines += change_lines(change, view.question.cycles, view.interruptions)
        for broker, older in view.older.items():
            text = f"{safe_name(broker)}: its report is {time_text(older)} older than the newest"
            lines.append((f"{text}; if it is gone, x takes it away", "warn"))
        lines += fault_lines(frame)
    coming = frame.next
    if coming is None:
        lines.append((f"the forecast ends with cycle {frame.cycle}", "head"))
    else:
        lines += cycle_lines(coming, view.shedder, view.ahead.start.settings)
    return [
        *lines,
        *loop_lines(view),
        *weightless_lines(frame),
        *problem_lines(view),
        *assumed_lines(view.ahead.assumptions),
    ]


def change_lines(change: ChangeDone, cycles: int, interruptions: Mapping[str, Interruption]) -> list[Line]:
    """What the death or the arrival of a broker does."""
    broker = safe_name(change.broker)
    if change.kind == "joins":
        if change.idle_cycles is None:
            return [(f"{broker} joins and gets no bundle in {counted(cycles, 'cycle')}", "warn")]
        gained = f"{counted(change.gained, 'bundle')} at the end"
        if not change.idle_cycles:
            return [(f"{broker} joins and gets bundles in the first cycle; {gained}", "good")]
        return [(f"{broker} joins and stays idle for {counted(change.idle_cycles, 'cycle')}; {gained}", "good")]
    interrupted = [landing.stats for landing in change.landings]
    topics = counted(sum(stats.topics for stats in interrupted), "topic")
    bundles = counted(len(interrupted), "bundle")
    clients = clients_text(interrupted, interruptions)
    lines: list[Line] = [(f"{broker} dies, which interrupts {bundles}: {topics}{clients}", "head")]
    usages = [
        f"{safe_name(usage.broker)} {percent(usage.before)} to {percent(usage.after)}"
        for usage in change.usages[:USAGES_SHOWN]
    ]
    lines.append((f"usage of the others, by one of the possible draws: {', '.join(usages)}", "text"))
    for landing in change.landings[:LANDINGS_SHOWN]:
        if landing.destination is None:
            why = f": {safe_name(landing.refusal)}" if landing.refusal else ""
            lines.append((f"{safe_name(landing.bundle)}: nobody may own it{why}", "bad"))
            continue
        if len(landing.chances) == 1:
            lines.append((f"{safe_name(landing.bundle)} lands on {safe_name(landing.destination)}", "text"))
        else:
            lines.append((f"{safe_name(landing.bundle)} may land on {chances_text(landing.chances)}", "text"))
    if len(change.landings) > LANDINGS_SHOWN:
        lines.append(
            (f"and {counted(len(change.landings) - LANDINGS_SHOWN, 'bundle')} more (--json has them all)", "dim")
        )
    return lines


def fault_lines(frame: BrokersFrame) -> list[Line]:
    """Usages that cannot be what the broker uses, and those that count for nothing since they have no limit."""
    brokers: dict[str, list[str]] = {}
    for row in frame.rows:
        for bar in row.bars:
            if bar.fault and (bar.counts or bar.fault not in ("no-limit", "not-reported")):
                text = f"{RESOURCE_TEXTS[bar.resource]} {FAULT_TEXTS[bar.fault]}"
                brokers.setdefault(text, []).append(safe_name(row.broker))
    return [(f"{listed(names)}: {text}", "bad") for text, names in brokers.items()]


def weightless_lines(frame: BrokersFrame) -> list[Line]:
    """Resources that take no part in the usage that load managers compare."""
    bars = frame.rows[0].bars if frame.rows else ()
    names = [RESOURCE_TEXTS[bar.resource] for bar in bars if not bar.counts]
    return [(f"not counted (weight 0): {', '.join(names)}", "dim")] if names else []


def loop_lines(view: BrokersView) -> list[Line]:
    """Bundles that come back, and pairs of brokers that exchange bundles."""
    lines: list[Line] = []
    for loop in view.loops[:LOOPS_SHOWN]:
        where = listed([str(cycle) for cycle in loop.cycles], CYCLES_LISTED)
        brokers = [safe_name(broker) for broker in loop.detail.split(", ")]
        more = f" and {len(brokers) - WAY_SHOWN:,} more" if len(brokers) > WAY_SHOWN else ""
        way = f"{' > '.join(brokers[:WAY_SHOWN])}{more}"
        happens = "is unloaded for nothing" if loop.kind == "unloaded-for-nothing" else "comes back"
        lines.append(
            (f"loop: {safe_name(loop.bundle)} {happens} {counted(loop.times, 'time')} (cycle {where}): {way}", "bad")
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
_WIDE: Final = (("/h", 7), ("topics", 7), ("back", 6), ("quiet", 6), ("busiest÷avg", 12), ("dev.", 6))
_MEDIUM: Final = (("/h", 6), ("topics", 7), ("quiet", 6), ("max", 5), ("dev.", 5))
_NARROW: Final = (("/h", 6), ("quiet", 6), ("max", 5), ("dev.", 5))


def _columns(width: int) -> tuple[tuple[str, int], ...]:
    """The columns that ``width`` cells have room for; both measures of how even the brokers are always have."""
    for columns in (_WIDE, _MEDIUM):
        if _NAME_CELLS + sum(cells for _, cells in columns) <= width:
            return columns
    return _NARROW


def compare_lines(compared: Sequence[Compared], view: BrokersView, width: int) -> list[Line]:
    """Every shedder in one line; those that are still computed have theirs already, so that nothing moves."""
    settings, cycles = view.ahead.start.settings, view.question.cycles
    off = not settings.loadBalancerEnabled or not settings.loadBalancerSheddingEnabled
    columns = _columns(width)
    # Where no usage counts, since no weight or no limit is above 0, messages still tell shedders apart.
    known = [one.after for one in compared if one.after is not None]
    by_msgs = bool(known) and not any(math.isfinite(after.usage.max_over_mean) for after in known)
    lines: list[Line] = [(" " * _NAME_CELLS + "".join(name.rjust(cells) for name, cells in columns), "dim")]
    lines += [_compared_line(shedder, columns, by_msgs=by_msgs) for shedder in compared]
    shown = {shedder.shedder for shedder in compared}
    lines += [(f" {SHORT_NAMES[name]} …", "dim") for name in SHEDDERS if name not in shown]
    mean = "busiest÷avg" if columns is _WIDE else "max"
    return [
        *lines,
        (f"*: in force. After {counted(cycles, 'cycle')}:", "dim"),
        ("/h: unloads an hour", "dim"),
        *([("back: to a broker that had the bundle before", "dim")] if columns is _WIDE else []),
        ("quiet: cycles until nothing moves", "dim"),
        (f"{mean}: fullest broker over the average", "dim"),
        ("dev.: standard deviation over average", "dim"),
        *([("both of msg/s, since no usage counts", "dim")] if by_msgs else []),
        *([("shedding is switched off: no shedder moves anything", "warn")] if off else []),
    ]


def _compared_line(compared: Compared, columns: Sequence[tuple[str, int]], *, by_msgs: bool) -> Line:
    mark = "*" if compared.in_force else " "
    name = f"{mark}{SHORT_NAMES.get(compared.shedder, compared.shedder)}".ljust(_NAME_CELLS)
    if compared.after is None:
        return (f"{name} not in this release" if compared.refused else name), "dim"
    spread = compared.after.msgs if by_msgs else compared.after.usage
    max_over_mean = _ratio(spread.max_over_mean)
    per_hour = compared.unloads_per_hour
    texts = {
        "/h": f"{per_hour:.1f}" if per_hour < 100 else quantity(per_hour),
        "topics": quantity(compared.topics),
        "back": quantity(compared.returned),
        "quiet": "-" if compared.quiet_after is None else str(compared.quiet_after),
        "busiest÷avg": max_over_mean,
        "max": max_over_mean,
        "dev.": _ratio(spread.deviation_over_mean),
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
    return f"{counted(bundles, 'bundle')}, {traffic_text(msgs, octets, topics)}"


def traffic_text(msgs: float, octets: float, topics: int) -> str:
    """Topics with their traffic."""
    return f"{counted(topics, 'topic')}, {in_out_rate(msgs)}, {bytes_per_sec(octets)}"
