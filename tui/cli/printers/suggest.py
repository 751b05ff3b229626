"""``suggest`` as text: what is suggested, what it is worth, and what stands in its way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from engine.compare.names import Fit
from engine.compare.sizes import ROWS, Goal, Size, Sizing
from engine.compare.verdict import Verdict
from tui.cli.plain import Align, table, wrapped
from tui.kit.verdict_words import sizing_answer, verdict_text, what_rules, worth
from tui.kit.wording import FLAG, quantity, safe_name

_NAME_ALIGNS: Final[tuple[Align, ...]] = ("<", "<")
_SIZE_ALIGNS: Final[tuple[Align, ...]] = ("<", ">", ">", ">", ">", ">", "<")


def names_lines(fit: Fit, fitted_to: str, *, survive: bool) -> Iterator[str]:
    """The names, what they are worth where they were fitted, and elsewhere."""
    rows = [
        ("now", "suggested"),
        *((safe_name(old), safe_name(new)) for old, new in zip(fit.given, fit.names, strict=True)),
    ]
    yield from table(rows, _NAME_ALIGNS, indent="  ")
    yield ""
    yield from wrapped(
        f"fitted to {fitted_to}, {fit.tried:,} names tried: {worth(fit.before, fit.after, survive=survive)}"
    )
    if fit.held_out_before is not None and fit.held_out_after is not None:
        told = worth(fit.held_out_before, fit.held_out_after, survive=survive)
        yield from wrapped(f"on topics it was not fitted to (one half fitted, the other one judged): {told}")
        if fit.held_out_after.now >= fit.held_out_before.now:
            yield from wrapped(
                "so the names are worth nothing where topics change; --for any fits them to the hash space"
            )


def helm_lines(fit: Fit) -> Iterator[str]:
    """The names as values of a chart."""
    yield "consumerNames:"
    yield from (f"  - {json.dumps(name)}" for name in fit.names)


def sizing_lines(kind: str, sizing: Sizing, goal: Goal) -> Iterator[str]:
    """The answer, and the curve around it."""
    yield from wrapped(sizing_answer(kind, sizing, goal))
    surely = [row.number for row in sizing.rows if row.good and 0 < row.chance_high <= goal.max_over_mean]
    if surely and surely[0] != sizing.smallest:
        yield from wrapped(f"with {surely[0]:,} nine of ten draws of other names meet it too; fewer may be luck")
    told = what_rules(kind, sizing)
    if told:
        yield from wrapped(told)
    rows = _around(sizing)
    heading = ("", kind, "max/mean", "after a loss", "most msg/s", "idle", "by chance")
    yield from table([heading, *map(_size_row, rows)], _SIZE_ALIGNS)


def _around(sizing: Sizing) -> tuple[Size, ...]:
    """The rows to show: around the answer, or the last ones."""
    at = next((at for at, row in enumerate(sizing.rows) if row.number == (sizing.smallest or sizing.now)), 0)
    low = max(0, min(at - ROWS // 2, len(sizing.rows) - ROWS))
    return sizing.rows[low : low + ROWS]


def _size_row(row: Size) -> tuple[str, ...]:
    chance = f"{row.chance_low:.2f} to {row.chance_high:.2f}" if row.chance_high else ""
    return (
        "*" if row.good else "",
        f"{row.number:,}",
        f"{row.max_over_mean:.2f}",
        f"{row.after_loss:.2f}" if row.after_loss else "",
        quantity(row.busiest_msgs),
        f"{row.idle:,}",
        chance,
    )


def flag_lines(verdict: Verdict, *, on: bool) -> Iterator[str]:
    """Whether to change the flag, and why."""
    now, other = ("true", "false") if on else ("false", "true")
    if verdict.judgement == "better":
        yield f"set {FLAG}={other}"
    else:
        yield f"leave {FLAG}={now}"
    yield from wrapped(f"{other} would be {verdict_text(verdict)}", first="  ", rest="  ")
