"""The place beside the panels: an explanation, a suggestion, or what is wrong is shown there, one of them at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from textual.screen import Screen
from textual.widget import Widget

from engine.errors import Rejection
from tui.kit.background import run_beside
from tui.kit.layouts import show_panels
from tui.kit.plain_text import set_title
from tui.kit.prompt import Prompt
from tui.kit.store import Store
from tui.kit.suggesting import WORD, Question, answer_to
from tui.kit.text_panels import ExplainPanel
from tui.kit.verdict_words import suggestion_remarks
from tui.kit.wording import Remark, shorten_middle

Content = Literal["", "explanation", "suggestion", "why"]


class SidePlace:
    """What is shown there: ``content``, "" while it is closed.

    ``say`` gives remarks to the panel that shows them, and ``title`` is its title for an explanation.
    """

    def __init__(
        self, screen: Screen[None], store: Store, title: str, say: Callable[[tuple[Remark, ...]], None]
    ) -> None:
        self._screen = screen
        self._store = store
        self._title = title
        self._say = say
        self._question: Question | None = None
        """The suggestion that is looked for."""
        self.content: Content = ""

    def turn_to(self, content: Content) -> None:
        """Show this instead of what was there before, or close with ""; a search for a suggestion ends."""
        self._screen.workers.cancel_group(self._screen, WORD)
        self._question = None
        self.content = content
        show_panels(self._screen, {"-explaining": bool(content), "-why": content == "why"})

    def focus(self, widget: Widget) -> None:
        """Give the keys to what is shown there, also when a prompt is closed."""
        widget.focus()
        self._screen.query_one(Prompt).return_to = widget

    def explain(self, remarks: tuple[Remark, ...], *, title: str = "", content: Content = "explanation") -> None:
        """Show remarks."""
        self.turn_to(content)
        panel = self._screen.query_one(ExplainPanel)
        set_title(panel, title or self._title)
        self._say(remarks)
        self.focus(panel)

    def suggest(self, question: Question) -> None:
        """Look for a suggestion, and say so meanwhile; the answer stays, whatever steps follow."""
        shown = self._store.shown
        title = f"suggest {question.kind}: {shorten_middle(shown.title, 30)}, step {shown.timeline.cursor}"
        looking = (Remark("suggest", f"looking for {question.kind}"),)
        self.explain(looking, title=title, content="suggestion")
        self._question = question
        run_beside(self._screen, partial(self._search, question), exclusive=True, group=WORD)

    async def _search(self, question: Question) -> None:
        state, key = self._store.timeline.state, self._store.shown.key

        def count(tried: int, most: int) -> None:
            if self._question is question:
                self._say((Remark("suggest", f"{tried:,} of at most {most:,} names tried; escape ends it"),))

        answer = await answer_to(question, state, key, count)
        if self._question is not question:
            return
        self._question = None
        if isinstance(answer, Rejection):
            self._say((Remark("no", answer.message, main=True, role="warn"),))
        else:
            keyed = self._store.shown.kind == "keys"
            on = keyed or state.settings.activeConsumerFailoverConsistentHashing
            self._say(suggestion_remarks(question.kind, answer, question.goal, on=on))
