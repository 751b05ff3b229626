"""``heirs --broker`` and ``heirs --brokers`` as text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from engine.text import counted
from engine.views.brokers.heirs import BrokerHeirsView, BrokerLoss
from tui.cli.plain import Align, table, wrapped
from tui.cli.printers.heirs import more_line
from tui.kit.wording import percent, quantity, safe_name

_HEIR_ALIGNS: Final[tuple[Align, ...]] = ("<", ">", ">", ">", ">")
_LANDING_ALIGNS: Final[tuple[Align, ...]] = ("<", ">", ">", "<", "<")
_LOSS_ALIGNS: Final[tuple[Align, ...]] = ("<", ">", ">", ">", "<", ">", ">", "<")
_CHANCES_NAMED: Final = 3


def broker_heirs_lines(view: BrokerHeirsView, top: int) -> Iterator[str]:
    """What is interrupted, how full the others are then, and where each bundle may land."""
    names = ", ".join(map(safe_name, view.gone))
    yield from wrapped(
        f"if {names} {'dies' if len(view.gone) == 1 else 'die'}: {counted(len(view.landings), 'bundle')} with"
        f" {counted(view.topics, 'topic')} and {quantity(view.msgs_per_sec)} msg/s are looked up again"
        + (f"; {counted(view.unowned, 'bundle')} may be owned by nobody" if view.unowned else "")
    )
    rows = [("broker", "usage", "then", "bundles", "msg/s")]
    rows += [
        (
            f"  {safe_name(heir.broker)}",
            _usage(heir.usage_before),
            _usage(heir.usage_after),
            f"{heir.bundles:,}",
            quantity(heir.msgs_per_sec),
        )
        for heir in view.heirs[:top]
    ]
    yield ""
    yield from table(rows, _HEIR_ALIGNS)
    yield from more_line(len(view.heirs) - top)
    if not view.landings:
        return
    yield ""
    cells = [("bundle", "topics", "msg/s", "to", "or")]
    for _, landing in view.landings[:top]:
        others = [name for name in landing.chances if name != landing.destination]
        more = len(others) - _CHANCES_NAMED
        named = ", ".join(f"{safe_name(name)} {percent(landing.chances[name])}" for name in others[:_CHANCES_NAMED])
        cells.append(
            (
                f"  {safe_name(landing.bundle)}",
                f"{landing.stats.topics:,}",
                quantity(landing.stats.msgs_per_sec),
                safe_name(landing.destination) if landing.destination is not None else "nobody",
                named + (f" and {more} more" if more > 0 else "") if others else landing.refusal,
            )
        )
    yield from table(cells, _LANDING_ALIGNS)
    yield from more_line(len(view.landings) - top)


def broker_losses_lines(losses: Sequence[BrokerLoss], top: int) -> Iterator[str]:
    """A line for each broker that may die."""
    rows = [("if it dies", "bundles", "topics", "msg/s", "fullest then", "usage", "then", "")]
    rows += [
        (
            f"  {safe_name(loss.broker)}",
            f"{loss.bundles:,}",
            f"{loss.topics:,}",
            quantity(loss.msgs_per_sec),
            safe_name(loss.fullest),
            _usage(loss.usage_before),
            _usage(loss.usage_after),
            f"{loss.unowned} of nobody" if loss.unowned else "",
        )
        for loss in losses[:top]
    ]
    yield from table(rows, _LOSS_ALIGNS)
    yield from more_line(len(losses) - top)
    yield ""
    yield from wrapped("where brokers draw, the lots of one seed; usage is the weighted share that placement sees")


def _usage(share: float) -> str:
    return percent(share) if math.isfinite(share) else "-"
