"""What is wrong here: the causes that brokers' answers show for one subscription, and what to do about each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final, Literal

from msgspec.structs import replace
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.message import Message
from textual.reactive import reactive, var

from engine.diagnosis.model import Cause, Diagnosis, Verdict
from engine.diagnosis.seen import parent_of
from engine.text import counted, joined, visible
from themes.palettes import Palette, hex_colour, palette
from tui.kit.columns import Column, Columns, NameColumn, fitting, table_lines
from tui.kit.line_table import LineTable
from tui.kit.plain_text import PlainStatic, set_subtitle, set_title
from tui.kit.reported import SIGNS, earlier_text, setting_text, verdict_word
from tui.kit.text_panels import remark_lines
from tui.kit.wording import Remark, fit, quantity, safe_name, short_topic

NAMED: Final = 6
"""Consumers that are named in full; of more the others are counted."""


class WhyPanel(Vertical):
    """A sentence, a table of causes, and what to do. ``diagnosis`` None shows nothing."""

    DEFAULT_CSS = """
    WhyPanel { height: 1fr; }
    WhyPanel LineTable { height: auto; max-height: 40%; }
    WhyPanel VerticalScroll { height: 1fr; padding: 0 1; scrollbar-size-vertical: 1; }
    WhyPanel Static { height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Close")]

    diagnosis: reactive[Diagnosis | None] = reactive(None)
    place: var[tuple[int, int]] = var((0, 0))
    """Which one of how many subscriptions this is, the worst is the first."""
    since: var[str] = var("")
    """What the steps of the simulation mean for what was seen; "" without steps."""
    colours: var[Palette] = var(palette)
    moment = 0
    """The moment that is judged, counted from 1; 0 where nothing was seen."""

    class Closed(Message):
        """Escape was pressed."""

    @dataclass
    class Chosen(Message):
        """A cause was chosen with enter or a click."""

        cause: Cause

    def compose(self) -> ComposeResult:
        yield LineTable(id="causes")
        with VerticalScroll():
            yield PlainStatic()

    @property
    def marked_text(self) -> str:
        """The marked cause in a sentence, and its fix; "" where there is none."""
        causes = self.diagnosis.said if self.diagnosis is not None else ()
        if not causes:
            return ""
        cause = causes[self.query_one(LineTable).cursor]
        return "\n".join(visible(text) for text in (cause.what, cause.fix) if text)

    def watch_diagnosis(self) -> None:
        if not self.is_mounted:
            return
        at, count = self.place
        several = count > 1
        set_title(self, "what is wrong" + (f" ({at + 1:,} of {count:,}, worst first)" if several else ""))
        set_subtitle(self, ("w next, " if several else "") + "enter goes there, escape closes")
        causes = self.diagnosis.said if self.diagnosis is not None else ()
        table = self.query_one(LineTable)
        with table.prevent(LineTable.Moved):
            earlier = self.diagnosis.earlier.cause if self.diagnosis is not None and self.diagnosis.earlier else None
            table.lines = table_lines(
                causes,
                _columns if earlier is None else _columns_with_earlier,
                lambda cause, column: _cell(cause, column, self.colours, " before" if cause is earlier else ""),
            )
            table.cursor = 0
        table.styles.height = len(causes) + 1
        self._write()

    def watch_colours(self) -> None:
        self.watch_diagnosis()

    def on_resize(self) -> None:
        self._write()

    @on(LineTable.Moved)
    def _moved(self, message: LineTable.Moved) -> None:
        message.stop()
        self._write()

    @on(LineTable.Opened)
    def _opened(self, message: LineTable.Opened) -> None:
        message.stop()
        if self.diagnosis is not None and message.index < len(self.diagnosis.said):
            self.post_message(self.Chosen(self.diagnosis.said[message.index]))

    def action_close(self) -> None:
        self.post_message(self.Closed())

    def _write(self) -> None:
        if self.diagnosis is None or not self.is_mounted:
            return
        scroll = self.query_one(VerticalScroll)
        at = self.query_one(LineTable).cursor
        remarks = why_remarks(self.diagnosis, at, self.since)
        scroll.query_one(PlainStatic).update(remark_lines(remarks, scroll.scrollable_content_region.width))


def why_remarks(diagnosis: Diagnosis, at: int, since: str) -> tuple[Remark, ...]:
    """Labelled sentences about one cause of a diagnosis."""
    topics = f" and {diagnosis.topics - 1:,} more" if diagnosis.topics > 1 else ""
    place = safe_name(
        f"{diagnosis.subscription} ({diagnosis.type}) on {short_topic(parent_of(diagnosis.topic))}{topics}"
    )
    moments = counted(diagnosis.moments, "moment")
    remarks = [Remark("of", f"{place}, {moments}")]
    if at < len(diagnosis.said):
        cause = diagnosis.said[at]
        remarks += _of_cause(cause)
        if diagnosis.earlier is not None and cause is diagnosis.earlier.cause:
            remarks.insert(1, Remark("when", earlier_text(diagnosis.earlier, diagnosis.moments)))
    else:
        remarks.append(Remark("", "no cause was found", main=True))
    if diagnosis.moments == 1:
        remarks.append(Remark("note", "one moment alone does not show what has stopped: take a second dump"))
    if since:
        remarks.append(Remark("seen", since))
    return tuple(remarks)


def _role(verdict: Verdict) -> Literal["active", "warn", "bad"]:
    return "bad" if verdict is Verdict.BLOCKS else "warn" if verdict.harms else "active"


def _of_cause(cause: Cause) -> list[Remark]:
    remarks = [Remark(verdict_word(cause.verdict), safe_name(cause.what), main=True, role=_role(cause.verdict))]
    remarks.append(Remark("to do", safe_name(cause.fix) if cause.fix else "nothing"))
    if cause.topic and cause.topics > 1:
        remarks.append(Remark("worst", safe_name(f"{cause.topic} of {cause.topics:,}")))
    if cause.blocked:
        remarks.append(Remark("blocked", safe_name(joined(cause.blocked, NAMED))))
    if cause.by:
        remarks.append(Remark("by", safe_name(joined(cause.by, NAMED))))
    if cause.setting is not None:
        remarks.append(Remark("setting", safe_name(setting_text(cause.setting))))
    remarks += (Remark("looks like", bug.text) for bug in cause.looks_like)
    remarks.append(Remark("from", ", ".join(cause.fields)))
    return remarks


_VERDICT: Final = Column("verdict", "verdict", 14, left=True)
_WAITING: Final = Column("waiting", "waiting", 9)
_OTHERS: Final = (Column("by", "by", 14, left=True, most=40),)


def _columns(causes: Sequence[Cause], width: int, verdict: Column = _VERDICT) -> Columns:
    whole = max((len(cause.id) for cause in causes), default=5) + 2
    name = NameColumn("cause", whole, min(whole, 24), 12)
    return fitting(width, name, (verdict, _WAITING), _OTHERS, ("verdict", "name", "waiting", "by"))


_columns_with_earlier: Final = partial(_columns, verdict=replace(_VERDICT, width=17))


def _cell(cause: Cause, column: Column, colours: Palette, before: str = "") -> Text:
    match column.key:
        case "verdict":
            word = f"{SIGNS[cause.verdict]} {verdict_word(cause.verdict)}{before}"
            style = hex_colour(getattr(colours, _role(cause.verdict))) if cause.verdict.harms else ""
            return Text(word.ljust(column.width), style, no_wrap=True)
        case "name":
            return Text(fit(cause.id, column.width - 1) + " ", no_wrap=True)
        case "waiting":
            return Text((quantity(cause.waiting) if cause.waiting else "").rjust(column.width - 1) + " ", no_wrap=True)
    by = safe_name(", ".join(cause.by)) if cause.by else ""
    return Text(fit(by, column.width - 1) + " ", no_wrap=True)
