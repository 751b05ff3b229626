"""What goes round in circles in a simulation: since when, how often, and whether it still does in the last cycle."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.balance.splitting.loops import Loop, find_loops, returning_bundles
from engine.balance.splitting.model import Balance
from engine.bundles.boundaries import NamespaceBundles
from engine.config import SPECIFIED_POSITIONS_DIVIDE
from tests.engine.balance.test_balance import HOT_PAIR, Stepped, at, run

WHOLE_NAME = "t/n/0x00000000_0xffffffff"
THREE = [at(0, 1e9), at(1), at(0xF0000000)]
"""Parted once, 0 and 1 then stay together for 29 splits in 29 cycles."""


def of_kind(balance: Balance, kind: str) -> list[Loop]:
    return [loop for loop in find_loops(balance) if loop.kind == kind]


def test_no_cycle_has_no_loop() -> None:
    assert find_loops(run(HOT_PAIR, 0)) == ()


@pytest.mark.parametrize(("cycles", "seen", "lasts"), [(1, None, None), (2, (1, 2), True), (4, (1, 2), False)])
def test_an_attempt_without_effect_is_a_loop_from_its_second_cycle_until_the_traffic_is_gone(
    cycles: int, seen: tuple[int, ...] | None, lasts: bool | None
) -> None:
    """No positions are given, so each of the two reports of a cycle brings a refusal, up to the third cycle."""
    fading = Stepped(HOT_PAIR, 2, 0.0)
    balance = run(fading, cycles, defaultNamespaceBundleSplitAlgorithm=SPECIFIED_POSITIONS_DIVIDE)
    expected = [] if seen is None else [Loop("repeats-without-effect", WHOLE_NAME, seen, 4, bool(lasts), "refused")]
    assert list(find_loops(balance)) == expected


@pytest.mark.parametrize(("cycles", "lasts"), [(3, True), (4, False)])
def test_a_full_namespace_counts_once_a_cycle(cycles: int, lasts: bool) -> None:
    """The average falls below the limit in the fourth cycle, not with the traffic in the third."""
    fading = Stepped(HOT_PAIR, 2, 0.0)
    balance = run(fading, cycles, loadBalancerNamespaceMaximumBundles=1)
    assert list(find_loops(balance)) == [Loop("namespace-full", "t/n", (1, 2, 3), 3, lasts)]


@pytest.mark.parametrize(
    ("cycles", "splits", "lasts"), [(2, 0, None), (3, 2, True), (6, 5, True), (30, 29, True), (31, 29, False)]
)
def test_a_chain_that_parts_nothing_begins_after_a_split_that_parts(
    cycles: int, splits: int, lasts: bool | None
) -> None:
    result = of_kind(run(THREE, cycles), "parts-nothing")
    chain = Loop("parts-nothing", "t/n/0x00000000_0x7fffffff", tuple(range(2, 2 + splits)), splits, bool(lasts))
    assert result == ([chain] if splits else [])


@pytest.mark.parametrize("cycles", [1, 2])
def test_an_unload_for_nothing_lasts_only_in_its_own_cycle(cycles: int) -> None:
    (result,) = of_kind(run(HOT_PAIR, cycles), "unloaded-for-nothing")
    assert result == Loop("unloaded-for-nothing", "t/n/0x7fffffff_0xffffffff", (1,), 1, cycles == 1, "b:1")


def test_a_bundle_that_returns_is_found_in_a_balance_by_its_full_name() -> None:
    """A simulation moves a bundle once; owners that change without a split are put in by hand."""
    balance = run([at(5)], 4, bundles=NamespaceBundles("t/n", (0, 0xFFFFFFFF)))
    (bundle,) = balance.bundles
    owners = ("b:1", "b:2", "b:1", "b:1")
    cycles = tuple(replace(each, owners=((bundle, owner),)) for each, owner in zip(balance.cycles, owners, strict=True))
    expected = Loop("returns-to-former-owner", WHOLE_NAME, (3,), 1, False, "b:1, b:2, b:1")
    assert find_loops(replace(balance, cycles=cycles)) == (expected,)
    assert find_loops(replace(balance, cycles=cycles[:3])) == (replace(expected, lasts=True),)


def test_a_bundle_that_stays_or_is_new_does_not_return() -> None:
    assert returning_bundles([{"x": "a"}, {"x": "a"}, {"x": "b", "y": "a"}, {"y": "b"}]) == ()
    (result,) = returning_bundles([{"x": "a", "y": "a"}, {"x": "a", "y": "b"}, {"x": "a", "y": "a"}])
    assert (result.bundle, result.cycles) == ("y", (3,))
