"""The screen "bundles": a namespace over time, which bundle splits next, and what each algorithm makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content
from textual.reactive import var

from engine.bundles.curve import FlowRule
from engine.bundles.occupancy import MAX_BROKERS
from engine.bundles.plan import LoadManager
from engine.cluster.state import ClusterState
from engine.errors import Rejection
from engine.text import counted
from engine.views.bundles.model import BalanceFrame, BalanceQuestion, BalanceView, TreeRow
from engine.views.bundles.view import balance_frame, balance_view, curve_after, known_balance_view
from themes import stylesheet
from themes.palettes import Palette, palette
from tui.bundles.bindings import BINDINGS, GROUPS
from tui.bundles.table import (
    AlgorithmTabs,
    Cycles,
    CycleSlider,
    Tab,
    bundle_value,
    slider_of,
    tabs_of,
    tree_lines,
)
from tui.bundles.words import forecast_lines, hint_text, status_texts
from tui.kit.background import in_background, run_beside
from tui.kit.flow_panel import FlowPanel
from tui.kit.footer import KeyFooter, key_hints_with_back
from tui.kit.help import HelpScreen, key_groups
from tui.kit.layouts import arrange, name_panels
from tui.kit.line_table import LineTable, RowsTable
from tui.kit.plain_text import PlainStatic, assembled, plain, set_title
from tui.kit.prompt import Prompt
from tui.kit.sentence_line import SentenceLine
from tui.kit.table_screens import TableScreen
from tui.kit.text_panels import WordsPanel, headed
from tui.kit.typed_commands import Typed, choice, number
from tui.kit.wording import Line, safe_name

GROWTHS: Final = (1.0, 1.05, 1.1, 1.25, 1.5)
MANAGERS: Final[Mapping[str, LoadManager]] = {"modular": "modular", "extensible": "extensible"}
RULES: Final[Mapping[str, FlowRule]] = {"merged": "merged", "proposed": "proposed"}
ZOOMS: Final = ("", "tree", "curve", "forecast")


class BundlesScreen(TableScreen):
    """Asks the engine once for each question; cycles and algorithms are pages of one answer."""

    CSS_PATH = stylesheet("bundles")
    AUTO_FOCUS = "#tree"
    filename = "bundles.csv"
    BINDINGS: ClassVar[list[BindingType]] = [*BINDINGS]
    key_groups = GROUPS

    cycle: var[int] = var(0, init=False)
    """The cycle shown, 0 is now."""
    algorithm: var[int] = var(0, init=False)
    """The index of the algorithm shown."""
    rule: var[FlowRule] = var[FlowRule]("merged", init=False)
    """The rule that the curve is drawn by."""
    zoomed: var[str] = var("", init=False)
    colours: var[Palette] = var(palette, init=False)
    # What the panels are bound to.
    sentence: var[tuple[str, str]] = var(("hint", ""))
    tabs: var[tuple[Tab, ...]] = var(())
    chosen: var[int] = var(0)
    cycles: var[Cycles | None] = var(None)
    forecast: var[tuple[Line, ...]] = var(())

    def __init__(
        self,
        state: ClusterState,
        namespace: str,
        colours: Palette,
        *,
        ascii_only: bool = False,
        reported_brokers: int = 0,
    ) -> None:
        super().__init__()
        self.question = BalanceQuestion()
        self.view: BalanceView | None = None
        self._state = state
        self._reported_brokers = reported_brokers
        self._namespace = namespace
        self._latest = (namespace, self.question)
        """Namespace and question asked last; the answer shown may still be that of an earlier one."""
        self._computing = False
        self._refused = ""
        self._marked = ""
        self.set_reactive(BundlesScreen.colours, colours)
        self._ascii_only = ascii_only
        self._ready = False

    def compose(self) -> ComposeResult:
        cls, ascii_only = BundlesScreen, self._ascii_only
        yield PlainStatic(id="title")
        yield SentenceLine(id="sentence").data_bind(cls.sentence)
        yield AlgorithmTabs(id="algorithms").data_bind(cls.tabs, cls.chosen)
        with Container(id="panels"):
            yield RowsTable(id="tree", classes="panel")
            yield WordsPanel(id="forecast", classes="panel").data_bind(said=cls.forecast)
            yield FlowPanel(id="curve", classes="panel", ascii_only=ascii_only).data_bind(cls.colours)
        yield CycleSlider(id="slider", ascii_only=ascii_only).data_bind(cls.cycles, cls.colours)
        yield Prompt(id="prompt")
        yield KeyFooter(id="keys")
        yield PlainStatic(id="too-small")

    def on_mount(self) -> None:
        """Ask the first question."""
        self._ready = True
        self.query_one(KeyFooter).keys = key_hints_with_back(BINDINGS, self.app)
        name_panels(self, {"forecast": "forecast", "tree": "bundles"})
        self.set_class(self.colours.mono, "-mono")
        self.ask(self.question)

    def watch_colours(self) -> None:
        self.set_class(self.colours.mono, "-mono")
        self.show_all()

    def on_resize(self, event: events.Resize) -> None:
        arrange(self, event.size)
        self.call_after_refresh(self._show_title)

    # the question

    @property
    def namespaces(self) -> tuple[str, ...]:
        """All namespaces, by name."""
        return tuple(sorted(self._state.namespaces))

    def ask(self, question: BalanceQuestion, namespace: str = "") -> None:
        """Show a known answer at once; compute another one in the background, since it takes four simulations.

        Of the questions that arrive meanwhile only the last is answered.
        """
        self._refused = ""
        self._latest = asked = (namespace or self._latest[0], question)
        known = known_balance_view(self._state, *asked)
        if known is not None:
            self._take(asked, known)
            return
        self.sentence = "hint", f"computing {question.cycles} cycles for {len(self._state.topics):,} topics"
        if not self._computing:
            self._computing = True
            run_beside(self, self._compute)

    async def _compute(self) -> None:
        answered, answer = None, None
        while answer is None or answered != self._latest:
            answered = self._latest
            answer = await in_background(balance_view, self._state, *answered)
        self._computing = False
        self._take(self._latest, answer)

    def _take(self, asked: tuple[str, BalanceQuestion], answer: BalanceView | Rejection) -> None:
        if isinstance(answer, Rejection):
            self._latest = (self._namespace, self.question)
            self._refuse(str(answer))
            return
        first = self.view is None or self.view.namespace != answer.namespace
        (self._namespace, self.question), self.view = asked, answer
        if first:
            # Everything is shown once, below.
            self.set_reactive(BundlesScreen.algorithm, answer.trees.index(answer.configured))
            self.set_reactive(BundlesScreen.cycle, 0)
            self._mark_next()
        self.show_all()

    def _refuse(self, why: str) -> None:
        self._refused = why
        self.show_all()

    def action_load_manager(self) -> None:
        _, last = self._latest
        other: LoadManager = "extensible" if last.load_manager == "modular" else "modular"
        self.ask(replace(last, load_manager=other))

    def action_as_if_on(self) -> None:
        _, last = self._latest
        if self._state.settings.loadBalancerAutoBundleSplitEnabled:
            self._refuse("automatic splits are on: this is the forecast")
        else:
            self.ask(replace(last, as_if_on=not last.as_if_on))

    def action_brokers(self, by: int) -> None:
        _, last = self._latest
        self.ask(replace(last, brokers=min(last.brokers + by, MAX_BROKERS)))

    def action_growth(self) -> None:
        _, last = self._latest
        at = GROWTHS.index(last.growth_per_cycle)
        self.ask(replace(last, growth_per_cycle=GROWTHS[(at + 1) % len(GROWTHS)]))

    def action_namespace(self, by: int) -> None:
        names = self.namespaces
        if len(names) < 2:
            self._refuse("there is no other namespace to show")
        else:
            namespace, question = self._latest
            self.ask(question, names[(names.index(namespace) + by) % len(names)])

    # what is typed

    def typed_commands(self) -> Mapping[str, Typed]:
        trees = self.view.trees if self.view is not None else ()
        algorithms = {str(tree.algorithm): at for at, tree in enumerate(trees)}
        growths = {str(growth): growth for growth in GROWTHS}
        names = {namespace: namespace for namespace in self.namespaces}
        return {
            "algorithm": choice("algorithm NAME", "the split algorithm", algorithms, self.action_algorithm),
            "manager": choice(
                "manager modular|extensible", "the load manager", MANAGERS, lambda name: self._ask(load_manager=name)
            ),
            "rule": choice("rule merged|proposed", "the rule of the curve", RULES, self._take_rule),
            "brokers": number(
                "brokers N", "how many brokers there are", 1, MAX_BROKERS, lambda count: self._ask(brokers=count)
            ),
            "growth": choice(
                "growth X", "how traffic grows a cycle", growths, lambda growth: self._ask(growth_per_cycle=growth)
            ),
            "namespace": choice(
                "namespace NAME", "another namespace", names, lambda name: self.ask(self._latest[1], name)
            ),
            "cycle": number("cycle N", "go to a cycle, 0 is now", 0, self.question.cycles, self.action_cycle),
        }

    def _ask(self, **changes: Any) -> None:
        self.ask(replace(self._latest[1], **changes))

    def _take_rule(self, rule: FlowRule) -> None:
        self.rule = rule

    # the page of the answer

    @property
    def shown_tree(self) -> TreeRow:
        """The tree of the algorithm shown."""
        assert self.view is not None
        return self.view.trees[self.algorithm]

    @property
    def frame(self) -> BalanceFrame:
        """The cycle shown, under that algorithm."""
        assert self.view is not None
        return balance_frame(self.view, self.shown_tree.algorithm, self.cycle)

    def _mark_next(self) -> None:
        """Mark the bundle that splits next, else the one nearest to a limit."""
        coming = self.shown_tree.next_split(self.cycle) or self.shown_tree.next_attempt(self.cycle)
        nearest = max(self.frame.leaves, key=lambda row: row.nearest.share)
        ranges = [row.range_text for row in self.frame.leaves]
        self._marked = coming.range_text if coming is not None and coming.range_text in ranges else nearest.range_text

    def validate_cycle(self, cycle: int) -> int:
        """Keep to the cycles of the answer."""
        return max(0, min(cycle, self.question.cycles))

    def watch_cycle(self) -> None:
        self.show_all()

    def watch_algorithm(self) -> None:
        self.show_all()

    def action_step(self, by: int) -> None:
        self._refused = ""
        self.cycle += by

    def action_cycle(self, number: int) -> None:
        self.cycle = number if number >= 0 else self.question.cycles

    def action_next_split(self) -> None:
        if self.view is None:
            return
        coming = self.shown_tree.next_split(self.cycle)
        if coming is None:
            self._refuse(f"no more split within {self.question.cycles} cycles under {self.shown_tree.algorithm}")
        else:
            self._refused, self.cycle = "", coming.cycle

    def action_algorithm(self, place: int) -> None:
        if self.view is not None:
            self.algorithm = place

    def action_next_algorithm(self, by: int) -> None:
        if self.view is not None:
            self.algorithm = (self.algorithm + by) % len(self.view.trees)

    def action_rule(self) -> None:
        self.rule = "proposed" if self.rule == "merged" else "merged"

    def watch_rule(self) -> None:
        """Draw other limits and cuts of the same traffic."""
        if self.view is not None:
            self._show_curve()

    # what is shown

    def show_all(self) -> None:
        """Show the page in every panel."""
        if not self._ready:
            return
        if self.view is None:
            self.sentence = ("refusal", self._refused) if self._refused else ("hint", "computing the forecast")
            return
        frame, tree = self.frame, self.shown_tree
        self._show_title()
        self.sentence = ("refusal", self._refused) if self._refused else ("hint", hint_text(self.view, tree, frame))
        self.tabs, self.chosen = tabs_of(self.view), self.algorithm
        self.cycles = slider_of(self.view, tree, frame)
        self.forecast = headed(forecast_lines(self.view, tree, frame))
        self._show_tree(frame)
        self._show_curve()

    def _show_title(self) -> None:
        title = self.query_one("#title", PlainStatic)
        if self.view is None:
            title.update(plain(f" bundles {self._namespace}"))
            return
        position = ""
        if len(self.namespaces) > 1:
            position = f" [{self.namespaces.index(self._namespace) + 1}/{len(self.namespaces)} n p]"
        title.update(_title(self.view, position, self.size.width, self._reported_brokers))

    def _show_tree(self, frame: BalanceFrame) -> None:
        table, colours, ascii_only = self.table, self.colours, self._ascii_only
        over = f", {frame.over} above a limit" if frame.over else ""
        when = f"after cycle {frame.cycle}" if frame.cycle else "now"
        set_title(table, f"{counted(len(frame.leaves), 'bundle')} {when}{over}")
        table.show(
            frame.rows,
            lambda rows, order: tree_lines(rows, order, frame.cycle, colours, ascii_only=ascii_only),
            bundle_value,
        )
        ranges = [row.range_text for row in table.listed]
        if self._marked in ranges:
            table.cursor = ranges.index(self._marked)
        else:
            self._marked = ranges[table.cursor]

    def _show_curve(self) -> None:
        assert self.view is not None
        curve = curve_after(self.view, self.shown_tree.algorithm, self.cycle, self._marked, self.rule)
        self.query_one(FlowPanel).show_curve(curve, self._marked)

    def say(self, kind: str, text: str) -> None:
        self.sentence = kind, text

    @on(LineTable.Moved, "#tree")
    def _moved(self, message: LineTable.Moved) -> None:
        marked = self.table.listed[message.index].range_text
        if marked != self._marked:
            self._marked = marked
            self._show_curve()

    @on(LineTable.Opened, "#tree")
    def _opened(self) -> None:
        self._mark_next()
        self.show_all()

    # panels

    def action_zoom(self) -> None:
        self.zoomed = ZOOMS[(ZOOMS.index(self.zoomed) + 1) % len(ZOOMS)]

    def watch_zoomed(self) -> None:
        """Give the body to one panel."""
        self.update_classes({f"-zoom-{panel}": self.zoomed == panel for panel in ZOOMS[1:]})

    def action_scroll_forecast(self, by: int) -> None:
        self.query_one(WordsPanel).scroll_relative(y=by, animate=False)

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(key_groups(GROUPS, self.app), title="bundles over time"))

    def action_close(self) -> None:
        self.dismiss()


def _title(view: BalanceView, position: str, width: int, reported_brokers: int) -> Content:
    """The namespace, its position among all, and as many words about the question as fit."""
    name = f" {safe_name(view.namespace)}{position}  "
    room = width - len(" bundles ") - len(name) - 1
    texts = status_texts(view, reported_brokers)
    shown = next((text for text in texts if len(text) <= room), texts[-1])
    return assembled((" bundles ", "$accent bold"), (name, "bold"), (shown, "$dim"))
