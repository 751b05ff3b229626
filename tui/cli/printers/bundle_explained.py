"""``explain bundle``: a line for each broker, then whether the bundle stays where it is."""

from __future__ import annotations

import math
from typing import Any, Final

from engine.balance.ahead.bundle_explained import BrokerExplained, BundleExplained, OwnerInCycle
from tui.brokers.words import BROKER_TEXTS, BUNDLE_TEXTS, PAIR_TEXTS, SKIPPED_TEXTS, STAYS_TEXTS
from tui.cli.plain import Align, table, wrapped
from tui.cli.printers.documents import plain_values
from tui.cli.printers.explanation import FORMAT
from tui.kit.wording import percent, quantity, safe_name

_ALIGNS: Final[tuple[Align, ...]] = ("<", "<", ">", ">", ">", ">", ">")
_FILTERS: Final = {
    "topics": "has its maximum of topics",
    "anti-affinity": "has more namespaces of the anti-affinity group",
    "fewest-bundles": "has more bundles of the namespace",
    "load-manager": "runs another load manager",
    "version": "is of an older version",
}
_IN_CYCLE: Final[dict[OwnerInCycle, str]] = {
    "takes": "takes bundles of a fuller one",
    "not-paired": "is not among the fullest that exchange bundles",
}
_OWNERS: Final[dict[str, str]] = {
    **{str(outcome): text for outcome, text in BROKER_TEXTS.items()},
    **{str(outcome): text for outcome, text in _IN_CYCLE.items()},
    **{outcome: f"and the emptiest one {text}" for outcome, text in PAIR_TEXTS.items()},
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
    lines += wrapped(f"looked up now, {told.strategy} answers: {_REASONS[told.reason]}{_limit(told)}", rest="  ")
    modular = told.load_manager == "modular"
    averaged = ("long term",) if modular else ("load",)
    heading = ("broker", "may it", "chance", "usage", "msg/s", *averaged, "topics")
    lines += ["", *table([heading, *(_row(each, modular=modular) for each in told.brokers)], _ALIGNS), ""]
    return [*lines, *wrapped(_stays(told) if modular else _stays_extensible(told), rest="  ")]


def _limit(told: BundleExplained) -> str:
    """The highest usage or load that is clearly below the mean."""
    if told.compared_limit is None:
        return ""
    what = "usage averages" if told.load_manager == "modular" else "loads"
    return f" ({what} up to {percent(told.compared_limit)} are far enough below)"


def bundle_document(told: BundleExplained) -> dict[str, Any]:
    return {"format": FORMAT, "kind": "bundle", **plain_values(told)}


def _row(each: BrokerExplained, *, modular: bool) -> tuple[str, ...]:
    may = {"candidate": "yes", "not-permitted": "no, isolation"}.get(each.outcome)
    if modular:
        averaged = "-" if each.long_term_msgs_per_sec is None else quantity(each.long_term_msgs_per_sec)
    else:
        averaged = "-" if each.compared is None else percent(each.compared)
    return (
        f"{safe_name(each.broker)}{' (owner)' if each.owns else ''}",
        may or f"no, it {_FILTERS.get(each.filter, each.filter)}",
        percent(each.chance) if each.chance else "-",
        percent(each.usage) if math.isfinite(each.usage) else "-",
        quantity(each.msgs_per_sec),
        averaged,
        f"{each.topics:,}",
    )


def _stays(told: BundleExplained) -> str:
    if told.unload is not None:
        return f"the next cycle of {told.shedder} chooses it: {STAYS_TEXTS[told.unload]}{_to(told)}"
    if told.broker_verdict is None:
        why = f", since {SKIPPED_TEXTS[told.skipped]}" if told.skipped is not None else ""
        return f"{told.shedder} is not asked in the next cycle{why}; the bundle stays"
    why = f": {BUNDLE_TEXTS[told.verdict]}" if told.verdict in BUNDLE_TEXTS else ""
    return f"it stays in the next cycle of {told.shedder}: its broker {_OWNERS[told.broker_verdict]}{why}"


def _stays_extensible(told: BundleExplained) -> str:
    """The cycle is the first that can act, since hits are in nobody's report; another leader may be further."""
    cycle = f"cycle {told.cycle} of {told.shedder}"
    if told.verdict in ("moved", "swapped"):
        return f"{cycle}, the first that acts, moves it: {BUNDLE_TEXTS[told.verdict]}{_to(told)}"
    if told.broker_verdict is None:
        return f"it stays up to {cycle}: {SKIPPED_TEXTS.get(told.skipped or '', 'nothing is looked at')}"
    if told.verdict == "not-reported":
        why = "it is not among the largest bundles that its broker reports"
    else:
        why = BUNDLE_TEXTS[told.verdict] if told.verdict is not None else f"its broker {_OWNERS[told.broker_verdict]}"
    return f"it stays in {cycle}, the first that acts: {why}"


def _to(told: BundleExplained) -> str:
    return f", to {safe_name(told.destination)}" if told.destination is not None else ""
