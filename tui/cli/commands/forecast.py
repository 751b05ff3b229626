"""``forecast``: which bundle splits next, why, when, and what every algorithm makes of the namespace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import click

from tui.cli.exits import FINE
from tui.cli.options import WhatIf, ascii_option, json_option, what_if_options
from tui.cli.output import say, say_problems, write_out, write_page

if TYPE_CHECKING:
    from engine.balance.settings import BalanceSettings
    from engine.errors import Rejection


@click.command("forecast", short_help="Say which bundle splits next, why, when, and what goes round in circles.")
@click.argument("path", required=False, metavar="[FILE | FOLDER]", type=click.Path())
@click.option("--namespace", metavar="NAME", help="tenant/namespace; needed where there are several.")
@click.option("--cycles", metavar="K", type=int, default=20, show_default=True, help="How many cycles ahead.")
@click.option("--brokers", metavar="N", type=int, default=2, show_default=True, help="How many brokers there are.")
@click.option(
    "--load-manager", type=click.Choice(["modular", "extensible"]), default="modular", show_default=True,
    help="Which load manager the brokers have.",
)  # fmt: skip
@click.option(
    "--growth", metavar="X", type=float, default=1.0, show_default=True,
    help="By what the traffic is multiplied at each full interval: 1.1 is ten percent more.",
)  # fmt: skip
@json_option
@ascii_option
@what_if_options
def forecast_command(
    *,
    path: str | None,
    namespace: str | None,
    cycles: int,
    brokers: int,
    load_manager: Literal["modular", "extensible"],
    growth: float,
    as_json: bool,
    ascii_only: bool,
    what_if: WhatIf,
) -> int:
    """Forecast the automatic splits of a namespace: the next one with reason and time, and K cycles of each algorithm.

    Traffic goes on as it is, or grows. --set also takes the intervals of the load managers, such as
    loadBalancerReportUpdateMaxIntervalMinutes=1 or loadBalancerSplitIntervalMinutes=5.

    Example: ringside forecast dump/ --namespace shop/orders --cycles 10
    """
    from dataclasses import replace

    from engine.errors import InputError, Rejection
    from engine.views.bundles.model import BalanceQuestion
    from engine.views.bundles.view import balance_view
    from tui.cli.session import answers_of, namespace_of

    rest, intervals = _intervals(what_if.settings)
    session = answers_of(path, replace(what_if, settings=rest))
    state = session.timeline.state
    view = balance_view(
        state,
        namespace_of(namespace, state),
        BalanceQuestion(brokers, load_manager, cycles, growth, intervals),
    )
    if isinstance(view, Rejection):
        raise InputError(f"{_option(view.field)}: {view.message}")
    say_problems(session.problems)
    say_rejections(view.problems, view.bad_topics)
    if as_json:
        from engine.views.bundles.document import balance_document
        from tui.cli.printers.documents import json_text

        write_out(json_text(balance_document(view)))
    else:
        from tui.cli.printers.forecast import forecast_lines

        write_page(forecast_lines(view), ascii_only=ascii_only)
    return FINE


@click.command("curve", short_help="Draw a bundle's traffic along the hash axis, with the limits and the cuts.")
@click.argument("bundle")
@click.argument("path", required=False, metavar="[FILE | FOLDER]", type=click.Path())
@click.option(
    "--rule", type=click.Choice(["merged", "proposed"]), default="merged", show_default=True,
    help="The rule as merged, or as first proposed (no Pulsar has that one).",
)  # fmt: skip
@click.option("--namespace", metavar="NAME", help="tenant/namespace; needed where there are several.")
@json_option
@ascii_option
@what_if_options
def curve_command(
    *,
    bundle: str,
    path: str | None,
    rule: Literal["merged", "proposed"],
    namespace: str | None,
    as_json: bool,
    ascii_only: bool,
    what_if: WhatIf,
) -> int:
    """Sum up the traffic of BUNDLE along the hash axis as flow_or_qps_equally_divide does, and show where it cuts.

    BUNDLE is a range such as 0x00000000_0x40000000, LARGEST or HOT, or tenant/namespace/RANGE.

    Example: ringside curve HOT dump/ --namespace shop/orders
    """
    from engine.errors import InputError, Rejection
    from engine.views.bundles.view import curve_of
    from tui.cli.session import answers_of, bundle_named

    session = answers_of(path, what_if)
    state = session.timeline.state
    owner, range_text = bundle_named(bundle, namespace, state)
    curve = curve_of(state, owner, range_text, rule)
    if isinstance(curve, Rejection):
        raise InputError(f"{bundle}: {curve.message}")
    say_problems(session.problems)
    say_rejections(curve.problems, curve.bad_topics)
    if as_json:
        from engine.views.bundles.document import curve_document
        from tui.cli.printers.documents import json_text

        write_out(json_text({"namespace": owner, **curve_document(curve)}))
    else:
        from tui.cli.output import speaks_unicode
        from tui.cli.printers.curve import curve_lines

        only_ascii = ascii_only or not speaks_unicode()
        write_page(curve_lines(owner, curve, ascii_only=only_ascii), ascii_only=only_ascii)
    return FINE


def say_rejections(problems: Sequence[Rejection], bad_topics: int) -> None:
    """What is wrong with the input or odd about the settings, each with its field; then how much was left out."""
    for problem in dict.fromkeys(problems):
        say(str(problem))
    if bad_topics:
        say(f"{bad_topics} topic{'s were' if bad_topics > 1 else ' was'} left out; the others are counted in full")


def _intervals(settings: Sequence[tuple[str, str]]) -> tuple[tuple[tuple[str, str], ...], BalanceSettings]:
    """Settings that give cycles their times taken out of the others. Raises ``InputError``."""
    from dataclasses import fields

    from engine.balance.settings import BalanceSettings
    from engine.config import DEFAULTS
    from engine.errors import InputError

    own = {field.name for field in fields(BalanceSettings)} - set(DEFAULTS)
    changed: dict[str, Any] = {}
    for name, text in settings:
        if name in own:
            if not text.strip().lstrip("+-").isdecimal() or abs(int(text)) >= 2**31:
                raise InputError(f"--set {name}={text}: {text!r} is not a whole number of 32 bits")
            changed[name] = int(text)
    return tuple(pair for pair in settings if pair[0] not in own), BalanceSettings(**changed)


def _option(field: str) -> str:
    return f"--set {field}" if field.startswith("loadBalancer") else f"--{field.replace('_', '-')}"
