"""Known faults of Pulsar are named where release and symptom fit, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from engine.config import release_of
from engine.diagnosis.causes.stalled import UNEXPLAINED
from engine.diagnosis.findings import findings_of
from engine.diagnosis.known_bugs import KNOWN_BUGS, looks_like
from engine.diagnosis.model import Cause, Diagnosis, Verdict
from engine.diagnosis.seen import SubscriptionSeen, subscriptions_seen
from engine.diagnosis.why import DECIDERS
from engine.documents import document
from engine.releases import Release
from tests.engine.diagnosis.answers import Stats, consumer, diagnosed, moments, stats, stats_path

VERSION = "admin/v2/brokers/version"


def release(text: str) -> Release:
    parsed = release_of(text)
    assert isinstance(parsed, Release)
    return parsed


def issues(diagnosis: Diagnosis) -> list[str]:
    return [bug.issue for bug in diagnosis.causes[0].looks_like]


def seen_of(shown: Stats, version: str) -> SubscriptionSeen:
    (seen,) = subscriptions_seen(moments({stats_path(): shown, VERSION: version}, {stats_path(): shown}))
    return seen


def named(shown: Stats, version: str, cause: str, symptom: str = "") -> list[str]:
    """The faults that a cause of this id looks like, whoever decides it."""
    found = Cause(cause, Verdict.BLOCKS, "nothing is sent", "persistent://t/n/x", symptom=symptom)
    return [bug.issue for bug in looks_like(found, seen_of(shown, version))]


def test_a_failover_stall_looks_like_its_fault_up_to_the_release_that_mends_it() -> None:
    shown = stats("Failover", [consumer("a"), consumer("b")], activeConsumerName="a", msgBacklog=70_000)
    for version, expected in [("4.0.12", ["#26174"]), ("4.0.13", []), ("4.2.3", ["#26174"]), ("4.2.4", []),
                              ("4.1.3", ["#26174"]), ("5.0.1", [])]:  # fmt: skip
        result = diagnosed({stats_path(): shown, VERSION: version}, {stats_path(): shown})
        assert result.causes[0].id == "failover_active_not_served"
        assert issues(result) == expected, version


def test_the_releases_that_mend_it_and_what_to_attach_are_in_document_and_finding() -> None:
    shown = stats("Failover", [consumer("a"), consumer("b")], activeConsumerName="a", msgBacklog=70_000)
    result = diagnosed({stats_path(): shown, VERSION: "4.0.12"}, {stats_path(): shown})
    (bug,) = document(result)["causes"][0]["looks_like"]
    assert (bug["issue"], bug["mended_in"]) == ("#26174", ["4.0.13", "4.2.4", "5.0.0-M2"])
    assert bug["attach"]
    (finding,) = [one for one in findings_of([result]) if one.rule == "failover_active_not_served"]
    assert "#26174" in finding.advice


def test_where_nothing_shows_the_release_a_fault_needs_a_symptom_of_its_own() -> None:
    shown = stats("Failover", [consumer("a"), consumer("b")], activeConsumerName="a", msgBacklog=70_000)
    assert issues(diagnosed({stats_path(): shown}, {stats_path(): shown})) == []
    (seen,) = subscriptions_seen(moments({stats_path(): stats("Shared", [consumer("a")], msgBacklog=9)}))
    for symptom, expected in [("read-without-cursor", ["#26454"]), ("", [])]:
        found = Cause("dispatcher_stalled", Verdict.BLOCKS, "nothing is sent", "persistent://t/n/x", symptom=symptom)
        assert [bug.issue for bug in looks_like(found, seen)] == expected


@pytest.mark.parametrize(("position", "expected"), [("28:0", ["#21199"]), ("", [])])
def test_an_inferred_range_names_a_fault_that_some_of_its_releases_have(position: str, expected: list[str]) -> None:
    shown = stats("Key_Shared", [consumer("a", readPositionWhenJoining=position)], msgBacklog=9)
    (seen,) = subscriptions_seen(moments({stats_path(): shown}))
    found = Cause("keyshared_recently_joined", Verdict.BLOCKS, "nothing is sent", "persistent://t/n/x")
    assert [bug.issue for bug in looks_like(found, seen)] == expected


@pytest.mark.parametrize(
    ("kind", "version", "symptom", "more", "expected"),
    [
        ("Shared", "4.0.12", "read-without-cursor", {}, ["#26454"]),
        ("Shared", "4.0.12", "", {}, []),
        ("Shared", "4.0.12", "nobody-reads", {}, ["#24926"]),
        ("Shared", "5.0.0", "nobody-reads", {}, []),
        ("Key_Shared", "4.2.5", "nobody-reads", {}, ["#26635"]),
        ("Key_Shared", "4.0.12", "", {"msgDelayed": 3}, ["#26236"]),
        ("Key_Shared", "4.0.13", "", {"msgDelayed": 3}, []),
        ("Key_Shared", "3.3.6", "", {"msgDelayed": 3}, []),
        ("Key_Shared", "4.2.4", "", {"allowOutOfOrderDelivery": True, "msgInReplay": 5}, ["#26268"]),
        ("Key_Shared", "4.2.4", "", {"allowOutOfOrderDelivery": False, "msgInReplay": 5}, []),
        ("Exclusive", "3.0.7", "read-without-cursor", {}, ["#24697"]),
        ("Exclusive", "4.0.12", "read-waits-behind", {}, ["#26174"]),
    ],
)
def test_a_stalled_dispatcher_looks_like_what_its_symptom_and_release_fit(
    kind: str, version: str, symptom: str, more: dict[str, Any], expected: list[str]
) -> None:
    shown = stats(kind, [consumer("a")], msgBacklog=100, **more)
    assert named(shown, version, "dispatcher_stalled", symptom) == expected


@pytest.mark.parametrize(("permits", "expected"), [(-177_300, ["#26288"]), (-43, []), (0, [])])
def test_permits_far_below_zero_are_lost_and_a_few_are_a_batch(permits: int, expected: list[str]) -> None:
    shown = stats("Shared", [consumer("a", availablePermits=permits)], msgBacklog=100)
    assert named(shown, "4.0.12", "no_permits") == expected
    assert named(shown, "4.0.14", "no_permits") == []


def test_a_slot_that_drains_for_its_own_owner() -> None:
    def shown(owner: str) -> Stats:
        ranges = {"a": [[0, 32_767]], "b": [[32_768, 65_535]]}
        holder = consumer("a", unackedMessages=1, drainingHashes=[{"hash": 7 if owner == "a" else 40_000}])
        return stats("Key_Shared", [holder | {"keyHashRangeArrays": ranges["a"]},
                                    consumer("b", keyHashRangeArrays=ranges["b"])], msgBacklog=9)  # fmt: skip

    assert named(shown("a"), "4.0.6", "keyshared_draining") == ["#23845"]
    assert named(shown("a"), "4.0.7", "keyshared_draining") == []
    assert named(shown("b"), "4.0.6", "keyshared_draining") == []


def test_consumers_that_joined_recently_are_mended_by_4_0() -> None:
    shown = stats("Key_Shared", [consumer("a")], msgBacklog=9)
    assert named(shown, "3.3.6", "keyshared_recently_joined") == ["#21199"]
    assert named(shown, "4.0.0", "keyshared_recently_joined") == []


def test_positions_of_joining_that_are_out_of_order() -> None:
    def shown(*positions: str) -> Stats:
        joined = {f"c-{number}": position for number, position in enumerate(positions)}
        return stats("Key_Shared", [consumer("a")], msgBacklog=9, consumersAfterMarkDeletePosition=joined)

    swapped, ordered = shown("104142:122103", "104046:283984"), shown("104046:283984", "104142:122103")
    assert named(swapped, "3.0.7", "keyshared_recently_joined") == ["#23802", "#21199"]
    assert named(ordered, "3.0.7", "keyshared_recently_joined") == ["#21199"]
    assert named(swapped, "3.0.9", "keyshared_recently_joined") == ["#21199"]


@pytest.mark.parametrize(
    ("version", "per_entry", "expected"),
    [("3.0.2", 100, ["#22090", "#23805"]), ("4.0.2", 100, ["#23805"]), ("4.0.2", 1, [])],
)
def test_counts_below_zero_of_consumers_that_get_batches(version: str, per_entry: int, expected: list[str]) -> None:
    held = consumer("a", unackedMessages=-1, avgMessagesPerEntry=per_entry)
    shown = stats("Shared", [held], msgBacklog=9, unackedMessages=0)
    assert named(shown, version, "counts_do_not_add_up", "counts_do_not_add_up") == expected


def test_every_cause_of_a_fault_is_decided_somewhere() -> None:
    known = {decider.id for decider in DECIDERS} | {UNEXPLAINED}
    assert {cause for bug in KNOWN_BUGS for cause in bug.causes} <= known


def test_a_consumer_that_is_blocked_and_holds_nothing() -> None:
    blocked = consumer("a", blockedConsumerOnUnackedMsgs=True)
    assert named(stats("Shared", [blocked], msgBacklog=9), "4.0.2", "consumer_unacked_limit") == ["#22657"]
    assert named(stats("Shared", [blocked], msgBacklog=9), "4.0.3", "consumer_unacked_limit") == []
    holds = stats("Shared", [blocked | {"unackedMessages": 40}], msgBacklog=9)
    assert named(holds, "4.0.2", "consumer_unacked_limit") == []


def test_every_fault_affects_a_release_and_none_of_those_that_mend_it() -> None:
    assert len({bug.issue for bug in KNOWN_BUGS}) == len(KNOWN_BUGS)
    for bug in KNOWN_BUGS:
        assert any(bug.affects(release(text)) for text in ("2.10.0", "3.0.4", "4.0.1")), bug.issue
        assert not any(bug.affects(first) for first in bug.mended), bug.issue
        assert all(not bug.affects(after(first)) for first in bug.mended), bug.issue


def after(first: Release) -> Release:
    return first._replace(patch=first.patch + 1, milestone=1_000)


def test_a_diagnosis_without_faults_says_none() -> None:
    result = diagnosed({stats_path(): stats("Shared", [consumer("a")]), VERSION: "4.0.12"})
    assert all(cause.looks_like == () for cause in result.causes)
    assert result.release.behaviour.label == "4.0.12"
