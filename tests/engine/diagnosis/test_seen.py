"""A dispatcher as it was seen: when it is quiet, who owns a slot, what was loaded anew, and what stands still."""

from __future__ import annotations

from typing import Any

import pytest

from engine.config import CURRENT
from engine.diagnosis.seen import Dispatcher, SubscriptionSeen, parent_of, subscriptions_seen
from engine.diagnosis.why import DECIDERS, diagnose
from tests.engine.diagnosis.answers import TOPIC, Stats, consumer, internal, moments, stats, stats_path
from tests.engine.diagnosis.test_decider_facts import LEDGER


def dispatcher(*answers: Stats, **more: Any) -> Dispatcher:
    (seen,) = subscriptions_seen(moments(*({stats_path(): answer, **more} for answer in answers)))
    (result,) = seen.dispatchers
    return result


@pytest.mark.parametrize(
    ("of_subscription", "of_consumer", "quiet"),
    [
        ({}, {}, True), ({"msgBacklog": 1}, {}, False), ({"unackedMessages": 1}, {}, False),
        ({"msgInReplay": 1}, {}, False), ({"msgDelayed": 1}, {}, False),
        ({"blockedSubscriptionOnUnackedMsgs": True}, {}, False), ({}, {"blockedConsumerOnUnackedMsgs": True}, False),
        ({}, {"unackedMessages": 1}, False), ({}, {"drainingHashes": [{"hash": 1}]}, False),
        ({}, {"availablePermits": 0}, True),
    ],
)  # fmt: skip
def test_anything_that_waits_or_is_stopped_makes_it_busy(
    of_subscription: dict[str, Any], of_consumer: dict[str, Any], quiet: bool
) -> None:
    members = [consumer("a"), consumer("b", **of_consumer), consumer("c")]
    assert dispatcher(stats("Key_Shared", members, **of_subscription)).is_quiet is quiet


@pytest.mark.parametrize(("read", "quiet"), [("5:101", True), ("5:100", False)])
def test_what_a_cursor_has_not_read_makes_it_busy(read: str, quiet: bool) -> None:
    assert dispatcher(stats("Shared", [consumer("a")]), **{LEDGER: internal(read, "5:100")}).is_quiet is quiet


def test_the_first_of_the_largest_backlogs_counts() -> None:
    answers = {stats_path(index): stats("Shared", [], msgBacklog=waiting) for index, waiting in enumerate((3, 9, 9, 1))}
    (seen,) = subscriptions_seen(moments(answers))
    assert seen.largest is seen.dispatchers[1]
    assert (seen.backlog, len(seen.busy)) == (22, 4)


@pytest.mark.parametrize(
    ("slot", "owner"), [(9, None), (10, "a"), (20, "a"), (21, None), (30, "b"), (31, None)]
)  # fmt: skip
def test_both_ends_of_a_range_belong_to_it(slot: int, owner: str | None) -> None:
    members = [consumer("a", keyHashRangeArrays=[[10, 20]]), consumer("b", keyHashRangeArrays=[[30, 30]])]
    result = dispatcher(stats("Key_Shared", members)).consumer_at(slot)
    assert (result.name if result else None) == owner


@pytest.mark.parametrize(
    ("before", "after", "restarted"),
    [
        ((5, 5), (5, 5), False), ((5, 5), (4, 5), True), ((5, 5), (5, 4), True), ((5, 5), (6, 6), False),
        ((None, 5), (1, 6), False),
    ],
)  # fmt: skip
def test_a_counter_that_falls_was_begun_anew(
    before: tuple[int | None, int], after: tuple[int, int], restarted: bool
) -> None:
    def at(into: int | None, out: int) -> Stats:
        outcome = stats("Shared", [consumer("a", msgOutCounter=out)], msgOutCounter=out)
        return {name: value for name, value in {**outcome, "msgInCounter": into}.items() if value is not None}

    result = dispatcher(at(*before), at(*after))
    assert result.restarted is restarted
    assert (result.out is None) is restarted
    assert result.seconds == 10.0


@pytest.mark.parametrize(("counters", "still"), [((0, 0), True), ((0, None), None), ((0, 0, 0), True)])
def test_one_moment_stands_still_where_everybody_does(counters: tuple[int | None, ...], still: bool | None) -> None:
    members = [consumer(f"c{at}", msgOutCounter=count) for at, count in enumerate(counters)]
    assert dispatcher(stats("Shared", members)).stands_still is still
    served = consumer("z", msgOutCounter=4, lastConsumedTimestamp=1_795_340_880_000)
    assert dispatcher(stats("Shared", [consumer("a"), served])).stands_still is False
    assert dispatcher(stats("Shared", [])).stands_still is True


