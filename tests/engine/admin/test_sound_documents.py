"""A document in which nothing is wrong can be decoded at once, with what topic by topic gives; any other cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import astuple, replace

from engine.admin.text import plain_json
from engine.admin.topic_wire import TopicWire, sound_topics
from engine.admin.topics import decode_broker_stats_topics

ROOTS = [Path(__file__).parents[2] / name for name in ("recordings", "samples", "hostile")]
FILES = sorted(path for root in ROOTS for path in root.rglob("*broker-stats*topics*") if path.is_file())
DOCUMENT = msgspec.json.Decoder(dict[str, dict[str, dict[str, dict[str, TopicWire]]]])
A, B = "persistent://t/n/a", "non-persistent://t/n/b"
RANGE = "0x00000000_0xffffffff"
SUBSCRIPTIONS = {"s": {"type": "Shared", "consumers": []}}
STATS: dict[str, Any] = {"msgRateIn": 1.5, "publishers": [{}], "subscriptions": SUBSCRIPTIONS}
SOUND = json.dumps({"t/n": {RANGE: {"persistent": {A: STATS}, "non-persistent": {B: STATS}}}})


def is_sound(data: bytes) -> bool:
    """Whether the document can be decoded at once; the reader of single topics must agree, and have no objection."""
    text, repairs = plain_json(data, "f")
    read = None if repairs else sound_topics(text, DOCUMENT)
    if read is None:
        return False
    decoded = decode_broker_stats_topics(data, "f")
    assert (decoded.problems, decoded.set_aside) == ((), 0)
    topics, places = decoded.good.topics, decoded.good.places
    assert read.names == list(topics)
    assert [*zip(read.namespaces, read.bundles, strict=True)] == [astuple(places[name]) for name in topics]
    own = zip(read.domains, read.namespaces, read.partition_indices, read.wires, strict=True)
    assert [
        (*place, wire.msgRateIn, wire.msgThroughputOut, wire.storageSize, wire.lastPublishTimeStamp,
         [replace(each, name=name) for name, each in wire.subscriptions.items()])
        for *place, wire in own
    ] == [
        (each.domain, each.namespace, each.partition_index, each.msg_rate_in_msgs_per_sec,
         each.msg_throughput_out_bytes_per_sec, each.storage_size_bytes, each.last_publish_ms, [*each.subscriptions])
        for each in topics.values()
    ]  # fmt: skip
    return True


def test_recorded_documents_are_read_alike() -> None:
    assert sum(is_sound(path.read_bytes()) for path in FILES) > 100


def test_topics_are_listed_with_their_bundle() -> None:
    topics = sound_topics(SOUND.encode(), DOCUMENT)
    assert topics is not None
    assert topics.names == [A, B]
    assert topics.domains == ["persistent", "non-persistent"]
    assert (topics.namespaces, topics.bundles, topics.partition_indices) == (["t/n"] * 2, [RANGE] * 2, [-1, -1])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"msgRateIn": 1.5', '"msgRateIn": "1.5"'),
        ('"msgRateIn": 1.5', '"msgRateIn": -1'),
        ('"msgRateIn": 1.5', '"msgRateIn": 1.5, "msgRateIn": 2'),
        ('"msgRateIn": 1.5', '"msgRateIn" : 1.5, "msgRateIn" : 2'),
        ('"t/n"', '"t;n"'),
        ('"t/n"', '"t/other"'),
        (A, "persistenb://t/n/a"),
        (RANGE, "0x00000000_0x1ffffffff"),
        (RANGE, "everything"),
        ('"persistent": {', f'"persistent": {{"{B}": {{}}, '),
        ('"persistent": {', f'"persistent": {{"{A}": {{}}, '),
        ('"persistent": {', '"persistent": {"persistent://t/n/": {}, '),
        ('"s": {', '" ": {'),
        ('"Shared", "consumers": []', '"Key_Shared", "consumers": [{"consumerName": "c", "keyHashRanges": ["[1"]}]'),
        ("}}}}", "}}}"),
    ],
)
def test_where_something_is_wrong_nothing_is_read_at_once(old: str, new: str) -> None:
    assert is_sound(SOUND.encode())
    assert old in SOUND
    assert not is_sound(SOUND.replace(old, new, 1).encode())
