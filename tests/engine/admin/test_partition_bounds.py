"""A single number in a file makes no more partitions than the model takes; others are reported with their place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.admin.snapshot import read_answers
from engine.cluster.journal.lines import header_line, read_lines
from engine.cluster.limits import MAX_PARTITIONS, MAX_WITHOUT_STATISTICS
from engine.cluster.timeline import Timeline
from engine.scenarios.opening import open_path

TOPIC = "persistent://t/n/x"
STATS = {"msgRateIn": 1.0, "publishers": [], "subscriptions": {}}


def written(folder: Path, document: object) -> Path:
    path = folder / "answers.json"
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize("index", [MAX_PARTITIONS, 2147483646])
def test_a_partition_beyond_the_bound_is_set_aside_with_its_place(tmp_path: Path, index: int) -> None:
    beyond = f"{TOPIC}-partition-{index}"
    snapshot = read_answers(written(tmp_path, {beyond: STATS, f"{TOPIC}-partition-1": STATS}))
    assert list(snapshot.topics) == [f"{TOPIC}-partition-1"]
    assert [(problem.source, problem.path) for problem in snapshot.problems] == [("answers.json", f'$["{beyond}"]')]
    assert f"{MAX_PARTITIONS:,}" in snapshot.problems[0].reason
    assert (snapshot.counts.topics, snapshot.counts.topics_set_aside) == (1, 1)


def test_places_are_those_of_each_kind_of_answer(tmp_path: Path) -> None:
    beyond = f"{TOPIC}-partition-2147483646"
    parent = {"metadata": {"partitions": 1}, "partitions": {beyond: STATS}, "subscriptions": {}}
    loaded = {"t/n": {"0x00000000_0xffffffff": {"persistent": {beyond: STATS}}}}
    places = []
    for document in (parent, loaded, [beyond]):
        snapshot = read_answers(written(tmp_path, document))
        assert not snapshot.topics and not snapshot.known_names
        places.append(snapshot.problems[0].path)
    assert places == [
        f'$.partitions["{beyond}"]',
        f'$["t/n"]["0x00000000_0xffffffff"].persistent["{beyond}"]',
        f'$["{beyond}"]',
    ]


def test_partitions_that_nothing_vouches_for_are_bounded_in_all(tmp_path: Path) -> None:
    """Of many sparse topics as many are set aside as it takes; one that is dense has nothing to do with it."""
    sparse = [f"persistent://t/n/s{at}-partition-{MAX_PARTITIONS - 1}" for at in range(5)]
    dense = [f"{TOPIC}-partition-{at}" for at in range(3)]
    opened = open_path(written(tmp_path, [*sparse, *dense]))
    bare = sum(topic.partitions for topic in opened.state.topics.values())
    assert MAX_WITHOUT_STATISTICS - MAX_PARTITIONS < bare <= MAX_WITHOUT_STATISTICS
    assert opened.state.topics[TOPIC].partitions == 3
    assert len(opened.problems) == 5 - bare // MAX_PARTITIONS


def test_what_is_opened_can_be_saved_and_read_again(tmp_path: Path) -> None:
    """The journal of a session knows the same bounds as the reader of answers."""
    names = [f"persistent://t/n/s{at}-partition-{MAX_PARTITIONS - 1}" for at in range(5)]
    opened = open_path(written(tmp_path, names))
    lines = read_lines(header_line(Timeline.start(opened.state)), "x.journal")
    assert lines.timeline.initial.topics == opened.state.topics
    assert lines.problems == ()
