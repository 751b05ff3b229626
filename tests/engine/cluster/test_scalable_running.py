"""A scalable topic over time: traffic, messages without a key, clocks, load records, refusals and what is reported."""

from __future__ import annotations

from dataclasses import replace

from engine.cluster.scalable.running import (
    TICK_MS,
    Happening,
    Running,
    acknowledge,
    created,
    join,
    leave,
    merge_segments,
    passed,
    rebucket_segments,
    split_segment,
    with_messages,
    with_rates,
)
from engine.errors import Rejection
from engine.scalable.load_reports import LoadRecord, Rates

START = 1_000_000
T = "topic://t/n/x"


def made(result: Running | Rejection) -> Running:
    assert isinstance(result, Running), result
    return result


def refused(result: Running | Rejection) -> tuple[str, int]:
    assert isinstance(result, Rejection), result
    return result.error, result.status


def topic(segments: int = 1) -> Running:
    return made(created(T, segments, START))


def still(running: Running) -> Running:
    """The topic without automatic steps."""
    return replace(running, settings=replace(running.settings, enabled=False))


def test_clocks_and_periods_begin_with_the_topic() -> None:
    new = topic(2)
    assert (new.opened_ms, new.next_tick_ms, new.next_report_ms) == (START, START + TICK_MS, START + 10_000)
    assert {one.created_at_ms for one in new.layout.segments.values()} == {START}
    later = replace(new, now_ms=START + 25_000)
    assert later.reporting().next_report_ms == START + 30_000
    halved = made(split_segment(later, 0))
    assert (halved.clocks.last_split_ms, halved.layout.segments[2].created_at_ms) == (START + 25_000, START + 25_000)
    few = replace(later, settings=replace(later.settings, entryBucketMaxPerSegment=3))
    merged = made(merge_segments(few, (0, 1)))
    assert (merged.clocks.last_merge_ms, merged.layout.segments[2].created_at_ms) == (START + 25_000, START + 25_000)
    assert merged.layout.segments[2].buckets == 3
    wider = made(rebucket_segments(later, (1,), 8))
    assert (wider.clocks.last_rebucket_ms, wider.layout.segments[2].buckets) == (START + 25_000, 8)
    assert wider.log[-1] == Happening(START + 25_000, "rebucketed", (1, 2), count=8)
    assert isinstance(rebucket_segments(later, (9, 1), 8), Rejection)
    assert isinstance(split_segment(halved, 0), Rejection)


def test_traffic_is_divided_by_range_and_becomes_records() -> None:
    busy = made(with_rates(topic(2), None, 100.0, 300.0, 50))
    assert busy.rates == dict.fromkeys((0, 1), Rates(50.0, 2_500.0, 150.0, 7_500.0))
    assert (busy.log[-1].segments, busy.log[-1].count) == ((), 100)
    one = made(with_rates(busy, 1, 8.0, 16.0, 2))
    assert (one.rates[0].msg_rate_in, one.rates[1]) == (50.0, Rates(8.0, 16.0, 16.0, 32.0))
    assert one.log[-1].segments == (1,)
    assert isinstance(with_rates(busy, 7, 1.0, 1.0, 1), Rejection)
    waited = passed(still(one), START + 10_000)
    assert waited.loads[1] == LoadRecord(one.rates[1], START + 10_000)
    halved = made(split_segment(waited, 0))
    assert {at: rates.msg_rate_in for at, rates in halved.rates.items()} == {1: 8.0, 2: 25.0, 3: 25.0}
    after = passed(still(halved), START + 20_000)
    assert {at: record.modified_ms for at, record in after.loads.items() if at != 0} == {
        1: START + 10_000,
        2: START + 20_000,
        3: START + 20_000,
    }


def test_messages_without_a_key_take_turns() -> None:
    running = made(join(topic(3), "s", "a", "STREAM"))
    seven = made(with_messages(running, (), 7))
    assert ([seven.groups["s"].backlog(at) for at in range(3)], seven.turn) == ([3, 2, 2], 7)
    nine = made(with_messages(seven, (), 2))
    assert ([nine.groups["s"].backlog(at) for at in range(3)], nine.turn) == ([3, 3, 3], 9)
    assert seven.log[-1] == Happening(START, "sent", (0, 1, 2), count=7)
    keyed = made(with_messages(running, ("a", "b", "c", "d"), 5))
    assert (keyed.log[-1].names, keyed.log[-1].count, keyed.turn) == (("a", "b", "c"), 20, 0)
    assert sum(keyed.groups["s"].backlog(at) for at in range(3)) == 20


def test_what_consumers_do_is_refused_or_reported() -> None:
    running = made(join(topic(2), "s", "a", "STREAM"))
    assert refused(join(running, "s", "q", "QUEUE")) == ("IllegalArgumentException", 409)
    assert refused(join(running, "s", "a", "STREAM")) == ("ConsumerBusyException", 409)
    assert refused(leave(running, "x", "a", closes=True)) == ("SubscriptionNotFound", 404)
    assert refused(leave(running, "s", "x", closes=True)) == ("ConsumerNotFound", 404)
    assert refused(acknowledge(running, "x", None, 0)) == ("SubscriptionNotFound", 404)
    assert refused(acknowledge(running, "s", "x", 0)) == ("ConsumerNotFound", 404)
    lost = made(leave(running, "s", "a", closes=False))
    assert lost.log[-1] == Happening(START, "lost", (), "s", ("a",))
    assert refused(leave(lost, "s", "a", closes=False)) == ("ConsumerNotFound", 409)
    assert made(leave(lost, "s", "a", closes=True)).log[-1].what == "closed"
    both = made(join(running, "s", "b", "STREAM"))
    sent = made(with_messages(both, (), 10))
    assert made(acknowledge(sent, "s", "a", 3)).log[-1] == Happening(START, "acknowledged", (), "s", ("a",), 3)
    assert made(acknowledge(sent, "s", "a", 0)).log[-1].count == 5
    assert made(acknowledge(sent, "s", None, 4)).log[-1] == Happening(START, "acknowledged", (), "s", (), 8)
    assert made(acknowledge(sent, "s", None, 99)).log[-1].count == 10


