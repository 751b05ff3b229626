"""Made-up clusters: the same numbers give the same state, and the state is a plausible one."""

from __future__ import annotations

import pytest

from engine.cluster.journal.invariants import faults
from engine.cluster.tables.loads import load_of
from engine.errors import InputError
from engine.scenarios.synthetic import synthetic_state


def test_equal_arguments_give_equal_states_and_another_seed_other_rates_only() -> None:
    one, same, other = (synthetic_state(50, 2, 5, seed) for seed in (3, 3, 4))
    assert one == same
    assert one.state.loads != other.state.loads
    assert one.state.topics == other.state.topics and one.state.subscriptions == other.state.subscriptions


def test_a_partition_has_the_same_traffic_whatever_else_there_is() -> None:
    small, large = synthetic_state(5, 1, 2).state, synthetic_state(500, 1, 9, bundles=64).state
    assert all(large.loads[name] == load for name, load in small.loads.items())


def test_rates_do_not_depend_on_the_machine() -> None:
    load = load_of(0, "persistent://public/default/topic-0-partition-0")
    assert (load.msg_rate_in, load.msg_rate_out) == (2.045, 2.017)


@pytest.mark.parametrize(
    ("topics", "partitions", "consumers", "bundles"), [(0, 0, 0, 1), (0, 5, 3, 4), (1, 0, 1, 4), (300, 3, 40, 100)]
)
def test_a_made_up_state_is_a_valid_one(topics: int, partitions: int, consumers: int, bundles: int) -> None:
    state = synthetic_state(topics, partitions, consumers, 1, bundles)
    assert not faults(state.state)
    assert len(state.state.topics) == topics and len(state.state.loads) == topics * max(partitions, 1)
    assert len(state.state.subscriptions[0].consumers) == consumers
    (namespace,) = state.state.namespaces.values()
    assert len(namespace.boundaries) == bundles + 1


def test_rates_are_uneven_as_real_ones_are() -> None:
    rates = sorted((load.msg_rate_in for load in synthetic_state(5000).state.loads.values()), reverse=True)
    assert 2 < rates[2500] < 6, "half of the topics carry a few messages a second"
    assert sum(rates[:1000]) > 0.5 * sum(rates), "a fifth carries more than half"
    assert rates[0] <= 4000 and rates[-1] >= 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"topics": -1}, "topics is -1: give 0 to 1000000"),
        ({"consumers": 10_001}, "consumers is 10001"),
        ({"bundles": 0}, "bundles is 0: give 1 to"),
        ({"topics": 100_000, "partitions": 11}, "more than 1000000 in all"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 2**63}, "2^63"),
        ({"release": "1.0"}, "Pulsar 1.0 is"),
    ],
)
def test_numbers_out_of_their_limits_are_reported(arguments: dict[str, int], message: str) -> None:
    with pytest.raises(InputError) as caught:
        synthetic_state(**arguments)  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_all_that_is_out_of_limits_is_reported_at_once() -> None:
    with pytest.raises(InputError, match=r"topics is -1.*consumers is -1"):
        synthetic_state(topics=-1, consumers=-1)
