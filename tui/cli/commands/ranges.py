"""``ranges``: the sticky ranges that each of n nodes declares, computed alike everywhere."""

from __future__ import annotations

import click

from tui.cli.exits import FINE
from tui.cli.key_options import form_option, points_option
from tui.cli.options import ascii_option, json_option
from tui.cli.output import say, write_out, write_page


@click.command("ranges", short_help="Print consistent sticky ranges: what each node declares.")
@points_option
@form_option
@click.option("--nodes", metavar="N", type=int, required=True, help="How many nodes there are.")
@click.option("--node", metavar="INDEX", type=int, help="Only the node with this index, from 0.")
@click.option("--code", type=click.Choice(["java", "python", "go"]), help="As the client of this language takes them.")
@json_option
@ascii_option
def ranges_command(
    *, points: int, form: str, nodes: int, node: int | None, code: str | None, as_json: bool, ascii_only: bool
) -> int:
    """Print consistent sticky ranges: what each of --nodes nodes declares, so that all agree without talking.

    This is a technique of clients, not a mode of the broker: the broker is told STICKY with these ranges.
    """
    from engine.errors import InputError, Rejection
    from engine.keyshared.consistent_sticky import RangeForm, node_ranges, ranges_of_node

    if code is not None and as_json:
        raise click.UsageError("--code and --json are two forms of one answer; choose one of them")
    chosen = RangeForm(form)
    every = node_ranges(points, nodes, chosen)
    refusal = every if isinstance(every, Rejection) else ranges_of_node(points, nodes, node or 0, chosen)
    if isinstance(every, Rejection) or isinstance(refusal, Rejection):
        assert isinstance(refusal, Rejection)
        raise InputError(f"--{refusal.field}: {refusal.message}")
    wanted = range(nodes) if node is None else range(node, node + 1)
    if as_json:
        from tui.cli.printers.documents import json_rows

        write_out(
            json_rows({"node": each, "ranges": [[piece.start, piece.end] for piece in every[each]]} for each in wanted)
        )
    elif code is not None:
        from engine.keyshared.clients import ClientLanguage
        from tui.cli.printers.ranges import code_lines

        write_out("\n".join(code_lines(ClientLanguage(code), points, every, wanted, chosen)))
    else:
        from tui.cli.printers.ranges import range_lines

        write_page(range_lines(points, every, wanted, chosen), ascii_only=ascii_only)
    idle = [each for each in wanted if not every[each]]
    if idle:
        more = f" and {len(idle) - 1} more" if len(idle) > 1 else ""
        say(f"node {idle[0]}{more}: no range, since other nodes have all its points; it cannot join")
    return FINE
