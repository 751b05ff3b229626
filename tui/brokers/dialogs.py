"""The dialog of the screen of brokers: settings of the load managers, each with a slider over its range."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.reactive import reactive
from textual.strip import Strip
from textual.widgets import Input

from engine.balance.settings import LoadSettings
from engine.balance.thresholds import Threshold, thresholds_of
from engine.errors import Rejection
from tui.drawing.bars import bar_text
from tui.drawing.glyphs import glyphs_of
from tui.kit.dialog import Dialog
from tui.kit.line_widget import LineWidget
from tui.kit.plain_text import PlainLabel
from tui.kit.prompt import TypedLine

Pairs = tuple[tuple[str, str], ...]
OTHER: Final = "other"
STEPS: Final = 10


class SliderField(TypedLine):
    """A value that is typed, or moved along its range."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+right", "slide(1)", "More", show=False),
        Binding("ctrl+left", "slide(-1)", "Less", show=False),
        Binding("pageup", f"slide({STEPS})", "Much more", show=False),
        Binding("pagedown", f"slide(-{STEPS})", "Much less", show=False),
    ]

    def __init__(self, threshold: Threshold, value: str) -> None:
        super().__init__(value, id=threshold.name, max_length=20, classes="slider--value")
        self.threshold = threshold

    def action_slide(self, steps: int) -> None:
        self.value = self.threshold.stepped(self.value, steps)
        self.cursor_position = len(self.value)


class SliderBar(LineWidget):
    """Where a value is between the ends of its range; empty for a text that is not a value."""

    share: reactive[float | None] = reactive(None)

    def render_line(self, y: int) -> Strip:
        width, style = self.size.width, self.rich_style
        if y or self.share is None:
            return Strip.blank(width, style)
        drawn = bar_text(self.share, width, glyphs_of(self.ascii_only)).ljust(width, "." if self.ascii_only else "·")
        return Strip([Segment(drawn, style)]).adjust_cell_length(width, style)


class SettingsScreen(Dialog[Pairs]):
    """Every threshold of the shedder and the placement in force, and one line for any other setting (NAME=VALUE)."""

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

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -wide -sliders"):
            with VerticalScroll(can_focus=False):
                for threshold in self._thresholds:
                    yield PlainLabel(_label(threshold), classes="dialog--label")
                    with Horizontal(classes="slider"):
                        yield SliderField(threshold, self._texts[threshold.name])
                        yield SliderBar(id=f"{threshold.name}-bar", ascii_only=self._ascii_only)
                yield PlainLabel("another one, NAME=VALUE", classes="dialog--label")
                yield TypedLine("", id=OTHER)
            yield PlainLabel("", classes="dialog--error")
            keys = "ctrl+arrows and page keys slide"
            yield PlainLabel(f"enter takes them over, {keys}, escape cancels", classes="dialog--help")

    def on_mount(self) -> None:
        super().on_mount()
        for threshold in self._thresholds:
            self._draw(threshold)

    def on_input_changed(self, event: Input.Changed) -> None:
        super().on_input_changed(event)
        if isinstance(event.input, SliderField):
            self._draw(event.input.threshold)

    def _draw(self, threshold: Threshold) -> None:
        bar = self.query_one(f"#{threshold.name}-bar", SliderBar)
        bar.share = threshold.share_of(self.text_of(threshold.name))

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


def _label(threshold: Threshold) -> str:
    if threshold.is_switch:
        return f"{threshold.name}: true or false, {threshold.note}"
    return f"{threshold.name}: {threshold.low:,.15g} to {threshold.high:,.15g} {threshold.unit}, {threshold.note}"


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
