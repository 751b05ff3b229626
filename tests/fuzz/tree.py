"""JSON as a tree that can hold what JSON may not: members twice, any literal, halves of surrogate pairs."""

from __future__ import annotations

import json
from typing import Any


class Members(list[list[Any]]):
    """An object: pairs of a name and a value, in order, names as often as they occur."""


class Literal(str):
    """A text that stands in the document as it is."""

    __slots__ = ()


Path = tuple[int, ...]
"""Places of items or members, from the root down."""


def parsed(text: str) -> Any:
    """The tree of a JSON text. Raises ValueError, and RecursionError where it is too deep for Python."""
    return json.loads(
        text,
        object_pairs_hook=lambda pairs: Members([list(pair) for pair in pairs]),
        parse_int=Literal,
        parse_float=Literal,
        parse_constant=Literal,
    )


def written(tree: Any) -> str:
    """The text of a tree, without blanks."""
    if isinstance(tree, Literal):
        return str(tree)
    if isinstance(tree, Members):
        return "{" + ",".join(f"{json.dumps(name)}:{written(value)}" for name, value in tree) + "}"
    if isinstance(tree, list):
        return "[" + ",".join(map(written, tree)) + "]"
    return json.dumps(tree)


def paths(tree: Any, before: Path = ()) -> list[Path]:
    """The places of all values, the root first."""
    result = [before]
    for at, value in enumerate(_values(tree)):
        result += paths(value, (*before, at))
    return result


def at_path(tree: Any, path: Path) -> Any:
    """The value at a place."""
    for step in path:
        tree = _values(tree)[step]
    return tree


def replaced(tree: Any, path: Path, value: Any) -> Any:
    """The tree with another value at a place; what is not on the way there is shared."""
    if not path:
        return value
    step, *rest = path
    if isinstance(tree, Members):
        name, old = tree[step]
        return Members([*tree[:step], [name, replaced(old, tuple(rest), value)], *tree[step + 1 :]])
    return [*tree[:step], replaced(tree[step], tuple(rest), value), *tree[step + 1 :]]


def edited(tree: Any, path: Path, *things: Any) -> Any:
    """The tree with other things (items, or pairs of an object) in place of the one at a place, which is no root."""
    *parent_path, step = path
    parent = at_path(tree, tuple(parent_path))
    changed = [*parent[:step], *things, *parent[step + 1 :]]
    return replaced(tree, tuple(parent_path), Members(changed) if isinstance(parent, Members) else changed)


def thing_at(tree: Any, path: Path) -> Any:
    """The item, or the pair of name and value, at a place that is no root."""
    return at_path(tree, path[:-1])[path[-1]]


def _values(tree: Any) -> list[Any]:
    if isinstance(tree, Members):
        return [value for _, value in tree]
    return tree if isinstance(tree, list) else []
