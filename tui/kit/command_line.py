"""The line behind ``:``: commands of the grammar, questions, and a verdict on a command while it is typed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from textual.screen import Screen

from engine.compare.verdict import Verdict
from engine.errors import Rejection
from tui.kit.background import in_background, run_beside
from tui.kit.help import Group, HelpScreen, KeyHelp, branch_lines
from tui.kit.prompt import among
from tui.kit.store import Store
from tui.kit.suggesting import FORM as SUGGEST_FORM
from tui.kit.suggesting import SUGGEST_LINES, WORD, Question, question_of
from tui.kit.verdict_words import verdict_text

if TYPE_CHECKING:
    from tui.kit.typed_commands import Typed

_QUESTIONS: Final = among((*SUGGEST_LINES, "branches", "help"))
PLACEHOLDER: Final = "add NAME, kill NAME, toggle SETTING, topic add …"


def command_groups() -> Sequence[Group]:
    """All commands and questions with their forms, as the help lists them."""
    from engine.cluster.grammar.reading import COMMAND_FORMS

    return (
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


class CommandLine:
    """Carries out what was typed. ``ask`` answers a question of ``suggest``, ``show`` says what a command would do."""

    def __init__(
        self,
        screen: Screen[None],
        store: Store,
        *,
        ask: Callable[[Question], None],
        show: Callable[[tuple[str, str] | None], None],
        others: Callable[[], Mapping[str, Typed]],
    ) -> None:
        """``others`` are commands that every screen has."""
        self._screen = screen
        self._store = store
        self._ask = ask
        self._show = show
        self._others = others
        self._text = ""
        """What is typed and not carried out."""
        self._is_previewing = False

    def type(self, text: str) -> None:
        """Say what another text would do, once that is computed; "" would do nothing."""
        self._text = text
        if not text:
            self._show(None)
        elif not self._is_previewing:
            self._is_previewing = True
            run_beside(self._screen, self._preview, group="preview")

    def completions(self, text: str) -> Sequence[str]:
        """The commands and questions that go on with a text."""
        from engine.cluster.grammar.completing import completions
        from tui.kit.typed_commands import lines_of

        key = self._store.shown.key or None
        others = among(tuple(lines_of(self._others())))(text)
        return (*completions(text, self._store.timeline.state, key), *_QUESTIONS(text), *others)

    def leave(self) -> None:
        """Forget what was typed."""
        self._text = ""

    async def _preview(self) -> None:
        """Compute what the text would do; of several that were typed meanwhile, the last one counts."""
        previewed, answer = "", None
        try:
            while previewed != self._text:
                previewed = self._text
                compute = self._store.shown.preview_of_line(previewed)
                answer = await in_background(compute) if compute is not None else None
        finally:
            self._is_previewing = False
        if self._text:
            self._show(self._verdict(answer))

    def _verdict(self, answer: Verdict | Rejection | None) -> tuple[str, str] | None:
        """Return the sentence about a command; None for one that moves nothing, or that would be refused."""
        if not isinstance(answer, Verdict) or not (answer.moved or answer.judged_by != "nothing"):
            return None
        noun = "slot" if self._store.shown.kind == "keys" else "partition"
        return "preview", f"enter: {verdict_text(answer, noun)}"

    def carry_out(self, text: str) -> Rejection | None:
        """Do what was typed."""
        others = self._others()
        word, _, rest = text.partition(" ")
        if word in others:
            return others[word].run(rest.strip())
        if text == "help":
            more = [("everywhere", [KeyHelp(command.form, command.about) for command in others.values()])]
            self._screen.app.push_screen(HelpScreen([*command_groups(), *(more if others else [])], "commands after :"))
            return None
        if text == "branches":
            groups = [("branches of the timeline", branch_lines(self._store.timeline.branch_summaries))]
            self._screen.app.push_screen(HelpScreen(groups, ":branch N goes to the end of one"))
            return None
        question = question_of(text)
        if isinstance(question, Rejection):
            return question
        if question is not None:
            self._ask(question)
            return None
        return self._store.submit_line(text)
