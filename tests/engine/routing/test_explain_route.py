"""Explanations of a route: every step is there, and they are those of the routers."""

from __future__ import annotations

import pytest

from engine.errors import Rejection
from engine.hashing import Division
from engine.routing.clients import JAVA_DEFAULT, route_key
from engine.routing.explain import RouteExplanation, explain_route, key_step
from engine.routing.routers import (
    BatchRoundRobinRouter,
    PartialRoundRobinRouter,
    Router,
    SinglePartitionRouter,
    round_robin,
)
from tests.engine.routing.walks import ROUTINGS


def explained(router: Router, key: str | bytes | None, partitions: int, now_ms: int = 0) -> RouteExplanation:
    why = explain_route(router, key, partitions, now_ms)
    assert isinstance(why, RouteExplanation), why
    return why


def test_a_key_is_followed_from_its_text_to_its_partition() -> None:
    why = explained(round_robin(0, keys=ROUTINGS["Murmur3_32Hash"]), "ab", 10)
    assert why.key is not None
    assert (why.key.text, why.key.data, why.key.raw, why.key.value) == ("ab", b"ab", -1681926305, 465557343)
    assert (why.rule, why.modulo, why.partition) == ("key hash", Division(465557343, 10, 3), 3)
    assert why.sentence == (
        'The key decides: Murmur3_32Hash of "ab" is 465557343, and 465557343 mod 10 partitions = 3.'
    )


def test_java_hashes_utf_16_units_and_shows_its_signed_value() -> None:
    step = key_step("\U0001f600", route_key("\U0001f600", JAVA_DEFAULT, 4))
    assert step.data == b"\xd8\x3d\xde\x00" and step.value == 0xD83D * 31 + 0xDE00 == step.raw
    smallest = key_step("polygenelubricants", route_key("polygenelubricants", JAVA_DEFAULT, 4))
    assert (smallest.raw, smallest.value) == (-(2**31), 0)
    negative = key_step("customer-17", route_key("customer-17", JAVA_DEFAULT, 4))
    assert negative.raw < 0 and negative.value == negative.raw + 2**31


def test_bytes_are_explained_by_their_base64_text() -> None:
    why = explained(round_robin(0), b"\x00\xff", 7)
    assert why.key is not None and (why.key.text, why.key.from_bytes) == ("AP8=", b"\x00\xff")
    assert "base64" in why.sentence and why.partition == explained(round_robin(0), "AP8=", 7).partition


@pytest.mark.parametrize(
    ("router", "rule", "modulo", "partition", "words"),
    [
        (SinglePartitionRouter(4), "fixed index", None, 4, "partition 4, drawn at its creation"),
        (round_robin(3, switch_ms=10), "clock", Division(15, 6, 3), 3, "period 12 of 10 ms plus the start 3"),
        (round_robin(3, batching=False), "counter", Division(3, 6, 3), 3, "turn 3 mod 6 partitions = 3"),
        (PartialRoundRobinRouter(2, chosen=(5, 1), counter=3), "partial list", Division(3, 2, 1), 1, "partition 1"),
        (BatchRoundRobinRouter(8, 120), "batch counter", Division(8, 6, 2), 2, "still turn 8"),
        (BatchRoundRobinRouter(8, 110), "batch counter", Division(9, 6, 3), 3, "full or late, so turn 9"),
    ],
)
def test_without_a_key_the_router_s_turn_is_explained(
    router: Router, rule: str, modulo: Division | None, partition: int, words: str
) -> None:
    why = explained(router, None, 6, now_ms=125)
    assert (why.rule, why.modulo, why.partition, why.key, why.key_ignored) == (rule, modulo, partition, None, False)
    assert words in why.sentence and why.sentence.endswith(".") and why.sentence.startswith(("No key", "Partial"))


def test_a_key_that_does_not_count_is_said_to_be_ignored() -> None:
    partial = explained(PartialRoundRobinRouter(2, chosen=(5, 1)), "a", 6)
    assert partial.key_ignored and partial.key is None and partial.chosen == (5, 1)
    empty = explained(round_robin(2, batching=False, keys=ROUTINGS["BoostHash"]), "", 6)
    assert empty.key_ignored and empty.sentence.startswith("The empty key counts as none")
    java = explained(round_robin(2, batching=False), "", 6)
    assert not java.key_ignored and java.partition == 0 and java.rule == "key hash"


def test_the_c_client_has_no_choice_with_one_partition() -> None:
    why = explained(BatchRoundRobinRouter(8), None, 1)
    assert (why.rule, why.partition, why.modulo) == ("one partition", 0, None)


def test_one_partition_is_spelled_as_one() -> None:
    assert "mod 1 partition = 0" in explained(round_robin(0), "a", 1).sentence


@pytest.mark.parametrize("partitions", [0, -1])
def test_no_partitions_are_refused(partitions: int) -> None:
    refused = explain_route(round_robin(0), "a", partitions)
    assert isinstance(refused, Rejection) and refused.field == "partitions"