@pytest.mark.parametrize(("now", "before", "lacks"), [(0, 0, True), (1, 0, False), (0, 1, False), (-1, -1, True)])
def test_permits_are_lacking_where_they_were_at_both_moments(now: int, before: int, lacks: bool) -> None:
    result = dispatcher(*(stats("Shared", [consumer("a", availablePermits=each)]) for each in (before, now)))
    assert result.consumers[0].lacks_permits is lacks


def test_every_decider_is_a_cause_or_is_ruled_out_with_a_reason() -> None:
    (seen,) = subscriptions_seen(moments({stats_path(): stats("Shared", [consumer("a")], msgBacklog=50)}))
    diagnosis = diagnose(seen)
    named = [cause.id for cause in diagnosis.causes] + [each.id for each in diagnosis.ruled_out]
    assert sorted(named) == sorted([*(decider.id for decider in DECIDERS), "waits_unexplained"])
    assert all(each.why for each in diagnosis.ruled_out)


def test_a_cursor_of_somebody_else_does_not_say_what_is_unread() -> None:
    answer = internal("5:101", "5:100")
    answer["cursors"] = {"other": answer["cursors"]["s"]}
    assert dispatcher(stats("Shared", [consumer("a")], msgBacklog=7), **{LEDGER: answer}).unread == 7


def test_the_last_suffix_makes_a_partition() -> None:
    assert parent_of("persistent://t/n/x-partition-3-partition-0") == "persistent://t/n/x-partition-3"
    assert parent_of("persistent://t/n/x-partition-3-partition-") == "persistent://t/n/x-partition-3-partition-"


LOADED = "admin/v2/broker-stats/topics"


def listed(*topics: str, waiting: int = 0, out: int = 0) -> dict[str, Any]:
    """What a broker's list of loaded topics says of these."""
    shown = stats("Shared", [], msgBacklog=waiting, msgOutCounter=out)
    return {LOADED: {"t/n": {"0x00000000_0xffffffff": {"persistent": dict.fromkeys(topics, shown)}}}}


def only(*answers: dict[str, Any]) -> SubscriptionSeen:
    return next(each for each in subscriptions_seen(moments(*answers)) if TOPIC in each.topics)


@pytest.mark.parametrize(
    ("loaded", "known", "unloaded"),
    [((), True, False), (("y",), True, True), (("x", "y"), True, False), (("y",), False, False)],
)
def test_a_topic_is_unloaded_where_a_broker_s_list_lacks_what_another_answer_names(
    loaded: tuple[str, ...], known: bool, unloaded: bool
) -> None:
    names = [f"persistent://t/n/{name}" for name in loaded]
    later = listed(*names) if names else {}
    later |= {"admin/v2/persistent/t/n": [TOPIC] if known else ["persistent://t/n/z"]}
    result = only({stats_path(): stats("Shared", [], msgBacklog=4)}, later)
    assert (TOPIC in result.unloaded) is unloaded


def test_statistics_count_more_than_a_later_list_of_loaded_topics() -> None:
    first, last = ({stats_path(): stats("Shared", [], msgBacklog=7, msgOutCounter=out)} for out in (5, 9))
    (result,) = only(first, listed(TOPIC, waiting=1), last).dispatchers
    assert (result.out, result.seconds, result.backlog) == (4, 20.0, 7)
    (result,) = only(first, last, listed(TOPIC, waiting=1)).dispatchers
    assert (result.out, result.seconds, result.backlog) == (4, 10.0, 7)
    (result,) = only(listed(TOPIC, out=3), listed(TOPIC, out=4, waiting=1)).dispatchers
    assert (result.out, result.backlog) == (1, 1)


VERSION = "admin/v2/brokers/version"


@pytest.mark.parametrize(
    ("version", "knows_ring"), [("4.0.0", False), ("4.2.4", True), ("nightly", True), (None, True)]
)
def test_rules_are_those_of_the_release_or_of_the_newest_known(version: str | None, knows_ring: bool) -> None:
    shown = {stats_path(): stats("Failover", [consumer("a")])}
    result = only({**shown, **({VERSION: version} if version else {})}, shown)
    assert result.behaviour.knows_failover_consistent_hashing is knows_ring
    assert (result.behaviour is CURRENT) is (version in ("nightly", None))
