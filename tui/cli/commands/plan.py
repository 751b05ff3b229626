"""``plan``: another number of nodes with consistent sticky ranges, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from engine.keyshared.keys import text_of_key
from engine.keyshared.model import RANGE_SIZE
from engine.keyshared.scaling import NodePlan, PlanAction, ScalingPlan, plan_scaling
from engine.text import counted, shell_line
from tui.cli.key_options import KeyChoice, known_key_options, points_option
from tui.cli.options import form_options
from tui.cli.output import Form, accepted_option
from tui.cli.plain import Align, and_more, table, wrapped
from tui.kit.wording import percent, safe_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.keyshared.scaling_modes import ModeMoves
    from engine.ranges import HashRange

KEYS_SHOWN: Final = 20
NODES_SHOWN: Final = 24
PAIRS_SHOWN: Final = 16
BY_ALL: Final = "--all and --json have them all"
_NODE_ALIGNS: Final[tuple[Align, ...]] = (">", ">", ">", ">", ">", ">", ">")
_MODE_ALIGNS: Final[tuple[Align, ...]] = ("<", ">", ">", ">", ">", "<")


def _indices(_ctx: click.Context, _param: click.Parameter, text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return tuple(int(piece) for piece in text.split(","))
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is not a list of node indices; write 1,3") from error


@click.command("plan")
@points_option
@click.option("--nodes", metavar="N", type=int, required=True, help="How many nodes there are.")
@click.option("--to", "after", metavar="N", type=int, required=True, help="How many there will be.")
@click.option(
    "--leaving", metavar="I,J", callback=_indices, help="The nodes that go, if fewer (default: the last indices)."
)
@known_key_options
@click.option("--all", "every", is_flag=True, help="Every range and every key, however many there are.")
@form_options
def plan_command(
    *,
    points: int,
    nodes: int,
    after: int,
    leaving: tuple[int, ...] | None,
    known: KeyChoice,
    every: bool,
    form: Form,
) -> int:
    """Say step by step how --nodes nodes with consistent sticky ranges become --to nodes.

    Ranges may not overlap, so all nodes stop first: the plan says how many slots and which known keys move, what
    stalls meanwhile, and what modes that need no stop would move. With --all also which
    ranges move, and what each node declares before and after.

    Example: ringside plan --nodes 4 --to 5
    """
    from tui.cli.key_options import known_keys

    plan = accepted_option(plan_scaling(points, nodes, after, known_keys(known), leaving=leaving))
    if every and form.as_json:
        raise click.UsageError("--json has everything already; leave --all out")
    return form.show(plan, lambda: plan_lines(plan, every=every))


def plan_lines(plan: ScalingPlan, *, every: bool = False) -> list[str]:
    """The steps, and what they do in numbers; with ``every`` also all ranges that move and that nodes declare."""
    return [
        *wrapped(
            f"from {plan.before} to {counted(plan.after, 'node')} with consistent sticky ranges,"
            f" {counted(plan.points, 'point')} each (a technique of clients, not a mode of the broker)"
        ),
        *_steps(plan),
        "",
        *_nodes(plan, len(plan.nodes) if every else NODES_SHOWN),
        "",
        *_moved(plan, every=every),
        "",
        *_modes(plan),
        "",
        *(_declared(plan) if every else _where_declared(plan)),
    ]


def _steps(plan: ScalingPlan) -> Iterator[str]:
    for step in plan.steps:
        nodes = f"{_named(step.nodes)}{f' ({len(step.nodes)} in all)' if len(step.nodes) > 2 else ''}"
        yield from wrapped(f"{step.action.value}: {nodes}", first=f"{step.step}. ", rest="   ")
        if step.action is PlanAction.STOP and plan.too_early is not None:
            answer = f"one that starts too early is refused ({plan.too_early.error}): {plan.too_early.message}"
            yield from wrapped(answer, first="   ", rest="   ")
    keys = f", and with them all {counted(plan.keys, 'known key')}" if plan.keys else ""
    yield from _labelled(
        "meanwhile",
        f"all {RANGE_SIZE:,} slots stall from the last stop on{keys}; what a node declares is served again as soon as"
        " it has started, the rest keeps waiting",
    )
    turns = plan.in_turns
    if turns.restart_one_by_one:
        parts = [f"stop {_named(turns.stop_first)}"] if turns.stop_first else []
        parts.append(f"restart {_named(turns.restart_one_by_one)} one by one with the new count")
        parts += [f"then start {_named(turns.start_last)}"] if turns.start_last else []
        yield from _labelled(
            "in turns",
            f"where the order of the restarts is kept, fewer stall: {', '.join(parts)};"
            " then only what moves and the node that is just restarted wait",
        )


def _nodes(plan: ScalingPlan, shown: int) -> list[str]:
    heading = ("node", "index", "ranges", "slots", "ranges then", "slots then", "known keys" if plan.keys else "")
    rows = [heading, *(_node_row(node, plan.keys) for node in plan.nodes[:shown])]
    return [*table(rows, _NODE_ALIGNS), *and_more(len(plan.nodes) - shown, BY_ALL, indent="")]


def _node_row(node: NodePlan, keys: int) -> tuple[str, ...]:
    was = "new" if node.index_before is None else str(node.index_before)
    now = "leaves" if node.index_after is None else str(node.index_after)
    index = was if was == now else f"{was} → {now}"
    known = f"{node.keys_before} → {node.keys_after}" if keys else ""
    before = (str(len(node.before)), str(node.slots_before)) if node.index_before is not None else ("-", "-")
    after = (str(len(node.after)), str(node.slots_after)) if node.index_after is not None else ("-", "-")
    return (str(node.node), index, *before, *after, known)


def _moved(plan: ScalingPlan, *, every: bool) -> Iterator[str]:
    share = percent(plan.moved_slots / RANGE_SIZE)
    yield (
        f"moved: {counted(plan.moved_slots, 'slot')} ({share}; {percent(plan.least_share)} if all shares were equal)"
        f" in {counted(len(plan.moves), 'range')}"
    )
    pairs = _by_pair(plan)
    for (source, target), pieces in list(pairs.items())[: None if every else PAIRS_SHOWN]:
        slots = counted(sum(piece.size for piece in pieces), "slot")
        text = " ".join(map(str, pieces)) if every else f"{slots} in {counted(len(pieces), 'range')}"
        yield from wrapped(text, first=f"  node {source} → node {target}: ", rest=" " * 4)
    if not every:
        yield from and_more(len(pairs) - PAIRS_SHOWN, BY_ALL)
    if plan.keys:
        yield f"moved keys: {len(plan.moved_keys)} of {plan.keys}"
        for move in plan.moved_keys[: None if every else KEYS_SHOWN]:
            yield f"  {_key(move.key)} (slot {move.slot}): node {move.source} → node {move.target}"
        if not every:
            yield from and_more(len(plan.moved_keys) - KEYS_SHOWN, BY_ALL)


def _modes(plan: ScalingPlan) -> Iterator[str]:
    yield "the same change in other modes:"
    heading = ("mode", "moved", "of stayers", "moved keys" if plan.keys else "", "busiest÷avg", "")
    rows = [heading, *(_mode_row(mode, plan.keys) for mode in plan.modes)]
    yield from table(rows, _MODE_ALIGNS, indent="  ")
    yield from wrapped(
        "without a stop only keys that move wait, until their former consumer has acknowledged what it holds of them",
        first="  ",
        rest="  ",
    )
    for mode in plan.modes:
        if mode.refusal is not None:
            yield from wrapped(f"{mode.mode.value} cannot: {mode.refusal.message}", first="  ", rest="    ")


def _mode_row(moves: ModeMoves, keys: int) -> tuple[str, ...]:
    if moves.refusal is not None:
        return (moves.mode.value, "-", "-", "-" if keys else "", "-", "cannot")
    return (
        moves.mode.value,
        percent(moves.moved_share),
        percent(moves.between_stayers),
        str(moves.moved_keys) if keys else "",
        f"{moves.max_over_mean:.2f}",
        "all stop" if moves.needs_stop else "no stop",
    )


def _declared(plan: ScalingPlan) -> Iterator[str]:
    for node in plan.nodes:
        yield f"node {node.node} declares"
        for label, pieces, index in (
            ("before", node.before, node.index_before),
            ("after", node.after, node.index_after),
        ):
            text = " ".join(map(str, pieces)) or ("nothing" if index is None else "no range: it cannot join")
            yield from wrapped(text, first=f"  {label:<8}", rest=" " * 10)


def _where_declared(plan: ScalingPlan) -> list[str]:
    line = shell_line("ringside", "ranges", "--points", str(plan.points), "--nodes", str(plan.after))
    return wrapped(f"what each node declares: --all, or {line} (--code java)")


def _by_pair(plan: ScalingPlan) -> dict[tuple[int, int], list[HashRange]]:
    ranges: dict[tuple[int, int], list[HashRange]] = {}
    for move in plan.moves:
        ranges.setdefault((move.source, move.target), []).append(move.range)
    return dict(sorted(ranges.items()))


def _named(nodes: Sequence[int]) -> str:
    """Numbers of nodes; consecutive ones are written FROM-TO.

    >>> _named((0, 1, 2, 5)), _named((3,)), _named((0, 1))
    ('nodes 0-2, 5', 'node 3', 'nodes 0, 1')
    """
    runs: list[list[int]] = []
    for node in nodes:
        if runs and node == runs[-1][-1] + 1:
            runs[-1].append(node)
        else:
            runs.append([node])
    texts = [f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs]
    return f"node{'s' if len(nodes) != 1 else ''} {', '.join(texts)}"


def _labelled(label: str, sentence: str) -> list[str]:
    return wrapped(sentence, first=f"{label}: ", rest="   ")


def _key(key: bytes) -> str:
    return safe_name(text_of_key(key)) if key else '""'
