"""A large cluster is read in rounds: what is asked at each refresh, how old the rest is, and what is never left out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Final

import pytest

from tests.playing.clock import CountingClock
from tests.playing.server import PlayingServer, failing, playing, recorded, status
from tui.sources.cluster import rounds, source
from tui.sources.cluster.access import Access
from tui.sources.cluster.reading import ClusterReading
from tui.sources.cluster.rounds import InView, StatisticsRequest, Turn, due, oldest_groups
from tui.sources.cluster.source import Feed, Follower, Source

EVERY_S: Final = 10.0
NAMES: Final = tuple(f"t-{number:02}" for number in range(20))
LOADED: Final = "/admin/v2/broker-stats/topics"
PREFIX: Final = "persistent://public/default/"


def cluster(names: tuple[str, ...] = NAMES) -> dict[str, bytes]:
    """The recorded cluster with these topics in place of its own."""
    answers = recorded()
    stats = json.loads(answers["/admin/v2/persistent/public/default/orders/partitioned-stats"])
    one = json.dumps(next(iter(stats["partitions"].values()))).encode()
    loaded = json.loads(answers[LOADED])
    (bundle, *_) = loaded["public/default"]
    topic = next(
        facts for domains in loaded["public/default"].values() for facts in domains.get("persistent", {}).values()
    )
    for subscription in topic["subscriptions"].values():
        subscription["msgBacklog"] = 0  # so that nothing else is asked about it
    shown = {PREFIX + name: topic for name in names}
    answers[LOADED] = json.dumps({"public/default": {bundle: {"persistent": shown}}}).encode()
    answers["/admin/v2/persistent/public/default"] = json.dumps(sorted(shown)).encode()
    answers["/admin/v2/persistent/public/default/partitioned"] = b"[]"
    answers |= {f"/admin/v2/persistent/public/default/{name}/stats": one for name in names}
    return answers


@pytest.fixture(autouse=True)
def is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "WHOLE_TOPICS", 10)


@contextmanager
def following(clock: CountingClock, whole_every_s: float = 50.0) -> Iterator[tuple[PlayingServer, Follower]]:
    with (
        playing(answers=cluster()) as server,
        closing(Source(Access(server.url)).follower(clock, (EVERY_S, whole_every_s))) as follower,
    ):
        yield server, follower


def refresh(
    server: PlayingServer, follower: Follower, clock: CountingClock, *names: str, view_only: bool = False
) -> tuple[ClusterReading, list[str]]:
    """A refresh with these topics in view, and the topics whose statistics were asked for."""
    server.requests.clear()
    clock.now += EVERY_S
    view = InView(frozenset(PREFIX + name for name in names))
    reading = follower.read(view=view, view_only=view_only)
    read_topics = [request.path.split("/")[-2] for request in server.requests if request.path.endswith("/stats")]
    return reading, read_topics


def test_what_is_in_view_is_read_each_time_and_all_of_it_in_a_round(clock: CountingClock) -> None:
    with following(clock) as (server, follower):
        assert follower.read().older == {}
        seen: set[str] = set()
        for _ in range(5):
            reading, read_topics = refresh(server, follower, clock, "t-07")
            assert "t-07" in read_topics
            assert len(read_topics) == 1 + 4  # a fifth of the other 19
            assert set(reading.older) == {PREFIX + name for name in NAMES} - {PREFIX + name for name in read_topics}
            assert (reading.topics, reading.topics_read, reading.gaps) == (20, 20, ())
            assert sum(answer.path.endswith("/stats") for answer in reading.answers) == 20
            seen.update(read_topics)
        assert seen == set(NAMES)
        reading, _ = refresh(server, follower, clock)
        assert reading.at_ms - min(reading.older.values()) <= 5 * EVERY_S * 1000


def test_another_screen_is_read_at_once_and_alone(clock: CountingClock) -> None:
    with following(clock) as (server, follower):
        follower.read()
        reading, read_topics = refresh(server, follower, clock, "t-03", "t-04", view_only=True)
        assert sorted(read_topics) == ["t-03", "t-04"]
        assert len(server.requests) == 3  # and the list of brokers
        assert len(reading.older) == 18


def test_lists_are_read_again_within_a_round(clock: CountingClock) -> None:
    with following(clock) as (server, follower):
        follower.read()
        paths: set[str] = set()
        for _ in range(6):
            refresh(server, follower, clock)
            paths.update(request.path for request in server.requests)
        assert {LOADED, "/admin/v2/tenants", "/admin/v2/persistent/public/default"} <= paths


def test_numbers_of_partitions_are_read_a_share_at_each_refresh(clock: CountingClock) -> None:
    answers = cluster()
    names = [f"p-{number:02}" for number in range(20)]
    answers["/admin/v2/persistent/public/default/partitioned"] = json.dumps([PREFIX + name for name in names]).encode()
    paths = {f"/admin/v2/persistent/public/default/{name}/partitions" for name in names}
    answers |= dict.fromkeys(paths, b'{"partitions":4}')
    with following(clock) as (server, follower):
        server.answers = answers
        follower.read()
        seen: list[str] = []
        for _ in range(6):
            refresh(server, follower, clock)
            read_paths = [request.path for request in server.requests if request.path in paths]
            assert len(read_paths) < len(names) / 2
            seen += read_paths
        assert set(seen) == paths


def test_topics_that_come_and_go_between_two_rounds(clock: CountingClock) -> None:
    with following(clock) as (server, follower):
        follower.read()
        server.answers = cluster((*NAMES[1:], "new"))
        read_topics: list[str] = []
        for _ in range(6):
            reading, more = refresh(server, follower, clock)
            read_topics += more
        assert "new" in read_topics
        listed = [answer.path.split("/")[-2] for answer in reading.answers if answer.path.endswith("/stats")]
        assert sorted(listed) == sorted((*NAMES[1:], "new"))
        assert reading.gaps == ()


def test_a_gap_stays_counted_until_its_topic_is_read_again(clock: CountingClock) -> None:
    with following(clock) as (server, follower):
        follower.read()
        server.faults = (failing("t-05/stats", status(404, "gone")),)
        refresh(server, follower, clock, "t-05")
        reading, read_topics = refresh(server, follower, clock, view_only=True)
        assert (read_topics, [gap.path.split("/")[-2] for gap in reading.gaps]) == ([], ["t-05"])
        assert reading.topics_read == 19
        server.faults = ()
        reading, _ = refresh(server, follower, clock, "t-05")
        assert (reading.gaps, reading.topics_read) == ((), 20)


def test_a_small_cluster_is_read_whole(clock: CountingClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "WHOLE_TOPICS", 20)
    with following(clock) as (server, follower):
        follower.read()
        reading, read_topics = refresh(server, follower, clock, "t-01")
        assert (len(read_topics), reading.older) == (20, {})


def test_no_topic_waits_longer_than_a_round_however_often_others_change() -> None:
    requests = [StatisticsRequest(f"/{number:03}", "", f"t-{number}", 1 + number % 7) for number in range(100)]
    read_ms = {request.key: 0 for request in requests}
    for now in range(1, 41):
        turn = Turn(InView(frozenset({"t-5"})), 8)
        for key in due(requests, read_ms, turn, {f"t-{number}" for number in range(0, 100, 2)}):
            read_ms[key] = now
        if now >= 8:
            assert now - min(read_ms.values()) < 8


def test_lists_of_one_namespace_are_read_together() -> None:
    groups = {(f"/{name}/{what}", ""): name for name in "abcd" for what in range(3)}
    read_ms = {key: 9 - ord(group) % 4 for key, group in groups.items()}
    chosen = oldest_groups(groups, read_ms, 4)
    assert len(chosen) == 3
    assert len({groups[key] for key in chosen}) == 1


def test_what_comes_into_view_wakes_the_feed_where_it_is_old() -> None:
    older = ClusterReading("http://x", 2000, "c", "", (), (), (), older={"old": 1000}, lists_ms=1000)

    class Once:
        def read(self, **_: object) -> ClusterReading:
            return older

        def close(self) -> None:
            pass

    feed = Feed(Once(), EVERY_S, lambda reading: reading.at_ms, "c")
    feed.turn(lambda _: None, lambda _: None)
    feed.show(frozenset({"new"}), brokers=False)
    assert not feed._woken.is_set()
    for topics, brokers in ((frozenset({"old"}), False), (frozenset[str](), True)):
        feed.show(topics, brokers=brokers)
        assert feed._woken.is_set()
        feed._woken.clear()


def test_everything_is_read_where_no_rounds_are_asked_for(clock: CountingClock) -> None:
    with playing(answers=cluster()) as server, closing(Source(Access(server.url)).follower(clock)) as follower:
        for _ in range(source.EVERYTHING_EVERY + 1):
            _, read_topics = refresh(server, follower, clock)
            assert len(read_topics) == 20
