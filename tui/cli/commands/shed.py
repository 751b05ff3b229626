"""``shed``: the next cycles of shedding from load reports, and every shedder on the same cluster."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import click

from engine.errors import InputError, Rejection
from engine.text import counted
from tui.cli.exits import FINE
from tui.cli.options import ascii_option, json_option, max_input_option, pulsar_option, setting_pairs
from tui.cli.output import json_text, say_problems, write_out, write_page
from tui.cli.plain import Align, table, wrapped
from tui.kit.wording import safe_name
from tui.sources.nearby import missing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engine.admin.interruptions import Interruption
    from engine.admin.shed_inputs import ShedInputs
    from engine.balance.ahead.model import AheadCycle, Evenness, ShedAhead
    from engine.balance.settings import LoadSettings
    from engine.scenarios.broker_scenes import BrokerScene

SHEDDERS: Final = ("ThresholdShedder", "OverloadShedder", "UniformLoadShedder", "AvgShedder", "TransferShedder")
TRANSFER: Final = "TransferShedder"
SCENES_LISTED: Final = "list"
_COMPARED: Final[tuple[Align, ...]] = ("<", ">", ">", ">", ">", ">", ">", ">", ">", ">")


@click.command("shed")
@click.argument("path", required=False, metavar="[FILE | FOLDER]", type=click.Path())
@click.option("--scene", metavar="NAME", help="A shipped cluster instead of a FILE; --scene list names them.")
@click.option("--cycles", metavar="N", type=int, default=10, show_default=True, help="How many cycles ahead.")
@click.option("--shedder", type=click.Choice(SHEDDERS), help="This one, and not that of the settings.")
@click.option("--placement", metavar="NAME", help="This placement strategy, and not that of the settings.")
@click.option("--compare", is_flag=True, help="Try every shedder of the release on the same cluster.")
@click.option("--seed", metavar="N", type=int, default=0, show_default=True, help="Which draws, where brokers draw.")
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", callback=setting_pairs,
    help="A setting of the load managers, as in broker.conf. Repeatable.",
)  # fmt: skip
@pulsar_option("Answer as this Pulsar version does, such as 4.0.7 or 2.11.")
@max_input_option
@json_option
@ascii_option
def shed_command(
    *,
    path: str | None,
    scene: str | None,
    cycles: int,
    shedder: str | None,
    placement: str | None,
    compare: bool,
    seed: int,
    settings: tuple[tuple[str, str], ...],
    pulsar: str | None,
    max_input: int,
    as_json: bool,
    ascii_only: bool,
) -> int:
    """Forecast the shedding of a cluster: each cycle's unloads, all brokers they may go to, what stays, and why.

    FOLDER holds load reports (GET /admin/v2/broker-stats/load-report of every broker); the extensible load manager
    gives none, and metrics and loaded topics as ringside record saves them take their place. With several reports of
    each broker the leader's averages are computed from them. Settings come from a run-time configuration in FOLDER,
    or --set.

    Examples: ringside shed reports/ --compare --set loadBalancerBrokerThresholdShedderPercentage=20;
    ringside shed --scene endless --cycles 600 --json
    """
    from engine.views.brokers.model import BrokersQuestion
    from engine.views.brokers.view import brokers_input, forecast_of, interruptions_of

    if scene == SCENES_LISTED:
        write_page(scene_lines(), ascii_only=ascii_only)
        return FINE
    inputs, _ = inputs_of(path, scene, max_input)
    given = brokers_input(inputs, pulsar)
    say_problems(given.problems)
    for name, text in settings:
        changed = given.settings.with_setting(name, text)
        if isinstance(changed, Rejection):
            raise InputError(f"--set: {changed}")
    question = BrokersQuestion(None, shedder, placement, settings, (), cycles, seed)
    forecast = forecast_of(given, question)
    if isinstance(forecast, Rejection):
        option = {"cycles": "--cycles", "loadBalancerLoadPlacementStrategy": "--placement"}
        asked = shedder or placement or (forecast.field if forecast.field in dict(settings) else None)
        raise InputError(refused_text(forecast, option.get(forecast.field, "--shedder"), inputs, asked))
    compared: list[ShedAhead] = []
    for name in SHEDDERS if compare else ():
        other = forecast_of(given, replace(question, shedder=name))
        if not isinstance(other, Rejection):  # this release does not have it
            compared.append(other)
    interruptions = interruptions_of(inputs, forecast)
    if as_json:
        from engine.views.brokers.document import shed_document

        write_out(json_text(shed_document(forecast, compared, interruptions)))
    else:
        write_page(shed_lines(given.behaviour.label, forecast, compared, interruptions), ascii_only=ascii_only)
    return FINE


def inputs_of(path: str | None, scene: str | None, max_input: int) -> tuple[ShedInputs, str]:
    """The load reports of a path, else of a shipped scene, and what to call them. Raises ``InputError``."""
    if path is not None:
        if scene is not None:
            raise click.UsageError("--scene is instead of a FILE or FOLDER; give one of them")
        from engine.admin.shed_inputs import read_shed_inputs

        reason = missing(path)
        if reason is not None:
            raise InputError(reason)
        return read_shed_inputs(path, max_input), path
    shown = scene_shown(scene)
    return shown.inputs(), f"scene {shown.name}"


def refused_text(refused: Rejection, option: str, inputs: ShedInputs, asked: str | None) -> str:
    """A refusal with its place: the option, or the brokers' own setting where nothing else was asked for."""
    if asked is None and refused.field in inputs.settings:
        return f"{refused.field} of the brokers: {refused.message} ({option} takes another one)"
    return f"{option}: {refused.message}"


