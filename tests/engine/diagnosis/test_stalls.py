"""Stalls that only two moments, a cursor or an old shape show, each beside what looks alike and is something else."""

from __future__ import annotations

from typing import Any

import pytest

from engine.diagnosis.model import Diagnosis
from engine.diagnosis.producing import hot_partitions
from tests.engine.diagnosis.answers import Stats, consumer, diagnosed, moments, of_stats, stats, stats_path

INTERNAL = "admin/v2/persistent/t/n/x/internalStats"
AT_MS = 1_795_340_880_000
"""2026-11-22 09:48:00 UTC, the first of the moments of ``diagnosed``."""


def ids(diagnosis: Diagnosis) -> list[str]:
    return [cause.id for cause in diagnosis.causes]


def cursor(read: str, written: str, marked: str = "5:9", **flags: Any) -> Stats:
    shown = {"readPosition": read, "markDeletePosition": marked, "active": True, **flags}
    return {"entriesAddedCounter": 1, "lastConfirmedEntry": written, "cursors": {"s": shown}}


def waiting(type_: str, into: int, *, names: str = "ab", out: int = 40, **more: Any) -> Stats:
    """Consumers with permits, and messages that only pile up."""
    members = more.pop("consumers", None) or [consumer(name, msgOutCounter=20) for name in names]
    counts = {"msgOutCounter": out, "msgBacklog": 100 + into, "unackedMessages": 0, "msgDelayed": 0, "msgInReplay": 0}
    fixed = {"blockedSubscriptionOnUnackedMsgs": False, **counts}
    return stats(type_, members, topic={"msgInCounter": into}, **{**fixed, **more})


FLAGS = {"subscriptionHavePendingRead": True, "waitingReadOp": False, "pendingReadOps": 0}


@pytest.mark.parametrize(("type_", "names"), [("Shared", "abc"), ("Key_Shared", "ab"), ("Exclusive", "a")])
@pytest.mark.parametrize(
    ("flags", "symptom"),
    [
        (FLAGS, "read-without-cursor"),
        ({**FLAGS, "subscriptionHavePendingRead": False}, "nobody-reads"),
        ({**FLAGS, "waitingReadOp": True}, "read-waits-behind"),
        ({**FLAGS, "pendingReadOps": 1}, "storage-read"),
        ({"waitingReadOp": False, "pendingReadOps": 0}, ""),
        ({"waitingReadOp": False, "pendingReadOps": 1}, "storage-read"),
    ],
)
def test_consumers_ask_and_nothing_goes_out(type_: str, names: str, flags: dict[str, Any], symptom: str) -> None:
    def at(into: int) -> dict[str, Stats]:
        return {
            stats_path(): waiting(type_, into, names=names),
            INTERNAL: cursor("5:10", f"5:{109 + into}", **flags),
        }

    result = diagnosed(at(0), at(30))
    first = result.causes[0]
    assert (first.id, first.verdict.value, first.symptom) == ("dispatcher_stalled", "blocks", symptom)
    assert (first.blocked, first.number("unread"), first.number("in"), first.number("out")) == (
        tuple(names),
        130,
        30,
        0,
    )
    assert "topics unload" in first.fix
    assert {*flags} & {*first.fields} == ({*flags} if symptom else set())
    assert "subscriptionHavePendingRead" in flags or "subscriptionHavePendingRead" not in first.fields
    (once,) = diagnosed(at(30)).causes[:1]
    assert once.verdict.value == "cannot_tell" and "unload" not in once.fix


@pytest.mark.parametrize(
    "changed",
    [
        {"out": 41},
        {"blockedSubscriptionOnUnackedMsgs": True},
        {"msgBacklog": 30, "unackedMessages": 30},
        {"msgDelayed": 130},
        {"dispatchThrottledMsgEventsByTopicLimit": 9},
        {"consumers": [consumer("a", availablePermits=0, msgOutCounter=20)]},
        {"consumers": [consumer("a", blockedConsumerOnUnackedMsgs=True, msgOutCounter=20)]},
    ],
)
def test_what_looks_like_a_stall_and_has_another_cause(changed: dict[str, Any]) -> None:
    before = waiting("Shared", 0, **{name: value for name, value in changed.items() if name == "consumers"})
    assert "dispatcher_stalled" in ids(of_stats(waiting("Shared", 0), waiting("Shared", 30)))
    assert "dispatcher_stalled" not in ids(of_stats(before, waiting("Shared", 30, **changed)))


