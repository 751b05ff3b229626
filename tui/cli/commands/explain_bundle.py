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
    """Say for every broker whether it may own the bundle, or which filter excludes it, and what the strategy compares;
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
    explanation = explained(view.ahead.start, _bundle_named(bundle, [load.bundles for load in inputs.loads]))
    if isinstance(explanation, Rejection):
        raise InputError(explanation.message)
    if as_json:
        write_out(json_text(bundle_document(explanation)))
    else:
        write_page(bundle_lines(explanation), ascii_only=ascii_only)
    return FINE


def _bundle_named(text: str, reported: Sequence[Sequence[str]]) -> str:
    """The full name of a bundle. Raises ``InputError`` where a range alone is that of several namespaces."""

    if "/" in text:
        return text
    matches = sorted({name for names in reported for name in names if name.rpartition("/")[2] == text})
    if len(matches) > 1:
        raise InputError(f"{text} is a bundle of several namespaces: {', '.join(matches[:5])}; name one of these")
    return matches[0] if matches else text


def bundle_lines(explanation: BundleExplained) -> list[str]:
    """The brokers in the order of their reports."""
    lines = wrapped(f"{safe_name(explanation.bundle)}, owned by {safe_name(explanation.owner or 'nobody')}", rest="  ")
    lines += wrapped(
        f"looked up now, {explanation.strategy} answers: {_REASONS[explanation.reason]}{_limit(explanation)}", rest="  "
    )
    modular = explanation.load_manager == "modular"
    averaged = ("long term",) if modular else ("load",)
    heading = ("broker", "may it", "chance", "usage", "msg/s", *averaged, "topics")
    lines += ["", *table([heading, *(_row(broker, modular=modular) for broker in explanation.brokers)], _ALIGNS), ""]
    return [*lines, *wrapped(_stays(explanation) if modular else _stays_extensible(explanation), rest="  ")]


def _limit(explanation: BundleExplained) -> str:
    """The highest usage or load that is clearly below the mean."""
    if explanation.compared_limit is None:
        return ""
    what = "usage averages" if explanation.load_manager == "modular" else "loads"
    return f" ({what} up to {percent(explanation.compared_limit)} are far enough below)"


def bundle_document(explanation: BundleExplained) -> dict[str, Any]:
    from tui.cli.printers.explanation import FORMAT

    return {"format": FORMAT, "kind": "bundle", **plain_values(explanation)}


def _row(broker: BrokerExplained, *, modular: bool) -> tuple[str, ...]:
    may = {"candidate": "yes", "not-permitted": "no, isolation"}.get(broker.outcome)
    if modular:
        averaged = "-" if broker.long_term_msgs_per_sec is None else quantity(broker.long_term_msgs_per_sec)
    else:
        averaged = "-" if broker.compared is None else percent(broker.compared)
    return (
        f"{safe_name(broker.broker)}{' (owner)' if broker.owns else ''}",
        may or f"no, it {_FILTERS.get(broker.filter, broker.filter)}",
        percent(broker.chance) if broker.chance else "-",
        percent(broker.usage) if math.isfinite(broker.usage) else "-",
        quantity(broker.msgs_per_sec),
        averaged,
        f"{broker.topics:,}",
    )


def _owner_texts() -> dict[str, str]:
    """Why a broker gives nothing away, by the verdict on it in either load manager."""
    from tui.brokers.cycle_words import BROKER_TEXTS, PAIR_TEXTS

    return {
        **{str(outcome): text for outcome, text in BROKER_TEXTS.items()},
        **{str(outcome): text for outcome, text in _IN_CYCLE.items()},
        **{outcome: f"and the emptiest one {text}" for outcome, text in PAIR_TEXTS.items()},
    }


def _stays(explanation: BundleExplained) -> str:
    from tui.brokers.cycle_words import BUNDLE_TEXTS, SKIPPED_TEXTS, STAYS_TEXTS

    if explanation.unload is not None:
        return (
            f"the next cycle of {explanation.shedder} chooses it: {STAYS_TEXTS[explanation.unload]}{_to(explanation)}"
        )
    if explanation.broker_verdict is None:
        why = f", since {SKIPPED_TEXTS[explanation.skipped]}" if explanation.skipped is not None else ""
        return f"{explanation.shedder} is not asked in the next cycle{why}; the bundle stays"
    why = f": {BUNDLE_TEXTS[explanation.verdict]}" if explanation.verdict in BUNDLE_TEXTS else ""
    broker = _owner_texts()[explanation.broker_verdict]
    return f"it stays in the next cycle of {explanation.shedder}: its broker {broker}{why}"


def _stays_extensible(explanation: BundleExplained) -> str:
    """The cycle is the first that can act, since hits are in nobody's report; another leader may be further."""
    from tui.brokers.cycle_words import BUNDLE_TEXTS, SKIPPED_TEXTS

    cycle = f"cycle {explanation.cycle} of {explanation.shedder}"
    if explanation.verdict in ("moved", "swapped"):
        return f"{cycle}, the first that acts, moves it: {BUNDLE_TEXTS[explanation.verdict]}{_to(explanation)}"
    if explanation.broker_verdict is None:
        return f"it stays up to {cycle}: {SKIPPED_TEXTS.get(explanation.skipped or '', 'nothing is looked at')}"
    if explanation.verdict == "not-reported":
        why = "it is not among the largest bundles that its broker reports"
    else:
        why = (
            BUNDLE_TEXTS[explanation.verdict]
            if explanation.verdict is not None
            else f"its broker {_owner_texts()[explanation.broker_verdict]}"
        )
    return f"it stays in {cycle}, the first that acts: {why}"


def _to(explanation: BundleExplained) -> str:
    return f", to {safe_name(explanation.destination)}" if explanation.destination is not None else ""
