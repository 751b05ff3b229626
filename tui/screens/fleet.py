"""A whole fleet: the worst subscriptions and namespaces first, any order, any filter, and how all of it is spread."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar, Final

from rich.console import Group
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Static

from engine.errors import InputError
from themes import stylesheet
from themes.palettes import Palette
from tui.fleet_lines import (
    NAMESPACE_COLUMNS,
    SUBSCRIPTION_COLUMNS,
    FleetColumn,
    fleet_line,
    heading,
    histogram_lines,
    placed,
)
from tui.screens.framed import key_hints
from tui.screens.help import Group as HelpGroup
from tui.screens.help import HelpScreen, KeyHelp
from tui.sources.fleet_results import FleetResults, Listing, export, filtered, ordered, policies_of
from tui.widgets.key_footer import KeyFooter
from tui.widgets.line_table import Lines, LineTable
from tui.widgets.prompt import Prompt
from tui.widgets.sentence_line import SentenceLine
from tui.wording import counted

HISTOGRAM_HEIGHT: Final = 3
MOST_BARS: Final = 100
FLAG_ON: Final = "flag_on"
"""The rule in force where ``activeConsumerFailoverConsistentHashing`` is true, as the tables name it."""
BINDINGS: Final = (
    Binding("tab,1,2", "other_list", "Other list", key_display="tab", tooltip="The other list"),
    Binding("s", "sort(1)", "Sort", tooltip="Sort by the next column"),
    Binding("S", "sort(-1)", "Sort back", show=False, tooltip="Sort by the column before"),
    Binding("r", "reverse", "Reverse", tooltip="Turn the order round"),
    Binding("slash", "filter", "Filter", key_display="/", tooltip="Only what has a text in its name"),
    Binding("e", "export", "Export", tooltip="Write the list as it stands to a CSV or Parquet file"),
    Binding("escape", "all", "All", show=False, tooltip="Take the filter away"),
)
MOVING: Final = (
    KeyHelp("up, down, page, g, G", "move among the rows"),
    KeyHelp("enter", "open in the simulator; q comes back"),
)


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is to be opened in the simulator; ``subscription`` is "" for a whole namespace."""

    namespace: str
    subscription: str
    consistent_hashing: bool


@dataclass(frozen=True, slots=True)
class Place:
    """Where one stood, to come back to."""

    shows_namespaces: bool = False
    filter_text: str = ""
    sorted_by: str = ""
    descending: bool = True
    cursor: int = 0


