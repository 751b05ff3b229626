"""Hash space that nobody has, keys that wait, slots in decimal, and the scale of luck."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tui.drawing.pictures import SIZES, texts
from themes.palettes import DEPTHS, Depth, palette
from tui.drawing.arcs import (
    HASH_SPACE,
    Arcs,
    arcs_of,
    dominant_owners,
    hash_counts,
    hash_label,
    merged,
    shares_of_bins,
)
from tui.drawing.bars import LuckPicture, column_of, draw_luck
from tui.drawing.canvas import Canvas
from tui.drawing.colour import pack
from tui.drawing.hashmap import draw_hash_map
from tui.drawing.ring import draw_ring
from tui.drawing.ring_picture import Dots, RingMode, RingPicture

DARK = palette("dark", "truecolor")
SLOTS = 65_536


@st.composite
def pieces(draw: st.DrawFn) -> Arcs:
    """A space of 200 hashes cut into pieces, some of them nobody's."""
    ends = sorted(draw(st.sets(st.integers(0, 199), min_size=1, max_size=12)))
    owners = [draw(st.integers(-1, 3)) for _ in ends]
    return arcs_of(ends, owners, 4, size=200)


def owner_by_hand(arcs: Arcs, value: int) -> int:
    at = int(np.searchsorted(arcs.points, value))
    return int(arcs.owners[at % len(arcs.points)])


@given(pieces())
@settings(max_examples=80, deadline=None)
def test_hashes_of_nobody_are_counted_for_nobody(arcs: Arcs) -> None:
    by_hand = [owner_by_hand(arcs, value) for value in range(200)]
    assert hash_counts(arcs).tolist() == [by_hand.count(owner) for owner in range(4)]
    for owner in range(4):
        assert shares_of_bins(arcs, np.array([0, 200]), owner)[0] == pytest.approx(by_hand.count(owner) / 200)
    starts, lengths, owners = merged(arcs)
    result = [-9] * 200
    for start, length, owner in zip(starts.tolist(), lengths.tolist(), owners.tolist(), strict=True):
        for value in range(start, start + length):
            result[value % 200] = owner
    assert result == by_hand


@given(pieces(), st.integers(1, 40))
@settings(max_examples=80, deadline=None)
def test_a_bin_is_nobodys_only_where_nobody_has_more_than_anybody(arcs: Arcs, bins: int) -> None:
    edges = np.arange(bins + 1, dtype=np.int64) * 200 // bins
    for at, seen in enumerate(dominant_owners(arcs, edges).tolist()):
        by_hand = [owner_by_hand(arcs, value) for value in range(edges[at], edges[at + 1])]
        counts = {owner: by_hand.count(owner) for owner in (*range(4), -1)}
        assert counts[seen] == max(counts.values())
        assert seen != -1 or all(counts[owner] < counts[-1] for owner in range(4))


GAPPED = RingPicture(
    arcs_of([16_383, 32_767, 65_535], [0, -1, 1], 2, SLOTS),
    Dots(np.array([100, 20_000], dtype=np.uint32), np.array([0, -1], dtype=np.int32), None, np.array([False, True])),
    tags=("A", "B"),
)


def cells_in(canvas: Canvas, colour: int) -> int:
    return int((canvas.background == colour).sum())


def test_a_gap_is_drawn_as_the_bare_track_and_has_no_tag() -> None:
    for draw in (draw_ring, draw_hash_map):
        canvas = draw(GAPPED, 60, 28, DARK)
        whole = draw(RingPicture(arcs_of([32_767, 65_535], [0, 1], 2, SLOTS), tags=("A", "B")), 60, 28, DARK)
        assert cells_in(canvas, pack(DARK.ring_track)) > 50
        assert cells_in(whole, pack(DARK.ring_track)) == 0


@pytest.mark.parametrize("draw", [draw_ring, draw_hash_map])
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("mode", [RingMode.LIT, RingMode.MUTED, RingMode.FOCUS])
def test_what_waits_is_marked_at_its_slot_only(draw: object, depth: Depth, mode: RingMode) -> None:
    picture = RingPicture(
        GAPPED.arcs, GAPPED.dots, mode=mode, focus=0 if mode is RingMode.FOCUS else None, tags=("A", "B")
    )
    for width, height in ((60, 28), (37, 16)):
        lines = texts(draw(picture, width, height, palette("dark", depth)).strips())  # type: ignore[operator]
        assert "".join(lines).count("!") == 1
    calm = RingPicture(GAPPED.arcs, Dots(GAPPED.dots.hashes, GAPPED.dots.owners), mode=mode, focus=picture.focus)
    assert "!" not in "".join(texts(draw(calm, 60, 28, palette("dark", depth)).strips()))  # type: ignore[operator]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_nobody_at_all_can_be_drawn_at_every_size(size: tuple[int, int], ascii_only: bool) -> None:
    empty = RingPicture(arcs_of([], [], 0, SLOTS), Dots(np.array([5], dtype=np.uint32), np.array([-1], dtype=np.int32)))
    for draw in (draw_ring, draw_hash_map):
        for depth in DEPTHS:
            assert len(draw(empty, *size, palette("dark", depth), ascii_only=ascii_only).strips()) == size[1]
            assert len(draw(GAPPED, *size, palette("dark", depth), ascii_only=ascii_only).strips()) == size[1]


def test_slots_are_labelled_in_decimal_and_hashes_in_hexadecimal() -> None:
    lines = texts(draw_hash_map(GAPPED, 60, 4, DARK).strips())
    assert [line[:6] for line in lines] == ["    0 ", "16384 ", "32768 ", "49152 "]
    assert {len(hash_label(value, HASH_SPACE)) for value in (0, 255, HASH_SPACE - 1)} == {10}


numbers = st.builds(
    lambda observed, expected, low, width: LuckPicture(observed, expected, low, low + width, 1000),
    st.integers(0, 1000),
    st.floats(0.1, 1000),
    st.integers(0, 900),
    st.integers(0, 100),
)


@given(numbers, st.integers(1, 120))
@settings(max_examples=100, deadline=None)
def test_the_scale_of_luck_fits_and_orders_its_marks_as_the_numbers(picture: LuckPicture, width: int) -> None:
    for depth in DEPTHS:
        assert draw_luck(picture, width, palette("dark", depth)).cell_length == width
    text = draw_luck(picture, width, palette("dark", "mono"), ascii_only=True).text
    assert text.isascii()
    assert text[column_of(picture, picture.observed, width)] == "X"
    ordered = sorted([picture.observed, picture.low, picture.high])
    columns = [column_of(picture, value, width) for value in ordered]
    assert columns == sorted(columns)
    assert column_of(picture, picture.observed, width) < width


def test_the_mark_of_luck_warns_outside_the_usual_span() -> None:
    usual, odd = LuckPicture(5, 5.0, 4, 6, 10), LuckPicture(9, 5.0, 4, 6, 10)
    assert usual.usual
    assert not odd.usual

    def colour(picture: LuckPicture) -> str:
        strip = draw_luck(picture, 40, DARK)
        segment = next(each for each in strip if "◆" in each.text)
        assert segment.style is not None and segment.style.color is not None
        return segment.style.color.name

    assert colour(usual) != colour(odd)
    assert draw_luck(usual, 0, DARK).cell_length == 0
