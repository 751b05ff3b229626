"""Everything that the deciders about pace and producers say but their sentences, and their edges."""

from __future__ import annotations

from typing import Any

import pytest

from engine.diagnosis.model import Diagnosis
from tests.engine.diagnosis.answers import TOPIC, Stats, consumer, diagnosed, internal, of_stats, stats, stats_path
from tests.engine.diagnosis.test_decider_facts import LEDGER, QUEUE, QUOTA, expected, facts_of, policy, two


def has(diagnosis: Diagnosis, name: str) -> bool:
    return name in [cause.id for cause in diagnosis.causes]


def throttled(
    before: int, after: int, *, out: int = 200, backlog: int = 50, came_in: int = 0, **more: Any
) -> Diagnosis:
    def at(sent: int, events: int) -> Stats:
        return stats(
            "Shared", [consumer("a", msgOutCounter=sent), consumer("b")], msgBacklog=backlog, msgOutCounter=sent,
            dispatchThrottledMsgEventsByTopicLimit=events, topic={"msgInCounter": came_in if sent > 100 else 0},
        )  # fmt: skip

    return two(at(100, before), at(100 + out, after), **more)


def test_a_limited_rate() -> None:
    limit = {"dispatchThrottlingRateInMsg": 20, "dispatchThrottlingRateInByte": -1, "ratePeriodInSecond": 1}
    result = throttled(3, 10, **{policy("dispatchRate"): limit})
    assert facts_of(result, "dispatch_rate_limited") == expected(
        "slows", {"throttle_events": 7, "backlog": 50, "backlog_growth": 0, "out_per_s": 20.0},
        "dispatchThrottledMsgEventsBy…Limit", "dispatchThrottledBytesEventsBy…Limit", "msgOutCounter",
        blocked="ab", waiting=50, setting=("dispatchRate", "20 messages/s", None, "topic policy"),
    )  # fmt: skip
    assert "set-dispatch-rate -md 1000 t/n" in result.causes[0].fix
    once = of_stats(stats("Shared", [consumer("a")], msgBacklog=50, dispatchThrottledMsgEventsByTopicLimit=4))
    numbers = {"throttle_events": 4, "backlog": 50, "backlog_growth": 0}
    assert facts_of(once, "dispatch_rate_limited")["numbers"] == numbers


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        ({"dispatchThrottlingRateInMsg": 1, "ratePeriodInSecond": 5}, "1 messages/5 s"),
        ({"dispatchThrottlingRateInMsg": 9, "dispatchThrottlingRateInByte": 2000}, "9 messages/s and 2,000 bytes/s"),
        ({"dispatchThrottlingRateInMsg": 0, "dispatchThrottlingRateInByte": 1}, "1 bytes/s"),
        ({"dispatchThrottlingRateInMsg": -1}, None),
    ],
)
def test_a_rate_is_written_with_its_period(limit: dict[str, int], text: str | None) -> None:
    setting = facts_of(throttled(0, 1, **{policy("dispatchRate"): limit}), "dispatch_rate_limited")["setting"]
    assert setting == ("dispatchRate", text, None, "topic policy" if text else "")


@pytest.mark.parametrize(
    ("before", "after", "backlog", "came_in", "found"),
    [
        (3, 3, 50, 0, False), (3, 4, 50, 0, True), (0, 4, 2, 0, False), (0, 4, 3, 0, True), (0, 4, 10, 200, False),
        (0, 4, 11, 200, True),
    ],
)  # fmt: skip
def test_a_rate_holds_back_where_something_is_unread(
    before: int, after: int, backlog: int, came_in: int, found: bool
) -> None:
    assert has(throttled(before, after, backlog=backlog, came_in=came_in), "dispatch_rate_limited") is found


