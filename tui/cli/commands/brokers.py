"""``brokers``: the screen of brokers on its own, and the same as text or JSON."""

from __future__ import annotations

import math
import os
from functools import partial
from typing import TYPE_CHECKING, Final

import click

from engine.errors import InputError, Rejection
from engine.text import counted
from engine.views.brokers.model import BrokerRow
from tui.cli.exits import FINE, USAGE
from tui.cli.options import Output, load_setting_option, max_input_option, output_options, pulsar_option
from tui.cli.output import json_text, say, say_problems, speaks_unicode, write_out, write_page
from tui.cli.plain import PageColumn, listing, wrapped
from tui.kit.wording import quantity, safe_name
from tui.sources.nearby import missing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.admin.shed_inputs import ShedInputs
    from engine.scenarios.broker_scenes import BrokerScene
    from engine.views.brokers.model import BrokersInput, BrokersQuestion, BrokersView, Compared


SCENES_LISTED: Final = "list"


@click.command("brokers")
@click.argument("path", required=False, metavar="[FILE | FOLDER]", type=click.Path())
@click.option("--scene", metavar="NAME", help="A shipped cluster instead of a FILE; --scene list names them.")
@click.option(
    "--cycles", metavar="N", type=int, show_default="20, or those of the scene", help="How many cycles ahead."
)
@click.option("--shedder", metavar="NAME", help="This one, and not that of the settings.")
@click.option("--placement", metavar="NAME", help="This placement strategy, and not that of the settings.")
@click.option("--kill", "killed", metavar="BROKER", multiple=True, help="Let a broker die first. Repeatable.")
@click.option("--add", "added", metavar="N", type=click.IntRange(0, 100), default=0, help="Add so many brokers first.")
@click.option("--seed", metavar="N", type=int, default=0, show_default=True, help="Which draws, where brokers draw.")
@load_setting_option
@pulsar_option("Answer as this Pulsar version does, such as 4.0.7 or 2.11.")
@max_input_option
@output_options
def brokers_command(
    *,
    path: str | None,
    scene: str | None,
    cycles: int | None,
    shedder: str | None,
    placement: str | None,
    killed: tuple[str, ...],
    added: int,
    seed: int,
    settings: tuple[tuple[str, str], ...],
    pulsar: str | None,
    max_input: int,
    output: Output,
) -> int:
    """Show the brokers of a cluster: usage by resource, bundles, the next cycles of shedding, and every shedder.

    FOLDER holds load reports (GET /admin/v2/broker-stats/load-report of every broker); the extensible load manager
    gives none, and metrics and loaded topics as ringside record saves them take their place. Without FOLDER a shipped
    cluster is shown. What no answer has is assumed, and named.

    Examples: ringside brokers reports/ --kill broker-1:8080 --once; ringside brokers --scene new-broker
    """
    from engine.views.brokers.model import CYCLES, BrokersQuestion, Change
    from engine.views.brokers.view import brokers_input

    if scene == SCENES_LISTED:
        write_page(scene_lines(), ascii_only=output.ascii_only)
        return FINE
    inputs, source = inputs_of(path, scene, max_input)
    shown = None if path is not None else scene_shown(scene)
    given = brokers_input(inputs, pulsar, source, "" if shown is None else shown.about)
    say_problems(given.problems)
    changes = (*(Change("dies", broker) for broker in killed), *[Change("joins")] * added)
    if cycles is None:
        cycles = CYCLES if shown is None else shown.cycles
    question = BrokersQuestion(None, shedder, placement, settings, changes, cycles, seed)
    return show_brokers(given, question, output)


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
    return f"{option}: {refused if option == '--set' else refused.message}"


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


