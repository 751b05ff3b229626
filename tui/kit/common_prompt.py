"""Typing and zooming, as both screens of a subscription do it."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from textual import on
from textual.widget import Widget

from engine.cluster.grammar import COMMAND_FORMS
from engine.errors import Rejection
from tui.kit.common_sentence import CommonSentence
from tui.kit.explain_panel import ExplainPanel
from tui.kit.prompt import Prompt
from tui.kit.wording import FLAG

COMMAND_LINES: Final = (*(f"{word} " for word in COMMAND_FORMS), f"toggle {FLAG}", f"set {FLAG}=true")
"""What the command line completes."""
BESIDE_EXPLANATION: Final = ("ring", "events", "sent")
"""Panels that an explanation leaves in sight."""


class CommonPrompt(CommonSentence):
    """The prompt and its answers, the panel of an explanation, and the panel that has the whole body."""

    zoomable: ClassVar[tuple[str, ...]] = ()
    """Panels that can be zoomed, by their ids."""
    inside: ClassVar[dict[str, str]] = {"consumers": "table"}
    """Panels whose focus goes to something inside."""
    _before_prompt: Widget | None = None

    # the prompt

    def action_command(self) -> None:
        self.ask("command", ":", placeholder="add NAME, kill NAME, toggle SETTING, topic add …", options=COMMAND_LINES)

    def ask(self, kind: str, mark: str, **how: Any) -> None:
        """Open the prompt for one question."""
        if self.focused is not None and not self.query_one(Prompt).is_open:
            self._before_prompt = self.focused
        self.query_one(Prompt).ask(kind, mark, **how)

    @on(Prompt.Answered)
    def _answered(self, message: Prompt.Answered) -> None:
        prompt = self.query_one(Prompt)
        refused = self.answer(message.kind, message.text.strip())
        if refused is not None:
            prompt.complain(str(refused))
            return
        prompt.remember(message.text.strip())
        prompt.close()
        self._focus_back()

    def answer(self, kind: str, text: str) -> Rejection | None:
        """Carry out what was typed."""
        if not text:
            return None
        if kind == "explain":
            return self.explain(text)
        return self.done(self.store.submit_line(text))

    @on(Prompt.Closed)
    def _prompt_closed(self, message: Prompt.Closed) -> None:
        self.given_up(message.kind)
        self._focus_back()

    def given_up(self, kind: str) -> None:
        """The prompt was closed without an answer."""

    def _focus_back(self) -> None:
        if self._before_prompt is not None and self._before_prompt.focusable:
            self._before_prompt.focus()
        else:
            self.focus_next()

    # the explanation

    def explain(self, text: str) -> Rejection | None:
        """Open the explanation of a topic or a key beside the ring."""
        raise NotImplementedError

    def open_explanation(self) -> None:
        """Show the panel with the remarks."""
        self.add_class("-explaining")
        self.query_one(ExplainPanel).focus()
        self._before_prompt = self.query_one(ExplainPanel)

    @on(ExplainPanel.Closed)
    def close_explanation(self) -> None:
        """Back to the panels that it covered."""
        self.remove_class("-explaining")
        self.topic = ""
        if self.zoomed == "explain":
            self.zoomed = ""
        self.action_panel("consumers")

    # panels

    def action_panel(self, panel: str) -> None:
        """Focus a panel; when one is zoomed, or there is no room for this one, it takes the whole body."""
        if panel not in BESIDE_EXPLANATION and self.has_class("-explaining"):
            self.remove_class("-explaining")
            self.topic = ""
        if self.zoomed and self.zoomed != panel:
            self.zoomed = panel
        target = self.query_one(f"#{self.focus_of(panel)}")
        if not self.query_one(f"#{panel}").display:
            self.zoomed = panel
        target.focus()

    def focus_of(self, panel: str) -> str:
        """What is focused in a panel: something inside, or the panel itself."""
        return self.inside.get(panel, panel)

    def action_zoom(self) -> None:
        if self.zoomed:
            self.zoomed = ""
            return
        focused = self.focused
        while focused is not None and focused.id not in self.zoomable:
            focused = focused.parent if isinstance(focused.parent, Widget) else None
        self.zoomed = focused.id or "ring" if focused is not None else "ring"

    def watch_zoomed(self, panel: str) -> None:
        """Give the body to one panel."""
        # All at once: each change of classes styles every widget of the screen anew.
        zoomed = {f"-zoom-{each}": each == panel for each in self.zoomable}
        self.update_classes({"-zoomed": bool(panel), **zoomed})
