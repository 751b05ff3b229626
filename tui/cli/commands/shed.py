"""``shed``: the next cycles of shedding from load reports, and every shedder on the same cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from tui.cli.exits import FINE
from tui.cli.options import ascii_option, json_option, max_input_option, pulsar_option, setting_pairs
from tui.cli.output import say_problems, write_out, write_page

if TYPE_CHECKING:
    from engine.admin.shed_inputs import ShedInputs
    from engine.balance.ahead.model import ShedAhead
    from engine.balance.settings import LoadSettings
    from engine.bundles.plan import LoadManager
    from engine.errors import Rejection
    from engine.load_rules import LoadRules

SHEDDERS: Final = ("ThresholdShedder", "OverloadShedder", "UniformLoadShedder", "AvgShedder", "TransferShedder")
TRANSFER: Final = "TransferShedder"
SCENES_LISTED: Final = "list"


@click.command("shed", short_help="Say which bundle is unloaded next, from which broker, to which, and why.")
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

    FOLDER holds load reports (GET /admin/v2/broker-stats/load-report of every broker). With several of each broker the
    leader's averages are computed from them. Settings come from a run-time configuration beside them, or --set.

    Examples: ringside shed reports/ --compare --set loadBalancerBrokerThresholdShedderPercentage=20;
    ringside shed --scene endless --cycles 600 --json
    """
    from engine.balance.settings import default_load_settings
    from engine.config import CURRENT, ReleaseBehaviour, behaviour_of
    from engine.errors import InputError, Rejection

    if scene == SCENES_LISTED:
        write_page(scene_lines(), ascii_only=ascii_only)
        return FINE
    inputs, _ = inputs_of(path, scene, max_input)
    behaviour = behaviour_of(pulsar or inputs.version or CURRENT.label)
    rules = (behaviour if isinstance(behaviour, ReleaseBehaviour) else CURRENT).load
    in_force, problems = inputs.settings_over(default_load_settings(rules))
    say_problems((*inputs.problems, *problems))
    for name, text in settings:
        changed = in_force.with_setting(name, text)
        if isinstance(changed, Rejection):
            raise InputError(f"--set: {changed}")
        in_force = changed
    chosen = shedder or (TRANSFER if inputs.is_extensible else in_force.loadBalancerLoadSheddingStrategy)
    ask = _Question(inputs, in_force, rules, placement, seed, cycles)
    found = ask.ahead(chosen)
    if isinstance(found, Rejection):
        option = {"cycles": "--cycles", "loadBalancerLoadPlacementStrategy": "--placement"}
        raise InputError(f"{option.get(found.field, '--shedder')}: {found.message}")
    compared: list[ShedAhead] = []
    for name in SHEDDERS if compare else ():
        other = ask.ahead(name)
        if not isinstance(other, Rejection):  # this release does not have it
            compared.append(other)
    if as_json:
        from engine.views.brokers.document import shed_document
        from tui.cli.printers.documents import json_text

        write_out(json_text(shed_document(found, compared)))
    else:
        from tui.cli.printers.shed import shed_lines

        write_page(shed_lines(found, compared), ascii_only=ascii_only)
    return FINE


def inputs_of(path: str | None, scene: str | None, max_input: int) -> tuple[ShedInputs, str]:
    """The load reports of a path, else of a shipped scene, and what to call them. Raises ``InputError``."""
    if path is not None:
        if scene is not None:
            raise click.UsageError("--scene is instead of a FILE or FOLDER; give one of them")
        from engine.admin.shed_inputs import read_shed_inputs
        from engine.errors import InputError
        from tui.sources.nearby import missing

        reason = missing(path)
        if reason is not None:
            raise InputError(reason)
        return read_shed_inputs(path, max_input), path
    from engine.scenarios.broker_scenes import BROKER_SCENES, broker_scene

    shown = BROKER_SCENES[0] if scene is None else broker_scene(scene)
    return shown.inputs(), f"scene {shown.name}"


def scene_lines() -> list[str]:
    """The shipped clusters, a line each."""
    from engine.scenarios.broker_scenes import BROKER_SCENES

    widest = max(len(each.name) for each in BROKER_SCENES)
    return [f"{each.name:<{widest}}  {each.about}" for each in BROKER_SCENES]


@dataclass(frozen=True, slots=True)
class _Question:
    """One cluster, to be asked about under one shedder after the other."""

    inputs: ShedInputs
    settings: LoadSettings
    rules: LoadRules
    placement: str | None
    seed: int
    cycles: int

    def ahead(self, shedder: str) -> ShedAhead | Rejection:
        """The forecast under this shedder; refused where no broker of the release starts with it."""
        from engine.balance.ahead.forecast import shed_ahead
        from engine.balance.ahead.model import ShedStart
        from engine.balance.leadership.state import ClusterPolicies, Leader

        settings, policies = self._with(shedder), self.inputs.policies
        modular = shedder != TRANSFER
        leader = Leader(settings, policies or ClusterPolicies(), self.rules)
        state = self.inputs.leader_state(leader) if modular else None
        manager: LoadManager = "modular" if modular else "extensible"
        return shed_ahead(
            ShedStart(self.inputs.loads, settings, self.rules, policies, manager, state, self.seed), self.cycles
        )

    def _with(self, shedder: str) -> LoadSettings:
        from engine.views.brokers.view import with_strategies

        return with_strategies(self.settings, shedder, self.placement)
