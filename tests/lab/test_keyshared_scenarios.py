"""Key_Shared scenarios as a whole: other releases and settings, other ways of telling, odd and missing parts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.keyshared.admission import KeySharedMode, SubscriptionTerms, SubscriptionType, join_refusal
from tests.lab import FactKind, VerifyReport, verify_folder
from tests.lab.copies import RECORDINGS, copy_of, edit
from tests.lab.key_shared.joining import newcomer_terms
from tests.lab.key_shared.steps import KeySharedTold

KEY_SHARED = sorted(folder.name for folder in RECORDINGS.iterdir() if "c-keyshared" in folder.name)
RING = "v4.0.7-c-keyshared-ring"


def _counts(report: VerifyReport) -> dict[FactKind, int]:
    return {tally.kind: tally.compared for tally in report.tallies}


def test_every_key_shared_scenario_is_compared_to_its_last_member() -> None:
    """Nothing that a step tells of Key_Shared stays uncounted, and every file of statistics is compared."""
    assert len(KEY_SHARED) == 52
    reasons: set[str] = set()
    for name in KEY_SHARED:
        report = verify_folder(RECORDINGS / name)
        reasons |= {what for what, _ in report.not_compared}
    assert reasons == {
        "internal statistics",
        "backlogs while messages are on their way",
        "messages that may go and had not arrived yet: before 4.0 a key without owner slows the others down",
        "totals of cleared hashes: messages on their way while consumers come and go",
    }


def test_the_settings_a_key_shared_recording_is_held_against_are_told() -> None:
    """Those that the scenario does not name have their defaults; a recording of another type tells none."""
    report = verify_folder(RECORDINGS / "c-keyshared-ring-3points")
    assert dict(report.key_shared_settings) == {
        "subscriptionKeySharedUseConsistentHashing": "true",
        "subscriptionKeySharedConsistentHashingReplicaPoints": "3",
        "subscriptionKeySharedUseClassicPersistentImplementation": "false",
    }
    assert verify_folder(RECORDINGS / "a-failover-3p-hash").key_shared_settings == ()


def test_receivers_of_a_ring_are_all_counted() -> None:
    """300 keys, sent five times; the ranges of each consumer in each of eight statistics."""
    counts = _counts(verify_folder(RECORDINGS / "c-keyshared-ring"))
    assert counts[FactKind.KEY_RECEIVER] == 5 * 300
    assert counts[FactKind.KEY_RANGES] == 1 + 2 + 3 + 4 + 4 + 3 + 2 + 3


def test_draining_hashes_are_all_counted() -> None:
    """55, 73, 73 and 36 of them drain; 37 and then 73 keys reach others than their first consumer."""
    counts = _counts(verify_folder(RECORDINGS / "c-keyshared-draining"))
    assert counts[FactKind.DRAINING_HASH] == 55 + 73 + 73 + 36
    assert counts[FactKind.KEY_RECEIVER] == 37 + 73
    assert counts[FactKind.DRAINING_BLOCKED] == 4


@pytest.mark.parametrize("release", ["v2.11.0", "v4.0.0", "v4.0.7"])
def test_keys_that_nobody_gets_are_counted_by_round(release: str) -> None:
    """A gap is stalled since 4.0.7; before, only what no consumer's end points enclose; 2.11.0 stops at the first.

    Five steps tell what has not arrived: of 20, 26 and 14 keys without owner while one, two and three consumers are
    there 4.0.0 has 20, 20, 20 + 26, then 22, then 22 + 14; 2.11.0, which sends none of the others either, has all of
    them: 20, 26, 2 x 26, 2 x 14, 3 x 14. With gaps unserved it is 36, 33, 66, 42 and 63.
    """
    counts = _counts(verify_folder(RECORDINGS / f"{release}-c-keyshared-sticky-gaps"))
    stalled = {"v2.11.0": 168, "v4.0.0": 144, "v4.0.7": 240}[release]
    assert counts[FactKind.KEY_WITHOUT_OWNER] == stalled
    assert (counts.get(FactKind.KEY_HELD_BACK, 0) > 0) == (release == "v2.11.0")


@pytest.mark.parametrize(
    ("name", "version", "kinds"),
    [
        ("v3.0.2-c-keyshared-ring", "3.2.3", {FactKind.KEY_RANGES, FactKind.KEY_RECEIVER}),
        ("v3.2.3-c-keyshared-ring", "3.0.2", {FactKind.KEY_RANGES, FactKind.KEY_RECEIVER}),
        ("v3.2.3-c-keyshared-ring", "3.3.2", {FactKind.KEY_RANGES, FactKind.KEY_RECEIVER}),
        ("v3.3.6-c-keyshared-ring", "4.0.0", {FactKind.KEY_RANGES, FactKind.KEY_RECEIVER, FactKind.KEY_RANGES_FORM}),
        ("v4.0.0-c-keyshared-sticky-gaps", "4.0.7", {FactKind.KEY_WITHOUT_OWNER, FactKind.JOIN_ANSWER}),
        ("v4.0.7-c-keyshared-sticky-gaps", "4.0.0", {FactKind.KEY_RECEIVER, FactKind.JOIN_ANSWER}),
        ("v2.11.0-c-keyshared-sticky-gaps", "3.0.2", {FactKind.KEY_RECEIVER}),
        ("v3.0.2-c-keyshared-sticky-gaps", "2.11.0", {FactKind.KEY_HELD_BACK}),
    ],
)
def test_rules_of_another_release_fail_clearly(name: str, version: str, kinds: set[FactKind]) -> None:
    report = verify_folder(RECORDINGS / name, version)
    assert kinds <= {each.kind for each in report.differences}
    assert len(report.differences) > 20


@pytest.mark.parametrize(
    ("name", "setting", "value"),
    [
        ("c-keyshared-ring", "subscriptionKeySharedUseConsistentHashing", "false"),
        ("c-keyshared-autosplit", "subscriptionKeySharedUseConsistentHashing", "true"),
        ("c-keyshared-ring-3points", "subscriptionKeySharedConsistentHashingReplicaPoints", "4"),
        ("c-keyshared-ring-classic", "subscriptionKeySharedUseClassicPersistentImplementation", "false"),
        ("c-keyshared-ring", "subscriptionKeySharedUseClassicPersistentImplementation", "true"),
    ],
)
def test_another_setting_fails_clearly(tmp_path: Path, name: str, setting: str, value: str) -> None:
    folder = copy_of(name, tmp_path)

    def change(scenario: Any) -> None:
        scenario["broker_settings"][setting] = value

    edit(folder, "scenario.json", change)
    kinds = [each.kind for each in verify_folder(folder).differences]
    assert kinds.count(FactKind.KEY_RANGES) > 5
    assert kinds.count(FactKind.KEY_RECEIVER) > 200


def test_points_that_no_ring_can_have_are_a_problem(tmp_path: Path) -> None:
    folder = copy_of("c-keyshared-ring", tmp_path)

    def change(scenario: Any) -> None:
        scenario["broker_settings"]["subscriptionKeySharedConsistentHashingReplicaPoints"] = "0"

    edit(folder, "scenario.json", change)
    report = verify_folder(folder)
    assert [problem.path for problem in report.problems] == ["$.broker_settings"]
    assert "needs 1 point or more" in report.problems[0].reason
    assert report.exit_code == 2


def test_who_is_connected_can_be_told_by_statistics_alone(tmp_path: Path) -> None:
    """Without lists of who is connected the names in statistics tell who came and went."""
    folder = copy_of("c-keyshared-ring", tmp_path)

    def change(scenario: Any) -> None:
        for step in scenario["steps"]:
            step.pop("connected", None)
            step["do"] = "something"
            received = step.get("received", {})
            step["received"] = {who.partition(":")[2]: keys for who, keys in received.items()}
            if not received:
                del step["received"]

    edit(folder, "scenario.json", change)
    report = verify_folder(folder)
    assert report.exit_code == 0
    assert report.compared == verify_folder(RECORDINGS / "c-keyshared-ring").compared


def test_namesakes_whose_coming_and_going_nothing_tells_are_counted_and_not_compared(tmp_path: Path) -> None:
    folder = copy_of(RING, tmp_path)

    def change(scenario: Any) -> None:
        for step in scenario["steps"]:
            step.pop("connected", None)
            step.pop("received", None)
            step["do"] = "something"

    edit(folder, "scenario.json", change)
    report = verify_folder(folder)
    assert report.exit_code == 0
    lost = "Key_Shared statistics where the steps do not tell who came and went, or with which ranges"
    assert dict(report.not_compared)[lost] == 6


def test_sticky_ranges_that_nothing_tells_are_counted_and_not_compared(tmp_path: Path) -> None:
    folder = copy_of("c-keyshared-sticky-slot0", tmp_path)

    def change(scenario: Any) -> None:
        del scenario["accepted"]

    edit(folder, "scenario.json", change)
    report = verify_folder(folder)
    assert (report.differences, report.exit_code) == ((), 2)
    assert sum(count for what, count in report.not_compared if what.startswith("Key_Shared")) == 1


def test_a_consumer_that_leaves_and_comes_again_within_a_step_stands_at_the_end(tmp_path: Path) -> None:
    """The last two steps of the recording made one."""
    folder = copy_of("c-keyshared-autosplit", tmp_path)

    def change(scenario: Any) -> None:
        del scenario["steps"][7]

    edit(folder, "scenario.json", change)
    report = verify_folder(folder)
    # ks-a left in the step that was taken out, so that now one leaves while another comes.
    assert report.exit_code == 0


def test_statistics_of_partitions_are_all_held_against_the_ring(tmp_path: Path) -> None:
    """Every partition has a dispatcher of its own, with the same consumers and so with the same ranges."""
    folder = copy_of("c-keyshared-ring", tmp_path)
    topic = "persistent://ring/cckeysharedring/events"

    def change(scenario: Any) -> None:
        scenario["partitions"] = 2
        answer = scenario["steps"][5]["answers"][0]
        answer["request"] = answer["request"].replace("/stats", "/partitioned-stats?perPartition=true")

    edit(folder, "scenario.json", change)
    one = json.loads((folder / "06-stats.json").read_text())
    whole = {"metadata": {"partitions": 2}, "partitions": {f"{topic}-partition-{n}": one for n in range(2)}}
    (folder / "06-stats.json").write_text(json.dumps(whole))
    report = verify_folder(folder)
    assert report.exit_code == 0
    assert _counts(report)[FactKind.KEY_RANGES] == 22 + 4

    def spoil(document: Any) -> None:
        consumers = document["partitions"][f"{topic}-partition-1"]["subscriptions"]["sub"]["consumers"]
        consumers[2]["keyHashRangeArrays"].pop()

    edit(folder, "06-stats.json", spoil)
    (found,) = verify_folder(folder).differences
    assert found.subject == f"{topic}-partition-1 / sub / ks-c"


def test_consumers_that_a_request_left_out_are_not_missed(tmp_path: Path) -> None:
    folder = copy_of("c-keyshared-ring-3points", tmp_path)

    def leave_out(document: Any) -> None:
        document["subscriptions"]["sub"]["consumers"] = []

    def ask_so(scenario: Any) -> None:
        scenario["steps"][4]["answers"][0]["request"] += "?excludeConsumers=true"

    edit(folder, "05-stats.json", leave_out)
    edit(folder, "scenario.json", ask_so)
    assert verify_folder(folder).exit_code == 0


def test_an_unreadable_draining_hash_is_a_problem_and_the_rest_is_compared(tmp_path: Path) -> None:
    folder = copy_of("c-keyshared-draining", tmp_path)

    def change(document: Any) -> None:
        document["subscriptions"]["sub"]["consumers"][0]["drainingHashes"][2]["hash"] = "many"

    edit(folder, "04-stats.json", change)
    report = verify_folder(folder)
    assert [problem.path for problem in report.problems] == ["$.subscriptions.sub.consumers[0].drainingHashes[2].hash"]
    assert report.exit_code == 0
    assert _counts(report)[FactKind.DRAINING_HASH] == 55 + 73 + 36


def test_a_missing_file_costs_only_its_facts(tmp_path: Path) -> None:
    folder = copy_of("c-keyshared-sticky", tmp_path)
    (folder / "03-stats.json").unlink()
    report = verify_folder(folder)
    assert [problem.path for problem in report.problems] == ["03-stats.json"]
    assert report.exit_code == 0
    assert report.compared > 130


def test_odd_members_of_steps_count_as_absent(tmp_path: Path) -> None:
    folder = copy_of("v4.0.7-c-keyshared-sticky-gaps", tmp_path)
    odd: list[Any] = [
        {"do": 7, "ranges": "all", "accepted": 3, "keys": None, "received": [], "delivered": {"s-a": 1}},
        {"ranges": [[1]], "earlier_now_received": {"s-a": [["0"]]}, "received_by_all": 5, "wire_result": []},
        {"received_by_gap": "k-1", "received_by_others": [1], "client_result": {}},
    ]

    def change(scenario: Any) -> None:
        scenario["steps"] += odd
        scenario["keys"] = "k"
        scenario["allow_out_of_order_delivery"] = "no"

    edit(folder, "scenario.json", change)
    before = verify_folder(RECORDINGS / folder.name)
    after = verify_folder(folder)
    assert after.compared >= before.compared
    assert {each.kind for each in after.differences} <= {FactKind.JOIN_ANSWER}


def test_an_attempt_of_another_kind_of_consumer_is_refused_in_pulsars_words(tmp_path: Path) -> None:
    """By type, mode and ordering, each as a step of its own."""
    folder = copy_of(RING, tmp_path)
    begin = "Subscription is of different type. Active subscription"
    texts = {
        "try a Failover consumer": f"{begin} type of 'Key_Shared' is different than the connecting consumer's type "
        "'Failover'.",
        "try a STICKY consumer": f"{begin} key_shared mode of 'AUTO_SPLIT' is different than the connecting consumer's "
        "key_shared mode 'STICKY'.",
        "try out-of-order": f"{begin} does not allow out of order delivery while the connecting consumer allows it.",
    }
    tried = [
        {"do": do, "answers": [], "wire_result": {"error": "ConsumerBusy", "message": text}}
        for do, text in texts.items()
    ]

    def change(scenario: Any) -> None:
        scenario["steps"] += tried

    edit(folder, "scenario.json", change)
    report = verify_folder(folder)
    assert (report.exit_code, _counts(report)[FactKind.JOIN_ANSWER]) == (0, 3)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (KeySharedTold(do="try a Shared consumer"), SubscriptionTerms(SubscriptionType.SHARED)),
        (KeySharedTold(do="try x", ranges=((1, 2),)), SubscriptionTerms(mode=KeySharedMode.STICKY)),
        (KeySharedTold(do="try x", any_order=True), SubscriptionTerms(allow_out_of_order_delivery=True)),
        (KeySharedTold(do="try x"), SubscriptionTerms()),
    ],
)
def test_the_terms_of_a_newcomer_are_read_from_the_step(told: KeySharedTold, expected: SubscriptionTerms) -> None:
    terms = newcomer_terms(SubscriptionTerms(), told)
    assert terms == expected
    assert (join_refusal(SubscriptionTerms(), terms) is None) == (terms == SubscriptionTerms())


@pytest.mark.parametrize("name", ["c-keyshared-ring", "c-keyshared-sticky", RING, "v2.11.0-c-keyshared-ring"])
def test_without_a_scenario_no_slot_may_be_two_consumers(tmp_path: Path, name: str) -> None:
    """In the oldest ring namesakes have the same ranges, and that is right."""
    folder = copy_of(name, tmp_path)
    (folder / "scenario.json").unlink()
    report = verify_folder(folder)
    assert (report.exit_code, _counts(report)) == (0, {FactKind.KEY_RANGES_APART: report.compared})
    file = next(file.name for file in sorted(folder.iterdir()) if file.name.startswith("04-"))

    def overlap(document: Any) -> None:
        first, second = document["subscriptions"]["sub"]["consumers"][:2]
        member = "keyHashRangeArrays" if "keyHashRangeArrays" in first else "keyHashRanges"
        if member == "keyHashRangeArrays":
            end = first[member][-1][1]
            second[member].append([end, end + 1])
        else:
            end = int(first[member][-1].strip("[]").split(", ")[1])
            second[member].append(f"[{end}, {end + 1}]")

    edit(folder, file, overlap)
    found = verify_folder(folder).differences
    assert [(each.kind, each.file) for each in found] == [(FactKind.KEY_RANGES_APART, file)]
