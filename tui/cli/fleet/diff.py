"""``ringside fleet diff``: what changed between two runs, the counts first, then the lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import click

from engine.errors import InputError
from engine.text import counted
from tui.cli.fleet.folder import result_folder
from tui.cli.limits import code_under, limits_of
from tui.cli.options import form_options
from tui.cli.output import Form
from tui.cli.plain import Align, table
from tui.kit.wording import BUSIEST_SHORT, percent, safe_name

if TYPE_CHECKING:
    from engine.views.fleet.difference import (
        FindingPlace,
        FleetDifference,
        MovedTopic,
        NameInCluster,
        OwnerChange,
        Run,
        SubscriptionChange,
        SubscriptionMoves,
        SubscriptionName,
    )

OWNERS_SHOWN: Final = 3
_WORDS: Final = {
    "spare_msg_rate": "spare msg/s",
    "idle": "idle",
    "busiest_over_average": BUSIEST_SHORT,
}


def fleet_difference_lines(difference: FleetDifference) -> Iterator[str]:
    """Everything that was compared; of each list what the difference has of it."""
    sums, lists = difference.sums, difference.lists
    yield f"A: {_run(difference.before)}"
    yield f"B: {_run(difference.after)}"
    if difference.not_compared:
        yield f"not compared, since a run lacks it: {', '.join(difference.not_compared)}"
    if sums.partitions is not None and sums.moved is not None:
        share = percent(sums.moved / sums.partitions) if sums.partitions else "none"
        yield (
            f"owners by the rule in force: {sums.moved:,} of {counted(sums.partitions, 'partition')} moved ({share}),"
            " in"
            f" {counted(sums.moved_subscriptions or 0, 'subscription')}"
        )
    if sums.worse is not None:
        yield (
            f"subscriptions: {sums.worse:,} worse, {sums.better:,} better, {sums.verdicts:,} with another verdict;"
            f" {sums.idle:+,} idle consumers, {sums.spare_msg_rate:+,.1f} spare msg/s"
        )
    if sums.new_findings is not None:
        yield f"findings: {sums.new_findings:,} new, {sums.gone_findings:,} gone"
    for noun in ("topics", "subscriptions", "brokers"):
        appeared, vanished = getattr(sums, f"{noun}_appeared"), getattr(sums, f"{noun}_vanished")
        if appeared is not None:
            yield f"{noun}: {appeared:,} appeared, {vanished:,} vanished"
    moved = [(_full(row), f"{row.moved:,}", f"{row.partitions:,}", _owners(row.owners)) for row in lists.moved]
    heads: tuple[str, ...] = ("subscription", "moved", "of", "partitions from → to")
    yield from _block("Moved", heads, moved, "<>><", sums.moved_subscriptions)
    if len(lists.moved) == 1:
        topics = lists.moved[0].topics
        rows = [_topic(row) for row in topics]
        yield from _block("Moved partitions", ("partition", "A", "B"), rows, "<<<", lists.moved[0].moved)
    for title, changes, count in (
        ("Worse", lists.worse, sums.worse),
        ("Better", lists.better, sums.better),
        ("Another verdict", lists.verdicts, sums.verdicts),
    ):
        heads = ("subscription", "type", *_WORDS.values(), "verdict")
        yield from _block(title, heads, [_change(row) for row in changes], "<<" + ">" * len(_WORDS) + "<", count)
    heads = ("severity", "rule", "place")
    for title, findings, count in (
        ("New findings", lists.new_findings, sums.new_findings),
        ("Gone findings", lists.gone_findings, sums.gone_findings),
    ):
        yield from _block(title, heads, [(row.severity, row.rule, _place(row)) for row in findings], "<<<", count)
    for noun in ("topics", "subscriptions", "brokers"):
        for what in ("appeared", "vanished"):
            names = [(_named(row),) for row in getattr(lists, f"{noun}_{what}")]
            yield from _block(f"{noun.capitalize()} {what}", (), names, "<", getattr(sums, f"{noun}_{what}"))


def _run(run: Run) -> str:
    moment = f", of {safe_name(run.snapshot_time)}" if run.snapshot_time else ""
    return f"{safe_name(run.place)} (run {safe_name(run.run_id)}{moment})"


def _full(row: SubscriptionName | SubscriptionMoves | SubscriptionChange | FindingPlace) -> str:
    return _in(row.cluster, f"{safe_name(row.namespace)}/{safe_name(row.subscription)}")


def _in(cluster: str, name: str) -> str:
    return f"{safe_name(cluster)}: {name}" if cluster else name


def _named(row: NameInCluster | SubscriptionName) -> str:
    from engine.views.fleet.difference import NameInCluster

    return _in(row.cluster, safe_name(row.name)) if isinstance(row, NameInCluster) else _full(row)


def _owner(name: str | None) -> str:
    return "nobody" if name is None else safe_name(name)


def _owners(changes: Sequence[OwnerChange]) -> str:
    shown = [f"{row.partitions:,} {_owner(row.before)} → {_owner(row.after)}" for row in changes[:OWNERS_SHOWN]]
    more = len(changes) - OWNERS_SHOWN
    return ", ".join([*shown, f"and {more:,} more pairs"] if more > 0 else shown)


def _topic(row: MovedTopic) -> tuple[str, ...]:
    return safe_name(row.topic), _owner(row.before), _owner(row.after)


def _change(row: SubscriptionChange) -> tuple[str, ...]:
    verdicts = [
        verdict.lower().replace("_", " ") if verdict else "" for verdict in (row.before.verdict, row.after.verdict)
    ]
    numbers = [_pair(getattr(row.before, name), getattr(row.after, name), name) for name in _WORDS]
    verdict = verdicts[1] if verdicts[0] == verdicts[1] else f"{verdicts[0] or 'none'} → {verdicts[1] or 'none'}"
    return _full(row), row.type, *numbers, verdict


def _pair(before: float | None, after: float | None, name: str) -> str:
    style = {"idle": ",.0f", "spare_msg_rate": ",.1f"}.get(name, ",.2f")
    old, new = ("" if value is None else format(value, style) for value in (before, after))
    return new if old == new else f"{old or 'none'} → {new or 'none'}"


def _place(row: FindingPlace) -> str:
    namespace = safe_name(row.namespace) if row.namespace else ""
    subscription = _full(row) if row.subscription else _in(row.cluster, namespace)
    names = (row.bundle, row.topic, row.consumer)
    return ", ".join(part for part in (subscription, *(safe_name(name) for name in names if name)) if part)


def _block(
    title: str, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]], aligns: str, count: int | None
) -> Iterator[str]:
    if not rows:
        return
    sides: list[Align] = [">" if side == ">" else "<" for side in aligns]
    yield ""
    yield title
    yield from table([heads, *rows] if heads else list(rows), sides, indent="  ")
    if (count or 0) > len(rows):
        yield f"  and {(count or 0) - len(rows):,} more (--top has them)"


@click.command("diff", short_help="Say what changed between two runs.")
@click.argument("runs", nargs=-1, metavar="A B")
@click.option("--fail-on", "limits", metavar="LIMIT", multiple=True, help="Exit 1 where it holds, such as 'moved>10%'.")
@click.option("--top", metavar="N", type=click.IntRange(min=1), default=20, show_default=True, help="Rows of a list.")
@form_options
def diff_runs(*, runs: tuple[str, ...], limits: tuple[str, ...], top: int, form: Form) -> int:
    """Compare two runs: whose partitions moved, which subscriptions got worse and better, which findings are
    new and gone, and which topics, subscriptions and brokers appeared and vanished.

    A and B are result folders, as paths or URIs, of which the latest runs are compared. For two runs of one folder name
    it and their ids, which are the names of the files in OUT/runs: ringside fleet diff OUT RUN_ID RUN_ID. Everything is
    counted, and each list has the first --top rows. Owners are computed by the rule in force, not what brokers
    reported. What one of the runs lacks is not compared, and the page says so. Needs no Spark.

    --fail-on takes moved (also in %), moved_subscriptions, worse, better, verdicts, idle and spare_msg_rate (how much
    they rose in all), new_findings, gone_findings, and appeared and vanished of topics, subscriptions and brokers, such
    as brokers_vanished. Exit code 1: a limit holds.

    Example: ringside fleet diff monday/ tuesday/ --fail-on 'moved>10%' --fail-on 'new_findings>0'
    """
    from engine.views.fleet.difference import LIMITED, fleet_difference

    wanted = limits_of(limits, LIMITED)
    if len(runs) not in (2, 3):
        raise click.UsageError("give two result folders, or one folder and two of its run_ids")
    if len(runs) == 2:
        before, after = (result_folder(text) for text in runs)
    else:
        before, after = (result_folder(runs[0], run_id) for run_id in runs[1:])
    from tui.sources.fleet_runs import readers_of, runs_of

    described = runs_of(before, after)
    readers, missing = readers_of(before, after)
    difference = fleet_difference(*described, readers, top=top, not_compared=missing)
    for limit in wanted:
        if getattr(difference.sums, limit.name) is None:
            raise InputError(
                f"--fail-on {limit.text}: {limit.name} cannot be counted, since one of the runs lacks a table of"
                f" {', '.join(missing)}; make it with ringside fleet run IN OUT"
            )
    return form.show(difference, fleet_difference_lines(difference), code_under(wanted, difference.sums))
