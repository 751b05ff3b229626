"""The same vectors through the bulk engine: all lines of a family in one call, so that none disturbs another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from engine.bulk_hashing import crc32_bulk, murmur3_bulk
from engine.bundles.algorithms import flow_limits
from engine.bundles.boundaries import BundleRange, default_boundaries, namespace_bundles, parse_range
from engine.bundles.bulk_splits import Answer, Cuts, flow_cuts, range_cuts, specified_cuts, topic_count_cuts
from engine.bundles.columns import BundleMap, TopicColumns, bundle_map
from engine.bundles.loads import TopicLoad
from engine.errors import Rejection
from engine.failover.bulk import assign
from engine.failover.bulk_ring import build_rings, cohorts
from engine.hashing import utf8
from engine.keyshared.bulk import slots_bulk
from engine.keyshared.model import CLASSIC_RING_SLOTS, RANGE_SIZE, RING_SLOTS, SlotSpace
from engine.names import TopicName, parse_topic_name
from tests.golden.families.bundles import _limits, _loads
from tests.golden.families.consumers import connected_in
from tests.golden.harness import Line, checks_in_bulk

Wrong = Iterator[tuple[int, str]]


def _differing(what: str, found: Iterable[Any], expected: Iterable[Any]) -> Wrong:
    for at, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        if ours != theirs:
            yield at, f"{what} {ours}, not {theirs}"


@checks_in_bulk("murmur3")
def check_hashes(lines: list[Line]) -> Wrong:
    """Texts, bytes and the three kinds of slot."""
    data = [utf8(line["s"]) if line["kind"] == "string" else bytes.fromhex(line["hex"]) for line in lines]
    hashes = murmur3_bulk(data)
    yield from _differing("hash", hashes.tolist(), [line["murmur3_32"] for line in lines])
    for member, space in (
        ("slot_ring", RING_SLOTS),
        ("slot_65536", SlotSpace(0, RANGE_SIZE - 1)),
        ("slot_classic", CLASSIC_RING_SLOTS),
    ):
        yield from _differing(member, slots_bulk(hashes, space).tolist(), [line[member] for line in lines])
    texts = [at for at, line in enumerate(lines) if line["kind"] == "string"]
    for at, text in _differing(
        "hash of the text", murmur3_bulk([lines[at]["s"] for at in texts]).tolist(), hashes[texts].tolist()
    ):
        yield texts[at], text


@checks_in_bulk("failover")
def check_choices(lines: list[Line]) -> Wrong:
    """Every line is a subscription of its own: all cohorts, rings and topics are made together, with each flag."""
    orders = [connected_in(line) for line in lines]
    names = [[consumer.name for consumer in order] for order in orders]
    levels = [[consumer.priority_level for consumer in order] for order in orders]
    result, rings = cohorts(names, levels), build_rings(names, levels)
    hashes = murmur3_bulk([line["topic"] for line in lines])
    indices = np.array([line["partitionIndex"] for line in lines], dtype=np.int64)
    number = np.arange(len(lines))
    by_flag = [
        assign(result, rings, number, hashes, indices, consistent_hashing=flag).tolist() for flag in (False, True)
    ]
    places = [by_flag[line["consistent"]][at] for at, line in enumerate(lines)]
    consumer_ids = [orders[at][place].consumer_id for at, place in enumerate(places)]
    yield from _differing("selected", consumer_ids, [line["selected"] for line in lines])
    for at, line in enumerate(lines):
        members = result.members[result.start[at] : result.start[at + 1]].tolist()
        leading = [orders[at][place].consumer_id for place in members]
        if leading != line["order"][: len(leading)] or line["selected"] != leading[line["selectedIndex"]]:
            yield at, f"cohort {leading}"


@checks_in_bulk("bundle_hash")
def check_bundles(lines: list[Line]) -> Wrong:
    """Each line and number of bundles is a namespace of its own; 0xffffffff has a bundle here and an error there."""
    named = [(at, name) for at, line in enumerate(lines) if isinstance(name := _name(line), TopicName)]
    hashes = crc32_bulk([name.complete for _, name in named])
    for at, text in _differing("hash", hashes.tolist(), [lines[at]["out"]["hash"] for at, _ in named]):
        yield named[at][0], text
    asked = [(row, at, count) for row, (at, _) in enumerate(named) for count in lines[at]["in"]["numBundles"]]
    judged = [namespace_bundles("t/n", _default(count)) for _, _, count in asked]
    assert not any(isinstance(each, Rejection) for each in judged)
    bundles = bundle_map([_default(count) for _, _, count in asked])
    result = bundles.look_up(np.arange(len(asked)), hashes[[row for row, _, _ in asked]])
    for (row, at, count), bundle in zip(asked, result.tolist(), strict=True):
        ours = str(BundleRange(int(bundles.lower[bundle]), int(bundles.upper[bundle])))
        theirs = lines[at]["out"]["bundle"][str(count)]
        if hashes[row] == 0xFFFFFFFF:
            theirs = str(BundleRange(_default(count)[-2], 0xFFFFFFFF))
        if ours != theirs:
            yield at, f"bundle of {count} {ours}, not {theirs}"


def _name(line: Line) -> TopicName | Rejection:
    return parse_topic_name(line["in"]["topic"])


def _default(count: int) -> tuple[int, ...]:
    boundaries = default_boundaries(count)
    assert isinstance(boundaries, tuple), boundaries
    return boundaries


@checks_in_bulk("split_range")
def check_range(lines: list[Line]) -> Wrong:
    """Each line is a bundle."""
    return _cuts_differ(range_cuts(_bundles(lines)), lines)


@checks_in_bulk("split_topic_count")
def check_topic_count(lines: list[Line]) -> Wrong:
    """Each line is a bundle with its topics; no list of topics is a bundle without any."""
    return _cuts_differ(topic_count_cuts(_topics(lines), len(lines)), lines)


@checks_in_bulk("split_specified")
def check_specified(lines: list[Line]) -> Wrong:
    """Forced and unforced splits of all bundles, the one that was asked for being compared."""
    positions = [line["in"]["positions"] or [] for line in lines]
    by_force = [specified_cuts(_bundles(lines), _topics(lines), positions, force=force) for force in (False, True)]
    for force, result in enumerate(by_force):
        for at, text in _cuts_differ(result, lines):
            if lines[at]["in"]["force"] == bool(force):
                yield at, text


@checks_in_bulk("split_flow_qps")
def check_flow(lines: list[Line]) -> Wrong:
    """All bundles under the limits of each line that has others: a broker has one set of limits."""
    topics = _topics(lines)
    for config in {tuple(sorted(line["in"]["config"].items())) for line in lines}:
        limits = flow_limits(_limits(dict(config)))
        cuts = flow_cuts(topics, len(lines), limits)
        for at, text in _cuts_differ(cuts, lines):
            if tuple(sorted(lines[at]["in"]["config"].items())) == config:
                yield at, text


def _bundles(lines: list[Line]) -> BundleMap:
    ranges = [parse_range(line["in"]["bundle"]) for line in lines]
    numbers = np.arange(len(lines) + 1, dtype=np.int64)
    lower = np.array([each.lower for each in ranges if isinstance(each, BundleRange)], dtype=np.int64)
    upper = np.array([each.upper for each in ranges if isinstance(each, BundleRange)], dtype=np.int64)
    return BundleMap(numbers[:-1] << 32 | lower, upper, numbers)


def _topics(lines: list[Line]) -> TopicColumns:
    rows: list[tuple[int, TopicLoad]] = [
        (at, topic) for at, line in enumerate(lines) for topic in _loads(line["in"]["topics"]) or ()
    ]
    return TopicColumns(
        np.array([at for at, _ in rows], dtype=np.int64),
        crc32_bulk([topic.name for _, topic in rows]),
        np.array([topic.msgs_per_sec for _, topic in rows], dtype=np.float64),
        np.array([topic.bytes_per_sec for _, topic in rows], dtype=np.float64),
        np.array([topic.has_stats for _, topic in rows], dtype=bool),
    )


def _cuts_differ(found: Cuts, lines: list[Line]) -> Wrong:
    for at, line in enumerate(lines):
        refused = bool(found.answer[at] == Answer.REFUSED)
        cuts = found.of(at)
        ours = None if refused or cuts is None else list(cuts)
        if refused != ("error" in line["out"]) or ours != line["out"].get("boundaries"):
            yield at, f"cuts {'refused' if refused else ours}, not {line['out']}"
