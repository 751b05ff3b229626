"""``brokers``: the brokers of a cluster and the next cycles of shedding, on the screen or as text."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from tui.cli.commands.shed import SHEDDERS
from tui.cli.exits import FINE
from tui.cli.options import Output, max_input_option, output_options, pulsar_option, setting_pairs
from tui.cli.output import say_problems, speaks_unicode, write_out, write_page

if TYPE_CHECKING:
    from engine.balance.shed_question import ShedQuestion


@click.command("brokers", short_help="Show the brokers, what is unloaded next, and what a lost broker does.")
@click.argument("path", required=False, metavar="[FILE | FOLDER]", type=click.Path())
@click.option("--scene", metavar="NAME", help="A shipped cluster instead of a FILE; --scene list names them.")
@click.option("--cycles", metavar="N", type=int, default=20, show_default=True, help="How many cycles ahead.")
@click.option("--shedder", type=click.Choice(SHEDDERS), help="This one, and not that of the settings.")
@click.option("--placement", metavar="NAME", help="This placement strategy, and not that of the settings.")
@click.option("--lost", multiple=True, metavar="BROKER", help="What if this broker were gone? Repeatable, in order.")
@click.option("--added", multiple=True, metavar="NAME", help="What if there were one more, empty? Repeatable.")
@click.option("--seed", metavar="N", type=int, default=0, show_default=True, help="Which draws, where brokers draw.")
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", callback=setting_pairs,
    help="A setting of the load managers, as in broker.conf. Repeatable.",
)  # fmt: skip
@pulsar_option("Answer as this Pulsar version does, such as 4.0.7 or 2.11.")
@max_input_option
@output_options
def brokers_command(
    *,
    path: str | None,
    scene: str | None,
    cycles: int,
    shedder: str | None,
    placement: str | None,
    lost: tuple[str, ...],
    added: tuple[str, ...],
    seed: int,
    settings: tuple[tuple[str, str], ...],
    pulsar: str | None,
    max_input: int,
    output: Output,
) -> int:
    """Show who carries what, which bundles the shedder unloads next and where they may land.

    FOLDER holds load reports (GET /admin/v2/broker-stats/load-report of every broker), with several of each the
    leader's averages are computed from them. Without one a shipped cluster is shown.

    Examples: ringside brokers; ringside brokers reports/ --lost broker-1:8080 --once;
    ringside brokers --scene new-broker --shedder TransferShedder --json
    """
    if scene == "list":
        from engine.scenarios.broker_scenes import BROKER_SCENES

        widest = max(len(each.name) for each in BROKER_SCENES)
        write_page([f"{each.name:<{widest}}  {each.about}" for each in BROKER_SCENES], ascii_only=output.ascii_only)
        return FINE
    if scene is not None and path is not None:
        raise click.UsageError("--scene is instead of a FILE or FOLDER; give one of them")
    question, source = _asked(path, scene, pulsar, max_input, settings)
    if shedder is not None:
        question = replace(question, shedder=shedder)
    question = replace(question, placement=placement, seed=seed, cycles=cycles, lost=lost, added=added)
    if not output.on_screen:
        return _printed(question, source, output)
    from tui.brokers.app import BrokersApp
    from tui.cli.screen import run_screen

    _checked(question)
    mono, ascii_only = output.mono or bool(os.environ.get("NO_COLOR")), output.ascii_only or not speaks_unicode()
    return run_screen(BrokersApp(question, source, theme=output.theme, mono=mono, ascii_only=ascii_only))


def _asked(
    path: str | None, scene: str | None, pulsar: str | None, max_input: int, settings: tuple[tuple[str, str], ...]
) -> tuple[ShedQuestion, str]:
    """The question about a path or a scene, and the name of what is asked about. Raises ``InputError``."""
    from engine.errors import InputError, Rejection

    if path is not None:
        from engine.admin.shed_inputs import read_shed_inputs

        inputs = read_shed_inputs(path, max_input)
        in_force, rules, problems = inputs.in_force(pulsar)
        say_problems((*inputs.problems, *problems))
        make: Callable[[], ShedQuestion] = lambda: inputs.question(in_force, rules)  # noqa: E731
        question, source = make(), path
    else:
        from engine.scenarios.broker_scenes import BROKER_SCENES, broker_scene

        if pulsar is not None:
            raise click.UsageError("--pulsar needs load reports; a shipped cluster has the release that it is about")
        shown = BROKER_SCENES[0] if scene is None else broker_scene(scene)
        question, source = shown.question(), f"scene {shown.name}: {shown.about}"
    named = [name for name, _ in settings]
    for name, text in settings:
        changed = question.settings.with_setting(name, text)
        if isinstance(changed, Rejection):
            raise InputError(f"--set: {changed}")
        question = replace(question, settings=changed)
    if "loadBalancerLoadSheddingStrategy" in named and question.load_manager == "modular":
        question = replace(question, shedder=question.settings.loadBalancerLoadSheddingStrategy)
    return question, source


def _checked(question: ShedQuestion) -> None:
    """Refuse before the screen opens what no cycle is needed for. Raises ``InputError``."""
    from engine.errors import InputError, Rejection

    found = replace(question, cycles=min(question.cycles, 1)).ask()
    if isinstance(found, Rejection):
        raise InputError(found.message)


def _printed(question: ShedQuestion, source: str, output: Output) -> int:
    from engine.errors import InputError, Rejection
    from engine.views.brokers import brokers_view, shedders_compared

    view = brokers_view(question)
    if isinstance(view, Rejection):
        raise InputError(view.message)
    compared = shedders_compared(view)
    if output.json:
        from engine.views.brokers_document import brokers_document
        from tui.cli.printers.documents import json_text

        write_out(json_text(brokers_document(view, compared)))
    else:
        from tui.cli.printers.brokers import brokers_page

        write_page(brokers_page(view, compared, source), ascii_only=output.ascii_only)
    return FINE
