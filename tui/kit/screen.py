"""The screens of one subject (a subscription, the producers of a topic): what all of them have.

Status, sentence, panels, timeline, prompt and footer; the keys for time and place; an explanation beside the panels;
zoom; scripts that play. What is shown in the panels, and the keys that change the cluster, belong to the features.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Protocol, TypeVar

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Container
from textual.reactive import var

from engine.cluster.commands import AddConsumer, End, Home, KillConsumer, Redo, Undo
from engine.errors import Rejection
from engine.text import counted
from engine.views.failover.model import TimelineView
from themes.palettes import Palette, palette
from tui.kit.bindings import Binding
from tui.kit.command_line import PLACEHOLDER, CommandLine
from tui.kit.diagnosing import Diagnosing
from tui.kit.footer import KeyFooter, KeyHint, before_always, key_hints
from tui.kit.help import Group, HelpScreen, KeyHelp
from tui.kit.layouts import Zooming, arrange, choose_layout, name_panels
from tui.kit.line_table import RowsTable
from tui.kit.list_panel import AnyList, ListPanel, after_removing, stepped
from tui.kit.live_line import LiveLine
from tui.kit.plain_text import PlainStatic, set_subtitle, set_title
from tui.kit.playing import Playback, Stage
from tui.kit.prompt import Prompt
from tui.kit.ring_panel import RingPanel, ViewMode
from tui.kit.screens import RingsideScreen
from tui.kit.sentence_line import SentenceLine
from tui.kit.sentences import Noticed, Sentences
from tui.kit.shown import Kind, Shown
from tui.kit.side_place import SidePlace
from tui.kit.status_line import Part, StatusLine
from tui.kit.store import Store
from tui.kit.suggesting import Question
from tui.kit.text_panels import ExplainPanel
from tui.kit.timeline_line import TimelineLine
from tui.kit.why_panel import WhyPanel
from tui.kit.wording import Remark, safe_name

if TYPE_CHECKING:
    from engine.views.search import Match
    from tui.kit.typed_commands import Typed

BESIDE_EXPLANATION: Final = ("ring", "events", "sent")
"""Panels that stay in sight beside an explanation."""


class View(Noticed, Protocol):
    """What every view of a subject has."""

    @property
    def timeline(self) -> TimelineView: ...


AnyView = TypeVar("AnyView", bound=View)


class DashboardScreen(RingsideScreen[None], Generic[AnyView]):
    """Holds narrow slices of one view, to which the panels are bound; messages of the panels become calls of the store.

    A feature gives the widgets (``compose_status``, ``compose_panels``), the view (``in_front``, ``now``, ``row_ids``,
    ``take``), the sentences about it (``hint``, ``hint_with``), its explanations, and what a script selects.
    """

    """All keys by what they are for, for help and palette."""
    elsewhere: ClassVar[Mapping[str, str]] = {}
    """Keys of the other screens, and why they do nothing here."""
    kind: ClassVar[Kind]
    """What this screen is for."""
    legend: ClassVar[Group] = ("", ())
    """What the drawing shows, for the help."""
    panel_titles: ClassVar[Mapping[str, str]] = {}
    """The titles of the panels that do not change, by their ids."""
    zoomable: ClassVar[tuple[str, ...]] = ()
    """The ids of the panels that can be zoomed."""
    inside: ClassVar[Mapping[str, str]] = {"consumers": "table"}
    """Which widget takes the focus of a panel that cannot have it itself, both by id."""
    row_noun: ClassVar[str] = "consumer"
    """What the list of this screen lists."""
    explanation_title: ClassVar[str] = "where does it go, and why"
    repeats_notices: ClassVar[bool] = True
    """Whether a notice counts as new when only its text changed."""

    # Not ``reactive``: that would paint the whole screen for each of them. The panels paint themselves.
    status: var[Any] = var(None)
    saved: var[str] = var("")
    timeline: var[TimelineView | None] = var(None)
    moments: var[tuple[int, int]] = var((0, 0))
    """Which moment that was seen is shown, from 1, and of how many."""
    sentence: var[tuple[str, str]] = var(("hint", ""))
    selected: var[int] = var(-1)
    """The id of the selected row, -1 for none."""
    topic: var[str] = var("")
    """The topic or key that is explained, "" for none."""
    remarks: var[tuple[Remark, ...]] = var(())
    playing: var[bool] = var(False)
    colours: var[Palette] = var(palette, init=False)

    on_front: Callable[[], object] | None = None
    """Called when the screen comes to the front; the navigator chooses which one that is."""
    on_brokers: Callable[[], str] | None = None
    """Opens the screen of brokers; returns why it cannot be opened, "" where it was."""
    on_home: Callable[[], object] | None = None
    """Opens the list of everything."""
    on_chosen: Callable[[Match], object] | None = None
    """Called with what was found and chosen; the navigator knows which screen shows it."""
    more_commands: Callable[[], Mapping[str, Typed]] = dict
    """Commands after ``:`` that every screen has."""
    way_back: KeyHint | None = None
    """The key that goes back to the list that this screen was opened from; set before it is mounted."""
    ready = False
    """Whether there are panels that can show something."""
    _shown: AnyView | None = None
    _preview: HelpScreen | None = None
    _shown_of: Shown | None = None
    """The store's ``shown`` that ``_shown`` is the view of."""

    def __init__(
        self, store: Store, colours: Palette, *, animate: bool, ascii_only: bool, stage: Stage | None = None
    ) -> None:
        super().__init__()
        self.set_reactive(DashboardScreen.colours, colours)
        self.store = store
        self.animate_changes = animate
        self.ascii_only = ascii_only
        self.playback = Playback(self, store, stage or Stage())
        self.sentences = Sentences(self, store, self.playback.stage, repeats_notices=self.repeats_notices)
        self.commands = CommandLine(self, store, ask=self._suggest, show=self._show_verdict, others=self._others)
        self.side = SidePlace(self, store, self.explanation_title, self._set_remarks)
        self.diagnosing = Diagnosing(self, store, self.side, self.complain, lambda: self.in_front)
        self.zooming = Zooming(self, self.zoomable, self.inside)

    # what a feature gives

    def status_parts(self, status: Any, saved: str, width: int) -> list[Part]:
        """Say in a line at the top what is shown: the parts that fit."""
        raise NotImplementedError

    def compose_panels(self) -> ComposeResult:
        """Make the panels of the body."""
        raise NotImplementedError

    @property
    def now(self) -> AnyView:
        """The store's view of the subject; while the store shows another kind, the last one there was."""
        raise NotImplementedError

    @property
    def row_ids(self) -> Sequence[int]:
        """The ids of the rows of the list, in the order of the view."""
        raise NotImplementedError

    def take(self, view: AnyView) -> None:
        """Set the slices that the panels are bound to; a slice that is equal to the one before changes nothing."""
        raise NotImplementedError

    def is_next_step(self, before: AnyView, view: AnyView) -> bool:
        """Whether a view shows the same subject at another step."""
        return before.status.step != view.status.step

    def about(self) -> list[Group]:
        """Say in full what is shown, above the notices about it."""
        raise NotImplementedError

    def hint(self) -> str:
        """Say what happened or is to be seen, and what to try next."""
        raise NotImplementedError

    def hint_with(self, notice: str) -> str:
        """Say what the last step did, and the new notice."""
        raise NotImplementedError

    def explain(self, text: str) -> Rejection | None:
        """Open the explanation of a topic or a key."""
        raise NotImplementedError

    def explain_again(self) -> None:
        """Give the same explanation in another state."""
        raise NotImplementedError

    def show_migration(self, opens: bool) -> None:
        """Open the preview of a migration, or close it, as a script says."""
        if self._preview is not None and self.app.screen is self._preview:
            self._preview.dismiss()
        self._preview = None
        topic = min(self.store.shown.topics, default="") if opens else ""
        if topic:
            self.complain(self._show_migration(topic))

    def select_text(self, text: str) -> None:
        """Put the cursor on what a script selects."""
        raise NotImplementedError

    # lifecycle

    def compose(self) -> ComposeResult:
        cls = DashboardScreen
        choose_layout(self, self.app.size)
        yield StatusLine(self.status_parts, id="status").data_bind(cls.status, cls.saved)
        if self.store.live is not None:
            yield LiveLine(self.store.live, ascii_only=self.ascii_only, id="live")
        yield SentenceLine(id="sentence").data_bind(cls.sentence)
        with Container(id="body"):
            yield from self.compose_panels()
        yield TimelineLine(id="timeline", ascii_only=self.ascii_only).data_bind(
            cls.timeline, cls.moments, cls.playing, cls.colours
        )
        yield Prompt(id="prompt")
        yield KeyFooter(id="keys")
        yield PlainStatic(id="too-small")

    def on_mount(self) -> None:
        """Name the panels, show the first view, and let a script begin or go on."""
        name_panels(self, self.panel_titles)
        explanation = self.query_one(ExplainPanel)
        set_title(explanation, self.explanation_title)
        set_subtitle(explanation, "escape closes")
        own = key_hints([key for key in self.BINDINGS if isinstance(key, Binding)], self.app)
        self.query_one(KeyFooter).keys = own if self.way_back is None else before_always(own, self.way_back)
        self.set_class(self.colours.mono, "-mono")
        self.ready = True
        self.show_first()
        self.playback.begin(by_itself=self.animate_changes)
        self.playback.take_over()

    def show_first(self) -> None:
        """Show the first view."""
        self.show_now()

    def on_screen_resume(self) -> None:
        """Catch up with what changed while another screen was in front."""
        if self.on_front is not None:
            self.on_front()
        if self.in_front and self.ready:
            self.show_now()
            self.playback.take_over()

    def on_screen_suspend(self) -> None:
        """Leave playing to the other screen; below a dialog go on."""
        if not self.in_front:
            self.playback.hold()

    def on_resize(self, event: events.Resize) -> None:
        arrange(self, event.size)
        self.call_after_refresh(self.list_panel.fit_totals)

    def watch_colours(self) -> None:
        self.set_class(self.colours.mono, "-mono")

    # the view

    @property
    def in_front(self) -> bool:
        """Whether the store shows a subject of the kind that this screen is for."""
        return self.store.shown.kind == self.kind

    @on(Store.Changed)
    def _store_changed(self) -> None:
        if self.ready:
            self.show_now()
            self.playback.take_over()

    @on(Store.Refused)
    def _step_refused(self, message: Store.Refused) -> None:
        if self.in_front:
            self.complain(message.rejection)

    def show_now(self) -> None:
        """Show the store's view if it is a new one, and the sentence about it."""
        if not self.in_front:
            return
        self._shown_of = self.store.shown
        self.playback.yield_to_user()
        if self.now is not self._shown:
            self._show(self.now)
        self.sentence = self.sentences.current
        if self.store.live is not None:
            self.query_one(LiveLine).show(self.store.live, self.store.shown.trends)
        self.diagnosing.follow()

    def _show(self, view: AnyView) -> None:
        before, self._shown = self._shown, view
        stepped = before is not None and self.is_next_step(before, view)
        self.sentences.compare(before if stepped else None, view)
        self.saved = self.store.saved
        self.status = view.status
        self.take(view)
        self.timeline = view.timeline
        self.moments = self.store.moment
        # A suggestion stays as it is, with its step in the title: what it suggests may be what is done now.
        if self.side.content == "explanation":
            self.explain_again()
        if stepped:
            for ring in self.query(RingPanel):
                ring.flash()

    # the sentence

    def complain(self, rejection: Rejection | str | None) -> None:
        """Show a refusal; None takes the last one back."""
        self.sentences.complain(rejection)
        # After a step ``show_now`` follows, with a sentence about another view.
        if rejection is not None or self.store.shown is self._shown_of:
            self.sentence = self.sentences.current

    def leave_caption(self) -> None:
        """Take the last caption of a script that is over away: a key was pressed."""
        if self.ready and self.playback.stage.over and self.playback.stage.caption:
            self.playback.stage.caption = ""
            self.sentence = self.sentences.current

    def done(self, refused: Rejection | None) -> Rejection | None:
        """Take the last refusal back where a command was accepted; a new one is left to the caller to show."""
        if refused is None:
            self.complain(None)
        return refused

    def action_brokers(self) -> None:
        if self.on_brokers is not None:
            self.complain(self.on_brokers() or None)

    def action_home_list(self) -> None:
        if self.on_home is not None:
            self.on_home()

    def action_migration(self) -> None:
        """Ask for a topic of which to show what it would be once it is scalable."""
        topics = sorted(self.store.shown.topics)
        self.ask("migration", "migrate", text=topics[0] if topics else "", options=topics)

    def _show_migration(self, topic: str) -> Rejection | None:
        from engine.views.scalable.migration import migration_points

        view = self.store.shown.migration(topic)
        if isinstance(view, Rejection):
            return view
        lines = [KeyHelp(safe_name(one.label), safe_name(one.text)) for one in migration_points(view)]
        self._preview = HelpScreen([(f"{safe_name(topic)} once it is scalable", lines)], title="migration")
        self.app.push_screen(self._preview)
        return None

    # the prompt

    def action_command(self) -> None:
        self.ask("command", ":", placeholder=PLACEHOLDER, options=self.commands.completions)

    def action_filter(self) -> None:
        text = self.list_panel.filter_text
        self.ask("filter", "/", text=text, placeholder=f"part of a {self.row_noun}'s name")

    def action_export(self) -> None:
        from tui.kit.exporting import EXPORT_HINT

        self.ask("export", "export to", text=f"{self.row_noun}s.csv", placeholder=EXPORT_HINT)

    def action_copy(self) -> None:
        """Copy the explanation, the marked cause with its fix, or the marked row."""
        from tui.kit.exporting import as_text

        table = self.table_in_use
        if self.side.content == "why":
            text, what = self.diagnosing.marked_text, "the cause and its fix"
        elif self.side.content:
            text, what = "\n".join(f"{remark.label}: {remark.text}" for remark in self.remarks), "the explanation"
        else:
            text, what = as_text(table.marked_record()), "the selected row"
        if not text:
            self.complain("there is nothing to copy")
            return
        self.app.copy_to_clipboard(text)
        self.sentence = "done", f"copied {what}: {counted(len(text.splitlines()), 'line')}"

    def action_sort(self) -> None:
        self.table_in_use.action_sort()

    def action_reverse(self) -> None:
        self.table_in_use.action_reverse()

    @property
    def table_in_use(self) -> RowsTable[Any]:
        """The table that has the focus, else the list of consumers or producers."""
        focused = self.focused
        return focused if isinstance(focused, RowsTable) else self.list_panel.table

    def ask(self, kind: str, mark: str, **how: Any) -> None:
        """Open the prompt for one question."""
        self.query_one(Prompt).ask(kind, mark, **how)

    @on(Prompt.Typed)
    def _typed(self, message: Prompt.Typed) -> None:
        if message.kind == "filter":
            self.list_panel.filter_text = message.text
        elif message.kind == "command":
            self.commands.type(message.text.strip())

    def _show_verdict(self, verdict: tuple[str, str] | None) -> None:
        self.sentence = verdict or self.sentences.current

    @on(Prompt.Answered)
    def _answered(self, message: Prompt.Answered) -> None:
        prompt, text = self.query_one(Prompt), message.text.strip()
        if message.kind == "export" and text:
            self._export(text)
            return
        refused = self.answer(message.kind, text)
        if refused is None:
            self.commands.leave()
            prompt.accept(text)
        else:
            prompt.complain(str(refused))

    def answer(self, kind: str, text: str) -> Rejection | None:
        """Carry out what was typed."""
        if not text or kind == "filter":
            return None
        if kind == "explain":
            return self.explain(text)
        if kind == "migration":
            return self._show_migration(text)
        return self.done(self.commands.carry_out(text))

    def _export(self, text: str) -> None:
        """Write the table that was in use when the prompt was opened, or the screen."""
        from tui.kit.exporting import export

        prompt = self.query_one(Prompt)
        table = prompt.return_to if isinstance(prompt.return_to, RowsTable) else self.list_panel.table
        export(self, table, prompt, text, self._say_exported)

    def _say_exported(self, kind: str, text: str) -> None:
        if kind == "done":
            self.complain(None)
            self.sentence = kind, text
        else:
            self.complain(text)

    @on(Prompt.Closed)
    def _prompt_closed(self, message: Prompt.Closed) -> None:
        if message.kind == "filter":
            self.list_panel.filter_text = ""
        elif message.kind == "command":
            self.commands.leave()
            self.sentence = self.sentences.current

    # the side place

    def _others(self) -> Mapping[str, Typed]:
        return self.more_commands()

    def _set_remarks(self, remarks: tuple[Remark, ...]) -> None:
        self.remarks = remarks

    def _suggest(self, question: Question) -> None:
        self.topic = ""
        self.side.suggest(question)

    @on(ExplainPanel.Closed)
    @on(WhyPanel.Closed)
    def close_side(self) -> None:
        """Go back to the panels that were covered."""
        self.side.turn_to("")
        self.topic = ""
        if self.zooming.zoomed == "explain":
            self.zooming.zoom("")
        self.action_panel("consumers")

    def action_why(self) -> None:
        """Say what is wrong with the shown subscription, by what brokers reported; then with the next one."""
        self.diagnosing.ask()

    @on(WhyPanel.Chosen)
    def _cause_chosen(self, message: WhyPanel.Chosen) -> None:
        """Go to the consumer that a cause names, else to its topic; on another screen where that is another one's."""
        self.close_side()
        name = self.diagnosing.go_to(message.cause)
        if name:
            self.select_text(name)

    # consumers

    @on(ListPanel.Selected)
    def _selected_in_list(self, message: ListPanel.Selected) -> None:
        if message.row_id in self.row_ids:
            self.selected = message.row_id

    def action_kill(self) -> None:
        """Kill the selected consumer, and select the next one."""
        if self.selected < 0:
            self.complain("there is no consumer to kill" + ("; a adds one" if self.store.shown.key else ""))
            return
        following = after_removing(self.row_ids, self.selected)
        refused = self.store.submit(KillConsumer(self.store.shown.key, self.selected))
        if refused is None:
            self.selected = following
        self.complain(refused)

    def add_consumer(self, command: AddConsumer) -> Rejection | None:
        """Connect a consumer, and select it."""
        refused = self.done(self.store.submit(command))
        if refused is None:
            view: Any = self.now
            added = [row.consumer_id for row in view.consumers if row.name == command.name]
            self.selected = max(added, default=self.selected)
        return refused

    def action_heirs(self) -> None:
        """Say who inherits if the selected consumer goes."""
        if self.selected < 0:
            self.complain("there is no consumer that could go; a connects one")
            return
        from tui.kit.heirs_screen import HeirsScreen

        self.app.push_screen(
            HeirsScreen(
                self.selected,
                self.store.shown,
                self.colours,
                animate=self.animate_changes,
                ascii_only=self.ascii_only,
            )
        )

    def action_diff(self) -> None:
        """Say what changed since a step."""
        if not self.store.shown.key or self.store.shown.kind in ("producers", "scalable"):
            self.complain("there is no subscription whose steps could be compared")
            return
        has_other_state = self.store.against is not None and self.store.shown.kind != "reported"
        if not (self.store.timeline.cursor or self.store.shown.has_other_rule or has_other_state):
            self.complain("no step was taken yet that could be compared")
            return
        from tui.kit.diff_screen import DiffScreen

        self.app.push_screen(DiffScreen(self.store, self.colours, ascii_only=self.ascii_only))

    # the ring, where there is one

    @on(RingPanel.Chosen)
    def _chosen_on_ring(self, message: RingPanel.Chosen) -> None:
        self.selected = message.consumer_id

    @on(RingPanel.Step)
    def _stepped_on_ring(self, message: RingPanel.Step) -> None:
        self.selected = stepped(self.row_ids, self.selected, message.by)

    def action_next_view(self) -> None:
        self.query_one(RingPanel).show_next_view()

    def show_ring_as(self, view: str) -> None:
        """Take the view that a script shows."""
        for ring in self.query(RingPanel):
            ring.view_mode = ViewMode.named(view)

    # panels

    def action_notices(self) -> None:
        """Show in full what is shown, and all notices about it."""
        groups, listed = (
            self.about(),
            [KeyHelp(f"{at}", each.text) for at, each in enumerate(self.now.notices, start=1)],
        )
        nothing = f"nothing {'else ' * (len(groups) > 1)}to note about what is shown"
        groups = [*groups, ("notices", listed or [KeyHelp("", nothing)])]
        self.app.push_screen(HelpScreen([group for group in groups if group[1]], title="notices"))

    def action_panel(self, panel: str) -> None:
        if panel not in BESIDE_EXPLANATION and self.side.content:
            self.side.turn_to("")
            self.topic = ""
        self.zooming.focus(panel)

    def action_zoom(self) -> None:
        self.zooming.toggle()

    @property
    def has_something_to_close(self) -> bool:
        """Whether the escape key has something to close here."""
        filtered = bool(self.list_panel.filter_text)
        opened = self.zooming.zoomed or self.side.content or self.query_one(Prompt).is_open
        return bool(opened) or filtered or self.sentence[0] in ("computing", "refusal")

    def action_back(self) -> None:
        """Cancel what is computed, else close what was opened, the last first: zoom, explanation, filter, refusal."""
        if self.store.cancel():
            return
        if self.zooming.zoomed:
            self.zooming.zoom("")
        elif self.side.content:
            self.close_side()
        elif self.list_panel.filter_text:
            self.list_panel.filter_text = ""
        else:
            self.complain(None)

    @property
    def list_panel(self) -> AnyList:
        """The list of consumers or producers."""
        return self.query_one(ListPanel)

    # time and place

    def action_undo(self) -> None:
        self.complain(self.store.submit(Undo()))

    def action_redo(self) -> None:
        self.complain(self.store.submit(Redo()))

    def action_home(self) -> None:
        self.complain(self.store.submit(Home()))

    def action_end(self) -> None:
        self.complain(self.store.submit(End()))

    def action_step(self, count: int) -> None:
        self.store.step_by(count)
        self.complain(None)

    @on(TimelineLine.Chosen)
    def _chosen_on_timeline(self, message: TimelineLine.Chosen) -> None:
        self.action_step(message.by)

    def action_play(self) -> None:
        self.playback.toggle()

    def action_subscription(self, by: int) -> None:
        if len(self.store.places.keys) > 1:
            self.store.show_subscription(by)
        else:
            self.complain("there is no other subscription, and no other topic with producers, to show")

    def action_find(self) -> None:
        """Ask for a part of a name, and go to what has it."""
        from tui.kit.picker import PickerScreen

        search_index, shown = self.store.search_index(), self.store.shown.place
        self.app.push_screen(
            PickerScreen(lambda part: search_index.find(part, shown), self.store.places.title, self.colours),
            self._go_to_match,
        )

    def _go_to_match(self, match: Match | None) -> None:
        if match is not None and self.on_chosen is not None:
            self.on_chosen(match)

    def go_to(self, match: Match) -> None:
        """Mark what was found, on the screen of its subscription."""
        if match.kind == "topic":
            self.show_topic(match)
        elif match.consumer_id >= 0:
            self.selected = match.consumer_id
        elif match.kind == "consumer":
            self.select_text(match.name)

    def show_topic(self, match: Match) -> None:
        """Say that a topic is one of the shown subscription, or of none."""
        name = safe_name(match.name)
        self.sentence = ("done", f"{name} is one of its topics" if match.place >= 0 else f"no subscription has {name}")

    def on_key(self, event: events.Key) -> None:
        """Say why a key of another screen does nothing here."""
        reason = self.elsewhere.get(event.character or "")
        if reason:
            event.stop()
            self.complain(reason)
