"""How uneven a subscription is: against what each consumer can get at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.failover.bulk_policies import Policy
from pipeline.jobs.assign_loads import Loads
from pipeline.schemas import SUBSCRIPTION_LOADS


def sums_row(lists: Sequence[tuple[str, ...]], held: Sequence[Sequence[int]]) -> Mapping[str, float]:
    """The row of one subscription whose topics have these lists, and whose consumers have so many partitions each."""
    policy = Policy.FLAG_OFF
    counts = np.array([count for each in held for count in (*each, 0)], dtype=np.float64)
    names, keys = (
        pa.array(lists, pa.list_(pa.string())),
        [pa.array([text] * len(lists)) for text in ("", "t/n", "s", "topic")],
    )
    sums = np.array([counts, 0 * counts, 2.5 * counts, 2.5 * counts])
    loads = Loads(keys, names, flag=np.zeros(len(lists), dtype=bool))
    (row,) = loads.tables((policy,), {policy: sums}, counts)[1].to_pylist()
    assert list(row) == list(SUBSCRIPTION_LOADS.names)
    return row


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=9))
def test_with_one_list_of_consumers_it_is_the_busiest_over_the_mean(held: list[int]) -> None:
    row = sums_row([tuple(f"c-{number}" for number in range(len(held)))], [held])
    assert (row["partitions"], row["consumers"], row["idle"]) == (sum(held), len(held), held.count(0))
    if not sum(held):
        assert row["max_over_mean"] is None and row["max_over_mean_rate"] is None and row["max_over_even"] is None
    else:
        assert row["max_over_mean"] == pytest.approx(row["max_partitions"] / row["mean_partitions"])
        assert row["max_over_even"] == pytest.approx(row["max_over_mean"])
        assert row["max_over_mean_rate"] == pytest.approx(max(held) / (sum(held) / len(held)))


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=9))
def test_topics_with_a_consumer_each_are_even_however_many_partitions_they_have(held: list[int]) -> None:
    row = sums_row([(f"c-{number}",) for number in range(len(held))], [[count] for count in held])
    assert row["max_over_even"] == 1
    assert row["max_over_mean"] == pytest.approx(max(held) / (sum(held) / len(held)))
    assert (row["partitions"], row["consumers"], row["idle"]) == (sum(held), len(held), 0)


def test_the_busiest_is_measured_against_the_topics_it_reads() -> None:
    row = sums_row([("a", "b"), ("c",)], [[3, 1], [8]])
    assert (row["max_over_even"], row["max_over_mean"], row["max_over_mean_rate"]) == (1.5, 2, 2)
    assert (row["max_partitions"], row["mean_partitions"]) == (8, 4)


def test_a_consumer_in_several_lists_is_one_consumer_with_all_its_shares() -> None:
    """Ten consumers of 100 partitions, one of which a single partition lost for a moment: that is nearly even."""
    everyone = tuple(f"c-{number}" for number in range(10))
    row = sums_row([everyone, everyone[1:]], [[9, *[10] * 9], [1, *[0] * 8]])
    assert row["consumers"] == 10
    assert row["max_over_even"] == pytest.approx(11 / (9.9 + 1 / 9))


def test_what_less_busy_consumers_could_take_is_measured_in_each_list() -> None:
    row = sums_row([("a", "b"), ("c",)], [[3, 1], [8]])
    assert (row["spare_msg_rate"], row["lists"], row["in_force"]) == (2.5, 2, True)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=9))
def test_nothing_can_be_taken_that_is_not_there(held: list[int]) -> None:
    row = sums_row([tuple(f"c-{number}" for number in range(len(held)))], [held])
    even = sum(held) / len(held)
    assert row["spare_msg_rate"] == pytest.approx(2.5 * sum(max(even - own, 0) for own in held))
    assert row["spare_msg_rate"] <= 2.5 * sum(held)


def test_consumers_of_equal_names_are_the_first_and_the_second_in_every_list() -> None:
    names, keys = (
        pa.array([["b", "a", "a"], ["a"], ["c"]]),
        [pa.array([""] * 3), pa.array(["t/n"] * 3), pa.array(["s", "s", "u"]), pa.array(["x", "y", "z"])],
    )
    sums = {policy: np.full((4, 8), [1, 2, 4, 0, 8, 0, 16, 0], dtype=float) for policy in Policy}
    loads = Loads(keys, names, flag=np.array([True, True, False])).tables(tuple(Policy), sums, np.zeros(8))
    consumers, subscriptions = (rows.to_pylist() for rows in loads)
    assert [(row["subscription"], row["policy"], row["consumer"], row["partitions"]) for row in consumers] == [
        *[("s", policy.value, *held) for policy in Policy for held in (("a", 10), ("a", 4), ("b", 1))],
        *[("u", policy.value, "c", 16) for policy in Policy],
    ]
    assert [(row["subscription"], row["policy"], row["in_force"]) for row in subscriptions] == [
        ("s", "flag_off", False), ("s", "flag_on", True), ("u", "flag_off", True), ("u", "flag_on", False),
    ]  # fmt: skip
