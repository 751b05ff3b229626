"""What clients draw at random is inferred and counted, and errors count by what they are in every language."""

from __future__ import annotations

from typing import Any

import pytest

from engine.routing.clients import CPP_DEFAULT, partition_of
from engine.verify.report import FactKind
from tests.engine.routing.walks import partition_of_key
from tests.lab.compare import compare_folder
from tests.lab.facts import StepFact
from tests.lab.folder import recording
from tests.lab.reports import counts, differences_of, kinds, report_of, spoilt

JAVA, PARTIAL, MILESTONE = "e-java-10p-bypos", "e-java-partial-4p-9", "v5m1-e-java-6p-hash"
DRAWN = "where a router begins: drawn at random, and inferred"


@pytest.mark.parametrize(
    "result", ["ProducerBusyException: x", "ProducerBusy: x", "a.b.PulsarClientException$ProducerBusyException"]
)
def test_an_error_counts_whatever_its_language_calls_it(result: str) -> None:
    def change(scenario: Any) -> None:
        for step in scenario["steps"]:
            if "client_result" in step:
                step["client_result"] = result

    assert compare_folder(recording(JAVA).with_scenario(change)).agrees


@pytest.mark.parametrize("name", [JAVA, MILESTONE])
def test_a_lazy_producer_without_a_name_may_begin_anywhere(name: str) -> None:
    """Its name comes from the broker, and its partition from chance: wherever it is, is right."""

    def move(document: Any) -> None:
        partitions = [topic["publishers"] for _, topic in sorted(document["partitions"].items())]
        names = [one["producerName"] for there in partitions for one in there]
        alone = next(name for name in names if names.count(name) == 1)
        place = next(at for at, there in enumerate(partitions) if any(one["producerName"] == alone for one in there))
        moved = next(one for one in partitions[place] if one["producerName"] == alone)
        partitions[place].remove(moved)
        partitions[(place + 1) % len(partitions)].append(moved)

    folder = recording(name)
    for step in (14, 15):
        folder = folder.edited(f"{step}-partitioned-stats.json", move)
    # Its sums stay where they were: only the aggregate, which goes by position, may differ.
    moved = {difference.kind for difference in compare_folder(folder).differences}
    assert not moved & {StepFact.PRODUCER_PARTITIONS, StepFact.PRODUCER_NAME}


def test_the_messages_of_known_producers_follow_their_routers() -> None:
    """SinglePartition: ten of ten; round robin: three alone and ten in a row, from the partition it has opened."""
    assert counts(report_of(JAVA))[StepFact.KEYLESS_PARTITION] == 10 + 3 + 10
    assert DRAWN not in report_of(JAVA).not_compared


def test_a_partial_round_robin_goes_round_and_ignores_keys() -> None:
    """Of 27 messages without key and 10 with one the first three show its list; the fourth place was its lazy start."""
    report = report_of(PARTIAL)
    assert counts(report)[StepFact.KEYLESS_PARTITION] == 27 - 3 + 10
    assert StepFact.KEY_PARTITION not in counts(report)
    assert report.not_compared[DRAWN] == 3


def test_a_limit_below_the_partitions_uses_that_many() -> None:
    """With a limit of three the fourth partition of the recording is one too many."""

    def change(scenario: Any) -> None:
        scenario["steps"][1]["options"]["router"] = "PartialRoundRobinMessageRouterImpl(3)"

    differences = differences_of(recording(PARTIAL).with_scenario(change))
    assert StepFact.PRODUCER_PARTITIONS in kinds(differences) or StepFact.KEYLESS_PARTITION in kinds(differences)


@pytest.mark.parametrize("router", ["MyRouter()", None])
def test_a_router_of_the_users_own_is_not_compared(router: str | None) -> None:
    """Nothing is known of where it sends messages; the partitions that it opened are taken from statistics."""

    def change(scenario: Any) -> None:
        options = scenario["steps"][1]["options"]
        if router is None:
            del options["router"]
        else:
            options["router"] = router

    report = compare_folder(recording(PARTIAL).with_scenario(change))
    assert report.agrees
    assert report.not_compared["messages of a router of the user's own"] == 37
    assert StepFact.KEYLESS_PARTITION not in counts(report)


def test_where_an_eager_producer_begins_is_inferred_from_its_first_message() -> None:
    """Without a listing of what it opened first, the second message is the first fact."""

    def change(scenario: Any) -> None:
        start, order = scenario["steps"][4], scenario["steps"][8]
        start["options"]["lazy_start_partitioned_producers"] = False
        start["answers"] = []
        scenario["steps"] = [*scenario["steps"][:1], start, order]
        order["answers"] = []

    report = compare_folder(recording(JAVA).with_scenario(change))
    assert (report.differences, report.not_compared[DRAWN]) == ((), 1)
    assert counts(report)[StepFact.KEYLESS_PARTITION] == 9


def test_publishers_added_too_often_are_found_in_a_release_that_adds_them_once() -> None:
    report = compare_folder(recording("v2.11.0-e-pip79-6p"), "3.0.2")
    assert [(difference.kind, difference.moment) for difference in report.differences] == [
        (FactKind.PUBLISHER_ENTRIES, "2"),
        (FactKind.PUBLISHER_ENTRIES, "3"),
    ]


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


def test_producers_of_a_client_that_is_not_modelled_are_not_compared() -> None:
    """Its keys and producers are counted as not compared; what brokers add up is compared all the same."""
    folder = recording("e-pip79-6p")
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
