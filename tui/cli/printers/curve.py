"""``curve``: a bundle's traffic along the hash axis as a drawing of characters, with the facts below it."""

from __future__ import annotations

from typing import Final

from engine.bundles.curve import FlowCurve
from engine.views.bundles.words import curve_texts
from tui.bundles.words import flow_picture
from tui.cli.plain import wrapped
from tui.drawing.flow_cells import flow_cells
from tui.kit.wording import safe_name

SIZE: Final = (79, 18)
RULES: Final = {
    "merged": "flow_or_qps_equally_divide as merged: filled from the left, and cut before a limit is passed",
    "proposed": "the rule as first proposed, which no Pulsar has: one cut where half of the traffic is passed",
}


def curve_lines(namespace: str, curve: FlowCurve, *, ascii_only: bool) -> list[str]:
    """The rule, the drawing, and a sentence for each fact."""
    width, height = SIZE
    cells = flow_cells(flow_picture(curve), width, height, ascii_only=ascii_only)
    return [
        f"bundle {curve.bundle} of namespace {safe_name(namespace)}",
        *wrapped(RULES[curve.rule]),
        "",
        *cells.lines(),
        "",
        "area: messages; line: bytes; the dashes: where one of them reaches its limit",
        *(line for text in curve_texts(curve) for line in wrapped(text, rest="  ")),
    ]
