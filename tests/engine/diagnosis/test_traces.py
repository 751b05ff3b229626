"""A trace of keys says which key makes a consumer slow, or that none does."""

from __future__ import annotations

import pytest

from engine.diagnosis.model import Diagnosis, Verdict
from engine.diagnosis.seen import subscriptions_seen
from engine.diagnosis.traces import hottest, slots_of, with_trace
from engine.diagnosis.why import diagnose
from engine.hashing import murmur3_32
from tests.engine.diagnosis.answers import Stats, consumer, moments, stats, stats_path

HALVES = ([[0, 32767]], [[32768, 65535]])
KEYS = [f"k{number}".encode() for number in range(200)]
LOW = [key for key in KEYS if murmur3_32(key) % 65_536 < 32_768]
HIGH = [key for key in KEYS if murmur3_32(key) % 65_536 >= 32_768]


def at(out: int, replay: int, permits: int, *, type_: str = "Key_Shared") -> Stats:
    busy = consumer("a", msgOutCounter=out, availablePermits=permits, keyHashRangeArrays=HALVES[0], unackedMessages=9)
    calm = consumer("b", msgOutCounter=out // 4, keyHashRangeArrays=HALVES[1])
    return stats(
        type_, [busy, calm], keySharedMode="AUTO_SPLIT", msgInReplay=replay, unackedMessages=9, msgBacklog=9 + replay,
        msgOutCounter=out + out // 4, topic={"msgInCounter": out * 2},
    )  # fmt: skip


def traced(counts: dict[bytes, int], *answers: Stats) -> Diagnosis:
    (seen,) = subscriptions_seen(moments(*({stats_path(): answer} for answer in answers)))
    return with_trace(diagnose(seen), seen, counts)


def hot_key(diagnosis: Diagnosis) -> dict[str, object] | None:
    cause = next((cause for cause in diagnosis.causes if cause.id == "hot_key"), None)
    return None if cause is None else {**dict(cause.numbers), "verdict": cause.verdict, "by": cause.by}


BUSY = (at(100, 50, 0), at(300, 120, 0))
CALM = (at(100, 0, 500), at(300, 0, 500))


def test_the_key_that_fills_a_consumer_is_named() -> None:
    counts = dict.fromkeys(LOW[:5] + HIGH[:5], 10) | {LOW[7]: 100}
    result = hot_key(traced(counts, *BUSY))
    assert result is not None
    assert (result["hot_key"], result["hot_key_share"], result["verdict"]) == (LOW[7].decode(), 0.5, Verdict.SLOWS)
    assert (result["owner_share"], result["keys_of_owner"], result["keys"]) == (0.75, 6, 11)
    assert result["hot_key_slot"] == murmur3_32(LOW[7]) % 65_536


def test_shares_have_four_digits() -> None:
    result = hot_key(traced(dict.fromkeys(LOW[:1] + HIGH[:2], 1) | {LOW[5]: 3}, *BUSY))
    assert result is not None and (result["hot_key_share"], result["owner_share"]) == (0.5, 0.6667)
    result = hot_key(traced(dict.fromkeys(HIGH[:2], 1) | {LOW[5]: 4}, *BUSY))
    assert result is not None and (result["hot_key_share"], result["owner_share"]) == (0.6667, 0.6667)


def test_a_trace_changes_no_other_cause() -> None:
    counts = dict.fromkeys(LOW[:5] + HIGH[:5], 10) | {LOW[7]: 100}
    members = [
        consumer("a", msgOutCounter=0, availablePermits=0, keyHashRangeArrays=HALVES[0], avgMessagesPerEntry=4),
        consumer("b", keyHashRangeArrays=HALVES[1]),
    ]
    before = stats("Key_Shared", members, msgInReplay=50, msgBacklog=60, msgOutCounter=0)
    after = stats("Key_Shared", [{**members[0], "msgOutCounter": 40}, members[1]], msgInReplay=60, msgBacklog=70,
                  msgOutCounter=40)  # fmt: skip
    (seen,) = subscriptions_seen(moments({stats_path(): before}, {stats_path(): after}))
    plain, with_keys = diagnose(seen), with_trace(diagnose(seen), seen, counts)
    assert [cause.id for cause in with_keys.causes] == [cause.id for cause in plain.causes]
    assert {"hot_key", "keyshared_batches"} <= {cause.id for cause in plain.causes}
    assert [cause for cause in with_keys.causes if cause.id != "hot_key"] == [
        cause for cause in plain.causes if cause.id != "hot_key"
    ]
    assert LOW[7].decode() in next(cause.what for cause in with_keys.causes if cause.id == "hot_key")


def test_the_topic_of_the_cause_says_whose_the_slots_are() -> None:
    def topic(busy: int, waiting: int, permits: int, out: int) -> Stats:
        members = [
            consumer(name, keyHashRangeArrays=HALVES[at], availablePermits=permits if at == busy else 900,
                     msgOutCounter=out if at == busy else 0)
            for at, name in enumerate("ab")
        ]  # fmt: skip
        return stats("Key_Shared", members, msgBacklog=waiting, msgOutCounter=out, msgInReplay=0 if permits else 9)

    def moment(out: int) -> dict[str, Stats]:
        larger, hot = topic(1, 900, 900, out), topic(0, 50, 0, out)
        for each in larger["subscriptions"]["s"]["consumers"]:
            each["keyHashRangeArrays"] = HALVES[0] if each["consumerName"] == "b" else HALVES[1]
        return {stats_path(0): larger, stats_path(1): hot}

    (seen,) = subscriptions_seen(moments(moment(5), moment(50)))
    result = hot_key(with_trace(diagnose(seen), seen, dict.fromkeys(HIGH[:4], 1) | {LOW[0]: 60}))
    assert result is not None and (result["hot_key"], result["by"]) == (LOW[0].decode(), ("a",))


def test_even_keys_make_it_a_slow_consumer() -> None:
    result = hot_key(traced(dict.fromkeys(LOW[:20] + HIGH[:20], 3), *BUSY))
    assert result is not None and result["hot_key"] == ""


def test_a_hot_key_of_somebody_else_is_not_to_blame() -> None:
    result = hot_key(traced(dict.fromkeys(LOW[:3], 1) | {HIGH[0]: 100}, *BUSY))
    assert result is not None and (result["hot_key"], result["by"]) == ("", ("a",))


def test_a_hot_key_that_slows_nobody_yet_is_uneven() -> None:
    result = hot_key(traced(dict.fromkeys(HIGH[:4], 1) | {LOW[0]: 60}, *CALM))
    assert result is not None
    assert (result["verdict"], result["by"], result["hot_key"]) == (Verdict.UNEVEN, ("a",), LOW[0].decode())
    plain, with_keys = traced({}, *CALM), traced(dict.fromkeys(HIGH[:4], 1) | {LOW[0]: 60}, *CALM)
    assert {each.id for each in plain.ruled_out} - {each.id for each in with_keys.ruled_out} == {"hot_key"}
    cause = next(cause for cause in with_keys.causes if cause.id == "hot_key")
    assert (cause.topics, cause.fields) == (1, ("keyHashRangeArrays",))
    assert hot_key(traced(dict.fromkeys(HIGH[:20] + LOW[:20], 1), *CALM)) is None


@pytest.mark.parametrize(("hottest_count", "is_hot"), [(9, False), (10, True), (11, True)])
def test_a_key_is_hot_from_a_fair_part_on(hottest_count: int, is_hot: bool) -> None:
    (seen,) = subscriptions_seen(moments({stats_path(): CALM[0]}))
    counts = dict.fromkeys(HIGH[:10], 1) | {LOW[0]: hottest_count}
    result = hottest(seen.dispatchers[0], counts)
    assert result is not None and result.is_hot is is_hot


@pytest.mark.parametrize("others", [1, 2])
@pytest.mark.parametrize(("hottest_count", "is_hot"), [(29, False), (30, True)])
def test_and_only_from_three_times_the_others_on(hottest_count: int, others: int, is_hot: bool) -> None:
    (seen,) = subscriptions_seen(moments({stats_path(): CALM[0]}))
    result = hottest(seen.dispatchers[0], {LOW[0]: hottest_count, **dict.fromkeys(HIGH[:others], 10)})
    assert result is not None and result.is_hot is is_hot


def test_nothing_is_said_of_nobody_s_slots_no_messages_or_other_types() -> None:
    (seen,) = subscriptions_seen(moments({stats_path(): stats("Key_Shared", [consumer("a")], msgBacklog=1)}))
    assert hottest(seen.dispatchers[0], {b"k": 1}) is None
    assert hottest(seen.dispatchers[0], {}) is None
    shared = at(100, 0, 500, type_="Shared")
    assert hot_key(traced({LOW[0]: 50}, shared, shared)) is None


@pytest.mark.parametrize(
    ("ranges", "mode", "low"),
    [([[0, 9], [20, 29]], "AUTO_SPLIT", 1), ([[0, 9], [20, 29]], "STICKY", 0), ([[0, 65535]], "AUTO_SPLIT", 0)],
)
def test_slots_are_those_of_the_ring_where_a_consumer_has_several_ranges(ranges: object, mode: str, low: int) -> None:
    shown = stats("Key_Shared", [consumer("a", keyHashRangeArrays=ranges)], keySharedMode=mode)
    (seen,) = subscriptions_seen(moments({stats_path(): shown}))
    assert slots_of(seen.dispatchers[0]).low == low


def test_one_consumer_with_several_ranges_is_enough_for_a_ring() -> None:
    members = [consumer("a", keyHashRangeArrays=[[1, 9], [20, 65_535]]), consumer("b", keyHashRangeArrays=[[10, 19]])]
    (seen,) = subscriptions_seen(moments({stats_path(): stats("Key_Shared", members, keySharedMode="AUTO_SPLIT")}))
    assert slots_of(seen.dispatchers[0]).low == 1
