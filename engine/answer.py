"""Answers as declared values: a member says once what it is; document, schema, table, filter and CSV follow from it.

An answer is a frozen dataclass. Members are annotated with ``about`` (what they mean, and their bounds) and, in rows of
a table, with a ``Column`` (heading, kind and when it gives way)::

    idle: Annotated[int | None, about("Consumers that get nothing.", 0), Column("idle", Kind.COUNT, 3)]

Members and properties with ``about`` are the document; what a screen needs besides has none. ``FORMAT`` of a class is
the name and version of the whole document.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache, cached_property
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

A = TypeVar("A")


class Kind(Enum):
    """What the values of a column are: names and words are aligned left, numbers right."""

    NAME = "name"
    WORD = "word"
    COUNT = "count"
    RATIO = "ratio"
    RATE = "rate"
    BAR = "bar"
    """Parts of a whole, drawn where there are colours or letters for them: nothing to sort or filter by."""

    @property
    def is_number(self) -> bool:
        return self in (Kind.COUNT, Kind.RATIO, Kind.RATE)

    @property
    def is_text(self) -> bool:
        return self in (Kind.NAME, Kind.WORD)


@dataclass(frozen=True, slots=True)
class Column:
    """How a member is shown in a table. Of columns that do not fit, those with the highest ``rank`` are left out."""

    heading: str
    kind: Kind
    rank: int


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a type of rows: ``name`` is the member, ``meaning`` what ``about`` says of it."""

    name: str
    meaning: str
    heading: str
    kind: Kind
    rank: int

    @property
    def label(self) -> str:
        """The heading as it is typed in filters.

        >>> TableColumn("ratio", "", "busiest ÷ avg", Kind.RATIO, 1).label
        'busiest-÷-avg'
        """
        return self.heading.replace(" ", "-")


Value = float | str | None
_SIGNS: Final = (">", "<", "=")


@dataclass(frozen=True, slots=True)
class About:
    """What a member means, and the bounds of its numbers (of a list: of the numbers in it).

    ``nan``: the number may be NaN or infinite, which is null in a document.
    """

    meaning: str
    least: float | None = None
    most: float | None = None
    nan: bool = False


def about(meaning: str, least: float | None = None, most: float | None = None, *, nan: bool = False) -> About:
    """What a member means, for people and schemas; ``least`` and ``most`` bound its numbers, ``nan`` admits none."""
    return About(meaning, least, most, nan)


@cache
def columns_of(row: type) -> tuple[TableColumn, ...]:
    """The columns of a type of rows, in the order of its members."""
    columns = []
    for name, hint in get_type_hints(row, include_extras=True).items():
        extras = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
        meaning = next((extra.meaning for extra in extras if isinstance(extra, About)), "")
        columns += [
            TableColumn(name, meaning, extra.heading, extra.kind, extra.rank)
            for extra in extras
            if isinstance(extra, Column)
        ]
    return tuple(columns)


# documents and their schemas


def extended(kind: type[A], answer: Any, **more: Any) -> A:
    """An answer of a kind that has more members than ``answer``, which may be of the kind it is derived from."""
    return kind(**{member.name: getattr(answer, member.name) for member in fields(answer)}, **more)


def document(answer: object) -> Any:
    """The answer as plain values for JSON. A number that JSON does not have, such as NaN, is null.

    A member whose name is a word of Python ends in an underscore, which the document leaves out. O(size of the answer).
    """
    kind = type(answer)
    if answer is None or kind in (str, int, bool):
        return answer
    if isinstance(answer, float):
        return float(answer) if math.isfinite(answer) else None
    if isinstance(answer, Enum):
        return answer.value
    if is_dataclass(kind):
        plain = {key: document(getattr(answer, name)) for name, key in _names_of(kind)}
        return {"format": kind.FORMAT, **plain} if hasattr(kind, "FORMAT") else plain
    if isinstance(answer, Mapping):
        return {key: document(value) for key, value in answer.items()}
    if isinstance(answer, (Sequence, Set)) and not isinstance(answer, (str, bytes)):
        return [document(value) for value in answer]
    if hasattr(answer, "tolist"):
        return document(answer.tolist())  # numbers and columns of numpy
    raise TypeError(f"a {kind.__name__} cannot be in a document")


