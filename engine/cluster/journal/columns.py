"""Topics in columns as JSON values: the recipe of made-up ones, else names and deflated arrays."""

from __future__ import annotations

import base64
import binascii
import zlib
from dataclasses import asdict
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.cluster.limits import MAX_PARTITIONS
from engine.cluster.tables.loads import LoadTable
from engine.cluster.tables.synthetic import made_up_loads, made_up_topics
from engine.cluster.tables.topics import Recipe, Topic, TopicTable

_TRAFFIC: Final = ("rates", "counts", "known")
LIMIT: Final = 2**22
"""Partitions that are read; more were never written."""

MADE_UP_LIMIT: Final = 1_000_000
"""Partitions of a recipe, whose text has the same length however many they are."""


def columns_to_plain(topics: TopicTable, loads: LoadTable) -> dict[str, Any]:
    """``{"recipe": ...}`` where that says it all, else names, numbers of partitions and six columns of traffic."""
    if topics.recipe is not None and loads.made_up:
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
        if recipe.topics * max(recipe.partitions, 1) > MADE_UP_LIMIT:
            raise ValueError(f"more than {MADE_UP_LIMIT} made-up partitions are not read")
        topics = made_up_topics(recipe)
        return topics, made_up_loads(topics)
    if not isinstance(plain, dict) or plain.keys() != {"names", "partitions", "rates", "counts", "known"}:
        raise ValueError("columns are a recipe, or names, partitions, rates, counts and known")
    names = msgspec.convert(plain["names"], list[str])
    partitions = _unpacked(plain["partitions"], "<i4", len(names))
    if len(set(names)) != len(names) or (len(names) and (partitions.min() < 0 or partitions.max() > MAX_PARTITIONS)):
        raise ValueError("a topic stands there twice, or has a number of partitions that cannot be")
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
    """JSON carries no half of a surrogate pair."""
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
