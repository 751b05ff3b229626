"""The screen "bundles": a namespace over time, which bundle splits next, and what each algorithm makes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.reactive import var

from engine.cluster.state import ClusterState
from engine.errors import Rejection
from engine.views.balance import curve_after
from engine.views.balance_model import BalanceFrame, BundleRow
from themes import stylesheet
from themes.palettes import Palette, palette
from tui.bundles.algorithm_tabs import AlgorithmTabs
from tui.bundles.bindings import BINDINGS, GROUPS
from tui.bundles.cycle_slider import CycleSlider
from tui.bundles.flow_panel import FlowPanel
from tui.bundles.flow_words import flow_picture
from tui.bundles.lines import tree_heading, tree_line
from tui.bundles.parts import forecast_content, key_hints, slider_of, status_content, tabs_of
from tui.bundles.questions import BundlesQuestions
from tui.bundles.scrolled_text import ScrolledText
from tui.bundles.words import curve_title, hint_text
from tui.kit.footer import KeyFooter
from tui.kit.help import HelpScreen, key_groups
from tui.kit.layouts import Layout, layout_for, too_small
from tui.kit.line_table import Lines, LineTable
from tui.kit.plain_text import PlainStatic, plain, set_subtitle, set_title
from tui.kit.sentence_line import SentenceLine
from tui.kit.wording import counted

ZOOMS: Final = ("", "tree", "curve", "forecast")


class BundlesScreen(BundlesQuestions):
    """Arranges the panels and hands each its part of the answer."""

    CSS_PATH = stylesheet("bundles")
    AUTO_FOCUS = "#tree"
    BINDINGS: ClassVar[list[BindingType]] = [*BINDINGS]

    zoomed: var[str] = var("", init=False)
    colours: var[Palette] = var(palette, init=False)

    def __init__(
        self, state: ClusterState, namespace: str, colours: Callable[[], Palette], *, ascii_only: bool = False
    ) -> None:
        super().__init__(state, namespace)
        self._colours_now = colours
        self.set_reactive(BundlesScreen.colours, colours())
        self._ascii_only = ascii_only
        self._ready = False

    def compose(self) -> ComposeResult:
        yield PlainStatic(id="title")
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
        yield PlainStatic(id="too-small")

    def on_mount(self) -> None:
        """Ask the first question."""
        self._ready = True
        self.query_one(KeyFooter).keys = key_hints(BINDINGS)
        set_title(self.query_one("#forecast"), "forecast")
        set_title(self.query_one("#tree"), "bundles")
        self.app.theme_changed_signal.subscribe(self, lambda _theme: self.call_after_refresh(self._take_colours))
        self._take_colours()
        self.ask(self.question)

    def _take_colours(self) -> None:
        self.colours = self._colours_now()
        self.set_class(self.colours.mono, "-mono")
        self.query_one(FlowPanel).colours = self.query_one(CycleSlider).colours = self.colours
        self.show_all()

    def on_resize(self, event: events.Resize) -> None:
        """Choose the arrangement for this size; too small is told in words."""
        width, height = event.size
        chosen = layout_for(width, height)
        # All at once: each change of classes styles every widget of the screen anew.
        self.update_classes({layout.value: layout is chosen for layout in Layout})
        self.query_one("#too-small", PlainStatic).update(too_small(width, height))
        self.call_after_refresh(self._show_title)

    # what is shown

    def show_all(self) -> None:
        """Every panel, for the cycle and the algorithm looked at."""
        if not self._ready:
            return
        if self.view is None:
            self.say("refusal" if self._refused else "hint", self._refused or "computing the forecast")
            return
        frame, tree = self.frame, self.projected
        self._show_title()
        self.say("refusal" if self._refused else "hint", self._refused or hint_text(self.view, tree, frame))
        tabs = self.query_one(AlgorithmTabs)
        tabs.tabs, tabs.chosen = tabs_of(self.view), self.algorithm
        self.query_one(CycleSlider).cycles = slider_of(self.view, tree, frame)
        self.query_one("#forecast", ScrolledText).content = forecast_content(self.view, tree, frame)
        self._show_tree(frame)
        self._show_curve()

    def _show_title(self) -> None:
        title = self.query_one("#title", PlainStatic)
        if self.view is not None:
            several = ""
            if len(self.namespaces) > 1:
                several = f" [{self.namespaces.index(self._namespace) + 1}/{len(self.namespaces)} n p]"
            title.update(status_content(self.view, several, self.size.width))
        else:
            title.update(plain(f" bundles {self._namespace}"))

    def _show_tree(self, frame: BalanceFrame) -> None:
        table, rows, colours, ascii_only = (
            self.query_one("#tree", LineTable),
            frame.rows,
            self.colours,
            self._ascii_only,
        )
        over = f", {frame.over} above a limit" if frame.over else ""
        when = f"after cycle {frame.cycle}" if frame.cycle else "now"
        set_title(table, f"{counted(len(frame.leaves), 'bundle')} {when}{over}")
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
        set_title(panel, curve_title(curve, self._marked))
        if isinstance(curve, Rejection):
            panel.picture, panel.words = None, curve.message
        else:
            panel.picture, panel.words = flow_picture(curve), ""
        label = "no traffic" if panel.picture is None else "area: messages, line: bytes, both in terms of their limits"
        set_subtitle(panel, f"{label} ╌")

    def say(self, kind: str, text: str) -> None:
        self.query_one(SentenceLine).sentence = (kind, text)

    @on(LineTable.Moved, "#tree")
    def _moved(self, message: LineTable.Moved) -> None:
        row: BundleRow = self.frame.rows[message.index]
        if row.range_text != self._marked:
            self._marked = row.range_text
            self._show_curve()

    @on(LineTable.Opened, "#tree")
    def _opened(self) -> None:
        self.mark_next()
        self.show_all()

    def watch_rule(self) -> None:
        """Other limits and cuts of the same traffic."""
        if self.view is not None:
            self._show_curve()

    def action_zoom(self) -> None:
        self.zoomed = ZOOMS[(ZOOMS.index(self.zoomed) + 1) % len(ZOOMS)]

    def watch_zoomed(self) -> None:
        """Give the body to one panel."""
        self.update_classes({f"-zoom-{panel}": self.zoomed == panel for panel in ZOOMS[1:]})

    def action_scroll_forecast(self, by: int) -> None:
        self.query_one("#forecast", ScrolledText).scroll_relative(y=by, animate=False)

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(key_groups(GROUPS), title="bundles over time"))

    def action_close(self) -> None:
        self.dismiss()