def test_what_happens_by_itself_happens_in_its_time() -> None:
    running = made(join(still(topic()), "s", "a", "STREAM"))
    held = made(with_messages(running, ("k",), 3))
    second = made(join(held, "s", "b", "STREAM"))
    assert second.due_ms() == START + 10_000
    left = passed(second, START + 30_000)
    assert [(one.at_ms, one.what, one.names) for one in left.log if one.by_itself] == [
        (START + 30_000, "refused", ("b",))
    ]
    assert (left.now_ms, left.next_tick_ms) == (START + 30_000, START + TICK_MS)
    gone = passed(made(leave(running, "s", "a", closes=False)), START + 60_000)
    assert [(one.at_ms, one.what, one.names) for one in gone.log if one.by_itself] == [
        (START + 60_000, "expired", ("a",))
    ]
    halved = made(split_segment(running, 0))
    read = passed(halved, START + 2_000)
    assert read.log[-1] == Happening(START + 2_000, "drained", (0,), "s", by_itself=True)
    pruned = passed(read, START + TICK_MS)
    assert (sorted(pruned.layout.segments), pruned.next_tick_ms) == ([1, 2], START + 2 * TICK_MS)
    assert pruned.log[-1] == Happening(START + TICK_MS, "pruned", (0,), by_itself=True)
    assert 0 in passed(made(split_segment(held, 0)), START + TICK_MS).layout.segments, "3 messages are left"


def test_the_controller_acts_when_a_consumer_joins_and_after_its_cooldown() -> None:
    running = topic()
    for name in "abcd":
        running = made(join(running, "s", name, "STREAM"))
    assert (running.layout.epoch, running.evaluations_ms) == (0, ())
    fifth = made(join(running, "s", "e", "STREAM"))
    cooldown = START + 1_000 * running.settings.rebucketCooldownSeconds + 1
    assert ([one.buckets for one in fifth.layout.active()], fifth.evaluations_ms) == ([8], (cooldown,))
    assert fifth.log[-1].by_itself
    assert fifth.log[-1].reason == "below-split-rate-floor"
    queue = topic()
    for name in "abcdefgh":
        queue = made(join(queue, "s", name, "QUEUE"))
    assert queue.layout.epoch == 0
    later = passed(fifth, cooldown)
    assert later.evaluations_ms == ()
    wrong = replace(running, settings=replace(running.settings, minSegments=9, maxSegments=8))
    assert made(join(wrong, "s", "e", "STREAM")).blocked_reason == "invalid_policy"
    assert made(join(wrong, "q", "e", "QUEUE")).blocked_reason == ""
    left = made(leave(made(join(wrong, "t", "a", "STREAM")), "t", "a", closes=True))
    assert made(join(left, "t", "a", "CHECKPOINT")).groups["t"].coordinator.checkpoint


def test_each_consumer_has_its_own_time_to_wait() -> None:
    running = made(join(still(topic()), "s", "a", "STREAM"))
    held = made(with_messages(running, ("k",), 3))
    for name, at in (("b", 0), ("c", 20_000)):
        held = made(join(passed(held, START + at) if at else held, "s", name, "STREAM"))
    assert passed(held, START + 30_000).groups["s"].names == ("a", "c")
    three = running
    for name in "bc":
        three = made(join(three, "s", name, "STREAM"))
    gone = made(leave(passed(made(leave(three, "s", "b", closes=False)), START + 30_000), "s", "c", closes=False))
    expired = [passed(gone, START + at).groups["s"].names for at in (60_000, 89_999, 90_000)]
    assert expired == [("a", "c"), ("a", "c"), ("a",)]


def test_hand_overs_that_never_end_and_drained_segments_are_said_once_for_each_subscription() -> None:
    running = still(topic(3))
    for name in "abc":
        running = made(join(running, "s", name, "STREAM"))
    held = made(with_messages(made(join(running, "t", "z", "STREAM")), (), 9))
    late = passed(made(leave(held, "s", "a", closes=True)), START + 55_000)
    for _ in range(2):
        late = made(acknowledge(late, "s", None, 0))
    stuck = [one for one in late.log if one.what == "stuck"]
    assert stuck == [
        Happening(START + 55_000, "stuck", (1,), "s", ("b",), by_itself=True),
        Happening(START + 55_000, "stuck", (2,), "s", ("c",), by_itself=True),
    ]
    drained = passed(made(split_segment(made(join(running, "t", "z", "STREAM")), 0)), START + 2_000)
    assert [(one.segments, one.subscription) for one in drained.log if one.what == "drained"] == [
        ((0,), "s"),
        ((0,), "t"),
    ]
