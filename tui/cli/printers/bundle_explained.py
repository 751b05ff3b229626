"""``explain bundle``: a line for each broker, then whether the bundle stays where it is."""

from __future__ import annotations

import math
from typing import Any, Final

from engine.balance.bundle_explained import BrokerExplained, BundleExplained
from tui.cli.plain import Align, table, wrapped
from tui.cli.printers.documents import plain_values
from tui.cli.printers.explanation import FORMAT
from tui.kit.shed_words import BROKER_TEXTS, BUNDLE_TEXTS, STAYS_TEXTS
from tui.kit.wording import percent, quantity, safe_name

_ALIGNS: Final[tuple[Align, ...]] = ("<", "<", ">", ">", ">", ">", ">")
_FILTERS: Final = {
    "topics": "has its maximum of topics",
    "anti-affinity": "has more namespaces of the anti-affinity group",
    "fewest-bundles": "has more bundles of the namespace",
    "load-manager": "runs another load manager",
    "version": "is of an older version",
}
_REASONS: Final = {
    "least": "it has the least of what the strategy compares",
    "all-overloaded": "all are overloaded, so any may be drawn",
    "none-below-average": "none is far enough below the average, so any may be drawn",
    "planned": "the shedder has planned it",
    "random": "drawn at random",
    "in-turn": "it is its turn",
    "no-candidates": "no broker is left",
}


def bundle_lines(told: BundleExplained) -> list[str]:
    """The brokers in the order of their reports."""
    lines = wrapped(f"{safe_name(told.bundle)}, owned by {safe_name(told.owner or 'nobody')}", rest="  ")
    lines += wrapped(f"looked up now, {told.strategy} answers: {_REASONS[told.reason]}", rest="  ")
    heading = ("broker", "may it", "chance", "usage", "msg/s", "long term", "topics")
    lines += ["", *table([heading, *(_row(each) for each in told.brokers)], _ALIGNS), ""]
    return [*lines, *wrapped(_stays(told), rest="  ")]


def bundle_document(told: BundleExplained) -> dict[str, Any]:
    return {"format": FORMAT, "kind": "bundle", **plain_values(told)}


def _row(each: BrokerExplained) -> tuple[str, ...]:
    may = {"candidate": "yes", "not-permitted": "no, isolation"}.get(each.outcome)
    return (
        f"{safe_name(each.broker)}{' (owner)' if each.owns else ''}",
        may or f"no, it {_FILTERS.get(each.filter, each.filter)}",
        percent(each.chance) if each.chance else "-",
        percent(each.usage) if math.isfinite(each.usage) else "-",
        quantity(each.msgs_per_sec),
        quantity(each.long_term_msgs_per_sec),
        f"{each.topics:,}",
    )


def _stays(told: BundleExplained) -> str:
    if told.unload is not None:
        return f"the next cycle of {told.shedder} chooses it: {STAYS_TEXTS[told.unload]}"
    if told.broker_verdict is None:
        return f"{told.shedder} is not asked in the next cycle, so it stays"
    why = f": {BUNDLE_TEXTS[told.verdict]}" if told.verdict is not None else ""
    return f"it stays in the next cycle of {told.shedder}: its broker {BROKER_TEXTS[told.broker_verdict]}{why}"
