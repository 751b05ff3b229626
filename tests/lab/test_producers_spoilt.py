"""Every kind of fact about producers that is spoilt is found, with its place and both sides."""

from __future__ import annotations

from typing import Any

import pytest

from engine.routing.clients import CPP_DEFAULT, partition_of
from engine.verify.report import FactKind
from tests.engine.routing.walks import partition_of_key
from tests.lab.compare import compare_folder
from tests.lab.facts import StepFact
from tests.lab.folder import recording
from tests.lab.reports import counts, kinds, spoilt

FULL, BYNAME = "e-pip79-6p", "e-pip79-6p-byname"
OLDEST, RATES = "v2.11.0-e-pip79-6p", "v4.0.7-e-pip79-6p"


def _partition(document: Any, index: int) -> Any:
    return next(one for name, one in document["partitions"].items() if name.endswith(f"-partition-{index}"))


@pytest.mark.parametrize("member", ["msgRateIn", "msgThroughputIn", "msgInCounter", "bytesInCounter", "storageSize"])
def test_another_sum_is_found(member: str) -> None:
    def change(document: Any) -> None:
        document[member] += 1

    (difference,) = spoilt(RATES, "03-partitioned-stats.json", change)
    assert (difference.kind, difference.file, difference.moment) == (
        FactKind.PARTITIONED_SUM,
        "03-partitioned-stats.json",
        "3",
    )
    assert difference.recorded != difference.modelled


@pytest.mark.parametrize("name", [OLDEST, RATES])
@pytest.mark.parametrize(
    ("member", "kind"),
    [
        ("msgRateIn", FactKind.PUBLISHER_SUM),
        ("msgThroughputIn", FactKind.PUBLISHER_SUM),
        ("averageMsgSize", FactKind.PUBLISHER_AVERAGE),
    ],
)
def test_another_number_of_a_publisher_entry_is_found(name: str, member: str, kind: FactKind) -> None:
    def change(document: Any) -> None:
        document["publishers"][1][member] *= 1.001

    (difference,) = spoilt(name, "03-partitioned-stats.json", change)
    assert (difference.kind, difference.subject.rpartition(", ")[2]) == (kind, "publisher entry 2")


def test_an_average_weighted_by_messages_is_found() -> None:
    """What one would expect of an average, and what Pulsar does not do."""

    def change(document: Any) -> None:
        document["averageMsgSize"] = document["msgThroughputIn"] / document["msgRateIn"]

    (difference,) = spoilt(RATES, "03-partitioned-stats.json", change)
    assert difference.kind is FactKind.PARTITIONED_AVERAGE


def test_publishers_added_too_often_are_found_in_a_release_that_adds_them_once() -> None:
    report = compare_folder(recording(OLDEST), "3.0.2")
    assert [(difference.kind, difference.moment) for difference in report.differences] == [
        (FactKind.PUBLISHER_ENTRIES, "2"),
        (FactKind.PUBLISHER_ENTRIES, "3"),
    ]


@pytest.mark.parametrize("spoil", ["one fewer", "named", "flagged"])
def test_another_list_of_publishers_is_found(spoil: str) -> None:
    def change(document: Any) -> None:
        publishers = document["publishers"]
        if spoil == "one fewer":
            publishers.pop()
        elif spoil == "named":
            publishers[0]["producerName"] = "feed-a"
        else:
            publishers[0]["supportsPartialProducer"] = True

    (difference,) = spoilt(RATES, "03-partitioned-stats.json", change)
    assert (difference.kind, difference.modelled) == (
        FactKind.PUBLISHER_ENTRIES,
        "without a name, without a name, without a name",
    )


@pytest.mark.parametrize("name", [BYNAME, "v3.0.2-e-pip79-6p-byname"])
def test_named_publishers_merged_by_position_are_found(name: str) -> None:
    file = "16-partitioned-stats.json" if name == BYNAME else "05-partitioned-stats.json"

    def change(document: Any) -> None:
        for publisher in document["publishers"]:
            publisher["supportsPartialProducer"] = False
            del publisher["producerName"]
        del document["publishers"][2:]

    (difference,) = spoilt(name, file, change)
    assert difference.kind is FactKind.PUBLISHER_ENTRIES
    assert difference.modelled.startswith("alpha (partial), beta (partial), standalone-0-")


@pytest.mark.parametrize("value", ["true", "false"])
def test_another_setting_for_merging_by_name_is_found(value: str) -> None:
    name = FULL if value == "true" else BYNAME

    def change(scenario: Any) -> None:
        scenario["broker_settings"]["aggregatePublisherStatsByProducerName"] = value

    differences = spoilt(name, "scenario.json", change)
    assert kinds(differences) == {StepFact.PRODUCER_FLAG}
    assert {difference.moment for difference in differences} == {"16"}


