"""Statistics for tests, as a broker prints them: what a test does not name is as in a healthy subscription."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from engine.admin.files import AnswerFile
from engine.admin.moments import Moment, read_moments
from engine.diagnosis.model import Diagnosis
from engine.diagnosis.why import why

TOPIC = "persistent://t/n/x"
Stats = dict[str, Any]


def consumer(name: str, **more: Any) -> Stats:
    """A consumer that asks for messages and holds none."""
    facts = {"consumerName": name, "address": f"/{name}", "availablePermits": 1000, "unackedMessages": 0}
    return {**facts, "msgOutCounter": 0, "blockedConsumerOnUnackedMsgs": False, **more}


def stats(type_: str, consumers: Sequence[Stats], *, topic: Mapping[str, Any] | None = None, **sub: Any) -> Stats:
    """Statistics of a topic with the one subscription ``s``."""
    held = {"unackedMessages": 0} if not any(each.get("unackedMessages") for each in consumers) else {}
    subscription = {"type": type_, "consumers": list(consumers), "msgBacklog": 0, "msgOutCounter": 0, **held, **sub}
    return {"msgInCounter": 0, "publishers": [{}], **(topic or {}), "subscriptions": {"s": subscription}}


def internal(read: str, written: str) -> Stats:
    """Internal statistics: where ``s`` reads next, and the last entry of the topic."""
    cursor = {"readPosition": read, "markDeletePosition": "1:-1", "active": True}
    return {"entriesAddedCounter": 1, "lastConfirmedEntry": written, "cursors": {"s": cursor}}


def moments(*answers: Mapping[str, Any]) -> tuple[Moment, ...]:
    """Moments ten seconds apart, each as ``{path of the request: answer}``."""
    files = [
        AnswerFile(f"2026-11-22T09-48-{second * 10:02}Z/{path}.json", json.dumps(answer).encode())
        for second, some in enumerate(answers)
        for path, answer in some.items()
    ]
    return read_moments(*files)


def stats_path(partition: int = -1) -> str:
    """Where the statistics of ``TOPIC`` are in a dump."""
    return f"admin/v2/persistent/t/n/x{f'-partition-{partition}' if partition >= 0 else ''}/stats"


def diagnosed(*answers: Mapping[str, Any]) -> Diagnosis:
    """The diagnosis of ``s`` in these moments."""
    (diagnosis,) = (each for each in why(moments(*answers)) if each.subscription)
    return diagnosis


def of_stats(*found: Stats) -> Diagnosis:
    """The diagnosis of ``s`` on ``TOPIC`` alone."""
    return diagnosed(*({stats_path(): each} for each in found))
