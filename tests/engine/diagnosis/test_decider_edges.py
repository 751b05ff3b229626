"""One below, at and one above what decides, several topics at a time, and topics that are quiet beside busy ones."""

from __future__ import annotations

from typing import Any

import pytest

from engine.diagnosis.model import Diagnosis
from engine.text import joined
from tests.engine.diagnosis.answers import TOPIC, Stats, consumer, diagnosed, of_stats, stats, stats_path
from tests.engine.diagnosis.test_decider_facts import QUOTA, RUNTIME, expected, facts_of, limits, policy, two
from tests.engine.keyshared.selectors import ring

FLAG = "activeConsumerFailoverConsistentHashing"


def ids(diagnosis: Diagnosis) -> list[str]:
    return [cause.id for cause in diagnosis.causes]


def spread(names: str, actives: str, flag: str | None = "true", *, partitioned: bool = True) -> Diagnosis:
    """Topics of one partition each, or without partitions, with these active consumers."""
    suffix = "-partition-0" if partitioned else ""
    answers: dict[str, Any] = {
        f"admin/v2/persistent/t/n/y{number}{suffix}/stats": stats(
            "Failover", [consumer(name) for name in names], activeConsumerName=active
        )
        for number, active in enumerate(actives)
    }
    return diagnosed(answers | ({RUNTIME: {FLAG: flag}} if flag is not None else {}))


TEN = "abcdefghij"


@pytest.mark.parametrize(
    ("names", "actives", "flag", "verdict"),
    [
        # 10 * 0.9^20 = 1.22 idle ones on average, and three times its root besides: up to 4.5.
        (TEN, "abcdefabcdfeabdcfeba", "true", "by_design"), (TEN, "abcdeabcdeabdceabced", "true", "uneven"),
        (TEN, "abcdefabcdfeabdcfeba", "false", "uneven"), (TEN, "abcdefabcdfeabdcfeba", None, "by_design"),
        # 10 * 0.9^40 = 0.15, and of less than one the root is that of one: up to 3.1.
        (TEN, "gabcdefabcdfeabdcfebagabcdefabcdfeabdcfe", "true", "by_design"),
        (TEN, "fabcdefabcdfeabdcfebafabcdefabcdfeabdcfe", "true", "uneven"),
        # One active consumer for all is no chance, two can be.
        ("abcd", "aaaaaa", "true", "uneven"), ("abcd", "aabbab", "true", "by_design"),
    ],
)  # fmt: skip
def test_how_many_idle_consumers_are_chance_on_a_ring(names: str, actives: str, flag: str | None, verdict: str) -> None:
    result = facts_of(spread(names, actives, flag), "failover_idle_consumers")
    assert result["verdict"] == verdict
    assert result["numbers"]["idle_consumers"] == len(names) - len(set(actives))
    assert result["numbers"]["most_topics"] == max(actives.count(name) for name in names)


def test_what_to_do_about_idle_consumers_depends_on_what_rules_them() -> None:
    def fix(diagnosis: Diagnosis) -> str:
        return next(cause.fix for cause in diagnosis.causes if cause.id == "failover_idle_consumers")

    assert f"{FLAG}=true" in fix(spread("abcd", "aaaaaa", "false"))
    assert FLAG not in fix(spread("abcd", "aaaaaa", "false", partitioned=False))
    assert FLAG not in fix(spread("abcd", "aabbab", "true"))
    paths = [f"admin/v2/persistent/t/n/{name}/stats" for name in ("w-partition-0", "x-partition-0", "y", "z")]
    shown = stats("Failover", [consumer(name) for name in "abcd"], activeConsumerName="a")
    assert FLAG not in fix(diagnosed({**dict.fromkeys(paths, shown), RUNTIME: {FLAG: "false"}}))