@pytest.mark.parametrize("spoil", ["opened", "not opened", "another name"])
@pytest.mark.parametrize(("name", "step"), [(FULL, 4), (BYNAME, 8), (FULL, 13), (BYNAME, 16)])
def test_another_producer_at_a_partition_is_found(name: str, step: int, spoil: str) -> None:
    file = f"{step:02}-partitioned-stats.json"

    def change(document: Any) -> None:
        partitions = [one["publishers"] for _, one in sorted(document["partitions"].items())]
        full = next(partition for partition in partitions if partition)
        if spoil == "opened":
            empty = next((partition for partition in partitions if not partition), partitions[-1])
            empty.append({**full[0], "producerName": "lazy-x"})
        elif spoil == "not opened":
            full.pop(0)
        else:
            full[0]["producerName"] = "aaa"

    differences = spoilt(name, file, change)
    assert StepFact.PRODUCER_PARTITIONS in kinds(differences)
    assert kinds(differences) <= {
        StepFact.PRODUCER_PARTITIONS,
        FactKind.PUBLISHER_ENTRIES,
        FactKind.PUBLISHER_SUM,
        FactKind.PUBLISHER_AVERAGE,
    }
    assert {difference.moment for difference in differences} == {str(step)}


def test_a_lazy_producer_that_starts_at_two_partitions_is_found() -> None:
    def change(document: Any) -> None:
        publishers = [one["publishers"] for one in document["partitions"].values()]
        there = next(publisher for publisher in publishers if publisher)
        next(publisher for publisher in publishers if not publisher).append(there[0])

    differences = spoilt(FULL, "02-partitioned-stats.json", change)
    assert StepFact.PRODUCER_PARTITIONS in kinds(differences)


def test_an_eager_producer_recorded_as_a_lazy_one_is_found() -> None:
    def change(scenario: Any) -> None:
        scenario["steps"][9]["options"]["lazy_start_partitioned_producers"] = True

    differences = spoilt(FULL, "scenario.json", change)
    assert kinds(differences) == {StepFact.PRODUCER_PARTITIONS}
    assert {difference.moment for difference in differences} >= {"10", "11"}


@pytest.mark.parametrize("mode", ["Shared", "Exclusive"])
def test_another_access_mode_is_found(mode: str) -> None:
    step = 13 if mode == "Shared" else 10

    def change(document: Any) -> None:
        _partition(document, 3)["publishers"][0]["accessMode"] = mode

    (difference,) = spoilt(FULL, f"{step}-partitioned-stats.json", change)
    assert (difference.kind, difference.recorded) == (StepFact.PRODUCER_ACCESS_MODE, mode)


def test_a_shared_producer_let_in_beside_an_exclusive_one_is_found() -> None:
    def change(scenario: Any) -> None:
        del scenario["steps"][13]["client_result"]

    (difference,) = spoilt(FULL, "scenario.json", change)
    assert (difference.kind, difference.recorded, difference.modelled) == (
        StepFact.PRODUCER_ANSWER,
        "accepted",
        "ProducerBusy",
    )
    assert "exclusive producer: lazy-excl" in difference.rule


def test_a_refusal_of_a_producer_that_should_be_let_in_is_found() -> None:
    def change(scenario: Any) -> None:
        scenario["steps"][9]["client_result"] = "ProducerBusy: no"

    differences = spoilt(FULL, "scenario.json", change)
    assert (differences[0].kind, differences[0].recorded, differences[0].modelled) == (
        StepFact.PRODUCER_ANSWER,
        "ProducerBusy",
        "accepted",
    )


def test_another_name_in_the_client_is_found() -> None:
    def change(scenario: Any) -> None:
        scenario["steps"][10]["producer_name"] = "standalone-0-3"

    (difference,) = spoilt(FULL, "scenario.json", change)
    assert (difference.kind, difference.modelled) == (StepFact.PRODUCER_NAME, "standalone-0-0")


def test_a_generated_name_that_comes_again_is_found() -> None:
    """Brokers count the names they give: step 16 cannot have those of step 15, or of before."""

    def change(document: Any) -> None:
        _partition(document, 2)["publishers"][1]["producerName"] = "standalone-0-1"

    differences = spoilt(FULL, "16-partitioned-stats.json", change)
    assert StepFact.PRODUCER_NAME in kinds(differences) or StepFact.PRODUCER_PARTITIONS in kinds(differences)


@pytest.mark.parametrize(("name", "key"), [("e-key-routing-6p", "k7"), ("e-key-routing-6p", "日本"), (OLDEST, "k3")])
def test_a_key_in_another_partition_is_found(name: str, key: str) -> None:
    """Java would hash it to another one."""

    def change(scenario: Any) -> None:
        keys = next(step["key_to_partition"] for step in scenario["steps"] if "key_to_partition" in step)
        keys[key] = (keys[key] + 1) % 6

    differences = spoilt(name, "scenario.json", change)
    assert (differences[0].kind, differences[0].subject) == (StepFact.KEY_PARTITION, f"key {key!r}")
    assert kinds(differences[1:]) <= {StepFact.PARTITION_MESSAGES}


