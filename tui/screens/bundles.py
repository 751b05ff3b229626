"""The screen "bundles": a namespace over time, which bundle splits next, and what each algorithm makes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content
from textual.reactive import var
from textual.screen import Screen
from textual.widgets import Static

from engine.bundles.curve import FlowRule
from engine.bundles.occupancy import MAX_BROKERS
from engine.bundles.plan import LoadManager
from engine.cluster.state import ClusterState
from engine.errors import Rejection
from engine.views.balance import balance_frame, balance_view, curve_after
from engine.views.balance_model import BalanceFrame, BalanceQuestion, BalanceView, BundleRow, TreeRow
from themes import stylesheet
from themes.palettes import Palette, palette
from tui.bundles_lines import tree_heading, tree_line
from tui.bundles_words import curve_title, hint_text
from tui.flow_words import flow_picture
from tui.layouts import Layout, layout_for, too_small
from tui.screens.bundles_bindings import BINDINGS, GROUPS
from tui.screens.bundles_parts import forecast_content, key_hints, slider_of, status_content, tabs_of
from tui.screens.help import HelpScreen, key_groups
from tui.widgets.algorithm_tabs import AlgorithmTabs
from tui.widgets.cycle_slider import CycleSlider
from tui.widgets.flow_panel import FlowPanel
from tui.widgets.key_footer import KeyFooter
from tui.widgets.line_table import Lines, LineTable
from tui.widgets.scrolled_text import ScrolledText
from tui.widgets.sentence_line import SentenceLine

GROWTHS: Final = (1.0, 1.05, 1.1, 1.25, 1.5)
QUICK_TOPICS: Final = 2_000
"""With more topics than this a forecast takes longer than a key may, so it is computed beside the screen."""
ZOOMS: Final = ("", "tree", "curve", "forecast")


class BundlesScreen(Screen[None]):
    """Asks the engine once for each question; cycles and algorithms are pages of one answer."""

    CSS_PATH = stylesheet("bundles")
    AUTO_FOCUS = "#tree"
    BINDINGS: ClassVar[list[BindingType]] = [*BINDINGS]

    cycle: var[int] = var(0, init=False)
    """The cycle shown, 0 is now."""
    algorithm: var[int] = var(0, init=False)
    """The place of the algorithm shown."""
    rule: var[FlowRule] = var[FlowRule]("merged", init=False)
    zoomed: var[str] = var("", init=False)
    colours: var[Palette] = var(palette, init=False)

    def __init__(
        self, state: ClusterState, namespace: str, colours: Callable[[], Palette], *, ascii_only: bool = False
    ) -> None:
        super().__init__()
        self._state = state
        self._namespace = namespace
        self._colours_now = colours
        self.set_reactive(BundlesScreen.colours, colours())
        self._ascii_only = ascii_only
        self.question = BalanceQuestion()
        self.view: BalanceView | None = None
        self._computing: BalanceQuestion | None = None
        self._refused = ""
        self._marked = ""
        self._ready = False

    def compose(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        yield SentenceLine(id="sentence")
        yield AlgorithmTabs(id="algorithms")
        with Container(id="panels"):
            yield LineTable(id="tree", classes="panel")
            yield ScrolledText(id="forecast", classes="panel")
            yield FlowPanel(id="curve", classes="panel", ascii_only=self._ascii_only)
        slider = CycleSlider(id="slider")
        slider.ascii_only = self._ascii_only
        yield slider
        yield KeyFooter(id="keys")
        yield Static(id="too-small", markup=False)

    def on_mount(self) -> None:
        """Ask the first question."""
        self._ready = True
        self.query_one(KeyFooter).keys = key_hints(BINDINGS)
        self.query_one("#forecast").border_title = "forecast"
        self.query_one("#tree").border_title = "bundles"
        self.app.theme_changed_signal.subscribe(self, lambda _theme: self.call_after_refresh(self._take_colours))
        self._take_colours()
        self._ask(self.question)

    def _take_colours(self) -> None:
        self.colours = self._colours_now()
        self.set_class(self.colours.mono, "-mono")
        self.query_one(FlowPanel).colours = self.query_one(CycleSlider).colours = self.colours
        self.show_all()

    def on_resize(self, event: events.Resize) -> None:
        """Choose the arrangement for this size; too small is told in words."""
        width, height = event.size
        chosen = layout_for(width, height)
        for layout in Layout:
            self.set_class(layout is chosen, layout.value)
        self.query_one("#too-small", Static).update(too_small(width, height))
        self.call_after_refresh(self._show_title)

    # the question

    @property
    def namespaces(self) -> tuple[str, ...]:
        """All namespaces, by name."""
        return tuple(sorted(self._state.namespaces))

    def _ask(self, question: BalanceQuestion) -> None:
        """Answer at once, or where that takes longer, beside the screen."""
        self._refused = ""
        if len(self._state.topics) <= QUICK_TOPICS:
            self._take(question, balance_view(self._state, self._namespace, question))
        elif self._computing is None:
            self._computing = question
            self._say("hint", f"computing {question.cycles} cycles for {len(self._state.topics):,} topics")
            self.run_worker(self._compute(question))
        else:
            self._say("hint", "still computing the last question; one at a time")

    async def _compute(self, question: BalanceQuestion) -> None:
        found = await asyncio.to_thread(balance_view, self._state, self._namespace, question)
        self._computing = None
        self._take(question, found)

    def _take(self, question: BalanceQuestion, found: BalanceView | Rejection) -> None:
        if isinstance(found, Rejection):
            self._refused = str(found)
            self.show_all()
            return
        first = self.view is None or self.view.namespace != found.namespace
        self.question, self.view = question, found
        if first:
            at = found.trees.index(found.configured)
            self.set_reactive(BundlesScreen.algorithm, at)
            self.set_reactive(BundlesScreen.cycle, 0)
            self._mark_next()
        self.show_all()

    # what is shown

    @property
    def projected(self) -> TreeRow:
        """The tree of the algorithm looked at."""
        assert self.view is not None
        return self.view.trees[self.algorithm]

    @property
    def frame(self) -> BalanceFrame:
        """The cycle looked at, under that algorithm."""
        assert self.view is not None
        return balance_frame(self.view, self.projected.algorithm, self.cycle)

    def show_all(self) -> None:
        """Every panel, for the cycle and the algorithm looked at."""
        if not self._ready:
            return
        if self.view is None:
            self._say("refusal" if self._refused else "hint", self._refused or "computing the forecast")
            return
        frame, tree = self.frame, self.projected
        self._show_title()
        self._say("refusal" if self._refused else "hint", self._refused or hint_text(self.view, tree, frame))
        tabs = self.query_one(AlgorithmTabs)
        tabs.tabs, tabs.chosen = tabs_of(self.view), self.algorithm
        self.query_one(CycleSlider).cycles = slider_of(self.view, tree, frame)
        self.query_one("#forecast", ScrolledText).content = forecast_content(self.view, tree, frame)
        self._show_tree(frame)
        self._show_curve()

    def _show_title(self) -> None:
        title = self.query_one("#title", Static)
        if self.view is not None:
            several = ""
            if len(self.namespaces) > 1:
                several = f" [{self.namespaces.index(self._namespace) + 1}/{len(self.namespaces)} n p]"
            title.update(status_content(self.view, several, self.size.width))
        else:
            title.update(Content(f" bundles {self._namespace}"))

    def _show_tree(self, frame: BalanceFrame) -> None:
        table, rows, colours, ascii_only = (
            self.query_one("#tree", LineTable),
            frame.rows,
            self.colours,
            self._ascii_only,
        )
        over = f", {frame.over} above a limit" if frame.over else ""
        table.border_title = f"{len(frame.leaves)} bundles after cycle {frame.cycle}{over}"
        if not frame.cycle:
            table.border_title = f"{len(frame.leaves)} bundles now{over}"
        table.lines = Lines(
            len(rows),
            lambda at, width: tree_line(rows[at], rows, width, frame.cycle, colours, ascii_only=ascii_only),
            lambda width: tree_heading(rows, width),
        )
        ranges = [row.range_text for row in rows]
        if self._marked in ranges:
            table.cursor = ranges.index(self._marked)
        else:
            self._marked = ranges[table.cursor]

    def _show_curve(self) -> None:
        assert self.view is not None
        curve = curve_after(self.view, self.projected.algorithm, self.cycle, self._marked, self.rule)
        panel = self.query_one(FlowPanel)
        panel.border_title = curve_title(curve, self._marked)
        if isinstance(curve, Rejection):
            panel.picture, panel.words = None, curve.message
        else:
            panel.picture, panel.words = flow_picture(curve), ""
        label = "no traffic" if panel.picture is None else "area: messages, line: bytes, both in terms of their limits"
        panel.border_subtitle = f"{label} ╌"

    def _say(self, kind: str, text: str) -> None:
        self.query_one(SentenceLine).sentence = (kind, text)

    @on(LineTable.Moved, "#tree")
    def _moved(self, message: LineTable.Moved) -> None:
        row: BundleRow = self.frame.rows[message.index]
        if row.range_text != self._marked:
            self._marked = row.range_text
            self._show_curve()

    @on(LineTable.Opened, "#tree")
    def _opened(self) -> None:
        self._mark_next()
        self.show_all()

    def _mark_next(self) -> None:
        """Mark the bundle that splits next, else the one nearest to a limit."""
        coming = self.projected.next_split(self.cycle) or self.projected.next_attempt(self.cycle)
        nearest = max(self.frame.leaves, key=lambda row: row.nearest.share)
        known = [row.range_text for row in self.frame.leaves]
        self._marked = coming.range_text if coming is not None and coming.range_text in known else nearest.range_text

    # keys

    def watch_cycle(self) -> None:
        """Another page of the same answer."""
        self.show_all()

    def watch_algorithm(self) -> None:
        """Likewise."""
        self.show_all()

    def watch_rule(self) -> None:
        """Other limits and cuts of the same traffic."""
        if self.view is not None:
            self._show_curve()

    def validate_cycle(self, cycle: int) -> int:
        """Keep to the cycles there are."""
        return max(0, min(cycle, self.question.cycles))

    def action_step(self, by: int) -> None:
        self._refused = ""
        self.cycle += by

    def action_cycle(self, number: int) -> None:
        self.cycle = number if number >= 0 else self.question.cycles

    def action_next_split(self) -> None:
        if self.view is None:
            return
        coming = self.projected.next_split(self.cycle)
        if coming is None:
            self._refused = f"no more split within {self.question.cycles} cycles under {self.projected.algorithm}"
            self.show_all()
        else:
            self._refused, self.cycle = "", coming.cycle

    def action_algorithm(self, place: int) -> None:
        if self.view is not None:
            self.algorithm = place

    def action_next_algorithm(self, by: int) -> None:
        if self.view is not None:
            self.algorithm = (self.algorithm + by) % len(self.view.trees)

    def action_load_manager(self) -> None:
        other: LoadManager = "extensible" if self.question.load_manager == "modular" else "modular"
        self._ask(replace(self.question, load_manager=other))

    def action_rule(self) -> None:
        self.rule = "proposed" if self.rule == "merged" else "merged"

    def action_brokers(self, by: int) -> None:
        self._ask(replace(self.question, brokers=min(self.question.brokers + by, MAX_BROKERS)))

    def action_growth(self) -> None:
        at = GROWTHS.index(self.question.growth_per_cycle)
        self._ask(replace(self.question, growth_per_cycle=GROWTHS[(at + 1) % len(GROWTHS)]))

    def action_namespace(self, by: int) -> None:
        names = self.namespaces
        if self._computing is None and len(names) > 1:
            self._namespace = names[(names.index(self._namespace) + by) % len(names)]
            self._ask(self.question)

    def action_zoom(self) -> None:
        self.zoomed = ZOOMS[(ZOOMS.index(self.zoomed) + 1) % len(ZOOMS)]

    def watch_zoomed(self) -> None:
        """Give the body to one panel."""
        for panel in ZOOMS[1:]:
            self.set_class(self.zoomed == panel, f"-zoom-{panel}")

    def action_scroll_forecast(self, by: int) -> None:
        self.query_one("#forecast", ScrolledText).scroll_relative(y=by, animate=False)

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(key_groups(GROUPS), title="bundles over time"))

    def action_close(self) -> None:
        self.dismiss()
