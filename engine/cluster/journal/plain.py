"""Frozen values as JSON values and bytes, and back with the place of what is wrong.

JSON carries no half of a surrogate pair and no number that is infinite, Python texts and floats do: such a text is
written as ``{"code_points": [...]}``, such a number as ``{"float": "inf"}``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Final, NoReturn, TypeVar

import msgspec

from engine.errors import InputError, Problem

T = TypeVar("T")

DEEPEST: Final = 100
"""Levels of lists and objects; what is written has about ten."""

_encoder: Final = msgspec.json.Encoder(order="deterministic")


def to_plain(value: Any, *, tagged: bool = False) -> Any:
    """A frozen value as JSON values; ``tagged`` adds the name of its class as ``type``."""
    if isinstance(value, str):
        return value if _is_utf8(value) else {"code_points": [ord(char) for char in value]}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, (tuple, list)):
        return [to_plain(each) for each in value]
    if is_dataclass(value):
        plain = {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
        return {"type": type(value).__name__, **plain} if tagged else plain
    assert value is None or isinstance(value, (bool, int)), f"{type(value)} has no written form"
    return value


def from_plain(plain: Any, levels: int = DEEPEST) -> Any:
    """Texts and numbers that JSON cannot carry, back from their wrappings. Raises ValueError for what is too deep."""
    if levels == 0:
        raise ValueError(f"nested more than {DEEPEST} levels deep")
    if isinstance(plain, list):
        return [from_plain(each, levels - 1) for each in plain]
    if isinstance(plain, dict):
        if plain.keys() == {"code_points"}:
            return "".join(map(chr, plain["code_points"]))
        if plain.keys() == {"float"}:
            return float(plain["float"])
        return {key: from_plain(each, levels - 1) for key, each in plain.items()}
    return plain


def encode(plain: Any) -> bytes:
    """JSON values as bytes, keys sorted."""
    return _encoder.encode(plain)


def decode(data: bytes, source: str) -> Any:
    """JSON bytes as values. Raises InputError."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{source} is no JSON: {error}", (Problem(source, "$", str(error)),)) from error


def convert(plain: Any, kind: type[T], source: str, place: str) -> T:
    """JSON values as a value of a known kind. Raises InputError with the place."""
    try:
        return msgspec.convert(from_plain(plain), kind)
    except (msgspec.ValidationError, TypeError, ValueError, OverflowError) as error:
        fail(source, place, str(error))


def tagged(plain: Any, kinds: Mapping[str, type[Any]], source: str, place: str) -> Any:
    """A value that ``to_plain(tagged=True)`` wrote, of one of these classes by their names. Raises InputError."""
    name = plain.get("type") if isinstance(plain, dict) else None
    kind = kinds.get(name) if isinstance(name, str) else None
    if kind is None:
        fail(source, place, f"{name!r} is none of {', '.join(sorted(kinds))}")
    return convert(plain, kind, source, place)


def list_of(plain: Any, key: str, kind: type[T], source: str) -> list[T]:
    """The values of one kind that are listed under a key. Raises InputError."""
    rows: Sequence[Any] = member(plain, key, list, source)
    return [convert(row, kind, source, f"$.{key}[{at}]") for at, row in enumerate(rows)]


def member(plain: Any, key: str, kind: type[T], source: str) -> T:
    """What stands under a key. Raises InputError where it is missing or of another kind."""
    value = plain.get(key) if isinstance(plain, dict) else None
    if value is None or not isinstance(value, kind):
        fail(source, f"$.{key}", f"{key} is missing or of the wrong kind")
    return value


def fail(source: str, place: str, reason: str) -> NoReturn:
    """Raise the InputError for what is wrong at a place."""
    raise InputError(f"{source} at {place}: {reason}", (Problem(source, place, reason),))


def _is_utf8(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)
