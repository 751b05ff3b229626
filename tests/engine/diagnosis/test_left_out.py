"""Whichever member the answers of a recording lack, nothing else is claimed: only less."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from engine.admin.files import AnswerFile
from engine.admin.moments import read_moments
from engine.diagnosis.model import Diagnosis, Verdict
from engine.diagnosis.why import why
from tests.engine.diagnosis.samples import sample

RECORDED: Final = ("slow-consumer-a", "keyshared-sticky-gap-a", "ghost-a")
"""Some of the recordings: each is diagnosed once for every member of its answers."""
STATISTICS: Final = ("stats", "partitioned-stats", "internalStats", "broker-stats/topics")
CERTAIN: Final = (Verdict.BLOCKS, Verdict.SLOWS, Verdict.FINE)
SET_ASIDE: Final = frozenset({"hash", "subscriptions"})
"""Without these an answer cannot be read, and what other answers of the same moment say is judged."""
NOTHING_WAITS: Final = "fine_idle"


def _members(value: Any) -> set[str]:
    if isinstance(value, list):
        return set().union(*map(_members, value))
    return set(value).union(*map(_members, value.values())) if isinstance(value, dict) else set()


def _without(value: Any, member: str) -> Any:
    if isinstance(value, list):
        return [_without(item, member) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: _without(inner, member) for name, inner in value.items() if name != member}


def _diagnosed(moments: dict[str, dict[str, Any]]) -> list[Diagnosis]:
    files = [
        AnswerFile(f"{time}/{path}.json", json.dumps(answer).encode())
        for time, answers in moments.items()
        for path, answer in answers.items()
    ]
    return why(read_moments(*files))


def _claims(diagnoses: list[Diagnosis]) -> set[tuple[str, str, str]]:
    return {
        (diagnosis.subscription, cause.id, cause.verdict.value)
        for diagnosis in diagnoses
        for cause in diagnosis.causes
        if cause.verdict in CERTAIN
    }


@pytest.mark.parametrize("name", RECORDED)
def test_what_is_left_out_makes_no_other_claim(name: str) -> None:
    moments = sample(name)["moments"]
    whole = _diagnosed(moments)
    # Where harm comes first, it goes without saying that nothing waits.
    known = _claims(whole) | {(row.subscription, NOTHING_WAITS, "fine") for row in whole if not row.backlog}
    subscriptions = {row.subscription for row in whole}
    tried = 0
    for member in sorted(_members(list(moments.values())) - SET_ASIDE - subscriptions):
        if member.startswith(("admin/", "persistent://")):
            continue
        less = {
            time: {
                path: _without(answer, member) if path.partition("?")[0].endswith(STATISTICS) else answer
                for path, answer in answers.items()
            }
            for time, answers in moments.items()
        }
        assert _claims(_diagnosed(less)) <= known, member
        tried += 1
    assert tried > 30
