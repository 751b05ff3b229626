"""Lines for the lists of a Key_Shared subscription: what waits, also as reported, gaps, what was sent, keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.cells import cell_len
from rich.text import Text

from engine.text import counted
from engine.views.keys.model import GapRow, KeyConsumerRow, KeyRow, WaitRow
from engine.views.reported.model import ReportedView, ReportedWait
from themes.palettes import Palette, hex_colour
from tui.drawing.colour import letter_style
from tui.keys.words import key_shown, keys_shown
from tui.kit.columns import REPORTED_SIGN, ScreenColumn, Table, numbers, table_of
from tui.kit.reported import name_at, pair_words, seen_text
from tui.kit.wording import UNKNOWN, cut_end, fit, known, quantity, safe_name, short_topic, shorten_middle

_SINCE_FROM: Final = 52
"""From this width on a wait says since when."""
_WHY_FROM: Final = 78
"""And from this one on why, in a column of its own."""
_SINCE: Final = 10
_SLOT: Final = 6
_PART: Final = 4
_REASON: Final = 18


def wait_heading(width: int, *, partitioned: bool = False) -> Text:
    """The headings above ``wait_line``."""
    part = f"{'part':>{_PART}} " if partitioned else ""
    key = _key_width(width) - len(part)
    since = f"{'since':>{_SINCE - 1}} " if width >= _SINCE_FROM else ""
    reason = f" {'why':<{_REASON}}" if width >= _WHY_FROM else ""
    return Text(
        f"{part}{'slot':>{_SLOT}} {'key':<{key}} {'msgs':>5}  {'to':<3} {'after':<9}{since}{reason}", no_wrap=True
    )


def wait_line(wait: WaitRow, rows: Sequence[KeyConsumerRow], width: int, colours: Palette) -> Text:
    """One slot that waits: its keys, how many messages, to whom they will go, and after whose acknowledgements."""
    dim, warn = hex_colour(colours.dim), hex_colour(colours.warn)
    text = Text(no_wrap=True)
    if wait.partition >= 0:
        text.append(f"{wait.partition:>{_PART}} ")
    text.append(f"{wait.slot:>{_SLOT}} ", dim)
    text.append(fit(keys_shown(wait.keys), _key_width(width) - (_PART + 1 if wait.partition >= 0 else 0)))
    text.append(f" {quantity(wait.messages):>5}  ", f"bold {warn}")
    append_tag(text, wait.owner, rows, colours, 4)
    start = text.cell_len
    if wait.holders:
        first = wait.holders[0]
        tag = append_tag(text, first.consumer, rows, colours, 0)
        more = "…" if len(wait.holders) > 1 else ""
        text.append(f"{' ' if tag else ''}{quantity(first.unacked)}{more}")
    elif width < _WHY_FROM:
        text.append(shorten_middle(wait.reason, max(9, width - start)), dim)
    text.pad_right(max(0, 9 - (text.cell_len - start)))
    if width >= _SINCE_FROM and width - text.cell_len >= _SINCE:
        amount = f"{wait.since_ms:,}" if wait.since_ms < 100_000 else quantity(wait.since_ms)
        since = f"{amount} ms" if wait.since_ms >= 0 else "-"
        text.append(f"{since:>{_SINCE - 1}} ", dim)
    if width >= _WHY_FROM:
        text.append(f" {wait.reason:<{_REASON}}")
    return text


def _key_width(width: int) -> int:
    since = _SINCE if width >= _SINCE_FROM else 0
    reason = _REASON + 1 if width >= _WHY_FROM else 0
    return max(6, width - _SLOT - 1 - 8 - 4 - 9 - since - reason)


def append_tag(text: Text, position: int, rows: Sequence[KeyConsumerRow], colours: Palette, width: int) -> str:
    """The letter tag of a consumer in its colour, a dash for nobody; in ``width`` cells where that is more."""
    row = rows[position] if 0 <= position < len(rows) else None
    tag = row.tag if row is not None else "-"
    text.append(tag, letter_style(colours, row.colour) if row is not None else hex_colour(colours.dim))
    text.append(" " * max(0, width - len(tag)))
    return tag


def gap_heading(width: int) -> Text:
    """The headings above ``gap_line``."""
    return Text(f" {'slots':<15} {'msgs':>5}  {'known keys'}"[:width], no_wrap=True)


def gap_line(gap: GapRow, width: int, colours: Palette) -> Text:
    """Slots without an owner, how many messages wait there, and the known keys among them."""
    dim = hex_colour(colours.dim)
    text = Text(no_wrap=True)
    text.append(f" {f'{gap.start}-{gap.end}':<15} ", f"bold {hex_colour(colours.warn)}")
    text.append(f"{quantity(gap.waiting):>5}  ", dim if not gap.waiting else f"bold {hex_colour(colours.bad)}")
    names = ", ".join(map(key_shown, gap.keys)) or "no known key"
    text.append(cut_end(names, max(4, width - text.cell_len)), dim if not gap.keys else "")
    return text


def sent_line(message: str, width: int, colours: Palette) -> Text:
    """One message that went out; its number in fewer words where there is less room."""
    if cell_len(message) > width - 2:
        message = message.replace(" (message ", " (#").replace(" of partition ", ", p")
    text = Text(no_wrap=True)
    text.append("> ", f"bold {hex_colour(colours.good)}")
    text.append(cut_end(safe_name(message), max(1, width - 2)))
    return text


def owned_keys(colours: Palette) -> Table[KeyRow]:
    """A star for a key that the last step moved, the key, its partition where there are any, and three numbers."""
    accent, dim, warn = f"bold {hex_colour(colours.accent)}", hex_colour(colours.dim), hex_colour(colours.warn)

    def declare(sample: Sequence[KeyRow], _rows: Sequence[KeyRow], _width: int) -> list[ScreenColumn[KeyRow]]:
        return [
            ScreenColumn(
                "moved", "", 2, lambda row, _: Text("* " if row.moved else "  ", accent, no_wrap=True), left=True
            ),
            ScreenColumn(
                "name", "key", _WIDEST, lambda row, width: Text(fit(key_shown(row.text), width), no_wrap=True),
                lambda row: row.text, easy=6, least=6,
            ),
            ScreenColumn(
                "partition", "part", 6, numbers(lambda row: f"{row.partition}" if row.partition >= 0 else "-"),
                lambda row: row.partition, there=any(row.partition >= 0 for row in sample[:1]),
            ),
            ScreenColumn("slot", "slot", 7, numbers(lambda row: f"{row.slot}", dim), lambda row: row.slot),
            ScreenColumn("messages", "msgs", 7, numbers(lambda row: quantity(row.messages)), lambda row: row.messages),
            ScreenColumn(
                "waiting", "wait", 6,
                numbers(lambda row: quantity(row.waiting), lambda row: f"bold {warn}" if row.waiting else ""),
                lambda row: row.waiting,
            ),
        ]  # fmt: skip

    return table_of(declare)


_WIDEST: Final = 100_000
"""More cells than a table has: the keys take all that the numbers leave."""


def piece_heading(width: int) -> Text:
    """The heading above ``piece_line``."""
    return Text(f"{'from':>7}    {'to':>6} {'slots':>9}"[:width], no_wrap=True)


def piece_line(piece: tuple[int, int, int, int], width: int, colours: Palette) -> Text:
    """One piece of the hash space: whole, or every ``divisor``-th slot of it."""
    start, end, divisor, remainder = piece
    text = Text(no_wrap=True)
    text.append(f"{start:>7} .. {end:>6} ")
    if divisor == 1:
        text.append(f"{end - start + 1:>9,}", hex_colour(colours.dim))
    else:
        text.append(f"slot mod {divisor} = {remainder}", hex_colour(colours.dim))
    return text


_TOPIC_FROM: Final = 60
"""From this width on a slot says of which topic it is."""


def waits_title(view: ReportedView) -> str:
    """How much waits, as it was reported."""
    if not view.waits and not view.in_replay:
        return f"{REPORTED_SIGN} {UNKNOWN if view.in_replay is None else 'nothing'}"
    slots = f" at {counted(view.draining_slots, 'slot')}" if view.draining_slots else ""
    messages = f"{UNKNOWN} messages" if view.in_replay is None else counted(view.in_replay, "message")
    return f"{REPORTED_SIGN} {messages} in replay{slots}"


def waits_words(view: ReportedView, names: Sequence[str], marked: int) -> str:
    """Who waits for whom, then what the marked slot is."""
    if not view.waits:
        where = "nothing in replay and no slot that drains" if view.in_replay == 0 else "no slot drains"
        return f"{seen_text(view.time)}: {where}, backlog {known(view.backlog)}"
    pairs = ", ".join(pair_words(view, names)) or "no message was held back"
    wait = view.waits[marked if marked < len(view.waits) else 0]
    slot = f"slot {wait.slot}: {name_at(names, wait.holder)} holds {counted(wait.unacked, 'message')}"
    if wait.blocked_attempts:
        slot += f", {name_at(names, wait.owner)} waits, {counted(wait.blocked_attempts, 'blocked attempt')}"
    else:
        slot += f", what comes next is for {name_at(names, wait.owner)}"
    return f"{pairs}. {slot}"


def reported_wait_heading(width: int) -> Text:
    """The headings above ``reported_wait_line``."""
    topic = f"  {'topic'}" if width >= _TOPIC_FROM else ""
    return Text(f"{'slot':>{_SLOT}}  {'waits':<6}{'for':<6}{'unacked':>7} {'attempts':>9}{topic}"[:width], no_wrap=True)


def reported_wait_line(wait: ReportedWait, rows: Sequence[KeyConsumerRow], width: int, colours: Palette) -> Text:
    """One draining slot: who waits for whom, what the holder has not acknowledged, and how often it held back."""
    dim, bad = hex_colour(colours.dim), hex_colour(colours.bad)
    text = Text(no_wrap=True)
    text.append(f"{wait.slot:>{_SLOT}}  ", dim)
    append_tag(text, wait.owner, rows, colours, 6)
    append_tag(text, wait.holder, rows, colours, 6)
    text.append(f"{quantity(wait.unacked):>7} ")
    text.append(f"{wait.blocked_attempts:>9,}", f"bold {bad}" if wait.blocked_attempts else dim)
    if width >= _TOPIC_FROM:
        text.append(f"  {fit(short_topic(wait.topic), width - text.cell_len - 2)}", dim)
    return text
