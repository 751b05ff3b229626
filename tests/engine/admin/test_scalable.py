"""Reading what brokers print of scalable topics."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from engine.admin.facts import Snapshot
from engine.admin.files import AnswerFile
from engine.admin.kinds import AnswerKind, recognise
from engine.admin.requests import parse_request
from engine.admin.scalable import (
    decode_record,
    decode_scalable_stats,
    decode_segment_stats,
    layout_of,
    milliseconds,
    range_of_segment,
)
from engine.admin.snapshot import read_answers
from engine.scenarios.opening import open_snapshot
from engine.scenarios.subscriptions import SCALABLE_TOPICS
from tests.engine.scalable.scenes import SCENES, moments_of, scene, write

SHARED = "2026-11-27T15-14-23Z"
TOPIC = "topic://ring/manual/orders"
RECORD = "admin/v2/scalable/ring/manual/orders.json"
STATS = "admin/v2/scalable/ring/manual/orders/stats.json"


def answer(path: str, moment: str = SHARED) -> Any:
    return json.loads(json.dumps(scene("manual")["answers"][moment][path]))


def encoded(document: Any) -> bytes:
    return json.dumps(document).encode()


@pytest.mark.parametrize("name", SCENES)
def test_nothing_of_a_recording_is_a_problem_or_a_classic_topic(tmp_path: Path, name: str) -> None:
    for at, moment in enumerate(moments_of(tmp_path, name)):
        snapshot = moment.snapshot
        assert snapshot.problems == ()
        assert snapshot.counts.topics_set_aside == 0
        assert len(snapshot.scalable) == (at > 0 or name != "migrate")
        assert [topic for topic in snapshot.topics if "unknown" in topic or topic.startswith("topic:")] == []


@pytest.mark.parametrize("name", SCENES)
def test_the_layout_of_statistics_is_that_of_the_record(tmp_path: Path, name: str) -> None:
    for facts in [one for moment in moments_of(tmp_path, name) for one in moment.snapshot.scalable.values()]:
        assert facts.record is not None
        assert facts.statistics is not None
        listed = layout_of(facts.statistics.layout)
        known = {
            segment_id: replace(segment, created_at_epoch=0, sealed_at_epoch=-1)
            for segment_id, segment in facts.record.segments.items()
        }
        assert listed.segments == known
        assert listed.epoch == facts.record.epoch


def test_the_answers_of_one_moment_are_put_together(tmp_path: Path) -> None:
    snapshot = read_answers(write(tmp_path, "manual", SHARED) / SHARED)
    facts = snapshot.scalable[TOPIC]
    assert facts.segments.keys() == {0, 1}
    assert facts.segments[0].subscriptions["sub"].type == "Key_Shared"
    assert facts.clocks().last_split_ms is None
    assert snapshot.version == "5.0.1"
    assert {name for name in snapshot.topics if name.startswith("segment:")} == {
        "segment://ring/manual/orders/0000-7fff-0",
        "segment://ring/manual/orders/8000-ffff-1",
    }


def test_no_classic_rule_is_asked_about_a_shared_segment(tmp_path: Path) -> None:
    opened = open_snapshot(read_answers(write(tmp_path, "manual", SHARED) / SHARED))
    assert opened.state.key_subscriptions == ()
    assert opened.state.subscriptions == ()
    assert SCALABLE_TOPICS not in [note.code for note in opened.notes]
    assert [one.topic for one in opened.state.scalable_topics] == [TOPIC]
    assert TOPIC not in opened.state.topics


def test_statistics_alone_name_their_topic_by_their_segments() -> None:
    snapshot = read_answers(AnswerFile("stats.json", encoded(answer(STATS))))
    assert snapshot.scalable.keys() == {TOPIC}
    assert snapshot.topics == {}
    layout = snapshot.scalable[TOPIC].layout()
    assert layout is not None
    assert [segment.buckets for segment in layout.active()] == [2, 2]


def test_a_record_alone_is_named_by_its_file_or_by_who_reads_it() -> None:
    alone = read_answers(AnswerFile("orders.json", encoded(answer(RECORD))))
    assert alone.scalable.keys() == {"topic://unknown/unknown/orders"}
    named = read_answers(AnswerFile("x.json", encoded({"topic://t/n/x": answer(RECORD)})))
    assert named.scalable.keys() == {"topic://t/n/x"}


def test_a_record_without_a_name_belongs_to_the_statistics_that_lack_one() -> None:
    snapshot = read_answers(AnswerFile("a.json", encoded(answer(STATS))), AnswerFile("b.json", encoded(answer(RECORD))))
    assert snapshot.scalable.keys() >= {TOPIC}
    both = read_answers(
        AnswerFile("x.json", encoded({"topic://t/n/x": answer(RECORD), "topic://t/n/y": answer(STATS)}))
    )
    assert both.scalable.keys() == {"topic://t/n/x", "topic://t/n/y"}


def test_statistics_of_a_segment_without_a_place_are_set_aside() -> None:
    path = "admin/v2/scalable/ring/manual/orders/segments/0/stats.json"
    with_stats = scene("manual")["answers"]
    (moment,) = [one for one in with_stats if path in with_stats[one]]
    data = encoded(answer(path, moment))
    assert recognise("stats.json", data) is AnswerKind.SEGMENT_STATS
    snapshot = read_answers(AnswerFile("stats.json", data))
    assert (snapshot.topics, snapshot.scalable, len(snapshot.problems)) == ({}, {}, 1)


@pytest.mark.parametrize(
    ("path", "what", "setting"),
    [
        ("t/n", "topic-list", ""),
        ("t/n/x", "scalable-record", ""),
        ("t/n/x/stats", "scalable-stats", ""),
        ("t/n/x/segments/7/stats", "segment-stats", "7"),
        ("t/n/x/autoScalePolicy", "", ""),
    ],
)
def test_requests_about_scalable_topics(path: str, what: str, setting: str) -> None:
    request = parse_request(f"GET /admin/v2/scalable/{path}")
    assert (request.what, request.setting) == (what, setting)
    assert request.topic == ("topic://t/n/x" if "/x" in path else "")


def broken(**changes: Any) -> bytes:
    record = answer(RECORD)
    record["segments"]["0"] |= changes
    return encoded(record)


@pytest.mark.parametrize(
    "changes",
    [
        {"hashRange": {"start": 5, "end": 4}},
        {"hashRange": {"start": -1, "end": 4}},
        {"hashRange": {"start": 0, "end": 65_536}},
        {"hashRange": {"start": "0", "end": 4}},
        {"entryBucketSplits": [0]},
        {"entryBucketSplits": [9, 9]},
        {"entryBucketSplits": [65_536]},
        {"state": "GONE"},
        {"segmentId": 2**70},
        {"parentIds": [None, "x"]},
    ],
)
def test_a_segment_that_cannot_be_one_is_set_aside_alone(changes: dict[str, Any]) -> None:
    decoded = decode_record(broken(**changes), "r.json")
    assert decoded.good is not None
    assert decoded.good.segments.keys() == {1}
    assert [problem.path.startswith("$.segments") for problem in decoded.problems] == [True]
    assert decoded.set_aside == 1


def test_a_record_of_the_first_milestone_has_one_bucket_a_segment() -> None:
    decoded = decode_record(broken(entryBucketSplits=None), "r.json")
    assert decoded.good is not None
    assert [segment.buckets for segment in decoded.good.segments.values()] == [1, 2]


def test_too_many_segments_and_buckets_end_in_a_problem() -> None:
    one = next(iter(answer(RECORD)["segments"].values()))
    many = {"epoch": 0, "nextSegmentId": 1, "segments": {str(n): one for n in range(2**17 + 1)}}
    decoded = decode_record(encoded(many), "r.json")
    assert (decoded.good, decoded.set_aside, len(decoded.problems)) == (None, 1, 1)
    stats = answer(STATS)
    stats["layout"]["segments"]["0"]["entryBuckets"] = 2**40
    read = decode_scalable_stats(encoded(stats), "s.json")
    assert read.good is not None
    assert (read.good.layout.segments, len(read.problems)) == ({}, 1)
    assert read.good.subscriptions.keys() == {"sub"}


def test_a_bad_subscription_loses_only_itself() -> None:
    stats = answer(STATS)
    stats["subscriptions"]["bad"] = {"type": "STREAM", "msgBacklog": "many"}
    decoded = decode_scalable_stats(encoded(stats), "s.json")
    assert decoded.good is not None
    assert decoded.good.subscriptions.keys() == {"sub"}
    assert decoded.good.layout.segments.keys() == {"0", "1"}
    assert decoded.good.controllerBroker == "127.0.0.1:49395"
    assert ["bad" in problem.path for problem in decoded.problems] == [True]


@pytest.mark.parametrize("data", [b"", b"[]", b'{"layout": 3, "subscriptions": 4}', b"{" * 5000])
def test_other_texts_end_in_problems(data: bytes) -> None:
    assert decode_record(data, "x").good is None
    assert decode_scalable_stats(data, "x").good is None
    assert decode_segment_stats(data, "x").problems != ()


def test_names_and_times() -> None:
    assert range_of_segment("segment://t/n/x/8000-7fff-3") is None
    assert range_of_segment("segment://t/n/x/0000-10000-3") is None
    assert milliseconds("2026-11-27T15:14:23.365Z") == 1_795_792_463_365
    assert milliseconds("2026-11-27T15:14:23") is None
    assert milliseconds(None) is None


def test_a_snapshot_without_any_has_none() -> None:
    assert Snapshot("x", {}).scalable == {}
