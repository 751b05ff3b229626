"""What is inferred between two moments: by hand, and from a recording of consumers that join and messages that wait."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from engine.admin.between import (
    ACTIVE,
    BACKLOG,
    BLOCKED,
    BUNDLES,
    GONE,
    JOINED,
    LEFT,
    NEW,
    OWNER,
    PARTITIONS,
    PERMITS,
    RANGES,
    TYPE,
    Change,
    changes_between,
    slots_moved,
)
from engine.admin.facts import ConsumerFacts
from engine.admin.files import AnswerFile
from engine.admin.moments import Moment, combined, read_moments
from engine.scenarios.opening import open_moments
from engine.views.reported.changes import LISTED
from engine.views.reported.view import Reported, Subject
from tests.engine.diagnosis.answers import TOPIC, consumer, moments, stats, stats_path
from tests.engine.diagnosis.samples import NAMES, sample

RECORDED = Path(__file__).parents[2] / "recordings" / "c-keyshared-draining"


def between(first: dict[str, Any], second: dict[str, Any]) -> list[Change]:
    """The changes between two moments, each as answers by the path of the request."""
    before, after = moments(first, second)
    return list(changes_between(before.snapshot, after.snapshot))


def of_stats(first: dict[str, Any], second: dict[str, Any]) -> list[Change]:
    return between({stats_path(): first}, {stats_path(): second})


def kinds(changes: Sequence[Change]) -> list[str]:
    return [change.kind for change in changes]


def test_nothing_happened() -> None:
    same = stats("Failover", [consumer("a"), consumer("b")], activeConsumerName="a", msgBacklog=3)
    assert of_stats(same, same) == []


def test_who_joined_and_who_left() -> None:
    result = of_stats(stats("Shared", [consumer("a"), consumer("b")]), stats("Shared", [consumer("b"), consumer("c")]))
    assert [(each.kind, each.before, each.after, each.topic) for each in result] == [
        (LEFT, "a", "", TOPIC),
        (JOINED, "", "c", TOPIC),
    ]


def test_a_consumer_that_came_back_left_before() -> None:
    old, new = (
        consumer("a", connectedSince="2026-11-21T11:02:34Z"),
        consumer("a", connectedSince="2026-11-21T11:03:00Z"),
    )
    assert kinds(of_stats(stats("Shared", [old]), stats("Shared", [new]))) == [LEFT, JOINED]


def test_the_active_consumer_changed_on_some_partitions() -> None:
    def answers(*actives: str) -> dict[str, Any]:
        who = [consumer("a"), consumer("b")]
        return {stats_path(at): stats("Failover", who, activeConsumerName=name) for at, name in enumerate(actives)}

    (change,) = between(answers("a", "b", "a"), answers("b", "b", "b"))
    assert change == Change(ACTIVE, "t/n", "s", "", 2, "a", "b")


def test_ranges_moved() -> None:
    first = [consumer("a", keyHashRanges=["[0, 99]"]), consumer("b", keyHashRanges=["[100, 199]"])]
    second = [consumer("a", keyHashRanges=["[0, 59]"]), consumer("b", keyHashRanges=["[60, 149]"])]
    (change,) = of_stats(stats("Key_Shared", first), stats("Key_Shared", second))
    assert (change.kind, change.number) == (RANGES, 40 + 50)


@pytest.mark.parametrize(
    ("then", "now", "moved"),
    [
        ([(0, 9)], [(0, 9)], 0),
        ([(0, 9)], [(10, 19)], 20),
        ([(0, 4), (5, 9)], [(0, 9)], 0),
        ([(0, 9)], [(2, 3), (8, 20)], 17),
        ([], [(0, 9)], 0),
    ],
)
def test_slots_are_counted_one_by_one(then: list[tuple[int, int]], now: list[tuple[int, int]], moved: int) -> None:
    old, new = ConsumerFacts(name="a", range_arrays=tuple(then)), ConsumerFacts(name="a", range_arrays=tuple(now))
    assert slots_moved([old], [new]) == moved
    slots_then = {slot for start, end in then for slot in range(start, end + 1)}
    slots_now = {slot for start, end in now for slot in range(start, end + 1)}
    assert not then or len(slots_then ^ slots_now) == moved


@pytest.mark.parametrize("kind, stopped, free", [
    (BLOCKED, {"blockedConsumerOnUnackedMsgs": True}, {"blockedConsumerOnUnackedMsgs": False}),
    (PERMITS, {"availablePermits": -3}, {"availablePermits": 1}),
])  # fmt: skip
def test_a_consumer_that_stops_alone_shows(kind: str, stopped: dict[str, Any], free: dict[str, Any]) -> None:
    still, gone = stats("Shared", [consumer("a", **stopped), consumer("b")]), stats("Shared", [consumer("b")])
    goes = stats("Shared", [consumer("a", **free), consumer("b")])
    (began,), (ended,) = of_stats(goes, still), of_stats(still, goes)
    assert (began.kind, began.before, began.after, began.topic) == (kind, "", "a", TOPIC)
    assert (ended.kind, ended.before, ended.after, ended.topics) == (kind, "a", "", 1)
    assert kinds(of_stats(still, gone)) == [LEFT], "who left is not one that goes on"
    lacking = stats("Shared", [consumer("a"), consumer("b")])
    for each in lacking["subscriptions"]["s"]["consumers"]:
        each.pop(next(iter(stopped)), None)
    assert of_stats(still, lacking) == [], "what one moment lacks is unknown"


@pytest.mark.parametrize("kind, member, values", [
    ("unacked", "unackedMessages", (3, 53)),
    ("replay", "msgInReplay", (0, 9)),
    ("draining", "drainingHashesCount", (7, 2)),
])  # fmt: skip
def test_a_count_that_grows_or_shrinks_alone_shows(kind: str, member: str, values: tuple[int, int]) -> None:
    first, second = (stats("Key_Shared", [consumer("a")], **{member: value}) for value in values)
    (change,) = of_stats(first, second)
    assert (change.kind, change.number, change.subscription) == (kind, values[1] - values[0], "s")


def test_unacknowledged_messages_that_one_moment_does_not_count_did_not_grow() -> None:
    lacking, later = (stats("Shared", [consumer("a")], unackedMessages=5) for _ in range(2))
    for member in ("consumers", "unackedMessages"):
        del lacking["subscriptions"]["s"][member]
    assert "unacked" not in kinds(of_stats(lacking, later))


def test_a_whole_subscription_that_is_blocked_shows() -> None:
    first, second = (
        stats("Shared", [consumer("a")], blockedSubscriptionOnUnackedMsgs=blocked) for blocked in (False, True)
    )
    (change,) = of_stats(first, second)
    assert (change.kind, change.before, bool(change.after)) == (BLOCKED, "", True)


def test_backlogs_type_and_subscriptions() -> None:
    first = stats("Exclusive", [consumer("a")], msgBacklog=10)
    second = stats("Shared", [consumer("a")], msgBacklog=4)
    second["subscriptions"]["more"] = stats("Shared", [])["subscriptions"]["s"]
    first["subscriptions"]["less"] = stats("Shared", [])["subscriptions"]["s"]
    result = {each.kind: each for each in of_stats(first, second)}
    assert set(result) == {NEW, GONE, TYPE, BACKLOG}
    assert (result[NEW].subscription, result[GONE].subscription) == ("more", "less")
    assert (result[TYPE].before, result[TYPE].after, result[BACKLOG].number) == ("Exclusive", "Shared", -6)


def test_subscriptions_that_are_new_come_in_the_order_of_the_answer() -> None:
    """Every run prints the same, whatever Python's hashes are."""
    first = stats("Shared", [consumer("a")])
    names = [f"s-{at}" for at in range(20)]
    second = first | {"subscriptions": first["subscriptions"] | dict.fromkeys(names, first["subscriptions"]["s"])}
    assert [change.subscription for change in of_stats(first, second)] == names


