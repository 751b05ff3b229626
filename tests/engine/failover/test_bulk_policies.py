"""The bulk policies agree with the plain ones, partition by partition, whatever the lists look like."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.admin.inference import list_of
from engine.bulk_hashing import murmur3_bulk
from engine.config import ReleaseBehaviour, behaviour_of
from engine.failover.bulk import Changes, ConsumerList, carried_over, slots_of
from engine.failover.bulk_policies import (
    Change,
    Choice,
    Partitions,
    Policy,
    change_of,
    unit_rules,
)
from tests.engine.failover.scalar_policies import Topic, places

# Names of which some are others with a digit: their ring points meet.
NAMES = st.sampled_from(["c", "c1", "c10", "c11", "d", "é", "😀", "\uffee", "c"])
LISTS = st.lists(st.tuples(NAMES, st.sampled_from([0, 0, 0, 1])), max_size=6).map(
    lambda pairs: ConsumerList(tuple(name for name, _ in pairs), tuple(level for _, level in pairs))
)
RELEASES = st.sampled_from(["2.11.0", "4.0.0", "4.2.4"])


def behaviour(version: str) -> ReleaseBehaviour:
    result = behaviour_of(version)
    assert isinstance(result, ReleaseBehaviour)
    return result


def topics_of(unit: int, count: int, *, partitioned: bool) -> list[Topic]:
    """Topics of one subscription, by name."""
    base = f"persistent://t/n/unit{unit}"
    result = [
        (f"{base}-partition-{index}", index) if partitioned else (f"{base}-{index}", -1) for index in range(count)
    ]
    return sorted(result)


def partitions_of(topics: list[list[Topic]]) -> Partitions:
    flat = [(unit, *topic) for unit, each in enumerate(topics) for topic in each]
    return Partitions(
        np.array([unit for unit, _, _ in flat], dtype=np.int64),
        murmur3_bulk([name for _, name, _ in flat]),
        np.array([index for _, _, index in flat], dtype=np.int64),
    )


def change(
    before: list[ConsumerList], after: list[ConsumerList] | None, version: str = "4.2.4", *, flag: bool = False
) -> Change:
    return change_of(before, after, unit_rules([(behaviour(version), flag)] * len(before)))


def choices_of(made: Change, partitions: Partitions) -> dict[Policy, Choice]:
    now = made.now(partitions)
    return {policy: made.under(policy, partitions, now) for policy in Policy}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(LISTS, LISTS, st.integers(0, 12), st.booleans()), min_size=1, max_size=4), RELEASES)
def test_every_policy_picks_what_the_plain_one_picks_before_and_after_a_change(
    units: list[tuple[ConsumerList, ConsumerList, int, bool]], version: str
) -> None:
    before, after = [unit[0] for unit in units], [unit[1] for unit in units]
    topics = [topics_of(number, unit[2], partitioned=unit[3]) for number, unit in enumerate(units)]
    partitions = partitions_of(topics)
    result = change(before, after, version)
    choices = choices_of(result, partitions)
    release = behaviour(version)
    for number, here in enumerate(topics):
        rows = partitions.unit == number
        nobody = len(after[number].names)
        same = carried_over([before[number]], [after[number]])
        start = places(Policy.FLAG_OFF, before[number], here, release)
        carried = [int(same[place]) if place >= 0 else nobody for place in start]
        for policy, choice in choices.items():
            expected = places(policy, after[number], here, release)
            outcome = (choice.after[rows] - result.new_slots.start[number]).tolist()
            assert outcome == [nobody if place < 0 else place for place in expected], policy
            assert choice.before_place[rows].tolist() == start, policy
            assert (choice.before[rows] - result.new_slots.start[number]).tolist() == carried, policy


@pytest.mark.parametrize("in_force", [Policy.FLAG_OFF, Policy.FLAG_ON])
def test_the_flag_alone_moves_partitions_and_the_rule_in_force_none(in_force: Policy) -> None:
    consumers = [list_of([f"c{number}" for number in range(10)])]
    result = change(consumers, None, flag=in_force is Policy.FLAG_ON)
    partitions = partitions_of([topics_of(0, 100, partitioned=True)])
    choices = choices_of(result, partitions)
    moved = {policy: int((choice.after != choice.before).sum()) for policy, choice in choices.items()}
    assert moved[in_force] == 0
    other = Policy.FLAG_ON if in_force is Policy.FLAG_OFF else Policy.FLAG_OFF
    assert 80 < moved[other] == moved[Policy.FLAG_ON] + moved[Policy.FLAG_OFF]


def test_changes_take_away_first_and_add_on_the_leading_level() -> None:
    before = ConsumerList(("a", "b", "x"), (0, 0, 2))
    key = ("t/n", "s", 7, "")
    assert Changes(add=("y",), kill=("a", "b")).after(key, before) == ConsumerList(("x", "y"), (2, 2))
    given_list = ConsumerList(("q",), (0,))
    assert Changes(lists={("", "s"): given_list}).after(key, before) == given_list
    assert Changes(lists={("t/m", "s"): given_list}).after(key, before) == before
    assert Changes().nothing


def test_slots_have_a_place_for_nobody_in_every_unit() -> None:
    slots = slots_of([list_of(["a", "b"]), list_of([])])
    assert slots.start.tolist() == [0, 3, 4]
    assert slots.nobody.tolist() == [2, 3]
    assert slots.of(np.array([0, 0, 1]), np.array([1, -1, -1])).tolist() == [1, 2, 3]
