"""``ringside explain TOPIC DUMP`` of Shared and Exclusive subscriptions, recorded on a real broker."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path

import pytest

from tests.engine.diagnosis.samples import dump
from tests.engine.scenarios.recordings import RECORDINGS
from tests.tui.cli.conftest import Run


def test_the_next_consumers_of_a_recorded_shared_subscription_are_explained(run: Run, tmp_path: Path) -> None:
    folder = str(dump("slow-consumer-a", tmp_path / "dump"))
    ran = run("explain", "payments", folder)
    assert (ran.code, ran.err) == (0, "")
    document = json.loads(run("explain", "payments", folder, "--json").out)
    assert document["next"] == ["node-1", "node-2", "node-3"]
    page = " ".join(ran.out.split())
    for turn in document["turns"]:
        assert f"{turn['consumer']} {turn['permits']:,} {turn['unacked']:,} can be next" in page
    named = run("explain", "payments", folder, "--subscription", "mailer")
    assert named == ran


def test_the_way_from_an_exclusive_topic_to_its_broker_is_explained(run: Run) -> None:
    """Its bundle by CRC-32 among the recorded boundaries, that bundle's broker, and what unloading it interrupts."""
    topic = "persistent://ring/shared/topic-12"
    document = json.loads(run("explain", topic, str(RECORDINGS / "g-two-brokers"), "--json").out)
    assert document["kind"] == "turn"
    lower, _, upper = document["bundle"].partition("_")
    assert int(lower, 16) <= zlib.crc32(topic.encode()) < int(upper, 16)
    reported = gzip.decompress((RECORDINGS / "g-two-brokers" / "25-load-report-b.json.gz").read_bytes())
    report = json.loads(reported)
    assert f"ring/shared/{document['bundle']}" in report["bundles"]
    assert document["broker"] == report["webServiceUrl"].removeprefix("http://")
    assert document["unload"]["topics"] == document["unload"]["handovers"] > 0


def test_a_subscription_that_is_stopped_has_nobody_next(run: Run, tmp_path: Path) -> None:
    folder = str(dump("subscription-unacked-limit-a", tmp_path / "dump"))
    document = json.loads(run("explain", "sessions", folder, "--json").out)
    assert (document["kind"], document["type"], document["next"]) == ("turn", "Shared", [])
    assert {turn["why_not"] for turn in document["turns"]} == {
        "the subscription holds too many unacknowledged messages"
    }


def test_key_shared_is_sent_on_and_an_unknown_topic_is_met_with_a_near_one(run: Run, tmp_path: Path) -> None:
    keys = str(dump("keyshared-draining-a", tmp_path / "keys"))
    ran = run("explain", "sessions", keys)
    assert (ran.code, "explain key" in ran.err) == (2, True)
    shared = str(dump("slow-consumer-a", tmp_path / "shared"))
    ran = run("explain", "payment", shared)
    assert (ran.code, "did you mean payments" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("topic", "code", "words"),
    [
        ("invoice-46", 0, "subscription failover-0#4"),
        ("clicks-442", 2, "'clicks-442' is not one topic"),
        ("clicks-442-partition-6", 0, "subscription failover-0#5"),
        ("nobody-has-it", 2, "no topic 'nobody-has-it'"),
    ],
)
def test_a_topic_is_explained_in_the_subscription_that_has_it(run: Run, topic: str, code: int, words: str) -> None:
    ran = run("explain", topic, str(RECORDINGS / "f-inventory-2"))
    assert ran.code == code
    assert words in (ran.err if code else ran.out)
