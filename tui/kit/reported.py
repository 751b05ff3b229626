"""What brokers reported, in words and cells: when it was seen, what is in a consumer's way, sums, and diagnoses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Protocol, TypeVar

from rich.text import Text

from engine.diagnosis.limits import Setting
from engine.diagnosis.model import Earlier, Verdict
from engine.text import clock_text, counted, day_text, moment_text
from engine.views.reported.model import (
    CONSUMER_LIMIT,
    DRAINING,
    NO_PERMITS,
    SUBSCRIPTION_LIMIT,
    Comparison,
    ReportedConsumer,
    ReportedView,
    SeenTime,
)
from themes.palettes import Palette, hex_colour
from tui.drawing.colour import letter_style
from tui.kit.columns import REPORTED_SIGN, ScreenColumn, Value, numbers
from tui.kit.wording import known, quantity, safe_name

BLOCKED_SIGN: Final = "!"
"""Before whatever cannot be served, on the ring and in tables."""
_OBSTACLES: Final = {
    SUBSCRIPTION_LIMIT: ("unacked limit of all", "unacked"),
    CONSUMER_LIMIT: ("unacked limit", "unacked"),
    NO_PERMITS: ("no permits", "permits"),
}
_NAMED: Final = 2


class Seen(Protocol):
    """A row with what brokers reported about it."""

    @property
    def consumer_id(self) -> int: ...

    @property
    def reported(self) -> ReportedConsumer | None: ...


class Tagged(Protocol):
    """A row that has letters."""

    @property
    def tag(self) -> str: ...


def seen_text(time: SeenTime, *, short: bool = False) -> str:
    """When something was seen: its time, a bound, or that the time is unknown; and the moment among several.

    >>> seen_text(SeenTime(-1, 1_795_258_955_109, 1, 1)), seen_text(SeenTime(1_795_258_955_109, -1, 2, 3), short=True)
    ('seen after 2026-11-21 11:02:35Z', 'seen 11:02:35Z (2/3)')
    """
    if time.at_ms < 0 and time.not_before_ms < 0:
        return f"time of the report unknown{_moment_of(time)}"
    return f"seen {_when(time, short=short)}{_moment_of(time)}"


def table_remark(view: ReportedView | None) -> str:
    """The remark in a table's title: what the sign means and since when, or since when all numbers are computed."""
    if view is None:
        return ""
    if view.computed_from:
        return "what-if: computed"
    time = view.time
    if time.at_ms < 0 and time.not_before_ms < 0:
        return f"{REPORTED_SIGN} = as reported{_moment_of(time)}"
    return f"{REPORTED_SIGN} {seen_text(time, short=True)}"


def _when(time: SeenTime, *, short: bool) -> str:
    at_ms, after = (time.at_ms, "") if time.at_ms >= 0 else (time.not_before_ms, "after ")
    return f"{after}{'' if short else day_text(at_ms)}{clock_text(at_ms)}"


def _moment_of(time: SeenTime) -> str:
    return f" ({time.moment}/{time.moments})" if time.moments > 1 else ""


def blocked_ids(rows: Iterable[Seen]) -> frozenset[int]:
    """The ids of the consumers that cannot be served."""
    return frozenset(row.consumer_id for row in rows if row.reported is not None and row.reported.obstacles)


def obstacle_texts(consumer: ReportedConsumer, rows: Sequence[Tagged]) -> tuple[str, ...]:
    """What is in a consumer's way, in a long form and in shorter ones; nothing for one that can be served."""
    if not consumer.obstacles:
        return ("",)
    first = consumer.obstacles[0]
    more = f" +{len(consumer.obstacles) - 1}" if len(consumer.obstacles) > 1 else ""
    if first == DRAINING:
        tags = [rows[at].tag for at in consumer.holders if 0 <= at < len(rows)]
        whom = ", ".join(tags[:_NAMED]) + ("…" if len(tags) > _NAMED else "")
        forms: tuple[str, ...] = (f"waits for {whom}", f"for {whom}") if whom else ("draining slots", "drains")
    else:
        forms = _OBSTACLES[first]
    return tuple(f"{BLOCKED_SIGN} {form}{more}" for form in forms)


