"""Everything that each decider says but its sentences, from statistics small enough to be added up by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pytest

from engine.diagnosis.model import Cause, Diagnosis
from tests.engine.diagnosis.answers import TOPIC, Stats, consumer, diagnosed, internal, of_stats, stats, stats_path

RUNTIME: Final = "admin/v2/brokers/configuration/runtime"
LEDGER: Final = "admin/v2/persistent/t/n/x/internalStats"
QUOTA: Final = "admin/v2/persistent/t/n/x/backlogQuotaMap@applied=true"
QUEUE: Final = ("receiverQueueSize", None, 1_000, "")


def policy(name: str) -> str:
    return f"admin/v2/persistent/t/n/x/{name}@applied=true"


def two(first: Stats, second: Stats, **more: Any) -> Diagnosis:
    """Two moments ten seconds apart; ``more`` are answers of the first, by path."""
    return diagnosed({stats_path(): first, **more}, {stats_path(): second})


def facts(cause: Cause) -> dict[str, Any]:
    """What a cause says, its sentences left out."""
    setting = cause.setting
    return {
        "verdict": cause.verdict.value,
        "where": (cause.topic, cause.topics),
        "blocked": "".join(cause.blocked),
        "by": "".join(cause.by),
        "waiting": cause.waiting,
        "numbers": dict(cause.numbers),
        "setting": None if setting is None else (setting.name, setting.value, setting.default, setting.source),
        "fields": cause.fields,
    }


def facts_of(diagnosis: Diagnosis, name: str) -> dict[str, Any]:
    return facts(next(cause for cause in diagnosis.causes if cause.id == name))


def expected(
    verdict: str,
    numbers: Mapping[str, object],
    *fields: str,
    blocked: str = "",
    by: str = "",
    waiting: int = 0,
    setting: object = None,
    where: tuple[str, int] = (TOPIC, 1),
) -> dict[str, Any]:
    return {
        "verdict": verdict, "where": where, "blocked": blocked, "by": by, "waiting": waiting,
        "numbers": dict(numbers), "setting": setting, "fields": fields,
    }  # fmt: skip


def test_nobody_is_connected() -> None:
    result = of_stats(
        stats("Shared", [], msgBacklog=5, msgOutCounter=3), stats("Shared", [], msgBacklog=9, msgOutCounter=3)
    )
    assert facts_of(result, "no_consumers") == expected(
        "blocks", {"consumers": 0, "backlog": 9, "backlog_growth": 4}, "consumers", "msgBacklog", waiting=9
    )
    assert f"skip-all -s s {TOPIC}" in result.causes[0].fix
    once = of_stats(stats("Shared", [], msgBacklog=9, msgOutCounter=3))
    assert once.causes[0].number("backlog_growth") == 0


@pytest.mark.parametrize(
    ("came_in", "out", "publishers", "found"),
    [(0, 0, [], True), (1, 0, [], False), (0, 1, [], False), (0, 0, [{}], False)],
)
def test_a_topic_that_counts_from_0_was_loaded_a_moment_ago(
    came_in: int, out: int, publishers: list[Any], found: bool
) -> None:
    shown = stats(
        "Shared", [], msgBacklog=7, msgOutCounter=out, topic={"msgInCounter": came_in, "publishers": publishers}
    )
    diagnosis = of_stats(shown)
    assert ("topic_not_loaded" in [cause.id for cause in diagnosis.causes]) is found
    if found:
        assert facts_of(diagnosis, "topic_not_loaded") == expected(
            "blocks", {"backlog": 7, "consumers": 0, "listed_as_loaded": 1},
            "consumers", "msgInCounter", "msgOutCounter", "msgBacklog", "broker-stats/topics", waiting=7,
        )  # fmt: skip
        assert f"lookup {TOPIC}" in diagnosis.causes[0].fix


def test_who_was_there_before_the_topic_was_unloaded_is_blocked() -> None:
    before = stats("Shared", [consumer("b"), consumer("a")], msgBacklog=7, msgOutCounter=0)
    after = stats("Shared", [], msgBacklog=7, msgOutCounter=0, topic={"publishers": []})
    assert facts_of(two(before, after), "topic_not_loaded")["blocked"] == "ab"


@pytest.mark.parametrize(
    ("backlog", "out", "verdict"), [(7, 0, "blocks"), (0, 0, "slows"), (7, 40, "slows")],
)  # fmt: skip
def test_an_active_consumer_that_is_not_connected(backlog: int, out: int, verdict: str) -> None:
    first = stats("Failover", [consumer("b")], activeConsumerName="a", msgBacklog=backlog)
    second = {**first, "subscriptions": {"s": {**first["subscriptions"]["s"], "msgOutCounter": out}}}
    result = two(first, second)
    assert facts_of(result, "failover_active_not_connected") == expected(
        verdict, {"backlog": backlog, "consumers": 1}, "activeConsumerName", "consumers[].consumerName",
        blocked="b", by="a", waiting=backlog,
    )  # fmt: skip
    assert f"unload {TOPIC}" in result.causes[0].fix


def test_slots_drain_for_two_waiters() -> None:
    slots = [
        {"hash": slot, "unackMsgs": 2, "blockedAttempts": attempts}
        for slot, attempts in ((9, 3), (8, 1), (70, 5), (7, 0))
    ]
    holder = consumer("a", drainingHashes=slots, keyHashRangeArrays=[[100, 65535]], unackedMessages=8)
    waiters = [consumer("b", keyHashRangeArrays=[[0, 50]]), consumer("c", keyHashRangeArrays=[[51, 99]])]
    shown = stats("Key_Shared", [holder, *waiters], keySharedMode="AUTO_SPLIT", msgInReplay=6, msgBacklog=20)
    assert facts_of(of_stats(shown), "keyshared_draining") == expected(
        "blocks",
        {
            "draining_slots": 4, "draining_slots_blocking": 3, "unacked_in_draining_slots": 8, "unacked_of_holder": 8,
            "in_replay": 6, "blocked_attempts": 9, "worst_slot": 70,
            "slots_of_b": 2, "slots_of_c": 1, "attempts_of_b": 4, "attempts_of_c": 5,
        },
        "drainingHashes[].blockedAttempts", "keyHashRangeArrays", "msgInReplay",
        blocked="bc", by="a", waiting=6,
    )  # fmt: skip


def test_a_slot_that_came_back_to_its_holder_or_is_nobody_s_keeps_no_other_waiting() -> None:
    slots = [{"hash": slot, "unackMsgs": 1, "blockedAttempts": 2} for slot in (9, 150, 300)]
    holder = consumer("a", drainingHashes=slots, keyHashRangeArrays=[[100, 199]])
    shown = stats("Key_Shared", [holder, consumer("b", keyHashRangeArrays=[[0, 99]])], msgInReplay=6, msgBacklog=20)
    result = facts_of(of_stats(shown), "keyshared_draining")
    numbers = {name: value for name, value in result["numbers"].items() if name.startswith(("slots_of", "attempts_of"))}
    assert (numbers, result["blocked"]) == ({"slots_of_b": 1, "attempts_of_b": 2}, "b")


@pytest.mark.parametrize(
    ("before", "after", "replay", "found"),
    [(3, 3, 0, False), (3, 4, 0, True), (3, 3, 1, True), (3, 2, 0, False), (0, 1, 0, True)],
)
def test_draining_goes_on_while_attempts_rise_or_something_waits(
    before: int, after: int, replay: int, found: bool
) -> None:
    def at(attempts: int) -> Stats:
        slots = [{"hash": 9, "unackMsgs": 1, "blockedAttempts": attempts}]
        members = [
            consumer("a", drainingHashes=slots, keyHashRangeArrays=[[100, 65535]]),
            consumer("b", keyHashRangeArrays=[[0, 99]]),
        ]
        return stats("Key_Shared", members, msgInReplay=replay, msgBacklog=4)

    assert ("keyshared_draining" in [cause.id for cause in two(at(before), at(after)).causes]) is found


LOOK_AHEAD: Final = (
    "keySharedLookAheadMsgInReplayThresholdPerConsumer",
    "keySharedLookAheadMsgInReplayThresholdPerSubscription",
)


def look_ahead(replay: int, per_consumer: int, per_subscription: int, *, out: int = 0, unread: int = 30) -> Diagnosis:
    runtime = {LOOK_AHEAD[0]: str(per_consumer), LOOK_AHEAD[1]: str(per_subscription)}

    def at(sent: int) -> Stats:
        members = [
            consumer("a", availablePermits=0, msgOutCounter=5),
            consumer("b", msgOutCounter=5),
            consumer("c", msgOutCounter=sent, availablePermits=1),
        ]
        return stats("Key_Shared", members, msgInReplay=replay, msgBacklog=500, msgOutCounter=10 + sent)

    ledger = {LEDGER: internal(f"5:{100 - unread + 1}", "5:100")}
    return diagnosed({stats_path(): at(5), RUNTIME: runtime, **ledger}, {stats_path(): at(5 + out), **ledger})


def test_the_look_ahead_is_full_at_the_smaller_of_two_limits() -> None:
    numbers = {
        "limit": 90,
        "per_consumer": 30,
        "per_subscription": 200,
        "consumers": 3,
        "in_replay": 90,
        "unread": 30,
        "backlog": 500,
    }
    assert facts_of(look_ahead(90, 30, 200), "keyshared_lookahead") == expected(
        "blocks", numbers, "msgInReplay", "readPosition", "consumers[].availablePermits",
        blocked="bc", by="a", waiting=120, setting=(LOOK_AHEAD[0], 30, 4_000, "broker"),
    )  # fmt: skip
    of_subscription = facts_of(look_ahead(80, 30, 80), "keyshared_lookahead")
    assert (of_subscription["numbers"]["limit"], of_subscription["setting"]) == (
        80,
        (LOOK_AHEAD[1], 80, 40_000, "broker"),
    )
    equal = facts_of(look_ahead(90, 30, 90), "keyshared_lookahead")
    assert equal["setting"][0] == LOOK_AHEAD[0]


@pytest.mark.parametrize(
    ("replay", "per_consumer", "per_subscription", "out", "unread", "found"),
    [
        (95, 0, 100, 0, 30, True), (94, 0, 100, 0, 30, False), (96, 0, 100, 0, 30, True), (900, 0, 0, 0, 30, False),
        (95, 0, 100, 1, 30, False), (95, 0, 100, 0, 0, False), (95, 0, 100, 0, 1, True), (1, 0, 1, 0, 30, True),
        (3, 1, 0, 0, 30, True),
    ],
)  # fmt: skip
def test_the_edges_of_the_look_ahead(
    replay: int, per_consumer: int, per_subscription: int, out: int, unread: int, found: bool
) -> None:
    diagnosis = look_ahead(replay, per_consumer, per_subscription, out=out, unread=unread)
    assert ("keyshared_lookahead" in [cause.id for cause in diagnosis.causes]) is found


def failover(permits: int, *, out: int = 0, backlog: int = 60, active: str = "a", delay: str = "1000") -> Diagnosis:
    def at(sent: int) -> Stats:
        members = [
            consumer("a", availablePermits=permits, msgOutCounter=50 + sent),
            consumer("b"),
            consumer("c", availablePermits=0),
        ]
        return stats("Failover", members, activeConsumerName=active, msgBacklog=backlog, msgOutCounter=50 + sent)

    return two(at(0), at(out), **{RUNTIME: {"activeConsumerFailoverDelayTimeMillis": delay}})


def test_an_active_consumer_without_permits() -> None:
    result = failover(0)
    assert facts_of(result, "failover_active_no_permits") == expected(
        "blocks", {"permits": 0, "backlog": 60, "unread": 60, "standbys_with_permits": 1},
        "activeConsumerName", "availablePermits", "msgOutCounter",
        blocked="a", by="a", waiting=60, setting=QUEUE,
    )  # fmt: skip
    assert "failover_active_no_permits" not in [cause.id for cause in failover(1).causes]
    assert "failover_active_no_permits" in [cause.id for cause in failover(-1).causes]
    assert "failover_active_no_permits" not in [cause.id for cause in failover(0, out=1).causes]
    assert "failover_active_no_permits" not in [cause.id for cause in failover(0, backlog=0).causes]


@pytest.mark.parametrize(("permits", "out", "found"), [(1, 0, True), (0, 0, False), (1, 1, False)])
def test_who_asks_for_nothing_or_is_served_does_not_wait_to_be_served(permits: int, out: int, found: bool) -> None:
    assert ("failover_active_not_served" in [cause.id for cause in failover(permits, out=out).causes]) is found


@pytest.mark.parametrize("out", [1, 40])
def test_while_the_former_active_consumer_is_served_messages_go_out(out: int) -> None:
    def at(sent: int) -> Stats:
        members = [consumer("a"), consumer("b", msgOutCounter=sent)]
        return stats("Failover", members, activeConsumerName="a", msgBacklog=60, msgOutCounter=sent)

    result = [cause.id for cause in two(at(5), at(5 + out)).causes]
    assert "failover_active_not_served" not in result and "failover_handover" not in result


@pytest.mark.parametrize(("delay", "found"), [("9999", "not_served"), ("10000", "handover"), ("10001", "handover")])
def test_a_hand_over_lasts_as_long_as_its_delay(delay: str, found: str) -> None:
    diagnosis = failover(1, delay=delay)
    ids = [cause.id for cause in diagnosis.causes]
    assert ("failover_handover" in ids, "failover_active_not_served" in ids) == (
        found == "handover",
        found != "handover",
    )
    if found == "handover":
        assert facts_of(diagnosis, "failover_handover") == expected(
            "blocks", {"delay_ms": int(delay), "backlog": 60, "permits": 1},
            "activeConsumerName", "availablePermits", "msgOutCounter", "readPosition",
            blocked="a", waiting=60, setting=("activeConsumerFailoverDelayTimeMillis", int(delay), 1_000, "broker"),
        )  # fmt: skip
    else:
        assert facts_of(diagnosis, "failover_active_not_served") == expected(
            "blocks", {"permits": 1, "backlog": 60},
            "activeConsumerName", "availablePermits", "msgOutCounter", "msgBacklog", blocked="a", waiting=60,
        )  # fmt: skip
        assert f"unload {TOPIC}" in diagnosis.causes[0].fix


def test_one_moment_of_a_hand_over_counts_where_the_delay_is_longer_than_usual() -> None:
    shown = stats("Failover", [consumer("a")], activeConsumerName="a", msgBacklog=5)
    for delay, hands_over in (("1000", False), ("1001", True), ("0", False)):
        ids = [
            cause.id
            for cause in diagnosed(
                {stats_path(): shown, RUNTIME: {"activeConsumerFailoverDelayTimeMillis": delay}}
            ).causes
        ]
        assert ("failover_handover" in ids) is hands_over


def actives(text: str, names: str = "ab", **more: Any) -> Diagnosis:
    return diagnosed({
        stats_path(index): stats("Failover", [consumer(name) for name in names], activeConsumerName=active, **more)
        for index, active in enumerate(text)
    })  # fmt: skip


def test_active_consumers_that_no_rule_gives() -> None:
    assert facts_of(actives("abba"), "failover_active_differs") == expected(
        "cannot_tell", {"topics": 4, "consumers": 2}, "activeConsumerName", "consumers[].consumerName",
        by="ab", setting=("activeConsumerFailoverConsistentHashing", None, "false", ""),
        where=(f"{TOPIC}-partition-0", 4),
    )  # fmt: skip


@pytest.mark.parametrize(("few", "many"), [("ab", "cd"), ("cd", "ab")])
def test_of_several_lists_without_a_rule_the_one_of_most_topics_is_named(few: str, many: str) -> None:
    lists = [few, *[many] * 4, few, few]
    answers = {
        stats_path(index): stats("Failover", [consumer(name) for name in names], activeConsumerName=names[which])
        for index, (names, which) in enumerate(zip(lists, (0, 0, 1, 1, 0, 1, 1), strict=True))
    }  # fmt: skip
    result = facts_of(diagnosed(answers), "failover_active_differs")
    assert (result["numbers"], result["where"][1]) == ({"topics": 4, "consumers": 2}, 7)
    assert result["by"] == many


def test_consumers_that_are_active_nowhere() -> None:
    topics = {
        f"admin/v2/persistent/t/n/y{number}-partition-0/stats": stats(
            "Failover", [consumer(name) for name in "abcd"], activeConsumerName="a", msgBacklog=2
        )
        for number in range(6)
    }  # fmt: skip
    result = diagnosed({**topics, RUNTIME: {"activeConsumerFailoverConsistentHashing": "false"}})
    cause = facts_of(result, "failover_idle_consumers")
    flagged = {key: cause["numbers"].pop(key) for key in ("idle_with_flag", "most_topics_with_flag")}
    assert cause == expected(
        "uneven", {"consumers": 4, "topics": 6, "idle_consumers": 3, "most_topics": 6, "backlog": 12},
        "activeConsumerName", "consumers[].consumerName",
        blocked="bcd", by="a", setting=("activeConsumerFailoverConsistentHashing", "false", "false", "broker"),
        where=("", 6),
    )  # fmt: skip
    # On the ring these six names fall so; counted with another implementation below.
    assert flagged == on_the_ring("abcd", [f"persistent://t/n/y{number}-partition-0" for number in range(6)])


def on_the_ring(names: str, topics: list[str]) -> dict[str, int]:
    import mmh3

    points = sorted((mmh3.hash(f"{name}{j}", signed=False) & 0x7FFFFFFF, name) for name in names for j in range(100))
    owners = []
    for topic in topics:
        value = mmh3.hash(topic, signed=False) & 0x7FFFFFFF
        owners.append(next((name for point, name in points if point >= value), points[0][1]))
    return {
        "idle_with_flag": len(names) - len(set(owners)),
        "most_topics_with_flag": max(owners.count(name) for name in set(owners)),
    }


def test_consumers_that_stand_by() -> None:
    assert facts_of(actives("ab", "abc", msgBacklog=3), "failover_standby") == expected(
        "by_design", {"partitions": 2, "consumers": 3, "backlog": 6}, "activeConsumerName", "consumers[].consumerName",
        blocked="c", by="ab", where=("", 2),
    )  # fmt: skip


def limits(**blocked: Any) -> Stats:
    members = [
        consumer("a", unackedMessages=30, **blocked),
        consumer("b", unackedMessages=0),
        consumer("c", unackedMessages=10),
    ]
    return stats("Shared", members, msgBacklog=100, unackedMessages=40, blockedSubscriptionOnUnackedMsgs=not blocked)


@pytest.mark.parametrize(
    ("limit", "per_broker", "whose"),
    [
        (40, "0", "subscription"),
        (40, "500", "subscription"),
        (80, "500", "subscription"),
        (81, "500", "broker"),
        (79, "500", "subscription"),
        (80, "0", "subscription"),
    ],
)
def test_whose_limit_of_unacknowledged_messages_it_is(limit: int, per_broker: str, whose: str) -> None:
    answers = {
        stats_path(): limits(),
        policy("maxUnackedMessagesOnSubscription"): limit,
        RUNTIME: {"maxUnackedMessagesPerBroker": per_broker, "maxUnackedMessagesPerConsumer": "1"},
    }
    result = diagnosed(answers)
    ids = [cause.id for cause in result.causes]
    # At half its own limit or above the subscription can have stopped itself.
    assert ids[0] == (f"{whose}_unacked_limit")


def test_a_stopped_subscription() -> None:
    result = diagnosed({stats_path(): limits(), policy("maxUnackedMessagesOnSubscription"): 40})
    assert facts_of(result, "subscription_unacked_limit") == expected(
        "blocks", {"limit": 40, "unacked": 40, "backlog": 100},
        "blockedSubscriptionOnUnackedMsgs", "unackedMessages", "maxUnackedMessagesOnSubscription",
        blocked="abc", by="ac", waiting=60, setting=("maxUnackedMessagesPerSubscription", 40, 200_000, "topic policy"),
    )  # fmt: skip
    assert "set-max-unacked-messages-per-subscription -c 80 t/n" in result.causes[0].fix


def test_a_stopped_broker() -> None:
    runtime = {
        "maxUnackedMessagesPerBroker": "500",
        "maxUnackedMessagesPerSubscriptionOnBrokerBlocked": "0.25",
        "maxUnackedMessagesPerConsumer": "1",
    }
    result = diagnosed({stats_path(): limits(), RUNTIME: runtime})
    assert facts_of(result, "broker_unacked_limit") == expected(
        "blocks", {"limit": 500, "percent_per_dispatcher": 0.25, "unacked": 40, "backlog": 100},
        "blockedSubscriptionOnUnackedMsgs", "unackedMessages", "maxUnackedMessagesPerBroker",
        blocked="abc", by="ac", waiting=60, setting=("maxUnackedMessagesPerBroker", 500, 0, "broker"),
    )  # fmt: skip


@pytest.mark.parametrize(("replay", "waiting"), [(0, 60), (7, 7)])
def test_a_stopped_consumer(replay: int, waiting: int) -> None:
    shown = limits(blockedConsumerOnUnackedMsgs=True)
    shown["subscriptions"]["s"]["msgInReplay"] = replay
    result = diagnosed({stats_path(): shown, policy("maxUnackedMessagesOnConsumer"): 30})
    assert facts_of(result, "consumer_unacked_limit") == expected(
        "blocks", {"limit": 30, "unacked": 30, "permits": 1000, "in_replay": replay},
        "blockedConsumerOnUnackedMsgs", "unackedMessages", "maxUnackedMessagesOnConsumer",
        blocked="a", by="a", waiting=waiting, setting=("maxUnackedMessagesPerConsumer", 30, 50_000, "topic policy"),
    )  # fmt: skip
    assert "set-max-unacked-messages-per-consumer -c 60 t/n" in result.causes[0].fix


def test_the_owner_of_keys_asks_for_nothing() -> None:
    members = [
        consumer("a", availablePermits=0, unackedMessages=6),
        consumer("b", availablePermits=-4, unackedMessages=1),
        consumer("c"),
    ]
    shown = stats("Key_Shared", members, msgInReplay=8, msgBacklog=30)
    result = two(shown, shown)
    assert facts_of(result, "keyshared_no_permits") == expected(
        "blocks", {"permits": 0, "unacked": 7, "in_replay": 8, "backlog": 30},
        "msgInReplay", "availablePermits", "msgOutCounter",
        blocked="ab", by="ab", waiting=8, setting=QUEUE,
    )  # fmt: skip
    assert f"unload {TOPIC}" in result.causes[0].fix


@pytest.mark.parametrize("type_", ["Shared", "Key_Shared"])
def test_nobody_asks_for_anything(type_: str) -> None:
    shown = stats(
        type_, [consumer("a", availablePermits=0), consumer("b", availablePermits=-1)], msgBacklog=30, unackedMessages=5
    )
    assert facts_of(two(shown, shown), "no_permits") == expected(
        "blocks", {"consumers": 2, "unread": 25, "backlog": 30},
        "availablePermits", "msgOutCounter",
        blocked="ab", by="ab", waiting=25, setting=QUEUE,
    )  # fmt: skip
    once = of_stats(stats(type_, [consumer("a", availablePermits=0, msgOutCounter=None)], msgBacklog=30))
    assert facts_of(once, "no_permits") == expected(
        "cannot_tell", {"permits": 0, "backlog": 30},
        "availablePermits", "msgOutCounter",
        waiting=30, setting=QUEUE,
    )  # fmt: skip


def test_messages_wait_for_slots_of_nobody() -> None:
    members = [
        consumer("a", keyHashRangeArrays=[[0, 99]]),
        consumer("b", keyHashRangeArrays=[[200, 300], [302, 65_534]]),
    ]
    result = of_stats(stats("Key_Shared", members, keySharedMode="STICKY", msgInReplay=4, msgBacklog=9))
    assert facts_of(result, "keyshared_sticky_gap") == expected(
        "blocks", {"gap": ((100, 199), (301, 301), (65_535, 65_535)), "gap_slots": 102, "waiting": 4, "in_replay": 4},
        "keySharedMode", "keyHashRangeArrays", "msgInReplay",
        waiting=4, setting=("KeySharedPolicy.stickyHashRange", None, None, ""),
    )  # fmt: skip
    late = of_stats(
        stats("Key_Shared", [consumer("a", keyHashRangeArrays=[[2, 65_535]])], keySharedMode="STICKY", msgInReplay=1)
    )
    assert facts_of(late, "keyshared_sticky_gap")["numbers"]["gap"] == ((1, 1),)
    # Slot 0 does not occur.
    whole = of_stats(
        stats("Key_Shared", [consumer("a", keyHashRangeArrays=[[1, 65_535]])], keySharedMode="STICKY", msgInReplay=1)
    )
    assert "keyshared_sticky_gap" not in [cause.id for cause in whole.causes]


def test_consumers_without_slots() -> None:
    members = [consumer("a", keyHashRangeArrays=[[0, 65535]]), consumer("b"), consumer("c")]
    assert facts_of(of_stats(stats("Key_Shared", members)), "keyshared_no_slots") == expected(
        "uneven", {"without_slots": 2, "consumers": 3}, "keyHashRangeArrays", "keyHashRanges", blocked="bc"
    )


def test_where_no_consumer_reports_slots_none_is_without_them() -> None:
    shown = stats("Key_Shared", [consumer("a"), consumer("b")])
    assert "keyshared_no_slots" not in [cause.id for cause in of_stats(shown).causes]


@pytest.mark.parametrize(("size", "share"), [(43_689, 0.6666), (43_690, 0.6667)])
def test_a_share_is_of_65536_slots(size: int, share: float) -> None:
    members = [consumer("a", keyHashRangeArrays=[[0, size - 1]]), consumer("b", keyHashRangeArrays=[[size, 65_535]])]
    result = of_stats(stats("Key_Shared", members, keySharedMode="AUTO_SPLIT"))
    assert facts_of(result, "keyshared_autosplit_skew")["numbers"]["largest_share"] == share


def test_shares_of_auto_split() -> None:
    members = [
        consumer("a", keyHashRangeArrays=[[0, 32767]]),
        consumer("b", keyHashRangeArrays=[[32768, 49151]]),
        consumer("c", keyHashRangeArrays=[[49152, 65535]]),
    ]
    result = of_stats(stats("Key_Shared", members, keySharedMode="AUTO_SPLIT"))
    assert facts_of(result, "keyshared_autosplit_skew") == expected(
        "by_design", {"largest_share": 0.5, "smallest_share": 0.25}, "keyHashRangeArrays",
        by="a", setting=("subscriptionKeySharedUseConsistentHashing", None, "true", ""),
    )  # fmt: skip


@pytest.mark.parametrize(("size", "skewed"), [(29_999, False), (30_000, True), (30_001, True)])
def test_auto_split_is_skewed_from_half_as_much_again(size: int, skewed: bool) -> None:
    members = [consumer("a", keyHashRangeArrays=[[0, size - 1]]), consumer("b", keyHashRangeArrays=[[40_000, 59_999]])]
    result = of_stats(stats("Key_Shared", members, keySharedMode="AUTO_SPLIT"))
    assert ("keyshared_autosplit_skew" in [cause.id for cause in result.causes]) is skewed


def few_keys(out: int, share: int, *, permits: int = 1, replay: int = 0, idle_out: int = 5) -> Diagnosis:
    def at(sent: int) -> Stats:
        idle = consumer("a", keyHashRangeArrays=[[0, share - 1]], msgOutCounter=idle_out, availablePermits=permits)
        busy = consumer("b", keyHashRangeArrays=[[share, 65535]], msgOutCounter=sent)
        return stats(
            "Key_Shared",
            [idle, busy],
            msgOutCounter=idle_out + sent,
            msgInReplay=replay,
            topic={"msgInCounter": idle_out + sent},
        )

    return two(at(20), at(20 + out))


def test_no_key_falls_to_a_consumer() -> None:
    assert facts_of(few_keys(10, 32_768), "keyshared_few_keys") == expected(
        "uneven",
        {"out": 10, "idle": 1, "consumers": 2},
        "msgOutCounter",
        "keyHashRangeArrays",
        "msgInReplay",
        blocked="a",
    )


@pytest.mark.parametrize(
    ("out", "share", "permits", "replay", "idle_out", "found"),
    [
        # Half of the slots: 1/2^9 is more than 1/1000, and 1/2^10 is less.
        (9, 32_768, 1, 0, 5, False), (10, 32_768, 1, 0, 5, True), (10, 32_768, 0, 0, 5, False),
        (10, 32_768, 1, 1, 5, False), (4, 49_152, 1, 0, 5, False), (5, 49_152, 1, 0, 5, True),
        (0, 49_152, 1, 0, 5, False),
        # One that never got anything has had none of all that ever went out.
        (1, 32_768, 1, 0, 0, True),
    ],
)  # fmt: skip
def test_the_edges_of_few_keys(out: int, share: int, permits: int, replay: int, idle_out: int, found: bool) -> None:
    diagnosis = few_keys(out, share, permits=permits, replay=replay, idle_out=idle_out)
    assert ("keyshared_few_keys" in [cause.id for cause in diagnosis.causes]) is found
