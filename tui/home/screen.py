"""Home: every subscription in a row, the worst first, with what is wrong; enter opens one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Final

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.reactive import var

from engine.answer import Filtered, TableColumn, columns_of, filter_of, sortable_columns
from engine.diagnosis.model import Verdict
from engine.text import counted
from engine.views.listing import PRODUCERS, ListedRow, Listing, Share
from themes import stylesheet
from themes.palettes import Palette, hex_colour, palette
from tui.drawing.bars import shares_bar
from tui.kit.background import in_background, run_beside
from tui.kit.bindings import TABLE, TYPED, Binding
from tui.kit.declared import lines_of, sorted_by
from tui.kit.footer import KeyFooter, key_hints
from tui.kit.help import HelpScreen, KeyHelp, key_groups
from tui.kit.layouts import arrange
from tui.kit.line_table import LineTable, RowsTable
from tui.kit.plain_text import PlainStatic, set_title
from tui.kit.prompt import Prompt
from tui.kit.reported import verdict_word
from tui.kit.sentence_line import SentenceLine
from tui.kit.table_screens import TableScreen
from tui.kit.typed_commands import Typed, choice
from tui.kit.wording import safe_name

OPEN: Final = Binding("enter", "none", "Open", tooltip="Open the marked subscription")
FILTER: Final = Binding(
    "slash", "filter", "Filter", key_display="/", tooltip="Only rows that fit: part of a name, idle>2, type=key"
)
BACK: Final = Binding("escape,0", "back", "Back", key_display="esc", tooltip="Show all rows, then go back")
BINDINGS: Final = (OPEN, FILTER, *TABLE, TYPED, BACK)
HINT: Final = "Worst first: enter opens, 0 comes back here, / filters (idle>2 type=key)."
READING: Final = "Looking at every subscription …"
_TYPED_FILTER: Final = "a part of a name, or conditions: idle>2 backlog>1000 type=key"


class HomeScreen(TableScreen):
    """Shows what ``load`` returns; it is called in a thread, again whenever ``renew`` is."""

    CSS_PATH = stylesheet("home")
    AUTO_FOCUS = "#rows"
    filename = "subscriptions.csv"
    key_groups = (("this list", BINDINGS),)
    BINDINGS: ClassVar[list[BindingType]] = [*BINDINGS]

    colours: var[Palette] = var(palette, init=False)
    sentence: var[tuple[str, str]] = var(("hint", READING))

    def __init__(
        self,
        load: Callable[[], Listing],
        shown: str,
        choose: Callable[[str, str], object],
        colours: Palette,
        more_commands: Mapping[str, Typed] = MappingProxyType({}),
    ) -> None:
        """``shown`` is the key of the row to mark first; ``choose`` opens what has a key, in its cluster.

        ``more_commands`` are those that every screen has.
        """
        super().__init__()
        self._load = load
        self._marked = shown
        self._choose = choose
        self._more_commands = more_commands
        self._listing: Listing | None = None
        self._filter = ""
        self.set_reactive(HomeScreen.colours, colours)

    def compose(self) -> ComposeResult:
        yield PlainStatic(id="title")
        yield SentenceLine(id="sentence").data_bind(HomeScreen.sentence)
        yield RowsTable(id="rows", classes="panel", beside=True)
        yield PlainStatic(id="about", classes="panel")
        yield Prompt()
        yield KeyFooter(id="keys")
        yield PlainStatic(id="too-small")

    def on_mount(self) -> None:
        self.query_one(KeyFooter).keys = key_hints(BINDINGS, self.app)
        set_title(self.query_one("#about"), "the marked row")
        self.set_class(self.colours.mono, "-mono")
        self.renew()

    def on_resize(self, event: events.Resize) -> None:
        arrange(self, event.size)

    def watch_colours(self) -> None:
        self.set_class(self.colours.mono, "-mono")
        self._list()

    def renew(self) -> None:
        """Read the list again: something was changed, or a newer reading is there."""
        run_beside(self, self._read, group="home", exclusive=True)

    async def _read(self) -> None:
        self._listing = await in_background(self._load)
        name = (" ringside", f"bold {hex_colour(self.colours.accent)}")
        self.query_one("#title", PlainStatic).update(Text.assemble(name, f"  {title_of(self._listing)}", no_wrap=True))
        several = len({row.cluster for row in self._listing.rows}) > 1
        self.say("hint", f"{HINT} Other clusters are as they were left." if several else HINT)
        self._list()

    # the rows

    def _list(self) -> None:
        listing = self._listing
        if listing is None:
            return
        fits = self._chosen.fits if self._filter else None
        self.table.show(listing.rows, lines_of(ListedRow, self._style, self._bar), sorted_by(ListedRow), fits)

    @property
    def _chosen(self) -> Filtered:
        return filter_of(ListedRow, self._filter)

    def _style(self, row: ListedRow, column: TableColumn) -> str:
        value = getattr(row, column.name)
        colours = self.colours
        if column.name == "verdict" and row.verdict is not None:
            verdict = Verdict(row.verdict)
            role = colours.bad if verdict is Verdict.BLOCKS else colours.warn if verdict.harms else colours.good
            return f"bold {hex_colour(role)}" if verdict.harms else hex_colour(role)
        if column.name == "subscription":
            return "bold"
        return hex_colour(colours.dim) if not value else ""

    def _bar(self, parts: Sequence[Share], width: int) -> Text:
        return shares_bar([(share.number, share.items) for share in parts], width, self.colours)

    @on(RowsTable.Arranged)
    def _list_arranged(self) -> None:
        listing = self._listing
        if listing is None:
            return
        every, table = len(listing.rows), self.table
        keys = [row.key for row in table.listed]
        if self._marked in keys:
            table.cursor = keys.index(self._marked)
        part = f"{len(keys):,} of {every:,} with {safe_name(self._filter)}" if self._filter else f"{every:,}"
        more = " and topics with producers" if any(row.type == PRODUCERS for row in listing.rows) else ""
        set_title(table, f"subscriptions{more} ({part})")
        self._describe()

    @on(LineTable.Moved, "#rows")
    def _moved(self, message: LineTable.Moved) -> None:
        self._marked = self.table.listed[message.index].key
        self._describe()

    def _describe(self) -> None:
        rows = self.table.listed
        row = rows[self.table.cursor] if len(rows) else None
        self.query_one("#about", PlainStatic).update(Text("nothing fits the filter" if row is None else about(row)))

    @on(LineTable.Opened, "#rows")
    def _opened(self, message: LineTable.Opened) -> None:
        row = self.table.listed[message.index]
        self.dismiss()
        self._choose(row.key, row.cluster)

    # keys

    def say(self, kind: str, text: str) -> None:
        self.sentence = kind, text

    def typed_commands(self) -> Mapping[str, Typed]:
        columns = {column.label: column.name for column in sortable_columns(ListedRow)}
        return {
            "filter": Typed("filter TEXT", "only the rows that fit, as after /", self._filter_by),
            "sort": choice("sort COLUMN", "sort by a column", columns, self.table.sort_by),
            **self._more_commands,
            "worst": Typed("worst", "the worst first again", lambda _: self.table.sort_by("")),
        }

    def action_filter(self) -> None:
        self.query_one(Prompt).ask("filter", "/", text=self._filter, placeholder=_TYPED_FILTER)

    def action_back(self) -> None:
        """Take the filter away first, where there is one."""
        if self._filter:
            self._filter_by("")
        else:
            self.dismiss()

    def action_help(self) -> None:
        meanings = [KeyHelp(column.heading, column.meaning) for column in columns_of(ListedRow)]
        columns = ("columns, and words before > < = in a filter", meanings)
        self.app.push_screen(HelpScreen([*key_groups(self.key_groups, self.app), columns]))

    def _filter_by(self, text: str) -> None:
        self._filter = text.strip()
        self._list()

    @on(Prompt.Typed)
    def _typed(self, message: Prompt.Typed) -> None:
        if message.kind == "filter":
            self._filter_by(message.text)

    @on(Prompt.Closed)
    def _prompt_closed(self, message: Prompt.Closed) -> None:
        if message.kind == "filter":
            self._filter_by("")
        self.table.focus()

    @on(Prompt.Answered)
    def _answered(self, message: Prompt.Answered) -> None:
        if message.kind == "filter":
            prompt, half = self.query_one(Prompt), self._chosen.half_typed
            if half:
                prompt.complain(f"{half} needs a number, as in idle>2; until then nothing is filtered out")
                return
            prompt.accept(message.text)
            self.table.focus()
            return
        super()._answered(message)


def title_of(listing: Listing) -> str:
    """What was opened, how much there is, and how many rows have which verdict that somebody has to act on."""
    verdicts = Counter(row.verdict for row in listing.rows)
    kinds = Counter(row.type == PRODUCERS for row in listing.rows)
    parts = [safe_name(listing.source), counted(kinds[False], "subscription")]
    parts += [counted(kinds[True], "topic") + " with producers"] if kinds[True] else []
    parts += [f"{verdicts[each.value]:,} {each.value}" for each in Verdict if each.harms and verdicts[each.value]]
    parts.append(f"Pulsar {listing.release}")
    if listing.step:
        parts.append(f"after {counted(listing.step, 'step')}: only verdict, backlog and out/s are as reported")
    return " · ".join(parts)


def about(row: ListedRow) -> str:
    """The marked row in two sentences: its name in full, and what is wrong or not."""
    name = f"{row.type} {safe_name(row.subscription)}" if row.subscription else "Producers"
    others = f" and {counted(row.topics - 1, 'more topic')}" if row.topics > 1 else ""
    where = f"{name} on {safe_name(f'{row.namespace}/{row.topic}')}{others}."
    if row.verdict is None:
        return f"{where}\nNo broker reported anything about it: idle and busiest÷avg are computed."
    return f"{where}\nReported {verdict_word(Verdict(row.verdict))}: {safe_name(row.what)} ({row.cause})."
