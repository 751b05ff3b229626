"""``plan``: another number of nodes with consistent sticky ranges, step by step."""

from __future__ import annotations

import click

from tui.cli.exits import FINE
from tui.cli.key_options import KeyChoice, form_option, known_key_options, points_option
from tui.cli.options import ascii_option, json_option
from tui.cli.output import write_out, write_page


def _indices(_ctx: click.Context, _param: click.Parameter, text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return tuple(int(piece) for piece in text.split(","))
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is no list of node indices; write 1,3") from error


@click.command("plan", short_help="Say how to change the number of nodes with consistent sticky ranges.")
@points_option
@form_option
@click.option("--nodes", metavar="N", type=int, required=True, help="How many nodes there are.")
@click.option("--to", "after", metavar="N", type=int, required=True, help="How many there will be.")
@click.option(
    "--leaving", metavar="I,J", callback=_indices, help="The nodes that go, if fewer (default: the last indices)."
)
@known_key_options
@click.option("--all", "every", is_flag=True, help="Every range and every key, however many there are.")
@json_option
@ascii_option
def plan_command(
    *,
    points: int,
    form: str,
    nodes: int,
    after: int,
    leaving: tuple[int, ...] | None,
    known: KeyChoice,
    every: bool,
    as_json: bool,
    ascii_only: bool,
) -> int:
    """Say step by step how --nodes nodes with consistent sticky ranges become --to nodes.

    Ranges may not overlap, so all nodes stop first: it is told how many slots and which of the known keys move, what
    stalls meanwhile, what the other form moves, and what modes that need no stop would move. With --all also which
    ranges move, and what each node declares before and after.

    Example: ringside plan --nodes 4 --to 5
    """
    from engine.errors import InputError, Rejection
    from engine.keyshared.consistent_sticky import RangeForm
    from engine.keyshared.scaling import plan_scaling
    from tui.cli.known_keys import known_keys

    plan = plan_scaling(points, nodes, after, known_keys(known), leaving=leaving, form=RangeForm(form))
    if isinstance(plan, Rejection):
        raise InputError(f"--{plan.field}: {plan.message}")
    if every and as_json:
        raise click.UsageError("--json has everything already; leave --all out")
    if as_json:
        from tui.cli.printers.documents import json_text
        from tui.cli.printers.plan import plan_document

        write_out(json_text(plan_document(plan)))
    else:
        from tui.cli.printers.plan import plan_lines

        write_page(plan_lines(plan, every=every), ascii_only=ascii_only)
    return FINE
