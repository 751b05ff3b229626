"""What clients draw at random is inferred and counted, and errors count by what they are in every language."""

from __future__ import annotations

from typing import Any

import pytest

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


def test_another_error_is_found() -> None:
    def change(scenario: Any) -> None:
        scenario["steps"][14]["client_result"] = "ProducerFencedException: x"

    (difference,) = spoilt(JAVA, "scenario.json", change)
    assert (difference.kind, difference.recorded) == (StepFact.PRODUCER_ANSWER, "ProducerFenced")


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


@pytest.mark.parametrize("name", [JAVA, MILESTONE])
def test_a_lazy_producer_without_a_name_at_two_partitions_is_found(name: str) -> None:
    def change(document: Any) -> None:
        partitions = [topic["publishers"] for _, topic in sorted(document["partitions"].items())]
        names = [one["producerName"] for there in partitions for one in there]
        alone = next(one for there in partitions for one in there if names.count(one["producerName"]) == 1)
        next(there for there in partitions if alone not in there).append(alone)

    assert StepFact.PRODUCER_PARTITIONS in kinds(spoilt(name, "14-partitioned-stats.json", change))


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


@pytest.mark.parametrize(("step", "member"), [(2, "partitions_in_order"), (3, "key_to_partition")])
def test_a_partial_round_robin_out_of_turn_is_found(step: int, member: str) -> None:
    def change(scenario: Any) -> None:
        places = scenario["steps"][step][member]
        at = 9 if isinstance(places, list) else "k9"
        places[at] = (places[at] + 1) % 4

    (difference,) = spoilt(PARTIAL, "scenario.json", change)
    assert difference.kind is StepFact.KEYLESS_PARTITION
    assert difference.subject.startswith("message 10 of step")


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