def test_partitions_bundles_and_owners() -> None:
    one = {"subscriptions": {}, "publishers": []}
    bundles = "admin/v2/namespaces/t/n/bundles"
    lookup = "lookup/v2/topic/persistent/t/n/x-partition-0"
    first = {
        stats_path(0): one,
        bundles: {"boundaries": ["0x00000000", "0x80000000", "0xffffffff"], "numBundles": 2},
        lookup: {"brokerUrl": "pulsar://one:6650"},
    }
    second = {
        **{stats_path(at): one for at in range(3)},
        bundles: {"boundaries": ["0x00000000", "0x40000000", "0x80000000", "0xffffffff"], "numBundles": 3},
        lookup: {"brokerUrl": "pulsar://two:6650"},
    }
    grown, split, moved = between(first, second)
    assert (grown.kind, grown.topic, grown.before, grown.after) == (PARTITIONS, TOPIC, "1", "3")
    assert (split.kind, split.before, split.after) == (BUNDLES, "0x00000000_0x80000000", "0x40000000")
    assert (moved.kind, moved.topic) == (OWNER, f"{TOPIC}-partition-0")
    assert (moved.before, moved.after) == ("pulsar://one:6650", "pulsar://two:6650")


def test_the_bundles_of_a_broker_are_its_own() -> None:
    def owned(broker: str) -> dict[str, Any]:
        path = f"admin/v2/brokers/standalone/{broker}/ownedNamespaces"
        return {path: {"t/n/0x00000000_0xffffffff": {"is_active": True}}, stats_path(): stats("Shared", [])}

    (change,) = between(owned("one:8080"), owned("two:8080"))
    assert (change.kind, change.topic) == (OWNER, "t/n/0x00000000_0xffffffff")
    assert (change.namespace, change.before, change.after) == ("t/n", "one:8080", "two:8080")


def test_what_only_one_moment_shows_is_unknown() -> None:
    assert between({stats_path(0): stats("Shared", [consumer("a")])}, {stats_path(1): stats("Shared", [])}) == [
        Change(PARTITIONS, "t/n", topic=TOPIC, topics=1, before="1", after="2")
    ]


