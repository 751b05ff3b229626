"""Dumps that mirror the admin API: what an answer is about is its place, and moments are folders named by time."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from engine.admin.files import AnswerFile
from engine.admin.moments import read_moments
from engine.admin.snapshot import read_answers
from engine.errors import InputError
from tests.engine.diagnosis.answers import consumer, internal, stats

TOPIC = "persistent://t/n/x"


def write(folder: Path, path: str, answer: object) -> None:
    file = folder / f"{path}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(answer if isinstance(answer, str) else json.dumps(answer))


def test_a_mirror_without_times_is_one_moment(tmp_path: Path) -> None:
    write(tmp_path, "admin/v2/persistent/t/n/x/stats", stats("Shared", [consumer("a")]))
    write(tmp_path, "admin/v2/persistent/t/n/x/internalStats", internal("1:5", "1:9"))
    write(tmp_path, "admin/v2/persistent/t/n/x/maxUnackedMessagesOnConsumer@applied=true", 40)
    write(tmp_path, "admin/v2/namespaces/t/n/bundles", {"boundaries": ["0x00000000", "0xffffffff"], "numBundles": 1})
    write(tmp_path, "lookup/v2/topic/persistent/t/n/x/bundle", '"0x00000000_0xffffffff"')
    (moment,) = read_moments(tmp_path)
    snapshot = moment.snapshot
    assert (moment.at_ms, snapshot.problems) == (None, ())
    assert list(snapshot.topics) == list(snapshot.ledgers) == [TOPIC]
    assert snapshot.topic_policies == {TOPIC: {"maxUnackedMessagesOnConsumer": 40}}
    assert list(snapshot.bundles) == ["t/n"]
    assert list(read_answers(tmp_path).topics) == [TOPIC]


def test_moments_come_in_the_order_of_time_and_the_last_answer_about_a_topic_counts(tmp_path: Path) -> None:
    for second, name in ((20, "later"), (5, "first")):
        write(
            tmp_path,
            f"2026-11-22T09-48-{second:02}.500Z/admin/v2/persistent/t/n/x/stats",
            stats("Shared", [consumer(name)]),
        )
    moments = read_moments(tmp_path)
    names = [moment.snapshot.topics[TOPIC].subscriptions[0].consumers[0].name for moment in moments]
    assert names == ["first", "later"]
    assert [moment.at_ms for moment in moments] == [1795340885500, 1795340900500]
    assert read_answers(tmp_path).topics[TOPIC].subscriptions[0].consumers[0].name == "later"


def test_an_answer_without_consumers_does_not_hide_a_fuller_one(tmp_path: Path) -> None:
    write(tmp_path, "admin/v2/persistent/t/n/x/stats", stats("Shared", [consumer("a")]))
    write(tmp_path, "admin/v2/persistent/t/n/x/stats@excludePublishers=true&excludeConsumers=true", stats("Shared", []))
    write(tmp_path, "admin/v2/persistent/t/n/y/stats@excludeConsumers=true", stats("Shared", []))
    topics = read_moments(tmp_path)[0].snapshot.topics
    assert [each.name for each in topics[TOPIC].subscriptions[0].consumers] == ["a"]
    assert topics["persistent://t/n/y"].subscriptions[0].consumers == ()


def test_internal_statistics_of_many_topics_are_no_statistics(tmp_path: Path) -> None:
    partitions = {f"{TOPIC}-partition-{at}": internal("1:0", f"1:{at}") for at in range(2)}
    write(tmp_path, "admin/v2/persistent/t/n/x/partitioned-internalStats", {"metadata": {}, "partitions": partitions})
    write(tmp_path, "admin/v2/persistent/t/n/y/stats", stats("Shared", []))
    snapshot = read_moments(tmp_path)[0].snapshot
    assert (list(snapshot.ledgers), list(snapshot.topics)) == (list(partitions), ["persistent://t/n/y"])
    write(tmp_path / "loose", "all", partitions)
    assert list(read_moments(tmp_path / "loose" / "all.json")[0].snapshot.ledgers) == list(partitions)


def test_numbered_files_and_steps_of_a_recording_are_moments(tmp_path: Path) -> None:
    for number, name in (("9", "a"), ("10", "b")):
        write(tmp_path, f"{number}-stats", {TOPIC: stats("Shared", [consumer(name)])})
    steps = [
        {"at": f"2026-11-22T09:48:0{number % 10}+00:00", "answers": [{"file": f"{number}-stats.json"}]}
        for number in (9, 10)
    ]
    assert [moment.at_ms for moment in read_moments(tmp_path)] == [None, None]
    write(tmp_path, "scenario", {"scenario": "x", "steps": steps})
    moments = read_moments(tmp_path)
    assert [moment.at_ms for moment in moments] == [1795340880000, 1795340889000]
    assert [list(moment.snapshot.topics) for moment in moments] == [[TOPIC], [TOPIC]]


def test_compressed_answers_and_those_of_single_brokers_are_read(tmp_path: Path) -> None:
    loaded = {"t/n": {"0x00000000_0xffffffff": {"persistent": {TOPIC: stats("Shared", [])}}}}
    place = tmp_path / "brokers" / "h:8080" / "admin/v2/broker-stats"
    place.mkdir(parents=True)
    (place / "topics.json.gz").write_bytes(gzip.compress(json.dumps(loaded).encode()))
    assert read_moments(tmp_path)[0].snapshot.loaded == {TOPIC}


@pytest.mark.parametrize("what", ["t/evil;$(touch pwned)/x/stats", "t/n%20b/x/stats"])
def test_a_place_that_no_broker_has_is_set_aside(tmp_path: Path, what: str) -> None:
    write(tmp_path, f"admin/v2/persistent/{what}", stats("Shared", []))
    write(tmp_path, "admin/v2/persistent/t/n/x/stats", stats("Shared", []))
    snapshot = read_moments(tmp_path)[0].snapshot
    assert list(snapshot.topics) == [TOPIC]
    assert snapshot.problems


def test_a_folder_that_is_no_dump_is_not_searched(tmp_path: Path) -> None:
    write(tmp_path / "other", "stats", {TOPIC: stats("Shared", [])})
    with pytest.raises(InputError, match="name one of them: other"):
        read_moments(tmp_path)


@pytest.mark.parametrize(
    ("names", "moments"),
    [
        (["1-stats-x.json", "2-stats-x.json"], 2),
        (["1-stats-x.json.gz", "10-stats-x.json", "9-stats-x.json"], 3),
        (["1-stats-x.json", "2-stats-y.json"], 1),
        (["1-stats-x.json", "2-stats-x.json", "2-stats-y.json", "y.json"], 2),
        (["1.json", "2.json"], 1),
        (["1-stats-x.json", "2-stats-y.json", "scenario.json"], 2),
        (["2026-11-22T09-48-07Z-x.json", "2026-11-22T09-48-17Z-y.json"], 2),
    ],
)
def test_numbers_are_moments_where_an_answer_comes_again_or_a_recording_lists_its_steps(
    names: list[str], moments: int
) -> None:
    answers = {
        name: json.dumps({"format": 1, "steps": []} if name == "scenario.json" else {TOPIC: stats("Shared", [])})
        for name in names
    }
    read = read_moments(*(AnswerFile(name, text.encode()) for name, text in answers.items()))
    assert len(read) == moments


def test_settings_that_a_broker_printed_once_stay_in_force_beside_those_of_the_recording() -> None:
    flag = "activeConsumerFailoverConsistentHashing"
    answers = {
        "scenario.json": {"format": 1, "broker_settings": {flag: False}, "steps": []},
        "1-configuration.json": {flag: "true", "loadBalancerAutoBundleSplitEnabled": "false"},
        "1-stats.json": {TOPIC: stats("Failover", [consumer("a")])},
        "2-stats.json": {TOPIC: stats("Failover", [consumer("a"), consumer("b")])},
    }
    read = read_moments(*(AnswerFile(name, json.dumps(answer).encode()) for name, answer in answers.items()))
    settings = [moment.snapshot.settings for moment in read]
    assert len(settings) == 2 and settings[0] == settings[1] is not None
    assert settings[0].activeConsumerFailoverConsistentHashing is True
    assert settings[0].loadBalancerAutoBundleSplitEnabled is False