def fitting_text(forms: Sequence[str], width: int) -> str:
    """The longest form that fits, else the beginning of the shortest."""
    return next((form for form in forms if len(form) <= width), forms[-1][:width])


def waiting_text(consumer: ReportedConsumer) -> str:
    """What waits for a consumer: entries of a backlog, or slots; their messages are not counted by brokers."""
    if consumer.waiting_slots:
        return counted(consumer.waiting_slots, "slot")
    return quantity(consumer.waiting) if consumer.waiting else ""


def sums_text(view: ReportedView) -> str:
    """The reported sums of a subscription, those that say something."""
    blocked = len(view.blocked)
    parts = [
        f"backlog {known(view.backlog)}",
        f"{known(view.unacked)} unacked",
        f"{view.in_replay:,} in replay" if view.in_replay else "",
        f"{view.delayed:,} delayed" if view.delayed else "",
        f"{counted(view.draining_slots, 'slot')} draining" if view.draining_slots else "",
        f"{counted(view.blocked_dispatchers, 'topic')} blocked on unacked" if view.blocked_dispatchers else "",
        f"{BLOCKED_SIGN} {blocked:,} blocked" if blocked else "",
    ]
    return f"{REPORTED_SIGN} " + " · ".join(part for part in parts if part)


def sums_texts(view: ReportedView) -> tuple[str, ...]:
    """``sums_text`` and shorter forms of it."""
    blocked = f" · {BLOCKED_SIGN} {len(view.blocked):,}" if view.blocked else ""
    short = f"{REPORTED_SIGN} backlog {quantity(view.backlog)} · {quantity(view.unacked)} unacked{blocked}"
    return sums_text(view), short, f"{REPORTED_SIGN} backlog {quantity(view.backlog)}{blocked}"


def pair_words(view: ReportedView, names: Sequence[str]) -> list[str]:
    """``d-b waits for d-a at 37 slots (913 blocked attempts)``, those who wait at most slots first."""
    return [
        f"{name_at(names, pair.owner)} waits for {name_at(names, pair.holder)} at {counted(pair.slots, 'slot')}"
        f" ({counted(pair.blocked_attempts, 'blocked attempt')})"
        for pair in view.pairs
    ]


def name_at(names: Sequence[str], position: int) -> str:
    """The name in a row; nobody where there is none."""
    return safe_name(names[position]) if 0 <= position < len(names) else "nobody"


def comparison_text(comparison: Comparison | None) -> str:
    """How many reported facts agree with the model, "" where none was compared.

    >>> comparison_text(Comparison(8)), comparison_text(Comparison(1)), comparison_text(None)
    ('all 8 reported agree', '1 reported agrees', '')
    """
    if comparison is None or not comparison.compared:
        return ""
    if comparison.compared == 1 and not comparison.disagreements:
        return "1 reported agrees"
    if not comparison.disagreements:
        return f"all {comparison.compared:,} reported agree"
    return f"{len(comparison.disagreements):,} of {comparison.compared:,} reported differ from the model"


def comparison_hint(view: ReportedView | None) -> str:
    """The sentence of a screen on which both sides are drawn, since they differ; else ""."""
    if view is None or view.comparison is None or not view.comparison.disagreements:
        return ""
    return f"{comparison_text(view.comparison)}. Outer ring: the model, inner ring: the brokers. V lists them."


_WORDS: Final = {Verdict.CANNOT_TELL: "cannot tell", Verdict.BY_DESIGN: "by design"}
SIGNS: Final = {
    Verdict.BLOCKS: "!",
    Verdict.SLOWS: "~",
    Verdict.UNEVEN: "±",
    Verdict.CANNOT_TELL: "?",
    Verdict.BY_DESIGN: " ",
    Verdict.FINE: " ",
}
"""Colour is never the only carrier."""


def verdict_word(verdict: Verdict) -> str:
    """A verdict for people."""
    return _WORDS.get(verdict, verdict.value)


