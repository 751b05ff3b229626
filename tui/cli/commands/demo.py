"""``demo``: play a script on the screen, or run it without one and check what it expects."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, ClassVar

import click
from msgspec.structs import replace

from engine.answer import about
from engine.errors import InputError
from engine.text import counted
from tui.cli.exits import FAILED, FINE
from tui.cli.options import JournalChoice, Output, journal_options, max_input_option, output_options
from tui.cli.output import json_text, say_problems, write_out, write_page
from tui.cli.plain import wrapped
from tui.cli.showing import demo_session, print_session, session_document, show_session
from tui.kit.wording import safe_name
from tui.sources.nearby import missing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from engine.scenarios.script.run import Script, ScriptStep


@click.command("demo")
@click.argument("script", required=False, metavar="[FILE | NAME]")
@click.option("--headless", is_flag=True, help="Run it without a screen; a failed expectation gives exit code 1.")
@click.option(
    "--record", type=click.Path(), metavar="FILE", help="Write it as a film: .svg, .gif, or .cast for asciinema."
)
@click.option("--columns", type=click.IntRange(1, 400), default=100, show_default=True, help="Of the film.")
@click.option("--rows", type=click.IntRange(1, 200), default=32, show_default=True, help="Of the film.")
@max_input_option
@output_options
@journal_options
def demo_command(
    *,
    script: str | None,
    headless: bool,
    record: str | None,
    columns: int,
    rows: int,
    max_input: int,
    output: Output,
    journal: JournalChoice,
) -> int:
    """Play a demo script: one that is shipped, by its NAME, or a FILE. Without either, list those that are shipped.

    Names of clusters (brokers --scene list) open the screen of brokers, where space plays the cycles.

    With --once or --json the script is run, and what the screen would then show is printed; with --headless --json
    also every line and its result. With --record nothing is shown: every moment of the script becomes a frame.

    Example: ringside demo pip392 --record pip392.svg
    """
    if script is None:
        _list(output)
        return FINE
    if record is not None:
        return _record(_script(script), Path(record), (columns, rows), max_input, output)
    if script in _scene_names():
        return _show_scene(script, output, headless=headless)
    if not headless and output.on_screen:
        return show_session(lambda: demo_session(_script(script), max_input), output, journal)
    return _run(_script(script), output, max_input, every_line=headless)


def _record(script: Script, path: Path, size: tuple[int, int], max_input: int, output: Output) -> int:
    """Play the script without a terminal and keep what it shows."""
    import asyncio

    from tui.recording import check_film, film_of, write_film

    check_film(path, *size)
    film = asyncio.run(film_of(demo_session(script, max_input), *size, theme=output.theme, mono=output.mono))
    write_film(film, path)
    said = f"{counted(len(film.frames), 'moment')} in {film.end_seconds:.0f} s: {safe_name(str(path))}"
    write_page([said], ascii_only=output.ascii_only)
    return FINE


def _scene_names() -> tuple[str, ...]:
    from engine.scenarios.broker_scenes import BROKER_SCENES

    return tuple(scene.name for scene in BROKER_SCENES)


def _show_scene(name: str, output: Output, *, headless: bool) -> int:
    """The screen of brokers with a shipped cluster."""
    from engine.scenarios.broker_scenes import broker_scene
    from engine.views.brokers.model import BrokersQuestion
    from engine.views.brokers.view import brokers_input
    from tui.cli.commands.brokers import show_brokers

    scene = broker_scene(name)
    given = brokers_input(scene.inputs(), source=f"scene {name}", about=scene.about)
    return show_brokers(given, BrokersQuestion(cycles=scene.cycles), replace(output, once=True) if headless else output)


def _list(output: Output) -> None:
    from engine.scenarios.script.run import SHIPPED_SCRIPTS, shipped_script

    scripts = [shipped_script(name) for name in SHIPPED_SCRIPTS]
    if output.json:
        write_out(json_text(list_document(scripts)))
    else:
        from tui.cli.commands.brokers import scene_lines

        clusters = ["", "clusters, on the screen of brokers:", *scene_lines()]
        write_page([*list_lines(scripts), *clusters], ascii_only=output.ascii_only)


def _script(script: str) -> Script:
    """The script of that name, or in that file. Raises ``InputError`` with what may have been meant."""
    from engine.scenarios.script.run import SHIPPED_SCRIPTS, load_script, shipped_script

    if script in SHIPPED_SCRIPTS:
        return shipped_script(script)
    reason = missing(script, (*SHIPPED_SCRIPTS, *_scene_names()), "shipped script")
    if reason is not None:
        raise InputError(reason)
    return load_script(script)


def _run(script: Script, output: Output, max_input: int, *, every_line: bool) -> int:
    """Run a script to its end, print the chosen form, and say what failed."""

    from engine.scenarios.script.run import run_script, script_document, start_of

    steps: list[ScriptStep] = []
    timeline = None
    for step, after in run_script(script, start_of(script, limit_bytes=max_input)):
        steps.append(step)
        timeline = after
    failures = tuple(problem for step in steps for problem in step.failures)
    if output.on_screen:
        write_page(script_lines(steps), ascii_only=output.ascii_only)
    else:
        session = demo_session(script, max_input)
        session = session if timeline is None else replace(session, timeline=timeline)
        if every_line and output.json:
            write_out(json_text(script_document(script, steps, session_document(session))))
        else:
            print_session(session, output)
    say_problems(failures)
    return FAILED if failures else FINE


def list_lines(scripts: Sequence[Script]) -> list[str]:
    """A line for each script: its name and title."""
    width = max(len(_name(script)) for script in scripts)
    return [f"{_name(script):<{width}}  {script.title}" for script in scripts]


@dataclass(frozen=True, slots=True)
class ScriptRow:
    name: Annotated[str, about("What demo takes.")]
    title: Annotated[str, about("What it shows, in a line.")]
    about: Annotated[str, about("What it shows.")]


@dataclass(frozen=True, slots=True)
class ScriptsDocument:
    """The shipped scripts."""

    FORMAT: ClassVar[str] = "ringside.scripts/1"
    scripts: Annotated[tuple[ScriptRow, ...], about("In the order in which they are listed.")]


def list_document(scripts: Iterable[Script]) -> ScriptsDocument:
    """The scripts with what they show."""
    return ScriptsDocument(tuple(ScriptRow(_name(script), script.title, script.about) for script in scripts))


def _name(script: Script) -> str:
    return PurePath(script.source).stem


def script_lines(steps: Sequence[ScriptStep]) -> list[str]:
    """A line or two for each step, and a last line with the sums."""
    expected = [step for step in steps if step.kind == "expect"]
    failed = sum(bool(step.failures) for step in steps)
    met = sum(not step.failures for step in expected)
    outcome = f"{met} of {counted(len(expected), 'expectation')} met"
    return [
        *(line for step in steps for line in _step(step)),
        outcome if not failed else f"{outcome}, {counted(failed, 'line')} failed",
    ]


def _step(step: ScriptStep) -> Iterator[str]:
    text = safe_name(step.text) if step.text else ""
    match step.kind:
        case "say":
            yield from wrapped(text, first="# ", rest="  ")
        case "do":
            refused = f" (refused: {safe_name(step.rejection.message)})" if step.rejection is not None else ""
            yield from wrapped(f"{text}{refused}", first="> ", rest="    ")
        case "expect":
            yield from wrapped(text, first="  FAILED " if step.failures else "  ok ", rest="     ")
    for failure in step.failures:
        yield from wrapped(safe_name(failure.reason), first="  ! ", rest="    ")
