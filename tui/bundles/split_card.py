"""One algorithm's answer for a bundle: a heading, the hash range with topics and cuts, and what to know of it."""

from __future__ import annotations

from typing import ClassVar, Final

from rich.style import Style as RichStyle
from textual.content import Content
from textual.geometry import Size
from textual.strip import Strip
from textual.style import Style
from textual.visual import Visual

from themes.palettes import Palette
from tui.drawing.split_bar import AXIS_LINES, SplitPicture, draw_split
from tui.kit.line_widget import LinePanel

HEADING_LINES: Final = 1


class SplitCard(LinePanel, can_focus=True):
    """One widget and not one for each part: a screen of cards costs what its lines cost."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"split-card--heading"}
    DEFAULT_CSS = """
    SplitCard { height: auto; width: 1fr; }
    """

    def __init__(
        self,
        heading: Content,
        picture: SplitPicture,
        details: Content,
        colours: Palette,
        *,
        ascii_only: bool = False,
        id: str | None = None,  # noqa: A002 - Textual's own name
        classes: str | None = None,
    ) -> None:
        super().__init__(ascii_only=ascii_only, id=id, classes=classes)
        self.set_reactive(SplitCard.colours, colours)
        self._heading = heading
        self._picture = picture
        self._details = details

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return (
            HEADING_LINES + AXIS_LINES + self._details.get_height(self.styles.get_render_rules(), width) if width else 0
        )

    def notify_style_update(self) -> None:
        """The heading of the card in use stands out."""
        super().notify_style_update()
        self.forget()

    def draw(self, width: int, height: int) -> list[Strip]:
        """Heading, axis and details from the top."""
        axis = draw_split(self._picture, width, self.colours, ascii_only=self.ascii_only)
        return [*self._headline(width), *axis, *Visual.to_strips(self, self._details, width, None, self.visual_style)]

    def _headline(self, width: int) -> list[Strip]:
        part = "split-card--heading"
        # A visual style leaves out whether a part is reversed.
        style = self.get_visual_style(part) + Style(reverse=self.get_component_styles(part).text_style.reverse)
        ground = RichStyle(bgcolor=style.background.rich_color if style.background else None)
        told = Visual.to_strips(self, self._heading.truncate(width, ellipsis=True), width, HEADING_LINES, style)
        return [strip.extend_cell_length(width, ground) for strip in told]
