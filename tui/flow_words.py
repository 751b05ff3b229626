"""A bundle's curve for drawing and in words: the shares of its limits, and what each piece holds."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from engine.bundles.curve import FlowCurve
from engine.views.balance_words import MBYTE
from tui.drawing.flow_cells import FlowPicture
from tui.wording import counted, quantity

PAST_ANY_LIMIT: Final = 2.0
"""How high traffic stands over a limit of 0 or less."""


def share_of(value: float, limit: float) -> float:
    """A sum in terms of its limit.

    >>> share_of(20.0, 40.0), share_of(0.0, 0.0), share_of(1.0, 0.0)
    (0.5, 0.0, 2.0)
    """
    if limit > 0:
        return value / limit
    return PAST_ANY_LIMIT if value > 0 else 0.0


def flow_picture(curve: FlowCurve) -> FlowPicture:
    """What is drawn of a curve: cuts inside the bundle, each once, and the pieces between them."""
    cuts = tuple(sorted({cut.position for cut in curve.cuts if cut.inside}))
    merged = curve.rule == "merged"
    return FlowPicture(
        lower=curve.bundle.lower,
        upper=curve.bundle.upper,
        hashes=tuple(point.hash for point in curve.points),
        msgs=tuple(share_of(point.piece_msgs_per_sec, curve.msg_limit) for point in curve.points),
        octets=tuple(share_of(point.piece_bytes_per_sec, curve.byte_limit) for point in curve.points),
        cuts=cuts,
        restarts=merged,
        gate=share_of(curve.gate_msgs_per_sec, curve.msg_limit) if merged and not cuts else 0.0,
        msg_label=f"{quantity(curve.msg_limit)}/s",
        byte_label=_byte_label(curve.byte_limit),
        labels=_pieces(curve, cuts),
    )


def _byte_label(limit: float) -> str:
    """A limit as the setting has it, in MB of 1048576 bytes; small halves of a total as bytes."""
    mbytes = limit / MBYTE
    return f"{mbytes:.0f} MB/s" if 1 <= mbytes == round(mbytes) < 1000 else f"{quantity(limit)}B/s"


def _pieces(curve: FlowCurve, cuts: tuple[int, ...]) -> tuple[str, ...]:
    ends = (curve.bundle.lower, *cuts, curve.bundle.upper + 1)
    labels = []
    for lower, upper in pairwise(ends):
        inside = [point for point in curve.points if lower <= point.hash < upper]
        rate = sum(point.msgs_per_sec for point in inside)
        labels.append(f"{counted(len(inside), 'topic')} · {quantity(rate)}/s")
    return tuple(labels)