@pytest.mark.parametrize("member", ["blockedSubscriptionOnUnackedMsgs", "unackedMessages", "msgDelayed"])
def test_a_stall_is_not_concluded_from_what_is_missing(member: str) -> None:
    def at(into: int) -> Stats:
        shown = waiting("Shared", into)
        del shown["subscriptions"]["s"][member]
        return shown

    assert "dispatcher_stalled" not in ids(of_stats(at(0), at(30)))


def test_what_follows_an_open_transaction_waits_for_its_end() -> None:
    def at(into: int) -> Stats:
        return {**waiting("Shared", into), "ongoingTxnCount": 1}

    (first, *_) = of_stats(at(0), at(30)).causes
    assert (first.id, first.verdict.value) == ("dispatcher_stalled", "cannot_tell")


def joining(into: int, **more: Any) -> Stats:
    holder = consumer("a", unackedMessages=4, msgOutCounter=20, readPositionWhenJoining="5:3")
    listed = {"b": "5:14", "gone": "5:15"}
    more = {"consumersAfterMarkDeletePosition": listed, "allowOutOfOrderDelivery": False, "unackedMessages": 4, **more}
    members = [holder, consumer("b", readPositionWhenJoining="5:14"), consumer("c", readPositionWhenJoining="5:2")]
    return waiting("Key_Shared", into, consumers=members, keySharedMode="AUTO_SPLIT", **more)


def test_a_consumer_that_joined_waits_for_what_was_sent_before() -> None:
    first = of_stats(joining(0), joining(30)).causes[0]
    assert (first.id, first.verdict.value) == ("keyshared_recently_joined", "blocks")
    assert (first.blocked, first.by, first.waiting) == (("b",), ("a",), 126)
    assert (first.number("joined_at_b"), first.number("unacked")) == ("5:14", 4)
    assert "dispatcher_stalled" not in ids(of_stats(joining(0), joining(30)))


@pytest.mark.parametrize(
    "changed", [{"out": 50}, {"allowOutOfOrderDelivery": True}, {"msgBacklog": 4}, {"msgDelayed": 126}]
)
def test_a_consumer_that_joined_and_waits_for_nothing(changed: dict[str, Any]) -> None:
    assert "keyshared_recently_joined" not in ids(of_stats(joining(0), joining(30, **changed)))


@pytest.mark.parametrize(("rate", "verdict"), [(0.0, "cannot_tell"), (9.5, "blocks")])
def test_an_old_shape_shows_how_order_is_kept(rate: float, verdict: str) -> None:
    def member(name: str, permits: int, unacked: int) -> Stats:
        return {"consumerName": name, "availablePermits": permits, "unackedMessages": unacked}

    members = [member("a", 600, 0), member("b", 998, 1)]
    shown: Stats = {"msgBacklog": 51, "unackedMessages": 1, "msgDelayed": 0, "type": "Key_Shared", "consumers": members}
    shown |= {"msgRateOut": 0.0, "blockedSubscriptionOnUnackedMsgs": False}
    first = of_stats({"msgRateIn": rate, "publishers": [], "subscriptions": {"s": shown}}).causes[0]
    assert (first.id, first.verdict.value) == ("keyshared_recently_joined", verdict)
    assert (first.by, first.blocked, first.number("waiting")) == (("b",), ("a",), 50)
    shown["consumers"] = [{**each, "drainingHashesCount": 0} for each in members]
    later = of_stats({"msgRateIn": rate, "publishers": [], "subscriptions": {"s": shown}})
    assert "keyshared_recently_joined" not in ids(later)


