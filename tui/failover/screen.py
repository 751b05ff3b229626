"""The main screen: who is active for the partitions of a Failover subscription, and the bundles of all namespaces."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.reactive import var
from textual.widgets import Tree

from engine.cluster.commands import SetSetting
from engine.config import FLAG
from engine.errors import Rejection
from engine.names import PARTITION_SUFFIX
from engine.views.failover.model import (
    BundleNode,
    ConsumerRow,
    DashboardView,
    NamespaceNode,
    RingView,
    RuleInForce,
    StatusView,
)
from engine.views.failover.ring import heir_of
from engine.views.reported.model import Comparison
from tui.failover.bindings import BINDINGS, ELSEWHERE, GROUPS
from tui.failover.bundle_tree import TOPICS_AT_ONCE, BundleKey, BundleTree
from tui.failover.consumers import CONSUMERS
from tui.failover.titles import PANEL_TITLES
from tui.failover.words import (
    bundles_title,
    flag_text,
    flag_unknown,
    foot_texts,
    hint,
    rule_in_few_words,
    state_hint,
    with_notice,
)
from tui.kit.background import in_background, run_beside
from tui.kit.event_list import EventList, Happened, event_line, happened
from tui.kit.help import RING_LEGEND, Group, KeyHelp
from tui.kit.list_panel import ListPanel, kept
from tui.kit.plain_text import set_title
from tui.kit.reported import blocked_ids, table_remark
from tui.kit.ring_panel import RingPanel
from tui.kit.screen import DashboardScreen
from tui.kit.status_line import GAP, KEPT, Part, Ranked, fitted_parts, place_among, saved_part, step_part
from tui.kit.text_panels import ExplainPanel
from tui.kit.why_panel import WhyPanel
from tui.kit.wording import next_name, safe_name, shorten_middle

if TYPE_CHECKING:
    from engine.views.search import Match


class BundleScreens(Protocol):
    """What opens the screens about bundles above this one."""

    def preview_split(self, namespace: str, range_text: str) -> None: ...
    def show_forecast(self, namespace: str) -> None: ...


class MainScreen(DashboardScreen[DashboardView]):
    """Ring, consumers, bundle tree and events; without a Failover subscription the bundles have the room."""

    BINDINGS: ClassVar[list[BindingType]] = [*BINDINGS]
    AUTO_FOCUS = "#table"
    key_groups = GROUPS
    elsewhere = ELSEWHERE
    kind = "failover"
    legend = RING_LEGEND
    panel_titles: ClassVar[dict[str, str]] = {panel: PANEL_TITLES[panel] for panel in ("ring", "bundles")}
    zoomable = ("ring", "consumers", "bundles", "explain", "events")

    consumers: var[tuple[ConsumerRow, ...]] = var(())
    totals: var[tuple[str, ...]] = var(())
    ring: var[RingView | None] = var(None)
    few_words: var[tuple[str, ...]] = var(())
    weights: var[tuple[int, ...]] = var(())
    namespaces: var[tuple[NamespaceNode, ...]] = var(())
    event_lines: var[tuple[Happened, ...]] = var(())
    remark: var[str] = var("")
    """When the reported columns were seen, or since when numbers are computed."""
    marks: var[tuple[int, ...]] = var(())
    blocked: var[frozenset[int]] = var(frozenset())
    compared: var[Comparison | None] = var(None)

    def __init__(self, *args: Any, bundle_screens: BundleScreens, **how: Any) -> None:
        super().__init__(*args, **how)
        self._bundle_screens = bundle_screens

    def status_parts(self, status: StatusView, saved: str, width: int) -> list[Part]:
        return status_parts(status, saved, width, self.store.shown.title)

    def compose_panels(self) -> ComposeResult:
        cls, ascii_only = MainScreen, self.ascii_only
        ring = RingPanel(id="ring", classes="panel", ascii_only=ascii_only)
        ring.flashes = self.animate_changes
        ring.heir_of = heir_of
        yield ring.data_bind(
            *(cls.few_words, cls.ring, cls.selected, cls.topic, cls.colours, cls.weights, cls.marks, cls.blocked),
            cls.compared,
            rows=cls.consumers,
        )
        with Vertical(id="side"):
            yield ListPanel(CONSUMERS, ascii_only=ascii_only, id="consumers").data_bind(
                cls.selected, cls.totals, cls.colours, cls.remark, rows=cls.consumers
            )
            yield BundleTree(id="bundles", classes="panel").data_bind(cls.namespaces)
            yield ExplainPanel(id="explain", classes="panel").data_bind(cls.remarks)
            yield WhyPanel(id="why", classes="panel").data_bind(cls.colours)
        yield EventList(event_line, title="[4] events", id="events").data_bind(cls.colours, entries=cls.event_lines)

    # the view

    @property
    def now(self) -> DashboardView:
        return self.store.shown.failover_view

    def show_first(self) -> None:
        super().show_first()
        if self.has_class("-bundles-only"):
            self.query_one(BundleTree).focus()

    @property
    def row_ids(self) -> Sequence[int]:
        return [row.consumer_id for row in self.now.consumers]

    def take(self, view: DashboardView) -> None:
        self.selected = kept([row.consumer_id for row in view.consumers], self.selected)
        self.set_class(not view.status.subscription, "-bundles-only")
        self.consumers = view.consumers
        self.totals = foot_texts(view.foot, view.reported)
        self.remark = table_remark(view.reported)
        self.marks = () if view.reported is None else view.reported.marks
        self.blocked = blocked_ids(view.consumers)
        self.compared = None if view.reported is None else view.reported.comparison
        self.weights = tuple(row.active_partitions for row in view.consumers)
        self.few_words = rule_in_few_words(view.status, view.consumers)
        self.ring = view.ring
        self.namespaces = view.namespaces
        set_title(self.query_one(BundleTree), bundles_title(view.brokers))
        self.event_lines = happened(view.events, view.reported)
        self.call_after_refresh(self._draw_flow)

    def hint(self) -> str:
        return hint(self.now)

    def hint_with(self, notice: str) -> str:
        return with_notice(self.now, notice)

    @on(Tree.NodeHighlighted)
    def _draw_flow(self) -> None:
        """Where bundles have the room, draw the traffic of the marked one along its hashes."""
        tree = self.query_one(BundleTree)
        marked = tree.cursor_node.data if tree.cursor_node is not None else None
        # Of one that was split its own range: that shows where it was cut.
        bundle = marked if isinstance(marked, BundleNode) else tree.marked_bundle()
        if self.has_class("-bundles-only") and bundle is not None and bundle.reported is None:
            run_beside(self, partial(self._flow_of, bundle.namespace, bundle.range_text), group="flow", exclusive=True)

    async def _flow_of(self, namespace: str, range_text: str) -> None:
        from engine.views.bundles.view import curve_of
        from tui.kit.flow_panel import FlowPanel

        state = self.store.timeline.state
        curve = await in_background(lambda: curve_of(state, namespace, range_text))
        if not self.query(FlowPanel):  # imported and made when it is first needed
            panel = FlowPanel(id="curve", classes="panel", ascii_only=self.ascii_only)
            self.watch(self, "colours", lambda colours: setattr(panel, "colours", colours))
            await self.query_one("#side").mount(panel, after="#bundles")
        self.query_one(FlowPanel).show_curve(curve, range_text)

    # consumers

    def action_add(self) -> None:
        from tui.failover.dialogs import AddConsumerScreen

        if not self.store.shown.key:
            self.complain("there is no subscription that a consumer could connect to")
            return
        name = next_name(row.name for row in self.consumers)
        self.app.push_screen(
            AddConsumerScreen(
                self.store.shown.key, self.store.shown.title, name, self.add_consumer, self.store.shown.preview
            )
        )

    def action_toggle_flag(self) -> None:
        status = self.now.status
        if not status.flag_known:
            self.complain(flag_unknown(status))
            return
        self.complain(self.store.submit(SetSetting(FLAG, "false" if status.consistent_hashing else "true")))

    @on(ListPanel.Opened)
    def _opened_in_list(self, message: ListPanel.Opened) -> None:
        from tui.failover.dialogs import PartitionsScreen

        row = next((row for row in self.now.consumers if row.consumer_id == message.row_id), None)
        if row is None:  # gone since the table was drawn
            return
        partitions = self.store.shown.partitions_of(row.consumer_id)
        screen = PartitionsScreen(row.name, row.msgs_per_sec, partitions, self.colours)
        self.app.push_screen(screen, self._explain_chosen)

    def _explain_chosen(self, topic: str | None) -> None:
        if topic:
            self.complain(self.explain(topic))

    # the ring

    def action_next_view(self) -> None:
        if self.has_class("-bundles-only"):
            self.action_panel("ring")
        else:
            super().action_next_view()

    # explanations

    def action_explain(self) -> None:
        names = self.ring.topic_names if self.ring is not None else ()
        default = self.topic or self.store.shown.busiest_partition_of(self.selected) or (names[0] if names else "")
        self.ask("explain", "explain topic", text=default, options=names)

    def explain(self, text: str) -> Rejection | None:
        from engine.views.failover.explanations import TopicExplanation
        from tui.failover.explaining import remarks_of

        explanation = self.store.shown.explain(text)
        if isinstance(explanation, TopicExplanation):
            self.topic = explanation.topic
            self.side.explain(remarks_of(explanation))
            return None
        return explanation

    def show_topic(self, match: Match) -> None:
        """Explain a topic, or the first partition of a partitioned one."""
        refused = self.explain(match.name)
        if refused is not None and self.explain(f"{match.name}{PARTITION_SUFFIX}0") is None:
            refused = None
        self.complain(refused)

    def explain_again(self) -> None:
        from engine.views.failover.explanations import TopicExplanation
        from tui.failover.explaining import remarks_of

        explanation = self.store.shown.explain(self.topic)
        if isinstance(explanation, TopicExplanation):
            self.remarks = remarks_of(explanation)
        else:
            self.close_side()

    def about(self) -> list[Group]:
        return [("what you are looking at", [KeyHelp("", state_hint(self.now))])]

    # bundles

    @on(BundleTree.TopicsWanted)
    def _list_topics(self, message: BundleTree.TopicsWanted) -> None:
        topics = self.store.shown.topics_of(message.bundle.namespace, message.bundle.range_text)
        shown = topics[message.offset : message.offset + TOPICS_AT_ONCE]
        self.query_one(BundleTree).show_topics(message.bundle, shown, message.offset, len(topics))

    @on(BundleTree.TopicChosen)
    def _topic_chosen(self, message: BundleTree.TopicChosen) -> None:
        self.complain(self.explain(message.topic))

    def action_split(self) -> None:
        bundle = self.query_one(BundleTree).marked_bundle()
        if bundle is None:
            self.complain("there is no bundle to split")
        elif bundle.reported is not None:
            self.complain("load reports name no topics, so nobody can say where a bundle would be cut")
        else:
            self._bundle_screens.preview_split(bundle.namespace, bundle.range_text)

    def action_bundles(self) -> None:
        bundle = self.query_one(BundleTree).marked_bundle()
        if bundle is None:
            self.complain("there is no namespace whose bundles could be shown")
        elif bundle.reported is not None:
            self.complain("load reports name no topics, so nothing can be forecast; rates are in the tree")
        else:
            self._bundle_screens.show_forecast(bundle.namespace)

    # panels and scripts

    def action_panel(self, panel: str) -> None:
        if panel in ("ring", "consumers") and self.has_class("-bundles-only"):
            self.complain("there is no Failover subscription here, so there is no ring and no consumer")
        else:
            super().action_panel(panel)

    def select_text(self, text: str) -> None:
        """Put the cursor on a consumer or a bundle, or explain a topic."""
        from engine.scenarios.selecting import resolve_selection

        selection = resolve_selection(self.store.timeline, text, self.store.shown.place)
        if isinstance(selection, Rejection):
            self.complain(selection)
        elif selection.kind == "consumer":
            self.selected = selection.consumer_id
        elif selection.kind == "topic":
            self.complain(self.explain(selection.topic))
        else:
            tree, bundle = self.query_one(BundleTree), BundleKey(selection.namespace, selection.range_text)
            tree.mark(bundle)
            if self.has_class("-bundles-only"):
                tree.open_few(bundle)


def status_parts(status: StatusView, saved: str, width: int, title: str = "") -> list[Part]:
    """Text and style of each part that fits ``width`` cells, in their order.

    ``title`` is what the subscription is called where that is not its key. Rule, flag, step and that steps are not
    saved stay longest; a long name is shortened before they go.
    """
    return fitted_parts(lambda cells: _parts(status, saved, cells, title), width)


def _parts(status: StatusView, saved: str, name_cells: int, title: str) -> list[Ranked]:
    """All parts with how soon they may go: the highest number goes first."""
    rule_style = _rule_style(status)
    flag_style = rule_style.removesuffix(" bold") if status.consistent_hashing and status.flag_known else "$dim"
    subscription = "no Failover subscription"
    if status.subscription:
        subscription = shorten_middle(title or safe_name(status.subscription), name_cells)
    kind = f" ({status.subscription_type})" if status.subscription and status.subscription_type else ""
    several = ""
    if status.subscription in status.subscriptions:
        several = place_among(status.subscriptions.index(status.subscription), len(status.subscriptions))
    # Without a subscription nothing is decided, so no rule is shown.
    rule = f"{GAP}{status.rule_text}" if status.subscription else ""
    parts: list[Ranked] = [
        (5, " ringside", "$accent bold"),
        (KEPT, f" {subscription}", "bold"),
        (9, kind, "$dim"),
        (4, several, "$dim"),
        (0, rule, rule_style),
        (1, f"{GAP}{flag_text(status)}", flag_style),
        (6, f"{GAP}Pulsar {status.release}", ""),
        step_part(status.step, status.steps),
        (10, f"{GAP}seed {status.seed}", "$dim"),
        (7, f"{GAP}{safe_name(status.source)}", "$dim"),
        saved_part(saved, status.steps, 8),
        (KEPT, f"{GAP}{status.problems} set aside" if status.problems else "", "$bad"),
    ]
    return [part for part in parts if part[1]]


def _rule_style(status: StatusView) -> str:
    """Either rule is good as long as the other one would not be better."""
    if status.rule is RuleInForce.NOBODY:
        return "$bad bold"
    if status.flag_change is None:
        return "bold"
    return "$warn bold" if status.flag_change == "better" else "$good bold"
