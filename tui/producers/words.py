"""English for the screen of producers: costs, totals, statistics, explanations, and the sentence above the panels."""

from __future__ import annotations

from engine.routing.clients import alike
from engine.text import counted
from engine.views.producers.answers import KeyGrowth
from engine.views.producers.model import (
    CountsView,
    ProducersFoot,
    ProducersView,
    RatesView,
    SendAnswer,
    StatisticsRow,
    StatisticsView,
)
from engine.views.producers.words import burst_text
from tui.kit.wording import BYTES_SHOWN, Remark, percent, quantity, safe_name, shorten_middle


def cost_rows(counts: CountsView, width: int) -> tuple[tuple[str, str], ...]:
    """Label and objects of eager, lazy, partial and what there is; few words where ``width`` is small."""
    wide = width >= 44
    labels = ("eager", f"lazy, {counts.lazy_mode}" if wide else "lazy", f"partial({counts.limit})", "there are")
    ways = zip(
        (counts.here.eager, counts.here.lazy, counts.here.partial),
        counts.connections,
        (counts.forever.eager, counts.forever.lazy, counts.forever.partial),
        strict=True,
    )
    texts = []
    for objects, connections, forever in ways:
        later = f"  {quantity(forever)} in the end" if round(forever) != round(objects) else ""
        links = f"{quantity(connections):>6} conn." if wide else ""
        texts.append(f"{quantity(objects):>6}{links}{later}")
    texts.append(f"{quantity(counts.observed):>6}")
    cells = max(map(len, labels)) + 1
    return tuple((label.ljust(cells), text) for label, text in zip(labels, texts, strict=True))


def costs_text(counts: CountsView) -> str:
    """What the numbers assume."""
    messages = f"{counted(counts.messages, 'message')} each"
    return f"{counted(counts.producers, 'producer')}, {messages}, {counted(counts.brokers, 'broker')}"


def foot_texts(foot: ProducersFoot) -> tuple[str, ...]:
    """The line below the table, longest form first."""
    if not foot.producers:
        return ("there is no producer",)
    share = percent(foot.broker_producers / foot.pairs) if foot.pairs else "0.0%"
    waiting = f" · {foot.pending_msgs:,} wait" if foot.pending_msgs else ""
    objects = f"{foot.broker_producers:,} of {foot.pairs:,} objects ({share})"
    used = f"{foot.partitions_used:,} of {counted(foot.partitions, 'partition')} used"
    return (
        f"{objects} · {counted(foot.connections, 'connection')} · {used} · {foot.sent_msgs:,} sent{waiting}",
        f"{objects} · {foot.connections:,} conn. · {foot.sent_msgs:,} sent{waiting}",
        f"{objects} · {foot.connections:,} conn.{waiting}",
        f"{quantity(foot.broker_producers)} objects ({share}){waiting}",
    )


def statistics_title(statistics: StatisticsView) -> str:
    """How the lists are merged, and how right that is."""
    rows = (statistics.by_name if statistics.in_force == "by name" else statistics.by_position).entries
    mixed = sum(row.mixture for row in rows)
    right = f"{counted(mixed, 'entry', 'adds', 'add')} several producers up" if mixed else "each entry is one producer"
    return f"[4] statistics {statistics.in_force}: {right}"


def entry_text(row: StatisticsRow) -> str:
    """Whose numbers an entry has."""
    if not row.producers:
        return "nobody"
    if row.mixture:
        return f"×{len(row.producers)} #{row.producers[0]},#{row.producers[1]}" + (
            "…" if len(row.producers) > 2 else ""
        )
    return f"#{row.producers[0]}"


def name_at(view: ProducersView, number: int) -> str:
    """A producer by its name; its number where it shows none."""
    row = view.producers[number] if 0 <= number < len(view.producers) else None
    if row is None:
        return "nobody"
    return safe_name(row.name) if row.name else f"#{number}"


def key_places(growth: KeyGrowth) -> str:
    """Where a key goes from Java and from Python, with where it went before the last step.

    >>> key_places(KeyGrowth("k0", {}, {}, (1, 5), (3, 3)))
    'Java 1 → 5, Python 3: the clients disagree'
    """

    def place(before: int | None, after: int | None) -> str:
        if after is None:
            return "no key"
        return f"{after}" if before == after else f"{before} → {after}"

    java, python = place(*growth.java), place(*growth.python)
    return f"Java {java}, Python {python}" + (": the clients disagree" if growth.disagrees else "")


def producers_hint(view: ProducersView) -> str:
    """What is to be seen for a newcomer, and after a step what it did; then what to try next."""
    step = view.events[-1]
    if not view.status.step or step.kind == "open":
        return state_hint(view)
    return f"{_happened(view)} {_next(view)}"


def producers_hint_with(view: ProducersView, notice: str) -> str:
    """What the last step did, and a notice that it brought up."""
    return f"{_happened(view)} New (i): {notice}."