def setting_text(setting: Setting) -> str:
    """A setting with its value, who says it, and its default.

    >>> setting_text(Setting("keepAliveIntervalSeconds", None, 30))
    'keepAliveIntervalSeconds (default 30)'
    """
    value = "" if setting.value is None else f" = {setting.value}"
    about = [setting.source] if setting.value is not None and setting.source else []
    about += [f"default {setting.default}"] if setting.default is not None else []
    return f"{setting.name}{value}" + (f" ({', '.join(about)})" if about else "")


def earlier_text(earlier: Earlier, moments: int) -> str:
    """When that was which did harm at an earlier moment and does not any longer."""
    at = f" ({moment_text(earlier.at_ms)})" if earlier.at_ms is not None else ""
    return f"at moment {earlier.moment:,} of {moments:,}{at}, no longer at the last one"


_BLOCKED_CELLS: Final = (10, 24)
Reported = TypeVar("Reported", bound=Seen)


def reported_columns(
    rows: Sequence[Reported], others: Sequence[Tagged], colours: Palette, rank: int, less: int
) -> list[ScreenColumn[Reported]]:
    """The columns of what was reported about consumers; none where nothing was.

    Those that say something about one of them are important and come at ``rank``, the others, which may say nothing,
    at ``less``. ``others`` are all rows of the table, for their letters.
    """
    seen = [row.reported for row in rows if row.reported is not None]
    waiting = max((len(waiting_text(consumer)) for consumer in seen), default=0)
    bad, warn, dim = (hex_colour(colour) for colour in (colours.bad, colours.warn, colours.dim))

    def column(
        key: str,
        width: int,
        cell: Callable[[ReportedConsumer, int], Text],
        value: Callable[[ReportedConsumer], Value],
        *,
        there: bool = bool(seen),
        at: int = less,
        label: str = "",
        **how: Any,
    ) -> ScreenColumn[Reported]:
        def written(row: Reported, cells: int) -> Text:
            return Text(" " * cells, no_wrap=True) if row.reported is None else cell(row.reported, cells)

        def valued(row: Reported) -> Value:
            return None if row.reported is None else value(row.reported)

        return ScreenColumn(key, f"{REPORTED_SIGN}{label or key}", width, written, valued, at, there=there, **how)

    def blocked(consumer: ReportedConsumer, width: int) -> Text:
        text = fitting_text(obstacle_texts(consumer, others), width - 1)
        return Text(text.ljust(width), f"bold {bad}", no_wrap=True)

    def amount(number: int | None) -> str:
        return f"-{quantity(-number)}" if number is not None and number < 0 else quantity(number)

    return [
        column(
            "permits", 9, numbers(lambda one: amount(one.permits), lambda one: "" if one.permits else dim),
            lambda one: one.permits,
        ),
        column(
            "unack", 9, numbers(lambda one: amount(one.unacked), lambda one: "" if one.unacked else dim),
            lambda one: one.unacked, label="unacked",
        ),
        column(
            "waits", max(waiting + 1, len("waiting") + 2),
            numbers(waiting_text, lambda one: f"bold {warn}" if one.obstacles else ""),
            lambda one: one.waiting_slots or one.waiting, there=bool(waiting), at=rank, label="waiting",
        ),
        column(
            "blocked", _BLOCKED_CELLS[0], blocked, lambda one: len(one.obstacles),
            there=any(consumer.obstacles for consumer in seen), at=rank, left=True, most=_BLOCKED_CELLS[1],
        ),
    ]  # fmt: skip


def tag_cell(tag: str, number: int, consumer: ReportedConsumer | None, width: int, colours: Palette) -> Text:
    """Return the letters of a consumer with this number on its colour, after a sign where it cannot be served."""
    blocked = consumer is not None and bool(consumer.obstacles)
    text = Text(BLOCKED_SIGN if blocked else " ", f"bold {hex_colour(colours.bad)}", no_wrap=True)
    text.append(tag, letter_style(colours, number))
    return text.append(" " * (width - 1 - len(tag)))
