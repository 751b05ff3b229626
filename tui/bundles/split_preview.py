"""Where each algorithm would cut a bundle: all of them side by side, before anything is split."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt
from rich.cells import cell_len
from rich.style import Style as RichStyle
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Grid, VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.strip import Strip
from textual.style import Style
from textual.visual import Visual

from engine.errors import Rejection
from engine.text import counted, visible
from engine.views.failover.splits import SplitOption, SplitPreviewView, SplitTopic, split_topics
from themes import stylesheet
from themes.palettes import Palette
from tui.bundles.words import AS_PROPOSED, CUTS_NOTHING, warning_sentences
from tui.drawing.split_bar import AXIS_LINES, SplitPicture, draw_split
from tui.kit.bindings import Binding
from tui.kit.declared import lines_of, sorted_by
from tui.kit.footer import KeyFooter, KeyHint
from tui.kit.help import HelpScreen, key_groups
from tui.kit.line_table import RowsTable
from tui.kit.line_widget import LinePanel
from tui.kit.plain_text import PlainStatic, assembled, below_each_other, plain, set_title
from tui.kit.screens import RingsideScreen
from tui.kit.sentence_line import SentenceLine
from tui.kit.wording import bytes_per_sec, in_out_rate, percent, quantity

HEADING_LINES: Final = 1


class SplitCard(LinePanel, can_focus=True):
    """Heading, axis and details of one algorithm in one widget: a screen of cards costs no more than its lines."""

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
        strips = Visual.to_strips(self, self._heading.truncate(width, ellipsis=True), width, HEADING_LINES, style)
        return [strip.extend_cell_length(width, ground) for strip in strips]


LABEL = " split preview "
WIDE_CELLS = 110
TALL_LINES = 48
ADVICE = "Each algorithm's cuts; bars are messages per second. enter splits the model, y copies the broker's request."

CHOOSE: Final = (
    Binding("down,right,j,l", "next", "Next", show=False, tooltip="The next algorithm"),
    Binding("up,left,k,h", "previous", "Previous", show=False, tooltip="The previous algorithm"),
)
DO: Final = (
    Binding("enter", "apply", "Split in the model", tooltip="Split in the model, and go back"),
    Binding("y", "copy", "Copy", tooltip="Copy the request for a broker"),
)
PLACE: Final = (
    Binding("question_mark", "help", "Help", key_display="?", tooltip="All keys of this screen"),
    Binding("escape", "close", "Back", tooltip="Back to the main screen"),
)
GROUPS: Final = (("choose", CHOOSE), ("do", DO), ("place", PLACE))
HINTS: Final = (
    KeyHint("arrows", "Choose", "screen.next"),
    KeyHint("enter", "Split in the model", "screen.apply"),
    KeyHint("y", "Copy", "screen.copy"),
    KeyHint("?", "Help", "screen.help", always=True),
    KeyHint("esc", "Back", "screen.close", always=True),
    KeyHint("q", "Quit", "app.quit", always=True),
)


class Cards(VerticalScroll, inherit_bindings=False):
    """Scrolls to the card in use; the arrows are for choosing one."""


class SplitPreviewScreen(RingsideScreen[None]):
    """Enter applies the marked algorithm in the model, y copies the request for a real broker."""

    CSS_PATH = stylesheet("split")
    AUTO_FOCUS = "SplitCard"
    BINDINGS: ClassVar[list[BindingType]] = [*CHOOSE, *DO, *PLACE]
    key_groups = GROUPS

    def __init__(
        self,
        view: SplitPreviewView,
        submit_line: Callable[[str], Rejection | None],
        colours: Palette,
        *,
        ascii_only: bool = False,
    ) -> None:
        super().__init__()
        self._view = view
        self._submit_line = submit_line
        self._colours = colours
        self._ascii_only = ascii_only

    def compose(self) -> ComposeResult:
        view, problem = self._view, self._view.problem
        # Set before the first layout, so that it is the only one.
        self.set_class(self._colours.mono, "-mono", update=False)
        self.set_class(self.app.size.width >= WIDE_CELLS, "-wide", update=False)
        yield PlainStatic(id="title")
        yield SentenceLine.saying(("refusal", str(problem)) if problem else ("hint", ADVICE), id="sentence")
        topics = _topics(view)
        with Cards(can_focus=False), Grid(id="cards"):
            for number, option in enumerate(view.options):
                yield SplitCard(
                    _heading(option),
                    split_picture(view, option, *topics),
                    _details(option),
                    self._colours,
                    ascii_only=self._ascii_only,
                    id=f"card-{number}",
                    classes="-refused" if option.refusal else "",
                )
        yield RowsTable(id="topics", classes="panel", beside=True)
        footer = KeyFooter(id="keys")
        footer.set_reactive(KeyFooter.keys, HINTS)
        yield footer

    def on_resize(self) -> None:
        """Two columns where they fit, as many numbers of the bundle, and its topics where the cards leave room."""
        self.set_class(self.size.width >= WIDE_CELLS, "-wide")
        self.set_class(self.size.height >= TALL_LINES, "-tall")
        self.query_one("#title", PlainStatic).update(_title(self._view, self.size.width))
        self._list_topics()

    def on_descendant_focus(self) -> None:
        self._list_topics()

    def _list_topics(self) -> None:
        """Show where the marked algorithm puts each topic."""
        option = self._marked()
        if option is not None and self.has_class("-tall"):
            table: RowsTable[SplitTopic] = self.query_one("#topics", RowsTable)
            set_title(table, f"topics, and where {option.algorithm} puts them")
            table.show(split_topics(self._view, option), _TOPIC_LINES, _TOPIC_VALUE)

    def _say(self, kind: str, text: str) -> None:
        self.query_one(SentenceLine).sentence = (kind, text)

    def _marked(self) -> SplitOption | None:
        focused = self.focused
        if isinstance(focused, SplitCard) and focused.id is not None:
            return self._view.options[int(focused.id.removeprefix("card-"))]
        return None

    def action_next(self) -> None:
        self.focus_next(SplitCard)

    def action_previous(self) -> None:
        self.focus_previous(SplitCard)

    def action_apply(self) -> None:
        """Split in the model and go back; a refusal stays here and says why."""
        option = self._marked()
        if option is None:
            return
        if not option.command_text:
            self._say("refusal", "this algorithm cuts nothing here, so there is nothing to apply")
            return
        refused = self._submit_line(option.command_text)
        if refused is None:
            self.dismiss()
        else:
            self._say("refusal", str(refused))

    def action_copy(self) -> None:
        """Hand the line over to the terminal's clipboard (OSC 52)."""
        option = self._marked()
        if option is None or not option.admin_line:
            self._say("refusal", "this algorithm cuts nothing here, so there is no request to copy")
            return
        self.app.copy_to_clipboard(option.admin_line)
        self._say("done", f"handed to the terminal's clipboard: {visible(option.admin_line)}")

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(key_groups(GROUPS, self.app), title="split preview"))

    def action_close(self) -> None:
        self.dismiss()