def state_hint(view: ProducersView) -> str:
    """One sentence about the state as it is, and the key that shows more."""
    foot = view.foot
    if not foot.producers:
        return "Nobody produces to this topic. Press a to create producers: eager or lazy, with any router."
    if not foot.ready:
        return "All producers are closed. Press a to create others."
    share = percent(foot.broker_producers / foot.pairs)
    have = "have" if foot.ready != 1 else "has"
    opened = (
        f"{counted(foot.ready, 'producer')} {have} opened {foot.broker_producers:,} of {foot.pairs:,} pairs ({share})."
    )
    if foot.full:
        return f"{opened} {_full(foot)}"
    if view.rates is not None and view.rates.hottest >= 0:
        return rates_sentence(view, view.rates)
    return f"{opened} T sends by all, t by the selected one, m adds partitions, f says what a send would do."


def rates_sentence(view: ProducersView, rates: RatesView) -> str:
    """What partitions get from producers with rates: all of them, the hottest, and those without."""
    total, hot = float(rates.msgs_per_sec.sum()), float(rates.msgs_per_sec[rates.hottest])
    peak = float(rates.peak_msgs_per_sec.max())
    times = f"{rates.busiest_over_average:.1f} times the average"
    fastest = f", most of it from {name_at(view, rates.fastest)}" if rates.fastest >= 0 else ""
    parts = [
        f"{quantity(total)} in/s",
        f"partition {rates.hottest} gets {quantity(hot)} ({times}{in_bursts(hot, peak)}{fastest})",
        *([f"{rates.without:,} of {view.foot.partitions:,} get nothing"] if rates.without else []),
        *([f"{quantity(rates.waiting_msgs_per_sec)} in/s wait"] if rates.waiting_msgs_per_sec else []),
        *([f"{quantity(rates.failing_msgs_per_sec)} in/s fail"] if rates.failing_msgs_per_sec else []),
    ]
    return f"{', '.join(parts)}."


def in_bursts(mean: float, peak: float) -> str:
    """What a partition gets at most while bursts last, "" where that is no more than the mean.

    >>> in_bursts(150.0, 900.0), in_bursts(150.0, 150.0)
    (', up to 900 in bursts', '')
    """
    return f", up to {quantity(peak)} in bursts" if peak > 1.001 * mean else ""


def _full(foot: ProducersFoot) -> str:
    take = "takes" if foot.full == 1 else "take"
    of = counted(foot.partitions, "partition")
    return f"{foot.full:,} of {of} {take} no other producer (maxProducersPerTopic): m adds partitions."


def _happened(view: ProducersView) -> str:
    step = view.events[-1]
    words = shorten_middle(safe_name(step.text), 44)
    parts = [f"{counted(step.opened, 'partition')} opened"] * bool(step.opened)
    parts += [f"{counted(step.gone, 'connection')} gone"] * bool(step.gone)
    parts += [safe_name(step.effect)] * bool(step.effect)
    return f"{words}: {', '.join(parts) or 'nothing changed for producers'}."


def _next(view: ProducersView) -> str:
    step, foot = view.events[-1], view.foot
    if not foot.ready:
        return "Press a to create producers."
    if foot.pending_msgs:
        wait = "waits" if foot.pending_msgs == 1 else "wait"
        return f"{counted(foot.pending_msgs, 'message')} {wait}: b repairs the partition."
    if any(row.known < foot.partitions for row in view.producers if row.state == "Ready"):
        return "Not everybody knows of the new partitions: > lets a minute pass."
    if foot.full:
        return _full(foot)
    if view.rates is not None and view.rates.hottest >= 0:
        return rates_sentence(view, view.rates)
    if step.kind == "topic":
        return "f on a key shows whether it moved."
    if step.kind == "send" and view.counts.here.eager > foot.broker_producers:
        return "Send on to fill the matrix; b breaks a partition, s adds statistics up."
    return "T sends by all, m adds partitions, u takes the step back."


def send_remarks(answer: SendAnswer) -> tuple[Remark, ...]:
    """The answer first, then what it opens, the rule, and the numbers in the order they are checked by hand."""
    route, result = answer.explanation.route, answer.explanation.result
    name = f" {safe_name(answer.name)}" if answer.name else ""
    remarks = [
        Remark("producer", f"#{answer.number}{name} ({answer.client})"),
        Remark("key", "none" if answer.key is None else safe_name(answer.key) if answer.key else "the empty key"),
        Remark("goes to", f"partition {result.partition}", main=True),
        Remark("then", answer.explanation.sentence),
        Remark("rule", route.sentence),
    ]
    if answer.burst is not None and answer.key is None:
        remarks.append(Remark("its rate", burst_text(answer.burst)))
    if route.key is not None:
        data = route.key.data
        cut = f"{data[:BYTES_SHOWN].hex(' ')} …" if len(data) > 2 * BYTES_SHOWN else data.hex(" ")
        remarks.append(Remark("bytes", cut or "none: the key is empty"))
        remarks.append(Remark("hash", f"{route.key.hashing} {route.key.raw:,}, divided as {route.key.value:,}"))
    if route.chosen:
        remarks.append(Remark("chosen", ", ".join(map(str, route.chosen))))
    for hashing, partition, clients in alike(answer.elsewhere):
        where = "any partition" if partition is None else f"partition {partition}"
        same = " (the same)" if partition == result.partition else ""
        remarks.append(Remark("elsewhere", f"{where}{same} from {', '.join(clients)} ({hashing})"))
    return tuple(remarks)
