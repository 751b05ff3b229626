"""``check``: a planned state against its goals, before anybody makes it."""

from __future__ import annotations

from pathlib import Path

import click

from tui.cli.exits import FAILED, FINE
from tui.cli.options import ascii_option, json_option
from tui.cli.output import write_out, write_page


@click.command("check", short_help="Judge a planned state by its goals, for CI.")
@click.argument("path", metavar="PLAN.toml")
@click.option("--junit", metavar="FILE", help="Write JUnit XML too.")
@click.option("--sarif", metavar="FILE", help="Write SARIF 2.1.0 too: the missed goals at their lines.")
@json_option
@ascii_option
def check_command(*, path: str, junit: str | None, sarif: str | None, as_json: bool, ascii_only: bool) -> int:
    """Judge a planned state by its goals: topics, consumers, declared ranges, bundles, settings and release in a TOML
    file, with [subscriptions.goals] and [namespaces.goals] beside them. One line a goal.

    Goals of subscriptions: max_over_mean, max_over_mean_msgs, survive (1 to 3 lost), idle, busiest_msgs, moved (against
    [subscriptions.before] or [before]); of Key_Shared also gaps and overlap. Of namespaces: max_over_mean, survive,
    idle, fullest_bundle.

    Exit code 0: every goal is met. 1: one is missed. 2: the plan cannot be read; each problem names line and field.

    Example: ringside check plan.toml --junit report.xml
    """
    import engine
    from engine.errors import InputError
    from engine.plan.judging import judge_plan
    from engine.plan.model import Plan
    from engine.plan.reading import LONGEST_TEXT, read_plan
    from engine.views.check import check_document, sarif_document
    from tui.cli.printers.check import check_lines, junit_text, sentence
    from tui.cli.printers.documents import json_text
    from tui.cli.reports import JUNIT_MARK, SARIF_MARK, write_report

    source = "standard input" if path == "-" else path
    plan = read_plan(_bytes(path, LONGEST_TEXT + 1), source)
    if not isinstance(plan, Plan):
        raise InputError(f"{source}: {len(plan)} problem{'s' if len(plan) > 1 else ''}, so nothing was judged", plan)
    judged = judge_plan(plan)
    if junit is not None:
        write_report(junit, junit_text(judged), JUNIT_MARK, "--junit")
    if sarif is not None:
        sentences = {each: sentence(each) for each in judged.missed}
        write_report(sarif, json_text(sarif_document(judged, sentences, engine.__version__)), SARIF_MARK, "--sarif")
    if as_json:
        write_out(json_text(check_document(judged)))
    else:
        write_page(check_lines(judged), ascii_only=ascii_only)
    return FAILED if judged.missed else FINE


def _bytes(path: str, most: int) -> bytes:
    from engine.errors import InputError
    from tui.sources.answers import standard_input
    from tui.sources.nearby import missing

    if path == "-":
        return standard_input(most)
    reason = missing(path)
    if reason is not None:
        raise InputError(reason)
    try:
        with Path(path).open("rb") as file:
            return file.read(most)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
