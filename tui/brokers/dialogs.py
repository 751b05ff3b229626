"""The dialog of the screen of brokers: settings of the load managers, each with a slider over its range."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Input

from engine.balance.settings import LoadSettings
from engine.balance.thresholds import thresholds_of
from engine.errors import Rejection
from tui.brokers.sliders import OTHER, SliderField, Sliders
from tui.kit.bindings import Binding
from tui.kit.dialog import Dialog
from tui.kit.plain_text import PlainLabel

Pairs = tuple[tuple[str, str], ...]


class SettingsScreen(Dialog[Pairs]):
    """Every threshold of the shedder and the placement in force, and one line for any other setting (NAME=VALUE)."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Take over"),
        Binding("ctrl+right", "slide(1)", "More"),
        Binding("ctrl+left", "slide(-1)", "Less"),
    ]

    def __init__(
        self,
        shedder: str,
        placement: str | None,
        settings: LoadSettings,
        accept: Callable[[Pairs], Rejection | None],
        *,
        ascii_only: bool = False,
    ) -> None:
        super().__init__(f"settings of {shedder}", accept)
        self._thresholds = thresholds_of(shedder, placement)
        self._texts = {threshold.name: _text(getattr(settings, threshold.name)) for threshold in self._thresholds}
        self._ascii_only = ascii_only

    def compose_box(self) -> ComposeResult:
        with Vertical(classes="dialog -wide -sliders"):
            with VerticalScroll(can_focus=False):
                yield Sliders(self._thresholds, self._texts, ascii_only=self._ascii_only)
            yield PlainLabel("", classes="dialog--error")

    @property
    def sliders(self) -> Sliders:
        return self.query_one(Sliders)

    def on_input_changed(self, event: Input.Changed) -> None:
        super().on_input_changed(event)
        self.sliders.take(event.value)

    @on(SliderField.Asked)
    def _asked(self, message: SliderField.Asked) -> None:
        if message.slides:
            self.sliders.slide(message.slides)
        else:
            self.sliders.marked += message.marks

    def action_slide(self, by: int) -> None:
        self.sliders.slide(by)

    @on(Sliders.Marked)
    def _marked(self, message: Sliders.Marked) -> None:
        self.query_one(VerticalScroll).scroll_to_region(message.region, animate=False)

    def text_of(self, field: str) -> str:
        return self.sliders.texts[field]

    def submit(self) -> None:
        pairs = [(name, text) for name, old in self._texts.items() if (text := self.text_of(name).strip()) != old]
        other = self.text_of(OTHER).strip()
        if other:
            name, sign, text = other.partition("=")
            if not sign:
                self.complain("write NAME=VALUE, such as loadBalancerCPUResourceWeight=0.5", OTHER)
                return
            pairs.append((name.strip(), text.strip()))
        for name, text in pairs:
            refused = LoadSettings().with_setting(name, text)
            if isinstance(refused, Rejection):
                self.complain(str(refused), self.field_of(refused))
                return
        self.finish(tuple(pairs))

    def field_of(self, refused: Rejection) -> str:
        return refused.field if refused.field in self._texts else OTHER

    def complain(self, text: str, field: str = "") -> None:
        """The setting that a refusal is about is marked."""
        super().complain(text)
        if field:
            self.sliders.marked = self.sliders.names.index(field)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
