"""The screen "brokers": who carries what, which bundles the shedder unloads next, and what other rules would do."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content
from textual.reactive import var

from engine.balance.shed_question import PLACEMENTS, SHEDDERS, TRANSFER, ShedQuestion
from engine.errors import Rejection
from engine.views.brokers import brokers_frame, brokers_view, shedders_compared, with_threshold
from engine.views.brokers_model import BrokersFrame, BrokersView, ShedderRow
from themes import stylesheet
from themes.palettes import Palette, consumer_tag, palette
from tui.brokers.bindings import BINDINGS, GROUPS, key_hints
from tui.brokers.panels import Cycles, ShedderTabs, ShedSlider, slider_of
from tui.brokers.table import broker_heading, broker_line
from tui.brokers.words import broker_lines, cycle_lines, hint_text
from tui.kit.background import in_background
from tui.kit.footer import KeyFooter
from tui.kit.help import Group, HelpScreen, KeyHelp, key_groups
from tui.kit.layouts import arrange, name_panels
from tui.kit.line_table import Lines, LineTable
from tui.kit.plain_text import NO_TEXT, PlainStatic, assembled, set_title
from tui.kit.sentence_line import SentenceLine
from tui.kit.single_paint import SinglePaintScreen
from tui.kit.wording import counted, safe_name
from tui.kit.words_panel import WordsPanel, written

QUICK_BUNDLES: Final = 200
"""With more bundles than this a forecast may take longer than a key may, so it is computed in the background."""
ZOOMS: Final = ("", "brokers", "words", "broker")
STILL_COMPUTING: Final = "still computing the last question; one at a time"
LEGEND: Final[Group] = (
    "in the table",
    (
        KeyHelp("A B", "a letter for each bundle: that of its namespace, the bundle with most bytes first"),
        KeyHelp("reversed", "a bundle that this cycle unloads; underlined: one that the last cycle brought"),
        KeyHelp("bar", "the largest weighted resource; the line in it is the limit of this shedder"),
        KeyHelp("+", "a broker that you added"),
    ),
)


class BrokersScreen(SinglePaintScreen[None]):
    """Asks the engine once for each question; cycles are pages of one answer.

    ``source`` says where the reports are from.
    """

    CSS_PATH = stylesheet("brokers")
    AUTO_FOCUS = "#brokers"
    BINDINGS: ClassVar[list[BindingType]] = [*BINDINGS]

    number: var[int] = var(1, init=False)
    """The cycle before which the brokers are shown."""
    zoomed: var[str] = var("", init=False)
    colours: var[Palette] = var(palette, init=False)
    # What the panels are bound to.
    sentence: var[tuple[str, str]] = var(("hint", ""))
    tabs: var[tuple[ShedderRow, ...]] = var(())
    chosen: var[str] = var("")
    cycles: var[Cycles | None] = var(None)
    words: var[Content] = var(NO_TEXT)
    details: var[Content] = var(NO_TEXT)

    def __init__(self, question: ShedQuestion, source: str, colours: Palette, *, ascii_only: bool = False) -> None:
        super().__init__()
        self.question = question
        self.view: BrokersView | None = None
        self._source = source
        self._before: list[ShedQuestion] = []
        self._computing = False
        self._refused = ""
        self._selected = ""
        self.set_reactive(BrokersScreen.colours, colours)
        self._ascii_only = ascii_only
        self._ready = False

    def compose(self) -> ComposeResult:
        cls = BrokersScreen
        yield PlainStatic(id="title")
        yield SentenceLine(id="sentence").data_bind(cls.sentence)
        yield ShedderTabs(id="shedders").data_bind(cls.chosen, rows=cls.tabs)
        with Container(id="panels"):
            yield LineTable(id="brokers", classes="panel")
            yield WordsPanel(id="words", classes="panel").data_bind(content=cls.words)
            yield WordsPanel(id="broker", classes="panel").data_bind(content=cls.details)
        yield ShedSlider(id="slider", ascii_only=self._ascii_only).data_bind(cls.cycles, cls.colours)
        yield KeyFooter(id="keys")
        yield PlainStatic(id="too-small")

    def on_mount(self) -> None:
        """Ask the first question."""
        self._ready = True
        self.query_one(KeyFooter).keys = key_hints()
        name_panels(self, {"brokers": "brokers", "words": "next", "broker": "broker"})
        self.set_class(self.colours.mono, "-mono")
        self.ask(self.question)

    def watch_colours(self) -> None:
        self.set_class(self.colours.mono, "-mono")
        self.show_all()

    def on_resize(self, event: events.Resize) -> None:
        arrange(self, event.size)
        self._share_rows()
        self.call_after_refresh(self._show_title)

    def _share_rows(self) -> None:
        """Give the table the lines that it needs, at most half of the body, and the words the rest."""
        needed = 3 if self.view is None else len(self.frame.brokers) + 3
        rows = f"{max(6, min(needed, (self.size.height - 5) // 2))} 1fr" if not self.zoomed else "1fr"
        self.query_one("#panels").styles.grid_rows = rows

    # the question

    @property
    def is_large(self) -> bool:
        """Whether an answer may take longer than a key may."""
        return sum(len(report.bundles) for report in self.question.reports) > QUICK_BUNDLES

    def ask(self, question: ShedQuestion, *, undoable: bool = False) -> None:
        """Answer at once, or where that may take longer, in the background; then compare the shedders."""
        self._refused = ""
        if self._computing:
            self.sentence = "hint", STILL_COMPUTING
            return
        if self.is_large:
            self._computing = True
            self.sentence = "hint", f"computing {counted(question.cycles, 'cycle')} of {question.shedder}"
            self.run_worker(self._compute(question, undoable=undoable))
            return
        answer = brokers_view(question)
        self._take(question, answer, undoable=undoable)
        if not isinstance(answer, Rejection):
            self.tabs = shedders_compared(answer)

    async def _compute(self, question: ShedQuestion, *, undoable: bool) -> None:
        answer = await in_background(brokers_view, question)
        if isinstance(answer, Rejection):
            self._computing = False
            self._take(question, answer, undoable=undoable)
            return
        self.tabs = tuple(ShedderRow(name) for name in SHEDDERS)
        self._take(question, answer, undoable=undoable)
        self.tabs = await in_background(shedders_compared, answer)
        self._computing = False

    def _take(self, question: ShedQuestion, answer: BrokersView | Rejection, *, undoable: bool) -> None:
        if isinstance(answer, Rejection):
            self._refuse(answer.message)
            return
        if undoable:
            self._before.append(self.question)
        first = self.view is None
        self.question, self.view, self.chosen = question, answer, answer.shedder
        if first:
            self._select_busiest()
        self.set_reactive(BrokersScreen.number, self.validate_number(self.number))
        self.show_all()

    def _refuse(self, why: str) -> None:
        self._refused = why
        self.show_all()

    def _select_busiest(self) -> None:
        rows = self.frame.brokers
        sheds = [row for row in rows if row.judged == "sheds"]
        self._selected = max(sheds or rows, key=lambda row: row.usage).broker

    def action_shedder(self, place: int) -> None:
        self.ask(replace(self.question, shedder=SHEDDERS[place], placement=None))

    def action_next_shedder(self) -> None:
        self.action_shedder((SHEDDERS.index(self.question.shedder) + 1) % len(SHEDDERS))

    def action_load_manager(self) -> None:
        own = self.question.settings.loadBalancerLoadSheddingStrategy
        modular = own if own in SHEDDERS and own != TRANSFER else SHEDDERS[0]
        self.action_shedder(SHEDDERS.index(modular if self.question.shedder == TRANSFER else TRANSFER))

    def action_placement(self) -> None:
        if self.question.load_manager == "extensible":
            self._refuse("the extensible load manager has one placement; m goes to the modular one")
            return
        now = self.question.in_force.loadBalancerLoadPlacementStrategy
        at = PLACEMENTS.index(now) + 1 if now in PLACEMENTS else 0
        self.ask(replace(self.question, placement=PLACEMENTS[at % len(PLACEMENTS)]))

    def action_threshold(self, steps: int) -> None:
        self.ask(with_threshold(self.question, steps))

    def action_add(self) -> None:
        taken = {report.broker for report in self.question.reports} | set(self.question.added)
        name = next(name for name in (f"new-{at}:8080" for at in range(1, len(taken) + 2)) if name not in taken)
        self.ask(replace(self.question, added=(*self.question.added, name)), undoable=True)

    def action_kill(self) -> None:
        if self.view is not None:
            self.ask(replace(self.question, lost=(*self.question.lost, self._selected)), undoable=True)

    def action_undo(self) -> None:
        if not self._before:
            self._refuse("nothing to undo: no broker was added or killed")
        elif self._computing:
            self.sentence = "hint", STILL_COMPUTING
        else:
            before = self._before.pop()
            self.ask(replace(self.question, added=before.added, lost=before.lost))

    # the page of the answer

    @property
    def frame(self) -> BrokersFrame:
        """The brokers before the cycle shown."""
        assert self.view is not None
        return brokers_frame(self.view, self.number)

    def validate_number(self, number: int) -> int:
        """Keep to the cycles of the answer; one more is the end of all."""
        return max(1, min(number, self.question.cycles + 1))

    def watch_number(self) -> None:
        self.show_all()

    def action_step(self, by: int) -> None:
        self._refused = ""
        self.number += by

    def action_cycle(self, number: int) -> None:
        self._refused = ""
        self.number = number if number > 0 else self.question.cycles + 1

    def action_next_unload(self) -> None:
        if self.view is None:
            return
        busy = [at for at, each in enumerate(self.view.cycles, 1) if each.unloads]
        coming = next((at for at in busy if at > self.number), None)
        if coming is None:
            more = "more " if busy and busy[0] <= self.number else ""
            self._refuse(f"no {more}unload within {counted(self.question.cycles, 'cycle')} of {self.view.shedder}")
        else:
            self._refused, self.number = "", coming

    # what is shown

    def show_all(self) -> None:
        """Show the page in every panel."""
        if not self._ready:
            return
        if self.view is None:
            self.sentence = ("refusal", self._refused) if self._refused else ("hint", "computing the next cycles")
            return
        frame = self.frame
        self._show_title()
        self.sentence = ("refusal", self._refused) if self._refused else ("hint", hint_text(self.view, frame))
        self.cycles = slider_of(self.view, frame)
        self.words = written(cycle_lines(self.view, frame))
        self._show_brokers(frame)
        self._show_broker(frame)
        self._share_rows()

    def _show_title(self) -> None:
        title = self.query_one("#title", PlainStatic)
        if self.view is None:
            title.update(assembled((" brokers ", "$accent bold"), (safe_name(self._source), "bold")))
            return
        title.update(_title(self.view, self._source, self.size.width))

    def _show_brokers(self, frame: BrokersFrame) -> None:
        table, rows, colours, ascii_only = (
            self.query_one("#brokers", LineTable),
            frame.brokers,
            self.colours,
            self._ascii_only,
        )
        assert self.view is not None
        when = "as reported" if frame.number == 1 and not (self.question.lost or self.question.added) else "computed"
        letters = ", ".join(f"{consumer_tag(at)} {safe_name(name)}" for at, name in enumerate(self.view.namespaces[:4]))
        set_title(table, f"{counted(len(rows), 'broker')}, {when} · {letters}")
        table.lines = Lines(
            len(rows),
            lambda at, width: broker_line(rows[at], rows, width, colours, ascii_only=ascii_only),
            lambda width: broker_heading(rows, width),
        )
        names = [row.broker for row in rows]
        if self._selected in names:
            table.cursor = names.index(self._selected)
        elif names:
            self._selected = names[min(table.cursor, len(names) - 1)]

    def _show_broker(self, frame: BrokersFrame) -> None:
        assert self.view is not None
        row = next((row for row in frame.brokers if row.broker == self._selected), None)
        set_title(self.query_one("#broker"), f"broker {safe_name(self._selected)}")
        self.details = NO_TEXT if row is None else written(broker_lines(row, self.view))

    @on(LineTable.Moved, "#brokers")
    def _moved(self, message: LineTable.Moved) -> None:
        if self.view is None:
            return
        selected = self.frame.brokers[message.index].broker
        if selected != self._selected:
            self._selected = selected
            self._show_broker(self.frame)

    # panels

    def action_zoom(self) -> None:
        self.zoomed = ZOOMS[(ZOOMS.index(self.zoomed) + 1) % len(ZOOMS)]

    def watch_zoomed(self) -> None:
        """Give the body to one panel."""
        self.update_classes({f"-zoom-{panel}": self.zoomed == panel for panel in ZOOMS[1:]})
        self._share_rows()

    def action_scroll_words(self, by: int) -> None:
        self.query_one("#words", WordsPanel).scroll_relative(y=by, animate=False)

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen([*key_groups(GROUPS), LEGEND], title="brokers"))

    def action_close(self) -> None:
        """Go back to the screen below; where this is the only one, leave."""
        if len(self.app.screen_stack) > 1:
            self.dismiss()
        else:
            self.app.exit(0)


def _title(view: BrokersView, source: str, width: int) -> Content:
    """Name the cluster and the rules, in as many words as fit."""
    name, value = view.threshold
    placement = f"placed by {view.placement}" if view.placement else "extensible load manager"
    changed = "".join(f" · {safe_name(broker)} gone" for broker in view.question.lost)
    texts = (
        f"{view.shedder}, {name}={value:g}, {placement}{changed}",
        f"{view.shedder}, {name}={value:g}{changed}",
        f"{view.shedder} {value:g}{changed}",
        f"{view.shedder} {value:g}",
    )
    room = width - len(" brokers ") - len(source) - 4
    shown = next((text for text in texts if len(text) <= room), texts[-1])
    return assembled((" brokers ", "$accent bold"), (f"{safe_name(source)}  ", "bold"), (shown, "$dim"))
