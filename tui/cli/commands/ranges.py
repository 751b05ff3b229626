"""``ranges``: the sticky ranges that each of n nodes declares, computed alike everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from tui.cli.exits import FINE
from tui.cli.key_options import KeyChoice, form_option, known_key_options, points_option
from tui.cli.options import ascii_option, json_option
from tui.cli.output import say, write_out, write_page

if TYPE_CHECKING:
    from engine.keyshared.consistent_sticky import KnownKeyRanges, RangeForm
    from engine.ranges import HashRange


@dataclass(frozen=True, slots=True)
class _Output:
    """How the answer is printed: as client code, as JSON, or as a page."""

    code: str | None
    as_json: bool
    ascii_only: bool


@click.command("ranges", short_help="Print consistent sticky ranges: what each node declares.")
@points_option
@form_option
@click.option("--nodes", metavar="N", type=int, required=True, help="How many nodes there are.")
@click.option("--node", metavar="INDEX", type=int, help="Only the node with this index, from 0.")
@known_key_options
@click.option("--size", metavar="N", type=int, help="Known keys of each node (default: as few as it takes).")
@click.option("--code", type=click.Choice(["java", "python", "go"]), help="As the client of this language takes them.")
@json_option
@ascii_option
def ranges_command(
    *,
    points: int,
    form: str,
    nodes: int,
    node: int | None,
    known: KeyChoice,
    size: int | None,
    code: str | None,
    as_json: bool,
    ascii_only: bool,
) -> int:
    """Print consistent sticky ranges: what each of --nodes nodes declares, so that all agree without talking.

    With known keys each node declares the single slots of its share of them instead, in the order they are listed.

    This is a technique of clients, not a mode of the broker: the broker is told STICKY with these ranges. The mode
    consistent-sticky of simulated subscriptions and of other commands has those of --form ringside.

    Example: ringside ranges --nodes 4 --points 4
    """
    from engine.keyshared.consistent_sticky import RangeForm

    if code is not None and as_json:
        raise click.UsageError("--code and --json are two forms of one answer; choose one of them")
    output = _Output(code, as_json, ascii_only)
    if not known.named:
        if size is not None:
            raise click.UsageError("--size: it says how many known keys a node has; name keys with --keys FILE")
        return _consistent(points, RangeForm(form), nodes, node, output)
    for option in ("points", "form"):
        if click.get_current_context().get_parameter_source(option) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{option}: slots of known keys are not made of points; leave it out")
    return _of_known_keys(known, size, nodes, node, output)


def _consistent(points: int, form: RangeForm, nodes: int, node: int | None, output: _Output) -> int:
    from engine.errors import InputError, Rejection
    from engine.keyshared.consistent_sticky import node_ranges, ranges_of_node
    from engine.keyshared.model import RANGE_SIZE

    every = node_ranges(points, nodes, form)
    refusal = every if isinstance(every, Rejection) else ranges_of_node(points, nodes, node or 0, form)
    if isinstance(every, Rejection) or isinstance(refusal, Rejection):
        assert isinstance(refusal, Rejection)
        raise InputError(f"--{refusal.field}: {refusal.message}")
    if nodes > RANGE_SIZE:
        raise InputError(
            f"--nodes: {nodes:,} nodes cannot all join: there are {RANGE_SIZE:,} slots, one at least for each"
        )
    wanted = range(nodes) if node is None else range(node, node + 1)
    if output.as_json:
        from tui.cli.printers.documents import json_rows

        write_out(
            json_rows({"node": each, "ranges": [[piece.start, piece.end] for piece in every[each]]} for each in wanted)
        )
    elif output.code is not None:
        from engine.text import counted

        _write_code(output.code, every, wanted, f"{counted(points, 'point')} each, form {form.value}")
    else:
        from tui.cli.printers.ranges import range_lines

        write_page(range_lines(points, every, wanted, form), ascii_only=output.ascii_only)
    _say_idle(every, wanted, "no range, since other nodes have all its points; it cannot join")
    return FINE


def _of_known_keys(known: KeyChoice, size: int | None, nodes: int, node: int | None, output: _Output) -> int:
    from engine.errors import InputError, Rejection
    from engine.keyshared.consistent_sticky import known_key_ranges
    from tui.cli.known_keys import known_keys

    split: KnownKeyRanges | Rejection = known_key_ranges(tuple(known_keys(known)), nodes, size)
    if isinstance(split, Rejection):
        raise InputError(f"--{split.field}: {split.message}")
    if node is not None and not 0 <= node < nodes:
        raise InputError(f"--node: there is no node {node} among {nodes}; indices go from 0 to {nodes - 1}")
    wanted = range(nodes) if node is None else range(node, node + 1)
    from tui.cli.printers.known_key_ranges import known_key_lines, known_key_rows, known_key_warnings

    if output.as_json:
        from tui.cli.printers.documents import json_rows

        write_out(json_rows(known_key_rows(split, wanted)))
    elif output.code is not None:
        from engine.text import counted

        _write_code(output.code, split.ranges, wanted, f"{counted(split.size, 'known key')} each")
    else:
        write_page(known_key_lines(split, wanted), ascii_only=output.ascii_only)
    for warning in known_key_warnings(split):
        say(warning)
    _say_idle(split.ranges, wanted, "no key is left for it; it cannot join")
    return FINE


def _write_code(language: str, every: Sequence[Sequence[HashRange]], wanted: Sequence[int], made_of: str) -> None:
    from engine.keyshared.clients import ClientLanguage
    from tui.cli.printers.ranges import code_lines

    write_out("\n".join(code_lines(ClientLanguage(language), every, wanted, made_of)))


def _say_idle(every: Sequence[Sequence[HashRange]], wanted: Sequence[int], why: str) -> None:
    idle = [node for node in wanted if not every[node]]
    if idle:
        more = f" and {len(idle) - 1} more" if len(idle) > 1 else ""
        say(f"node {idle[0]}{more}: {why}")