def test_others_than_failover_and_topics_without_consumers_are_not_counted_as_idle() -> None:
    path = "admin/v2/persistent/t/n/y{}-partition-0/stats"
    answers: dict[str, Any] = {
        path.format(number): stats("Failover", [consumer(name) for name in "ab"], activeConsumerName="a")
        for number in range(3)
    }
    answers[path.format(3)] = stats("Failover", [], activeConsumerName=None)
    result = facts_of(diagnosed(answers | {RUNTIME: {FLAG: "false"}}), "failover_idle_consumers")
    assert (result["numbers"]["topics"], result["numbers"]["consumers"]) == (3, 2)


def test_two_topics_are_added_up_where_nothing_is_wrong() -> None:
    def at(out: int, waiting: int) -> dict[str, Any]:
        shown = stats("Shared", [consumer("a", msgOutCounter=out)], msgBacklog=waiting, msgOutCounter=out)
        return {stats_path(0): shown, stats_path(1): shown}

    assert facts_of(diagnosed(at(5, 0), at(9, 0)), "fine_idle") == expected(
        "fine", {"backlog": 0, "out": 8}, "msgBacklog", "msgOutCounter", where=("", 2)
    )
    assert facts_of(diagnosed(at(5, 40), at(9, 30)), "fine_catching_up") == expected(
        "fine", {"backlog": 60, "backlog_growth": -20}, "msgBacklog", "msgOutCounter", waiting=60, where=("", 2)
    )
    stuck = {**at(9, 30), stats_path(1): at(5, 30)[stats_path(1)]}
    assert "fine_catching_up" not in ids(diagnosed(at(5, 40), stuck))


def test_the_share_of_a_hot_consumer_has_three_digits() -> None:
    def at(out: int, waiting: int) -> Stats:
        members = [consumer("a", msgOutCounter=2 * out, availablePermits=0), consumer("b", msgOutCounter=out)]
        return stats("Key_Shared", members, msgInReplay=4, msgBacklog=waiting, msgOutCounter=3 * out)

    result = facts_of(two(at(10, 20), at(20, 20)), "hot_key")["numbers"]
    assert (result["share_of_out"], result["backlog_growth"]) == (0.667, 0)


def test_who_is_far_behind_is_behind_everybody() -> None:
    def shown(out: int, *permits: int) -> Stats:
        members = [
            consumer(name, msgOutCounter=out, availablePermits=allowed)
            for name, allowed in zip("abc", permits, strict=True)
        ]
        members[0]["unackedMessages"] = 40
        return stats("Key_Shared", members, msgInReplay=4, msgBacklog=60, msgOutCounter=3 * out, unackedMessages=40)

    assert "hot_key" in ids(two(shown(10, 4, 9, 90), shown(20, 4, 9, 90)))
    assert "hot_key" not in ids(two(shown(10, 4, 8, 90), shown(20, 4, 8, 90)))


@pytest.mark.parametrize(
    ("members", "active", "cause"),
    [("a", None, "no_permits"), ("a", "a", "no_permits"), ("ab", None, "waits_unexplained"), ("ab", "a", "no_permits")],
)
def test_the_one_consumer_of_an_exclusive_subscription_is_the_active_one(
    members: str, active: str | None, cause: str
) -> None:
    shown = stats(
        "Exclusive", [consumer(name, availablePermits=0) for name in members], activeConsumerName=active, msgBacklog=90
    )
    assert ids(two(shown, shown)) == [cause]
    once = of_stats(stats("Exclusive", [consumer("a", availablePermits=0, msgOutCounter=None)], msgBacklog=90))
    assert ids(once) == ["no_permits"]


def test_one_consumer_with_permits_is_enough_for_shared_and_for_a_standby() -> None:
    shown = stats("Shared", [consumer("a", availablePermits=0), consumer("b", availablePermits=1)], msgBacklog=9)
    assert "no_permits" not in ids(two(shown, shown))
    members = [consumer("a", availablePermits=0), consumer("b", availablePermits=1)]
    shown = stats("Failover", members, activeConsumerName="a", msgBacklog=9)
    assert facts_of(two(shown, shown), "failover_active_no_permits")["numbers"]["standbys_with_permits"] == 1


