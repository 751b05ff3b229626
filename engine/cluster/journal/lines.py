"""The lines of a journal: from a timeline to bytes, and from bytes to as much of the timeline as they hold.

A line is one JSON object that ends in ``,"~":"xxxxxxxx"}``, the CRC-32 of what precedes it. The first line is the
header (``format``, ``seed``, ``source``, ``state``), then comes one line for each step (``step``, ``parent``,
``command``, ``events``, and ``text`` for people) and for each move of the cursor (``tip``, ``cursor``).
"""

from __future__ import annotations

import zlib
from typing import Any, Final

from msgspec import Struct

from engine.cluster.evolve import evolve, objection
from engine.cluster.grammar.text import command_text
from engine.cluster.journal.codec import (
    FORMAT,
    check_format,
    command_from_plain,
    event_from_plain,
    state_from_plain,
    state_to_plain,
)
from engine.cluster.journal.plain import convert, decode, encode, fail, to_plain
from engine.cluster.limits import INT_64, MAX_STEPS
from engine.cluster.state import ClusterState
from engine.cluster.timeline import Step, Timeline
from engine.errors import InputError, Problem

_SEAL_BYTES: Final = len(b',"~":"00000000"}')
_SHOWN_PROBLEM_CHARS: Final = 300
_STATES_KEPT: Final = 32
"""States that are kept while reading, so that branches that grow in turn are not folded again for each line."""


class Recovered(Struct, frozen=True):
    """The timeline in a journal's bytes, the problems of an unreadable rest, and where that begins."""

    timeline: Timeline
    problems: tuple[Problem, ...]
    good_bytes: int


def header_line(timeline: Timeline) -> bytes:
    """The first line: where the timeline starts."""
    return _seal(
        {
            "kind": "header",
            "format": FORMAT,
            "seed": timeline.seed,
            "source": to_plain(timeline.source),
            "state": state_to_plain(timeline.initial),
        }
    )


def step_line(step: Step) -> bytes:
    """One step with its events; the cursor is after it."""
    return _seal(
        {
            "kind": "step",
            "step": step.number,
            "parent": step.parent,
            "text": to_plain(step.text),
            "command": to_plain(step.command, tagged=True),
            "events": [to_plain(event, tagged=True) for event in step.events],
        }
    )


def cursor_line(tip: int, cursor: int) -> bytes:
    """The cursor after so many steps of the branch that ends in step ``tip``."""
    return _seal({"kind": "cursor", "tip": tip, "cursor": cursor})


def read_lines(data: bytes, source: str) -> Recovered:
    """Read a timeline up to the first line that is torn or invalid.

    Raises InputError when not even the header can be used. O(bytes).
    """
    if not data:
        raise InputError(f"{source} is empty: nothing was ever saved in it")
    *lines, tail = data.split(b"\n")
    if not lines:
        reason = _why_torn(tail)
        raise InputError(f"{source} breaks off in its first line: {reason}", (Problem(source, "$", reason, line=1),))
    timeline = _read_header(lines[0], source)
    good = len(lines[0]) + 1
    problems: tuple[Problem, ...] = ()
    if tail:
        reason = f"the last line is incomplete ({_why_torn(tail)}); it was never reported as saved and is set aside"
        problems = (Problem(source, "$", reason, line=len(lines) + 1),)
    place: tuple[int, int] | None = None
    states: dict[int, ClusterState] = {}
    for at, line in enumerate(lines[1:], start=2):
        try:
            entry = _unseal(line, source)
            match entry.get("kind"):
                case "step":
                    timeline, place = _with_step(timeline, entry, source, states), None
                case "cursor":
                    # A step names the one before it, so of all moves of the cursor only the last one counts.
                    place = _cursor(timeline, entry, source)
                case kind:
                    raise InputError(f"{source}: {kind!r} is not a kind of line")
        except InputError as error:
            rest = len(lines) - at + (1 if tail else 0)
            also = f"; the {rest} lines behind it are set aside with it" if rest else ""
            problems = (Problem(source, "$", _shorten(str(error)) + also, line=at),)
            break
        good += len(line) + 1
    return Recovered(timeline if place is None else timeline.select(*place), problems, good)


