"""Bundles to be cut, with topics that lie anywhere in them."""

from __future__ import annotations

import random
import zlib
from typing import Any, Final

from engine.bundles.bulk_splits import flow_or_qps_as_proposed
from engine.bundles.loads import TopicLoad, topic_load
from engine.config import ReleaseBehaviour
from tests.fresh_vectors.inputs import Case

Line = dict[str, Any]

LAST: Final = 0xFFFFFFFF
RATES: Final = (0, 0.0, 1, 10, 10, 99.9, 100, 500, 0.1, 1e9)
BYTES: Final = (0, 0.0, 1, 2**20, 2**20, 52_428_800, 1e15)


def _bundle(draw: random.Random) -> tuple[int, int]:
    """Its bounds: mostly wide, so that topics lie in it, now and then too narrow to be cut."""
    low = draw.choice((0, 0x40000000, draw.randrange(LAST)))
    high = min(LAST, low + draw.choice((1, 2, 3, 1000, 0x40000000, 0x80000000, LAST)))
    return (low, high) if low < high else (0, LAST)


def _topics(draw: random.Random) -> list[str] | None:
    if draw.random() < 0.05:
        return None
    names = []
    for _ in range(draw.choice((0, 1, 2, 3, 5, 12, 40))):
        name = f"persistent://tn/ns1/{draw.choice('abcé')}{draw.randrange(10_000)}"
        names.append(f"{name}-partition-{draw.randrange(20)}" if draw.random() < 0.3 else name)
    return list(dict.fromkeys(names))  # a broker has no two of one name


def _text(bundle: tuple[int, int]) -> str:
    return f"0x{bundle[0]:08x}_0x{bundle[1]:08x}"


def draw_range(draw: random.Random, _: ReleaseBehaviour) -> Case:
    """A bundle that is cut in the middle."""
    return {"kind": "split_range", "in": {"bundle": _text(_bundle(draw))}}


def draw_topic_count(draw: random.Random, _: ReleaseBehaviour) -> Case:
    """A bundle that is cut between its topics."""
    return {"kind": "split_topic_count", "in": {"bundle": _text(_bundle(draw)), "topics": _topics(draw)}}


def draw_specified(draw: random.Random, _: ReleaseBehaviour) -> Case:
    """A bundle that is cut where somebody says: at topics, beside them, at its bounds and outside."""
    bundle, topics = _bundle(draw), _topics(draw)
    near = [zlib.crc32(topic.encode()) + draw.choice((-1, 0, 1)) for topic in topics or ()]
    places = [*bundle, bundle[0] + 1, bundle[1] - 1, sum(bundle) // 2, draw.randrange(LAST), *near]
    positions: list[int] | None = [draw.choice(places) for _ in range(draw.choice((1, 1, 2, 3, 6)))]
    if draw.random() < 0.05:
        positions = draw.choice((None, []))
    force = draw.random() < 0.3
    return {
        "kind": "split_specified",
        "in": {"bundle": _text(bundle), "force": force, "topics": topics, "positions": positions},
    }


def draw_flow(draw: random.Random, _: ReleaseBehaviour) -> Case:
    """A bundle that is cut by the flow of its topics, many of which are alike."""
    loads = []
    for name in _topics(draw) or ():
        if draw.random() < 0.1:
            loads.append({"name": name, "noStats": True})
            continue
        rates = {member: draw.choice(RATES) for member in ("rateIn", "rateOut")}
        loads.append({"name": name, **rates, **{member: draw.choice(BYTES) for member in ("thrIn", "thrOut")}})
    config = {
        "maxMsgRate": draw.choice((-1, 0, 1, 10, 100, 1000, 30_000)),
        "maxBandwidthMbytes": draw.choice((-1, 0, 1, 10, 100)),
        "diffPercent": draw.choice((-1, 0, 1, 10, 50, 100, 200)),
    }
    return {"kind": "split_flow_qps", "in": {"bundle": _text(_bundle(draw)), "topics": loads, "config": config}}


def flow_line(case: Case, _: ReleaseBehaviour) -> Line:
    """The line with the cut as first proposed. No class of Pulsar has that one, so the engine's own is put in."""
    proposal = list(flow_or_qps_as_proposed([_load(entry) for entry in case["in"]["topics"]]))
    return case | {"out": case["out"] | {"proposal": proposal}}


def _load(entry: Line) -> TopicLoad:
    if entry.get("noStats"):
        return topic_load(entry["name"], has_stats=False)
    return topic_load(entry["name"], entry["rateIn"], entry["rateOut"], entry["thrIn"], entry["thrOut"])