def schema(title: str, *answers: type) -> dict[str, Any]:
    """The JSON Schema (2020-12) of ``document`` of such answers; of several kinds it is one of them."""
    parts: dict[type, str] = {}
    wholes = [_object(answer, parts) for answer in answers]
    whole = wholes[0] if len(wholes) == 1 else {"oneOf": wholes}
    described: dict[str, Any] = {}
    while len(described) < len(parts):
        described |= {name: _object(part, parts) for part, name in [*parts.items()] if name not in described}
    meta: dict[str, Any] = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    if hasattr(answers[0], "FORMAT"):
        meta["$id"] = "urn:" + answers[0].FORMAT.replace(".", ":").replace("/", ":")
    return {**meta, "title": title, **whole, **({"$defs": described} if described else {})}


@cache
def _names_of(answer: type) -> tuple[tuple[str, str], ...]:
    """Members of a document: as attributes, and as they are spelt in JSON."""
    return tuple((name, name.rstrip("_")) for name, _, _ in _members(answer))


def _members(answer: type) -> Iterator[tuple[str, Any, About]]:
    """Members with ``about``: their name, type and meaning; first fields, then properties."""
    hints: dict[str, Any] = {}
    for kind in reversed(answer.__mro__):
        hints |= _evaluated(kind, vars(kind).get("__annotations__", {}))
    for name, member in vars(answer).items():
        getter = member.fget if isinstance(member, property) else getattr(member, "func", None)
        if isinstance(member, (property, cached_property)) and getter is not None:
            hints |= _evaluated(answer, {name: getter.__annotations__.get("return")})
    for name, hint in hints.items():
        meaning = next((extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, About)), None)
        if meaning is not None:
            yield name, hint.__origin__, meaning


def _evaluated(kind: type, hints: Mapping[str, Any]) -> dict[str, Any]:
    """The types of members with ``about``; those of others may be known to type checkers only."""
    names = vars(sys.modules[kind.__module__])
    return {
        name: eval(hint, names) if isinstance(hint, str) else hint
        for name, hint in hints.items()
        if not isinstance(hint, str) or "about(" in hint
    }


def _object(answer: type, parts: dict[type, str]) -> dict[str, Any]:
    """The schema of one class; other classes that it has are added to ``parts``."""
    members = {
        name.rstrip("_"): _bounded(_schema(hint, parts), meaning) | {"description": meaning.meaning}
        for name, hint, meaning in _members(answer)
    }
    if hasattr(answer, "FORMAT"):
        members = {
            "format": {
                "const": answer.FORMAT,
                "description": "Name and version of this form; changes when a member goes or changes its meaning.",
            }
        } | members
    text = inspect.getdoc(answer) or ""
    described = {} if text.startswith(f"{answer.__name__}(") or not text else {"description": " ".join(text.split())}
    return {
        "type": "object",
        **described,
        "additionalProperties": False,
        "required": [*members],
        "properties": members,
    }


def _bounded(schema: dict[str, Any], meaning: About) -> dict[str, Any]:
    """The schema with bounds at its numbers."""
    kinds = schema.get("type", ())
    if {"integer", "number"} & {*([kinds] if isinstance(kinds, str) else kinds)}:
        bounds = {"minimum": meaning.least, "maximum": meaning.most}
        nullable = {"type": [kinds, "null"]} if meaning.nan and isinstance(kinds, str) else {}
        return schema | nullable | {word: bound for word, bound in bounds.items() if bound is not None}
    if isinstance(schema.get("items"), dict):
        return schema | {"items": _bounded(schema["items"], meaning)}
    if isinstance(schema.get("additionalProperties"), dict):
        return schema | {"additionalProperties": _bounded(schema["additionalProperties"], meaning)}
    return schema


_SCALARS: Final = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


