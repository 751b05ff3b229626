"""``demo``: play a script on the screen, or run it without one and check what it expects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tui.cli.exits import FAILED, FINE
from tui.cli.options import JournalChoice, Output, journal_options, max_input_option, output_options
from tui.cli.output import say_problems, write_out, write_page
from tui.cli.printers.documents import json_text
from tui.cli.showing import demo_session, print_session, session_document, show_session

if TYPE_CHECKING:
    from engine.scenarios.script.run import Script, ScriptStep


@click.command(short_help="Play a demo script, or list those that are shipped.")
@click.argument("script", required=False, metavar="[FILE | NAME]")
@click.option("--headless", is_flag=True, help="Run it without a screen; a failed expectation gives exit code 1.")
@max_input_option
@output_options
@journal_options
def demo(*, script: str | None, headless: bool, max_input: int, output: Output, journal: JournalChoice) -> int:
    """Play a demo script: one that is shipped, by its NAME, or a FILE. Without either, list those that are shipped.

    With --once or --json the script is run, and what the screen would then tell is printed; with --headless --json
    also every line, and what came of it.

    Example: ringside demo pip392 --headless
    """
    if script is None:
        _list(output)
        return FINE
    if not headless and output.on_screen:
        return show_session(lambda: demo_session(_found(script), max_input), output, journal)
    return _run(_found(script), output, max_input, every_line=headless)


def _list(output: Output) -> None:
    from engine.scenarios.script.run import SHIPPED_SCRIPTS, shipped_script
    from tui.cli.printers.script import list_document, list_lines

    scripts = [shipped_script(name) for name in SHIPPED_SCRIPTS]
    if output.json:
        write_out(json_text(list_document(scripts)))
    else:
        write_page(list_lines(scripts), ascii_only=output.ascii_only)


def _found(script: str) -> Script:
    """The script of that name, or in that file. Raises ``InputError`` with what may have been meant."""
    from engine.errors import InputError
    from engine.scenarios.script.run import SHIPPED_SCRIPTS, load_script, shipped_script
    from tui.sources.nearby import missing

    if script in SHIPPED_SCRIPTS:
        return shipped_script(script)
    reason = missing(script, SHIPPED_SCRIPTS, "shipped script")
    if reason is not None:
        raise InputError(reason)
    return load_script(script)


def _run(script: Script, output: Output, max_input: int, *, every_line: bool) -> int:
    """Run a script to its end, print what was asked for, and say what failed."""
    from dataclasses import replace

    from engine.scenarios.script.run import run_script, start_of
    from tui.cli.printers.script import script_document, script_lines

    steps: list[ScriptStep] = list(run_script(script, start_of(script, limit_bytes=max_input)))
    failures = tuple(problem for step in steps for problem in step.failures)
    if output.on_screen:
        write_page(script_lines(steps), ascii_only=output.ascii_only)
    else:
        session = demo_session(script, max_input)
        session = replace(session, timeline=steps[-1].timeline) if steps else session
        if every_line and output.json:
            write_out(json_text(script_document(script, steps, session_document(session))))
        else:
            print_session(session, output)
    say_problems(failures)
    return FAILED if failures else FINE
