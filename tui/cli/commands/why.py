"""``why``: what is wrong with a subscription in the answers of brokers, who causes it, and what mends it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tui.cli.exits import FAILED, FINE
from tui.cli.options import ascii_option, json_option, max_input_option
from tui.cli.output import say_problems, write_out, write_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.admin.snapshot import Moment


@click.command("why", short_help="Say why messages do not arrive: one named cause, in numbers, and its mend.")
@click.argument("path", metavar="[FILE | FOLDER]", required=False)
@click.argument("what", metavar="[SUBSCRIPTION | TOPIC | CONSUMER]", required=False)
@click.option("--subscription", metavar="NAME", help="The subscription, where another thing has its name too.")
@click.option("--all", "lists_all", is_flag=True, help="List every subscription, the worst first.")
@click.option("--ruled-out", is_flag=True, help="Say also which causes were ruled out, and how.")
@max_input_option
@json_option
@ascii_option
def why_command(
    *,
    path: str | None,
    what: str | None,
    subscription: str | None,
    lists_all: bool,
    ruled_out: bool,
    max_input: int,
    as_json: bool,
    ascii_only: bool,
) -> int:
    """Say what is wrong with a subscription: who waits for whom, in numbers, which setting rules it, what mends it.

    FOLDER is a dump: answers of the admin API below admin/v2/..., by moments where folders are named by time. Loose
    files are read too. Two moments some seconds apart say what stands still. Without a name the worst subscription is
    taken; without a FILE or FOLDER the embedded cluster.

    Exit code 0: nothing blocks. 1: something does. 2: the input cannot be used.
    """
    from engine.diagnosis.document import diagnoses_document, diagnosis_document
    from engine.diagnosis.seen import subscriptions_seen
    from engine.diagnosis.selecting import selected
    from engine.diagnosis.why import diagnose_all
    from engine.errors import InputError, Rejection
    from tui.cli.printers import why as printer
    from tui.cli.printers.documents import json_text
    from tui.sources.answers import moments_of

    moments = moments_of(path, limit_bytes=max_input)
    _say_all_problems(moments)
    seen = subscriptions_seen(moments)
    if not seen:
        source = moments[-1].snapshot.source
        raise InputError(f"{source}: the answers show no subscription; give stats, partitioned-stats or broker-stats")
    chosen = seen
    if subscription is not None:
        chosen = [each for each in seen if each.name == subscription]
        if not chosen:
            raise InputError(f"--subscription: the answers have no subscription {subscription!r}")
    if what is not None:
        found = selected(chosen, what)
        if isinstance(found, Rejection):
            raise InputError(found.message)
        chosen = found
    diagnoses = diagnose_all(chosen)
    shown = diagnoses if lists_all else diagnoses[:1]
    if as_json:
        write_out(json_text(diagnoses_document(shown) if lists_all else diagnosis_document(shown[0])))
    elif lists_all:
        write_page(printer.all_lines(shown), ascii_only=ascii_only)
    else:
        lines = printer.why_lines(shown[0], others=len(diagnoses) - 1, in_full=ruled_out)
        write_page(lines, ascii_only=ascii_only)
    return FAILED if any(each.blocks for each in shown) else FINE


def _say_all_problems(moments: Sequence[Moment]) -> None:
    problems = dict.fromkeys(problem for moment in moments for problem in moment.snapshot.problems)
    say_problems(tuple(problems))
