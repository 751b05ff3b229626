"""Causes that no recording shows, the borders between look-alikes, and topics with several partitions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.admin.moments import read_moments
from engine.diagnosis.findings import findings_of
from engine.diagnosis.model import Diagnosis, Verdict
from engine.diagnosis.why import why
from engine.lint.model import Severity
from tests.engine.diagnosis.answers import Stats, consumer, diagnosed, internal, of_stats, stats, stats_path
from tests.engine.diagnosis.samples import dump

RUNTIME = "admin/v2/brokers/configuration/runtime"


def first(diagnosis: Diagnosis) -> tuple[str, str]:
    assert diagnosis.first is not None
    return diagnosis.first.id, diagnosis.first.verdict.value


def edited(name: str, folder: Path, path: str, change: dict[str, str | None]) -> Diagnosis:
    """The diagnosis of a sample with members of one answer changed; None takes the answer away."""
    dump(name, folder)
    for file in folder.rglob(f"{path}.json"):
        answer = json.loads(file.read_text())
        file.write_text(json.dumps({**answer, **change}))
    return why(read_moments(folder))[0]


def test_an_active_consumer_that_is_not_connected_blocks_what_waits() -> None:
    shown = stats("Failover", [consumer("b")], activeConsumerName="a", msgBacklog=7)
    result = of_stats(shown, shown)
    assert first(result) == ("failover_active_not_connected", "blocks")
    assert (result.causes[0].blocked, result.causes[0].by, result.causes[0].waiting) == (("b",), ("a",), 7)


def test_an_active_consumer_that_asks_and_is_not_served_for_longer_than_a_hand_over_takes(tmp_path: Path) -> None:
    result = edited("failover-handover-a", tmp_path, RUNTIME, {"activeConsumerFailoverDelayTimeMillis": "1000"})
    assert first(result) == ("failover_active_not_served", "blocks")
    assert result.causes[0].blocked == ("worker-1",)


def test_one_moment_of_26164_says_what_a_second_dump_is_for() -> None:
    shown = stats("Failover", [consumer("a"), consumer("b")], activeConsumerName="a", msgBacklog=70_000)
    assert first(of_stats(shown)) == ("failover_active_not_served", "cannot_tell")
    assert first(of_stats(shown, shown)) == ("failover_active_not_served", "blocks")


def test_a_consumer_of_shared_that_is_stopped_by_its_limit() -> None:
    stopped = consumer("a", blockedConsumerOnUnackedMsgs=True, unackedMessages=40, availablePermits=960)
    shown = stats("Shared", [stopped, consumer("b", msgOutCounter=5)], msgBacklog=40, unackedMessages=40)
    policy = "admin/v2/persistent/t/n/x/maxUnackedMessagesOnConsumer@applied=true"
    result = diagnosed({stats_path(): shown, policy: 40}, {stats_path(): shown})
    assert first(result) == ("consumer_unacked_limit", "blocks")
    assert (result.causes[0].number("limit"), result.causes[0].by) == (40, ("a",))
    assert result.causes[0].setting is not None
    assert (result.causes[0].setting.value, result.causes[0].setting.source) == (40, "topic policy")


def test_a_limit_is_said_to_be_of_the_namespace_or_the_broker_that_set_it() -> None:
    stopped = consumer("a", blockedConsumerOnUnackedMsgs=True, unackedMessages=40)
    shown = {stats_path(): stats("Shared", [stopped], msgBacklog=40, unackedMessages=40)}
    policy = {"admin/v2/persistent/t/n/x/maxUnackedMessagesOnConsumer@applied=true": 40}
    of_namespace = {
        "admin/v2/namespaces/t/n": {"bundles": None, "auth_policies": {}, "max_unacked_messages_per_consumer": 40}
    }
    of_broker = {RUNTIME: {"maxUnackedMessagesPerConsumer": "40"}}
    sources = [
        found.causes[0].setting.source
        for found in (diagnosed({**shown, **policy, **more}) for more in (of_namespace, of_broker, {}))
        if found.causes[0].setting is not None
    ]
    assert sources == ["namespace policy", "broker", "topic policy"]


def test_a_flag_far_below_the_limit_is_the_brokers_where_the_subscriptions_own_is_known() -> None:
    flag = {"blockedSubscriptionOnUnackedMsgs": True, "unackedMessages": 40, "msgBacklog": 100}
    shown = {stats_path(): stats("Shared", [consumer("a", unackedMessages=40)], **flag)}
    own = {"admin/v2/persistent/t/n/x/maxUnackedMessagesOnSubscription@applied=true": 1_000}
    no_limit = {RUNTIME: {"maxUnackedMessagesPerBroker": "0", "maxUnackedMessagesPerConsumer": "50000"}}
    result = diagnosed({**shown, **own})
    assert first(result) == ("broker_unacked_limit", "blocks")
    assert result.causes[0].setting is not None
    assert (result.causes[0].setting.name, result.causes[0].setting.value) == ("maxUnackedMessagesPerBroker", None)
    assert [first(diagnosed({**shown, **more}))[0] for more in ({}, {**own, **no_limit}, no_limit)] == [
        "subscription_unacked_limit"
    ] * 3


def test_one_moment_of_redelivery_needs_a_rate_that_counts_and_a_backlog() -> None:
    def of_rates(again: float, out: float, backlog: int) -> list[tuple[str, str]]:
        rates = {"msgRateRedeliver": again, "msgRateOut": out, "msgBacklog": backlog, "unackedMessages": backlog}
        result = of_stats(stats("Shared", [consumer("a", unackedMessages=backlog)], **rates))
        return [(cause.id, cause.verdict.value) for cause in result.causes if cause.id == "redelivery_loop"]

    assert of_rates(20.0, 100.0, 5) == [("redelivery_loop", "cannot_tell")]
    assert [of_rates(*given) for given in ((19.9, 100.0, 5), (20.0, 100.0, 0), (0.0, 0.0, 5))] == [[], [], []]


def test_one_moment_of_a_hoarder_needs_more_than_a_full_queue_would_explain() -> None:
    def held_by_one(messages: int) -> list[tuple[str, str]]:
        held = [consumer("a", unackedMessages=messages), consumer("b", availablePermits=900)]
        result = of_stats(stats("Shared", held, msgBacklog=messages, unackedMessages=messages))
        return [(cause.id, cause.verdict.value) for cause in result.causes if cause.id == "slow_consumer"]

    assert (held_by_one(20), held_by_one(19)) == ([("slow_consumer", "cannot_tell")], [])


def test_nobody_of_a_shared_subscription_asks() -> None:
    full = [consumer(name, availablePermits=0, msgOutCounter=40) for name in "ab"]
    shown = stats("Shared", full, msgBacklog=100, msgOutCounter=80, topic={"msgInCounter": 180})
    result = of_stats(shown, shown)
    assert first(result) == ("no_permits", "blocks")
    assert result.causes[0].blocked == ("a", "b")


def test_permits_of_zero_at_one_moment_are_normal() -> None:
    full = [consumer("a", availablePermits=0, msgOutCounter=40, lastConsumedTimestamp=1795340880000)]
    shown = stats("Shared", full, msgBacklog=100, msgOutCounter=80)
    assert not any(cause.verdict.harms for cause in of_stats(shown).causes)


def test_a_consumer_without_slots_can_never_get_a_message() -> None:
    owner = consumer("a", keyHashRangeArrays=[[0, 65535]])
    result = of_stats(stats("Key_Shared", [owner, consumer("b")], keySharedMode="AUTO_SPLIT"))
    assert first(result) == ("keyshared_no_slots", "uneven")
    assert result.causes[0].blocked == ("b",)


@pytest.mark.parametrize(
    ("ranges", "skewed"),
    [
        ([(0, 16383), (32768, 65535), (16384, 32767)], True),
        ([(0, 16383), (16384, 32767), (32768, 49151), (49152, 65535)], False),
    ],
)
def test_thirds_of_auto_split_are_skewed_by_construction(ranges: list[tuple[int, int]], skewed: bool) -> None:
    consumers = [consumer(f"c{at}", keyHashRangeArrays=[piece]) for at, piece in enumerate(ranges)]
    result = of_stats(stats("Key_Shared", consumers, keySharedMode="AUTO_SPLIT"))
    assert ("keyshared_autosplit_skew" in [cause.id for cause in result.causes]) is skewed
    if skewed:
        assert result.causes[0].verdict is Verdict.BY_DESIGN
        assert (result.causes[0].number("largest_share"), result.causes[0].number("smallest_share")) == (0.5, 0.25)


def test_a_quota_that_evicts_is_reported_by_what_never_went_out() -> None:
    shown = stats(
        "Shared", [consumer("a", msgOutCounter=100)], msgBacklog=20, msgOutCounter=100,
        topic={"msgInCounter": 642, "backlogQuotaLimitSize": 12000, "backlogSize": 900},
    )  # fmt: skip
    quota = "admin/v2/persistent/t/n/x/backlogQuotaMap@applied=true"
    policy = {"destination_storage": {"limitSize": 12000, "policy": "consumer_backlog_eviction"}}
    result = diagnosed({stats_path(): shown, quota: policy}, {stats_path(): shown})
    assert first(result) == ("producer_side", "blocks")
    assert result.causes[0].number("skipped") == 642 - 100 - 20


def test_the_limit_of_a_rate_is_that_whose_counter_rises() -> None:
    def at(out: int, events: int) -> dict[str, object]:
        return stats(
            "Shared", [consumer("a", msgOutCounter=out)], msgBacklog=500, msgOutCounter=out,
            topic={"msgInCounter": out + 500}, dispatchThrottledMsgEventsBySubscriptionLimit=90,
            dispatchThrottledBytesEventsByTopicLimit=events,
        )  # fmt: skip

    rate = "admin/v2/persistent/t/n/x/dispatchRate@applied=true"
    limit = {"dispatchThrottlingRateInMsg": -1, "dispatchThrottlingRateInByte": 4096, "ratePeriodInSecond": 1}
    result = diagnosed({stats_path(): at(100, 3), rate: limit}, {stats_path(): at(200, 9)})
    assert first(result) == ("dispatch_rate_limited", "slows")
    cause = result.causes[0]
    assert (cause.number("throttle_events"), cause.number("out_per_s")) == (6, 10.0)
    assert cause.setting is not None
    assert (cause.setting.name, cause.setting.value) == ("dispatchRate", "4,096 bytes/s")
    assert "dispatch_rate_limited" not in [
        cause.id for cause in diagnosed({stats_path(): at(100, 3)}, {stats_path(): at(200, 3)}).causes
    ]


def test_consumers_behind_a_better_priority_level_stand_by() -> None:
    consumers = [consumer(name) for name in ("b", "c", "a")]
    result = diagnosed({
        stats_path(index): stats("Failover", consumers, activeConsumerName="bc"[index % 2]) for index in range(6)
    })  # fmt: skip
    assert [cause.id for cause in result.causes if cause.verdict is not Verdict.FINE] == ["failover_standby"]
    assert result.causes[0].blocked == ("a",)


def test_the_worst_of_several_partitions_is_named_and_all_blocked_ones_are_listed() -> None:
    def partition(active: str, waiting: int, permits: int) -> dict[str, object]:
        named = [consumer(name, availablePermits=permits if name == active else 1000) for name in ("a", "b")]
        return stats("Failover", named, activeConsumerName=active, msgBacklog=waiting)

    shown = {
        stats_path(0): partition("a", 10, 0),
        stats_path(1): partition("b", 30, 0),
        stats_path(2): partition("a", 0, 1000),
    }
    result = diagnosed(shown, shown)
    cause = result.causes[0]
    assert (cause.id, cause.topic, cause.topics) == ("failover_active_no_permits", "persistent://t/n/x-partition-1", 2)
    assert (result.topic, result.topics) == (cause.topic, 3)
    assert (cause.blocked, cause.waiting) == (("a", "b"), 40)


def test_counters_of_a_topic_that_was_loaded_anew_are_not_subtracted() -> None:
    before = stats("Shared", [consumer("a", msgOutCounter=900)], msgOutCounter=900, topic={"msgInCounter": 900})
    after = stats("Shared", [consumer("a", msgOutCounter=5)], msgOutCounter=5, topic={"msgInCounter": 5})
    assert [cause.id for cause in of_stats(before, after).causes] == ["fine_idle"]


@pytest.mark.parametrize(
    ("read", "unread"), [("5:101", 0), ("5:100", 1), ("5:0", 101), ("6:0", 0), ("4:7", 60), ("none", 60)]
)
def test_what_is_unread_is_read_from_the_cursor_or_taken_from_the_backlog(read: str, unread: int) -> None:
    shown = stats("Failover", [consumer("a", availablePermits=0)], activeConsumerName="a", msgBacklog=60)
    answers = {stats_path(): shown, "admin/v2/persistent/t/n/x/internalStats": internal(read, "5:100")}
    result = diagnosed(answers, answers)
    if unread:
        assert (result.causes[0].id, result.causes[0].number("unread")) == ("failover_active_no_permits", unread)
    else:
        assert first(result) == ("sent_not_acknowledged", "cannot_tell")


def test_draining_slots_hurt_only_when_a_message_was_held_back() -> None:
    def holder(attempts: int) -> dict[str, object]:
        slots = [{"hash": 9, "unackMsgs": 1, "blockedAttempts": attempts}]
        return consumer(
            "a", drainingHashes=slots, drainingHashesCount=1, keyHashRangeArrays=[[100, 65535]], unackedMessages=4
        )

    waiter = consumer("b", keyHashRangeArrays=[[0, 99]])
    quiet = stats("Key_Shared", [holder(0), waiter], keySharedMode="AUTO_SPLIT", msgInReplay=2, msgBacklog=6)
    assert "keyshared_draining" not in [cause.id for cause in of_stats(quiet).causes]
    loud = stats("Key_Shared", [holder(3), waiter], keySharedMode="AUTO_SPLIT", msgInReplay=2, msgBacklog=6)
    result = of_stats(loud)
    assert first(result) == ("keyshared_draining", "blocks")
    cause = result.causes[0]
    assert (cause.blocked, cause.by, cause.number("attempts_of_b"), cause.number("worst_slot")) == (
        ("b",),
        ("a",),
        3,
        9,
    )


def test_a_quota_of_time_is_reported_by_producers_that_are_gone() -> None:
    quota = "admin/v2/persistent/t/n/x/backlogQuotaMap@applied=true"
    policy = {"message_age": {"limitSize": -1, "limitTime": 30, "policy": "producer_exception"}}

    def at(came_in: int, publishers: list[object]) -> dict[str, object]:
        return stats("Shared", [consumer("a")], msgBacklog=9, topic={"msgInCounter": came_in, "publishers": publishers})

    kept_out = diagnosed({stats_path(): at(9, []), quota: policy}, {stats_path(): at(9, [])})
    assert first(kept_out) == ("producer_side", "blocks")
    assert kept_out.causes[0].number("limit_s") == 30
    for now in (at(9, [{}]), at(10, [])):
        result = diagnosed({stats_path(): at(9, []), quota: policy}, {stats_path(): now})
        assert "producer_side" not in [cause.id for cause in result.causes]


def test_a_consumer_of_shared_that_keeps_what_others_could_do_while_messages_flow() -> None:
    def at(out: int, held: int) -> dict[str, object]:
        slow = consumer("a", msgOutCounter=500, unackedMessages=held, availablePermits=500)
        quick = consumer("b", msgOutCounter=out, availablePermits=50)
        return stats(
            "Shared", [slow, quick], msgBacklog=held, unackedMessages=held, msgOutCounter=500 + out,
            topic={"msgInCounter": 500 + out},
        )  # fmt: skip

    result = of_stats(at(100, 400), at(900, 380))
    assert first(result) == ("slow_consumer", "slows")
    assert (result.causes[0].blocked, result.causes[0].by) == (("b",), ("a",))
    assert [cause.id for cause in of_stats(at(100, 3), at(900, 4)).causes] == ["fine_keeping_up"]


def test_a_hot_consumer_with_a_few_permits_left_is_found_by_what_it_holds() -> None:
    def at(out: int, replay: int, permits: int) -> dict[str, object]:
        hot = consumer("a", msgOutCounter=out, unackedMessages=40, availablePermits=permits)
        calm = consumer("b", msgOutCounter=out // 4, availablePermits=45)
        return stats(
            "Key_Shared", [hot, calm], keySharedMode="AUTO_SPLIT", msgInReplay=replay, unackedMessages=40,
            msgBacklog=40 + replay, msgOutCounter=out + out // 4, topic={"msgInCounter": out * 2},
        )  # fmt: skip

    assert first(of_stats(at(100, 50, 4), at(300, 120, 7))) == ("hot_key", "slows")
    assert "hot_key" not in [cause.id for cause in of_stats(at(100, 50, 30), at(300, 120, 40)).causes]


@pytest.mark.parametrize(("actives", "differs"), [("abab", False), ("abba", True)])
def test_active_consumers_that_no_rule_gives_are_reported(actives: str, differs: bool) -> None:
    result = diagnosed({
        stats_path(index): stats("Failover", [consumer(name) for name in "ab"], activeConsumerName=active)
        for index, active in enumerate(actives)
    })  # fmt: skip
    assert ("failover_active_differs" in [cause.id for cause in result.causes]) is differs


def test_who_is_idle_is_not_said_where_some_answers_name_no_active_consumer() -> None:
    consumers = [consumer(name) for name in "abc"]
    result = diagnosed({
        stats_path(index): stats("Failover", consumers, **({"activeConsumerName": "a"} if index < 2 else {}))
        for index in range(3)
    })  # fmt: skip
    assert [cause.id for cause in result.causes] == ["fine_idle"]


def test_26164_without_counters_is_reported_by_a_rate_of_0_as_something_to_look_at_again() -> None:
    def shown(rate: Stats, **of_active: object) -> Stats:
        active = consumer("a", msgOutCounter=None, **of_active)
        result = stats(
            "Failover", [active, consumer("b", msgOutCounter=None)], activeConsumerName="a", msgBacklog=70_000, **rate
        )
        del result["subscriptions"]["s"]["msgOutCounter"]
        return result

    diagnosis = of_stats(shown({"msgRateOut": 0.0}))
    assert first(diagnosis) == ("failover_active_not_served", "cannot_tell")
    assert "failover_active_not_served" not in [cause.id for cause in of_stats(shown({})).causes]
    assert [(finding.rule, finding.severity) for finding in findings_of([diagnosis])] == [
        ("failover_active_not_served", Severity.INFO)
    ]
    assert "failover_active_not_served" not in [
        cause.id for cause in of_stats(shown({"msgRateOut": 0.0}, msgRateOut=0.1)).causes
    ]


def test_a_consumer_that_holds_messages_has_keys_whoever_got_the_last_ones() -> None:
    def at(out: int, held: int) -> Stats:
        idle = consumer("a", keyHashRangeArrays=[[0, 32767]], msgOutCounter=40, unackedMessages=held)
        busy = consumer("b", keyHashRangeArrays=[[32768, 65535]], msgOutCounter=out)
        return stats("Key_Shared", [idle, busy], keySharedMode="AUTO_SPLIT", msgOutCounter=40 + out,
                     topic={"msgInCounter": 40 + out})  # fmt: skip

    assert first(of_stats(at(10, 0), at(60, 0))) == ("keyshared_few_keys", "uneven")
    assert "keyshared_few_keys" not in [cause.id for cause in of_stats(at(10, 1), at(60, 1)).causes]


def test_a_finding_about_several_topics_has_what_waits_in_all_of_them() -> None:
    answers = {stats_path(at): stats("Failover", [], msgBacklog=500 + at) for at in range(3)}
    (finding,) = findings_of([diagnosed(answers)])
    assert (finding.rule, finding.where.topics) == ("no_consumers", 3)
    assert "502" in finding.what.split()
    assert finding.what.endswith("(the worst of 3 topics, with 1,503 waiting messages in all)")
    (alone,) = findings_of([of_stats(stats("Failover", [], msgBacklog=500))])
    assert [word for word in alone.what.split() if word[0].isdigit()] == ["500"]