def held(type_: str, at_ms: int, *, sent_ms: int, acked_ms: int | None, into: int, backlog: int, **more: Any) -> Stats:
    """A consumer that was sent everything. Times are seconds before ``at_ms``."""
    times = {
        "lastConsumedTimestamp": at_ms - sent_ms,
        "lastAckedTimestamp": 0 if acked_ms is None else at_ms - acked_ms,
    }
    member = consumer("a", msgOutCounter=into, availablePermits=1000 - into, **times)
    shown: Stats = {"msgBacklog": backlog, "msgOutCounter": into, "msgDelayed": 0, "unackedMessages": 0, **times}
    if type_ in ("Shared", "Key_Shared"):
        member["unackedMessages"] = shown["unackedMessages"] = backlog
    else:
        shown["activeConsumerName"] = "a"
    topic = {"msgInCounter": into, "lastPublishTimeStamp": at_ms - sent_ms - 5}
    return stats(type_, [member], topic=topic, **{**shown, **more})


@pytest.mark.parametrize("type_", ["Shared", "Key_Shared", "Failover", "Exclusive"])
def test_a_client_that_receives_and_never_acknowledges(type_: str) -> None:
    first = of_stats(
        held(type_, AT_MS, sent_ms=100, acked_ms=None, into=20, backlog=20),
        held(type_, AT_MS + 10_000, sent_ms=100, acked_ms=None, into=50, backlog=50),
    ).causes[0]
    assert (first.id, first.verdict.value) == ("sent_not_acknowledged", "blocks")
    assert (first.by, first.number("held"), first.number("permits")) == (("a",), 50, 950)


@pytest.mark.parametrize("type_", ["Shared", "Failover", "Exclusive"])
@pytest.mark.parametrize(
    ("sent_ms", "acked_ms", "found"),
    [(61_000, 90_000, True), (90_000, 61_000, True), (59_000, 90_000, False), (90_000, 59_000, False)],
)
def test_one_moment_shows_for_how_long_nothing_was_acknowledged(
    type_: str, sent_ms: int, acked_ms: int, found: bool
) -> None:
    result = of_stats(held(type_, AT_MS, sent_ms=sent_ms, acked_ms=acked_ms, into=20, backlog=3))
    if found:
        first = result.causes[0]
        assert (first.id, first.verdict.value, first.number("held_for_s")) == ("sent_not_acknowledged", "blocks", 61)
    else:
        assert [cause.verdict.value for cause in result.causes] == ["cannot_tell"]


def test_messages_that_were_published_later_are_not_in_anybodys_hands() -> None:
    shown = held("Failover", AT_MS, sent_ms=61_000, acked_ms=90_000, into=20, backlog=3)
    assert ids(of_stats(shown)) == ["sent_not_acknowledged"]
    shown["lastPublishTimeStamp"] = AT_MS - 60_000
    assert "sent_not_acknowledged" not in ids(of_stats(shown))
    shown["lastPublishTimeStamp"] = AT_MS - 63_000  # it may be one of many that were published before
    assert "sent_not_acknowledged" not in ids(of_stats(shown))


def test_a_cursor_at_the_end_has_nothing_left() -> None:
    shown = held("Failover", AT_MS, sent_ms=61_000, acked_ms=90_000, into=20, backlog=1)
    assert ids(diagnosed({stats_path(): shown, INTERNAL: cursor("5:10", "5:9", "5:8")})) == ["sent_not_acknowledged"]
    assert ids(diagnosed({stats_path(): shown, INTERNAL: cursor("5:10", "5:9", "5:9")})) == ["fine_idle"]


def partitions(served: int, lost: int, backlog: int = 70) -> dict[str, Stats]:
    return {
        stats_path(number): stats(
            "Failover",
            [consumer("a"), consumer("b")] if number < served else [],
            msgBacklog=0 if number < served else backlog,
            activeConsumerName="a",
            topic={"msgInCounter": 9},
            lastConsumedTimestamp=AT_MS,
        )
        for number in range(served + lost)
    }


def test_partitions_that_lost_their_consumer() -> None:
    first = diagnosed(partitions(5, 2)).causes[0]
    assert (first.id, first.verdict.value, first.topics) == ("consumer_lost_partitions", "blocks", 2)
    assert (first.by, first.waiting, first.number("lost")) == (("a", "b"), 140, "5, 6")
    assert first.number("last_sent_ms") == AT_MS
    assert "skip-all" not in first.fix and "no_consumers" not in ids(diagnosed(partitions(5, 2)))