_TOPIC_LINES: Final = lines_of(SplitTopic, lambda _row, _column: "")
_TOPIC_VALUE: Final = sorted_by(SplitTopic)


Topics = tuple[npt.NDArray[np.uint32], npt.NDArray[np.float64] | None]
"""Hashes of a bundle's topics, and their weights; None where all weigh the same."""


def _topics(view: SplitPreviewView) -> Topics:
    """The topics of the bundle, built once for all cards."""
    weights = np.array(view.topic_msgs_per_sec, dtype=np.float64) if view.msgs_per_sec else None
    return np.array(view.topic_hashes, dtype=np.uint32), weights


def split_picture(
    view: SplitPreviewView,
    option: SplitOption,
    hashes: npt.NDArray[np.uint32],
    weights: npt.NDArray[np.float64] | None,
) -> SplitPicture:
    """The axis of a bundle with an option's cuts; cuts on its ends divide nothing and are left out."""
    cuts = tuple(sorted({cut for cut in option.cuts if view.lower < cut < view.upper}))
    labels = tuple(
        f"{counted(piece.topics, 'topic')} {quantity(piece.msgs_per_sec)}/s {percent(piece.rate_share)}"
        for piece in option.pieces
    )
    return SplitPicture(
        lower=view.lower,
        upper=view.upper,
        cuts=cuts,
        hashes=hashes,
        weights=weights,
        labels=labels if len(labels) == len(cuts) + 1 else (),
    )


def _title(view: SplitPreviewView, width: int) -> Content:
    """Which bundle, and as many of its numbers as fit."""
    which = f" {view.namespace} {view.range_text}"
    numbers = [counted(view.topics, "topic"), in_out_rate(view.msgs_per_sec), bytes_per_sec(view.bytes_per_sec)]
    while numbers and cell_len(f"{LABEL}{which}  {', '.join(numbers)}") > width:
        numbers.pop()
    return assembled((LABEL, "$accent bold"), (which, "bold"), (f"  {', '.join(numbers)}", "$dim"))


def _heading(option: SplitOption) -> Content:
    marks = "  (default)" if option.is_default else ""
    marks += "  (proposed)" if option.as_proposed else ""
    if option.positions_from and not option.as_proposed:
        marks += f"  positions: {option.positions_from}"
    return assembled((option.algorithm, "bold"), (marks, "$dim"))


def _details(option: SplitOption) -> Content:
    lines = [plain(f"! {option.refusal.error}: {option.refusal.message}", "$bad")] if option.refusal else []
    if option.as_proposed:
        lines.append(plain(AS_PROPOSED, "$dim"))
    lines += [plain(f"i {warning}", "$warn") for warning in warning_sentences(option)]
    if option.admin_line:
        lines.append(plain(f"$ {option.admin_line}", "$accent"))
    elif not option.refusal and not option.pieces:
        lines.append(plain(CUTS_NOTHING, "$dim"))
    return below_each_other(lines)
