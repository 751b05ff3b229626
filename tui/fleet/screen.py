"""A whole fleet: the worst subscriptions and namespaces first, findings, what was set aside; any order, any filter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message

from engine.disk import path_typed
from engine.errors import InputError
from engine.text import counted
from themes import stylesheet
from themes.palettes import Palette
from tui.drawing.glyphs import glyphs_of
from tui.fleet.bindings import BINDINGS, help_groups
from tui.fleet.columns import BROKERS, LISTS, NAMESPACES, SCALABLE, SUBSCRIPTIONS, FleetList, placed, tabs_of
from tui.fleet.lines import FleetSpread, fleet_line, heading
from tui.fleet.words import fleet_sentence, tabs_text
from tui.kit.columns import Lines
from tui.kit.exporting import written_sentence
from tui.kit.footer import KeyFooter, key_hints
from tui.kit.help import HelpScreen
from tui.kit.line_table import LineTable
from tui.kit.plain_text import PlainStatic, set_subtitle, set_title
from tui.kit.prompt import Prompt
from tui.kit.screens import RingsideScreen
from tui.kit.sentence_line import SentenceLine
from tui.kit.typed_commands import Typed, ask_for_command, carry_out, choice
from tui.kit.wording import sparkline
from tui.sources.fleet_export import export
from tui.sources.fleet_listing import Listing, filtered, half_typed, ordered
from tui.sources.fleet_results import FleetResults

_MOST_POINTS: Final = 12
_WORDS: Final = ("z", "a")
"""The words for descending and ascending order of texts."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """What of a cluster is to be opened; ``namespace`` is "" for its brokers, ``subscription`` for a whole namespace.

    ``listed_flag`` is the flag that the numbers of the list are of, None where that is unknown. ``first`` names the
    subscription of a namespace that is shown first, "" for any; ``topic`` a topic of the list of consumers in it that
    makes the number of the row.
    """

    cluster: str
    namespace: str = ""
    subscription: str = ""
    listed_flag: bool | None = None
    first: str = ""
    topic: str = ""


@dataclass(frozen=True, slots=True)
class Spot:
    """The filter, the order and the cursor of a list, to come back to."""

    filter_text: str = ""
    sorted_by: str = ""
    descending: bool = True
    cursor: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """What to come back to: the list that was shown, by its table, and the spot in each list."""

    shown: str = SUBSCRIPTIONS.table
    spots: Mapping[str, Spot] = field(default_factory=dict)


def _as_first_shown(shown: FleetList, filter_text: str = "") -> Spot:
    return Spot(filter_text, shown.order, descending=False) if shown.order else Spot(filter_text)


class FleetScreen(RingsideScreen[None]):
    """The lists over one folder of results. Only rows in sight are built, however many there are."""

    CSS_PATH = stylesheet("fleet")
    key_groups = (("lists", BINDINGS),)
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
        self._spots = dict(place.spots)
        self._shown = self._list(place.shown)
        self._unfiltered: Listing = results.listing(self._shown.table)
        self._listing: Listing = self._unfiltered

    def compose(self) -> ComposeResult:
        yield PlainStatic(id="head")
        yield PlainStatic(id="lists")
        yield SentenceLine(id="sentence")
        yield LineTable(id="rows", classes="panel")
        yield FleetSpread(self._colours, ascii_only=self._ascii_only, id="spread", classes="panel")
        yield Prompt(id="prompt")
        yield KeyFooter(id="keys")

    def on_mount(self) -> None:
        """Show the list to come back to, or the worst subscriptions."""
        self.set_class(self._colours.mono, "-mono")
        self.query_one(KeyFooter).keys = key_hints([binding for binding in BINDINGS if binding.show], self.app)
        self._show_list(self._shown)
        if self._results.complaint:
            self.say("refusal", self._results.complaint)

    def say(self, kind: str, text: str) -> None:
        """One sentence above the list."""
        self.query_one(SentenceLine).sentence = (kind, text)

    @property
    def place(self) -> Place:
        """The current list and row."""
        return Place(self._shown.table, {**self._spots, self._shown.table: self._spot()})

    @property
    def listing(self) -> Listing:
        """What is listed."""
        return self._listing

    def _spot(self) -> Spot:
        shown = self._listing
        return Spot(shown.filter_text, shown.sorted_by, shown.descending, self.query_one("#rows", LineTable).cursor)

    def _list(self, table: str) -> FleetList:
        known = next((known_list for known_list in LISTS if known_list.table == table), SUBSCRIPTIONS)
        names = set(self._results.listing(known.table).columns.names)
        return known.having(names if known is BROKERS or self._results.has_clusters else names - {"cluster"})

    # what is shown

    def _show_list(self, shown: FleetList) -> None:
        """Show another list as it was left."""
        self._shown = shown
        self._results.warm(shown.table)
        spot = self._spots.get(shown.table, _as_first_shown(shown))
        self._unfiltered = self._results.listing(shown.table)
        if spot.sorted_by in self._unfiltered.columns.names:
            self._unfiltered = ordered(self._unfiltered, spot.sorted_by, descending=spot.descending)
        self._take(filtered(self._unfiltered, spot.filter_text, shown.labels), spot.cursor)
        self.say("hint", shown.hint)

    def _take(self, listing: Listing, cursor: int = 0) -> None:
        """Show these rows: lines, titles, and how all of them are spread."""
        self._listing, shown = listing, self._shown
        sorted_by = listing.sorted_by or shown.heat
        fitting = cache(lambda width: placed(shown.columns, width, listing.sorted_by))
        highest = listing.columns.highest(shown.heat) if shown.heat else 0.0
        colours, ascii_only = self._colours, self._ascii_only
        table = self.query_one("#rows", LineTable)
        table.lines = Lines(
            len(listing),
            lambda at, width: fleet_line(
                listing.row(at), fitting(width), shown, highest, colours, ascii_only=ascii_only
            ),
            lambda width: heading(fitting(width), sorted_by, descending=listing.descending),
        )
        table.cursor = cursor
        spread = self.query_one(FleetSpread)
        spread.show(shown, listing, self._results.trends)
        spread.mark(table.cursor)
        self._write_titles()

    def _write_titles(self) -> None:
        listing, shown, width = self._listing, self._shown, self.size.width
        table = self.query_one("#rows", LineTable)
        every = len(self._unfiltered)
        title = counted(every, shown.noun)
        if len(listing) != every:
            title = f"{len(listing):,} of {title}" if len(listing) else f"none of {title}"
        set_title(table, f"{title}, {self._order_text()}")
        hidden = len(shown.columns) - len(placed(shown.columns, max(1, width - 3), listing.sorted_by))
        notes = [f"filter: {listing.filter_text}"] if listing.filter_text else []
        notes += [f"+{counted(hidden, 'column')} in a wider window"] if hidden else []
        set_subtitle(table, " · ".join(notes))
        listed = {
            fleet_list.table: len(self._results.listing(fleet_list.table))
            for fleet_list in LISTS
            if self._is_cheap(fleet_list)
        }
        runs = self._results.topics_over_runs[-_MOST_POINTS:]
        over_runs = sparkline(runs, glyphs_of(self._ascii_only).levels) if len(runs) > 1 else ""
        head = fleet_sentence(self._results.name, self._results.summary, listed, width - 2, over_runs)
        self.query_one("#head", PlainStatic).update(head, layout=False)
        tabs = tabs_text(shown, self._results.summary, listed, self._colours, width - 2)
        self.query_one("#lists", PlainStatic).update(tabs, layout=False)

    def _order_text(self) -> str:
        listing, shown = self._listing, self._shown
        if not listing.sorted_by or (listing.sorted_by == shown.order and not listing.descending):
            return shown.first
        column = shown.column(listing.sorted_by)
        first = (
            ("highest", "lowest") if column.is_number else ("worst", "least") if column.kind == "severity" else _WORDS
        )
        return f"by {column.label}, {first[not listing.descending]} first"

    def _is_cheap(self, fleet_list: FleetList) -> bool:
        # The summary counts findings and what was set aside; without one the tables are counted.
        return fleet_list in (SUBSCRIPTIONS, NAMESPACES, BROKERS, SCALABLE) or self._results.summary is None

    def on_resize(self) -> None:
        """Fit bars and words to the window."""
        if self.is_mounted:
            self.query_one(FleetSpread).fit(self.size.height)
            self._write_titles()

    @on(LineTable.Moved, "#rows")
    def _moved(self, message: LineTable.Moved) -> None:
        self.query_one(FleetSpread).mark(message.index)

    # keys

    def action_list(self, at: int) -> None:
        if LISTS[at].table == self._shown.table:
            return
        try:
            chosen = self._list(LISTS[at].table)
        except InputError as error:
            self.say("refusal", str(error))
            return
        self._spots[self._shown.table] = self._spot()
        self._show_list(chosen)

    def action_next_list(self, by: int) -> None:
        listed = {SCALABLE.table: len(self._results.listing(SCALABLE.table))}
        tabs = tabs_of(self._shown, listed)
        now = next(place for place, at in enumerate(tabs) if LISTS[at].table == self._shown.table)
        self.action_list(tabs[(now + by) % len(tabs)])

    def action_sort(self, by: int) -> None:
        names = [sortable.name for sortable in self._shown.sortable]
        now = self._listing.sorted_by or self._shown.heat
        column = names[(names.index(now) + by) % len(names)] if now in names else names[0 if by > 0 else -1]
        self._sort_first(column)

    def _sort_first(self, column: str) -> None:
        """Sort by another column: numbers with the largest first."""
        self._sort(
            column, descending=self._shown.column(column).is_number or self._shown.column(column).kind == "severity"
        )

    def action_reverse(self) -> None:
        column = self._listing.sorted_by or self._shown.heat or self._shown.sortable[0].name
        self._sort(column, descending=not self._listing.descending)

    def action_why(self) -> None:
        """The key says why on every screen; here it says where."""
        self.say("hint", "enter opens the row; w there says why nothing arrives")

    def action_worst(self) -> None:
        self._spots[self._shown.table] = _as_first_shown(self._shown, self._listing.filter_text)
        self._show_list(self._shown)

    def _sort(self, column: str, *, descending: bool) -> None:
        text, mask = self._listing.filter_text, self._listing.mask
        self._unfiltered = ordered(self._results.listing(self._shown.table), column, descending=descending)
        self._take(self._unfiltered.let_through(mask, text))
        shown_column = self._shown.column(column)
        about = f" ({shown_column.about})" if shown_column.about else ""
        self.say("hint", f"Sorted {self._order_text()}{about}. r turns it round, 0 goes back.")

    def action_filter(self) -> None:
        hint = f"part of a name, or like {self._shown.filter_example}"
        self.query_one(Prompt).ask("filter", "/", text=self._listing.filter_text, placeholder=hint)

    def action_export(self) -> None:
        name = self._shown.title.replace(" ", "-")
        self.query_one(Prompt).ask(
            "export", "export to", text=f"{name}.csv", placeholder="a name that ends in .csv or .json"
        )

    def action_all(self) -> None:
        if self._listing.filter_text:
            self._take(self._unfiltered.let_through(None, ""))

    def action_row(self, at: int) -> None:
        self.query_one("#rows", LineTable).action_to(at)

    def action_open(self) -> None:
        self.query_one("#rows", LineTable).action_open()

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(help_groups(self._shown, self.app), title="fleet: keys and columns"))

    # what is typed

    def action_command(self) -> None:
        ask_for_command(self.query_one(Prompt), self._typed_commands())

    def _typed_commands(self) -> dict[str, Typed]:
        lists = {column.title: at for at, column in enumerate(LISTS)}
        columns = {column.label: column.name for column in self._shown.sortable}
        return {
            "list": choice("list NAME", "another list", lists, self.action_list),
            "sort": choice("sort COLUMN", "sort by a column", columns, self._sort_first),
            "reverse": Typed("reverse", "reverse the order", lambda _: self.action_reverse()),
            "filter": Typed("filter TEXT", "only the rows that fit, as after /", self._let_through),
            "worst": Typed("worst", "back to the order of the result", lambda _: self.action_worst()),
        }

    def _let_through(self, text: str) -> None:
        self._take(filtered(self._unfiltered, text, self._shown.labels))

    # messages

    @on(Prompt.Typed)
    def _typed(self, message: Prompt.Typed) -> None:
        if message.kind == "filter":
            self._let_through(message.text)

    @on(Prompt.Answered)
    def _answered(self, message: Prompt.Answered) -> None:
        prompt = self.query_one(Prompt)
        if message.kind == "export":
            try:
                path = path_typed(message.text)
                written = export(self._listing, path)
                self.say("done", written_sentence(written.rows, written.changed_cells, path))
            except InputError as error:
                prompt.complain(str(error))
                return
        if message.kind == "command" and message.text.strip():
            refused = carry_out(self, self._typed_commands(), message.text.strip())
            if refused is not None:
                prompt.complain(str(refused))
                return
        if message.kind == "filter":
            word = half_typed(self._unfiltered, message.text, self._shown.labels)
            if word is not None:
                prompt.complain(f"{word} needs a number, as in idle>2; until then nothing is filtered out")
                return
        prompt.accept(message.text)
        self.query_one("#rows").focus()

    @on(Prompt.Closed)
    def _prompt_closed(self, message: Prompt.Closed) -> None:
        if message.kind == "filter":
            self.action_all()
        self.query_one("#rows").focus()

    @on(LineTable.Opened, "#rows")
    def _opened(self, message: LineTable.Opened) -> None:
        row = self._listing.row(message.index)
        if not self._shown.opens:
            self.say("refusal", "What was set aside cannot be opened: see below what to do, then run the jobs again.")
        elif self._shown.table == BROKERS.table:
            self.post_message(self.Opened(Chosen(str(row["cluster"]))))
        elif self._shown.table == SCALABLE.table:
            place = str(row["cluster"]), str(row["namespace"])
            self.post_message(self.Opened(Chosen(*place, topic=str(row["topic"]))))
        elif not row["namespace"]:
            self.say("refusal", "This finding is of no namespace, so there is nothing to open.")
        else:
            opens_all = self._shown.table == NAMESPACES.table
            subscription = "" if opens_all else str(row["subscription"])
            flag = self._results.listed_flag(row["policy"] if self._shown.table == SUBSCRIPTIONS.table else None)
            first = str(row["worst_subscription"] or "") if opens_all else ""
            chosen = Chosen(
                str(row["cluster"]), str(row["namespace"]), subscription, flag, first,
                str(row.get("worst_topic") or row.get("topic") or ""),
            )  # fmt: skip
            self.post_message(self.Opened(chosen))