def test_keys_recorded_as_the_java_clients_are_found_to_be_of_another() -> None:
    """The two hash differently: of 48 keys most are elsewhere, and the empty one is a key for Java and C++."""

    def change(scenario: Any) -> None:
        scenario["client"] = "pulsar-client 4.2.4 (Java)"

    differences = spoilt("e-key-routing-6p", "scenario.json", change)
    assert sum(difference.kind is StepFact.KEY_PARTITION for difference in differences) > 30
    assert "JavaStringHash of the Java client" in differences[0].rule


@pytest.mark.parametrize(("client", "scheme"), [("Java", "JavaStringHash"), ("Java", "Murmur3_32Hash"), ("C++", None)])
def test_keys_are_held_to_the_scheme_that_the_client_was_given(client: str, scheme: str | None) -> None:
    """The same 49 keys as another client would send them: the empty one is a key for Java and C++."""
    folder = recording("e-key-routing-6p")

    def change(scenario: Any) -> None:
        keys = scenario["steps"][1]["key_to_partition"]
        scenario["client"] = client
        scenario["steps"][1]["options"] = {"hashing_scheme": scheme}
        if scheme is not None:
            keys.update({key: partition_of_key(key, scheme, 6) for key in keys})
        else:
            keys[""] = partition_of("", CPP_DEFAULT, 6)

    report = compare_folder(folder.with_scenario(change))
    keys = next(tally for tally in report.tallies if tally.kind is StepFact.KEY_PARTITION)
    assert keys.agree == keys.compared == 49


def test_a_message_out_of_turn_is_found() -> None:
    def change(scenario: Any) -> None:
        order = scenario["steps"][2]["partitions_in_order"]
        order[4], order[5] = order[5], order[4]

    differences = spoilt("e-key-routing-6p", "scenario.json", change)
    assert [(difference.kind, difference.subject) for difference in differences] == [
        (StepFact.KEYLESS_PARTITION, "message 5 of step 3"),
        (StepFact.KEYLESS_PARTITION, "message 6 of step 3"),
    ]


def test_a_message_id_of_another_partition_is_found() -> None:
    def change(scenario: Any) -> None:
        scenario["steps"][5]["message_id"] = "(6,0,1,-1)"

    (difference,) = spoilt(FULL, "scenario.json", change)
    assert (difference.kind, difference.recorded, difference.moment) == (StepFact.KEYLESS_PARTITION, "1", "6")


@pytest.mark.parametrize(("name", "file"), [(FULL, "04"), (BYNAME, "09"), ("e-key-routing-6p", "02")])
def test_a_message_too_many_is_found(name: str, file: str) -> None:
    def change(document: Any) -> None:
        _partition(document, 5)["msgInCounter"] += 1
        document["msgInCounter"] += 1

    (difference,) = spoilt(name, f"{file}-partitioned-stats.json", change)
    assert difference.kind is StepFact.PARTITION_MESSAGES
    assert int(difference.recorded) == int(difference.modelled) + 1


@pytest.mark.parametrize("spoil", ["count", "name", "backlog"])
def test_another_subscription_in_the_aggregate_is_found(spoil: str) -> None:
    def change(document: Any) -> None:
        subscription = document["subscriptions"]["sub"]
        if spoil == "count":
            subscription["consumers"].append(subscription["consumers"][0])
        elif spoil == "name":
            subscription["consumers"][0]["consumerName"] = "c-x"
        else:
            subscription["msgBacklog"] += 1

    (difference,) = spoilt("a-failover-8p-hash", "07-partitioned-stats.json", change)
    kind = FactKind.SUBSCRIPTION_SUM if spoil == "backlog" else FactKind.CONSUMER_ENTRIES
    assert difference.kind is kind


def test_producers_of_a_client_that_is_not_modelled_are_not_compared() -> None:
    """Its keys and producers are counted as not compared; what brokers add up is compared all the same."""
    folder = recording(FULL)
    report = compare_folder(folder.with_scenario(lambda scenario: scenario.update(client="a client of one's own")))
    assert report.agrees
    assert report.not_compared["producers of a client that is not modelled, or not named"] > 0
    assert FactKind.PUBLISHER_SUM in counts(report)


@pytest.mark.parametrize("odd", [7, None, "no", [], {"k0": "no"}, {"k0": True}, {"k0": -1}])
def test_odd_members_of_a_scenario_do_not_stop_the_rest(odd: object) -> None:
    folder = recording("e-key-routing-6p")

    def change(scenario: Any) -> None:
        for step in scenario["steps"]:
            step.update(key_to_partition=odd, client_result=odd, message_id=odd, options=odd)

    assert compare_folder(folder.with_scenario(change)).compared >= 5