def test_of_two_stopped_consumers_the_larger_numbers_are_reported() -> None:
    members = [
        consumer(name, blockedConsumerOnUnackedMsgs=True, unackedMessages=held, availablePermits=permits)
        for name, held, permits in (("a", 30, 5), ("b", 40, 4))
    ]
    result = of_stats(stats("Key_Shared", members, msgBacklog=90, unackedMessages=70))
    numbers = facts_of(result, "keyshared_unacked_limit")["numbers"]
    assert (numbers["unacked"], numbers["permits"], numbers["limit_at_most"]) == (40, 5, 80)


@pytest.mark.parametrize(("rate", "found"), [(0.5, True), (0.0, False)])
def test_messages_that_a_topic_drops_are_lost(rate: float, found: bool) -> None:
    result = of_stats(stats("Shared", [consumer("a", availablePermits=5)], msgBacklog=0, msgDropRate=rate))
    assert ("messages_dropped" in ids(result)) is found
    assert not found or facts_of(result, "messages_dropped")["numbers"]["dropped_msgs_per_sec"] == rate


@pytest.mark.parametrize(("limit", "own"), [(80, True), (81, False), (100, False)])
def test_below_half_its_limit_a_subscription_did_not_stop_itself(limit: int, own: bool) -> None:
    runtime = {"maxUnackedMessagesPerBroker": "500", "maxUnackedMessagesPerConsumer": "1"}
    answers = {stats_path(): limits(), policy("maxUnackedMessagesOnSubscription"): limit, RUNTIME: runtime}
    assert ("subscription_unacked_limit" in ids(diagnosed(answers))) is own


@pytest.mark.parametrize(
    ("came_in", "out", "evicts", "found"),
    [
        (400, 380, True, False), (401, 380, True, True), (401, 380, False, False), (21, 10, True, True),
        (20, 10, True, False),
    ],
)  # fmt: skip
def test_how_many_messages_must_be_missing_to_say_that_they_were_thrown_away(
    came_in: int, out: int, evicts: bool, found: bool
) -> None:
    topic = {"msgInCounter": came_in, "backlogSize": 5, "backlogQuotaLimitSize": 1000}
    shown = stats("Shared", [consumer("a")], msgOutCounter=out, topic=topic)
    name = "consumer_backlog_eviction" if evicts else "producer_exception"
    diagnosis = two(shown, shown, **{QUOTA: {"destination_storage": {"limitSize": 1000, "policy": name}}})
    assert ("producer_side" in ids(diagnosis)) is found


@pytest.mark.parametrize(
    ("ranges", "mode", "skewed"),
    [
        ([[[0, 21844]], [[21845, 65535]]], "AUTO_SPLIT", True), ([[[0, 21844]], [[21845, 65535]]], "STICKY", False),
        ([[[0, 65535]]], "AUTO_SPLIT", False), ([[[0, 9], [20, 29]], [[30, 65535]]], "AUTO_SPLIT", False),
        ([[], [[0, 65535]]], "AUTO_SPLIT", False),
    ],
)  # fmt: skip
def test_only_halves_are_skewed(ranges: list[Any], mode: str, skewed: bool) -> None:
    members = [consumer(name, keyHashRangeArrays=pieces) for name, pieces in zip("ab", ranges, strict=False)]
    result = of_stats(stats("Key_Shared", members, keySharedMode=mode))
    assert ("keyshared_autosplit_skew" in ids(result)) is skewed
    if skewed:
        numbers = facts_of(result, "keyshared_autosplit_skew")["numbers"]
        assert numbers == {"largest_share": 0.6667, "smallest_share": 0.3333}


QUIET: dict[str, tuple[Stats, Stats]] = {}


