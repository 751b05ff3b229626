"""A subscription that works is never called anything else, whatever its type, pace, queues and batches are.

The subscriptions are simulated message by message: each is published, sent to a consumer with room, and acknowledged
after some time. What a broker would print is counted from that.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.diagnosis.model import Verdict
from engine.diagnosis.why import why
from tests.engine.diagnosis.answers import moments

BEGIN_MS = 1_795_340_870_000
FIRST_MS = 1_795_340_880_000
"""The first moment of ``moments``; the next is ten seconds later."""
TYPES = ("Shared", "Key_Shared", "Failover", "Exclusive")
HARMLESS = (Verdict.FINE, Verdict.BY_DESIGN)


@dataclass
class Working:
    """A subscription at work: a message each ``every_ms``, acknowledged ``takes_ms`` after it was sent."""

    type_: str
    consumers: int
    queue: int
    every_ms: int
    takes_ms: int
    batch: int
    stored: int
    prints: frozenset[str]
    until_ms: int = FIRST_MS + 10_000
    sent: list[tuple[int, int]] = field(default_factory=list)
    """Time and consumer of each message that went out, in order."""

    def __post_init__(self) -> None:
        takers = 1 if self.type_ in ("Failover", "Exclusive") else self.consumers
        published = [BEGIN_MS] * self.stored + list(range(BEGIN_MS, self.until_ms, self.every_ms))
        free_ms = [[BEGIN_MS] * self.queue for _ in range(takers)]
        for number, at_ms in enumerate(published):
            taker = number % takers
            room = number // takers % self.queue
            sent_ms = max(at_ms, free_ms[taker][room])
            free_ms[taker][room] = sent_ms + self.takes_ms
            self.sent.append((sent_ms, taker))
        self.published = published

    def at(self, now_ms: int) -> dict[str, Any]:
        came = sum(at_ms <= now_ms for at_ms in self.published)
        out = [(at_ms, taker) for at_ms, taker in self.sent if at_ms <= now_ms]
        acked = [(at_ms + self.takes_ms, taker) for at_ms, taker in out if at_ms + self.takes_ms <= now_ms]
        counts_unacked = self.type_ in ("Shared", "Key_Shared")
        counts = [Counter(taker for _, taker in some) for some in (out, acked)]
        latest: list[dict[int, int]] = [{taker: at_ms for at_ms, taker in sorted(some)} for some in (out, acked)]

        def times(*takers: int) -> dict[str, int]:
            names = ("lastConsumedTimestamp", "lastAckedTimestamp")
            return {
                name: max((one.get(taker, 0) for taker in takers), default=0)
                for name, one in zip(names, latest, strict=True)
            }

        consumers = []
        for number in range(self.consumers):
            mine = [count[number] for count in counts]
            held = mine[0] - mine[1]
            consumers.append(
                {
                    "consumerName": f"c-{number}", "address": f"/10.0.0.{number}:1",
                    "availablePermits": self.queue - held,
                    "unackedMessages": held if counts_unacked else 0, "msgOutCounter": mine[0] * self.batch,
                    "blockedConsumerOnUnackedMsgs": False, "avgMessagesPerEntry": self.batch,
                    "connectedSince": "2026-11-22T09:00:00Z", "firstConsumedFlowTimestamp": BEGIN_MS - 5,
                    "lastConsumedFlowTimestamp": BEGIN_MS - 5, **times(number), **self.ranges(number),
                }
            )  # fmt: skip
        sub = {
            "type": self.type_, "consumers": consumers, "msgBacklog": came - len(acked), "msgDelayed": 0,
            "msgOutCounter": len(out) * self.batch, "blockedSubscriptionOnUnackedMsgs": False,
            **times(*range(self.consumers)),
            "unackedMessages": len(out) - len(acked) if counts_unacked else 0, "msgInReplay": 0,
        }  # fmt: skip
        if self.type_ == "Failover":
            sub["activeConsumerName"] = "c-0"
        if self.type_ == "Key_Shared":
            sub["keySharedMode"] = "AUTO_SPLIT"
        topic = {
            "publishers": [{}], "msgInCounter": came * self.batch, "subscriptions": {"s": sub},
            "lastPublishTimeStamp": max(at_ms for at_ms in self.published if at_ms <= now_ms),
        }  # fmt: skip
        answers: dict[str, Any] = {"admin/v2/persistent/t/n/x/stats": topic}
        if "cursor" in self.prints:
            read_all = len(out) == came
            cursor = {
                "readPosition": f"7:{len(out)}", "markDeletePosition": f"7:{len(acked) - 1}", "active": True,
                "subscriptionHavePendingRead": read_all, "waitingReadOp": read_all, "pendingReadOps": 0,
            }  # fmt: skip
            internal = {"entriesAddedCounter": came, "lastConfirmedEntry": f"7:{came - 1}", "cursors": {"s": cursor}}
            answers["admin/v2/persistent/t/n/x/internalStats"] = internal
        return answers

    def ranges(self, number: int) -> dict[str, Any]:
        if self.type_ != "Key_Shared":
            return {}
        size = 65_536 // self.consumers
        end = 65_535 if number == self.consumers - 1 else (number + 1) * size - 1
        return {"keyHashRangeArrays": [[number * size, end]], "drainingHashes": [], "drainingHashesCount": 0}


@st.composite
def at_work(draw: st.DrawFn) -> Working:
    """A subscription that keeps up, or works off what is stored."""
    type_ = draw(st.sampled_from(TYPES))
    consumers = 1 if type_ == "Exclusive" else draw(st.integers(1, 4))
    takers = consumers if type_ in ("Shared", "Key_Shared") else 1
    queue = draw(st.sampled_from([1, 2, 10, 1_000]))
    every_ms = draw(st.sampled_from([2, 10, 50, 400, 3_000]))
    # All that comes in can be done, with a fifth to spare.
    takes_ms = draw(st.integers(0, min(900, every_ms * takers * queue * 4 // 5)))
    batch = draw(st.sampled_from([1, 1, 1, 5]))
    prints = draw(st.frozensets(st.sampled_from(["cursor"])))
    return Working(type_, consumers, queue, every_ms, takes_ms, batch, 0, prints)


@settings(max_examples=200, deadline=None)
@given(at_work())
def test_what_works_is_fine(work: Working) -> None:
    first, second = work.at(FIRST_MS), work.at(FIRST_MS + 10_000)
    for diagnosis in why(moments(first, second)):
        assert [(cause.id, cause.verdict) for cause in diagnosis.causes if cause.verdict not in HARMLESS] == []
        assert diagnosis.causes
    for answers in (first, second):
        for diagnosis in why(moments(answers)):
            assert [(cause.id, cause.verdict) for cause in diagnosis.causes if cause.verdict.harms] == []


@settings(max_examples=150, deadline=None)
@given(at_work(), st.integers(1_000, 3_000))
def test_what_catches_up_does_no_harm(work: Working, stored: int) -> None:
    behind = Working(
        work.type_, work.consumers, work.queue, work.every_ms, work.takes_ms, work.batch, stored, work.prints
    )
    found = why(moments(behind.at(FIRST_MS), behind.at(FIRST_MS + 10_000)))
    assert [(cause.id, cause.verdict) for diagnosis in found for cause in diagnosis.causes if cause.verdict.harms] == []
