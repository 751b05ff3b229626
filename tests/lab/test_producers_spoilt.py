"""Every kind of fact about producers that is tampered with is found, with its place and both sides."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.routing.keys import HashingScheme, partition_of_key
from tests.lab import Difference, FactKind, verify_folder
from tests.lab.copies import copy_of, edit

Change = Callable[[Any], None]
FULL, BYNAME = "e-pip79-6p", "e-pip79-6p-byname"
OLDEST, RATES = "v2.11.0-e-pip79-6p", "v4.0.7-e-pip79-6p"


def _spoil(tmp_path: Path, name: str, file: str, change: Change) -> tuple[Difference, ...]:
    """What differs after the change; before it nothing does."""
    folder = copy_of(name, tmp_path)
    assert verify_folder(folder).exit_code == 0
    edit(folder, file, change)
    report = verify_folder(folder)
    assert report.exit_code == 1
    assert report.agree == report.compared - len(report.differences)
    return report.differences


def _kinds(found: tuple[Difference, ...]) -> set[FactKind]:
    return {each.kind for each in found}


def _partition(document: Any, index: int) -> Any:
    return next(each for name, each in document["partitions"].items() if name.endswith(f"-partition-{index}"))


@pytest.mark.parametrize("member", ["msgRateIn", "msgThroughputIn", "msgInCounter", "bytesInCounter", "storageSize"])
def test_another_sum_is_found(tmp_path: Path, member: str) -> None:
    def change(document: Any) -> None:
        document[member] += 1

    (found,) = _spoil(tmp_path, RATES, "03-partitioned-stats.json", change)
    assert (found.kind, found.file, found.step) == (FactKind.PARTITIONED_SUM, "03-partitioned-stats.json", "3")
    assert found.recorded != found.modelled


@pytest.mark.parametrize("name", [OLDEST, RATES])
@pytest.mark.parametrize(
    ("member", "kind"),
    [
        ("msgRateIn", FactKind.PUBLISHER_SUM),
        ("msgThroughputIn", FactKind.PUBLISHER_SUM),
        ("averageMsgSize", FactKind.PUBLISHER_AVERAGE),
    ],
)
def test_another_number_of_a_publisher_entry_is_found(tmp_path: Path, name: str, member: str, kind: FactKind) -> None:
    def change(document: Any) -> None:
        document["publishers"][1][member] *= 1.001

    (found,) = _spoil(tmp_path, name, "03-partitioned-stats.json", change)
    assert (found.kind, found.subject.rpartition(", ")[2]) == (kind, "publisher entry 2")


def test_an_average_weighted_by_messages_is_found(tmp_path: Path) -> None:
    """What one would expect of an average, and what Pulsar does not do."""

    def change(document: Any) -> None:
        document["averageMsgSize"] = document["msgThroughputIn"] / document["msgRateIn"]

    (found,) = _spoil(tmp_path, RATES, "03-partitioned-stats.json", change)
    assert found.kind is FactKind.PARTITIONED_AVERAGE


def test_publishers_added_too_often_are_found_in_a_release_that_adds_them_once(tmp_path: Path) -> None:
    folder = copy_of(OLDEST, tmp_path)
    assert verify_folder(folder).exit_code == 0
    report = verify_folder(folder, "3.0.2")
    assert [(each.kind, each.step) for each in report.differences] == [
        (FactKind.PUBLISHER_ENTRIES, "2"),
        (FactKind.PUBLISHER_ENTRIES, "3"),
    ]


@pytest.mark.parametrize("spoil", ["one fewer", "named", "flagged"])
def test_another_list_of_publishers_is_found(tmp_path: Path, spoil: str) -> None:
    def change(document: Any) -> None:
        publishers = document["publishers"]
        if spoil == "one fewer":
            publishers.pop()
        elif spoil == "named":
            publishers[0]["producerName"] = "feed-a"
        else:
            publishers[0]["supportsPartialProducer"] = True

    (found,) = _spoil(tmp_path, RATES, "03-partitioned-stats.json", change)
    assert (found.kind, found.modelled) == (
        FactKind.PUBLISHER_ENTRIES,
        "without a name, without a name, without a name",
    )


@pytest.mark.parametrize("name", [BYNAME, "v3.0.2-e-pip79-6p-byname"])
def test_named_publishers_merged_by_position_are_found(tmp_path: Path, name: str) -> None:
    file = "16-partitioned-stats.json" if name == BYNAME else "05-partitioned-stats.json"

    def change(document: Any) -> None:
        for publisher in document["publishers"]:
            publisher["supportsPartialProducer"] = False
            del publisher["producerName"]
        del document["publishers"][2:]

    (found,) = _spoil(tmp_path, name, file, change)
    assert found.kind is FactKind.PUBLISHER_ENTRIES
    assert found.modelled.startswith("alpha (partial), beta (partial), standalone-0-")


@pytest.mark.parametrize("value", ["true", "false"])
def test_another_setting_for_merging_by_name_is_found(tmp_path: Path, value: str) -> None:
    name = FULL if value == "true" else BYNAME

    def change(scenario: Any) -> None:
        scenario["broker_settings"]["aggregatePublisherStatsByProducerName"] = value

    found = _spoil(tmp_path, name, "scenario.json", change)
    assert _kinds(found) == {FactKind.PRODUCER_FLAG}
    assert {each.step for each in found} == {"16"}


@pytest.mark.parametrize("spoil", ["opened", "not opened", "another name"])
@pytest.mark.parametrize(("name", "step"), [(FULL, 4), (BYNAME, 8), (FULL, 13), (BYNAME, 16)])
def test_another_producer_at_a_partition_is_found(tmp_path: Path, name: str, step: int, spoil: str) -> None:
    file = f"{step:02}-partitioned-stats.json"

    def change(document: Any) -> None:
        partitions = [each["publishers"] for _, each in sorted(document["partitions"].items())]
        full = next(each for each in partitions if each)
        if spoil == "opened":
            empty = next((each for each in partitions if not each), partitions[-1])
            empty.append({**full[0], "producerName": "lazy-x"})
        elif spoil == "not opened":
            full.pop(0)
        else:
            full[0]["producerName"] = "aaa"

    found = _spoil(tmp_path, name, file, change)
    assert FactKind.PRODUCER_PARTITIONS in _kinds(found)
    assert _kinds(found) <= {
        FactKind.PRODUCER_PARTITIONS,
        FactKind.PUBLISHER_ENTRIES,
        FactKind.PUBLISHER_SUM,
        FactKind.PUBLISHER_AVERAGE,
    }
    assert {each.step for each in found} == {str(step)}


def test_a_lazy_producer_that_starts_at_two_partitions_is_found(tmp_path: Path) -> None:
    def change(document: Any) -> None:
        publishers = [each["publishers"] for each in document["partitions"].values()]
        there = next(each for each in publishers if each)
        next(each for each in publishers if not each).append(there[0])

    found = _spoil(tmp_path, FULL, "02-partitioned-stats.json", change)
    assert FactKind.PRODUCER_PARTITIONS in _kinds(found)


def test_an_eager_producer_told_as_a_lazy_one_is_found(tmp_path: Path) -> None:
    def change(scenario: Any) -> None:
        scenario["steps"][9]["options"]["lazy_start_partitioned_producers"] = True

    found = _spoil(tmp_path, FULL, "scenario.json", change)
    assert _kinds(found) == {FactKind.PRODUCER_PARTITIONS}
    assert {each.step for each in found} >= {"10", "11"}


@pytest.mark.parametrize("mode", ["Shared", "Exclusive"])
def test_another_access_mode_is_found(tmp_path: Path, mode: str) -> None:
    step = 13 if mode == "Shared" else 10

    def change(document: Any) -> None:
        _partition(document, 3)["publishers"][0]["accessMode"] = mode

    (found,) = _spoil(tmp_path, FULL, f"{step}-partitioned-stats.json", change)
    assert (found.kind, found.recorded) == (FactKind.PRODUCER_ACCESS_MODE, mode)


def test_a_shared_producer_let_in_beside_an_exclusive_one_is_found(tmp_path: Path) -> None:
    def change(scenario: Any) -> None:
        del scenario["steps"][13]["client_result"]

    (found,) = _spoil(tmp_path, FULL, "scenario.json", change)
    assert (found.kind, found.recorded, found.modelled) == (FactKind.PRODUCER_ANSWER, "accepted", "ProducerBusy")
    assert "exclusive producer: lazy-excl" in found.rule


def test_a_refusal_of_a_producer_that_should_be_let_in_is_found(tmp_path: Path) -> None:
    def change(scenario: Any) -> None:
        scenario["steps"][9]["client_result"] = "ProducerBusy: no"

    found = _spoil(tmp_path, FULL, "scenario.json", change)
    assert (found[0].kind, found[0].recorded, found[0].modelled) == (
        FactKind.PRODUCER_ANSWER,
        "ProducerBusy",
        "accepted",
    )


def test_another_name_told_by_the_client_is_found(tmp_path: Path) -> None:
    def change(scenario: Any) -> None:
        scenario["steps"][10]["producer_name"] = "standalone-0-3"

    (found,) = _spoil(tmp_path, FULL, "scenario.json", change)
    assert (found.kind, found.modelled) == (FactKind.PRODUCER_NAME, "standalone-0-0")


def test_a_generated_name_that_comes_again_is_found(tmp_path: Path) -> None:
    """Brokers count the names they give: step 16 cannot have those of step 15, or of before."""

    def change(document: Any) -> None:
        _partition(document, 2)["publishers"][1]["producerName"] = "standalone-0-1"

    found = _spoil(tmp_path, FULL, "16-partitioned-stats.json", change)
    assert FactKind.PRODUCER_NAME in _kinds(found) or FactKind.PRODUCER_PARTITIONS in _kinds(found)


@pytest.mark.parametrize(("name", "key"), [("e-key-routing-6p", "k7"), ("e-key-routing-6p", "日本"), (OLDEST, "k3")])
def test_a_key_in_another_partition_is_found(tmp_path: Path, name: str, key: str) -> None:
    """Java would hash it to another one."""

    def change(scenario: Any) -> None:
        keys = next(step["key_to_partition"] for step in scenario["steps"] if "key_to_partition" in step)
        keys[key] = (keys[key] + 1) % 6

    found = _spoil(tmp_path, name, "scenario.json", change)
    assert (found[0].kind, found[0].subject) == (FactKind.KEY_PARTITION, f"key {key!r}")
    assert _kinds(found[1:]) <= {FactKind.PARTITION_MESSAGES}


def test_keys_told_of_the_java_client_are_found_to_be_of_another(tmp_path: Path) -> None:
    """The two hash differently: of 48 keys most are elsewhere, and the empty one is a key for Java."""

    def change(scenario: Any) -> None:
        scenario["client"] = "pulsar-client 4.2.4 (Java)"

    found = _spoil(tmp_path, "e-key-routing-6p", "scenario.json", change)
    assert sum(each.kind is FactKind.KEY_PARTITION for each in found) > 30
    assert "JavaStringHash of the Java client" in found[0].rule


@pytest.mark.parametrize(("client", "scheme"), [("Java", "JavaStringHash"), ("Java", "Murmur3_32Hash"), ("C++", None)])
def test_keys_are_held_to_the_scheme_that_the_client_was_given(
    tmp_path: Path, client: str, scheme: HashingScheme | None
) -> None:
    """The same 49 keys as another client would send them: the empty one is a key for Java."""
    folder = copy_of("e-key-routing-6p", tmp_path)

    def change(scenario: Any) -> None:
        keys = scenario["steps"][1]["key_to_partition"]
        scenario["client"] = client
        scenario["steps"][1]["options"] = {"hashing_scheme": scheme}
        if scheme is not None:
            keys.update({key: partition_of_key(key, scheme, 6) for key in keys})

    edit(folder, "scenario.json", change)
    report = verify_folder(folder)
    keys = next(tally for tally in report.tallies if tally.kind is FactKind.KEY_PARTITION)
    assert keys.agree == keys.compared == (48 if scheme is None else 49)


def test_a_message_out_of_turn_is_found(tmp_path: Path) -> None:
    def change(scenario: Any) -> None:
        order = scenario["steps"][2]["partitions_in_order"]
        order[4], order[5] = order[5], order[4]

    found = _spoil(tmp_path, "e-key-routing-6p", "scenario.json", change)
    assert [(each.kind, each.subject) for each in found] == [
        (FactKind.KEYLESS_PARTITION, "message 5 without key"),
        (FactKind.KEYLESS_PARTITION, "message 6 without key"),
    ]


def test_a_message_id_of_another_partition_is_found(tmp_path: Path) -> None:
    def change(scenario: Any) -> None:
        scenario["steps"][5]["message_id"] = "(6,0,1,-1)"

    (found,) = _spoil(tmp_path, FULL, "scenario.json", change)
    assert (found.kind, found.recorded, found.step) == (FactKind.KEYLESS_PARTITION, "1", "6")


@pytest.mark.parametrize(("name", "file"), [(FULL, "04"), (BYNAME, "09"), ("e-key-routing-6p", "02")])
def test_a_message_too_many_is_found(tmp_path: Path, name: str, file: str) -> None:
    def change(document: Any) -> None:
        _partition(document, 5)["msgInCounter"] += 1
        document["msgInCounter"] += 1

    (found,) = _spoil(tmp_path, name, f"{file}-partitioned-stats.json", change)
    assert found.kind is FactKind.PARTITION_MESSAGES
    assert int(found.recorded) == int(found.modelled) + 1


@pytest.mark.parametrize("spoil", ["count", "name", "backlog"])
def test_another_subscription_in_the_aggregate_is_found(tmp_path: Path, spoil: str) -> None:
    def change(document: Any) -> None:
        subscription = document["subscriptions"]["sub"]
        if spoil == "count":
            subscription["consumers"].append(subscription["consumers"][0])
        elif spoil == "name":
            subscription["consumers"][0]["consumerName"] = "c-x"
        else:
            subscription["msgBacklog"] += 1

    (found,) = _spoil(tmp_path, "a-failover-8p-hash", "07-partitioned-stats.json", change)
    kind = FactKind.SUBSCRIPTION_SUM if spoil == "backlog" else FactKind.CONSUMER_ENTRIES
    assert found.kind is kind


def test_a_client_that_is_not_modelled_is_not_judged(tmp_path: Path) -> None:
    """Its keys and producers are counted as not compared; what brokers add up is compared all the same."""
    folder = copy_of(FULL, tmp_path)
    edit(folder, "scenario.json", lambda scenario: scenario.update(client="a client of one's own"))
    report = verify_folder(folder)
    assert report.exit_code == 0
    assert dict(report.not_compared)["producers of a client that is not modelled, or not told"] > 0
    assert FactKind.PUBLISHER_SUM in {tally.kind for tally in report.tallies}


@pytest.mark.parametrize("odd", [7, None, "no", [], {"k0": "no"}, {"k0": True}, {"k0": -1}])
def test_odd_members_of_a_scenario_do_not_stop_the_rest(tmp_path: Path, odd: object) -> None:
    folder = copy_of("e-key-routing-6p", tmp_path)

    def change(scenario: Any) -> None:
        for step in scenario["steps"]:
            step.update(key_to_partition=odd, client_result=odd, message_id=odd, options=odd)

    edit(folder, "scenario.json", change)
    assert verify_folder(folder).compared >= 5
