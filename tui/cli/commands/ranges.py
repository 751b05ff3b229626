"""``ranges``: the sticky ranges that each of n nodes declares, computed alike everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

import click
from click.core import ParameterSource
from msgspec import Struct, to_builtins

from engine.answer import about
from engine.errors import InputError, Rejection
from engine.keyshared.clients import policy_code
from engine.keyshared.keys import text_of_key
from engine.keyshared.model import RANGE_SIZE
from engine.text import counted
from tui.cli.exits import FINE
from tui.cli.key_options import KeyChoice, known_key_options, points_option
from tui.cli.options import form_options
from tui.cli.output import Form, accepted_option, json_rows, say, write_out, write_page
from tui.cli.plain import PageColumn, listing, wrapped
from tui.kit.wording import percent, safe_name

if TYPE_CHECKING:
    from engine.keyshared.consistent_sticky import KnownKeyRanges
    from engine.ranges import HashRange

    NodeRanges = Sequence[Sequence[HashRange]]

KNOWN_KEYS_TECHNIQUE: Final = (
    "single slots of known keys: a technique of clients, not a mode of the broker; each node declares the slots of its"
    " share of the keys as STICKY, and all must use one list in one order and one number of keys and of nodes"
)
TECHNIQUE: Final = (
    "consistent sticky ranges: a technique of clients, not a mode of the broker; each node declares these ranges as"
    " STICKY, and all must use one number of points and of nodes; the last node also has what is above the last point"
)
COMPARED_POINTS: Final = 200_000
"""Points of all nodes up to which it is said what one more node moves: half a second."""


class DeclaredByNode(Struct, frozen=True):
    """What one node declares."""

    node: Annotated[int, about("Its index.", 0)]
    ranges: Annotated[tuple[tuple[int, int], ...], about("First and last slot of each of its ranges.")]
    keys: Annotated[tuple[str, ...] | None, about("Its known keys; null without known keys.")] = None


class RangesDocument(Struct, frozen=True):
    """The answer of ``ranges``."""

    FORMAT: ClassVar[str] = "ringside.ranges/1"
    nodes: Annotated[tuple[DeclaredByNode, ...], about("The nodes that were asked for.")]


@click.command("ranges")
@points_option
@click.option("--nodes", metavar="N", type=int, required=True, help="How many nodes there are.")
@click.option("--node", metavar="INDEX", type=int, help="Only the node with this index, from 0.")
@known_key_options
@click.option("--size", metavar="N", type=int, help="Known keys of each node (default: as few as it takes).")
@click.option("--code", type=click.Choice(["java"]), help="As the client of this language takes them.")
@form_options
def ranges_command(
    *,
    points: int,
    nodes: int,
    node: int | None,
    known: KeyChoice,
    size: int | None,
    code: str | None,
    form: Form,
) -> int:
    """Print consistent sticky ranges: what each of --nodes nodes declares, so that all agree without coordination.

    With known keys each node declares the single slots of its share of them instead, in the order they are listed.

    This is a technique of clients, not a mode of the broker: the broker sees STICKY with these ranges. They are those
    of the article that the technique is from, and those of the mode consistent-sticky of other commands.

    Example: ringside ranges --nodes 4 --points 4
    """
    if code is not None and form.as_json:
        raise click.UsageError("--code and --json are two forms of one answer; choose one of them")
    if not known.named:
        if size is not None:
            raise click.UsageError("--size: it says how many known keys a node has; name keys with --keys FILE")
        return _consistent(points, nodes, node, code, form)
    if click.get_current_context().get_parameter_source("points") is ParameterSource.COMMANDLINE:
        raise click.UsageError("--points: slots of known keys are not made of points; leave it out")
    return _of_known_keys(known, size, nodes, node, code=code, form=form)


def _consistent(points: int, nodes: int, node: int | None, code: str | None, form: Form) -> int:
    from engine.keyshared.consistent_sticky import node_ranges, ranges_of_node

    every = accepted_option(node_ranges(points, nodes))
    accepted_option(ranges_of_node(points, nodes, node or 0))
    if nodes > RANGE_SIZE:
        raise InputError(
            f"--nodes: {nodes:,} nodes cannot all join: there are {RANGE_SIZE:,} slots, one at least for each"
        )
    wanted = range(nodes) if node is None else range(node, node + 1)
    if form.as_json:
        _write_json(DeclaredByNode(node_index, _ends(every[node_index])) for node_index in wanted)
    elif code is not None:
        write_out("\n".join(code_lines(every, wanted, f"{counted(points, 'point')} each")))
    else:
        write_page(range_lines(points, every, wanted), ascii_only=form.ascii_only)
    _say_idle(every, wanted, "no range, since other nodes have all its points; it cannot join")
    return FINE


def _of_known_keys(
    known: KeyChoice, size: int | None, nodes: int, node: int | None, *, code: str | None, form: Form
) -> int:
    from engine.keyshared.consistent_sticky import known_key_ranges
    from tui.cli.key_options import known_keys

    split = accepted_option(known_key_ranges(tuple(known_keys(known)), nodes, size))
    if node is not None and not 0 <= node < nodes:
        raise InputError(f"--node: there is no node {node} among {nodes}; indices go from 0 to {nodes - 1}")
    wanted = range(nodes) if node is None else range(node, node + 1)

    if form.as_json:
        keys = {each: tuple(map(text_of_key, split.keys[each])) for each in wanted}
        _write_json(DeclaredByNode(each, _ends(split.ranges[each]), keys[each]) for each in wanted)
    elif code is not None:
        write_out("\n".join(code_lines(split.ranges, wanted, f"{counted(split.size, 'known key')} each")))
    else:
        write_page(known_key_lines(split, wanted), ascii_only=form.ascii_only)
    for warning in known_key_warnings(split):
        say(warning)
    _say_idle(split.ranges, wanted, "no key is left for it; it cannot join")
    return FINE


def _write_json(nodes: Iterable[DeclaredByNode]) -> None:
    write_out(json_rows(RangesDocument.FORMAT, "nodes", map(to_builtins, nodes)))


def _ends(pieces: Iterable[HashRange]) -> tuple[tuple[int, int], ...]:
    return tuple((piece.start, piece.end) for piece in pieces)


def _say_idle(every: Sequence[Sequence[HashRange]], wanted: Sequence[int], why: str) -> None:
    idle = [node for node in wanted if not every[node]]
    if idle:
        more = f" and {len(idle) - 1} more" if len(idle) > 1 else ""
        say(f"node {idle[0]}{more}: {why}")


def known_key_lines(split: KnownKeyRanges, wanted: Sequence[int]) -> list[str]:
    """The label, the summary of all nodes, and the keys of those that are wanted, each with its slot."""
    from engine.keyshared.consistent_sticky import known_key_slot

    keys = sum(map(len, split.keys))
    lines = [
        *wrapped(KNOWN_KEYS_TECHNIQUE),
        f"{counted(keys, 'key')}, {counted(len(split.ranges), 'node')}, {counted(split.size, 'key')} each",
        "",
        *wrapped(
            f"{split.slots:,} of {RANGE_SIZE:,} slots are declared; messages with a key that has none of them wait"
            " until somebody declares its slot"
        ),
    ]
    for node in wanted:
        text = " ".join(f"{known_key_slot(key)}={_key_text(key)}" for key in split.keys[node])
        lines += ["", f"node {node}", *wrapped(text or "no key is left for it: it cannot join", first="  ", rest="  ")]
    return lines


def known_key_warnings(split: KnownKeyRanges) -> Iterator[str]:
    """What keeps a node from joining or a key from being consumed."""
    from engine.keyshared.consistent_sticky import known_key_slot

    if split.shared:
        first = split.shared[0]
        more = f" ({len(split.shared) - 1} more like it)" if len(split.shared) > 1 else ""
        yield (
            f"slot {first.slot}: nodes {first.node} and {first.other} have keys there; the one that starts second is"
            f" refused{more}; put these keys next to each other"
        )
    for node, keys in enumerate(split.keys):
        for key in keys:
            if known_key_slot(key) == 0:
                name = f"{_key_text(key)} (node {node})"
                yield f"{name}: slot 0 counts as 1 from 4.0 on, so its messages reach nobody there"


def _key_text(key: bytes) -> str:
    return safe_name(text_of_key(key)) if key else '""'


def range_lines(points: int, every: NodeRanges, wanted: Sequence[int]) -> list[str]:
    """The label, the summary of all nodes, what one more moves, and the ranges of those that are wanted."""
    lines = [
        *wrapped(TECHNIQUE),
        f"{counted(points, 'point')} each, {counted(len(every), 'node')}",
        "",
    ]
    lines += summary_lines(every, wanted)
    lines += growth_lines(points, len(every))
    for node in wanted:
        text = " ".join(str(piece) for piece in every[node]) or "no range: it cannot join"
        lines += ["", f"node {node}", *wrapped(text, first="  ", rest="  ")]
    return lines


def summary_lines(every: NodeRanges, wanted: Sequence[int]) -> list[str]:
    """Share and number of ranges of each wanted node, then largest over mean of all of them."""
    mean = RANGE_SIZE / len(every)
    slots = [sum(piece.size for piece in pieces) for pieces in every]
    columns: list[PageColumn[int]] = [
        ("node", ">", str),
        ("ranges", ">", lambda node: str(len(every[node]))),
        ("slots", ">", lambda node: str(slots[node])),
        ("share", ">", lambda node: percent(slots[node] / RANGE_SIZE)),
        ("of mean", ">", lambda node: _times(slots[node], mean)),
    ]
    largest = slots.index(max(slots))
    total = sum(len(pieces) for pieces in every)
    return [
        *listing(wanted, columns),
        f"all nodes: {counted(total, 'range')}, largest over mean {_times(slots[largest], mean)} (node {largest})",
        f"{RANGE_SIZE:,} slots are declared; keys have {RANGE_SIZE - 1:,} of them: slot 0 counts as 1 (4.0+)",
    ]


def growth_lines(points: int, nodes: int) -> list[str]:
    """What one node more moves; nothing where that is too much to compute."""
    from engine.keyshared.consistent_sticky import moved_slots

    if points * (nodes + 1) > COMPARED_POINTS:
        return []
    moved = moved_slots(points, nodes, nodes + 1)
    assert not isinstance(moved, Rejection), moved
    return wrapped(
        f"one node more moves {counted(moved, 'slot')} ({percent(moved / RANGE_SIZE)}); all of them go to the new node"
    )


def code_lines(every: NodeRanges, wanted: Sequence[int], made_of: str) -> Iterator[str]:
    """For each node a comment that says what it is and what its ranges are ``made_of``, and the policy."""
    for place, node in enumerate(wanted):
        pieces = every[node]
        share = percent(sum(piece.size for piece in pieces) / RANGE_SIZE)
        if place:
            yield ""
        yield (f"// node {node} of {len(every)}, {made_of}: {counted(len(pieces), 'range')}, {share} of the slots")
        if not pieces:
            yield "// no range of its own: it cannot join"
        yield from policy_code(f"node{node}", pieces)


def _times(slots: int, mean: float) -> str:
    return f"{slots / mean:.2f}"
