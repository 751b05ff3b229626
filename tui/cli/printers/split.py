"""``split``: where each algorithm would cut a bundle, what lies on either side, and the request that does it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.text import visible
from engine.views.failover.splits import SplitOption, SplitPreviewView
from tui.bundles.words import AS_PROPOSED, CUTS_NOTHING, warning_sentences
from tui.cli.plain import Align, table, wrapped
from tui.kit.wording import bytes_per_sec, counted, msgs_per_sec, percent, quantity, safe_name

_ALIGNS: Final[tuple[Align, ...]] = ("<", ">", ">", ">", ">")
_HEADING: Final = ("bundle", "topics", "msg/s", "B/s", "of rate")


def split_lines(view: SplitPreviewView, algorithm: str | None = None) -> list[str]:
    """The bundle, then each algorithm (or the one asked for) one below the other."""
    shown = [option for option in view.options if algorithm in (None, option.algorithm)]
    return [
        f"bundle {view.range_text} of namespace {safe_name(view.namespace)}",
        f"{counted(view.topics, 'topic')} · {msgs_per_sec(view.msgs_per_sec)} · {bytes_per_sec(view.bytes_per_sec)}",
        *(line for option in shown for line in _option(option)),
    ]


def _option(option: SplitOption) -> Iterator[str]:
    remarks = []
    if option.is_default:
        remarks.append("the default")
    if option.as_proposed:
        remarks.append(AS_PROPOSED)
    if option.positions_from:
        remarks.append(f"positions: {option.positions_from}")
    yield ""
    yield f"{option.algorithm}{_in_brackets(remarks)}"
    if option.refusal is not None:
        status = f" (HTTP {option.refusal.status})" if option.refusal.status else ""
        reason = f"{option.refusal.error}: {safe_name(option.refusal.message)}"
        yield from _indented(f"a broker refuses the request by name{status}: {reason}")
    elif not option.pieces:
        yield f"  {CUTS_NOTHING}"
    if option.pieces:
        yield f"  cut at {', '.join(option.cut_texts)}"
        rows = [_HEADING] + [
            (
                piece.range_text,
                str(piece.topics),
                quantity(piece.msgs_per_sec),
                quantity(piece.bytes_per_sec),
                percent(piece.rate_share),
            )
            for piece in option.pieces
        ]
        yield from table(rows, _ALIGNS, indent="  ")
    for warning in warning_sentences(option):
        yield from _indented(f"warning: {warning}")
    if option.admin_line:
        yield f"  $ {visible(option.admin_line)}"


def _indented(sentence: str) -> list[str]:
    return wrapped(sentence, first="  ", rest="    ")


def _in_brackets(remarks: list[str]) -> str:
    return f" ({', '.join(remarks)})" if remarks else ""
