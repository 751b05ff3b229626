"""The screens of one subject (a subscription, the producers of a topic): what all of them have.

Status, sentence, panels, timeline, prompt and footer; the keys for time and place; an explanation beside the panels;
zoom; scripts that play. What is shown in the panels, and the keys that change the cluster, belong to the features.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container
from textual.reactive import var
from textual.widget import Widget

from engine.cluster.commands import End, Home, Redo, Undo
from engine.cluster.grammar.reading import COMMAND_FORMS
from engine.compare.verdict import Verdict
from engine.diagnosis.model import Diagnosis
from engine.diagnosis.seen import parent_of
from engine.errors import Rejection
from engine.text import counted
from engine.views.failover.model import Notice, TimelineView
from engine.views.finding import Found
from themes.palettes import Palette, palette
from tui.kit.background import in_background, run_beside
from tui.kit.bindings import Groups
from tui.kit.diff_screen import DiffScreen
from tui.kit.footer import KeyFooter, key_hints
from tui.kit.giving_away import EXPORT_HINT, as_text, export
from tui.kit.heirs_screen import HeirsScreen
from tui.kit.help import Group, HelpScreen, KeyHelp, branch_lines
from tui.kit.layouts import arrange, name_panels
from tui.kit.line_table import LineTable, RowsTable
from tui.kit.list_panel import AnyList, ListPanel
from tui.kit.live_line import LiveLine
from tui.kit.picker import PickerScreen
from tui.kit.plain_text import PlainStatic, set_subtitle, set_title
from tui.kit.playing import Playback, Stage
from tui.kit.prompt import Prompt
from tui.kit.sentence_line import SentenceLine
from tui.kit.single_paint import SinglePaintScreen
from tui.kit.store import Store
from tui.kit.suggesting import FORM as SUGGEST_FORM
from tui.kit.suggesting import SUGGEST_LINES, WORD, Question, answer_to, question_of
from tui.kit.text_panels import ExplainPanel
from tui.kit.timeline_line import TimelineLine
from tui.kit.verdict_words import suggestion_remarks, verdict_text
from tui.kit.why_panel import WhyPanel
from tui.kit.wording import FLAG, Remark, not_saved, safe_name, shorten_middle

COMMAND_LINES: Final = (
    *(f"{word} " for word in COMMAND_FORMS),
    *(f"toggle {FLAG}", f"set {FLAG}=true", *SUGGEST_LINES, "help"),
)
"""What the command line completes."""
VERBS: Final[Sequence[Group]] = (
    ("change the cluster", [KeyHelp(word, form) for word, form in COMMAND_FORMS.items()]),
    (
        "ask",
        [
            KeyHelp(WORD, SUGGEST_FORM),
            KeyHelp("branches", "lists the branches of the timeline"),
            KeyHelp("help", "this list"),
        ],
    ),
)
"""What the command line takes."""
BESIDE_EXPLANATION: Final = ("ring", "events", "sent")
"""Panels that stay in sight beside an explanation."""


class Status(Protocol):
    """What every status says."""

    @property
    def step(self) -> int: ...


class View(Protocol):
    """What every view of a subject has."""

    @property
    def status(self) -> Status: ...
    @property
    def notices(self) -> tuple[Notice, ...]: ...
    @property
    def timeline(self) -> TimelineView: ...


AnyView = TypeVar("AnyView", bound=View)


class DashboardScreen(SinglePaintScreen[None], Generic[AnyView]):
    """Holds narrow slices of one view, to which the panels are bound; messages of the panels become calls of the store.

    A feature gives the widgets (``compose_status``, ``compose_panels``), the view (``in_front``, ``now``, ``take``),
    the sentences about it (``hint``, ``hint_with``), its explanations, and what a script selects.
    """

    key_groups: ClassVar[Groups] = ()
    """All keys by what they are for, for help and palette."""
    elsewhere: ClassVar[Mapping[str, str]] = {}
    """Keys of the other screens, and why they do nothing here."""
    legend: ClassVar[Group] = ("", ())
    """What the drawing shows, for the help."""
    panel_titles: ClassVar[Mapping[str, str]] = {}
    """The titles of the panels that do not change, by their ids."""
    zoomable: ClassVar[tuple[str, ...]] = ()
    """The ids of the panels that can be zoomed."""
    inside: ClassVar[Mapping[str, str]] = {"consumers": "table"}
    """What has the focus of a panel that does not have it itself, by id."""
    row_noun: ClassVar[str] = "consumer"
    """What the list of this screen lists."""
    explanation_title: ClassVar[str] = "where does it go, and why"
    repeats_notices: ClassVar[bool] = True
    """Whether a notice whose text changed is one that the last step brought up."""

    # Not ``reactive``: that would paint the whole screen for each of them. The panels paint themselves.
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
    zoomed: var[str] = var("")
    colours: var[Palette] = var(palette, init=False)

    on_front: Callable[[], object] | None = None
    """Called when the screen comes to the front, by the one who chooses which screen that is."""
    on_brokers: Callable[[], str] | None = None
    """Opens the screen of brokers; why it cannot be, "" where it did."""
    on_found: Callable[[Found], object] | None = None
    """Called with what was found and chosen, by the one who knows which screen shows it."""
    ready = False
    """Whether there are panels that can show something."""
    _shown: AnyView | None = None
    _complaint = ""
    _fresh_notice = ""
    _asked: Question | None = None
    """The suggestion that is looked for."""
    _suggested = False
    """Whether the panel is about a suggestion."""
    _typed_command = ""
    """What is typed after ``:`` and not carried out."""
    _previewing = False

    def __init__(
        self, store: Store, colours: Palette, *, animate: bool, ascii_only: bool, stage: Stage | None = None
    ) -> None:
        super().__init__()
        self.set_reactive(DashboardScreen.colours, colours)
        self.store = store
        self.animate_changes = animate
        self.ascii_only = ascii_only
        self.playback = Playback(self, store, stage or Stage())

    # what a feature gives

    def compose_status(self) -> Widget:
        """Make the line at the top."""
        raise NotImplementedError

    def compose_panels(self) -> ComposeResult:
        """Make the panels of the body."""
        raise NotImplementedError

    @property
    def in_front(self) -> bool:
        """Whether the store shows a subject of the kind that this screen is for."""
        raise NotImplementedError

    @property
    def now(self) -> AnyView:
        """The store's view of the subject; while the store shows another kind, the last one there was."""
        raise NotImplementedError

    def take(self, view: AnyView) -> None:
        """Set the slices that the panels are bound to; one that is equal to the slice before stays quiet."""
        raise NotImplementedError

    def is_next_step(self, before: AnyView, view: AnyView) -> bool:
        """Whether a view shows the same subject at another step."""
        return before.status.step != view.status.step

    def show_change(self) -> None:
        """Let what the last step changed stand out."""

    def hint(self) -> str:
        """Say what happened or is to be seen, and what to try next."""
        raise NotImplementedError

    def hint_with(self, notice: str) -> str:
        """Say what the last step did, and a notice that it brought up."""
        raise NotImplementedError

    def explain(self, text: str) -> Rejection | None:
        """Open the explanation of a topic or a key."""
        raise NotImplementedError

    def explain_again(self) -> None:
        """Give the same explanation in another state."""
        raise NotImplementedError

    def show_ring_as(self, view: str) -> None:
        """Take the view that a script shows."""

    def select_text(self, text: str) -> None:
        """Put the cursor on what a script selects."""
        raise NotImplementedError

    # lifecycle

    def compose(self) -> ComposeResult:
        cls = DashboardScreen
        yield self.compose_status()
        if self.store.live is not None:
            yield LiveLine(self.store.live, id="live")
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
        self.query_one(KeyFooter).keys = key_hints([key for key in self.BINDINGS if isinstance(key, Binding)])
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
            self._show_age()
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

    @on(Store.Changed)
    def _store_changed(self) -> None:
        if self.ready:
            self.show_now()
            self.sentence = self._sentence_now()
            self._show_age()
            if self.has_class("-why") and self.query_one(WhyPanel).moment != self.store.moment[0]:
                run_beside(self, partial(self._ask_why, again=True), exclusive=True, group="why")

    @on(Store.Refused)
    def _step_refused(self, message: Store.Refused) -> None:
        if self.in_front:
            self.complain(message.rejection)

    def _show_age(self) -> None:
        if self.store.live is not None:
            self.query_one(LiveLine).show(self.store.live)

    def show_now(self) -> None:
        """Show the store's view, if it is another one than before and of this screen's kind."""
        if self.in_front and self.now is not self._shown:
            self.show(self.now)

    def show(self, view: AnyView) -> None:
        """Show a view."""
        before, self._shown = self._shown, view
        stepped = before is not None and self.is_next_step(before, view)
        self._fresh_notice = self._brought_up(before, view) if before is not None and stepped else ""
        self.saved = self.store.saved
        self.take(view)
        self.timeline = view.timeline
        self.moments = self.store.moment
        self.sentence = self._sentence_now()
        # A suggestion stays as it is, with its step in the title: what it suggests may be what is done now.
        if self.has_class("-explaining") and not self.has_class("-why") and not self._suggested:
            self.explain_again()
        if stepped:
            self.show_change()

    def _brought_up(self, before: AnyView, view: AnyView) -> str:
        """The first notice that the view before did not have."""
        codes = {notice.code for notice in before.notices}
        for notice in view.notices:
            if notice not in before.notices if self.repeats_notices else notice.code not in codes:
                return notice.text
        return ""

    # the sentence

    def _sentence_now(self) -> tuple[str, str]:
        """A refusal first, then a script's caption, then a notice that the last step brought up, else the hint.

        A caption is about the state that the script left: after a step of the user the hint is about that step.
        """
        if self._complaint:
            return "refusal", self._complaint
        if self.store.computing.what:
            return "computing", f"computing {safe_name(self.store.computing.what)} …; escape cancels"
        if not_saved(self.store.saved):
            return "refusal", self.store.saved
        stage = self.playback.stage
        if stage.caption and stage.captioned is self.store.timeline:
            failed = stage.failed_expectations
            return "caption", stage.caption + (f" ({counted(failed, 'expectation')} failed)" if failed else "")
        if self._fresh_notice:
            return "notice", self.hint_with(self._fresh_notice)
        trouble = self.store.reported_trouble() if self.now.status.step == 0 else None
        if trouble is not None:
            return "notice", f"reported as blocked: {safe_name(trouble.what)} (w: why)"
        notices = self.now.notices
        return "hint", self.hint() + (f" (i: {counted(len(notices), 'notice')})" if notices else "")

    def complain(self, rejection: Rejection | str | None) -> None:
        """Show a refusal; None takes the last one back."""
        self._complaint = "" if rejection is None else str(rejection)
        self.sentence = self._sentence_now()

    def done(self, refused: Rejection | None) -> Rejection | None:
        """Take the last refusal back where a command was accepted; a new one is left to the caller to show."""
        if refused is None:
            self.complain(None)
        return refused

    def action_brokers(self) -> None:
        if self.on_brokers is not None:
            self.complain(self.on_brokers() or None)

    # the prompt

    def action_command(self) -> None:
        self.ask("command", ":", placeholder="add NAME, kill NAME, toggle SETTING, topic add …", options=COMMAND_LINES)

    def action_filter(self) -> None:
        text = self.list_panel.filter_text
        self.ask("filter", "/", text=text, placeholder=f"part of a {self.row_noun}'s name")

    def action_export(self) -> None:
        self.ask("export", "export to", text=f"{self.row_noun}s.csv", placeholder=EXPORT_HINT)

    def action_copy(self) -> None:
        """Copy what is explained, what mends the marked cause, or the marked row."""
        table = self.table_in_use
        if self.has_class("-why"):
            text, what = self.query_one(WhyPanel).marked_text, "the cause, and what mends it"
        elif self.has_class("-explaining"):
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

    def action_turn_round(self) -> None:
        self.table_in_use.action_turn_round()

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
            self._typed_command = message.text.strip()
            if not self._typed_command:
                self.sentence = self._sentence_now()
            elif not self._previewing:
                self._previewing = True
                run_beside(self, self._preview_commands, group="preview")

    async def _preview_commands(self) -> None:
        """Say what the typed command would do, computed beside the screen; of several the last one counts."""
        previewed, found = "", None
        try:
            while previewed != self._typed_command:
                previewed = self._typed_command
                compute = self.store.shown.preview_of_line(previewed)
                found = await in_background(compute) if compute is not None else None
        finally:
            self._previewing = False
        if self._typed_command:
            self.sentence = self._preview_sentence(found) or self._sentence_now()

    def _preview_sentence(self, found: Verdict | Rejection | None) -> tuple[str, str] | None:
        """The verdict on a command; None for one that gives nobody's work to others, or that would be refused."""
        if not isinstance(found, Verdict) or not (found.moved or found.judged_by != "nothing"):
            return None
        noun = "slot" if self.store.shown.kind == "keys" else "partition"
        return "preview", f"enter would be {verdict_text(found, noun)}"

    @on(Prompt.Answered)
    def _answered(self, message: Prompt.Answered) -> None:
        prompt, text = self.query_one(Prompt), message.text.strip()
        if message.kind == "export" and text:
            self._export(text)
            return
        refused = self.answer(message.kind, text)
        if refused is None:
            self._typed_command = ""
            prompt.accept(text)
        else:
            prompt.complain(str(refused))

    def answer(self, kind: str, text: str) -> Rejection | None:
        """Carry out what was typed."""
        if not text or kind == "filter":
            return None
        if kind == "explain":
            return self.explain(text)
        if text == "help":
            self.app.push_screen(HelpScreen(VERBS, "commands after :"))
            return None
        if text == "branches":
            groups = [("branches of the timeline", branch_lines(self.store.timeline.branch_summaries))]
            self.app.push_screen(HelpScreen(groups, ":branch N goes to the end of one"))
            return None
        question = question_of(text)
        if isinstance(question, Rejection):
            return question
        if question is not None:
            self._suggest(question)
            return None
        return self.done(self.store.submit_line(text))

    def _export(self, text: str) -> None:
        """Write the table that was in use when the prompt was opened, or the screen."""
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
            self._typed_command = ""
            self.sentence = self._sentence_now()

    # suggestions

    def _suggest(self, question: Question) -> None:
        """Look for an answer and say so meanwhile; another question, or closing the panel, ends it."""
        self.topic = ""
        title = shorten_middle(self.store.shown.title, 30)
        title = f"suggest {question.kind}: {title}, step {self.now.status.step}"
        self.open_explanation((Remark("suggest", f"looking for {question.kind}"),), title)
        self._suggested = True
        run_beside(self, partial(self._answer_to, question), exclusive=True, group=WORD)

    async def _answer_to(self, question: Question) -> None:
        state, key = self.store.timeline.state, self.store.shown.key

        def told(tried: int, most: int) -> None:
            if self._asked is question:
                self.remarks = (Remark("suggest", f"{tried:,} of at most {most:,} names tried; escape ends it"),)

        self._asked = question
        try:
            found = await answer_to(question, state, key, told)
        finally:
            if self._asked is question:
                self._asked = None
        if isinstance(found, Rejection):
            self.remarks = (Remark("no", found.message, main=True),)
        else:
            on = state.settings.activeConsumerFailoverConsistentHashing
            self.remarks = suggestion_remarks(question.kind, found, question.goal, on=on)

    # the explanation

    def open_explanation(self, remarks: tuple[Remark, ...], title: str = "") -> None:
        """Show remarks beside the panels, in place of a suggestion that is looked for."""
        self.workers.cancel_group(self, WORD)
        self._asked = None
        self._suggested = False
        set_title(self.query_one(ExplainPanel), title or self.explanation_title)
        self.remarks = remarks
        self.add_class("-explaining")
        self.remove_class("-why")
        panel = self.query_one(ExplainPanel)
        panel.focus()
        self.query_one(Prompt).return_to = panel

    @on(ExplainPanel.Closed)
    def close_explanation(self) -> None:
        """Go back to the panels that it covered."""
        self.workers.cancel_group(self, WORD)
        self._asked = None
        self.remove_class("-explaining", "-why")
        self.topic = ""
        if self.zoomed == "explain":
            self.zoomed = ""
        self.action_panel("consumers")

    # what brokers reported

    def action_why(self) -> None:
        """Say what is wrong with the shown subscription, by what brokers reported; then with the next one."""
        run_beside(self, self._ask_why, exclusive=True, group="why")

    async def _ask_why(self, *, again: bool = False) -> None:
        """``again``: about the same subscription, at another moment."""
        # Thousands of topics take a second: not in the thread that listens to keys.
        diagnoses = await asyncio.to_thread(self.store.diagnoses)
        if not self.in_front:
            return
        panel = self.query_one(WhyPanel)
        if not diagnoses:
            self.complain("no broker reported anything about this cluster: open answers of one, saved to files")
            return
        if again and panel.diagnosis is not None:
            same = panel.diagnosis.namespace, panel.diagnosis.subscription
            names = [(diagnosis.namespace, diagnosis.subscription) for diagnosis in diagnoses]
            at = names.index(same) if same in names else 0
        elif self.has_class("-why") and panel.diagnosis in diagnoses:
            at = (diagnoses.index(panel.diagnosis) + 1) % len(diagnoses)
        else:
            at = self._place_of_shown(diagnoses)
        self.show_diagnosis(diagnoses, at)
        if not again:
            table = panel.query_one(LineTable)
            table.focus()
            self.query_one(Prompt).return_to = table

    def _place_of_shown(self, diagnoses: Sequence[Diagnosis]) -> int:
        """Where the shown subscription is, or one of the shown topic; 0, the worst, where nothing was seen of it."""
        namespace, name = self.store.shown.name
        for at, diagnose in enumerate(diagnoses):
            if namespace and (diagnose.namespace, diagnose.subscription) == (namespace, name):
                return at
            if not namespace and parent_of(diagnose.topic) == name:
                return at
        return 0

    # who inherits

    def action_heirs(self) -> None:
        """Say who inherits if the selected consumer goes."""
        if self.selected < 0:
            self.complain("there is no consumer that could go; a connects one")
            return
        self.app.push_screen(
            HeirsScreen(self.selected, self.store.shown.heirs_of, self.store.shown.losses, self.colours)
        )

    def action_diff(self) -> None:
        """Say what changed since a step."""
        if not self.store.shown.key or self.store.shown.kind == "producers":
            self.complain("there is no subscription whose steps could be compared")
            return
        self.app.push_screen(DiffScreen(self.store, self.colours, ascii_only=self.ascii_only))

    def show_diagnosis(self, diagnoses: Sequence[Diagnosis], at: int) -> None:
        """Show one of many diagnoses in the place of an explanation."""
        panel = self.query_one(WhyPanel)
        steps = self.store.timeline.cursor
        panel.since = f"{counted(steps, 'step')} of the simulation change nothing of it" if steps else ""
        moment, moments = self.store.moment
        if self.store.shows_earlier_moment:
            panel.since = f"as it was at moment {moment:,} of {moments:,}; later ones play no part"
        panel.moment = moment
        panel.place = (at, len(diagnoses))
        panel.diagnosis = diagnoses[at]
        self.add_class("-explaining", "-why")

    @on(WhyPanel.Closed)
    def _why_closed(self) -> None:
        self.close_explanation()

    @on(WhyPanel.Chosen)
    def _cause_chosen(self, message: WhyPanel.Chosen) -> None:
        """Go to the consumer that a cause names, else to its topic; on another screen where that is another one's."""
        diagnosis = self.query_one(WhyPanel).diagnosis
        if diagnosis is None:
            return
        names = (*message.cause.by, *message.cause.blocked)
        self.close_explanation()
        if not self.store.show_named(diagnosis.namespace, diagnosis.subscription):
            self.complain(f"{diagnosis.subscription} is of the type {diagnosis.type}, which has no screen of its own")
        elif names and self.in_front:
            self.select_text(names[0])

    # panels

    def action_panel(self, panel: str) -> None:
        """Focus a panel; when one is zoomed, or there is no room for this one, it takes the whole body."""
        if panel not in BESIDE_EXPLANATION and self.has_class("-explaining"):
            self.remove_class("-explaining", "-why")
            self.topic = ""
        if self.zoomed and self.zoomed != panel:
            self.zoomed = panel
        target = self.query_one(f"#{self.inside.get(panel, panel)}")
        if not self.query_one(f"#{panel}").display:
            self.zoomed = panel
        target.focus()

    def action_zoom(self) -> None:
        if self.zoomed:
            self.zoomed = ""
            return
        focused = self.focused
        while focused is not None and focused.id not in (*self.zoomable, "why"):
            focused = focused.parent if isinstance(focused.parent, Widget) else None
        panel = focused.id or "ring" if focused is not None else "ring"
        self.zoomed = "explain" if panel == "why" else panel

    def watch_zoomed(self, zoomed: str) -> None:
        """Give the body to one panel."""
        # All at once: each change of classes styles every widget of the screen again.
        classes = {f"-zoom-{panel}": panel == zoomed for panel in self.zoomable}
        self.update_classes({"-zoomed": bool(zoomed), **classes})

    @property
    def has_something_to_close(self) -> bool:
        """Whether the escape key has something to close here."""
        filtered = bool(self.list_panel.filter_text)
        opened = (
            bool(self.store.computing.what or self.zoomed)
            or self.has_class("-explaining")
            or self.query_one(Prompt).is_open
        )
        return opened or filtered or self.sentence[0] == "refusal"

    def action_back(self) -> None:
        """Cancel what is computed, else close what was opened, the last first: zoom, explanation, filter, refusal."""
        if self.store.cancel():
            return
        if self.zoomed:
            self.zoomed = ""
        elif self.has_class("-explaining"):
            self.close_explanation()
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

    def action_play(self) -> None:
        self.playback.toggle()

    def action_subscription(self, by: int) -> None:
        if len(self.store.places.keys) > 1:
            self.store.show_subscription(by)
        else:
            self.complain("there is no other subscription, and no other topic with producers, to show")

    def action_find(self) -> None:
        """Ask for a part of a name, and go to what has it."""
        findable, shown = self.store.findable(), self.store.shown.place
        self.app.push_screen(
            PickerScreen(lambda part: findable.find(part, shown), self.store.places.title, self.colours),
            self._go_to_found,
        )

    def _go_to_found(self, found: Found | None) -> None:
        if found is not None and self.on_found is not None:
            self.on_found(found)

    def go_to(self, found: Found) -> None:
        """Mark what was found, on the screen of its subscription."""
        if found.kind == "topic":
            self.show_topic(found)
        elif found.consumer_id >= 0:
            self.selected = found.consumer_id
        elif found.kind == "consumer":
            self.select_text(found.name)

    def show_topic(self, found: Found) -> None:
        """Show a topic that the shown subscription has, or that none has."""
        name = safe_name(found.name)
        self.sentence = ("done", f"{name} is one of its topics" if found.place >= 0 else f"no subscription has {name}")

    def on_key(self, event: events.Key) -> None:
        """Say why a key of another screen does nothing here."""
        reason = self.elsewhere.get(event.character or "")
        if reason:
            event.stop()
            self.complain(reason)
