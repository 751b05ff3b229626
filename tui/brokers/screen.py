"""The screen of brokers: what each uses, what the next cycles of shedding unload, and what would change that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.reactive import var
from textual.timer import Timer

from engine.balance.settings import LoadSettings
from engine.balance.shedding.strategies import TRANSFER
from engine.bundles.plan import LoadManager
from engine.errors import Rejection
from engine.text import counted
from engine.views.brokers.model import (
    BrokerRow,
    BrokersFrame,
    BrokersInput,
    BrokersQuestion,
    BrokersView,
    Change,
    Compared,
)
from engine.views.brokers.view import (
    PLACEMENTS,
    SHEDDERS,
    brokers_frame,
    brokers_view,
    compared_shedder,
    compared_shedders,
    usage_courses,
)
from themes import stylesheet
from themes.palettes import Palette, consumer_tag, palette
from tui.brokers.bindings import BINDINGS, GROUPS
from tui.brokers.dialogs import Pairs, SettingsScreen
from tui.brokers.panels import CycleStrip, StripPanel
from tui.brokers.table import broker_lines, broker_value
from tui.brokers.words import compare_lines, hint_text, next_lines, row_text, strip_words, title_texts, traffic_text
from tui.kit.background import Computing, run_beside
from tui.kit.footer import KeyFooter, key_hints_with_back
from tui.kit.help import Group, HelpScreen, KeyHelp, key_groups
from tui.kit.layouts import arrange, name_panels
from tui.kit.line_table import LineTable, RowsTable
from tui.kit.plain_text import PlainStatic, assembled, set_subtitle, set_title
from tui.kit.prompt import Prompt
from tui.kit.sentence_line import SentenceLine
from tui.kit.table_screens import TableScreen
from tui.kit.text_panels import WordsPanel
from tui.kit.typed_commands import Typed, choice, number
from tui.kit.wording import Line, quantity, safe_name

QUICK_BUNDLES: Final = 50
"""With more bundles than this forecasts under all shedders take longer than a key may: they are made in threads."""
MANAGERS: Final[Mapping[str, LoadManager]] = {"modular": "modular", "extensible": "extensible"}
NOT_OF_THE_NEWEST: Final = "the picture is older than the newest reports: {}; u takes the last change back"
Answer = tuple[BrokersView, BrokersFrame]
"""What is forecast, and the page of it that is shown."""
UNSHOWN_FIELDS: Final = ("broker", "loadManagerClassName", "cycles", "loads")
PLAY_S: Final = 0.7
"""How long a cycle is shown when they are played."""
ZOOMS: Final = ("", "table", "next", "compare")
WORDS_LINES: Final = 36
"""What a large screen keeps for the table and the words below it."""
COURSE_CYCLES: Final = 50
"""Of more cycles no usage is shown: there is no room for numbers, and a step would take too long."""
COURSE_LINES: Final = 5
"""The most lines that the usage of one broker has."""
EXTENSIBLE_ONLY: Final = "the extensible load manager has one {}, {}; m changes the load manager"
LEGEND: Final[Group] = (
    "in the table",
    (
        KeyHelp("┃", "from here on the shedder takes bundles, where it looks at usage; in ASCII |"),
        KeyHelp("A--", "a bundle of namespace A, as wide as its part of the traffic"),
        KeyHelp("a--", "a bundle that the next cycle unloads"),
        KeyHelp("A12", "twelve bundles of namespace A, where single ones have no room"),
        KeyHelp("+ ?", "a broker that was added; one whose report is too old"),
        KeyHelp("dim", "a bar of a resource whose weight is 0, so that it does not count"),
        KeyHelp("?", "instead of a bar: the report has no limit for it, so Pulsar counts it as 0%"),
        KeyHelp("46.4%", "on a large screen: how full a broker is before each cycle, yellow where that sheds it"),
        KeyHelp("3↩", "in the strip: three unloads, one of which brings a bundle back where it was; in ASCII <"),
    ),
)


class BrokersScreen(TableScreen):
    """Asks the engine once for each question; cycles are pages of one answer. Other shedders come a moment later."""

    CSS_PATH: ClassVar = [stylesheet("brokers"), stylesheet("dialogs")]
    AUTO_FOCUS = "#table"
    filename = "brokers.csv"
    BINDINGS: ClassVar[list[BindingType]] = [*BINDINGS]
    key_groups = GROUPS

    on_close: Callable[[], object] | None = None
    """What leaving means where there is no screen below."""
    cycle: var[int] = var(0, init=False)
    """How many cycles are over in what is shown, 0 is now."""
    zoomed: var[str] = var("", init=False)
    colours: var[Palette] = var(palette, init=False)
    # What the panels are bound to.
    sentence: var[tuple[str, str]] = var(("hint", ""))
    next_text: var[tuple[Line, ...]] = var(())
    compare_text: var[tuple[Line, ...]] = var(())
    strip: var[CycleStrip | None] = var(None)

    def __init__(
        self,
        given: BrokersInput | Callable[[], BrokersInput],
        colours: Palette,
        question: BrokersQuestion | None = None,
        *,
        ascii_only: bool = False,
    ) -> None:
        """``given``: the brokers, or what works them out of answers, which is done in the background."""
        super().__init__()
        self.question = question or BrokersQuestion()
        self.view: BrokersView | None = None
        self.compared: tuple[Compared, ...] = ()
        self._given = given if isinstance(given, BrokersInput) else None
        self._newest = given if callable(given) else None
        self._before: list[BrokersQuestion] = []
        self._frame: Answer | None = None
        self._computing = Computing()
        self._comparing = Computing()
        self._asked = ""
        """What is computed of a question, in words; "" for nothing."""
        self._refused = ""
        self._marked = ""
        self._ascii_only = ascii_only
        self._ready = False
        self._playing: Timer | None = None
        self.set_reactive(BrokersScreen.colours, colours)

    def compose(self) -> ComposeResult:
        cls = BrokersScreen
        yield PlainStatic(id="title")
        yield SentenceLine(id="sentence").data_bind(cls.sentence)
        with Container(id="panels"):
            yield RowsTable(id="table", classes="panel")
            yield WordsPanel(id="next", classes="panel").data_bind(said=cls.next_text)
            yield WordsPanel(id="compare", classes="panel", wraps=False).data_bind(said=cls.compare_text)
        yield StripPanel(id="strip", ascii_only=self._ascii_only).data_bind(cls.strip, cls.colours)
        yield Prompt(id="prompt")
        yield KeyFooter(id="keys")
        yield PlainStatic(id="too-small")

    def on_mount(self) -> None:
        """Ask the first question."""
        self._ready = True
        self._computing.start = self._comparing.start = partial(run_beside, self)
        self.query_one(KeyFooter).keys = key_hints_with_back(BINDINGS, self.app)
        name_panels(self, {"next": "next cycle", "compare": "all shedders", "table": "brokers"})
        self.set_class(self.colours.mono, "-mono")
        if self._newest is not None:
            self.renew(self._newest)
        else:
            self.ask(self.question)

    def watch_colours(self) -> None:
        self.set_class(self.colours.mono, "-mono")
        self.show_all()

    def on_resize(self, event: events.Resize) -> None:
        arrange(self, event.size)
        self.call_after_refresh(self.show_all)

    # what is shown of a running cluster

    def renew(self, newest: Callable[[], BrokersInput]) -> None:
        """Ask the same question of newer reports. Of several that arrive while one is worked on, the last counts."""
        self._newest = newest
        self._renew_when_idle()

    def _renew_when_idle(self) -> None:
        newest = self._newest
        if newest is None or not self._ready or self._computing.what:
            return
        self._newest, question, cycle = None, self.question, self.cycle
        if self.view is None:
            self.sentence = "hint", "working out the brokers from their load reports"

        def compute() -> tuple[BrokersInput, Answer | Rejection]:
            given = newest()
            return given, _answered(given, question, cycle)

        def take(outcome: tuple[BrokersInput, Answer | Rejection]) -> None:
            given, answer = outcome
            if isinstance(answer, Rejection):
                self._refuse(NOT_OF_THE_NEWEST.format(answer))
            else:
                self._given = given
                self._take(question, answer, undoing=True)
            self._renew_when_idle()

        self._computing.begin("the newest reports", compute, take)

    # the question

    def ask(self, question: BrokersQuestion, *, undoing: bool = False) -> None:
        """Answer at once, or where that takes longer, in the background; escape cancels that."""
        self._pause()
        self._refused = self._still_computing if self._computing.what else ""
        if self._refused:
            self._say_where_it_is()
            return
        given = self._given
        if given is None:
            return
        bundles = sum(len(load.bundles) for load in given.inputs.loads)
        if bundles <= QUICK_BUNDLES:
            self._take(question, _answered(given, question, self._cycle_of(question)), undoing=undoing)
            return

        def take(answer: Answer | Rejection) -> None:
            self._asked = ""
            self._take(question, answer, undoing=undoing)
            self._renew_when_idle()

        self._asked = f"{counted(question.cycles, 'cycle')} for {counted(bundles, 'bundle')}"
        self._computing.begin(self._asked, partial(_answered, given, question, self._cycle_of(question)), take)
        self._say_where_it_is()

    @property
    def _still_computing(self) -> str:
        cancels = "escape cancels it" if self._asked else "try again then"
        return f"still computing {self._computing.what}; {cancels}"

    def _say_where_it_is(self) -> None:
        if self._refused:
            self.sentence = "refusal", self._refused
        elif self._asked:
            self.sentence = "computing", f"computing {self._asked} …; escape cancels"
        elif self.view is not None:
            self.sentence = "hint", hint_text(self.view, self.frame)

    def _cycle_of(self, question: BrokersQuestion) -> int:
        """The cycle that is shown of an answer: now where brokers come or go, else the same as before."""
        return 0 if question.changes != self.question.changes else min(self.cycle, question.cycles)

    def _take(self, question: BrokersQuestion, answer: Answer | Rejection, *, undoing: bool) -> None:
        if isinstance(answer, Rejection):
            # The name of a setting says what the refusal is about; these names are the program's own.
            self._refuse(answer.message if answer.field in UNSHOWN_FIELDS else str(answer))
            return
        if undoing and self._before and self._before[-1] == question:
            self._before.pop()
        elif self.view is not None and question != self.question:
            self._before.append(self.question)
        self.set_reactive(BrokersScreen.cycle, self._cycle_of(question))
        view = answer[0]
        self.question, self.view, self.compared, self._frame = question, view, (), answer
        self._compare(view)
        self.show_all()

    def _compare(self, view: BrokersView) -> None:
        """Compare one shedder after the other, as long as nothing else is asked."""
        self._comparing.cancel()
        bundles = sum(len(load.bundles) for load in view.loads)
        if bundles <= QUICK_BUNDLES:
            self.compared = compared_shedders(view)
            return
        left = list(SHEDDERS)

        def following() -> None:
            if left:
                self._comparing.begin(left[0], partial(compared_shedder, view, left.pop(0)), take)

        def take(compared: Compared) -> None:
            self.compared = (*self.compared, compared)
            self._show_compared()
            following()

        following()

    def _refuse(self, why: str) -> None:
        self._refused = why
        self.show_all()

    def action_kill(self) -> None:
        if self.view is not None and self._marked:
            change = Change("dies", self._marked)
            self.ask(replace(self.question, changes=(*self.question.changes, change)))

    def action_add(self) -> None:
        if self.view is not None:
            self.ask(replace(self.question, changes=(*self.question.changes, Change("joins"))))

    def action_load_manager(self) -> None:
        if self.view is not None:
            other = self.view.load_manager == "modular"
            self.ask(
                replace(self.question, load_manager="extensible" if other else "modular", shedder=None, placement=None)
            )

    def action_shedder(self) -> None:
        if self.view is None:
            return
        if self.view.load_manager == "extensible":
            self._refuse(EXTENSIBLE_ONLY.format("shedder", "TransferShedder"))
            return
        names = SHEDDERS[:-1]
        following = names[(names.index(self.view.shedder) + 1) % len(names)] if self.view.shedder in names else names[0]
        self.ask(replace(self.question, load_manager="modular", shedder=following, placement=None))

    def action_placement(self) -> None:
        if self.view is None:
            return
        own = self.view.placement
        if own is None:
            self._refuse(EXTENSIBLE_ONLY.format("placement", "LeastResourceUsageWithWeight"))
        elif own == "AvgShedder":
            self._refuse("AvgShedder is its own placement; r changes the shedder")
        else:
            names = [name for name in PLACEMENTS if name != "AvgShedder"]
            following = names[(names.index(own) + 1) % len(names)] if own in names else names[0]
            self.ask(replace(self.question, placement=following))

    def action_settings(self) -> None:
        if self.view is not None:
            settings: LoadSettings = self.view.ahead.start.settings
            dialog = SettingsScreen(
                self.view.shedder, self.view.placement, settings, self._accept, ascii_only=self._ascii_only
            )
            self.app.push_screen(dialog)

    def _accept(self, pairs: Pairs) -> Rejection | None:
        """Take settings over, or say why not; the dialog stays open then."""
        if self._computing.what:
            return Rejection("Computing", self._still_computing)
        if pairs:
            merged = dict(self.question.settings) | dict(pairs)
            self.ask(replace(self.question, settings=tuple(merged.items())))
        return None

    def action_undo(self) -> None:
        if self._before:
            self.ask(self._before[-1], undoing=True)
        else:
            self._refuse("nothing was changed, so there is nothing to take back")

    # what is typed

    def typed_commands(self) -> Mapping[str, Typed]:
        brokers = {row.broker: row.broker for row in self.frame.rows} if self.view is not None else {}
        shedders = {name: name for name in SHEDDERS}
        placements = {name: name for name in PLACEMENTS}
        return {
            "kill": choice("kill BROKER", "let a broker die", brokers, self._kill),
            "add": Typed("add", "add a broker without bundles", lambda _: self.action_add()),
            "manager": choice(
                "manager modular|extensible",
                "the load manager",
                MANAGERS,
                lambda name: self._ask(load_manager=name, shedder=None, placement=None),
            ),
            "shedder": choice("shedder NAME", "the shedding strategy", shedders, self._take_shedder),
            "placement": choice(
                "placement NAME", "the placement strategy", placements, lambda name: self._ask(placement=name)
            ),
            "set": Typed("set NAME=VALUE", "a setting, as in broker.conf", self._take_setting),
            "cycle": number("cycle N", "go to a cycle, 0 is now", 0, self.question.cycles, self.action_cycle),
            "undo": Typed("undo", "take the last change back", lambda _: self.action_undo()),
        }

    def _ask(self, **changes: Any) -> None:
        self.ask(replace(self.question, **changes))

    def _kill(self, broker: str) -> None:
        self._marked = broker
        self.action_kill()

    def _take_shedder(self, name: str) -> None:
        manager: LoadManager = "extensible" if name == TRANSFER else "modular"
        self._ask(load_manager=manager, shedder=name, placement=None)

    def _take_setting(self, text: str) -> Rejection | None:
        name, found, value = text.partition("=")
        if not found or not name.strip():
            return Rejection("InvalidSetting", "write it as in broker.conf, NAME=VALUE")
        return self._accept(((name.strip(), value.strip()),))

    # the page of the answer

    @property
    def frame(self) -> BrokersFrame:
        """The cycle shown; a large one takes a while, so it is kept until another one is shown."""
        assert self.view is not None
        if self._frame is None or self._frame[0] is not self.view or self._frame[1].cycle != self.cycle:
            self._frame = self.view, brokers_frame(self.view, self.cycle)
        return self._frame[1]

    def validate_cycle(self, cycle: int) -> int:
        """Keep to the cycles of the answer."""
        return max(0, min(cycle, self.question.cycles))

    def watch_cycle(self) -> None:
        self.show_all()

    def action_step(self, by: int) -> None:
        self._pause()
        self._refused = ""
        self.cycle += by

    def action_play(self) -> None:
        """Go through the cycles one after the other, from the first one where the last is shown."""
        if self._playing is not None:
            self._pause()
        elif self.view is not None:
            self._refused = ""
            self.cycle = 0 if self.cycle == self.question.cycles else self.cycle
            self._playing = self.set_interval(PLAY_S, self.play_on)

    @property
    def is_playing(self) -> bool:
        return self._playing is not None

    def play_on(self) -> None:
        """Show the next cycle; after the last one the playing ends."""
        if self.cycle < self.question.cycles:
            self.cycle += 1
        if self.cycle >= self.question.cycles:
            self._pause()

    def _pause(self) -> None:
        if self._playing is not None:
            self._playing.stop()
            self._playing = None

    def action_cycle(self, number: int) -> None:
        self._pause()
        self.cycle = number if number >= 0 else self.question.cycles

    def action_next_unload(self) -> None:
        if self.view is None:
            return
        coming = next((cell.number for cell in self.view.strip if cell.unloads and cell.number - 1 > self.cycle), None)
        if coming is None:
            self._refuse(f"no later cycle of {self.question.cycles} unloads anything")
        else:
            self._pause()
            self._refused, self.cycle = "", coming - 1

    # what is shown

    def show_all(self) -> None:
        """Show the page in every panel."""
        if not self._ready:
            return
        self._say_where_it_is()
        if self.view is None:
            return
        view, frame = self.view, self.frame
        label = " brokers"
        source, rules = title_texts(view, self.size.width - len(label) - len("   ") - 1)
        title = f" {source}  " if source else "  "
        self.query_one("#title", PlainStatic).update(
            assembled((label, "$accent bold"), (title, "bold"), (rules, "$dim")), layout=False
        )
        self.next_text = tuple(next_lines(view, frame))
        self._show_compared()
        lines = self._course_lines
        courses = usage_courses(view, [row.broker for row in frame.rows[: self._spare_lines]]) if lines else ()
        self.strip = CycleStrip(view.strip, frame.cycle, strip_words(view), courses, lines)
        self._show_table(frame)

    @property
    def _spare_lines(self) -> int:
        """Lines of a large screen that table and words do not need."""
        fits = self.has_class("-large") and not self.zoomed and self.question.cycles <= COURSE_CYCLES
        return max(0, self.size.height - WORDS_LINES) if fits else 0

    @property
    def _course_lines(self) -> int:
        """How many of them each broker has for its usage."""
        return min(COURSE_LINES, self._spare_lines // max(1, min(len(self.frame.rows), self._spare_lines)))

    def _share_rows(self) -> None:
        """Give the table the lines that it needs, at most two fifths of the body, and what is below it the rest."""
        body = self.query_one("#panels")
        needed = self.table.lines.count + 3
        body.styles.grid_rows = "1fr" if self.zoomed else f"{max(5, min(needed, body.size.height * 2 // 5))} 1fr"

    def _show_compared(self) -> None:
        assert self.view is not None
        panel = self.query_one("#compare", WordsPanel)
        width = panel.scrollable_content_region.width
        self.compare_text = tuple(compare_lines(self.compared, self.view, width))

    def _show_table(self, frame: BrokersFrame) -> None:
        assert self.view is not None
        table, rows, colours, ascii_only = self.table, frame.rows, self.colours, self._ascii_only
        when = f"after cycle {frame.cycle}" if frame.cycle else "now"
        names = [f"{consumer_tag(at)} {safe_name(name)}" for at, name in enumerate(self.view.namespaces[:6])]
        more = f" and {quantity(len(self.view.namespaces) - 6)} more" if len(self.view.namespaces) > 6 else ""
        letters = f"{', '.join(names)}{more}"
        # A small screen has no lower frame, and letters without their names say nothing.
        title = f"{counted(len(rows), 'broker')} {when}"
        set_title(table, f"{title}: {letters}" if self.has_class("-compact") and names else title)
        set_subtitle(table, f"{letters}; small letter: leaves next")
        table.show(
            rows, lambda listed, order: broker_lines(listed, order, colours, ascii_only=ascii_only), broker_value
        )
        self._share_rows()
        brokers = [row.broker for row in table.listed]
        if self._marked in brokers:
            table.cursor = brokers.index(self._marked)
        else:
            self._marked = brokers[table.cursor]

    @on(LineTable.Moved, "#table")
    def _moved(self, message: LineTable.Moved) -> None:
        if self.view is not None and not message.is_stale:
            self._marked = self.table.listed[message.index].broker

    @on(LineTable.Opened, "#table")
    def _opened(self, message: LineTable.Opened) -> None:
        if self.view is not None and not message.is_stale:
            row = self.table.listed[message.index]
            self.app.push_screen(HelpScreen(_bundle_groups(row, self.view), title=safe_name(row.broker)))

    def say(self, kind: str, text: str) -> None:
        self.sentence = kind, text

    # panels

    def action_zoom(self) -> None:
        self.zoomed = ZOOMS[(ZOOMS.index(self.zoomed) + 1) % len(ZOOMS)]

    def watch_zoomed(self) -> None:
        """Give the body to one panel."""
        self.update_classes({f"-zoom-{panel}": self.zoomed == panel for panel in ZOOMS[1:]})
        self._share_rows()
        self.call_after_refresh(self.show_all)

    def action_scroll_text(self, by: int) -> None:
        self.query_one("#next", WordsPanel).scroll_relative(y=by, animate=False)

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen([*key_groups(GROUPS, self.app), LEGEND], title="brokers and shedding"))

    def action_close(self) -> None:
        if self._asked and self.view is not None:
            self._computing.cancel()
            self._asked = ""
            self._refuse("cancelled; what is shown is the answer before")
            self._renew_when_idle()
        elif self.on_close is None:
            self.dismiss()
        else:
            self.on_close()


def _answered(given: BrokersInput, question: BrokersQuestion, cycle: int) -> Answer | Rejection:
    """The answer, with all that its first page needs."""
    view = brokers_view(given, question)
    if isinstance(view, Rejection):
        return view
    frame = brokers_frame(view, cycle)
    for row in frame.rows:
        row.make_blocks()  # the view keeps them
    return view, frame


BUNDLES_LISTED: Final = 200


def _bundle_groups(row: BrokerRow, view: BrokersView) -> list[Group]:
    """All bundles of one broker, the busiest first."""
    blocks = sorted(row.blocks, key=lambda block: -block.bytes_per_sec)
    lines = [
        KeyHelp(
            consumer_tag(block.namespace),
            f"{safe_name(block.bundle)}: {traffic_text(block.msgs_per_sec, block.bytes_per_sec, block.topics)}"
            f"{', leaves next' if block.leaves else ''}{', was elsewhere' if block.arrived else ''}",
        )
        for block in blocks[:BUNDLES_LISTED]
    ]
    rest = len(blocks) - len(lines)
    more = [KeyHelp("", f"and {counted(rest, 'bundle')} more")] if rest else []
    whole = KeyHelp("", row_text(row.msgs_per_sec, row.bytes_per_sec, row.topics, row.bundles))
    return [("in all", [whole]), ("bundles by traffic", [*lines, *more])]