class FleetScreen(Screen[None]):
    """Two lists over one folder of results. Rows are made for what is in sight, however many there are."""

    CSS_PATH = stylesheet("fleet")
    BINDINGS: ClassVar[list[BindingType]] = [*BINDINGS]
    AUTO_FOCUS = "#rows"

    class Opened(Message):
        """A row is to be opened in the simulator."""

        def __init__(self, chosen: Chosen) -> None:
            super().__init__()
            self.chosen = chosen

    def __init__(self, results: FleetResults, colours: Palette, place: Place, *, ascii_only: bool) -> None:
        super().__init__()
        self._results = results
        self._colours = colours
        self._ascii_only = ascii_only
        self._namespaces = place.shows_namespaces
        self._start = place
        self._whole = self._source()
        self._listing: Listing = self._whole

    def compose(self) -> ComposeResult:
        yield Static(id="head", markup=False)
        yield SentenceLine(id="sentence")
        yield LineTable(id="rows", classes="panel")
        yield Static(id="spread", classes="panel")
        yield Prompt(id="prompt")
        yield KeyFooter(id="keys")

    def on_mount(self) -> None:
        """Show the list one came from, or the worst subscriptions."""
        self.set_class(self._colours.mono, "-mono")
        self.query_one(KeyFooter).keys = key_hints(BINDINGS)
        start = self._start
        if start.sorted_by:
            self._whole = ordered(self._whole, start.sorted_by, descending=start.descending)
        self._take(filtered(self._whole, start.filter_text))
        self.query_one("#rows", LineTable).cursor = start.cursor
        self.say("hint", "The worst stand first. enter opens one in the simulator, q comes back.")

    def say(self, kind: str, text: str) -> None:
        """One sentence above the list."""
        self.query_one(SentenceLine).sentence = (kind, text)

    @property
    def place(self) -> Place:
        """Where one stands now."""
        shown, cursor = self._listing, self.query_one("#rows", LineTable).cursor
        return Place(self._namespaces, shown.filter_text, shown.sorted_by, shown.descending, cursor)

    @property
    def listing(self) -> Listing:
        """What is listed."""
        return self._listing

    @property
    def _columns(self) -> tuple[FleetColumn, ...]:
        return NAMESPACE_COLUMNS if self._namespaces else SUBSCRIPTION_COLUMNS

    @property
    def _heat(self) -> str:
        return "worst_max_over_mean" if self._namespaces else "max_over_mean"

    def _source(self) -> Listing:
        return self._results.namespaces if self._namespaces else self._results.subscriptions

    def _take(self, listing: Listing) -> None:
        """Show a list: rows, titles and the histogram of all its rows."""
        self._listing = listing
        heat, highest, colours, ascii_only = self._heat, listing.highest(self._heat), self._colours, self._ascii_only
        fitting = cache(lambda width: placed(self._columns, width))
        table = self.query_one("#rows", LineTable)
        table.lines = Lines(
            len(listing),
            lambda at, width: fleet_line(
                listing.row(at), fitting(width), heat, highest, colours, ascii_only=ascii_only
            ),
            lambda width: heading(fitting(width), listing.sorted_by or heat, descending=listing.descending),
        )
        table.cursor = 0
        whole = len(self._source())
        noun = "namespace" if self._namespaces else "subscription"
        told = counted(whole, noun) if len(listing) == whole else f"{len(listing):,} of {counted(whole, noun)}"
        table.border_title = f"worst {noun}s ({told})"
        table.border_subtitle = f"filter: {listing.filter_text}" if listing.filter_text else ""
        self.query_one("#head", Static).update(
            f"ringside fleet  {self._results.folder.name}  {counted(len(self._results.subscriptions), 'subscription')}"
            f"  {counted(len(self._results.namespaces), 'namespace')}"
        )
        self._draw_spread()

    def _draw_spread(self) -> None:
        spread = self.query_one("#spread", Static)
        bars = max(8, min(MOST_BARS, (self.size.width - 4) // 2))
        counts, low, high = self._listing.histogram(self._heat, bars)
        lines = histogram_lines(counts, low, high, HISTOGRAM_HEIGHT, self._colours, ascii_only=self._ascii_only)
        spread.border_title = "busiest consumer over the mean"
        spread.update(Group(*lines))

    def on_resize(self) -> None:
        """As many bars as there is room for."""
        if self.is_mounted:
            self._draw_spread()

    def action_other_list(self) -> None:
        self._namespaces = not self._namespaces
        self._whole = self._source()
        self._take(self._whole)

    def action_sort(self, by: int) -> None:
        names = [each.name for each in self._columns if each.kind != "heat"]
        at = names.index(self._listing.sorted_by or self._heat)
        column = names[(at + by) % len(names)]
        words = next(each.kind for each in self._columns if each.name == column) in ("name", "word")
        self._sort(column, descending=not words)

    def action_reverse(self) -> None:
        self._sort(self._listing.sorted_by or self._heat, descending=not self._listing.descending)

    def _sort(self, column: str, *, descending: bool) -> None:
        self._whole = ordered(self._source(), column, descending=descending)
        self._take(filtered(self._whole, self._listing.filter_text))
        label = next(each.label for each in self._columns if each.name == column)
        self.say("hint", f"Sorted by {label}, {'highest' if descending else 'lowest'} first. r turns it round.")

    def action_filter(self) -> None:
        self.query_one(Prompt).ask("filter", "/", text=self._listing.filter_text, placeholder="part of a name")

    def action_export(self) -> None:
        noun = "namespaces" if self._namespaces else "subscriptions"
        self.query_one(Prompt).ask("export", "export to", text=f"worst-{noun}.csv")

    def action_all(self) -> None:
        self._take(filtered(self._whole, ""))

    def action_help(self) -> None:
        keys = [KeyHelp(each.key_display or each.key, each.tooltip) for each in BINDINGS]
        groups: list[HelpGroup] = [("the list", keys), ("rows", MOVING)]
        self.app.push_screen(HelpScreen(groups, title="fleet keys"))

    @on(Prompt.Typed)
    def _typed(self, message: Prompt.Typed) -> None:
        if message.kind == "filter":
            self._take(filtered(self._whole, message.text))

    @on(Prompt.Answered)
    def _answered(self, message: Prompt.Answered) -> None:
        prompt = self.query_one(Prompt)
        if message.kind == "export":
            try:
                path = Path(message.text.strip()).expanduser()
                self.say("done", f"{counted(export(self._listing, path), 'row')} written to {path}")
            except InputError as error:
                prompt.complain(str(error))
                return
        prompt.remember(message.text)
        prompt.close()
        self.query_one("#rows").focus()

    @on(Prompt.Closed)
    def _prompt_closed(self, message: Prompt.Closed) -> None:
        if message.kind == "filter":
            self._take(filtered(self._whole, ""))
        self.query_one("#rows").focus()

    @on(LineTable.Opened, "#rows")
    def _opened(self, message: LineTable.Opened) -> None:
        row = self._listing.row(message.index)
        namespace, subscription = str(row["namespace"]), "" if self._namespaces else str(row["subscription"])
        flag = FLAG_ON in (policies_of(self._results, namespace) if self._namespaces else (row["policy"],))
        self.post_message(self.Opened(Chosen(namespace, subscription, flag)))
