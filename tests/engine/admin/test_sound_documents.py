"""A document in which nothing is wrong is decoded at once, with the result of topic by topic; any other is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from engine.admin.earlier import EarlierParts
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


def both_agree(data: bytes) -> bool:
    """Whether the document was decoded at once; the reader of single topics, which remembers them, must agree."""
    assert decode_broker_stats_topics(data, "f") == decode_broker_stats_topics(data, "f", EarlierParts())
    text, repairs = plain_json(data, "f")
    return not repairs and sound_topics(text, DOCUMENT) is not None


def test_recorded_documents_are_read_alike() -> None:
    at_once = sum(both_agree(path.read_bytes()) for path in FILES)
    assert at_once > 100


def test_topics_are_listed_with_their_bundle() -> None:
    topics = sound_topics(SOUND.encode(), DOCUMENT)
    assert topics is not None
    assert [topic[:5] for topic in topics] == [
        (A, "persistent", "t/n", -1, RANGE),
        (B, "non-persistent", "t/n", -1, RANGE),
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"msgRateIn": 1.5', '"msgRateIn": "1.5"'),
        ('"msgRateIn": 1.5', '"msgRateIn": -1'),
        ('"msgRateIn": 1.5', '"msgRateIn": null'),
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
def test_where_something_is_wrong_each_topic_is_read_on_its_own(old: str, new: str) -> None:
    assert both_agree(SOUND.encode())
    assert old in SOUND
    assert not both_agree(SOUND.replace(old, new, 1).encode())
