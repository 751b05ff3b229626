"""How old the picture of a running cluster is, when it is not the newest any longer, and how numbers went till then."""

from __future__ import annotations

import time
from typing import Final

from msgspec import Struct
from textual.content import Content
from textual.widget import Widget

from engine.text import counted
from engine.views.reported.trends import Trends
from tui.drawing.glyphs import glyphs_of
from tui.kit.plain_text import assembled, below_each_other
from tui.kit.wording import quantity, safe_name, sparkline

_MINUTE_S: Final = 60
_HOUR_S: Final = 3600
_LATE_TURNS: Final = 3
"""After so many intervals without an answer the picture is late, whatever the reason."""


class Freshness(Struct, frozen=True):
    """``shown_ms`` is when the picture was read, in epoch milliseconds; ``newest_ms`` when the cluster was last read.

    ``trouble`` says why the last try brought nothing, "" where it did. A what-if keeps the picture, also before the
    first of its ``steps``, and so does an earlier moment. ``moment`` is the number of the one that is shown, and of how
    many.
    """

    origin: str
    every_s: float
    shown_ms: int
    newest_ms: int
    trouble: str = ""
    steps: int = 0
    stays: bool = False
    """Whether somebody works on the picture, so that no newer one takes its place."""
    moment: tuple[int, int] = (0, 0)
    compared: int = 0
    """Facts of the picture that were compared with the model; ``disagree`` of them differ."""
    disagree: int = 0
    stopped_at: tuple[int, int] | None = None
    """How many topics of how many were read, where the reading was stopped."""
    progress: str = ""
    """How far a slow reading has come; "" while there is none."""
    view_ms: int = 0
    """When the topics in view were read, if that was before ``shown_ms``; else 0."""
    rest_ms: int = 0
    """When the oldest of the other topics was read, likewise."""

    @property
    def is_stale(self) -> bool:
        return bool(self.trouble)


def age_text(seconds: float) -> str:
    """An age in the largest unit that says enough.

    >>> [age_text(seconds) for seconds in (0.4, 59, 61, 7300)]
    ['0 s', '59 s', '1 min 1 s', '2 h 1 min']
    """
    whole = max(0, int(seconds))
    if whole < _MINUTE_S:
        return f"{whole} s"
    if whole < _HOUR_S:
        return f"{whole // _MINUTE_S} min {whole % _MINUTE_S} s"
    return f"{whole // _HOUR_S} h {whole % _HOUR_S // _MINUTE_S} min"


def freshness_parts(freshness: Freshness, now_ms: float) -> tuple[tuple[str, str], ...]:
    """Text and style of what the line says at a time; signs carry what colours do."""
    age = age_text((now_ms - (freshness.view_ms or freshness.shown_ms)) / 1000)
    origin = safe_name(freshness.origin)
    if freshness.is_stale:
        head = (f"! STALE, read {age} ago ", "$bad bold")
        trouble = safe_name(freshness.trouble).removeprefix(f"{origin}: ")
        return head, (f"{origin}: {trouble}; tried again every {freshness.every_s:g} s", "$bad")
    silent_s = (now_ms - freshness.newest_ms) / 1000
    is_late = silent_s > _LATE_TURNS * freshness.every_s
    if freshness.stopped_at is not None and (freshness.progress or not is_late):
        read, of = freshness.stopped_at
        reads = f"the rest is read: {freshness.progress}" if freshness.progress else "the next refresh reads the rest"
        head = (f"! stopped, read {age} ago ", "$warn bold")
        return head, (f"{read:,} of {of:,} topics; {reads}  {origin}", "$warn")
    if is_late and freshness.progress:
        return (f"! LATE, read {age} ago ", "$bad bold"), (f"{origin} is read: {freshness.progress}", "$bad")
    if is_late:
        return (f"! LATE, read {age} ago ", "$bad bold"), (
            f"{origin} has not answered for {age_text(silent_s)}",
            "$bad",
        )
    if freshness.stays:
        at, of = freshness.moment
        held = (
            f"moment {at} of {of}, read"
            if at < of
            else f"what-if: {counted(freshness.steps, 'step')} on the reading of"
        )
        return (
            (f"= {held} {age} ago ", "$warn bold"),
            (f"f5 drops it and shows the newest, read {age_text(silent_s)} ago  {origin}", "$dim"),
        )
    head = (f"* live, read {age} ago ", "$good bold")
    under_way = f"the next is read: {freshness.progress}  " if freshness.progress else ""
    others = f"the rest up to {age_text((now_ms - freshness.rest_ms) / 1000)} ago  " if freshness.rest_ms else ""
    rest = (f"{others}{under_way}every {freshness.every_s:g} s  {origin}", "$dim")
    if freshness.disagree:
        facts = f"! {freshness.disagree:,} of {freshness.compared:,} facts differ from the model (V lists them) "
        return head, (facts, "$bad bold"), rest
    if freshness.compared:
        return head, (f"{freshness.compared:,} facts agree with the model ", "$good"), rest
    return head, rest


def trend_parts(trends: Trends, width: int, levels: str) -> list[tuple[str, str]]:
    """Text and style of the newest numbers, each behind its past; ``levels`` are nine heights."""
    series = (("backlog", trends.backlog), ("out/s", trends.out_msgs_per_sec), ("permits", trends.permits))
    words = [("   " * bool(at) + f"{name} ", f" {quantity(values[-1])}") for at, (name, values) in enumerate(series)]
    taken = sum(len(before + after) for before, after in words)
    cells = max(0, (width - taken) // len(series))
    parts = []
    for (before, after), (_, values) in zip(words, series, strict=True):
        past = sparkline(values, levels)
        parts += [(before, "$dim"), (past[max(0, len(past) - cells) :], "$accent"), (after, "bold")]
    return parts


class LiveLine(Widget):
    """How old the picture is, and how what is shown went until then; painted again each second."""

    DEFAULT_CSS = """
    LiveLine { height: 1; width: 1fr; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self, freshness: Freshness, *, ascii_only: bool, id: str) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self._freshness = freshness
        self._trends: Trends | None = None
        self._levels = glyphs_of(ascii_only).levels

    def on_mount(self) -> None:
        self.set_interval(1.0, self.refresh)

    def show(self, freshness: Freshness, trends: Trends | None) -> None:
        """Show another freshness, and other trends, which have a line of their own."""
        self._freshness, self._trends = freshness, trends
        self.styles.height = 1 if trends is None else 2
        self.refresh()

    def render(self) -> Content:
        age = assembled(*freshness_parts(self._freshness, now_ms()))
        if self._trends is None:
            return age
        return below_each_other([age, assembled(*trend_parts(self._trends, self.content_size.width, self._levels))])


def now_ms() -> float:
    """Epoch milliseconds."""
    return time.time() * 1000
