"""A member that is absent is unknown: what is left out makes fewer claims and never another one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from engine.admin.files import AnswerFile
from engine.admin.moments import read_moments
from engine.diagnosis.absent import NOT_REPORTED
from engine.diagnosis.model import Diagnosis, Verdict
from engine.diagnosis.why import why
from tests.public_cases.answers import Recorded, recorded

TOPIC: Final = "persistent://t/n/x"


def _of(*values: dict[str, Any]) -> list[Diagnosis]:
    files = [
        AnswerFile(f"2026-01-01T00-00-{at * 30:02}Z/a.json", json.dumps({TOPIC: value}).encode())
        for at, value in enumerate(values)
    ]
    return why(read_moments(*files))


def _topic(type_: str, **sub: Any) -> dict[str, Any]:
    consumer = {"consumerName": "a", "availablePermits": 0, "unackedMessages": 4, "msgOutCounter": 9}
    members = {"msgBacklog": 70, "unackedMessages": 4, "type": type_, "consumers": [consumer], **sub}
    if type_ == "Failover":
        members["activeConsumerName"] = "a"
    return {"msgRateIn": 1.0, "msgInCounter": 79, "publishers": [], "subscriptions": {"s": members}}


@pytest.mark.parametrize("type_", ["Shared", "Key_Shared", "Failover", "Exclusive"])
@pytest.mark.parametrize("member", ["msgBacklog", "consumers"])
def test_nothing_is_fine_or_blocked_by_what_is_not_there(type_: str, member: str) -> None:
    value = _topic(type_)
    del value["subscriptions"]["s"][member]
    (diagnosis,) = _of(value)
    assert all(member not in cause.fields for cause in diagnosis.causes)
    assert diagnosis.causes[0].verdict is Verdict.CANNOT_TELL
    if member == "consumers":
        assert (diagnosis.causes[0].id, member in diagnosis.causes[0].what) == (NOT_REPORTED, True)


def test_a_paste_without_a_backlog_is_not_fine() -> None:
    idle = _topic("Shared", msgBacklog=0, unackedMessages=0, consumers=[])
    (diagnosis,) = _of(idle)
    assert diagnosis.causes[0].id == "fine_idle"
    del idle["subscriptions"]["s"]["msgBacklog"]
    (diagnosis,) = _of(idle)
    assert (diagnosis.causes[0].id, diagnosis.causes[0].verdict) == (NOT_REPORTED, Verdict.CANNOT_TELL)
    assert diagnosis.causes[0].numbers == ()


def test_an_empty_list_of_consumers_is_nobody_and_no_list_is_not() -> None:
    (diagnosis,) = _of(_topic("Shared", consumers=[]))
    assert diagnosis.causes[0].id == "no_consumers"


def test_consumers_that_were_cut_by_hand_are_not_nobody() -> None:
    text = json.dumps(_topic("Shared")).replace('"consumers": [{', '"consumers": [..., {')
    (diagnosis,) = why(read_moments(AnswerFile("x.txt", f"$ pulsar-admin topics stats {TOPIC}\n{text}".encode())))
    assert [cause.id for cause in diagnosis.causes] == [NOT_REPORTED]


READ_BY_WHY: Final = (
    "msgBacklog", "unackedMessages", "availablePermits", "msgOutCounter", "msgInCounter", "lastAckedTimestamp",
    "lastConsumedTimestamp", "lastConsumedFlowTimestamp", "firstConsumedFlowTimestamp", "msgDelayed", "msgInReplay",
    "consumers",
)  # fmt: skip


def _without(value: Any, member: str) -> Any:
    if isinstance(value, list):
        return [_without(item, member) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: _without(inner, member) for name, inner in value.items() if name != member}


def _claims(diagnoses: list[Diagnosis]) -> Iterator[tuple[str, str, str]]:
    """What is said for certain: neither that something cannot be told, nor what is as it should be by design."""
    certain = (Verdict.BLOCKS, Verdict.SLOWS, Verdict.FINE)
    for diagnosis in diagnoses:
        for cause in diagnosis.causes:
            if cause.verdict in certain:
                yield diagnosis.subscription, cause.id, cause.verdict.value


STATISTICS: Final = [
    pytest.param(answer, id=answer.name) for answer in recorded() if answer.path.partition("?")[0].endswith("stats")
]


@pytest.mark.parametrize("member", READ_BY_WHY)
@pytest.mark.parametrize("answer", STATISTICS)
def test_without_a_member_no_other_claim_is_made(answer: Recorded, member: str) -> None:
    path, _, query = answer.path.partition("?")
    name = f"{path.strip('/')}{'@' if query else ''}{query}.json"
    whole = why(read_moments(AnswerFile(name, answer.data)))
    less = why(read_moments(AnswerFile(name, json.dumps(_without(answer.value, member)).encode())))
    assert set(_claims(less)) <= set(_claims(whole))
    for diagnosis in less:
        assert all(member not in cause.fields for cause in diagnosis.causes)
