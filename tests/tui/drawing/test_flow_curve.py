"""The flow curve as a drawing: heights are shares of a limit, cuts stand where they cut, every size can be drawn."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from themes.palettes import DEPTHS, palette
from tui.drawing.flow_cells import FlowPicture, Role, column_of, column_values, flow_cells
from tui.drawing.flow_curve import draw_flow
from tui.drawing.timeline import CycleMark, draw_cycles

STEPS = FlowPicture(0, 800, (100, 300, 600), (0.5, 1.0, 0.8), (0.1, 0.2, 0.1), cuts=(500,), labels=("two", "one"))


@st.composite
def pictures(draw: st.DrawFn) -> FlowPicture:
    lower = draw(st.integers(0, 2**31))
    upper = lower + draw(st.integers(2, 2**31))
    hashes = tuple(sorted(draw(st.lists(st.integers(lower, upper), max_size=12))))
    shares = st.floats(0, 50, allow_nan=False)
    cuts = tuple(sorted(set(draw(st.lists(st.integers(lower + 1, upper - 1), max_size=4)))))
    return FlowPicture(
        lower, upper, hashes,
        tuple(draw(shares) for _ in hashes), tuple(draw(shares) for _ in hashes), cuts,
        restarts=draw(st.booleans()), gate=draw(st.sampled_from([0.0, 1.1])),
        msg_label="30.0k/s", byte_label="100 MB/s", labels=draw(st.sampled_from([(), ("a",) * (len(cuts) + 1)])),
    )  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(pictures(), st.integers(0, 130), st.integers(0, 30), st.booleans(), st.sampled_from(DEPTHS))
def test_every_picture_fits_its_room_in_every_look(
    picture: FlowPicture, width: int, height: int, ascii_only: bool, depth: str
) -> None:
    strips = draw_flow(picture, width, height, palette("dark", depth), ascii_only=ascii_only)
    assert len(strips) == height and all(strip.cell_length == width for strip in strips)
    if ascii_only:
        assert all(strip.text.isascii() for strip in strips)


@pytest.mark.parametrize(("ascii_only", "low", "full"), [(True, "_", "#"), (False, "▁", "█")])
def test_next_to_nothing_is_drawn_low_and_nothing_not_at_all(ascii_only: bool, low: str, full: str) -> None:
    steps = FlowPicture(0, 30, (0, 10, 20), (0.0001, 0.0, 1.0), (0.0, 0.0, 0.0), restarts=False)
    *_, bottom, _axis, _foot = flow_cells(steps, 30, 8, ascii_only=ascii_only).lines()
    assert bottom == low * 11 + " " * 9 + full * 10


def role_cells(role: Role, width: int = 80, height: int = 13) -> Iterator[tuple[int, int]]:
    cells = flow_cells(STEPS, width, height)
    return ((row, column) for row in range(height) for column in range(width) if cells.roles[row][column] is role)


def test_a_cut_is_a_line_through_the_plot_at_its_hash() -> None:
    columns = {column for _, column in role_cells(Role.CUT)}
    assert columns == {9 + column_of(STEPS, 500, 80 - 18)}


def test_the_limit_is_one_line_and_what_is_below_it_never_reaches_it() -> None:
    (limit,) = {row for row, _ in role_cells(Role.LIMIT)}
    over = list(role_cells(Role.OVER))
    assert not over
    assert all(row >= limit for row, _ in role_cells(Role.PIECE) if row < 10)


def test_what_is_above_the_limit_is_marked_where_sums_restart_only() -> None:
    high = FlowPicture(0, 800, (100,), (3.0,), (0.0,))
    assert any(Role.OVER in row for row in flow_cells(high, 40, 12).roles)
    half = FlowPicture(0, 800, (100,), (2.0,), (0.0,), restarts=False)
    assert not any(Role.OVER in row for row in flow_cells(half, 40, 12).roles)


def test_sums_begin_anew_behind_a_cut_unless_the_rule_goes_on() -> None:
    assert column_values(STEPS, STEPS.msgs, 8) == [0.0, 0.5, 0.5, 1.0, 1.0, 1.0, 0.8, 0.8]
    onwards = FlowPicture(0, 800, (100, 300), (0.5, 1.0), (0.0, 0.0), cuts=(500,), restarts=False)
    assert column_values(onwards, onwards.msgs, 8)[-1] == 1.0


def test_pieces_take_turns_and_have_their_labels() -> None:
    cells = flow_cells(STEPS, 80, 13)
    roles = {role for row in cells.roles for role in row}
    assert {Role.PIECE, Role.OTHER_PIECE, Role.BYTES} <= roles
    assert cells.lines()[-1].split() == ["two", "one"]


def test_traffic_too_small_to_be_seen_draws_no_line_of_bytes() -> None:
    idle = FlowPicture(0, 800, (100,), (0.5,), (0.001,))
    assert not any(Role.BYTES in row for row in flow_cells(idle, 80, 13).roles)


@pytest.mark.parametrize(("width", "marks", "shown"), [(41, 20, 3), (7, 20, 3), (1, 20, 0), (0, 5, 1), (9, 0, 0)])
def test_the_shown_cycle_is_always_in_sight(width: int, marks: int, shown: int) -> None:
    every = tuple(CycleMark("/" if number == shown else ".", "warn") for number in range(1, marks + 1))
    strip = draw_cycles(every, shown, width, palette("dark", "truecolor"), ascii_only=True)
    assert strip.cell_length == width
    reversed_cells = [segment.text for segment in strip if segment.style and segment.style.reverse]
    assert reversed_cells == ([] if width == 0 else ["/" if shown else "o"])
