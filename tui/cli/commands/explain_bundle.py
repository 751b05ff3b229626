"""``explain bundle``: which brokers may own a bundle, and whether it stays where it is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import click

from engine.errors import InputError, Rejection
from tui.cli.exits import FINE
from tui.cli.options import ascii_option, json_option, max_input_option, pulsar_option, setting_pairs
from tui.cli.output import json_text, plain_values, say_problems, write_out, write_page
from tui.cli.plain import Align, table, wrapped
from tui.kit.wording import percent, quantity, safe_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.balance.ahead.bundle_explained import BrokerExplained, BundleExplained, OwnerInCycle

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
_REASONS: Final = {
    "least": "it has the least of what the strategy compares",
    "all-overloaded": "all are overloaded, so any may be drawn",
    "none-below-average": "none is far enough below the average, so any may be drawn",
    "planned": "the shedder has planned it",
    "random": "drawn at random",
    "in-turn": "it is its turn",
    "no-candidates": "no broker is left",
}


@click.command("bundle")
@click.argument("bundle", metavar="RANGE")
@click.argument("path", required=False, metavar="[FILE | FOLDER]", type=click.Path())
@click.option("--scene", metavar="NAME", help="A shipped cluster instead of a FILE; ringside brokers --scene list.")
@click.option("--placement", metavar="NAME", help="This placement strategy, and not that of the settings.")
@click.option("--shedder", metavar="NAME", help="This shedder, and not that of the settings.")
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", callback=setting_pairs,
    help="A setting of the load managers, as in broker.conf. Repeatable.",
)  # fmt: skip
@pulsar_option("Answer as this Pulsar version does, such as 4.0.7 or 2.11.")
@max_input_option
@json_option
@ascii_option
def explain_bundle(
    *,
    bundle: str,
    path: str | None,
    scene: str | None,
    placement: str | None,
    shedder: str | None,
    settings: tuple[tuple[str, str], ...],
    pulsar: str | None,
    max_input: int,
    as_json: bool,
    ascii_only: bool,
) -> int:
    """Say of every broker whether it may own the bundle, by which filter it may not, and what the strategy compares;
    and whether the bundle can stay where it is.

    RANGE is 0x00000000_0x40000000, or tenant/namespace/RANGE. FOLDER holds load reports.

    Example: ringside explain bundle shop/orders/0x00000000_0x20000000 reports/
    """
    from engine.balance.ahead.bundle_explained import explain_bundle as explained
    from engine.views.brokers.model import BrokersQuestion
    from engine.views.brokers.view import brokers_input, brokers_view
    from tui.cli.commands.shed import inputs_of

    inputs, source = inputs_of(path, scene, max_input)
    given = brokers_input(inputs, pulsar, source)
    say_problems(given.problems)
    view = brokers_view(given, BrokersQuestion(None, shedder, placement, settings, cycles=1))
    if isinstance(view, Rejection):
        raise InputError(view.message)
    told = explained(view.ahead.start, _bundle_named(bundle, [load.bundles for load in inputs.loads]))
    if isinstance(told, Rejection):
        raise InputError(told.message)
    if as_json:
        write_out(json_text(bundle_document(told)))
    else:
        write_page(bundle_lines(told), ascii_only=ascii_only)
    return FINE


def _bundle_named(text: str, reported: Sequence[Sequence[str]]) -> str:
    """The full name of a bundle. Raises ``InputError`` where a range alone is that of several namespaces."""

    if "/" in text:
        return text
    found = sorted({name for names in reported for name in names if name.rpartition("/")[2] == text})
    if len(found) > 1:
        raise InputError(f"{text} is a bundle of several namespaces: {', '.join(found[:5])}; name one of these")
    return found[0] if found else text


def bundle_lines(told: BundleExplained) -> list[str]:
    """The brokers in the order of their reports."""
    lines = wrapped(f"{safe_name(told.bundle)}, owned by {safe_name(told.owner or 'nobody')}", rest="  ")
    lines += wrapped(f"looked up now, {told.strategy} answers: {_REASONS[told.reason]}{_limit(told)}", rest="  ")
    modular = told.load_manager == "modular"
    averaged = ("long term",) if modular else ("load",)
    heading = ("broker", "may it", "chance", "usage", "msg/s", *averaged, "topics")
    lines += ["", *table([heading, *(_row(broker, modular=modular) for broker in told.brokers)], _ALIGNS), ""]
    return [*lines, *wrapped(_stays(told) if modular else _stays_extensible(told), rest="  ")]


def _limit(told: BundleExplained) -> str:
    """The highest usage or load that is clearly below the mean."""
    if told.compared_limit is None:
        return ""
    what = "usage averages" if told.load_manager == "modular" else "loads"
    return f" ({what} up to {percent(told.compared_limit)} are far enough below)"


def bundle_document(told: BundleExplained) -> dict[str, Any]:
    from tui.cli.printers.explanation import FORMAT

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


def _owner_texts() -> dict[str, str]:
    """Why a broker gives nothing away, by the verdict on it in either load manager."""
    from tui.brokers.words import BROKER_TEXTS, PAIR_TEXTS

    return {
        **{str(outcome): text for outcome, text in BROKER_TEXTS.items()},
        **{str(outcome): text for outcome, text in _IN_CYCLE.items()},
        **{outcome: f"and the emptiest one {text}" for outcome, text in PAIR_TEXTS.items()},
    }


def _stays(told: BundleExplained) -> str:
    from tui.brokers.words import BUNDLE_TEXTS, SKIPPED_TEXTS, STAYS_TEXTS

    if told.unload is not None:
        return f"the next cycle of {told.shedder} chooses it: {STAYS_TEXTS[told.unload]}{_to(told)}"
    if told.broker_verdict is None:
        why = f", since {SKIPPED_TEXTS[told.skipped]}" if told.skipped is not None else ""
        return f"{told.shedder} is not asked in the next cycle{why}; the bundle stays"
    why = f": {BUNDLE_TEXTS[told.verdict]}" if told.verdict in BUNDLE_TEXTS else ""
    return f"it stays in the next cycle of {told.shedder}: its broker {_owner_texts()[told.broker_verdict]}{why}"


def _stays_extensible(told: BundleExplained) -> str:
    """The cycle is the first that can act, since hits are in nobody's report; another leader may be further."""
    from tui.brokers.words import BUNDLE_TEXTS, SKIPPED_TEXTS

    cycle = f"cycle {told.cycle} of {told.shedder}"
    if told.verdict in ("moved", "swapped"):
        return f"{cycle}, the first that acts, moves it: {BUNDLE_TEXTS[told.verdict]}{_to(told)}"
    if told.broker_verdict is None:
        return f"it stays up to {cycle}: {SKIPPED_TEXTS.get(told.skipped or '', 'nothing is looked at')}"
    if told.verdict == "not-reported":
        why = "it is not among the largest bundles that its broker reports"
    else:
        why = (
            BUNDLE_TEXTS[told.verdict]
            if told.verdict is not None
            else f"its broker {_owner_texts()[told.broker_verdict]}"
        )
    return f"it stays in {cycle}, the first that acts: {why}"


def _to(told: BundleExplained) -> str:
    return f", to {safe_name(told.destination)}" if told.destination is not None else ""
