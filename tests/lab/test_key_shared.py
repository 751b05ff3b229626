"""Key_Shared scenarios as a whole: other releases and settings, other ways to record, odd and missing parts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.keyshared.admission import KeySharedMode, SubscriptionTerms, SubscriptionType, join_refusal
from tests.lab.compare import compare_folder
from tests.lab.facts import StepFact
from tests.lab.folder import recording
from tests.lab.key_shared.compare import LOST
from tests.lab.key_shared.joining import newcomer_terms
from tests.lab.key_shared.steps import KeySharedStep
from tests.lab.reports import counts, kinds, report_of

RING = "v4.0.7-c-keyshared-ring"


def test_receivers_of_a_ring_are_all_counted() -> None:
    """300 keys, sent five times; the ranges of each consumer in each of eight statistics."""
    compared = counts(report_of("c-keyshared-ring"))
    assert compared[StepFact.KEY_RECEIVER] == 5 * 300
    assert compared[StepFact.KEY_RANGES] == 1 + 2 + 3 + 4 + 4 + 3 + 2 + 3


def test_draining_hashes_are_all_counted() -> None:
    """55, 73, 73 and 36 of them drain; 37 and then 73 keys reach others than their first consumer."""
    compared = counts(report_of("c-keyshared-draining"))
    assert compared[StepFact.DRAINING_HASH] == 55 + 73 + 73 + 36
    assert compared[StepFact.KEY_RECEIVER] == 37 + 73
    assert compared[StepFact.DRAINING_BLOCKED] == 4


@pytest.mark.parametrize("release", ["v2.11.0", "v4.0.0", "v4.0.7"])
def test_keys_that_nobody_gets_are_counted_by_round(release: str) -> None:
    """A gap is stalled since 4.0.7; before, only what no consumer's end points enclose; 2.11.0 stops at the first.

    Five steps say what has not arrived: of 20, 26 and 14 keys without owner while one, two and three consumers are
    there 4.0.0 has 20, 20, 20 + 26, then 22, then 22 + 14; 2.11.0, which sends none of the others either, has all of
    them: 20, 26, 2 x 26, 2 x 14, 3 x 14. With gaps unserved it is 36, 33, 66, 42 and 63.
    """
    compared = counts(report_of(f"{release}-c-keyshared-sticky-gaps"))
    stalled = {"v2.11.0": 168, "v4.0.0": 144, "v4.0.7": 240}[release]
    assert compared[StepFact.KEY_WITHOUT_OWNER] == stalled
    assert (compared.get(StepFact.KEY_HELD_BACK, 0) > 0) == (release == "v2.11.0")


@pytest.mark.parametrize(
    ("name", "version", "expected"),
    [
        ("v3.0.2-c-keyshared-ring", "3.2.3", {StepFact.KEY_RANGES, StepFact.KEY_RECEIVER}),
        ("v3.2.3-c-keyshared-ring", "3.0.2", {StepFact.KEY_RANGES, StepFact.KEY_RECEIVER}),
        ("v3.2.3-c-keyshared-ring", "3.3.2", {StepFact.KEY_RANGES, StepFact.KEY_RECEIVER}),
        ("v3.3.6-c-keyshared-ring", "4.0.0", {StepFact.KEY_RANGES, StepFact.KEY_RECEIVER, StepFact.KEY_RANGES_FORM}),
        ("v4.0.0-c-keyshared-sticky-gaps", "4.0.7", {StepFact.KEY_WITHOUT_OWNER, StepFact.JOIN_ANSWER}),
        ("v4.0.7-c-keyshared-sticky-gaps", "4.0.0", {StepFact.KEY_RECEIVER, StepFact.JOIN_ANSWER}),
        ("v2.11.0-c-keyshared-sticky-gaps", "3.0.2", {StepFact.KEY_RECEIVER}),
        ("v3.0.2-c-keyshared-sticky-gaps", "2.11.0", {StepFact.KEY_HELD_BACK}),
    ],
)
def test_rules_of_another_release_fail_clearly(name: str, version: str, expected: set[StepFact]) -> None:
    differences = compare_folder(recording(name), version).differences
    assert expected <= kinds(differences)
    assert len(differences) > 20


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
def test_another_setting_fails_clearly(name: str, setting: str, value: str) -> None:
    folder = recording(name)

    def change(scenario: Any) -> None:
        scenario["broker_settings"][setting] = value

    differing = [difference.kind for difference in compare_folder(folder.with_scenario(change)).differences]
    assert differing.count(StepFact.KEY_RANGES) > 5
    assert differing.count(StepFact.KEY_RECEIVER) > 200


def test_points_that_no_ring_can_have_are_a_problem() -> None:
    folder = recording("c-keyshared-ring")

    def change(scenario: Any) -> None:
        scenario["broker_settings"]["subscriptionKeySharedConsistentHashingReplicaPoints"] = "0"

    report = compare_folder(folder.with_scenario(change))
    assert [problem.path for problem in report.problems] == ["$.broker_settings"]
    assert "needs 1 point or more" in report.problems[0].reason
    assert report.compared == 0


def test_who_is_connected_can_be_known_by_statistics_alone() -> None:
    """Without lists of who is connected the names in statistics show who came and went."""
    folder = recording("c-keyshared-ring")

    def change(scenario: Any) -> None:
        for step in scenario["steps"]:
            step.pop("connected", None)
            step["do"] = "something"
            received = step.get("received", {})
            step["received"] = {who.partition(":")[2]: keys for who, keys in received.items()}
            if not received:
                del step["received"]

    report = compare_folder(folder.with_scenario(change))
    assert report.agrees
    assert report.compared == report_of("c-keyshared-ring").compared


def test_namesakes_whose_coming_and_going_is_unknown_are_counted_and_not_compared() -> None:
    folder = recording(RING)

    def change(scenario: Any) -> None:
        for step in scenario["steps"]:
            step.pop("connected", None)
            step.pop("received", None)
            step["do"] = "something"

    report = compare_folder(folder.with_scenario(change))
    assert report.agrees
    assert report.not_compared[LOST] == 6


def test_sticky_ranges_that_are_unknown_are_counted_and_not_compared() -> None:
    folder = recording("c-keyshared-sticky-slot0")

    def change(scenario: Any) -> None:
        del scenario["accepted"]

    report = compare_folder(folder.with_scenario(change))
    assert (report.differences, report.compared) == ((), 0)
    assert report.not_compared[LOST] == 1


def test_a_consumer_that_leaves_and_comes_again_within_a_step_is_the_last() -> None:
    """The last two steps of the recording made one."""
    folder = recording("c-keyshared-autosplit")

    def change(scenario: Any) -> None:
        del scenario["steps"][7]

    report = compare_folder(folder.with_scenario(change))
    # ks-a left in the step that was taken out, so that now one leaves while another comes.
    assert report.agrees


def test_statistics_of_partitions_are_all_held_against_the_ring() -> None:
    """Every partition has a dispatcher of its own, with the same consumers and so with the same ranges."""
    folder = recording("c-keyshared-ring")
    topic = "persistent://ring/cckeysharedring/events"

    def change(scenario: Any) -> None:
        scenario["partitions"] = 2
        answer = scenario["steps"][5]["answers"][0]
        answer["request"] = answer["request"].replace("/stats", "/partitioned-stats?perPartition=true")

    one = json.loads(folder.files["06-stats.json"])
    whole = {"metadata": {"partitions": 2}, "partitions": {f"{topic}-partition-{n}": one for n in range(2)}}
    folder = folder.with_scenario(change).with_file("06-stats.json", json.dumps(whole))
    report = compare_folder(folder)
    assert report.agrees
    assert counts(report)[StepFact.KEY_RANGES] == 22 + 4

    def spoil(document: Any) -> None:
        consumers = document["partitions"][f"{topic}-partition-1"]["subscriptions"]["sub"]["consumers"]
        consumers[2]["keyHashRangeArrays"].pop()

    (difference,) = compare_folder(folder.edited("06-stats.json", spoil)).differences
    assert difference.subject == f"{topic}-partition-1 / sub / ks-c"


def test_consumers_that_a_request_left_out_are_not_missed() -> None:
    folder = recording("c-keyshared-ring-3points")

    def leave_out(document: Any) -> None:
        document["subscriptions"]["sub"]["consumers"] = []

    def ask_so(scenario: Any) -> None:
        scenario["steps"][4]["answers"][0]["request"] += "?excludeConsumers=true"

    assert compare_folder(folder.edited("05-stats.json", leave_out).with_scenario(ask_so)).agrees


def test_an_unreadable_draining_hash_is_a_problem_and_the_rest_is_compared() -> None:
    folder = recording("c-keyshared-draining")

    def change(document: Any) -> None:
        document["subscriptions"]["sub"]["consumers"][0]["drainingHashes"][2]["hash"] = "many"

    report = compare_folder(folder.edited("04-stats.json", change))
    assert [problem.path for problem in report.problems] == ["$.subscriptions.sub.consumers[0].drainingHashes[2].hash"]
    assert report.agrees
    assert counts(report)[StepFact.DRAINING_HASH] == 55 + 73 + 36


def test_a_missing_file_costs_only_its_facts() -> None:
    report = compare_folder(recording("c-keyshared-sticky").without("03-stats.json"))
    assert [problem.path for problem in report.problems] == ["03-stats.json"]
    assert report.agrees
    assert report.compared > 130


def test_odd_members_of_steps_count_as_absent() -> None:
    folder = recording("v4.0.7-c-keyshared-sticky-gaps")
    odd: list[Any] = [
        {"do": 7, "ranges": "all", "accepted": 3, "keys": None, "received": [], "delivered": {"s-a": 1}},
        {"ranges": [[1]], "earlier_now_received": {"s-a": [["0"]]}, "received_by_all": 5, "wire_result": []},
        {"received_by_gap": "k-1", "received_by_others": [1], "client_result": {}},
    ]

    def change(scenario: Any) -> None:
        scenario["steps"] += odd
        scenario["keys"] = "k"
        scenario["allow_out_of_order_delivery"] = "no"

    before = report_of(folder.name)
    after = compare_folder(folder.with_scenario(change))
    assert after.compared >= before.compared
    assert {difference.kind for difference in after.differences} <= {StepFact.JOIN_ANSWER}


def test_an_attempt_of_another_kind_of_consumer_is_refused_in_pulsars_words() -> None:
    """By type, mode and ordering, each as a step of its own."""
    folder = recording(RING)
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

    report = compare_folder(folder.with_scenario(change))
    assert (report.agrees, counts(report)[StepFact.JOIN_ANSWER]) == (True, 3)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (KeySharedStep(do="try a Shared consumer"), SubscriptionTerms(SubscriptionType.SHARED)),
        (KeySharedStep(do="try x", ranges=((1, 2),)), SubscriptionTerms(mode=KeySharedMode.STICKY)),
        (KeySharedStep(do="try x", any_order=True), SubscriptionTerms(allow_out_of_order_delivery=True)),
        (KeySharedStep(do="try x"), SubscriptionTerms()),
    ],
)
def test_the_terms_of_a_newcomer_are_read_from_the_step(step: KeySharedStep, expected: SubscriptionTerms) -> None:
    terms = newcomer_terms(SubscriptionTerms(), step)
    assert terms == expected
    assert (join_refusal(SubscriptionTerms(), terms) is None) == (terms == SubscriptionTerms())
