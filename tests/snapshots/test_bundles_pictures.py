"""Pictures of the screen "bundles". Each docstring says what must be visible; look at a picture before you accept it.

``pytest tests/snapshots --snapshot-update`` draws them anew.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.tui.bundle_scenes import bundles_app, flow_state

SMALL, MIDDLE, LARGE = (80, 24), (120, 40), (200, 60)
Compare = Callable[..., bool]


@pytest.mark.parametrize("size", [SMALL, MIDDLE, LARGE], ids=["80x24", "120x40", "200x60"])
def test_three_pieces_by_flow(snap_compare: Compare, size: tuple[int, int]) -> None:
    """All bundles above 28; the curve of the last one fills three pieces up to the limit, with a cut at each."""
    app = bundles_app(flow_state(loadBalancerNamespaceBundleMaxMsgRate=28))
    assert snap_compare(app, press=["b", "down", "down", "down"], terminal_size=size)


def test_after_the_first_cycle_by_range(snap_compare: Compare) -> None:
    """Children in green below their parents in grey; bars against the limit; what the cycle did, and the slider."""
    assert snap_compare(bundles_app(), press=["b", "1", "right_square_bracket"], terminal_size=MIDDLE)


def test_light_and_proposed(snap_compare: Compare) -> None:
    """Light ground; the running sum goes on beyond half of the total, where the one cut stands; bytes as a line."""
    assert snap_compare(bundles_app(theme="light"), press=["b", "r"], terminal_size=MIDDLE)


def test_mono(snap_compare: Compare) -> None:
    """No colour at all: pieces bright and dim, the limit dashed, cuts bold, the marked row reversed."""
    assert snap_compare(bundles_app(mono=True), press=["b", "right_square_bracket"], terminal_size=MIDDLE)
