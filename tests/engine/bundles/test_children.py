"""What a split into children refuses: with which status, and which cut it names."""

from __future__ import annotations

import pytest

from engine.bundles import boundaries as children
from engine.bundles.boundaries import (
    FULL_UPPER_BOUND,
    BundleRange,
    NamespaceBundles,
    SplitRefusal,
    SplitResult,
    split_bundles,
)

WHOLE = NamespaceBundles("t/n", (0, FULL_UPPER_BOUND))
HALVES = NamespaceBundles("t/n", (0, 0x80000000, FULL_UPPER_BOUND))
NARROW = NamespaceBundles("t/n", (0, 1, 9, FULL_UPPER_BOUND))


@pytest.mark.parametrize(
    ("bundles", "place", "number", "cuts", "refusal"),
    [
        (NARROW, 0, 2, None, ("IllegalArgumentException", "bundle", 412, "sync")),
        (HALVES, 0, 2, [0x80000000], ("IllegalArgumentException", "positions", 412, "sync")),
        (HALVES, 0, -1, None, ("ArrayIndexOutOfBoundsException", "number", 0, "async")),
        (HALVES, 0, 3, [7, 7], ("IllegalArgumentException", "positions", 0, "async")),
        (HALVES, 0, 0, None, ("ArithmeticException", "number", 0, "async")),
        (NARROW, 1, 9, None, ("IllegalArgumentException", "number", 0, "async")),
        (WHOLE, 0, 2**20 + 1, None, ("TooManyBundles", "number", 0, "sync")),
    ],
)
def test_a_refusal_has_its_field_its_status_and_its_listener(
    bundles: NamespaceBundles, place: int, number: int, cuts: list[int] | None, refusal: tuple[str, str, int, str]
) -> None:
    result = split_bundles(bundles, bundles[place], number, cuts)
    assert isinstance(result, SplitRefusal)
    assert (result.error, result.field, result.status, result.stage) == refusal


@pytest.mark.parametrize(
    ("cuts", "outside"),
    [
        ([0x90000000, 5], 5),
        ([0x80000000, 0x90000000], 0x80000000),
        ([0x90000000, FULL_UPPER_BOUND], FULL_UPPER_BOUND),
        ([0x90000000, 2**32 + 7], 2**32 + 7),
    ],
)
def test_the_cut_that_is_outside_is_named(cuts: list[int], outside: int) -> None:
    bundles = split_bundles(HALVES, HALVES[1], 2, cuts)
    assert isinstance(bundles, SplitRefusal)
    assert f" {outside} ({outside:#010x}) " in bundles.message


def test_as_many_parts_as_the_model_makes_and_as_the_width_has(monkeypatch: pytest.MonkeyPatch) -> None:
    bundles = split_bundles(NARROW, NARROW[1], 8)
    assert isinstance(bundles, SplitResult)
    assert bundles.children == tuple(BundleRange(low, low + 1) for low in range(1, 9))
    monkeypatch.setattr(children, "MAX_BUNDLES", 50)
    most, one_more = (split_bundles(WHOLE, WHOLE[0], number) for number in (50, 51))
    assert isinstance(most, SplitResult) and len(most.bundles) == 50
    assert isinstance(one_more, SplitRefusal) and one_more.error == "TooManyBundles"
