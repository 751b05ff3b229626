"""The command ``scalable``, and ``explain key`` about a scalable topic."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from engine.cluster.scalable.running import created, join
from engine.errors import Rejection
from engine.views.scalable.dashboard import simulated_view
from tests.engine.scalable import scenes
from tests.tui.cli.conftest import Run
from tui.cli.printers.scalable_page import scalable_lines

SHARED = "2026-11-27T15-14-23Z"
BLOCKED = "2026-11-27T15-16-44Z"
STATS = "admin/v2/scalable/ring/manual/orders/stats.json"


@pytest.fixture
def dump(tmp_path: Path) -> str:
    return str(scenes.write(tmp_path / "dump", "manual", SHARED))


@pytest.fixture
def two_topics(tmp_path: Path) -> str:
    folder = scenes.write(tmp_path / "two", "order", BLOCKED)
    return str(scenes.write(folder, "manual", SHARED))


def test_the_page_names_consumers_segments_and_buckets(run: Run, dump: str) -> None:
    ran = run("scalable", dump, "--key", "order-2")
    assert (ran.code, ran.err) == (0, "")
    rows = [line.split() for line in ran.out.splitlines()]
    assert ["c-a", "0", "(bucket", "0", "of", "2)", "0", "0"] in rows
    assert ["c-c", "1", "1", "0"] in rows
    assert ["sub:", "c-a"] in rows


def test_of_several_topics_one_is_named(run: Run, two_topics: str) -> None:
    several = run("scalable", two_topics)
    assert several.code == 2
    assert "topic://ring/manual/orders" in several.err
    document = json.loads(run("scalable", two_topics, "order/", "--json").out)
    assert document["topic"] == "topic://ring/order/orders"
    waits = document["subscriptions"][0]["waits"]
    assert [(wait["segment"], wait["ancestor"], wait["backlog"], wait["reason"]) for wait in waits] == [
        (1, 0, 29, "backlog"),
        (2, 0, 29, "backlog"),
    ]
    assert run("scalable", two_topics, "nothing").code == 2


def test_one_file_is_enough_and_its_topic_can_be_named(run: Run, tmp_path: Path) -> None:
    record = scenes.scene("manual")["answers"][SHARED]["admin/v2/scalable/ring/manual/orders.json"]
    file = tmp_path / "answer.json.gz"
    file.write_bytes(gzip.compress(json.dumps(record).encode()))
    document = json.loads(run("scalable", str(file), "--topic", "topic://t/n/x", "--json").out)
    assert document["topic"] == "topic://t/n/x"
    assert [row["topic"] for row in document["segments"]][:1] == ["segment://t/n/x/0000-7fff-0"]
    assert document["next"]["cooldowns"] == {"split": 0.0, "merge": 0.0, "rebucket": 0.0}


def test_answers_without_one_are_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"subscriptions": {}}')
    assert run("scalable", str(tmp_path)).code == 2


def test_statistics_of_a_scalable_topic_alone_are_opened(run: Run, tmp_path: Path) -> None:
    stats = scenes.scene("manual")["answers"][SHARED][STATS]
    file = tmp_path / "stats.json"
    file.write_text(json.dumps(stats))
    ran = run("open", str(file), "--once")
    assert (ran.code, ran.out.splitlines()[0]) == (0, "topic://ring/manual/orders")
    assert "unknown/unknown" not in ran.out + ran.err
    assert json.loads(run("open", str(file), "--json").out)["format"] == "ringside.scalable/1"


def test_a_key_of_a_scalable_topic_is_explained(run: Run, two_topics: str, dump: str) -> None:
    document = json.loads(run("explain", "key", "order-2", dump, "--json").out)
    (key,) = document["keys"]
    assert (key["key"], key["segment"], key["bucket"]) == ("order-2", 0, 0)
    assert key["owners"] == [{"subscription": "sub", "consumer": "c-a", "waits_for": []}]
    page = run("explain", "key", "order-2", dump)
    assert (page.code, "sub: c-a" in page.out) == (0, True)
    assert run("explain", "key", "order-2", two_topics).code == 2


def test_a_migration_is_explained_from_answers_and_for_a_planned_topic(run: Run, tmp_path: Path) -> None:
    stats = {"publishers": [{}], "subscriptions": {"s": {"type": "Shared", "msgBacklog": 7, "consumers": [
        {"consumerName": "a", "clientVersion": "Pulsar-Java-v3.0.7"}]}}}  # fmt: skip
    for index in range(2):
        file = tmp_path / f"admin/v2/persistent/t/n/x-partition-{index}/stats.json"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(stats))
    document = json.loads(run("explain", "migration", "x", str(tmp_path), "--key", "k", "--json").out)
    assert (document["topic"], document["becomes"]) == ("persistent://t/n/x", "topic://t/n/x")
    assert (document["partitions"], document["connections"]) == (2, 4)
    assert [one["state"] for one in document["segments"]] == ["SEALED", "SEALED", "ACTIVE", "ACTIVE"]
    assert document["subscriptions"] == [{"name": "s", "type": "Shared", "backlog": 14, "consumers": 1, "idle": 0}]
    page = run("explain", "migration", "x", str(tmp_path))
    assert (page.code, "POST /admin/v2/scalable/t/n/x/migrate" in page.out) == (0, True)
    planned = json.loads(run("explain", "migration", "t/n/y", "--partitions", "5", "--json").out)
    assert (planned["partitions"], len(planned["segments"]), planned["refused"]) == (5, 10, None)
    assert run("explain", "migration", "y", str(tmp_path)).code == 2
    assert run("explain", "migration", "t/n/y").code == 2


def test_all_topics_are_listed_the_worst_first(run: Run, two_topics: str) -> None:
    ran = run("scalable", two_topics, "--all")
    assert ran.code == 0
    assert [line.split()[0] for line in ran.out.splitlines()[1:]] == [
        "topic://ring/order/orders",
        "topic://ring/manual/orders",
    ]
    document = json.loads(run("scalable", two_topics, "--all", "--json").out)
    first, second = document["topics"]
    assert (first["blocked"], first["backlog"], first["segments"], first["sealed"]) == (2, 58, 2, 1)
    assert (second["blocked"], second["consumers"], second["idle"], second["next"]) == (0, 3, 0, "none")


def test_changes_are_counted_of_all_moments_and_heat_of_active_segments(run: Run, tmp_path: Path) -> None:
    every = str(scenes.write(tmp_path / "every", "auto-load"))
    split = scenes.write(tmp_path / "one", "auto-load", "2026-11-27T15-01-32Z") / "2026-11-27T15-01-32Z"

    def figures(of: str) -> dict[str, object]:
        (row,) = json.loads(run("scalable", of, "--all", "--json").out)["topics"]
        return {name: row[name] for name in ("flaps", "score")}

    # Three splits and three merges; of the last moment alone two of the segments that they made are pruned.
    assert figures(every)["flaps"] == 6
    # The sealed parent had 160 messages a second, its halves have no load record yet.
    assert figures(str(split)) == {"flaps": 3, "score": pytest.approx(0.55, abs=0.01)}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--all", "--fail-on", "blocked>1"), 1),
        (("--all", "--fail-on", "blocked>2"), 0),
        (("manual", "--fail-on", "blocked>0"), 0),
        (("order/", "--fail-on", "idle>0", "--fail-on", "flaps>0"), 1),
        (("order/", "--fail-on", "score>0.8"), 0),
        (("--all", "--fail-on", "moved>0"), 2),
        (("--all", "--fail-on", "idle>10%"), 2),
        (("--all", "orders"), 2),
        (("--all", "--key", "k"), 2),
    ],
)
def test_limits_decide_the_exit_code(run: Run, two_topics: str, words: tuple[str, ...], code: int) -> None:
    assert run("scalable", two_topics, *words).code == code


def test_of_very_many_segments_a_consumer_names_the_first() -> None:
    topic = created("topic://t/n/x", 300)
    assert not isinstance(topic, Rejection)
    whole = join(topic, "sub", "lone", "STREAM")
    assert not isinstance(whole, Rejection)
    (row,) = (line for line in scalable_lines(simulated_view(whole)) if line.split()[:1] == ["lone"])
    assert row.count("and 292 more") == 2


def test_diff_says_which_segments_and_keys_go_to_others(run: Run, dump: str) -> None:
    ran = run("diff", dump, "apply:consumer join extra", "--in", dump, "--json", "--fail-on", "segments_moved>0")
    assert ran.code == 1
    (topic,) = json.loads(ran.out)["scalable_topics"]
    moves = [(move["segment"], move["before"], move["after"]) for move in topic["moves"]]
    assert (moves, topic["ring_moved"]) == ([(1, ["c-c"], ["c-c", "extra"])], 0.5)
    split = run("diff", dump, "apply:segment split 0", "--in", dump, "--json")
    (topic,) = json.loads(split.out)["scalable_topics"]
    assert (topic["segments_new"], topic["segments_sealed"]) == ([2, 3], [0])
    same = run("diff", dump, "apply:wait 1", "--in", dump, "--json")
    assert json.loads(same.out)["scalable_topics"] == []
    page = run("diff", dump, "apply:consumer join extra", "--in", dump).out
    assert "50.0%" in page or "50%" in page


@pytest.mark.parametrize(
    ("ranges", "holes", "twice"),
    [
        ([(0, 0xFFFF)], "", ""),
        ([(0, 100), (200, 0xFFFF)], "0065-00c7", ""),
        ([(0, 0x8000), (0x8000, 0xFFFF)], "", "8000-8000"),
        ([(0, 0xFFF0), (5, 9)], "fff1-ffff", "0005-0009"),
        ([], "0000-ffff", ""),
    ],
)
def test_hashes_that_no_segment_has_or_several_have_are_said(
    run: Run, tmp_path: Path, ranges: list[tuple[int, int]], holes: str, twice: str
) -> None:
    page = run("scalable", recorded(tmp_path, *ranges)).out
    assert (f"no active segment has {holes}" in page) is bool(holes)
    assert (f"several active segments have {twice}" in page) is bool(twice)
    assert "(no name)" not in page


def recorded(folder: Path, *ranges: tuple[int, int]) -> str:
    """A dump with the record of a topic with active segments of these ranges."""
    segments = {
        str(at): {"segmentId": at, "hashRange": {"start": start, "end": end}, "state": "ACTIVE"}
        for at, (start, end) in enumerate(ranges)
    }
    place = folder / "admin" / "v2" / "scalable" / "t" / "n"
    place.mkdir(parents=True)
    record = {"epoch": 0, "nextSegmentId": len(ranges), "segments": segments}
    (place / "x.json").write_text(json.dumps(record))
    return str(folder)


def test_a_range_that_ends_before_it_begins_is_said_as_that(run: Run, tmp_path: Path) -> None:
    said = run("scalable", recorded(tmp_path, (500, 100), (0, 65536))).err
    assert "500..100 ends before it begins" in said
    assert "0..65536 is not within 0..65535" in said
