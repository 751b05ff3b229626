"""Demo scripts: read, run, and checked by their own ``expect`` lines, on a screen or without one.

The language is that of ``reader`` and ``expectations``; commands are those of ``engine.cluster.grammar``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal

from engine.answer import about
from engine.cluster.commands import Command, TimelineCommand
from engine.cluster.grammar.reading import parse_command
from engine.cluster.timeline import Timeline, navigate
from engine.config import CURRENT
from engine.errors import InputError, Problem, Rejection, system_reason
from engine.input import MAX_INPUT_BYTES, read_path
from engine.routing.clients import key_routing
from engine.scenarios.embedded import embedded
from engine.scenarios.opening import Opened, open_path
from engine.scenarios.script.expectations import judged
from engine.scenarios.script.model import (
    Do,
    Expectation,
    Say,
    Script,
    ScriptLine,
    Select,
    Show,
    StartKeys,
    StartNew,
    StartPath,
    StartProducers,
    StartScene,
)
from engine.scenarios.script.reader import parse_script
from engine.scenarios.selecting import Selection, resolve_selection
from engine.scenarios.synthetic import synthetic_keys, synthetic_producers, synthetic_state

__all__ = [
    "SHIPPED_SCRIPTS",
    "Script",
    "ScriptStep",
    "load_script",
    "parse_script",
    "run_script",
    "shipped_script",
    "start_of",
]

SUFFIX: Final = ".ringside"
SHIPPED_SCRIPTS: Final = (
    "pip392",
    "flow-split",
    "three-splits",
    "pip-169",
    "keys-equal-ranges",
    "keys-points",
    "keys-scaling",
    "keys-autosplit-skew",
    "keys-sticky-gap",
    "keys-regions",
    "keys-partitions",
    "keys-resonance",
    "keys-blocked",
    "producers-lazy",
    "producers-partial",
    "producers-limit",
    "producers-rates",
    "producers-bursts",
    "scalable-split",
    "scalable-sharing",
    "scalable-load",
    "scalable-rebucket",
    "scalable-blocked",
    "scalable-preview",
    "scalable-migrate",
)
MAX_BYTES: Final = 4 * 1024 * 1024


def _reasons(failures: tuple[Problem, ...]) -> list[str]:
    return [failure.reason for failure in failures]


@dataclass(frozen=True, slots=True)
class Expected:
    met: Annotated[bool, about("Whether it is met.")]
    found: Annotated[float | None, about("The number that came, null where none is expected.")]
    instead: Annotated[str | None, about("What is there instead, null where it is met.")]


@dataclass(frozen=True, eq=False, slots=True)
class ScriptStep:
    """What one line of a script did; ``text`` is the command, the view's name or the expectation.

    ``selection`` is set for select. ``failures`` say what did not go as the script says; a run is fine when no step has
    one. The timeline is not in it: a script has up to 10,000 lines, and each would keep a state of its own.
    """

    line: Annotated[int, about("From 1.", 1)]
    at_seconds: Annotated[float, about("Simulated seconds since the start.", 0)]
    kind: Annotated[Literal["say", "do", "select", "view", "expect"], about("What it is.")]
    caption: Annotated[str, about("The caption in force.")]
    text: Annotated[str, about("Its own words.")]
    selection: Selection | None = None
    rejection: Annotated[
        Rejection | None, about("Why a command was refused, also where that was expected.", key="refused")
    ] = None
    failures: Annotated[tuple[Problem, ...], about("What did not go as the script says.", form=_reasons)] = ()
    actual: float | None = None
    instead: str = ""

    @property
    def expected(
        self,
    ) -> Annotated[Expected | None, about("How an expectation came out, null where nothing is expected.")]:
        return Expected(not self.failures, self.actual, self.instead or None) if self.kind == "expect" else None


@dataclass(frozen=True, slots=True)
class ScriptDocument:
    """What `ringside demo NAME --headless --json` prints: a script line by line, and how its expectations came out."""

    FORMAT: ClassVar = "ringside.script/1"

    script: Annotated[str, about("The file.")]
    title: Annotated[str, about("Its first comment.")]
    about: Annotated[str, about("The other comments before its start: what it shows.")]
    expectations: Annotated[int, about("Lines that expect something.", 0)]
    met: Annotated[int, about("Those that are met.", 0)]
    failed_lines: Annotated[Sequence[int], about("Lines that failed, by number.", 1)]
    steps: Annotated[Sequence[ScriptStep], about("Every line that did something.")]
    view: Annotated[
        Mapping[str, Any],
        about("What the screen shows at the end: the document of the dashboard, of keys or of producers."),
    ]


def script_document(script: Script, steps: Sequence[ScriptStep], view: dict[str, Any]) -> ScriptDocument:
    """How the script came out; ``view`` is the document of what the screen shows at the end."""
    expected = [step for step in steps if step.kind == "expect"]
    return ScriptDocument(
        script=script.source,
        title=script.title,
        about=script.about,
        expectations=len(expected),
        met=sum(not step.failures for step in expected),
        failed_lines=[step.line for step in steps if step.failures],
        steps=steps,
        view=view,
    )


def shipped_script(name: str) -> Script:
    """A script that comes with the package. Raises ``InputError`` with the names there are for any other."""
    if name not in SHIPPED_SCRIPTS:
        raise InputError(f"there is no script {name!r} (scripts: {', '.join(SHIPPED_SCRIPTS)})")
    text = files("engine.scenarios").joinpath("scripts", f"{name}{SUFFIX}").read_text("utf-8")
    script = parse_script(text, f"{name}{SUFFIX}")
    assert isinstance(script, Script), script
    return script


def load_script(path: str | Path) -> Script:
    """Read a script file. Raises ``InputError`` with all problems, each with its line."""
    path = Path(path)
    try:
        data = read_path(path, limit=MAX_BYTES)
    except OSError as fault:
        raise InputError(f"{path} cannot be read: {system_reason(fault)}") from fault
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise InputError(f"{path} is not UTF-8 text: byte {fault.start} cannot be read") from fault
    script = parse_script(text, path.name, str(path.parent))
    if not isinstance(script, Script):
        raise InputError(f"{path} cannot be run: {script[0]}", script)
    return script


def start_of(script: Script, *, limit_bytes: int = MAX_INPUT_BYTES) -> Opened:
    """The state a script starts from; ``limit_bytes`` bounds what ``open`` reads.

    Raises ``InputError`` when it cannot be opened or made.
    """
    try:
        return _opened(script, limit_bytes)
    except InputError as error:
        raise InputError(f"{script.source} cannot start: {error}", error.problems) from error


def _opened(script: Script, limit_bytes: int) -> Opened:
    match script.start:
        case StartScene(name):
            return embedded(name)
        case StartPath(path):
            return open_path(Path(script.folder) / path, limit_bytes=limit_bytes)
        case StartNew() as new:
            return synthetic_state(
                new.topics,
                new.partitions,
                new.consumers,
                new.seed,
                new.bundles,
                consistent_hashing=new.consistent_hashing,
                release=new.release or CURRENT.label,
            )
        case StartKeys() as new:
            routing = key_routing(new.client, new.hashing)
            if isinstance(routing, Rejection):
                raise InputError(str(routing))
            return synthetic_keys(
                new.keys,
                new.consumers,
                mode=new.mode,
                points=new.points,
                partitions=new.partitions,
                routing=routing,
                seed=new.seed,
                release=new.release,
            )
        case StartProducers() as new:
            return synthetic_producers(
                new.plan, new.partitions, brokers=new.brokers, seed=new.seed, release=new.release
            )


def run_script(script: Script, opened: Opened | None = None) -> Iterator[tuple[ScriptStep, Timeline]]:
    """Run a script line by line, and yield what each line did with the timeline after it; a failure does not stop it.

    ``opened`` is its start when that was opened before. Nothing waits: ``at_seconds`` is when a line is due in a live
    run. Raises ``InputError`` when the start cannot be opened.
    """
    start = opened or start_of(script)
    timeline = Timeline.start(start.state, start.seed, start.source)
    caption = ""
    rejection: Rejection | None = None
    for at, line in enumerate(script.lines):
        following = script.lines[at + 1].action if at + 1 < len(script.lines) else None
        match line.action:
            case Say(text):
                caption = text
                step = ScriptStep(line.line, line.at_seconds, "say", caption, text)
            case Show(view):
                step = ScriptStep(line.line, line.at_seconds, "view", caption, view)
            case Select(text):
                step = _selected(script, line, caption, text, timeline)
            case Do(text):
                timeline, rejection = _carry_out(timeline, text)
                expected = isinstance(following, Expectation) and following.is_refusal
                failures = () if rejection is None or expected else _failed(script, line, f"refused: {rejection}")
                step = ScriptStep(line.line, line.at_seconds, "do", caption, text, None, rejection, failures)
            case Expectation() as expectation:
                step = _judged_step(script, line, caption, expectation, timeline, rejection=rejection)
        yield step, timeline


def _carry_out(timeline: Timeline, text: str) -> tuple[Timeline, Rejection | None]:
    command = parse_command(text, timeline.state)
    if isinstance(command, Rejection):
        return timeline, command
    if isinstance(command, TimelineCommand):
        navigated = navigate(timeline, command)
        return navigated.timeline, navigated.rejection
    assert isinstance(command, Command), command
    return timeline.submit(command)


def _selected(script: Script, line: ScriptLine, caption: str, text: str, timeline: Timeline) -> ScriptStep:
    selection = resolve_selection(timeline, text)
    if isinstance(selection, Rejection):
        failures = _failed(script, line, selection.message)
        return ScriptStep(line.line, line.at_seconds, "select", caption, text, None, selection, failures)
    return ScriptStep(line.line, line.at_seconds, "select", caption, text, selection)


def _judged_step(
    script: Script,
    line: ScriptLine,
    caption: str,
    expectation: Expectation,
    timeline: Timeline,
    *,
    rejection: Rejection | None,
) -> ScriptStep:
    if expectation.is_refusal:
        reason, actual = _unmet_refusal(expectation, rejection), None
    else:
        reason, actual = judged(expectation, timeline)
    failures = _failed(script, line, f"expected {expectation.text}, but {reason}") if reason else ()
    return ScriptStep(
        line.line,
        line.at_seconds,
        "expect",
        caption,
        expectation.text,
        failures=failures,
        actual=actual,
        instead=reason,
    )


def _unmet_refusal(expectation: Expectation, rejection: Rejection | None) -> str:
    if rejection is None:
        return "the command was carried out"
    if expectation.value and rejection.error != expectation.value:
        return f"the refusal is {rejection.error}"
    return ""


def _failed(script: Script, line: ScriptLine, reason: str) -> tuple[Problem, ...]:
    return (Problem(script.source, "$", reason, line=line.line),)