def test_a_subscription_that_nobody_uses_lost_nothing() -> None:
    assert ids(diagnosed(partitions(0, 2)))[0] == "no_consumers"
    assert "consumer_lost_partitions" not in ids(diagnosed(partitions(5, 2, backlog=0)))


SILENT = {"availablePermits": 0, "firstConsumedFlowTimestamp": 0, "lastConsumedFlowTimestamp": 0}


@pytest.mark.parametrize("type_", ["Shared", "Key_Shared", "Exclusive", "Failover"])
def test_a_consumer_that_never_asked_this_broker(type_: str) -> None:
    shown = stats(type_, [consumer("a", **SILENT)], msgBacklog=30, activeConsumerName="a", topic={"msgInCounter": 4})
    first = of_stats(shown).causes[0]
    assert (first.id, first.verdict.value) == ("consumer_never_asked", "blocks")
    assert (first.by, first.number("permits"), first.waiting) == (("a",), 0, 30)


@pytest.mark.parametrize(
    "changed",
    [
        {"firstConsumedFlowTimestamp": 8},
        {"firstConsumedFlowTimestamp": None},
        {"availablePermits": 1},
        {"msgOutCounter": 1},
    ],
)
def test_a_consumer_that_has_asked(changed: dict[str, Any]) -> None:
    member = consumer("a", **{**SILENT, "lastConsumedFlowTimestamp": 8, **changed})
    assert "consumer_never_asked" not in ids(of_stats(stats("Shared", [member], msgBacklog=30)))


def test_one_of_several_consumers_never_asked() -> None:
    shown = stats("Shared", [consumer("a", **SILENT), consumer("b")], msgBacklog=30, topic={"msgInCounter": 30})
    causes = {cause.id: cause.verdict.value for cause in of_stats(shown).causes}
    assert causes["consumer_never_asked"] == "uneven"


def prefetched(connected: str, unacked: int, out: int = 400) -> Stats:
    holder = consumer(
        "a", unackedMessages=unacked, msgOutCounter=400, lastConsumedTimestamp=AT_MS - 5_000, messageAckRate=2.0
    )
    late = consumer("b", connectedSince=connected, lastConsumedTimestamp=0)
    shown = {"msgBacklog": unacked, "unackedMessages": unacked, "msgOutCounter": out, "messageAckRate": 2.0}
    return stats("Shared", [holder, late], topic={"msgInCounter": out}, **shown)


@pytest.mark.parametrize(("unacked", "verdict"), [(300, "uneven"), (15, "by_design"), (0, "by_design")])
def test_a_newcomer_finds_everything_prefetched(unacked: int, verdict: str) -> None:
    result = of_stats(prefetched("2026-11-22T09:47:55.700000001Z", unacked))
    (cause,) = (cause for cause in result.causes if cause.id == "newcomer_gets_nothing")
    assert (cause.verdict.value, cause.blocked, cause.by) == (verdict, ("b",), ("a",))
    assert (cause.number("held"), cause.number("connected_after_ms"), cause.number("sent_to_a")) == (unacked, 700, 400)
    if unacked:
        assert cause.number("drain_s") == round(unacked / 2)


@pytest.mark.parametrize("connected", ["2026-11-22T09:47:54Z", "2026-11-22T09:47:55.7", ""])
def test_a_consumer_that_was_there_before_is_no_newcomer(connected: str) -> None:
    assert "newcomer_gets_nothing" not in ids(of_stats(prefetched(connected, 300)))


def slow(type_: str, into: int, out: int, acked_ms: int, **more: Any) -> Stats:
    times = {"lastAckedTimestamp": acked_ms, "lastConsumedTimestamp": AT_MS - 20_000}
    member = consumer("a", availablePermits=0, msgOutCounter=out, **times)
    shown = {"msgBacklog": 500 + into, "msgOutCounter": out, "activeConsumerName": "a", **times, **more}
    return stats(type_, [member], topic={"msgInCounter": into}, **shown)