def recorded() -> tuple[Moment, ...]:
    """The six statistics of a recording as moments a second apart."""
    return read_moments(
        *(
            AnswerFile(f"2026-11-21T11-02-{at + 30}Z/{stats_path()}.json", gzip.decompress(path.read_bytes()))
            for at, path in enumerate(sorted(RECORDED.glob("0*-stats.json.gz")))
        )
    )


def test_a_recording_of_draining_tells_its_story() -> None:
    reported = Reported(recorded())
    view = reported.view(5, Subject("sub", "t/n", "sub"))
    assert view is not None
    assert [(event.moment, event.kind) for event in view.events] == [
        (2, JOINED), (2, RANGES), (3, JOINED), (3, RANGES), (4, BACKLOG), (5, BACKLOG), (6, BACKLOG),
    ]  # fmt: skip
    earlier = reported.view(2, Subject("sub", "t/n", "sub"))
    assert earlier is not None
    assert [event.moment for event in earlier.events] == [2, 2, 3, 3]
    assert [each.unacked for each in earlier.consumers] == [100, 0, 0]


@pytest.mark.parametrize("name", NAMES)
def test_samples_of_two_moments_have_the_changes_that_their_numbers_show(name: str) -> None:
    """Backlogs by hand from the raw answers; nobody joined or left in these recordings except where a test says so."""
    result = sorted(sample(name)["moments"].items())
    if len(result) < 2:
        pytest.skip("one moment")
    files = [
        AnswerFile(f"{time}/{path}.json", json.dumps(answer).encode())
        for time, answers in result
        for path, answer in answers.items()
    ]
    read = read_moments(*files)
    changes = changes_between(combined(read[:-1]), read[-1].snapshot)
    grown = {change.subscription: change.number for change in changes if change.kind == BACKLOG}
    before, after = (backlogs(answers) for _, answers in result[-2:])
    for sub, number in grown.items():
        least = sum(min(values) for values in after[sub].values()) - sum(max(values) for values in before[sub].values())
        most = sum(max(values) for values in after[sub].values()) - sum(min(values) for values in before[sub].values())
        assert least <= number <= most
    assert not {change.kind for change in changes} & {BUNDLES, OWNER, PARTITIONS}


def backlogs(answers: dict[str, Any]) -> dict[str, dict[str, list[int]]]:
    """What the answers of a moment, some milliseconds apart, say of the backlog: by subscription and topic."""
    results: dict[str, dict[str, list[int]]] = {}

    def add(topic: str, subscriptions: dict[str, Any]) -> None:
        for sub, facts in subscriptions.items():
            results.setdefault(sub, {}).setdefault(topic, []).append(facts["msgBacklog"])

    for path, answer in answers.items():
        resource, parts = path.partition("@")[0].rpartition("/")[2], path.split("/")
        if resource == "stats":
            add("://".join((parts[2], "/".join(parts[3:6]))), answer.get("subscriptions", {}))
        for name, one in answer.get("partitions", {}).items() if resource == "partitioned-stats" else ():
            add(name, one["subscriptions"])
        for namespace in answer.values() if path.startswith("admin/v2/broker-stats/topics") else ():
            for bundle in namespace.values():
                for topics in bundle.values():
                    for name, one in topics.items():
                        add(name, one["subscriptions"])
    return results


def test_many_changes_of_a_kind_are_counted() -> None:
    many = [consumer(f"c-{at}") for at in range(LISTED + 5)]
    opened = open_moments(moments({stats_path(): stats("Shared", [])}, {stats_path(): stats("Shared", many)}))
    view = Reported(opened.seen).view(1, Subject("s", "t/n", "s"))
    assert view is not None
    assert len(view.events) == LISTED + 1
    assert view.events[-1].text == "5 more changes of the kind joined"


def dump_of(folder: Path, at: int) -> None:
    """One of the recorded statistics as a dump of its own."""
    place = folder / "admin" / "v2" / "persistent" / "t" / "n" / "x"
    place.mkdir(parents=True)
    (place / "stats.json").write_bytes(gzip.decompress(sorted(RECORDED.glob("0*-stats.json.gz"))[at].read_bytes()))


def test_folders_with_a_dump_each_are_moments_in_the_order_of_the_times_in_them(tmp_path: Path) -> None:
    dump_of(tmp_path / "a-later", 3)
    dump_of(tmp_path / "b-earlier", 0)
    dump = read_moments(tmp_path)
    assert [moment.at_ms for moment in dump] == [None, None]
    assert [len(moment.snapshot.topics[TOPIC].subscriptions[0].consumers) for moment in dump] == [1, 3]
    view = Reported(dump).view(1, Subject("sub", "t/n", "sub"))
    assert view is not None
    assert [event.kind for event in view.events] == [JOINED, JOINED, RANGES, BACKLOG]
    assert (view.time.at_ms, view.time.not_before_ms) == (-1, 1_795_258_955_109)


def test_one_dump_in_a_folder_is_one_moment_and_other_folders_are_left_alone(tmp_path: Path) -> None:
    dump_of(tmp_path / "only", 3)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "x.json").write_text("{")
    (moment,) = read_moments(tmp_path)
    assert moment.snapshot.topics.keys() == {TOPIC} and moment.snapshot.problems == ()
