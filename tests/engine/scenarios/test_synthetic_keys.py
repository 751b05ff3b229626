"""Made-up Key_Shared subscriptions: the same numbers give the same state in each mode."""

from __future__ import annotations

import pytest

from engine.cluster.journal.invariants import faults
from engine.cluster.keys.state import SharingMode
from engine.config import CURRENT
from engine.errors import InputError
from engine.scenarios.synthetic import KEY_SUBSCRIPTION, MAX_KEY_CONSUMERS, MAX_KEYS, synthetic_keys

MODES = [each.value for each in SharingMode]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("keys", "consumers"), [(0, 0), (1, 1), (200, 5)])
@pytest.mark.parametrize("release", ["", "2.11.0"])
def test_a_made_up_state_is_a_valid_one_of_its_mode(mode: str, keys: int, consumers: int, release: str) -> None:
    result = synthetic_keys(keys, consumers, mode=mode, points=9, release=release)
    (subscription,) = result.state.key_subscriptions
    assert not faults(result.state)
    assert subscription.mode.value == mode
    assert [consumer.name for consumer in subscription.consumers] == [f"worker-{number}" for number in range(consumers)]
    assert list(subscription.keys) == [f"order-{number}".encode() for number in range(keys)]
    assert result.state.release == (release or CURRENT.label)
    assert (subscription.key, subscription.delivery.backlog) == (KEY_SUBSCRIPTION, {})
    assert f"{keys:,} keys" in result.source and mode in result.source


def test_the_seed_decides_the_traffic_of_keys_and_nothing_else() -> None:
    one, same, other = (synthetic_keys(100, 3, seed=seed) for seed in (1, 1, 2))
    assert one == same and one.seed == 1
    first, second = one.state.key_subscriptions[0], other.state.key_subscriptions[0]
    assert list(first.keys) == list(second.keys) and first.keys != second.keys
    assert first.delivery.selector == second.delivery.selector
    assert all(count >= 0 for count in first.keys.values())


def test_a_key_has_the_same_traffic_whatever_else_there_is() -> None:
    few = synthetic_keys(10, 2).state.key_subscriptions[0].keys
    many = synthetic_keys(500, 9, mode="sticky").state.key_subscriptions[0].keys
    assert all(many[key] == count for key, count in few.items())


def test_every_number_out_of_its_limits_is_named_at_once() -> None:
    with pytest.raises(InputError) as wrong:
        synthetic_keys(-1, MAX_KEY_CONSUMERS + 1, mode="STICKY")
    assert str(wrong.value) == (
        f"keys is -1: give 0 to {MAX_KEYS}; consumers is {MAX_KEY_CONSUMERS + 1}: give 0 to {MAX_KEY_CONSUMERS}; "
        "mode is STICKY: give one of auto-split, consistent-auto-split, sticky, consistent-sticky"
    )


@pytest.mark.parametrize(
    ("points", "consumers", "reason"),
    [
        (0, 2, "a node needs 1 point or more, not 0"),
        (1, 463, "Ranges for KeyShared policy must not be empty. (all points of node 407 are on slots of others; "),
    ],
)
def test_points_that_no_node_can_use_are_refused(points: int, consumers: int, reason: str) -> None:
    with pytest.raises(InputError) as wrong:
        synthetic_keys(5, consumers, mode="consistent-sticky", points=points)
    assert str(wrong.value).startswith(reason)