@pytest.mark.parametrize("type_", ["Shared", "Key_Shared", "Failover", "Exclusive"])
def test_slow_is_not_stuck(type_: str) -> None:
    result = of_stats(slow(type_, 0, 20, AT_MS), slow(type_, 200, 20, AT_MS + 9_000, msgBacklog=600))
    first = result.causes[0]
    assert (first.id, first.verdict.value) == ("slow_consumer", "slows")
    assert (first.number("acks_per_s"), first.number("in_per_s"), first.number("drain_s")) == (10.0, 20.0, 60)
    stuck = of_stats(slow(type_, 0, 20, AT_MS), slow(type_, 200, 20, AT_MS))
    assert "slow_consumer" not in ids(stuck) and stuck.causes[0].verdict.value == "blocks"


@pytest.mark.parametrize(("came", "found"), [(43.3, True), (3.5, False)])
def test_the_rates_of_one_moment_show_a_slow_consumer(came: float, found: bool) -> None:
    rates = {"messageAckRate": 3.45}
    member = consumer("a", availablePermits=0, unackedMessages=100, msgOutCounter=200, **rates)
    counts = {"msgBacklog": 1000, "unackedMessages": 100, "msgOutCounter": 200}
    result = of_stats(stats("Shared", [member], topic={"msgRateIn": came}, **counts, **rates))
    assert ("slow_consumer" in ids(result)) is found
    assert "no_permits" not in ids(result)
    assert not found or result.causes[0].number("drain_s") == round(1000 / 3.45)


def keyed(per_entry: int, out: int) -> Stats:
    ranges = {"a": [[0, 32767]], "b": [[32768, 65535]]}
    members = [
        consumer(name, msgOutCounter=out if name == "a" else 0, avgMessagesPerEntry=per_entry,
                 keyHashRangeArrays=ranges[name])
        for name in "ab"
    ]  # fmt: skip
    shown = {"msgOutCounter": out, "msgBacklog": 0, "msgInReplay": 0, "keySharedMode": "AUTO_SPLIT"}
    return stats("Key_Shared", members, topic={"msgInCounter": out}, **shown)


@pytest.mark.parametrize(("per_entry", "cause"), [(1, "keyshared_few_keys"), (40, "keyshared_batches")])
def test_batches_come_before_few_keys(per_entry: int, cause: str) -> None:
    first = of_stats(keyed(per_entry, 4_000), keyed(per_entry, 8_000)).causes[0]
    assert (first.id, first.verdict.value, first.blocked) == (cause, "uneven", ("b",))
    if per_entry > 1:
        assert (first.number("messages_per_entry"), first.number("entries")) == (40, 100)
        assert "KEY_BASED" in first.fix


@pytest.mark.parametrize(
    ("sub", "member", "number"),
    [
        ({"unackedMessages": -3}, {}, ("unacked", -3)),
        ({"msgBacklog": -1}, {}, ("backlog", -1)),
        ({"msgDelayed": -7}, {}, ("delayed", -7)),
        ({"unackedMessages": 0}, {"unackedMessages": -2}, ("unacked", -2)),
        ({}, {"availablePermits": -5}, ("permits", -5)),
        ({"unackedMessages": 9_000}, {"unackedMessages": 10}, ("unacked_of_consumers", 10)),
    ],
)
def test_impossible_numbers_are_named_and_nothing_is_fine(
    sub: dict[str, Any], member: dict[str, Any], number: tuple[str, int]
) -> None:
    result = of_stats(stats("Shared", [consumer("a", **member)], **sub))
    (cause,) = (cause for cause in result.causes if cause.id == "counts_do_not_add_up")
    assert (cause.verdict.value, number in cause.numbers) == ("cannot_tell", True)
    assert not any(cause.verdict.value == "fine" for cause in result.causes)
    assert not result.is_settled


def test_a_batch_may_be_more_than_the_permits() -> None:
    batched = consumer("a", availablePermits=-40, avgMessagesPerEntry=47)
    assert "counts_do_not_add_up" not in ids(of_stats(stats("Shared", [batched], unackedMessages=0)))


