"""The dialog of the screen of brokers: settings of the load managers, each with a slider over its range."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widgets import Input

from engine.balance.settings import LoadSettings
from engine.balance.thresholds import Threshold, thresholds_of
from engine.errors import Rejection
from tui.drawing.bars import bar_text
from tui.drawing.glyphs import glyphs_of
from tui.kit.bindings import Binding
from tui.kit.dialog import Dialog
from tui.kit.line_widget import LineWidget
from tui.kit.plain_text import PlainLabel
from tui.kit.prompt import LONGEST_LINE, TypedLine
from tui.kit.text_panels import rows_of

OTHER: Final = "other"
OTHER_LABEL: Final = "another one, NAME=VALUE"
VALUE_CELLS: Final = 22
GAP_CELLS: Final = 2
LONGEST_VALUE: Final = 20
STEPS: Final = 10
"""What a page key moves by."""


class SliderField(TypedLine):
    """The value of the marked setting, which is typed or moved along its range."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,tab", "mark(1)", "Next setting", show=False),
        Binding("up,shift+tab", "mark(-1)", "Previous setting", show=False),
        Binding("ctrl+right", "slide(1)", "More", show=False),
        Binding("ctrl+left", "slide(-1)", "Less", show=False),
        Binding("pageup", f"slide({STEPS})", "Much more", show=False),
        Binding("pagedown", f"slide(-{STEPS})", "Much less", show=False),
    ]

    class Asked(Message):
        """A key asks for another setting or another value."""

        def __init__(self, marks: int = 0, slides: int = 0) -> None:
            super().__init__()
            self.marks = marks
            self.slides = slides

    def action_mark(self, by: int) -> None:
        self.post_message(self.Asked(marks=by))

    def action_slide(self, steps: int) -> None:
        self.post_message(self.Asked(slides=steps))


class Sliders(LineWidget):
    """The settings with their values, and a line for any other setting below them."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"sliders--label", "sliders--value", "sliders--bar"}

    marked: reactive[int] = reactive(0, repaint=False, init=False)
    """The setting whose value the field has; after the last one is the line for any other."""

    class Marked(Message):
        """Another setting is marked; ``region`` is where its label and its value are."""

        def __init__(self, region: Region) -> None:
            super().__init__()
            self.region = region

    def __init__(self, thresholds: Sequence[Threshold], texts: Mapping[str, str], *, ascii_only: bool) -> None:
        super().__init__(id="sliders", ascii_only=ascii_only)
        self.thresholds = tuple(thresholds)
        self.names = (*(threshold.name for threshold in thresholds), OTHER)
        self.texts = {**texts, OTHER: ""}
        """What every field says."""
        self._labels: list[list[str]] = []
        self._tops: list[int] = []
        """The line on which each label begins; the value is below the label."""
        self._wrapped_for = 0

    def compose(self) -> ComposeResult:
        yield SliderField(self.texts[self.names[0]], id="slider-value", max_length=LONGEST_VALUE)

    @property
    def field(self) -> SliderField:
        return self.query_one(SliderField)

    @property
    def name_marked(self) -> str:
        return self.names[self.marked]

    def share_of(self, name: str) -> float | None:
        """Where a value is in its range; None for a text that is not a value, and for any other setting."""
        threshold = next((threshold for threshold in self.thresholds if threshold.name == name), None)
        return None if threshold is None else threshold.share_of(self.texts[name])

    # where things are

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        self._wrap(width)
        return sum(len(rows) + 1 for rows in self._labels)

    def _wrap(self, width: int) -> None:
        if width == self._wrapped_for:
            return
        self._wrapped_for = width
        texts = [*(label_of(threshold) for threshold in self.thresholds), OTHER_LABEL]
        self._labels = [rows_of(text, max(1, width)) for text in texts]
        self._tops, top = [], 0
        for rows in self._labels:
            self._tops.append(top)
            top += len(rows) + 1

    def _value_line(self, index: int) -> int:
        return self._tops[index] + len(self._labels[index])

    def on_resize(self) -> None:
        self._wrap(self.size.width)
        self._place()

    def _place(self) -> None:
        """Put the field where the value of the marked setting is."""
        top, line = self._tops[self.marked], self._value_line(self.marked)
        self.field.styles.offset = (0, line)
        self.field.styles.width = VALUE_CELLS if self.marked < len(self.thresholds) else self.size.width
        self.post_message(self.Marked(Region(0, top, 1, line + 1 - top)))

    # what is marked and typed

    def validate_marked(self, marked: int) -> int:
        return marked % len(self.names)

    def watch_marked(self) -> None:
        field = self.field
        field.max_length = LONGEST_VALUE if self.marked < len(self.thresholds) else LONGEST_LINE
        with self.prevent(Input.Changed):
            self._type(self.texts[self.name_marked])
        self._place()
        self.refresh()

    def _type(self, text: str) -> None:
        self.field.value = text
        self.field.cursor_position = len(text)

    def take(self, text: str) -> None:
        """Take what the field says."""
        self.texts[self.name_marked] = text
        self.refresh(Region(0, self._value_line(self.marked), self.size.width, 1))

    def slide(self, steps: int) -> None:
        if self.marked < len(self.thresholds):
            self._type(self.thresholds[self.marked].stepped(self.texts[self.name_marked], steps))

    def on_click(self, event: events.Click) -> None:
        """A click marks the setting below it."""
        for index in range(len(self._tops)):
            if self._tops[index] <= event.y <= self._value_line(index):
                self.marked = index

    # what is drawn

    def render_line(self, y: int) -> Strip:
        width, ground = self.size.width, self.rich_style
        for index, rows in enumerate(self._labels):
            at = y - self._tops[index]
            if 0 <= at < len(rows):
                style = self.get_component_rich_style("sliders--label")
                return Strip([Segment(rows[at], style)]).adjust_cell_length(width, ground)
            if at == len(rows):
                return self._value_strip(index, width, ground)
        return Strip.blank(width, ground)

    def _value_strip(self, index: int, width: int, ground: Style) -> Strip:
        style = self.get_component_rich_style("sliders--value")
        text = self.texts[self.names[index]]
        if index == len(self.thresholds):
            return Strip([Segment(text, style)]).adjust_cell_length(width, style)
        value = Strip([Segment(text, style)]).adjust_cell_length(VALUE_CELLS, style)
        share = self.thresholds[index].share_of(text)
        room = max(0, width - VALUE_CELLS - GAP_CELLS)
        drawn = ""
        if share is not None:
            rest = "." if self.ascii_only else "·"
            drawn = bar_text(share, room, glyphs_of(self.ascii_only)).rstrip().ljust(room, rest)
        bar = Segment(drawn, self.get_component_rich_style("sliders--bar"))
        return Strip([*value, Segment(" " * GAP_CELLS, ground), bar]).adjust_cell_length(width, ground)


def label_of(threshold: Threshold) -> str:
    """The name of a setting, its range and what it does."""
    if threshold.is_switch:
        return f"{threshold.name}: true or false, {threshold.note}"
    return f"{threshold.name}: {threshold.low:,.15g} to {threshold.high:,.15g} {threshold.unit}, {threshold.note}"


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