@pytest.mark.parametrize(
    ("counter", "command"),
    [
        ("dispatchThrottledBytesEventsBySubscriptionLimit", "namespaces set-subscription-dispatch-rate"),
        ("dispatchThrottledBytesEventsByTopicLimit", "namespaces set-dispatch-rate"),
        (
            "dispatchThrottledMsgEventsByBrokerLimit",
            "brokers update-dynamic-config --config dispatchThrottlingRateInMsg",
        ),
    ],
)
def test_whose_limit_holds_back_is_whose_counter_rises_most(counter: str, command: str) -> None:
    other = "dispatchThrottledMsgEventsByTopicLimit"
    many = {other: 1, counter: 5} if counter != other else {counter: 5}
    result = of_stats(stats("Shared", [consumer("a")], msgBacklog=50, **many))
    assert f"pulsar-admin {command} " in result.causes[0].fix


@pytest.mark.parametrize(("late", "found"), [(24, False), (25, True), (26, True)])
def test_delayed_messages(late: int, found: bool) -> None:
    diagnosis = of_stats(stats("Shared", [consumer("a")], msgBacklog=50, msgDelayed=late))
    assert has(diagnosis, "delayed_messages") is found
    if found:
        assert facts_of(diagnosis, "delayed_messages") == expected(
            "by_design", {"delayed": late, "backlog": 50, "backlog_no_delayed": 50 - late},
            "msgDelayed", "msgBacklog", waiting=late, setting=("delayedDeliveryEnabled", None, "true", ""),
        )  # fmt: skip