def quiet(name: str, first: Stats, second: Stats | None = None) -> None:
    QUIET[name] = (first, second or first)


quiet("failover_active_not_connected", stats("Failover", [consumer("b")], activeConsumerName="gone"))
quiet("keyshared_no_slots", stats("Key_Shared", [consumer("a", keyHashRangeArrays=[[0, 65535]]), consumer("b")]))
quiet(
    "keyshared_autosplit_skew",
    stats("Key_Shared", [consumer("a", keyHashRangeArrays=[[0, 9]]), consumer("b", keyHashRangeArrays=[[10, 65535]])]),
)
quiet(
    "producer_side",
    stats("Shared", [consumer("a")], topic={"publishers": [], "backlogSize": 9, "backlogQuotaLimitSize": 8}),
)
quiet(
    "redelivery_loop",
    stats("Shared", [consumer("a")], msgRateRedeliver=1.0),
    stats("Shared", [consumer("a")], msgRateRedeliver=1.0, msgOutCounter=90),
)
IDLE = consumer("a", keyHashRangeArrays=[[0, 32767]])
BUSY = consumer("b", keyHashRangeArrays=[[32768, 65535]])
quiet(
    "keyshared_few_keys",
    stats("Key_Shared", [IDLE, BUSY]),
    stats("Key_Shared", [IDLE, {**BUSY, "msgOutCounter": 50}], msgOutCounter=50, topic={"msgInCounter": 50}),
)


@pytest.mark.parametrize("name", QUIET)
def test_a_quiet_topic_is_found_beside_a_busy_one(name: str) -> None:
    first, second = QUIET[name]
    type_ = second["subscriptions"]["s"]["type"]
    busy = stats(type_, [consumer("a", keyHashRangeArrays=[[0, 65535]])], activeConsumerName="a", msgBacklog=5)
    result = diagnosed({stats_path(0): busy, stats_path(1): first}, {stats_path(0): busy, stats_path(1): second})
    cause = next(cause for cause in result.causes if cause.id == name)
    assert (cause.topic, cause.topics) == (f"{TOPIC}-partition-1", 1)


def test_everybody_who_blocks_on_any_topic_is_named() -> None:
    def shown(name: str) -> Stats:
        return stats("Failover", [consumer(name, availablePermits=0)], activeConsumerName=name, msgBacklog=9)

    answers = {stats_path(0): shown("a"), stats_path(1): shown("b")}
    cause = facts_of(diagnosed(answers, answers), "failover_active_no_permits")
    assert (cause["by"], cause["blocked"], cause["where"][1], cause["waiting"]) == ("ab", "ab", 2, 18)


def ring_members(names: str, *, points: int = 100, since: str = "") -> list[Stats]:
    selector = ring(names, points=points)
    ranges = selector.ranges()
    return [
        consumer(
            each.name,
            keyHashRangeArrays=[[piece.start, piece.end] for piece in ranges[each.consumer_id]],
            connectedSince=f"2026-11-23T09:00:0{since[at]}Z" if since else "",
        )
        for at, each in enumerate(selector.consumers)
    ]


def test_ranges_that_no_rule_gives() -> None:
    first, second = ring_members("ab")
    first["keyHashRangeArrays"], second["keyHashRangeArrays"] = (
        second["keyHashRangeArrays"],
        first["keyHashRangeArrays"],
    )
    result = of_stats(stats("Key_Shared", [first, second], keySharedMode="AUTO_SPLIT", msgBacklog=5))
    assert facts_of(result, "keyshared_ranges_differ") == expected(
        "cannot_tell", {"slots": 65_535, "consumers": 2, "consumers_with_others": 2},
        "keyHashRangeArrays", "keyHashRanges", "consumers[].consumerName", by="ab",
        setting=("subscriptionKeySharedConsistentHashingReplicaPoints", None, 100, ""),
    )  # fmt: skip
    quiet = of_stats(stats("Key_Shared", [first, second], keySharedMode="AUTO_SPLIT"))
    assert "keyshared_ranges_differ" not in ids(quiet)