def produced(rates: list[float], publishers: int = 1, counter: int | None = None) -> dict[str, Stats]:
    return {
        stats_path(number): {
            "msgRateIn": rate, "publishers": [{}] * publishers, "subscriptions": {},
            **({} if counter is None else {"msgInCounter": int(rate * counter)}),
        }
        for number, rate in enumerate(rates)
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rates", "publishers", "found"),
    [
        ([0, 900, 0, 0], 1, True), ([5, 900, 5, 5], 2, True), ([0, 900, 200, 0], 1, False),
        ([225, 225, 225, 225], 1, False), ([0, 900, 0, 0], 0, False), ([0, 4, 0, 0], 1, False),
    ],
)  # fmt: skip
def test_a_hot_partition(rates: list[float], publishers: int, found: bool) -> None:
    result = hot_partitions(moments(produced(rates, publishers)))
    assert [diagnosis.causes[0].id for diagnosis in result] == ["producer_hot_partition"] * found
    if found:
        cause = result[0].causes[0]
        assert (cause.topic, cause.number("partitions")) == ("persistent://t/n/x-partition-1", 4)
        assert cause.number("busiest_share") == round(900 / sum(rates), 4)


def test_counters_of_two_moments_say_more_than_rates() -> None:
    even = produced([10, 10, 10], counter=30)
    stale = {path: {**shown, "msgRateIn": 90.0 * (path == stats_path(1))} for path, shown in even.items()}
    assert hot_partitions(moments(produced([10, 10, 10], counter=20), stale)) == []


def test_what_waits_unexplained_has_its_numbers_and_what_to_record() -> None:
    member = consumer("a", msgOutCounter=None, availablePermits=12)
    shown = stats("Shared", [member], msgBacklog=40, unackedMessages=3, msgDelayed=7, topic={"msgInCounter": None})
    (cause,) = of_stats(shown).causes
    assert (cause.id, cause.verdict.value) == ("waits_unexplained", "cannot_tell")
    assert [cause.number(name) for name in ("backlog", "waiting", "unacked", "delayed", "permits_of_a")] == [
        40, 30, 3, 7, 12,
    ]  # fmt: skip
    assert "pulsar-admin topics stats-internal persistent://t/n/x" in cause.fix


def crashing(out: int, **more: Any) -> Stats:
    """A consumer at its ``out``-th message, with 60 of them in its hands."""
    type_ = more.pop("type_", "Failover")
    name, acked, backlog = more.pop("address", "/a"), more.pop("acked", 5), more.pop("backlog", 60)
    held = backlog if type_ in ("Shared", "Key_Shared") else 0
    member = consumer("a", address=name, msgOutCounter=min(out, 60), unackedMessages=held, lastAckedTimestamp=acked)
    return stats(
        type_, [member], msgBacklog=backlog, msgOutCounter=out, unackedMessages=held, activeConsumerName="a",
        lastAckedTimestamp=acked, topic={"msgInCounter": more.pop("came", 60)},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("type_", "again"),
    # Without a cursor all that waited may have been unsent, where unacknowledged messages are not counted.
    [("Shared", 120), ("Key_Shared", 120), ("Failover", 60), ("Exclusive", 60)],
)
def test_a_consumer_that_ends_again_and_again_before_it_acknowledges(type_: str, again: int) -> None:
    first, second = crashing(60, type_=type_), crashing(180, type_=type_, address="/a-again")
    cause = of_stats(first, second).causes[0]
    assert (cause.id, cause.verdict.value, cause.by) == ("redelivery_loop", "slows", ("a",))
    assert (cause.number("redelivered"), cause.number("out"), cause.number("in")) == (again, 120, 0)


@pytest.mark.parametrize("type_", ["Shared", "Failover"])
def test_one_hand_over_and_a_reset_are_no_loop(type_: str) -> None:
    def found(second: Stats) -> bool:
        return "redelivery_loop" in ids(of_stats(crashing(60, type_=type_), second))

    once = {"type_": type_, "address": "/a-again"}
    assert found(crashing(180, **once))
    assert not found(crashing(120, acked=9, **once))
    assert not found(crashing(180, backlog=90, **once))
    assert found(crashing(300, backlog=90, came=90, **once))
    assert not found(crashing(60, **once))