def _seal(entry: dict[str, Any]) -> bytes:
    body = encode(entry)[:-1]
    return body + b',"~":"%08x"}\n' % zlib.crc32(body)


def _unseal(line: bytes, source: str) -> dict[str, Any]:
    body, seal = line[:-_SEAL_BYTES], line[-_SEAL_BYTES:]
    if seal != b',"~":"%08x"}' % zlib.crc32(body):
        raise InputError(f"{source}: the line was damaged or changed: its check sum does not fit")
    entry = decode(body + b"}", source)
    assert isinstance(entry, dict), "a sealed line is an object"
    return entry


def _read_header(line: bytes, source: str) -> Timeline:
    try:
        entry = _unseal(line, source)
        check_format(entry, source)
        if entry.get("kind") != "header":
            raise InputError(f"{source}: the first line is not the header of a journal")
        seed = convert(entry.get("seed"), int, source, "$.seed")
        from_where = convert(entry.get("source"), str, source, "$.source")
        state = state_from_plain(entry.get("state"), source)
        if seed not in INT_64:
            fail(source, "$.seed", "the seed does not fit into 64 bits")
    except InputError as error:
        problems = error.problems or (Problem(source, "$", str(error), line=1),)
        raise InputError(f"{source} cannot be used as a journal: {error}", problems) from error
    return Timeline.start(state, seed, from_where)


def _cursor(timeline: Timeline, entry: dict[str, Any], source: str) -> tuple[int, int]:
    tip, cursor = entry.get("tip"), entry.get("cursor")
    if not isinstance(tip, int) or not isinstance(cursor, int) or not timeline.is_tip(tip):
        raise InputError(f"{source}: the cursor is set on a branch {tip} that is not there")
    if not 0 <= cursor <= timeline.log[tip - 1].depth:
        raise InputError(f"{source}: the cursor is set to step {cursor} of a branch {tip} that is not there")
    return tip, cursor


def _with_step(timeline: Timeline, entry: dict[str, Any], source: str, states: dict[int, ClusterState]) -> Timeline:
    """The timeline with the step of a line; ``states`` has those after some steps before, and gets two more."""
    number, parent, events = entry.get("step"), entry.get("parent"), entry.get("events")
    expected = len(timeline.log) + 1
    if number != expected or type(parent) is not int or not 0 <= parent < expected:
        raise InputError(f"{source}: step {number} with parent {parent} cannot be here, step {expected} should")
    if expected > MAX_STEPS or not isinstance(events, list) or not events:
        raise InputError(f"{source}: step {number} has no events, or is beyond the limit of {MAX_STEPS} steps")
    command = command_from_plain(entry.get("command"), source, "$.command")
    step_events = tuple(event_from_plain(event, source, f"$.events[{at}]") for at, event in enumerate(events))
    timeline = timeline.at_step(parent, states)
    state = states[parent] = timeline.state
    for event in step_events:
        reason = objection(state, event)
        if reason:
            raise InputError(f"{source}: step {number} does not fit what happened before: {reason}")
        state = evolve(state, event)
    states[number] = state
    while len(states) > _STATES_KEPT:
        del states[next(iter(states))]
    return timeline.append(command, command_text(command, timeline.state), step_events, state)


def _why_torn(tail: bytes) -> str:
    if not tail.strip(b"\0"):
        return f"{len(tail)} NUL bytes, as a file system leaves them after a crash"
    if tail.endswith(b"\0"):
        return "it ends in NUL bytes, as a file system leaves them after a crash"
    try:
        tail.decode("utf-8")
    except UnicodeDecodeError:
        return "it breaks off inside a UTF-8 character"
    return "there is no end of line"


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN_PROBLEM_CHARS else text[: _SHOWN_PROBLEM_CHARS - 3] + "..."
