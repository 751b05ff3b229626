"""The worst of some quiet subscriptions, of which little is asked: every pair, named in both orders."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from engine.diagnosis.model import Diagnosis
from engine.diagnosis.seen import subscriptions_seen
from engine.diagnosis.why import diagnose_all, worst
from tests.engine.diagnosis.answers import Stats, consumer, moments, stats
from tests.engine.diagnosis.test_decider_edges import QUIET

FINE = stats("Shared", [consumer("a")])
WITHOUT_SLOT = stats("Key_Shared", [consumer("a", keyHashRangeArrays=[[0, 65535]]), consumer("b")])
ALONE = stats("Exclusive", [consumer("a")], activeConsumerName="a")
KEYS = stats("Key_Shared", [consumer("a", keyHashRangeArrays=[[0, 65535]])])
STANDING_BY = stats("Failover", [consumer("a"), consumer("b")], activeConsumerName="a")
ASKS_NOT = stats("Shared", [consumer("a", availablePermits=0)], msgBacklog=1)
PAIRS_OF: dict[str, tuple[Stats, Stats]] = {
    **QUIET, "fine": (FINE, FINE), "exclusive": (ALONE, ALONE), "keys": (KEYS, KEYS), "standby": (STANDING_BY,) * 2,
    "no permits": (ASKS_NOT, ASKS_NOT),
}  # fmt: skip


NEUTRAL = {
    "Shared": FINE, "Key_Shared": KEYS, "Exclusive": ALONE,
    "Failover": stats("Failover", [consumer("a")], activeConsumerName="a"),
}  # fmt: skip


def beside(shown: Stats, partitions: int) -> list[Stats]:
    """All partitions of a topic alike, or for two of them the second in order."""
    if partitions == 2:
        return [shown, NEUTRAL[shown["subscriptions"]["s"]["type"]]]
    return [shown] * partitions


def paths(name: str, count: int) -> list[str]:
    return [f"admin/v2/persistent/t/{name}/x-partition-{number}/stats" for number in range(count)]


def worst_and_all(first: str, second: str, partitions: int) -> tuple[Diagnosis, list[Diagnosis]]:
    """The worst of two subscriptions, of which the first has the smaller name, and both, the worst first."""
    kinds = PAIRS_OF[first], PAIRS_OF[second]
    shown: list[dict[str, Any]] = [
        {
            path: each
            for name, kind in zip("mn", kinds, strict=True)
            for path, each in zip(paths(name, partitions), beside(kind[at], partitions), strict=True)
        }
        for at in (0, 1)
    ]
    seen = subscriptions_seen(moments(*shown))
    return worst(seen), diagnose_all(seen)


@pytest.mark.parametrize("partitions", [1, 2, 6])
def test_the_worse_of_two_is_found_whatever_its_name(partitions: int) -> None:
    for pair in permutations(PAIRS_OF, 2):
        result, every = worst_and_all(*pair, partitions)
        assert result == every[0], pair


def test_of_equal_ones_the_first_counts() -> None:
    seen = subscriptions_seen(moments({path: ASKS_NOT for name in "ba" for path in paths(name, 1)}))
    result = worst([*seen, *seen])
    assert (result.namespace, result) == ("t/a", diagnose_all([*seen, *seen])[0])
