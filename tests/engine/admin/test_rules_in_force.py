"""Release and flag of brokers: reported, inferred from active consumers, or assumed."""

from __future__ import annotations

import pytest

from engine.admin.inference import Basis, ObservedActives, RulesInForce, rules_in_force
from engine.config import CURRENT, ReleaseBehaviour, behaviour_of
from engine.failover.choose import choose
from engine.failover.model import Consumer

NAMES = tuple(f"c-{number}" for number in range(4))
PARTITIONS = [(f"persistent://t/n/x-partition-{index}", index) for index in range(16)]
PLAIN = [(f"persistent://t/n/y-{number}", -1) for number in range(8)]


def release(version: str) -> ReleaseBehaviour:
    behaviour = behaviour_of(version)
    assert isinstance(behaviour, ReleaseBehaviour)
    return behaviour


def observed(
    version: str, *, flag: bool, topics: list[tuple[str, int]], names: tuple[str, ...] = NAMES
) -> ObservedActives:
    """What a broker of this release reports, by the scalar rule."""
    consumers = [Consumer(place, name, 0) for place, name in enumerate(names)]
    actives = {}
    for topic, index in topics:
        choice = choose(consumers, topic, index, consistent_hashing=flag, behaviour=release(version))
        assert choice is not None
        actives[topic, index] = choice.active.name
    return ObservedActives(names, actives)


@pytest.mark.parametrize("version", ["2.11.0", "3.2.3", "4.2.4"])
@pytest.mark.parametrize("flag", [False, True])
def test_with_nothing_reported_the_active_consumers_decide(version: str, flag: bool) -> None:
    seen = [observed(version, flag=flag, topics=PARTITIONS), observed(version, flag=flag, topics=PLAIN)]
    result = rules_in_force(seen)
    assert result.consistent_hashing is (flag and version == "4.2.4")
    assert result.flag_basis is Basis.INFERRED
    expected = {"2.11.0": "first-connected"}.get(version, "ring")
    assert result.behaviour.nonpartitioned_failover == expected
    label, known = result.behaviour.label, result.consistent_hashing
    assert observed(label, flag=known, topics=PARTITIONS) == seen[0]
    assert observed(label, flag=known, topics=PLAIN) == seen[1]


def test_a_reported_flag_that_partitions_ignore_speaks_for_a_release_without_it() -> None:
    result = rules_in_force([observed("3.2.3", flag=True, topics=PARTITIONS)], (), [True])
    assert (result.behaviour.knows_failover_consistent_hashing, result.release_basis) == (False, Basis.INFERRED)
    assert (result.consistent_hashing, result.flag_basis) == (False, Basis.REPORTED)


@pytest.mark.parametrize("running", ["2.11.0", "4.2.4"])
def test_of_two_reported_releases_that_counts_which_explains_more(running: str) -> None:
    result = rules_in_force([observed(running, flag=False, topics=PLAIN)], ["4.2.4", "2.11.0"])
    assert (result.behaviour.label, result.release_basis) == (running, Basis.REPORTED)


def test_without_evidence_the_newest_reported_release_counts_and_versions_have_numbers() -> None:
    assert rules_in_force([], ["3.2.10", "3.2.3", "no version"]).behaviour.label == "3.2.10"


def test_nothing_known_is_assumed_and_what_is_given_wins() -> None:
    assert rules_in_force([]) == RulesInForce(CURRENT, Basis.ASSUMED, False, Basis.ASSUMED)
    seen = [observed("4.2.4", flag=True, topics=PARTITIONS)]
    given = rules_in_force(seen, ["2.11.0"], [True], given_release=release("4.0.7"), given_flag=False)
    assert (given.behaviour.label, given.release_basis) == ("4.0.7", Basis.GIVEN)
    assert (given.consistent_hashing, given.flag_basis) == (False, Basis.GIVEN)


def test_where_both_rules_say_the_same_nothing_is_inferred() -> None:
    result = rules_in_force([observed("4.2.4", flag=False, topics=PARTITIONS, names=("only",))])
    assert (result.flag_basis, result.release_basis) == (Basis.ASSUMED, Basis.ASSUMED)
