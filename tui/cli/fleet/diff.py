"""``ringside fleet diff``: what changed between two runs."""

from __future__ import annotations

import click

from engine.errors import InputError, Rejection
from tui.cli.exits import FAILED, FINE
from tui.cli.fleet.folder import result_folder
from tui.cli.options import ascii_option, json_option
from tui.cli.output import say, write_out, write_page
from tui.cli.printers.documents import json_text


@click.command("diff", short_help="Say what changed between two runs.")
@click.argument("runs", nargs=-1, metavar="A B")
@click.option("--fail-on", "limits", metavar="LIMIT", multiple=True, help="Exit 1 where it holds, such as 'moved>10%'.")
@click.option("--top", metavar="N", type=click.IntRange(min=1), default=20, show_default=True, help="Rows of a list.")
@json_option
@ascii_option
def diff_runs(*, runs: tuple[str, ...], limits: tuple[str, ...], top: int, as_json: bool, ascii_only: bool) -> int:
    """Put two runs side by side: whose partitions moved, which subscriptions got worse and better, which findings are
    new and gone, and which topics, subscriptions and brokers appeared and vanished.

    A and B are result folders, as paths or URIs. Where one folder has rows of several runs, name the folder and two of
    its run_ids: ringside fleet diff OUT RUN_ID RUN_ID. Everything is counted, and each list has the first --top rows.
    Owners are computed by the rule in force, not what brokers reported. What one of the runs lacks is not compared,
    and the page says so. Needs no Spark.

    --fail-on takes moved (also in %), moved_subscriptions, worse, better, verdicts, idle and lost_msg_rate (how much
    they rose in all), new_findings, gone_findings, and appeared and vanished of topics, subscriptions and brokers, such
    as brokers_vanished. Exit code 1: a limit holds.

    Example: ringside fleet diff monday/ tuesday/ --fail-on 'moved>10%' --fail-on 'new_findings>0'
    """
    from engine.views.comparing.limits import exceeded, parse_limit
    from engine.views.fleet.difference import LIMITED, fleet_difference, fleet_difference_document

    wanted = []
    for text in limits:
        limit = parse_limit(text, LIMITED)
        if isinstance(limit, Rejection):
            raise click.BadParameter(limit.message, param_hint="--fail-on")
        wanted.append(limit)
    if len(runs) not in (2, 3):
        raise click.UsageError("give two result folders, or one folder and two of its run_ids")
    folders = [result_folder(text) for text in (runs if len(runs) == 2 else (runs[0], runs[0]))]
    from tui.sources.fleet_runs import RunTables, columns_of, runs_of

    run_ids = runs[1:] if len(runs) == 3 else ("", "")
    before, after = (RunTables(folder, run_id) for folder, run_id in zip(folders, run_ids, strict=True))
    described = runs_of(before, after)
    columns, missing = columns_of(before, after)
    difference = fleet_difference(*described, columns, top=top, not_compared=missing)
    for limit in wanted:
        if getattr(difference.sums, limit.name) is None:
            raise InputError(
                f"--fail-on {limit.text}: {limit.name} cannot be counted, since one of the runs lacks a table of"
                f" {', '.join(missing)}; make it with ringside fleet run IN OUT"
            )
    if as_json:
        write_out(json_text(fleet_difference_document(difference)))
    else:
        from tui.cli.fleet.difference_page import fleet_difference_lines

        write_page(fleet_difference_lines(difference), ascii_only=ascii_only)
    failed = [limit for limit in wanted if exceeded(limit, difference.sums)]
    for limit in failed:
        say(f"--fail-on {limit.text}: it holds, {limit.name} is {getattr(difference.sums, limit.name):,}")
    return FAILED if failed else FINE
