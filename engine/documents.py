"""Documents of declared answers as plain values for JSON, and their schemas (JSON Schema 2020-12)."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from enum import Enum
from functools import cache, cached_property
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from engine.answer import About, is_record

_CONSTANTS: Final = {"FORMAT": "format", "KIND": "kind"}
"""Constants of a class that are members of its document; ``KIND`` tells the documents of one format apart."""
_CONSTANT_MEANINGS: Final = {
    "format": "Name and version of this form; changes when a member goes or changes its meaning.",
    "kind": "Which of the documents of this form it is.",
}


def document(answer: object, ids: Sequence[int] = ()) -> Any:
    """The answer as plain values for JSON. A number that JSON does not have, such as NaN, is null.

    A member whose name is a word of Python ends in an underscore, which the document leaves out. ``ids`` are those of
    the rows that members refer to by position. Bytes are in hexadecimal. O(size of the answer).
    """
    kind: Any = type(answer)
    if answer is None or kind in (str, int, bool):
        return answer
    if isinstance(answer, float):
        return float(answer) if math.isfinite(answer) else None
    if isinstance(answer, Enum):
        return answer.value
    if is_record(kind) and not isinstance(answer, Sequence):
        plain = {word: getattr(kind, name) for name, word in _CONSTANTS.items() if hasattr(kind, name)}
        for name, key, meaning, inner in _plan(kind):
            value = getattr(answer, name)
            if not meaning.flat:
                plain[key] = _member(value, meaning, ids)
                continue
            for word, part in (dict.fromkeys(inner) if value is None else document(value, ids)).items():
                plain.setdefault(word, part)
        return plain
    if isinstance(answer, Mapping):
        return {key: document(value, ids) for key, value in answer.items()}
    if isinstance(answer, bytes):
        return answer.hex()
    if isinstance(answer, (Sequence, Set)) and not isinstance(answer, str):
        return [document(value, ids) for value in answer]
    if hasattr(answer, "tolist"):
        return document(answer.tolist(), ids)  # numbers and columns of numpy
    raise TypeError(f"a {kind.__name__} cannot be in a document")


def _member(value: Any, meaning: About, ids: Sequence[int]) -> Any:
    if meaning.place:
        return [_id_at(at, ids) for at in value] if isinstance(value, tuple) else _id_at(value, ids)
    if meaning.form is not None:
        return document(meaning.form(value), ids)
    return None if meaning.null is not None and value == meaning.null else document(value, ids)


def _id_at(position: int, ids: Sequence[int]) -> int | None:
    return ids[position] if 0 <= position < len(ids) else None


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
def _plan(answer: type) -> tuple[tuple[str, str, About, Sequence[str]], ...]:
    """Members of a document: as attributes, as they are spelt in JSON, what they mean, and of flat ones the members."""
    return tuple(
        (
            name,
            meaning.key or name.rstrip("_"),
            meaning,
            [*_object(_record_in(hint), {})["properties"]] if meaning.flat else (),
        )
        for name, hint, meaning in _members(answer)
    )


def _record_in(hint: Any) -> type:
    """The record of a type that may be None as well."""
    record: type
    (record,) = (choice for choice in get_args(hint) or (hint,) if choice is not NoneType)
    return record


def _members(answer: type) -> Iterator[tuple[str, Any, About]]:
    """Members with ``about``: their name, type and meaning; first fields, then properties."""
    hints: dict[str, Any] = {}
    kinds = answer.__mro__[::-1]
    for kind in kinds:
        hints |= _evaluated(kind, vars(kind).get("__annotations__", {}))
    for kind in kinds:
        for name, member in vars(kind).items():
            getter = member.fget if isinstance(member, property) else getattr(member, "func", None)
            if isinstance(member, (property, cached_property)) and getter is not None:
                hints |= _evaluated(kind, {name: getter.__annotations__.get("return")})
    for name, hint in hints.items():
        meaning = next((extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, About)), None)
        if meaning is not None:
            yield name, hint.__origin__ if meaning.form is None else _result(meaning.form), meaning


def _result(form: Callable[[Any], Any]) -> Any:
    return form if isinstance(form, type) else get_type_hints(form, include_extras=True)["return"]


def _evaluated(kind: type, hints: Mapping[str, Any]) -> dict[str, Any]:
    """The types of annotated members, also by the name of one; those of others may be known to type checkers only."""
    names = vars(sys.modules[kind.__module__])
    return {
        name: eval(hint, names) if isinstance(hint, str) else hint
        for name, hint in hints.items()
        if not isinstance(hint, str) or "Annotated[" in hint or get_origin(names.get(hint)) is Annotated
    }


def _object(answer: type, parts: dict[type, str]) -> dict[str, Any]:
    """The schema of one class; other classes that it has are added to ``parts``."""
    members: dict[str, Any] = {}
    for name, hint, meaning in _members(answer):
        if meaning.flat:
            for key, part in _object(_record_in(hint), parts)["properties"].items():
                members.setdefault(key, part if _record_in(hint) is hint else _or_null(part))
            continue
        members[meaning.key or name.rstrip("_")] = _bounded(_schema(hint, parts), meaning) | {
            "description": meaning.meaning
        }
    constants = {
        word: {"const": getattr(answer, name), "description": _CONSTANT_MEANINGS[word]}
        for name, word in _CONSTANTS.items()
        if hasattr(answer, name)
    }
    members = constants | members
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
    """The schema with bounds at its numbers, and null where a value stands for it."""
    if isinstance(schema.get("items"), dict):
        return schema | {"items": _bounded(schema["items"], meaning)}
    if isinstance(schema.get("additionalProperties"), dict):
        return schema | {"additionalProperties": _bounded(schema["additionalProperties"], meaning)}
    kinds = schema.get("type", ())
    kinds = [kinds] if isinstance(kinds, str) else [*kinds]
    if {"integer", "number"} & {*kinds}:
        bounds = {"minimum": meaning.least, "maximum": meaning.most}
        schema = schema | {word: bound for word, bound in bounds.items() if bound is not None}
        if meaning.nan and "null" not in kinds:
            schema["type"] = [*kinds, "null"]
    if (meaning.null is None and not meaning.place) or "null" in kinds:
        return schema
    if "enum" in schema:
        return schema | {"enum": [*(word for word in schema["enum"] if word != meaning.null), None]}
    return schema | {"type": [*kinds, "null"]}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of the same member, or null."""
    if "enum" in schema:
        return schema if None in schema["enum"] else schema | {"enum": [*schema["enum"], None]}
    kinds = [schema["type"]] if isinstance(schema["type"], str) else [*schema["type"]]
    return schema if "null" in kinds else schema | {"type": [*kinds, "null"]}


_SCALARS: Final = {str: "string", bytes: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


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
        words = {} if inner[0] is str else {"propertyNames": _schema(inner[0], parts)}
        return {"type": "object", **words, "additionalProperties": _schema(inner[1], parts)}
    if origin is np.ndarray:
        (number,) = get_args(inner[1])
        return {"type": "array", "items": {"type": "integer" if issubclass(number, np.integer) else "number"}}
    if origin is not None and issubclass(origin, (Sequence, Set)):
        return {"type": "array", "items": _schema(inner[0], parts)}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [choice.value for choice in hint]}
    if isinstance(hint, type) and is_record(hint):
        return {"$ref": f"#/$defs/{_part(hint, parts)}"}
    raise TypeError(f"{hint} cannot be in a document")


def _part(kind: type, parts: dict[type, str]) -> str:
    """The name of a class among the parts; of several with one name, the others have their room before it."""
    if kind not in parts:
        name = kind.__name__
        parts[kind] = name if name not in parts.values() else f"{kind.__module__.split('.')[-2]}.{name}"
        if [*parts.values()].count(parts[kind]) > 1:
            raise TypeError(f"two parts of a document are named {parts[kind]}")
    return parts[kind]


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
