"""Two hundred random dumps of healthy subscriptions: none of them is called anything else.

A small simulation of its own makes them: what is published goes out at once and is acknowledged some time later.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from engine.admin.client_facts import client_facts
from engine.admin.files import AnswerFile
from engine.admin.moments import read_moments
from engine.diagnosis.model import Diagnosis
from engine.diagnosis.why import why
from engine.lint import Finding, Severity, lint
from engine.scenarios.linting import reported_facts
from engine.scenarios.opening import open_moments

DUMPS: Final = 200
START_MS: Final = 1_795_340_880_000
APART_MS: Final = 10_000
Stats = dict[str, Any]


@dataclass
class Member:
    """A consumer with a receiver queue, and what it was sent and has not acknowledged."""

    name: str
    queue: int
    connected_ms: int
    sent: int = 0
    held: int = 0
    ranges: list[tuple[int, int]] = field(default_factory=list)

    def permits(self, rng: random.Random) -> int:
        """More are asked for when half of them are used up."""
        return self.queue - rng.randrange(self.queue // 2) - min(self.held, self.queue // 2)


@dataclass
class Topic:
    """One topic or partition with one subscription."""

    name: str
    kind: str
    members: list[Member]
    active: int
    per_s: int
    """Messages published a second."""
    work_ms: int
    """How long a message is with its consumer."""
    behind: int = 0
    """Messages of an old backlog that nobody has read yet; as many as twice what comes in are read each second."""
    came: int = 0

    @property
    def is_shared(self) -> bool:
        return self.kind in ("Shared", "Key_Shared")

    def run(self, seconds: int) -> None:
        new = self.per_s * seconds
        self.came += new
        old = min(self.behind, new)
        self.behind -= old
        takers = self.members if self.is_shared else self.members[self.active : self.active + 1]
        shares = [sum(end - start + 1 for start, end in each.ranges) or 1 for each in takers]
        for member, share in zip(takers, shares, strict=True):
            member.sent += (new + old) * share // sum(shares)
            member.held = min(member.sent, self.per_s * self.work_ms // 1000 // len(takers))
        takers[0].sent += new + old - sum((new + old) * share // sum(shares) for share in shares)

    def stats(self, now_ms: int, rng: random.Random) -> Stats:
        held = sum(member.held for member in self.members)
        ago = rng.randrange(1, 1000 // max(1, self.per_s) + 2) if self.per_s else 4_000_000
        sent_ms = now_ms - ago if any(member.sent for member in self.members) else 0
        times = {"lastConsumedTimestamp": sent_ms, "lastAckedTimestamp": sent_ms and sent_ms + rng.randrange(3)}
        rates = {"msgRateOut": float(self.per_s), "messageAckRate": float(self.per_s), "msgRateRedeliver": 0.0}
        consumers = [
            {
                "consumerName": member.name, "address": f"/10.0.0.9:{40_000 + number}",
                "connectedSince": datetime.fromtimestamp(member.connected_ms / 1000, UTC).isoformat(),
                "availablePermits": member.permits(rng),
                "unackedMessages": member.held if self.is_shared else 0, "blockedConsumerOnUnackedMsgs": False,
                "msgOutCounter": member.sent, "avgMessagesPerEntry": 1, "drainingHashesCount": 0,
                "firstConsumedFlowTimestamp": member.connected_ms + 2, "lastConsumedFlowTimestamp": now_ms - 900,
                "keyHashRangeArrays": member.ranges, **(times if member.sent else dict.fromkeys(times, 0)),
                **(rates if member.sent else dict.fromkeys(rates, 0.0)),
            }
            for number, member in enumerate(self.members)
        ]  # fmt: skip
        subscription = {
            "type": self.kind, "msgBacklog": held + self.behind, "msgBacklogNoDelayed": held + self.behind,
            "unackedMessages": held if self.is_shared else 0, "msgDelayed": 0, "msgInReplay": 0,
            "blockedSubscriptionOnUnackedMsgs": False, "allowOutOfOrderDelivery": False, "consumers": consumers,
            "msgOutCounter": sum(member.sent for member in self.members), **rates, **times,
        }  # fmt: skip
        if self.kind == "Key_Shared":
            subscription["keySharedMode"] = "AUTO_SPLIT"
        if not self.is_shared:
            subscription["activeConsumerName"] = self.members[self.active].name
        return {
            "msgRateIn": float(self.per_s), "msgInCounter": self.came, "lastPublishTimeStamp": now_ms - ago,
            "publishers": [{}] if self.per_s else [], "subscriptions": {"work": subscription},
        }  # fmt: skip

    def internal(self) -> Stats:
        held = sum(member.held for member in self.members)
        read = self.came - self.behind
        cursor = {"markDeletePosition": f"7:{read - held - 1}", "readPosition": f"7:{read}", "active": True,
                  "waitingReadOp": not self.behind, "pendingReadOps": int(self.behind > 0),
                  "subscriptionHavePendingRead": True}  # fmt: skip
        return {"entriesAddedCounter": self.came, "lastConfirmedEntry": f"7:{self.came - 1}",
                "cursors": {"work": cursor}}  # fmt: skip


def halves(members: int) -> list[list[tuple[int, int]]]:
    """The slots of each after all joined: a newcomer gets half of the largest range."""
    ranges = [(0, 65_535)]
    for _ in range(members - 1):
        start, end = max(ranges, key=lambda piece: (piece[1] - piece[0], -piece[0]))
        ranges[ranges.index((start, end))] = (start, (start + end) // 2)
        ranges.append(((start + end) // 2 + 1, end))
    return [[piece] for piece in ranges]


def topics_of(rng: random.Random) -> list[Topic]:
    kind = rng.choice(["Exclusive", "Failover", "Shared", "Key_Shared"])
    partitions = rng.choice([0, 1, 3, 8])
    members = 1 if kind == "Exclusive" else rng.randrange(1, 6)
    per_s = rng.choice([0, 0, 1, 7, 40, 300])
    work_ms, behind = rng.choice([0, 5, 60, 400]), rng.choice([0, 0, 0, 4_000]) if per_s >= 40 else 0
    queue = rng.choice([10, 100, 1000])
    slots = halves(members)
    topics = []
    for partition in range(partitions) if partitions else [-1]:
        some = [Member(f"node-{at}", queue, START_MS - 500_000 - at * 1000) for at in range(members)]
        for member, ranges in zip(some, slots, strict=True):
            member.ranges = ranges if kind == "Key_Shared" else []
        name = f"persistent://t/n/x{f'-partition-{partition}' if partition >= 0 else ''}"
        active = max(partition, 0) % members if kind == "Failover" else 0
        topics.append(Topic(name, kind, some, active, per_s, work_ms, behind, came=behind))
    return topics


LATER: Final = ("msgInReplay", "messageAckRate", "firstConsumedFlowTimestamp", "drainingHashesCount",
                "lastPublishTimeStamp")  # fmt: skip
"""Members of younger releases."""


def without(value: Any, names: tuple[str, ...]) -> Any:
    if isinstance(value, list):
        return [without(inner, names) for inner in value]
    if not isinstance(value, dict):
        return value
    return {name: without(inner, names) for name, inner in value.items() if name not in names}


def files_of(seed: int, moments: int) -> list[AnswerFile]:
    rng = random.Random(seed)
    topics, older, with_cursors = topics_of(rng), rng.random() < 0.3, rng.random() < 0.5
    files = []
    for at in range(moments):
        now_ms = START_MS + at * APART_MS
        time = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
        for topic in topics:
            topic.run(APART_MS // 1000 if at or topic.behind else 600)
            path = f"{time}/admin/v2/{topic.name.replace('://', '/')}"
            shown = without(topic.stats(now_ms, rng), LATER if older else ())
            files.append(AnswerFile(f"{path}/stats.json", json.dumps(shown).encode()))
            if with_cursors and topic.came:
                files.append(AnswerFile(f"{path}/internalStats.json", json.dumps(topic.internal()).encode()))
    return files


def dump(seed: int, moments: int) -> list[Diagnosis]:
    return why(read_moments(*files_of(seed, moments)))


def findings_of(seed: int) -> list[Finding]:
    files = files_of(seed, 1)
    moments = read_moments(*files)
    state, snapshot = open_moments(moments).state, moments[-1].snapshot
    return [*lint(state, reported_facts(snapshot, state, client_facts(*files)))]


@pytest.mark.parametrize(
    ("moments", "is_right"),
    [(2, lambda row: row.is_settled), (1, lambda row: not row.harms)],
    ids=["two-moments", "one-moment"],
)
def test_healthy_dumps_are_called_nothing_else(moments: int, is_right: Callable[[Diagnosis], bool]) -> None:
    wrong = [
        (seed, row.causes[0].id, row.causes[0].verdict.value)
        for seed in range(DUMPS)
        for row in dump(seed, moments)
        if not is_right(row)
    ]
    assert wrong == []


def test_the_doctor_has_nothing_to_warn_of_in_them() -> None:
    found = [(seed, one.rule) for seed in range(DUMPS) for one in findings_of(seed) if one.severity > Severity.INFO]
    assert found == []


def test_the_dumps_are_of_all_types_and_of_busy_and_quiet_subscriptions() -> None:
    rows = [row for seed in range(DUMPS) for row in dump(seed, 2)]
    assert len(rows) == DUMPS
    assert {row.type for row in rows} == {"Exclusive", "Failover", "Shared", "Key_Shared"}
    first = {row.causes[0].id for row in rows}
    assert {"fine_idle", "fine_keeping_up", "fine_catching_up", "failover_standby"} <= first
