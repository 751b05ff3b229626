"""Draining slots as brokers reported them: their rows in the list of what waits, and what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.text import Text

from engine.text import counted
from engine.views.keys.model import KeyConsumerRow
from engine.views.reported.model import ReportedView, ReportedWait
from themes.palettes import Palette, hex_colour
from tui.keys.lines import append_tag
from tui.kit.reported_words import REPORTED_SIGN, name_at, pair_words, seen_text
from tui.kit.wording import fit, quantity, short_topic

_SLOT: Final = 6
_TOPIC_FROM: Final = 60
"""From this width on a slot says of which topic it is."""


def waits_title(view: ReportedView) -> str:
    """How much waits, as it was reported."""
    if not view.waits and not view.in_replay:
        return f"{REPORTED_SIGN} nothing"
    slots = f" at {counted(view.draining_slots, 'slot')}" if view.draining_slots else ""
    return f"{REPORTED_SIGN} {counted(view.in_replay, 'message')} in replay{slots}"


def waits_words(view: ReportedView, names: Sequence[str], marked: int) -> str:
    """Who waits for whom, then what the marked slot is."""
    if not view.waits:
        where = "no slot drains" if view.in_replay else "nothing in replay and no slot that drains"
        return f"{seen_text(view.time)}: {where}, backlog {view.backlog:,}"
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
    return Text(f"{'slot':>{_SLOT}}  {'waits':<6}{'for':<6}{'unack':>6} {'attempts':>9}{topic}"[:width], no_wrap=True)


def reported_wait_line(wait: ReportedWait, rows: Sequence[KeyConsumerRow], width: int, colours: Palette) -> Text:
    """One draining slot: who waits for whom, what the holder has not acknowledged, and how often it held back."""
    dim, bad = hex_colour(colours.dim), hex_colour(colours.bad)
    text = Text(no_wrap=True)
    text.append(f"{wait.slot:>{_SLOT}}  ", dim)
    append_tag(text, wait.owner, rows, colours, 6)
    append_tag(text, wait.holder, rows, colours, 6)
    text.append(f"{quantity(wait.unacked):>6} ")
    text.append(f"{wait.blocked_attempts:>9,}", f"bold {bad}" if wait.blocked_attempts else dim)
    if width >= _TOPIC_FROM:
        text.append(f"  {fit(short_topic(wait.topic), width - text.cell_len - 2)}", dim)
    return text
