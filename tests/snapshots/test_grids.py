"""Many screens as plain text, compared with committed grids: what stands where, at every size.

``pytest tests/snapshots --snapshot-update`` writes the grids anew; read the difference before you commit it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from engine.cluster.timeline import Timeline
from engine.scenarios.embedded import embedded
from tests.tui.key_scenes import SUBSCRIBED, before_a_move, in_mode, keys_app, state_after, with_a_gap
from tests.tui.producer_scenes import hundred_app, mixed_app, producers_app
from tests.tui.reported_scenes import (
    LOAD_REPORT,
    actives_differ_app,
    app_on,
    draining_app,
    ranges_differ_app,
    sample_app,
)
from tests.tui.screens_under_test import after_keys, app_of, cluster
from tui.app import RingsideApp
from tui.kit.session import Session

FOLDER: Final = Path(__file__).parent / "grids"
SMALL, MIDDLE, LARGE = (80, 24), (120, 40), (200, 60)


def scene(name: str = "pip392", **how: Any) -> RingsideApp:
    opened = embedded(name)
    return RingsideApp(
        Session(Timeline.start(opened.state, opened.seed, opened.source)), animate=False, depth="truecolor", **how
    )


def waiting(**how: Any) -> RingsideApp:
    """A consumer has joined, and messages of two keys wait until another one acknowledges."""
    lines = ("add worker-3", "wait 10", "send order-1 times 3", "send order-7", "wait 10", "send order-12")
    return keys_app(before_a_move(), *lines, **how)


def gap(**how: Any) -> RingsideApp:
    """Declared ranges with two gaps, where messages wait."""
    return keys_app(with_a_gap(), **how)


GRIDS: Final[dict[str, tuple[Any, tuple[str, ...], tuple[int, int]]]] = {
    "first-80x24": (scene, (), SMALL),
    "first-60x18": (scene, (), (60, 18)),
    "first-120x40": (scene, (), MIDDLE),
    "first-200x60": (scene, (), LARGE),
    "ring-on-80x24": (scene, ("c",), SMALL),
    "ring-on-200x60": (scene, ("c",), LARGE),
    "hash-map-80x24": (scene, ("c", "v"), SMALL),
    "hash-map-mono-120x40": (lambda: scene(mono=True), ("c", "v"), MIDDLE),
    "ring-ascii-120x40": (lambda: scene(ascii_only=True), ("c",), MIDDLE),
    "after-a-kill-120x40": (scene, ("c", "x"), MIDDLE),
    "after-undo-120x40": (scene, ("c", "x", "u"), MIDDLE),
    "add-dialog-80x24": (scene, ("a",), SMALL),
    "explanation-modulo-120x40": (scene, ("f", "enter"), MIDDLE),
    "explanation-ring-80x24": (scene, ("c", "f", "enter"), SMALL),
    "partitions-120x40": (scene, ("c", "enter"), MIDDLE),
    "partitions-80x24": (scene, ("enter",), SMALL),
    "split-preview-80x24": (lambda: scene("flow-split"), ("s",), SMALL),
    "split-preview-120x40": (lambda: scene("flow-split"), ("s",), MIDDLE),
    "split-preview-200x60": (lambda: scene("flow-split"), ("s",), LARGE),
    "after-a-split-120x40": (lambda: scene("flow-split"), ("3", "s", "enter"), MIDDLE),
    "bundle-opened-80x24": (scene, ("3", "down", "enter"), SMALL),
    "bundle-opened-120x40": (scene, ("3", "down", "enter"), MIDDLE),
    "help-80x24": (scene, ("question_mark",), SMALL),
    "help-120x40": (scene, ("question_mark",), MIDDLE),
    "command-refused-120x40": (scene, ("colon", *"kil x", "enter"), MIDDLE),
    "zoomed-table-120x40": (scene, ("c", "2", "z"), MIDDLE),
    "zoomed-ring-80x24": (scene, ("c", "1", "z"), SMALL),
    "filter-80x24": (scene, ("slash", *"-7", "enter"), SMALL),
    "nobody-80x24": (lambda: app_of(cluster(())), (), SMALL),
    "priorities-80x24": (lambda: app_of(cluster(priorities=(0, 0, 1))), ("c",), SMALL),
    "too-small-50x12": (scene, (), (50, 12)),
    "keys-ring-80x24": (keys_app, (), SMALL),
    "keys-ring-120x40": (keys_app, (), MIDDLE),
    "keys-ring-200x60": (keys_app, (), LARGE),
    "keys-waiting-80x24": (waiting, (), SMALL),
    "keys-waiting-120x40": (waiting, (), MIDDLE),
    "keys-waiting-200x60": (waiting, (), LARGE),
    "keys-waiting-ascii-120x40": (lambda: waiting(ascii_only=True), (), MIDDLE),
    "keys-gap-60x18": (gap, (), (60, 18)),
    "keys-gap-80x24": (gap, (), SMALL),
    "keys-gap-120x40": (gap, (), MIDDLE),
    "keys-gap-200x60": (gap, (), LARGE),
    "keys-gap-mono-80x24": (lambda: gap(mono=True), (), SMALL),
    "keys-gap-map-mono-120x40": (lambda: gap(mono=True), ("v",), MIDDLE),
    "keys-auto-split-120x40": (lambda: keys_app(in_mode("auto-split", 5)), ("x",), MIDDLE),
    "keys-client-side-120x40": (lambda: keys_app(in_mode("consistent-sticky points 4")), ("x",), MIDDLE),
    "keys-client-side-80x24": (lambda: keys_app(in_mode("consistent-sticky points 4")), (), SMALL),
    "keys-after-a-kill-80x24": (keys_app, ("x",), SMALL),
    "keys-nobody-80x24": (lambda: keys_app(state_after(SUBSCRIBED)), (), SMALL),
    "keys-explanation-120x40": (waiting, ("f", "enter"), MIDDLE),
    "keys-explanation-80x24": (waiting, ("f", "enter"), SMALL),
    "keys-mode-dialog-80x24": (keys_app, ("m", "down", "down", "down"), SMALL),
    "keys-add-dialog-80x24": (gap, ("a", "tab", "ctrl+u", *"0-10", "enter"), SMALL),
    "keys-send-dialog-80x24": (keys_app, ("t",), SMALL),
    "keys-owned-80x24": (keys_app, ("enter",), SMALL),
    "keys-owned-120x40": (keys_app, ("enter",), MIDDLE),
    "keys-notices-120x40": (gap, ("i",), MIDDLE),
    "keys-help-80x24": (keys_app, ("question_mark",), SMALL),
    "keys-zoomed-waits-80x24": (waiting, ("3", "z"), SMALL),
    "producers-first-80x24": (producers_app, (), SMALL),
    "producers-first-120x40": (producers_app, (), MIDDLE),
    "producers-mixed-60x18": (mixed_app, (), (60, 18)),
    "producers-mixed-80x24": (mixed_app, (), SMALL),
    "producers-mixed-120x40": (mixed_app, (), MIDDLE),
    "producers-mixed-200x60": (mixed_app, (), LARGE),
    "producers-mixed-mono-120x40": (lambda: mixed_app(mono=True), (), MIDDLE),
    "producers-mixed-ascii-120x40": (lambda: mixed_app(ascii_only=True), (), MIDDLE),
    "producers-hundred-80x24": (hundred_app, (), SMALL),
    "producers-hundred-120x40": (hundred_app, (), MIDDLE),
    "producers-hundred-200x60": (hundred_app, (), LARGE),
    "producers-hundred-mono-80x24": (lambda: hundred_app(mono=True), (), SMALL),
    "producers-add-dialog-80x24": (producers_app, ("a",), SMALL),
    "producers-send-dialog-80x24": (producers_app, ("T",), SMALL),
    "producers-explanation-80x24": (mixed_app, ("f", "ctrl+u", *"order-1", "enter"), SMALL),
    "producers-explanation-120x40": (mixed_app, ("f", "ctrl+u", *"order-1", "enter"), MIDDLE),
    "producers-statistics-80x24": (mixed_app, ("4",), SMALL),
    "producers-costs-80x24": (mixed_app, ("3", "z"), SMALL),
    "producers-notices-120x40": (mixed_app, ("i",), MIDDLE),
    "producers-help-80x24": (producers_app, ("question_mark",), SMALL),
    "producers-nobody-80x24": (lambda: producers_app(0, 6), (), SMALL),
    "seen-keys-80x24": (draining_app, ("left_square_bracket",) * 2, SMALL),
    "seen-keys-120x40": (draining_app, ("left_square_bracket",) * 2, MIDDLE),
    "seen-keys-200x60": (draining_app, ("left_square_bracket",) * 2, LARGE),
    "seen-keys-mono-120x40": (lambda: draining_app(mono=True), ("left_square_bracket",) * 2, MIDDLE),
    "seen-keys-ascii-80x24": (lambda: draining_app(ascii_only=True), ("left_square_bracket",) * 2, SMALL),
    "seen-keys-first-moment-120x40": (draining_app, ("home",), MIDDLE),
    "seen-keys-after-a-kill-120x40": (draining_app, ("x",), MIDDLE),
    "seen-failover-80x24": (lambda: sample_app("failover-active-no-permits-a"), (), SMALL),
    "seen-failover-120x40": (lambda: sample_app("failover-active-no-permits-a"), (), MIDDLE),
    "seen-failover-200x60": (lambda: sample_app("failover-active-no-permits-a"), (), LARGE),
    "seen-failover-mono-80x24": (lambda: sample_app("failover-active-no-permits-a", mono=True), (), SMALL),
    "differ-ring-80x24": (lambda: actives_differ_app("a-failover-8p-hash", 3), (), SMALL),
    "differ-ring-120x40": (lambda: actives_differ_app("a-failover-8p-hash", 3), (), MIDDLE),
    "differ-ring-200x60": (lambda: actives_differ_app("a-failover-8p-hash", 3), (), LARGE),
    "differ-ring-mono-80x24": (lambda: actives_differ_app("a-failover-8p-hash", 3, mono=True), (), SMALL),
    "differ-ring-mono-120x40": (lambda: actives_differ_app("a-failover-8p-hash", 3, mono=True), (), MIDDLE),
    "differ-modulo-ascii-120x40": (
        lambda: actives_differ_app("a-failover-8p-modulo", 2, ascii_only=True),
        (),
        MIDDLE,
    ),
    "differ-modulo-map-120x40": (lambda: actives_differ_app("a-failover-8p-modulo", 2), ("v",), MIDDLE),
    "differ-modulo-map-mono-80x24": (lambda: actives_differ_app("a-failover-8p-modulo", 2, mono=True), ("v",), SMALL),
    "differ-modulo-none-120x40": (lambda: actives_differ_app("a-failover-8p-modulo", 0), (), MIDDLE),
    "differ-list-80x24": (lambda: actives_differ_app("a-failover-8p-modulo", 2), ("V",), SMALL),
    "differ-keys-80x24": (ranges_differ_app, (), SMALL),
    "differ-keys-120x40": (ranges_differ_app, (), MIDDLE),
    "differ-keys-200x60": (ranges_differ_app, (), LARGE),
    "differ-keys-mono-120x40": (lambda: ranges_differ_app(mono=True), (), MIDDLE),
    "differ-keys-list-120x40": (ranges_differ_app, ("V",), MIDDLE),
    "seen-shared-80x24": (lambda: sample_app("subscription-unacked-limit-a"), (), SMALL),
    "seen-shared-120x40": (lambda: sample_app("subscription-unacked-limit-a"), (), MIDDLE),
    "seen-shared-200x60": (lambda: sample_app("subscription-unacked-limit-a"), (), LARGE),
    "seen-shared-mono-80x24": (lambda: sample_app("subscription-unacked-limit-a", mono=True), (), SMALL),
    "seen-shared-details-80x24": (lambda: sample_app("subscription-unacked-limit-a"), ("f",), SMALL),
    "seen-shared-why-120x40": (lambda: sample_app("subscription-unacked-limit-a"), ("w",), MIDDLE),
    "seen-loads-80x24": (lambda: app_on(LOAD_REPORT), (), SMALL),
    "seen-loads-120x40": (lambda: app_on(LOAD_REPORT), (), MIDDLE),
}


@pytest.mark.parametrize("name", GRIDS)
def test_screen(name: str, request: pytest.FixtureRequest) -> None:
    """The screen reads as the committed grid does."""
    make, keys, size = GRIDS[name]
    seen = after_keys(make(), *keys, size=size).rstrip("\n") + "\n"
    path = FOLDER / f"{name}.txt"
    if request.config.getoption("update_snapshots"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(seen, encoding="utf-8")
    assert path.is_file(), f"{path} is missing; --snapshot-update writes it"
    assert seen == path.read_text(encoding="utf-8")


def test_every_committed_grid_is_checked() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(GRIDS)