def _schema(hint: Any, parts: dict[type, str]) -> dict[str, Any]:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return {}
    if hint in _SCALARS:
        return {"type": _SCALARS[hint]}
    if origin is Annotated:
        extras = [extra for extra in inner[1:] if isinstance(extra, About)]
        schema = _schema(inner[0], parts)
        return _bounded(schema, extras[0]) | {"description": extras[0].meaning} if extras else schema
    if origin is Literal:
        return {"const": inner[0]} if len(inner) == 1 else {"enum": [*inner]}
    if origin in (Union, UnionType):
        return _union([_schema(choice, parts) for choice in inner])
    if origin is tuple and inner[-1] is not Ellipsis:
        rows = [_schema(item, parts) for item in inner]
        items = {"items": rows[0]} if rows.count(rows[0]) == len(rows) else {"prefixItems": rows, "items": False}
        return {"type": "array", "minItems": len(rows), "maxItems": len(rows), **items}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _schema(inner[1], parts)}
    if origin is not None and issubclass(origin, (Sequence, Set)):
        return {"type": "array", "items": _schema(inner[0], parts)}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [choice.value for choice in hint]}
    if is_dataclass(hint):
        names = {name: part for part, name in parts.items()}
        name = hint.__name__  # type: ignore[union-attr]
        if names.get(name, hint) is not hint:
            raise TypeError(f"two parts of a document are named {name}")
        parts[hint] = name  # type: ignore[index]
        return {"$ref": f"#/$defs/{name}"}
    raise TypeError(f"{hint} cannot be in a document")


def _union(choices: list[dict[str, Any]]) -> dict[str, Any]:
    """One schema for several: words and simple types in one list, otherwise any of them."""
    words = [choice.get("enum", [choice.get("const")]) for choice in choices if {"enum", "const"} & {*choice}]
    types = [choice["type"] for choice in choices if "type" in choice]
    if len(words) + types.count("null") == len(choices):
        return {"enum": [word for some in words for word in some] + [None] * types.count("null")}
    if len(types) == len(choices) and all("type" in choice and len(choice) == 1 for choice in choices):
        return {"type": types}
    if len(types) == len(choices) == 2 and "null" in types:
        (one,) = (choice for choice in choices if choice["type"] != "null")
        return one | {"type": [one["type"], "null"]}
    return {"anyOf": choices}


# tables


def sortable_columns(row: type) -> tuple[TableColumn, ...]:
    """The columns that rows can be sorted and filtered by: all but bars."""
    return tuple(column for column in columns_of(row) if column.kind is not Kind.BAR)


def column_meant(row: type, word: str) -> TableColumn | None:
    """The sortable column that a word means: its label, the name of its member, or the only one that begins so."""
    folded = word.casefold()
    columns = sortable_columns(row)
    exact = [column for column in columns if folded in (column.label.casefold(), column.name)]
    begun = [column for column in columns if folded and column.label.casefold().startswith(folded)]
    return exact[0] if exact else begun[0] if len(begun) == 1 else None


# filters


@dataclass(frozen=True, slots=True)
class Filtered:
    """What a filter lets through. ``half_typed`` is the first word that needs a number and has none, "" without one."""

    fits: Callable[[Any], bool]
    half_typed: str = ""


def filter_of(row: type, text: str) -> Filtered:
    """Return the filter that a text means for rows of a type.

    A word is a part of a name or word, or a column (``column_meant``) with ``>``, ``<`` or ``=`` and a number or a part
    of a text: ``orders idle>2 type=key``. All words have to fit. A number that is unknown fits no condition.
    """
    texts = [column.name for column in sortable_columns(row) if column.kind.is_text]
    tests: list[Callable[[Any], bool]] = []
    half_typed = ""
    for word in text.split():
        sign = next((sign for sign in _SIGNS if sign in word and column_meant(row, word.partition(sign)[0])), "")
        label, _, wanted = word.partition(sign) if sign else (word, "", "")
        column = column_meant(row, label) if sign else None
        if column is None:
            tests.append(_containing(texts, word))
            continue
        if column.kind.is_text:
            tests.append(_containing([column.name], wanted))
            continue
        number = _number(wanted)
        if number is None:
            half_typed = half_typed or word
        else:
            tests.append(_comparing(column.name, sign, number))
    return Filtered(lambda row: all(test(row) for test in tests), half_typed)


def _containing(names: Sequence[str], part: str) -> Callable[[Any], bool]:
    folded = part.casefold()
    return lambda row: any(folded in str(getattr(row, name) or "").casefold() for name in names)


def _comparing(name: str, sign: str, number: float) -> Callable[[Any], bool]:
    def fits(row: Any) -> bool:
        value = getattr(row, name)
        if value is None:
            return False
        return bool(value > number if sign == ">" else value < number if sign == "<" else value == number)

    return fits


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
