"""Read demo scripts: a line is a comment, a start, an action, or a problem with its number. All problems are reported.

::

    # PIP-392 in one minute             the first comment is the title
    # Who is active, and for what       the other comments before the start: what it shows
    scene pip392                        or: open PATH, or: new topics 100 consumers 10 …
    say One consumer has everything     the caption
    at 4                                simulated seconds since the start; headless runs do not wait
    toggle activeConsumerFailoverConsistentHashing
    expect totals.max_over_mean_partitions < 2
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from difflib import get_close_matches
from pathlib import PurePath
from typing import Final

from msgspec import structs

from engine.cluster.grammar.reading import COMMAND_FORMS
from engine.cluster.grammar.words import split_words
from engine.cluster.keys.state import SharingMode
from engine.cluster.producers.state import ProducerPlan
from engine.errors import Problem, Rejection
from engine.routing.clients import key_routing
from engine.scenarios.embedded import SCENES
from engine.scenarios.script.expectations import parse_expectation
from engine.scenarios.script.model import (
    VIEW_NAMES,
    Action,
    Do,
    Say,
    Script,
    ScriptLine,
    Select,
    Show,
    Start,
    StartKeys,
    StartNew,
    StartPath,
    StartProducers,
    StartScene,
)

MAX_LINES: Final = 10_000
MAX_SECONDS: Final = 86_400.0
START_WORDS: Final = ("scene", "open", "new")
SCRIPT_WORDS: Final = ("say", "at", "select", "view", "expect")
_SECONDS: Final = re.compile(r"[0-9]{1,6}(\.[0-9]{1,3})?")
_NUMBERS: Final = ("topics", "partitions", "consumers", "seed", "bundles")


def parse_script(text: str, source: str = "script", folder: str = "") -> Script | tuple[Problem, ...]:
    """A script, or everything that is wrong with it. O(length).

    Commands of the cluster are checked for their first word here and read when their turn comes, since names mean what
    the state then says.
    """
    reader = _Reader(source)
    lines = text.removeprefix("\ufeff").splitlines()
    if len(lines) > MAX_LINES:
        return (Problem(source, "$", f"{len(lines)} lines; a script has at most {MAX_LINES}"),)
    for number, line in enumerate(lines, 1):
        reader.read(number, line.strip())
    if reader.start is None and not reader.problems:
        advice = f"begin with {', '.join(START_WORDS)}; for example: scene {SCENES[0].name}"
        reader.problems.append(Problem(source, "$", "the script does not say what to start from", advice))
    if reader.problems or reader.start is None:
        return tuple(reader.problems)
    title = reader.title or PurePath(source).stem
    return Script(source, title, reader.start, tuple(reader.lines), folder, " ".join(reader.about))


class _Reader:
    """Goes through the lines once and keeps what is good and what is wrong."""

    def __init__(self, source: str) -> None:
        self.problems: list[Problem] = []
        self.lines: list[ScriptLine] = []
        self.start: Start | None = None
        self.title = ""
        self.about: list[str] = []
        self._source = source
        self._seconds = 0.0

    def read(self, number: int, line: str) -> None:
        if not line:
            return
        if line.startswith("#"):
            self._comment(line.lstrip("# ").strip())
            return
        word, _, rest = line.partition(" ")
        rest = rest.strip()
        outcome: Start | Action | float | Rejection
        if word in START_WORDS:
            outcome = self._start(word, rest)
        elif word in SCRIPT_WORDS:
            outcome = self._own(word, rest)
        elif word in COMMAND_FORMS:
            outcome = Do(line)
        else:
            near = get_close_matches(word, [*START_WORDS, *SCRIPT_WORDS, *COMMAND_FORMS], n=1)
            hint = f"did you mean {near[0]}?" if near else "write a command, say, at, select, view or expect"
            outcome = Rejection("UnknownCommand", f"unknown word {word[:40]!r}; {hint}", word)
        self._keep(number, outcome)

    def _comment(self, text: str) -> None:
        if not self.title:
            self.title = text
        elif self.start is None and text:
            self.about.append(text)

    def _keep(self, number: int, outcome: Start | Action | float | Rejection) -> None:
        if isinstance(outcome, Rejection):
            self.problems.append(Problem(self._source, "$", outcome.message, line=number))
        elif isinstance(outcome, float):
            self._seconds = outcome
        elif isinstance(outcome, (StartScene, StartPath, StartNew, StartKeys, StartProducers)):
            self.start = outcome
        elif self.start is None and not self.problems:
            advice = f"write it before everything else, for example: scene {SCENES[0].name}"
            reason = "the script does not say what to start from"
            self.problems.append(Problem(self._source, "$", reason, advice, line=number))
        else:
            self.lines.append(ScriptLine(number, self._seconds, outcome))

    def _start(self, word: str, rest: str) -> Start | Rejection:
        if self.start is not None:
            return _refuse("a script starts once", word)
        words = split_words(rest)
        if isinstance(words, Rejection):
            return words
        texts = [one_word.text for one_word in words]
        if word == "new":
            return _new(texts)
        if len(texts) != 1:
            return _refuse(f"write {word} with one {'name' if word == 'scene' else 'path'}", word)
        if word == "open":
            return StartPath(texts[0])
        names = [scene.name for scene in SCENES]
        if texts[0] not in names:
            return _refuse(f"there is no scene {texts[0]!r} (scenes: {', '.join(names)})", texts[0])
        return StartScene(texts[0])

    def _own(self, word: str, rest: str) -> Action | float | Rejection:
        match word:
            case "say":
                return Say(rest)
            case "select":
                return Select(rest) if rest else _refuse("select what? a consumer, a topic or a bundle", word)
            case "view":
                view = next((name for name in VIEW_NAMES if name == rest), None)
                return Show(view) if view else _refuse(f"there is no view {rest!r}: {', '.join(VIEW_NAMES)}", rest)
            case "expect":
                expectation = parse_expectation(rest)
                if not isinstance(expectation, Rejection) and expectation.is_refusal and not self._after_command():
                    return _refuse("expect refused belongs right below the command that should be refused", word)
                return expectation
        if not _SECONDS.fullmatch(rest) or float(rest) > MAX_SECONDS:
            return _refuse(f"{rest!r} is not a time; write seconds since the start, at most {MAX_SECONDS:.0f}", rest)
        if float(rest) < self._seconds:
            return _refuse(f"time goes back from {self._seconds:g} to {rest} seconds", rest)
        return float(rest)

    def _after_command(self) -> bool:
        return bool(self.lines) and isinstance(self.lines[-1].action, Do)


def _new(texts: list[str]) -> StartNew | StartKeys | StartProducers | Rejection:
    """``new keys 1000 …`` for Key_Shared, ``new producers 100 …``, else topics and a Failover subscription."""
    if "producers" in texts[::2]:
        return _new_producers(texts)
    return _new_keys(texts) if "keys" in texts[::2] else _new_topics(texts)


def _new_keys(texts: list[str]) -> StartKeys | Rejection:
    """``new keys 1000 consumers 4 mode sticky partitions 4 client java seed 0 release 4.0.7``, in any order."""
    form = "new keys 1000 consumers 4 mode MODE points 100 partitions 4 client java hashing NAME seed 0 release VERSION"
    if len(texts) % 2:
        return _refuse(f"{texts[-1]!r} has no value; write {form}", texts[-1])
    modes = [mode.value for mode in SharingMode]
    start = StartKeys()
    for name, value in _pairs(texts):
        if name in ("keys", "consumers", "points", "partitions", "seed") and _is_number(value):
            start = replace(start, **{name: int(value)})  # type: ignore[arg-type]
        elif name == "mode" and value in modes:
            start = replace(start, mode=value)
        elif name in ("client", "hashing", "release"):
            start = replace(start, **{name: value})  # type: ignore[arg-type]
        else:
            hint = f" (modes: {', '.join(modes)})" if name == "mode" else ""
            return _refuse(f"{name} {value!r} is not understood{hint}; write {form}", name)
    routing = key_routing(start.client, start.hashing)
    return _refuse(routing.message, routing.field) if isinstance(routing, Rejection) else start


def _new_producers(texts: list[str]) -> StartProducers | Rejection:
    """``new producers 100 partitions 1000 start lazy router partial limit 3 client java``, pairs in any order."""
    form = (
        "new producers 100 partitions 1000 start eager|lazy router round-robin|single|partial limit 3 above on|off"
        " client java|python|cpp batching on|off brokers 3 seed 0 release VERSION"
    )
    if len(texts) % 2:
        return _refuse(f"{texts[-1]!r} has no value; write {form}", texts[-1])
    plan, start = ProducerPlan(), StartProducers(ProducerPlan())
    for name, value in _pairs(texts):
        if name in ("partitions", "brokers", "seed") and _is_number(value):
            start = replace(start, **{name: int(value)})  # type: ignore[arg-type]
        elif name in ("producers", "limit") and _is_number(value):
            plan = structs.replace(plan, **{"count" if name == "producers" else name: int(value)})
        elif name in ("router", "client"):
            plan = structs.replace(plan, **{name: value})
        elif name == "start" and value in ("eager", "lazy"):
            plan = structs.replace(plan, lazy=value == "lazy")
        elif name == "above" and value in ("on", "off"):
            plan = structs.replace(plan, allow_limit_above=value == "on")
        elif name == "batching" and value in ("on", "off"):
            plan = structs.replace(plan, batching=value == "on")
        elif name == "release":
            start = replace(start, release=value)
        else:
            return _refuse(f"{name} {value!r} is not understood; write {form}", name)
    return replace(start, plan=plan)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 19


def _new_topics(texts: list[str]) -> StartNew | Rejection:
    """``new topics 100 partitions 1 consumers 10 bundles 4 seed 0 flag on release 4.0.7``, in any order."""
    form = "new topics 100 partitions 1 consumers 10 bundles 4 seed 0 flag on|off release VERSION"
    if len(texts) % 2:
        return _refuse(f"{texts[-1]!r} has no value; write {form}", texts[-1])
    numbers: dict[str, int] = {}
    flag, release = False, ""
    for name, value in _pairs(texts):
        if name in _NUMBERS and _is_number(value):
            numbers[name] = int(value)
        elif name == "flag" and value in ("on", "off"):
            flag = value == "on"
        elif name == "release":
            release = value
        else:
            return _refuse(f"{name} {value!r} is not understood; write {form}", name)
    return StartNew(**numbers, consistent_hashing=flag, release=release)


def _pairs(texts: list[str]) -> Iterator[tuple[str, str]]:
    return zip(texts[::2], texts[1::2], strict=True)


def _refuse(message: str, field: str) -> Rejection:
    return Rejection("SyntaxError", message, field)