def show_brokers(given: BrokersInput, question: BrokersQuestion, output: Output) -> int:
    """The screen, or the same printed; the exit code. Raises ``InputError`` for a question that is refused."""
    from engine.views.brokers.view import brokers_view, compared_shedders

    if output.on_screen:
        from tui.brokers.app import BrokersApp
        from tui.cli.exits import why_no_screen
        from tui.cli.screen import run_screen

        reason = why_no_screen()
        if reason is not None:
            say(reason)
            return USAGE
        return run_screen(
            BrokersApp(
                given,
                question,
                theme=output.theme,
                mono=output.mono or bool(os.environ.get("NO_COLOR")),
                ascii_only=output.ascii_only or not speaks_unicode(),
            )
        )
    view = brokers_view(given, question)
    if isinstance(view, Rejection):
        option = {"cycles": "--cycles", "broker": "--kill", "loadBalancerLoadPlacementStrategy": "--placement"}
        known = view.field in (name for name, _ in question.settings)
        place = option.get(view.field, "--set" if known else "--shedder")
        asked = question.shedder or question.placement or (view.field if known else None)
        raise InputError(refused_text(view, place, given.inputs, asked))
    compared = compared_shedders(view)
    if output.json:
        from engine.views.brokers.document import brokers_document

        write_out(json_text(brokers_document(view, compared)))
    else:
        write_page(brokers_lines(view, compared), ascii_only=output.ascii_only)
    return FINE


def brokers_lines(view: BrokersView, compared: Sequence[Compared]) -> list[str]:
    """The brokers, the next cycle, all cycles in numbers, and every shedder."""
    from engine.views.brokers.model import RESOURCES
    from engine.views.brokers.view import brokers_frame, next_cycle
    from tui.brokers.cycle_words import clients_text, move_text
    from tui.brokers.words import (
        RESOURCE_TEXTS,
        compare_lines,
        hint_text,
        next_lines,
        status_text,
        strip_words,
    )

    frame = brokers_frame(view, 0)
    name = f"{safe_name(view.given.source)}, " if view.given.source else ""
    lines = [*wrapped(f"brokers: {name}{status_text(view)}"), *wrapped(hint_text(view, frame)), ""]
    bars: list[PageColumn[BrokerRow]] = [
        (RESOURCE_TEXTS[name], ">", partial(_share, at)) for at, name in enumerate(RESOURCES)
    ]
    columns: list[PageColumn[BrokerRow]] = [
        ("broker", "<", lambda row: safe_name(row.broker)),
        *bars,
        ("bundles", ">", lambda row: str(row.bundles)),
        ("topics", ">", lambda row: str(row.topics)),
        ("in+out/s", ">", lambda row: quantity(row.msgs_per_sec)),
        ("B/s", ">", lambda row: quantity(row.bytes_per_sec)),
    ]
    lines += listing(frame.rows, columns, gap=" ")
    lines += ["usage in % of what there is; /: from there on the shedder acts", ""]
    for text, role in next_lines(view, frame):
        lines += wrapped(text, rest="  ") if role == "head" else wrapped(text, first="  ", rest="    ")
    unloads, topics, msgs = strip_words(view)
    clients = clients_text(view.ahead.moves, view.interruptions)
    interrupted = f"{unloads} unloads, {topics} topics{clients} interrupted, {msgs} in+out/s moved"
    lines += ["", *wrapped(f"all cycles: {interrupted}", rest="  ")]
    for cell, cycle in zip(view.strip, view.ahead.cycles, strict=True):
        if cell.unloads:
            lines.append(f"  cycle {cell.number}: {counted(cell.unloads, 'unload')}, {counted(cell.topics, 'topic')}")
            for move in next_cycle(cycle, view.interruptions).moves if cell.number > 1 else ():
                lines += wrapped(move_text(move), first="    ", rest="      ")
    return [*lines, "", *(text for text, _ in compare_lines(compared, view, 78))]


def _share(at: int, row: BrokerRow) -> str:
    bar = row.bars[at]
    if math.isnan(bar.share):
        return {"no-limit": "no limit", "not-reported": "–"}.get(bar.fault, "NaN")
    limit = f"/{bar.threshold * 100:.0f}" if bar.threshold is not None else ""
    return f"{bar.share * 100:.0f}{limit}"
