"""A member that is absent is unknown: what is left out makes fewer claims and never another one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest

from engine.admin.files import AnswerFile
from engine.admin.moments import read_moments
from engine.diagnosis.absent import NOT_REPORTED
from engine.diagnosis.model import Diagnosis, Verdict
from engine.diagnosis.why import why
from tests.public_cases.answers import Recorded, recorded
from tests.schemas import schema_of
from tests.tui.cli.conftest import Run

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


@pytest.mark.parametrize("answer", STATISTICS)
def test_without_a_member_no_other_claim_is_made(answer: Recorded) -> None:
    path, _, query = answer.path.partition("?")
    name = f"{path.strip('/')}{'@' if query else ''}{query}.json"
    claims = set(_claims(why(read_moments(AnswerFile(name, answer.data)))))
    for member in READ_BY_WHY:
        less = why(read_moments(AnswerFile(name, json.dumps(_without(answer.value, member)).encode())))
        assert set(_claims(less)) <= claims, member
        for diagnosis in less:
            assert all(member not in cause.fields for cause in diagnosis.causes), member


def _places(value: Any, member: str) -> Iterator[dict[str, Any]]:
    """The objects that have a member."""
    if isinstance(value, dict):
        if member in value:
            yield value
        for inner in value.values():
            yield from _places(inner, member)
    elif isinstance(value, list):
        for inner in value:
            yield from _places(inner, member)


@pytest.mark.parametrize("answer", STATISTICS)
@pytest.mark.parametrize("member", ["unackedMessages", "availablePermits", "msgOutCounter", "msgBacklog"])
def test_without_a_member_in_one_place_no_other_claim_is_made(answer: Recorded, member: str) -> None:
    path, _, query = answer.path.partition("?")
    name = f"{path.strip('/')}{'@' if query else ''}{query}.json"
    claims = set(_claims(why(read_moments(AnswerFile(name, answer.data)))))
    value = answer.value
    for place in [*_places(value, member)][:8]:
        known = place.pop(member)
        assert set(_claims(why(read_moments(AnswerFile(name, json.dumps(value).encode()))))) <= claims
        place[member] = known


LACKING: Final = {
    TOPIC: {
        "subscriptions": {
            "s": {"type": "Shared", "consumers": [{"consumerName": "a", "unackedMessages": 3}, {"consumerName": "b"}]},
            "f": {"type": "Failover", "msgBacklog": 4},
        }
    }
}
"""Without rates, permits, one count of unacknowledged messages, one backlog and one list of consumers."""


def test_a_list_has_what_is_known_and_null_for_the_rest(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(LACKING))
    rows = {row["subscription"]: row for row in json.loads(run("list", "a.json", "--json").out)["rows"]}
    members = ("consumers", "idle", "backlog", "out_msgs_per_sec")
    assert [rows["s"][name] for name in members] == [2, None, None, None]
    assert [rows["f"][name] for name in members] == [None, None, 4, None]


def test_a_screen_has_what_is_known_and_null_for_the_rest(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(LACKING))
    document = json.loads(run("a.json", "--subscription", "s", "--json").out)
    jsonschema.validate(document, schema_of("subscription"))
    reported, (topic,) = document["reported"], document["topics"]
    for name in ("backlog_entries", "unacked_messages", "messages_in_replay", "messages_delayed", "msgs_per_sec"):
        assert reported[name] is None
        assert topic[name] is None
    assert [(each["permits"], each["unacked_messages"]) for each in reported["consumers"]] == [(None, 3), (None, None)]
    assert "rates-assumed" in [notice["code"] for notice in document["notices"]]


def test_a_dashboard_has_null_for_rates_that_no_answer_has(run: Run, tmp_path: Path) -> None:
    """One partition without rates: its consumer's, their sum and every share are unknown, the other consumer's is not.

    What is computed takes 0, as the notice says; a rate of 0 that was reported stays 0.
    """

    def partition(active: str, **rates: float) -> dict[str, Any]:
        consumers = [{"consumerName": name, "availablePermits": 9} for name in ("a", "b")]
        sub = {"type": "Failover", "msgBacklog": 0, "activeConsumerName": active, "consumers": consumers, **rates}
        return {"msgRateIn": 1.0, "msgThroughputIn": 10.0, "subscriptions": {"s": sub}, **rates}

    known = {"msgRateOut": 2.0, "msgThroughputOut": 20.0}
    names = [f"persistent://t/n/x-partition-{at}" for at in range(2)]
    documents = []
    for lacking in (partition("a"), partition("a", msgRateOut=0.0, msgThroughputOut=0.0)):
        (tmp_path / "a.json").write_text(json.dumps(dict(zip(names, (lacking, partition("b", **known)), strict=True))))
        document = json.loads(run("a.json", "--json").out)
        jsonschema.validate(document, schema_of("dashboard"))
        documents.append(document)
    for document, first, shares, total in zip(
        documents, (None, 0.0), ([None, None], [0.0, 1.0]), (None, 2.0), strict=True
    ):
        assert [row["msgs_per_sec"] for row in document["consumers"]] == [first, 2.0]
        assert [row["rate_share"] for row in document["consumers"]] == shares
        assert document["totals"]["msgs_per_sec"] == total
        (namespace,) = document["namespaces"]
        filled = sorted((root["msgs_per_sec"] is None, root["topics"]) for root in namespace["roots"] if root["topics"])
        assert filled == ([(False, 1), (True, 1)] if total is None else [(False, 1), (False, 1)])
        assert (namespace["msgs_per_sec"] is None) is (total is None)


def test_a_forecast_has_null_for_rates_that_no_answer_has(run: Run, tmp_path: Path) -> None:
    names = [f"persistent://t/n/x-partition-{at}" for at in range(4)]
    rates = {"msgRateOut": 1.0, "msgThroughputIn": 1.0, "msgThroughputOut": 1.0}
    (tmp_path / "a.json").write_text(json.dumps(
        {name: {"subscriptions": {}, "publishers": [], "msgRateIn": 4.0, **(rates if at else {})}
         for at, name in enumerate(names)}
    ))  # fmt: skip
    (tmp_path / "t-n-bundles.json").write_text(json.dumps({"boundaries": ["0x00000000", "0x80000000", "0xffffffff"]}))
    document = json.loads(run("forecast", ".", "--json").out)
    jsonschema.validate(document, schema_of("bundles"))
    assert ([each["error"] for each in document["problems"]], document["msgs_per_sec"]) == (["RatesUnknown"], None)
    rows = {row["bundle"]: (row["topics"], row["msgs_per_sec"], row["bytes_per_sec"]) for row in document["now"]}
    assert rows == {"0x00000000_0x80000000": (2, None, None), "0x80000000_0xffffffff": (3, 10.0, 4.0)}


def test_a_diagnosis_without_a_backlog_has_none(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(LACKING))
    document = json.loads(run("why", "a.json", "--all", "--json").out)
    jsonschema.validate(document, schema_of("why"))
    assert {each["subscription"]: each["backlog"] for each in document["subscriptions"]} == {"s": None, "f": 4}


@pytest.mark.parametrize("rate", [None, 0.0, 2.5])
def test_a_rate_of_0_is_a_rate(rate: float | None) -> None:
    value = {"msgRateIn": rate} if rate is not None else {}
    snapshot = read_moments(AnswerFile("a.json", json.dumps({TOPIC: {"publishers": [], **value}}).encode()))[0].snapshot
    facts = snapshot.topics[TOPIC]
    assert (facts.msg_rate_in_msgs_per_sec, facts.publishers) == (rate, 0)
    assert facts.storage_size_bytes is None
