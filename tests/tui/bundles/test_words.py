"""Words and lines of bundles over time: examples hold, widths are kept, and every number has its sentence."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import Rejection
from engine.views.bundles.model import BalanceQuestion, BalanceView
from engine.views.bundles.view import balance_frame, balance_view, curve_of
from tests.tui.bundle_scenes import flow_state
from themes.palettes import palette
from tui.bundles import table as bundles_lines
from tui.bundles.table import bundle_value, load_bar, tree_line, tree_lines
from tui.bundles.words import forecast_lines, hint_text, occupancy_texts, status_texts
from tui.kit.columns import AS_THEY_COME
from tui.kit.flow_words import curve_title, flow_picture

FLOW = "ring/ddflowmsgrate4x60"
INK = palette("dark", "truecolor")


@lru_cache(maxsize=16)
def viewed(question: BalanceQuestion | None = None, **how: object) -> BalanceView:
    view = balance_view(flow_state(**how), FLOW, question or BalanceQuestion())
    assert isinstance(view, BalanceView)
    return view


@settings(max_examples=60, deadline=None)
@given(
    st.integers(26, 220), st.integers(0, 20), st.sampled_from([10, 28, 40]), st.booleans(),
    st.sampled_from(["range_equally_divide", "flow_or_qps_equally_divide"]),
)  # fmt: skip
def test_a_line_of_the_tree_is_never_wider_than_its_table_and_never_loses_the_range(
    width: int, cycle: int, limit: int, ascii_only: bool, algorithm: str
) -> None:
    frame = balance_frame(viewed(loadBalancerNamespaceBundleMaxMsgRate=limit), algorithm, cycle)
    for row in frame.rows:
        line = tree_line(row, frame.rows, width, cycle, INK, ascii_only=ascii_only)
        columns = bundles_lines.tree_columns(frame.rows, width)
        assert row.range_text in line.plain
        if not row.split_in and width >= 28 + columns.guide:
            assert line.cell_len <= width
    lines = tree_lines(frame.rows, AS_THEY_COME, 0, INK, ascii_only=False)
    assert lines.heading is not None
    assert "bundle" in lines.heading(width).plain
    assert lines.heading(width).cell_len <= max(width, 28 + bundles_lines.tree_columns(frame.rows, width).guide)
    values = [bundle_value(row, "topics") for row in frame.rows]
    assert values == [None if row.split_in else row.topics for row in frame.rows]


def test_a_full_bar_is_one_and_a_half_limits_and_the_limit_has_a_mark() -> None:
    bars = [load_bar(share, 12, (0, 0, 0), INK, ascii_only=True).plain for share in (0.0, 0.75, 1.5, 9.0)]
    assert bars == ["        |   ", "######  |   ", "########|###", "########|###"]


def test_the_panel_tells_what_comes_what_was_done_loops_and_occupancy() -> None:
    view = viewed()
    tree = view.configured
    now = forecast_lines(view, tree, balance_frame(view, tree.algorithm, 0))
    later = forecast_lines(view, tree, balance_frame(view, tree.algorithm, 1))
    assert now[0] == ("0x00000000_0x40000000 splits next", "head")
    assert later[0] == ("no more split within 20 cycles", "head")
    assert "is tried in cycle 2: answered 204" in later[1][0]
    assert ("cycle 1, 15 min from now", "head") in later
    assert sum(text.startswith("! ") for text, _ in now) == len(tree.loops)
    assert any(text.startswith("4 bundles: 3 would do for 2 brokers (") and "1.5)" in text for text, _ in now)


def test_problems_stand_in_the_panel() -> None:
    view = viewed(loadBalancerNamespaceBundleMaxBandwidthMbytes=4096)
    lines = forecast_lines(view, view.configured, balance_frame(view, view.configured.algorithm, 0))
    assert any(role == "bad" and "compare with 0, so any traffic at all is over it" in text for text, role in lines)


def test_the_hint_names_the_next_key_in_every_situation() -> None:
    view, calm = viewed(), viewed(loadBalancerNamespaceBundleMaxMsgRate=1000)
    frames = [balance_frame(each, each.configured.algorithm, 0) for each in (view, calm)]
    assert "] goes on to the next cycle" in hint_text(view, view.configured, frames[0])
    assert "t lets the traffic grow" in hint_text(calm, calm.configured, frames[1])
    after = balance_frame(calm, calm.configured.algorithm, 2)
    assert "all within their limits" in hint_text(calm, calm.configured, after)
    alone = viewed(BalanceQuestion(brokers=1))
    assert "one broker never splits" in hint_text(alone, alone.configured, frames[0])


def test_the_status_gets_shorter_and_says_how_traffic_grows() -> None:
    texts = status_texts(viewed(BalanceQuestion(growth_per_cycle=1.25)))
    assert [len(text) for text in texts] == sorted((len(text) for text in texts), reverse=True)
    assert "traffic x1.25 a cycle" in texts[0] and "Pulsar 4.2.4" in texts[0]


def test_what_cannot_be_counted_says_why() -> None:
    assert occupancy_texts(Rejection("X", "too many topics")) == ("too many topics",)


def test_the_picture_of_a_curve_is_in_terms_of_its_limits() -> None:
    curve = curve_of(flow_state(), FLOW, "0xc0000000_0xffffffff")
    assert not isinstance(curve, Rejection)
    picture = flow_picture(curve)
    assert picture.cuts == (3877316650,) and picture.gate == 0.0 and picture.restarts
    assert max(picture.msgs) == pytest.approx(max(point.piece_msgs_per_sec for point in curve.points) / 40)
    assert picture.labels == ("10 topics · 38/s", "5 topics · 26/s") and picture.byte_label == "105MB/s"
    negative = flow_picture(replace(curve, byte_limit=-1.0))
    assert set(negative.octets) == {2.0}, "any traffic is over a limit below 0"
    assert curve_title(Rejection("EmptyBundle", "none"), "0x0_0x1") == "flow of 0x0_0x1"


@pytest.mark.parametrize(("reported", "said"), [(0, False), (2, False), (1, True)])
def test_a_number_of_brokers_is_assumed_beside_the_number_reported(reported: int, said: bool) -> None:
    texts = status_texts(viewed(BalanceQuestion()), reported)
    assert all("2 brokers assumed" in text for text in texts)
    assert all((f"({reported} reported)" in text) is said for text in texts)