def test_consumers_count_in_the_order_of_connecting_where_all_say_it() -> None:
    members = ring_members("aab", since="123")
    shown = stats("Key_Shared", [members[1], members[0], members[2]], keySharedMode="AUTO_SPLIT", msgBacklog=5)
    assert "keyshared_ranges_differ" not in ids(of_stats(shown))
    members[2]["connectedSince"] = ""
    assert "keyshared_ranges_differ" in ids(of_stats(shown))


def test_parts_of_a_second_count_in_the_order_of_connecting() -> None:
    members = ring_members("aab", since="123")
    members[0]["connectedSince"], members[1]["connectedSince"] = "2026-11-23T09:00:01Z", "2026-11-23T09:00:01.5Z"
    shown = stats("Key_Shared", [members[1], members[0], members[2]], keySharedMode="AUTO_SPLIT", msgBacklog=5)
    assert "keyshared_ranges_differ" not in ids(of_stats(shown))


@pytest.mark.parametrize(
    ("ranges", "differ"),
    [
        ([[[0, 9]], [[10, 65_536]]], False), ([[[0, 9]], [[10, 65_535]]], False), ([[[1, 9]], [[10, 65_536]]], True),
        ([[[0, 9]], [[11, 65_536]]], True), ([[[0, 9]], [[10, 65_534]]], True),
    ],
)  # fmt: skip
def test_halves_tile_all_slots(ranges: list[Any], differ: bool) -> None:
    members = [consumer(name, keyHashRangeArrays=pieces) for name, pieces in zip("ab", ranges, strict=True)]
    shown = stats("Key_Shared", members, keySharedMode="AUTO_SPLIT", msgBacklog=5)
    assert ("keyshared_ranges_differ" in ids(of_stats(shown))) is differ


def test_batches_of_several_messages() -> None:
    shown = stats(
        "Key_Shared", [consumer("a", avgMessagesPerEntry=7), consumer("b", avgMessagesPerEntry=3)], msgBacklog=5
    )
    assert facts_of(of_stats(shown), "keyshared_batches") == expected(
        "by_design", {"messages_per_entry": 7}, "consumers[].avgMessagesPerEntry",
        setting=("batcherBuilder (client)", None, "BatcherBuilder.DEFAULT", ""),
    )  # fmt: skip


def test_nobody_on_one_topic_says_nothing_of_batches() -> None:
    shown = stats("Key_Shared", [consumer("a", avgMessagesPerEntry=7)], msgBacklog=5)
    answers = {stats_path(0): stats("Key_Shared", [], msgBacklog=5), stats_path(1): shown}
    cause = facts_of(diagnosed(answers), "keyshared_batches")
    assert cause["where"] == (f"{TOPIC}-partition-1", 1)


def test_three_names_are_all_listed() -> None:
    assert joined(["a", "b", "c"]) == "a, b and c"
    assert joined(["a", "b", "c"], at_most=2) == "a, b and 1 more"


def test_a_delayed_message_may_be_of_the_key_that_a_consumer_lacks() -> None:
    def at(out: int, late: int) -> Stats:
        members = [IDLE, {**BUSY, "msgOutCounter": out}]
        return stats("Key_Shared", members, msgOutCounter=out, msgDelayed=late, topic={"msgInCounter": out})

    assert "keyshared_few_keys" in ids(two(at(0, 0), at(50, 0)))
    assert "keyshared_few_keys" not in ids(two(at(0, 0), at(50, 1)))


def test_counters_that_a_release_does_not_print_say_nothing_of_redelivery() -> None:
    first, second = QUIET["redelivery_loop"]
    silent = {name: value for name, value in second.items() if name != "msgInCounter"}
    assert "redelivery_loop" in ids(two(first, second))
    assert "redelivery_loop" not in ids(two(first, silent))
