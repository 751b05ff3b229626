"""Frozen values as JSON values and bytes, and back; errors name the place in the document.

Unlike Python, JSON has neither unpaired surrogates nor infinite numbers: such a text is
written as ``{"code_points": [...]}``, such a number as ``{"float": "inf"}``.
"""

from __future__ import annotations

import base64
import binascii
import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn, TypeVar

import msgspec
import numpy as np
from msgspec.structs import asdict
from numpy.typing import NDArray

from engine.answer import member_names
from engine.cluster.limits import MAX_PARTITIONS
from engine.cluster.tables.loads import LoadTable, synthetic_loads, synthetic_topics
from engine.cluster.tables.topics import Recipe, Topic, TopicTable
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
        # Declared ranges are tens of thousands of pairs of numbers.
        return [item if type(item) is int else to_plain(item) for item in value]
    names = member_names(type(value))
    if names is not None:
        plain = {name: to_plain(getattr(value, name)) for name in names}
        return {"type": type(value).__name__, **plain} if tagged else plain
    assert value is None or isinstance(value, (bool, int)), f"{type(value)} has no written form"
    return value


def from_plain(plain: Any, levels: int = DEEPEST) -> Any:
    """Unwrap the texts and numbers that JSON cannot represent. Raises ValueError if nested too deeply."""
    if levels == 0:
        raise ValueError(f"nested more than {DEEPEST} levels deep")
    if isinstance(plain, list):
        return [from_plain(item, levels - 1) for item in plain]
    if isinstance(plain, dict):
        if plain.keys() == {"code_points"}:
            return "".join(map(chr, plain["code_points"]))
        if plain.keys() == {"float"}:
            return float(plain["float"])
        return {key: from_plain(item, levels - 1) for key, item in plain.items()}
    return plain


def encode(plain: Any) -> bytes:
    """JSON values as bytes, keys sorted."""
    return _encoder.encode(plain)


def decode(data: bytes, source: str) -> Any:
    """JSON bytes as values. Raises InputError."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{source} is not JSON: {error}", (Problem(source, "$", str(error)),)) from error


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
    """The list of values of one kind under a key. Raises InputError."""
    rows: Sequence[Any] = member(plain, key, list, source)
    return [convert(row, kind, source, f"$.{key}[{at}]") for at, row in enumerate(rows)]


def member(plain: Any, key: str, kind: type[T], source: str) -> T:
    """The value of a key. Raises InputError where it is missing or of another kind."""
    value = plain.get(key) if isinstance(plain, dict) else None
    if value is None or not isinstance(value, kind):
        fail(source, f"$.{key}", f"{key} is missing or of the wrong kind")
    return value


def fail(source: str, place: str, reason: str) -> NoReturn:
    """Raise the InputError for a fault at a place."""
    raise InputError(f"{source} at {place}: {reason}", (Problem(source, place, reason),))


def _is_utf8(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)


_TRAFFIC: Final = ("rates", "counts", "known")
LIMIT: Final = 2**22
"""The most partitions that are read; no journal has more."""

SYNTHETIC_LIMIT: Final = 1_000_000
"""The most partitions of a recipe, whose text does not grow with their number."""


def columns_to_plain(topics: TopicTable, loads: LoadTable) -> dict[str, Any]:
    """``{"recipe": ...}`` for synthetic topics, else names, numbers of partitions and six columns of traffic."""
    if topics.recipe is not None and loads.synthetic:
        return {"recipe": asdict(topics.recipe)}
    return {
        "names": [_as_units(name) for name in topics.names],
        "partitions": _packed(topics.partitions.astype("<i4")),
        **loads_to_plain(loads),
    }


def loads_to_plain(loads: LoadTable) -> dict[str, Any]:
    """Six columns of traffic, and which partitions have any."""
    known = np.ones(loads.topics.partition_count, dtype=np.bool_) if loads.known is None else loads.known
    return {
        "rates": _packed(loads.rates.astype("<f8")),
        "counts": _packed(loads.counts.astype("<i8")),
        "known": _packed(known.astype("u1")),
    }


def columns_from_plain(plain: Any) -> tuple[TopicTable, LoadTable]:
    """Topics and traffic of ``columns_to_plain``. Raises ValueError with the reason for anything else."""
    if isinstance(plain, dict) and plain.keys() == {"recipe"}:
        recipe = msgspec.convert(plain["recipe"], Recipe)
        if min(recipe.topics, recipe.partitions, recipe.seed) < 0 or recipe.partitions > MAX_PARTITIONS:
            raise ValueError("a recipe has no negative numbers, and not that many partitions")
        if recipe.topics * max(recipe.partitions, 1) > SYNTHETIC_LIMIT:
            raise ValueError(f"more than {SYNTHETIC_LIMIT} synthetic partitions are not read")
        topics = synthetic_topics(recipe)
        return topics, synthetic_loads(topics)
    if not isinstance(plain, dict) or plain.keys() != {"names", "partitions", "rates", "counts", "known"}:
        raise ValueError("columns are a recipe, or names, partitions, rates, counts and known")
    names = msgspec.convert(plain["names"], list[str])
    partitions = _unpacked(plain["partitions"], "<i4", len(names))
    if len(set(names)) != len(names) or (len(names) and (partitions.min() < 0 or partitions.max() > MAX_PARTITIONS)):
        raise ValueError("a topic is listed twice, or has an impossible number of partitions")
    if int(np.maximum(partitions, 1).sum()) > LIMIT:
        raise ValueError(f"more than {LIMIT} partitions are not read")
    topics = TopicTable.of(map(Topic, names, partitions.tolist()))
    return topics, loads_from_plain(topics, {name: plain[name] for name in _TRAFFIC})


def loads_from_plain(topics: TopicTable, plain: Any) -> LoadTable:
    """The traffic of ``loads_to_plain``. Raises ValueError with the reason for anything else."""
    if not isinstance(plain, dict) or plain.keys() != set(_TRAFFIC):
        raise ValueError(f"columns of traffic are {', '.join(_TRAFFIC)}")
    count = topics.partition_count
    rates = _unpacked(plain["rates"], "<f8", 4 * count).reshape(4, count)
    counts = _unpacked(plain["counts"], "<i8", 2 * count).reshape(2, count)
    known = _unpacked(plain["known"], "u1", count).astype(np.bool_)
    return LoadTable(topics, rates, counts, known)


def _as_units(name: str) -> Any:
    """A text as JSON can represent it: code points if it has an unpaired surrogate."""
    if name.isascii() or not any("\ud800" <= char <= "\udfff" for char in name):
        return name
    return {"code_points": [*map(ord, name)]}


def _packed(values: NDArray[Any]) -> str:
    return base64.b64encode(zlib.compress(values.tobytes(), 6)).decode("ascii")


def _unpacked(text: Any, kind: str, count: int) -> NDArray[Any]:
    size = count * np.dtype(kind).itemsize
    try:
        data = zlib.decompressobj().decompress(base64.b64decode(text, validate=True), size + 1)
    except (TypeError, binascii.Error, zlib.error) as error:
        raise ValueError(f"a column is damaged: {error}") from error
    if len(data) != size:
        raise ValueError(f"a column has {len(data)} bytes where {size} belong")
    return np.frombuffer(data, dtype=kind).astype(np.dtype(kind).newbyteorder("="))