def hot(
    *permits: int, replay: int = 9, out: int = 40, others: int = 1, backlog: tuple[int, int] = (50, 60), held: int = 7
) -> Diagnosis:
    """Consumer a with such permits at the moments, and others with many."""

    def at(sent: int, allowed: int, waiting: int) -> Stats:
        members = [consumer("a", msgOutCounter=sent, availablePermits=allowed, unackedMessages=held)]
        members += [consumer(name, msgOutCounter=sent // 4, availablePermits=90) for name in "bcd"[:others]]
        total = sent + others * (sent // 4)
        return stats(
            "Key_Shared", members, msgInReplay=replay, msgBacklog=waiting, msgOutCounter=total, unackedMessages=held
        )

    return two(at(100, permits[0], backlog[0]), at(100 + out, permits[1], backlog[1]))


def test_a_consumer_that_cannot_keep_up_with_its_keys() -> None:
    assert facts_of(hot(0, 0), "hot_key") == expected(
        "slows", {"in_replay": 9, "unacked": 7, "backlog": 60, "backlog_growth": 10, "share_of_out": 0.8},
        "msgInReplay", "availablePermits", "msgOutCounter", blocked="a", by="a", waiting=9,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("permits", "more", "found"),
    [
        ((0, 0), {}, True), ((1, 0), {}, True), ((0, 1), {}, True), ((1, 1), {}, False), ((0, 0), {"replay": 0}, False),
        ((0, 0), {"others": 0}, False), ((0, 0), {"out": 0}, False), ((0, 0), {"backlog": (60, 60)}, True),
        # Nothing but what is held and in replay waits any more, and it grows no more.
        ((0, 0), {"backlog": (18, 18)}, False), ((0, 0), {"backlog": (17, 18)}, True),
        ((0, 0), {"backlog": (19, 19)}, True),
        # Far fewer permits than the others, and nearly all of what is unacknowledged: 3 times 3 at least.
        ((5, 44), {"held": 10}, True), ((5, 45), {"held": 10}, False), ((5, 44), {"held": 9}, False),
    ],
)  # fmt: skip
def test_the_edges_of_a_hot_consumer(permits: tuple[int, int], more: dict[str, Any], found: bool) -> None:
    assert has(hot(*permits, **more), "hot_key") is found


def slow(
    held: int, *, out: int = 40, mine: int = 40, backlog: int = 100, before: int = 120, rest: int = 0, permits: int = 1
) -> Diagnosis:
    """Consumer a holds so many of the backlog; it was sent ``mine`` between the moments, and all were sent ``out``."""

    def at(sent: int, own: int, waiting: int) -> Stats:
        members = [
            consumer("a", msgOutCounter=own, unackedMessages=held, availablePermits=7),
            consumer("b", availablePermits=permits),
        ]
        members += [consumer("c", unackedMessages=rest)] if rest else []
        return stats("Shared", members, msgBacklog=waiting, unackedMessages=held + rest, msgOutCounter=sent)

    return two(at(200, 200, before), at(200 + out, 200 + mine, backlog))


def test_a_consumer_that_hoards() -> None:
    assert facts_of(slow(95), "slow_consumer") == expected(
        "slows", {"unacked": 95, "backlog": 100, "permits": 7, "acks_per_s": 2.0},
        "unackedMessages", "msgBacklog", "msgOutCounter", "availablePermits",
        blocked="b", by="a", waiting=100, setting=QUEUE,
    )  # fmt: skip
    assert "acks_per_s" not in facts_of(slow(95, before=100), "slow_consumer")["numbers"]
    assert "acks_per_s" not in facts_of(slow(95, before=90), "slow_consumer")["numbers"]


@pytest.mark.parametrize(
    ("held", "more", "found"),
    [
        (90, {}, True), (89, {}, False), (90, {"permits": 0}, False),
        # At least 20 while messages flow, one where they do not, and a quarter of what it was sent.
        (20, {"backlog": 20, "before": 20}, True), (19, {"backlog": 19, "before": 19}, False),
        (1, {"backlog": 1, "before": 1, "out": 0, "mine": 0}, True), (25, {"backlog": 25, "mine": 100}, True),
        (24, {"backlog": 24, "mine": 100}, False),
    ],
)  # fmt: skip
def test_the_edges_of_a_hoarder(held: int, more: dict[str, Any], found: bool) -> None:
    assert has(slow(held, **more), "slow_consumer") is found


def again(
    out: int, came_in: int, *, rate: float = 1.0, backlog: tuple[int, int] = (30, 30), unacked: tuple[int, int] = (0, 0)
) -> Diagnosis:
    def at(sent: int, into: int, waiting: int, held: int) -> Stats:
        members = [consumer("a", msgOutCounter=sent, unackedMessages=held), consumer("b")]
        return stats(
            "Shared", members, msgBacklog=waiting, msgOutCounter=sent, msgRateRedeliver=rate, unackedMessages=held,
            topic={"msgInCounter": into},
        )  # fmt: skip

    return two(at(0, 0, backlog[0], unacked[0]), at(out, came_in, backlog[1], unacked[1]))


def test_messages_that_go_out_again_and_again() -> None:
    # 100 went out for 20 that came in; before 25 were not yet sent, now 20: 5 of the 100 were those.
    assert facts_of(again(100, 20, rate=1.234, unacked=(5, 10)), "redelivery_loop") == expected(
        "slows", {"redelivered": 75, "redeliver_rate": 1.23, "out": 100, "in": 20, "backlog": 30},
        "msgRateRedeliver", "msgOutCounter", "msgInCounter", "msgBacklog",
        by="a", waiting=30, setting=("deadLetterPolicy (client)", None, None, ""),
    )  # fmt: skip
    # More unacknowledged than the backlog has entries: then nothing is unsent.
    assert facts_of(again(100, 20, unacked=(40, 50)), "redelivery_loop")["numbers"]["redelivered"] == 80


@pytest.mark.parametrize(
    ("out", "came_in", "rate", "found"),
    [
        (50, 41, 1.0, False), (50, 40, 1.0, True), (50, 39, 1.0, True), (51, 41, 1.0, False), (20, 10, 1.0, True),
        (20, 11, 1.0, False), (40, 20, 0.0, True), (40, 21, 0.0, False), (40, 21, 0.1, True),
    ],
)  # fmt: skip
def test_the_edges_of_redelivery(out: int, came_in: int, rate: float, found: bool) -> None:
    assert has(again(out, came_in, rate=rate), "redelivery_loop") is found


def over_quota(
    size: int, *, publishers: int = 0, came_in: int = 0, policy_: str = "producer_exception", limit: int = 1000
) -> Diagnosis:
    def at(into: int) -> Stats:
        topic = {
            "msgInCounter": 50 + into,
            "backlogSize": size,
            "backlogQuotaLimitSize": limit,
            "publishers": [{}] * publishers,
        }
        return stats("Shared", [consumer("a", msgOutCounter=40)], msgBacklog=10, msgOutCounter=40, topic=topic)

    return two(at(0), at(came_in), **{QUOTA: {"destination_storage": {"limitSize": limit, "policy": policy_}}})


def test_a_quota_keeps_producers_out() -> None:
    result = over_quota(1001)
    assert facts_of(result, "producer_side") == expected(
        "blocks", {"limit_bytes": 1000, "backlog_bytes": 1001, "publishers": 0, "backlog": 10},
        "backlogSize", "backlogQuotaLimitSize", "publishers", "backlogQuotaMap",
        waiting=10, setting=("backlogQuota", 1000, -1, "producer_exception"),
    )  # fmt: skip
    assert "set-backlog-quota -l 2000 -p producer_exception t/n" in result.causes[0].fix


@pytest.mark.parametrize(
    ("size", "more", "found"),
    [
        (1000, {}, False), (1001, {}, True), (1001, {"publishers": 1}, False), (1001, {"came_in": 1}, False),
        (2, {"limit": 1}, True), (2, {"limit": 0}, False),
    ],
)  # fmt: skip
def test_the_edges_of_a_quota(size: int, more: dict[str, Any], found: bool) -> None:
    assert has(over_quota(size, **more), "producer_side") is found


@pytest.mark.parametrize(("came_in", "skipped"), [(60, 0), (61, 11), (400, 350), (19, 0)])
def test_messages_that_were_thrown_away_unseen(came_in: int, skipped: int) -> None:
    # 40 went out and 10 of the backlog of 14 were not sent: what else came in was skipped, if it is more than 10.
    topic = {"msgInCounter": came_in, "backlogSize": 5, "backlogQuotaLimitSize": 1000}
    shown = stats("Shared", [consumer("a")], msgBacklog=14, unackedMessages=4, msgOutCounter=40, topic=topic)
    evicts = {QUOTA: {"destination_storage": {"limitSize": 1000, "policy": "consumer_backlog_eviction"}}}
    result = two(shown, shown, **evicts)
    assert has(result, "producer_side") is bool(skipped)
    if skipped:
        assert facts_of(result, "producer_side")["numbers"]["skipped"] == skipped


@pytest.mark.parametrize(("limit", "found"), [(0, False), (1, True), (30, True)])
def test_a_quota_of_time(limit: int, found: bool) -> None:
    shown = stats("Shared", [consumer("a")], msgBacklog=9, topic={"msgInCounter": 9, "publishers": []})
    diagnosis = two(shown, shown, **{QUOTA: {"message_age": {"limitTime": limit, "policy": "producer_exception"}}})
    assert has(diagnosis, "producer_side") is found
    if found:
        numbers = {"limit_s": limit, "publishers": 0, "backlog": 9}
        assert facts_of(diagnosis, "producer_side") == expected(
            "blocks", numbers, "publishers", "msgInCounter", "backlogQuotaMap",
            waiting=9, setting=("backlogQuota", limit, -1, "producer_exception"),
        )  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "out", "idle", "shrinks"),
    [
        (10, 10, 5, False, False), (20, 11, 5, False, True), (11, 11, 5, False, False), (10, 12, 5, False, False),
        (20, 11, 0, False, False), (20, 0, 5, True, False),
    ],
)  # fmt: skip
def test_what_is_fine(before: int, after: int, out: int, idle: bool, shrinks: bool) -> None:
    def at(waiting: int, sent: int) -> Stats:
        return stats("Shared", [consumer("a", msgOutCounter=sent)], msgBacklog=waiting, msgOutCounter=sent)

    result = two(at(before, 5), at(after, 5 + out))
    assert (has(result, "fine_idle"), has(result, "fine_catching_up")) == (idle, shrinks)
    if idle:
        assert facts_of(result, "fine_idle") == expected(
            "fine", {"backlog": after, "out": out}, "msgBacklog", "msgOutCounter", where=("", 1)
        )
    if shrinks:
        assert facts_of(result, "fine_catching_up") == expected(
            "fine", {"backlog": after, "backlog_growth": after - before}, "msgBacklog", "msgOutCounter",
            waiting=after, where=("", 1),
        )  # fmt: skip
        assert f"done in about {after * 10 / (before - after):,.0f} s" in result.causes[-1].what


def test_a_backlog_that_is_worked_off_as_fast_as_it_comes_in_is_on_its_way() -> None:
    def at(into: int) -> Stats:
        return stats(
            "Shared",
            [consumer("a", msgOutCounter=into)],
            msgBacklog=20,
            msgOutCounter=into,
            topic={"msgInCounter": into},
        )

    assert has(two(at(0), at(20)), "fine_keeping_up") is True
    assert has(two(at(0), at(19)), "fine_keeping_up") is False


@pytest.mark.parametrize(("ago_ms", "still"), [(10_000, None), (10_001, True), (0, None)])
def test_one_moment_says_who_was_not_served_for_ten_seconds(ago_ms: int, still: bool | None) -> None:
    at_ms = 1_795_340_880_000
    active = consumer("a", availablePermits=0, msgOutCounter=40, lastConsumedTimestamp=at_ms - ago_ms)
    result = of_stats(stats("Failover", [active], activeConsumerName="a", msgBacklog=9))
    assert has(result, "failover_active_no_permits") is bool(still)
    never = consumer("a", availablePermits=0, msgOutCounter=40)
    unsure = of_stats(stats("Failover", [never], activeConsumerName="a", msgBacklog=9))
    assert facts_of(unsure, "failover_active_no_permits")["verdict"] == "cannot_tell"


@pytest.mark.parametrize(
    ("read", "written", "unread"), [("5:101", "5:100", 0), ("5:100", "5:100", 1), ("5:90", "5:100", 11)]
)
def test_unread_is_what_the_cursor_has_before_it(read: str, written: str, unread: int) -> None:
    answers = {
        stats_path(): stats("Shared", [consumer("a", availablePermits=0)], msgBacklog=60),
        LEDGER: internal(read, written),
    }
    result = diagnosed(answers, answers)
    assert has(result, "no_permits") is bool(unread)
    if unread:
        assert facts_of(result, "no_permits")["numbers"]["unread"] == unread


def test_without_a_cursor_unread_is_what_neither_waits_nor_is_held_nor_comes_later() -> None:
    shown = stats(
        "Shared", [consumer("a", availablePermits=0)], msgBacklog=60, unackedMessages=20, msgInReplay=5, msgDelayed=7
    )
    assert facts_of(two(shown, shown), "no_permits")["numbers"]["unread"] == 28
    more = stats("Shared", [consumer("a", availablePermits=0)], msgBacklog=60, unackedMessages=61)
    assert has(two(more, more), "no_permits") is False


def test_topics_of_brokers_themselves_are_left_out() -> None:
    shown = stats("Shared", [], msgBacklog=3)
    paths = [
        f"admin/v2/persistent/t/n/{name}/stats" for name in ("__change_events", "__transaction_buffer_snapshot", "x")
    ]
    result = diagnosed(dict.fromkeys(paths, shown))
    assert (result.topics, result.causes[0].topic) == (1, TOPIC)


def test_what_one_moment_of_redelivery_says() -> None:
    """A consumer that holds nothing refused nothing now, and is not named."""
    result = of_stats(
        stats(
            "Shared", [consumer("a", unackedMessages=5), consumer("b")], msgRateRedeliver=20.1259, msgRateOut=100.0071,
            msgBacklog=7,
        )
    )  # fmt: skip
    assert facts_of(result, "redelivery_loop") == expected(
        "cannot_tell", {"redeliver_rate": 20.13, "out_rate": 100.01, "backlog": 7},
        "msgRateRedeliver", "msgRateOut", "msgBacklog",
        by="a", waiting=7, setting=("deadLetterPolicy (client)", None, None, ""),
    )  # fmt: skip
    (cause,) = (cause for cause in result.causes if cause.id == "redelivery_loop")
    assert cause.fix
