"""What is 0 or not known beside what is known: counters begun anew, topics that add nothing, moments without a time."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs
from msgspec.structs import replace

from engine.diagnosis.causes.pace import catching_up
from engine.diagnosis.model import Cause, Diagnosis
from engine.diagnosis.seen import Dispatcher, SubscriptionSeen, subscriptions_seen
from tests.engine.diagnosis.answers import Stats, consumer, diagnosed, moments, of_stats, stats, stats_path
from tests.engine.diagnosis.test_decider_facts import QUOTA, facts_of, two

AT_MS = 1_795_340_880_000
"""Later than any moment of these answers: who was served then is served still."""


def ids(diagnosis: Diagnosis) -> list[str]:
    return [cause.id for cause in diagnosis.causes]


def apart(first: Stats, second: Stats, tens: int) -> Diagnosis:
    """Two moments so many tens of seconds apart: others between them show nothing of the topic."""
    return diagnosed({stats_path(): first}, *[{}] * (tens - 1), {stats_path(): second})


def shared(out: int, waiting: int, into: int = 0, **more: Any) -> Stats:
    members = [consumer("a", msgOutCounter=out), consumer("b")]
    return stats("Shared", members, msgBacklog=waiting, msgOutCounter=out, topic={"msgInCounter": into}, **more)


def test_speeds_have_one_digit_after_the_point() -> None:
    def limited(out: int) -> Stats:
        return shared(out, 50, dispatchThrottledMsgEventsByTopicLimit=1 + out)

    assert facts_of(apart(limited(0), limited(100), 3), "dispatch_rate_limited")["numbers"]["out_per_s"] == 3.3

    def hoarded(waiting: int) -> Stats:
        members = [consumer("a", unackedMessages=95), consumer("b")]
        return stats("Shared", members, msgBacklog=waiting, unackedMessages=95)

    assert facts_of(apart(hoarded(120), hoarded(100), 3), "slow_consumer")["numbers"]["acks_per_s"] == 0.7
    assert facts_of(apart(hoarded(101), hoarded(100), 1), "slow_consumer")["numbers"]["acks_per_s"] == 0.1


def test_a_topic_that_was_loaded_anew_has_no_speed() -> None:
    before, after = shared(100, 50), shared(40, 50, dispatchThrottledMsgEventsByTopicLimit=4)
    assert facts_of(two(before, after), "dispatch_rate_limited")["numbers"] == {
        "throttle_events": 4, "backlog": 50, "backlog_growth": 0,
    }  # fmt: skip


def test_topics_that_get_nothing_add_nothing_to_what_came_in() -> None:
    def fine(of_first: int, waiting: int) -> bool:
        def at(into: int, left: int) -> dict[str, Stats]:
            rest = {stats_path(part): shared(5, 0, 7) for part in range(1, 12)}
            return {stats_path(0): shared(into, left, into), **rest}

        return "fine_keeping_up" in ids(diagnosed(at(0, 0), at(of_first, waiting)))

    # A tenth of what came in may wait: 11 of 110, but not of 100.
    assert (fine(100, 11), fine(109, 11), fine(110, 11)) == (False, False, True)


def test_a_topic_that_sends_nothing_and_one_that_does_not_shrink_add_nothing() -> None:
    still = {stats_path(1): shared(5, 0)}
    result = diagnosed({stats_path(0): shared(5, 9), **still}, {stats_path(0): shared(6, 8), **still})
    assert facts_of(result, "fine_keeping_up")["numbers"] == {"backlog": 8, "out": 1}
    assert facts_of(result, "fine_catching_up")["numbers"] == {"backlog": 8, "backlog_growth": -1}


def test_what_is_left_takes_as_long_as_the_longest_time_between_moments_says() -> None:
    first, second = {stats_path(0): shared(5, 40)}, {stats_path(1): shared(5, 40)}
    last = {stats_path(0): shared(15, 30), stats_path(1): shared(15, 30)}
    # 20 fewer in 20 s for the one of them, in 10 s for the other.
    cause = next(cause for cause in diagnosed(first, second, last).causes if cause.id == "fine_catching_up")
    assert " 60 s" in cause.what


def seen_of(*answers: Stats) -> SubscriptionSeen:
    (seen,) = subscriptions_seen(moments(*({stats_path(): answer} for answer in answers)))
    return seen


def without_time(each: Dispatcher, *, last: bool) -> Dispatcher:
    assert each.before is not None
    if last:
        return Dispatcher(structs.replace(each.last, at_ms=None), each.before)
    return Dispatcher(each.last, structs.replace(each.before, at_ms=None))


@pytest.mark.parametrize("last", [False, True])
def test_moments_without_a_time_have_no_distance(last: bool) -> None:
    seen = seen_of(shared(5, 40), shared(15, 30))
    assert seen.dispatchers[0].seconds == 10.0
    timeless = replace(seen, dispatchers=tuple(without_time(dispatcher, last=last) for dispatcher in seen.dispatchers))
    assert timeless.dispatchers[0].seconds is None
    result = catching_up(timeless)
    assert isinstance(result, Cause)
    assert "done in" not in result.what


def hot(*members: Stats, out: int, **sub: Any) -> Stats:
    return stats("Key_Shared", members, msgInReplay=4, msgBacklog=60, msgOutCounter=out, **sub)


def test_a_consumer_that_has_just_come_has_no_share_yet() -> None:
    def busy(name: str, out: int) -> Stats:
        return consumer(name, msgOutCounter=out, availablePermits=0, lastConsumedTimestamp=AT_MS)

    calm = [consumer("c"), consumer("d")]
    result = two(hot(busy("a", 10), *calm, out=40), hot(busy("a", 30), busy("b", 5), *calm, out=80))
    cause = facts_of(result, "hot_key")
    assert (cause["by"], cause["numbers"]["share_of_out"]) == ("ab", 0.5)
    once = facts_of(of_stats(hot(busy("a", 10), *calm, out=10)), "hot_key")
    assert (once["by"], "share_of_out" in once["numbers"]) == ("a", False)


@pytest.mark.parametrize(("mine", "others", "found"), [(50, 50, True), (49, 51, False)])
def test_half_of_what_is_unacknowledged_is_enough_to_hoard(mine: int, others: int, found: bool) -> None:
    members = [consumer("a", unackedMessages=mine), consumer("b", unackedMessages=others // 2), consumer("c")]
    members.append(consumer("d", unackedMessages=others - others // 2))
    shown = stats("Shared", members, msgBacklog=100, unackedMessages=100)
    assert ("slow_consumer" in ids(two(shown, shown))) is found


@pytest.mark.parametrize(("name", "kept"), [("msgOutCounter", False), ("msgInCounter", False), ("none", True)])
def test_without_both_counters_nothing_is_known_to_be_skipped(name: str, kept: bool) -> None:
    topic = {"msgInCounter": 900, "backlogSize": 5, "backlogQuotaLimitSize": 1000}
    shown = stats("Shared", [consumer("a")], msgOutCounter=40, topic=topic)
    shown.pop(name, None)
    shown["subscriptions"]["s"].pop(name, None)
    evicts = {QUOTA: {"destination_storage": {"limitSize": 1000, "policy": "consumer_backlog_eviction"}}}
    assert ("producer_side" in ids(two(shown, shown, **evicts))) is kept


def test_within_the_quota_nobody_is_kept_out_whatever_never_went_out() -> None:
    topic = {"msgInCounter": 900, "backlogSize": 5, "backlogQuotaLimitSize": 1000, "publishers": []}
    shown = stats("Shared", [consumer("a")], msgOutCounter=40, topic=topic)
    refuses = {QUOTA: {"destination_storage": {"limitSize": 1000, "policy": "producer_exception"}}}
    assert "producer_side" not in ids(two(shown, shown, **refuses))


@pytest.mark.parametrize(
    ("came_in", "unread", "all_read"), [(0, 2, True), (0, 3, False), (79, 3, True), (59, 3, False)]
)
def test_a_twentieth_of_what_came_in_may_be_unread(came_in: int, unread: int, all_read: bool) -> None:
    (result,) = seen_of(shared(0, unread, 0), shared(0, unread, came_in)).dispatchers
    assert result.has_read_all is all_read


def test_a_limit_that_is_no_number_is_none() -> None:
    runtime = {"admin/v2/brokers/configuration/runtime": {"maxUnackedMessagesPerConsumer": "many"}}
    stopped = consumer("a", blockedConsumerOnUnackedMsgs=True, unackedMessages=7)
    shown = stats("Shared", [stopped, consumer("b")], msgBacklog=9, unackedMessages=7)
    assert facts_of(two(shown, shown, **runtime), "consumer_unacked_limit")["numbers"]["limit"] == 0
