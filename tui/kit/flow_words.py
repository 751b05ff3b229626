"""The curve of a bundle's traffic in words and as what is drawn."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from engine.bundles.curve import CurvePoints, FlowCurve
from engine.errors import Rejection
from engine.text import counted
from engine.views.bundles.words import curve_texts
from tui.drawing.flow_cells import FlowPicture
from tui.kit.wording import bytes_per_sec, quantity


def curve_title(curve: FlowCurve | Rejection, range_text: str) -> str:
    """The title of the curve's panel: the bundle, the rule and its cuts."""
    if isinstance(curve, Rejection):
        return f"flow of {range_text}"
    rule = "merged rule" if curve.rule == "merged" else "rule as first proposed, which no Pulsar has"
    return f"flow of {range_text}, {rule}: {curve_texts(curve)[0]}"


PAST_ANY_LIMIT: Final = 2.0
"""The share of any traffic where the limit is 0 or less."""


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
    hashes, msgs, octets = _columns(curve)
    return FlowPicture(
        lower=curve.bundle.lower,
        upper=curve.bundle.upper,
        hashes=hashes,
        msgs=tuple(share_of(value, curve.msg_limit) for value in msgs),
        octets=tuple(share_of(value, curve.byte_limit) for value in octets),
        cuts=cuts,
        restarts=merged,
        gate=share_of(curve.gate_msgs_per_sec, curve.msg_limit) if merged and not cuts else 0.0,
        msg_label=f"{quantity(curve.msg_limit)}/s",
        byte_label=bytes_per_sec(curve.byte_limit),
        labels=_pieces(curve, cuts, hashes),
    )


def _columns(curve: FlowCurve) -> tuple[tuple[int, ...], Sequence[float], Sequence[float]]:
    """The hashes, and both sums since the last cut."""
    points = curve.points
    if isinstance(points, CurvePoints):
        return tuple(points.hashes.tolist()), points.piece_msgs_per_sec.tolist(), points.piece_bytes_per_sec.tolist()
    return (
        tuple(point.hash for point in points),
        [point.piece_msgs_per_sec for point in points],
        [point.piece_bytes_per_sec for point in points],
    )


def _pieces(curve: FlowCurve, cuts: tuple[int, ...], hashes: tuple[int, ...]) -> tuple[str, ...]:
    ends = (curve.bundle.lower, *cuts, curve.bundle.upper + 1)
    points = curve.points
    rates = (
        points.msgs_per_sec.tolist() if isinstance(points, CurvePoints) else [point.msgs_per_sec for point in points]
    )
    labels = []
    for lower, upper in pairwise(ends):
        low, high = bisect_left(hashes, lower), bisect_left(hashes, upper)
        labels.append(f"{counted(high - low, 'topic')} · {quantity(sum(rates[low:high]))}/s")
    return tuple(labels)
