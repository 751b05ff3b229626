"""``explain bundle``: which brokers may own a bundle, and whether it stays where it is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import click

from engine.errors import InputError, accepted
from engine.text import counted, listed
from tui.cli.options import form_options, load_setting_option, max_input_option, pulsar_option
from tui.cli.output import Form, say_problems
from tui.cli.plain import PageColumn, listing, wrapped
from tui.kit.interruptions import anew_parts
from tui.kit.wording import percent, quantity, safe_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.admin.interruptions import Interruption
    from engine.balance.ahead.bundle_explained import BrokerExplained, BundleExplained, OwnerInCycle
    from engine.balance.limits import BundleStats
    from engine.balance.settings import LoadSettings

LISTED: Final = 10
_FILTERS: Final = {
    "topics": "its maximum of topics is reached (loadBalancerBrokerMaxTopics)",
    "anti-affinity": "more namespaces of the anti-affinity group than others",
    "fewest-bundles": "more bundles of the namespace than others (loadBalancerDistributeBundlesEvenlyEnabled)",
    "load-manager": "another load manager",
    "version": "an older version (preferLaterVersions)",
    "": "an isolation policy leaves it out, or it does not take such topics",
}
_IN_CYCLE: Final[dict[OwnerInCycle, str]] = {
    "takes": "takes bundles of a fuller one",
    "not-paired": "is not among the fullest that exchange bundles",
}
_REASONS: Final = {
    "least": "the least of what it compares",
    "all-overloaded": "all are overloaded, so any may be drawn",
    "none-below-average": "none is far enough below the average, so any may be drawn",
    "planned": "the shedder has planned it",
    "planned-overloaded": "the planned broker is overloaded, so any may be drawn that is not",
    "planned-unavailable": "the planned broker is not a candidate, so any other than the present one may be drawn",
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
@load_setting_option
@pulsar_option("Answer as this Pulsar version does, such as 4.0.7 or 2.11.")
@max_input_option
@form_options
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
    form: Form,
) -> int:
    """Say for every broker whether it may own the bundle, or which filter excludes it, and what the strategy compares;
    and whether the bundle can stay where it is.

    RANGE is 0x00000000_0x40000000, or tenant/namespace/RANGE. FOLDER holds load reports.

    Example: ringside explain bundle shop/orders/0x00000000_0x20000000 reports/
    """
    from engine.balance.ahead.bundle_explained import explain_bundle as explained
    from engine.views.brokers.model import BrokersQuestion
    from engine.views.brokers.view import brokers_input, brokers_view
    from tui.cli.commands.brokers import inputs_of

    inputs, source = inputs_of(path, scene, max_input)
    given = brokers_input(inputs, pulsar, source)
    say_problems(given.problems)
    view = accepted(brokers_view(given, BrokersQuestion(None, shedder, placement, settings, cycles=1)))
    explanation = accepted(explained(view.ahead.start, _bundle_named(bundle, [load.bundles for load in inputs.loads])))
    interruption = inputs.interruptions.of(explanation.bundle)
    from engine.views.brokers.document import bundle_document

    return form.show(
        lambda: bundle_document(explanation, interruption),
        lambda: bundle_lines(explanation, view.ahead.start.settings, interruption),
    )


def _bundle_named(text: str, reported: Sequence[Sequence[str]]) -> str:
    """The full name of a bundle. Raises ``InputError`` where a range alone is that of several namespaces."""

    if "/" in text:
        return text
    matches = sorted({name for names in reported for name in names if name.rpartition("/")[2] == text})
    if len(matches) > 1:
        raise InputError(f"{text} is a bundle of several namespaces: {', '.join(matches[:5])}; name one of these")
    return matches[0] if matches else text


def bundle_lines(
    explanation: BundleExplained, settings: LoadSettings, interruption: Interruption | None = None
) -> list[str]:
    """The brokers in the order of their reports, why some may not own it, what becomes of it, what that interrupts."""
    lines = wrapped(f"{safe_name(explanation.bundle)}, owned by {safe_name(explanation.owner or 'nobody')}", rest="  ")
    lines += wrapped(f"looked up now, {explanation.strategy} answers: {_reason(explanation, settings)}", rest="  ")
    modular = explanation.load_manager == "modular"
    lines += ["", *listing(explanation.brokers, _columns(modular=modular))]
    if modular:
        lines += ["long term: messages/s over 1,000 samples, for LeastLongTermMessageRate"]
    lines += ["bundles: those of the namespace"]
    without: dict[str, list[str]] = {}
    for broker in explanation.brokers:
        if broker.outcome != "candidate":
            without.setdefault(broker.filter, []).append(safe_name(broker.broker))
    for name, brokers in without.items():
        lines += wrapped(f"{listed(brokers, LISTED)}: {_FILTERS.get(name, name)}", rest="  ")
    lines += ["", *wrapped(_stays(explanation) if modular else _stays_extensible(explanation), rest="  ")]
    return [*lines, *wrapped(_interrupts(explanation.stats, interruption), rest="  ")]


def _reason(explanation: BundleExplained, settings: LoadSettings) -> str:
    """How the strategy came to its answer; of one that compares with the mean, how far below it is enough."""
    limit, name = explanation.compared_limit, "loadBalancerAverageResourceUsageDifferenceThresholdPercentage"
    if limit is None:
        return _REASONS[explanation.reason]
    below = f"{getattr(settings, name):g} points below the mean ({name})"
    if explanation.reason == "none-below-average":
        return f"none is {below}, so any may be drawn"
    what = "average usage" if explanation.load_manager == "modular" else "load"
    return f"one that is {below}, with {what} up to {percent(limit)}"


def _interrupts(stats: BundleStats, interruption: Interruption | None) -> str:
    from tui.brokers.cycle_words import clients_text

    topics = counted(stats.topics, "topic")
    text = f"unloading it interrupts {topics}{clients_text([stats])}, by the load report"
    if interruption is None:
        return text
    said = ", ".join(anew_parts([interruption])) or "no active consumer is chosen anew and nothing is draining"
    return f"{text}; by statistics of {counted(interruption.topics, 'topic')}: {said}"


def _columns(*, modular: bool) -> list[PageColumn[BrokerExplained]]:
    def averaged(broker: BrokerExplained) -> str:
        if modular:
            return "-" if broker.long_term_msgs_per_sec is None else quantity(broker.long_term_msgs_per_sec)
        return "-" if broker.compared is None else percent(broker.compared)

    return [
        ("broker", "<", lambda broker: f"{safe_name(broker.broker)}{' (owner)' if broker.owns else ''}"),
        ("may", "<", lambda broker: "yes" if broker.outcome == "candidate" else "no"),
        ("chance", ">", lambda broker: percent(broker.chance) if broker.chance else "-"),
        ("usage", ">", lambda broker: percent(broker.usage) if math.isfinite(broker.usage) else "-"),
        ("in+out/s", ">", lambda broker: quantity(broker.msgs_per_sec)),
        ("long term" if modular else "load", ">", averaged),
        ("topics", ">", lambda broker: f"{broker.topics:,}"),
        ("bundles", ">", lambda broker: f"{broker.of_namespace:,}"),
    ]


def _owner_texts() -> dict[str, str]:
    """Why a broker gives nothing away, by the verdict on it in either load manager."""
    from tui.brokers.cycle_words import BROKER_TEXTS, PAIR_TEXTS

    return {
        **{str(outcome): text for outcome, text in BROKER_TEXTS.items()},
        **{str(outcome): text for outcome, text in _IN_CYCLE.items()},
        **{outcome: f"and the emptiest one {text}" for outcome, text in PAIR_TEXTS.items()},
    }


def _stays(explanation: BundleExplained) -> str:
    from tui.brokers.cycle_words import BUNDLE_TEXTS, STAYS_TEXTS, skip_reason

    compared = _compared(explanation)
    if explanation.unload == "unloaded":
        return f"the next cycle of {explanation.shedder} unloads it{_to(explanation)}{compared}"
    if explanation.unload is not None:
        text = STAYS_TEXTS[explanation.unload]
        return f"the next cycle of {explanation.shedder} chooses it{compared}; it stays, as {text}"
    if explanation.broker_verdict is None:
        why = f", since {skip_reason(explanation.skipped)}" if explanation.skipped is not None else ""
        return f"{explanation.shedder} is not asked in the next cycle{why}; the bundle stays"
    why = f": {BUNDLE_TEXTS[explanation.verdict]}" if explanation.verdict in BUNDLE_TEXTS else ""
    broker = _owner_texts()[explanation.broker_verdict]
    return f"it stays in the next cycle of {explanation.shedder}: its broker {broker}{compared}{why}"


def _compared(explanation: BundleExplained) -> str:
    """The numbers that decided about the broker."""
    from engine.balance.thresholds import least_setting, limit_setting
    from tui.kit.compared import compared_text

    measure, figure, limit = explanation.measure, explanation.figure, explanation.limit
    if measure is None or figure is None or limit is None or not math.isfinite(figure) or not math.isfinite(limit):
        return ""
    setting = limit_setting(measure)
    text = f"{compared_text(measure, figure, limit)}{f', {setting}' if setting else ''}"
    need, least, of = explanation.need, explanation.least, explanation.need_measure
    if explanation.broker_verdict == "below-minimum-traffic" and need is not None and least is not None and of:
        text += f"; {compared_text(of, need, least)}, {least_setting(explanation.shedder, of)}"
    return f" ({text})"


def _stays_extensible(explanation: BundleExplained) -> str:
    """The cycle is the first that can act, since hits are in nobody's report; another leader may be further."""
    from tui.brokers.cycle_words import BUNDLE_TEXTS, skip_reason

    cycle = f"cycle {explanation.cycle} of {explanation.shedder}"
    if explanation.verdict in ("moved", "swapped"):
        return f"{cycle}, the first that acts, moves it{_to(explanation)}{_compared(explanation)}"
    if explanation.broker_verdict is None:
        why = "nothing is looked at" if explanation.skipped is None else skip_reason(explanation.skipped)
        return f"it stays up to {cycle}: {why}"
    if explanation.verdict == "not-reported":
        why = "it is not among the largest bundles that its broker reports"
    else:
        why = (
            BUNDLE_TEXTS[explanation.verdict]
            if explanation.verdict is not None
            else f"its broker {_owner_texts()[explanation.broker_verdict]}{_compared(explanation)}"
        )
    return f"it stays in {cycle}, the first that acts: {why}"


def _to(explanation: BundleExplained) -> str:
    return f" to {safe_name(explanation.destination)}" if explanation.destination is not None else ""