def scene_shown(name: str | None) -> BrokerScene:
    """The shipped cluster of a name, the first one without. Raises ``InputError``."""
    from engine.scenarios.broker_scenes import BROKER_SCENES, broker_scene

    return BROKER_SCENES[0] if name is None else broker_scene(name)


def scene_lines() -> list[str]:
    """The shipped clusters, a line each."""
    from engine.scenarios.broker_scenes import BROKER_SCENES

    widest = max(len(scene.name) for scene in BROKER_SCENES)
    lines: list[str] = []
    for scene in BROKER_SCENES:
        lines += wrapped(
            f"Pulsar {scene.release}: {scene.about}", first=f"{scene.name:<{widest}}  ", rest=" " * (widest + 2)
        )
    return lines


def shed_lines(
    release: str,
    forecast: ShedAhead,
    compared: Sequence[ShedAhead] = (),
    interruptions: Mapping[str, Interruption] | None = None,
) -> list[str]:
    """The forecast, cycle by cycle; cycles that say the same as the one before are one line."""
    interruptions = interruptions or {}
    from engine.views.brokers.view import shedder_of
    from tui.brokers.words import ASSUMED_TEXTS

    start = forecast.start
    brokers, cycles = counted(len(start.loads), "broker"), counted(len(forecast.cycles), "cycle")
    lines = [
        f"Pulsar {safe_name(release)}: {shedder_of(forecast)} over {brokers}, {cycles}",
        *_indented(f"before: {_even(forecast.before)}"),
    ]
    last: list[str] = []
    for cycle in forecast.cycles:
        heading, *said = _cycle_lines(cycle, shedder_of(forecast), start.settings, interruptions)
        if said == last and not cycle.moves:
            lines.append(f"cycle {cycle.number}: the same")
        else:
            lines += [heading, *said]
        last = said
    lines += ["", *_total_lines(forecast, interruptions), "assumed:"]
    for assumption in forecast.assumptions:
        lines += _indented(ASSUMED_TEXTS[assumption])
    if compared:
        lines += ["", *_compared_lines(compared)]
    return lines


def _indented(sentence: str, indent: str = "  ") -> list[str]:
    return wrapped(sentence, first=indent, rest=indent + "  ")


def _cycle_lines(
    cycle: AheadCycle, shedder: str, settings: LoadSettings, interruptions: Mapping[str, Interruption]
) -> list[str]:
    """The number of the cycle, then what it does."""
    from engine.views.brokers.view import next_cycle
    from tui.brokers.cycle_words import cycle_lines

    (heading, _), *said = cycle_lines(next_cycle(cycle, interruptions), shedder, settings)
    lines = [heading]
    for text, role in said:
        lines += [f"  {text}"] if role == "head" else _indented(text)
    if cycle.moves:
        lines += _indented(f"then: {_even(cycle.evenness)}")
    return lines


def _even(even: Evenness) -> str:
    parts = (("usage", even.usage), ("messages", even.msgs), ("bytes", even.bytes))
    said = [f"{name} {_short(spread.max_over_mean)}" for name, spread in parts if math.isfinite(spread.max_over_mean)]
    return f"the fullest broker over the mean: {', '.join(said)}" if said else "no broker has any load"


def _total_lines(forecast: ShedAhead, interruptions: Mapping[str, Interruption]) -> list[str]:
    from tui.brokers.cycle_words import clients_text

    topics = sum(move.topics for move in forecast.moves)
    returned = sum(move.returns for move in forecast.moves)
    quiet = forecast.quiet_after
    ends = "not quiet by then" if quiet is None else f"quiet after {counted(quiet, 'cycle')}"
    back = f", {counted(returned, 'bundle')} back where they were" if returned else ""
    clients = clients_text(forecast.moves, interruptions)
    return wrapped(
        f"{counted(len(forecast.moves), 'unload')} ({forecast.unloads_per_hour:.1f} an hour),"
        f" {counted(topics, 'topic')}{clients} interrupted{back}; {ends}; {_even(forecast.after)}",
        rest="  ",
    )


def _compared_lines(compared: Sequence[ShedAhead]) -> list[str]:
    from engine.views.brokers.view import shedder_of

    heading = ("shedder", "unloads", "/h", "topics", "back", "quiet", "usage", "dev.", "msgs", "bytes")
    rows = [
        (
            shedder_of(row),
            str(len(row.moves)),
            f"{row.unloads_per_hour:.1f}",
            str(sum(move.topics for move in row.moves)),
            str(sum(move.returns for move in row.moves)),
            "-" if row.quiet_after is None else str(row.quiet_after),
            _ratio(row.after.usage.max_over_mean),
            _ratio(row.after.usage.deviation_over_mean),
            _ratio(row.after.msgs.max_over_mean),
            _ratio(row.after.bytes.max_over_mean),
        )
        for row in compared
    ]
    return [
        *table([heading, *rows], _COMPARED, gap=" "),
        *wrapped(
            "/h: unloads an hour; quiet: cycles until nothing is unloaded any more; usage, msgs and bytes: the fullest"
            " broker over the mean, at the end; dev.: standard deviation of the usage, over the mean"
        ),
    ]


def _ratio(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "-"


def _short(value: float) -> str:
    return "-" if not math.isfinite(value) else f"{value:,.4g}"
