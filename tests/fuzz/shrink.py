"""Makes an input that fails small: parts of its structure go as long as it fails the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from tests.fuzz.case import Case, Lines, of_bytes
from tests.fuzz.tree import Literal, Members, at_path, edited, paths, replaced

MOST_TRIES: Final = 600


def shrunk(case: Case, fails: Callable[[Case], bool], most_tries: int = MOST_TRIES) -> Case:
    """The smallest input found that fails, after so many tries at most. Tries what takes away much first."""
    tries = 0
    # Read again, bytes are perhaps JSON, and a literal of many levels is a tree.
    parsed = of_bytes(case.kind, case.name, case.content(), case.others)
    if parsed.name == case.name and parsed.content() == case.content():
        case = parsed
    progress = True
    while progress:
        progress = False
        for smaller in _smaller(case):
            if tries >= most_tries:
                return case
            tries += 1
            if _size(smaller) < _size(case) and fails(smaller):
                case, progress = smaller, True
                break
    return case


def _size(case: Case) -> tuple[int, int]:
    return len(case.others), len(case.content())


def _smaller(case: Case) -> Iterator[Case]:
    """Inputs with something left out, what leaves out most first."""
    for name in case.others:
        yield replace(case, others={other: data for other, data in case.others.items() if other != name})
    body = case.body
    if isinstance(body, bytes):
        yield from (replace(case, body=chunk) for chunk in _without_chunks(body))
    elif isinstance(body, Lines):
        yield from (replace(case, body=Lines(chunk)) for chunk in _without_chunks(body))
        for at, line in enumerate(body):
            parts = _without_chunks(line) if isinstance(line, bytes) else _smaller_trees(line)
            yield from (replace(case, body=Lines([*body[:at], part, *body[at + 1 :]])) for part in parts)
    else:
        yield from (replace(case, body=tree) for tree in _smaller_trees(body))


def _without_chunks(body: Any) -> Iterator[Any]:
    size = len(body)
    while size >= 2:
        size = (size + 1) // 2
        for at in range(0, len(body), size):
            yield body[:at] + body[at + size :]


def _smaller_trees(tree: Any) -> Iterator[Any]:
    """Trees with a part put in the place of the whole, then with parts missing, then with simpler values."""
    places = paths(tree)
    for path in places[1:]:
        part = at_path(tree, path)
        if isinstance(part, Members) and len(path) == 1:
            yield part
    for path in sorted(places[1:], key=len):
        yield edited(tree, path)
    for path in places[1:]:
        if path[-1] == 0 and len(path) > 1:
            yield replaced(tree, path[:-1], at_path(tree, path))
    for path in places[1:]:
        value = at_path(tree, path)
        if isinstance(value, str) and not isinstance(value, Literal) and len(value) > 1:
            yield from (replaced(tree, path, part) for part in ("", value[: len(value) // 2], value[len(value) // 2 :]))
        elif isinstance(value, Literal) and len(value) > 1:
            yield from (replaced(tree, path, Literal(part)) for part in ("0", value[: len(value) // 2 + 1]))
