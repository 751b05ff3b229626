"""Rows, columns and sentences of a Key_Shared subscription as people read them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len
from rich.text import Text

from engine.views.keys.model import GapRow, KeyConsumerRow, KeyRow, KeysView, WaitHolder, WaitRow
from engine.views.keys.words import NO_HEIRS
from tests.tui.key_scenes import (
    ORDERS,
    SUBSCRIBED,
    before_a_move,
    in_mode,
    joined,
    keys_app,
    sent,
    state_after,
    with_a_gap,
)
from themes.palettes import palette
from tui.keys.consumers import BYSTANDER, key_consumers_table
from tui.keys.lines import gap_line, owned_keys, piece_line, sent_line, wait_heading, wait_line
from tui.keys.panels import keys_status_parts
from tui.keys.words import (
    MODES,
    key_remarks,
    key_shown,
    keys_foot_texts,
    keys_hint,
    keys_hint_with,
    keys_state_hint,
    luck_numbers,
    wait_sentence,
)
from tui.kit.columns import AS_THEY_COME, Columns, Lines
from tui.kit.wording import Remark

DARK = palette()
ROW = KeyConsumerRow(7, "worker-7", "C", 2, 16_384, 0.25, 1, 10, 32, 5, 4, 3, 100, 0, False, 100, 2, "")


def lines_of(rows: Sequence[KeyConsumerRow], *, ascii_only: bool = False) -> Lines:
    return key_consumers_table(DARK, ascii_only).lines(rows, AS_THEY_COME)


def columns_at(rows: Sequence[KeyConsumerRow], width: int) -> Columns:
    columns = lines_of(rows).columns
    assert columns is not None
    return columns(width)


def heading_at(lines: Lines, width: int) -> Text:
    assert lines.heading is not None
    return lines.heading(width)


def view_of(*lines: str, state: object = None) -> KeysView:
    view = keys_app(state, *lines).store.shown.keys_view  # type: ignore[arg-type]
    assert view is not None
    return view


rows = st.builds(
    lambda name, share, numbers, flags: replace(
        ROW,
        name=name,
        share=share,
        keys=numbers[0],
        messages=numbers[1],
        unacked=numbers[2],
        waiting=numbers[3],
        draining=numbers[4],
        gained_slots=numbers[5],
        lost_slots=numbers[6],
        bystander=flags[0],
        points=100 if flags[1] else 0,
        declared="0-16383,32768-49151" if flags[2] else "",
    ),
    st.text(max_size=40),
    st.floats(0, 1),
    st.tuples(*[st.integers(0, 10**9)] * 7),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
)


@given(st.lists(rows, min_size=1, max_size=5), st.integers(38, 160), st.booleans())
@settings(max_examples=100, deadline=None)
def test_every_line_of_the_table_has_the_width_of_its_heading(
    shown: list[KeyConsumerRow], width: int, ascii_only: bool
) -> None:
    columns, lines = columns_at(shown, width), lines_of(shown, ascii_only=ascii_only)
    total = sum(column.width for column in columns)
    assert total <= width
    assert {"tag", "name", "share", "keys"} <= {column.key for column in columns}
    assert heading_at(lines, width).cell_len == total
    for at, row in enumerate(shown):
        assert lines.line(at, width).cell_len == total
        assert (lines.line(at, width).plain[0] == BYSTANDER) is row.bystander


def test_a_wide_table_tells_everything() -> None:
    headings = heading_at(lines_of([replace(ROW, declared="0-16383")]), 140).plain
    for word in ("slots", "moved", "keys", "msgs", "unacked", "wait", "drain", "points", "declared"):
        assert word in headings, word


@pytest.mark.parametrize(
    ("gained", "lost", "width", "expected"),
    [
        (5, 2, 60, ["+5", "-2"]),
        (15_490, 25_000, 60, ["+15.5k", "-25.0k"]),
        (10_000, 20_000, 50, ["-20.0k…"]),
        (20_000, 10_000, 50, ["+20.0k…"]),
        (20_000, 0, 50, ["+20.0k"]),
    ],
)
def test_what_came_and_went_is_shown_or_that_there_is_more(
    gained: int, lost: int, width: int, expected: list[str]
) -> None:
    """Both where there is room for both; else the larger one, with a mark that the other one is missing."""
    row = replace(ROW, gained_slots=gained, lost_slots=lost)
    columns = columns_at([row], width)
    place = [column.key for column in columns].index("change")
    begin = sum(column.width for column in columns[:place])
    assert lines_of([row]).line(0, width).plain[begin : begin + columns[place].width].split() == expected


waits = st.builds(
    WaitRow,
    slot=st.integers(0, 65_535),
    keys=st.lists(st.text(max_size=30), max_size=4).map(tuple),
    messages=st.integers(1, 10**6),
    owner=st.integers(-1, 2),
    reason=st.sampled_from(["draining", "no owner", "newcomer waits", "look-ahead is full"]),
    ends_when=st.sampled_from(["the next read", "a consumer joins"]),
    holders=st.lists(st.builds(WaitHolder, st.integers(0, 2), st.integers(1, 10**5)), max_size=3).map(tuple),
    since_ms=st.integers(-1, 10**5),
    blocked_attempts=st.integers(0, 9),
)


@given(waits, st.integers(38, 120))
@settings(max_examples=100, deadline=None)
def test_a_wait_fits_its_line_below_the_heading(wait: WaitRow, width: int) -> None:
    three = tuple(replace(ROW, tag=tag, colour=at) for at, tag in enumerate("ABC"))
    assert wait_heading(width).cell_len <= width
    assert wait_line(wait, three, width, DARK).cell_len <= width
    sentence = wait_sentence(replace(view_with_three(), consumers=three), wait)
    assert sentence.endswith(".")
    assert "\n" not in sentence


def view_with_three() -> KeysView:
    return VIEW


VIEW = view_of()


@given(st.text(max_size=60), st.integers(30, 100), st.booleans())
@settings(max_examples=60, deadline=None)
def test_lines_of_keys_gaps_and_messages_fit(text: str, width: int, moved: bool) -> None:
    row = KeyRow(text, 65_535, 0, 10**6, 10**5, moved)
    lines = owned_keys(DARK).lines([row], AS_THEY_COME)
    line = lines.line(0, width)
    assert line.cell_len == heading_at(lines, width).cell_len == width
    assert gap_line(GapRow(0, 65_535, (text, text), 10**5), width, DARK).cell_len <= width
    assert sent_line(text, width, DARK).cell_len <= width
    assert line.plain.startswith("*") is moved


def test_a_piece_says_which_slots_of_it() -> None:
    assert piece_line((0, 99, 1, 0), 28, DARK).plain.split() == ["0", "..", "99", "100"]
    assert piece_line((0, 99, 3, 2), 40, DARK).plain.endswith("slot mod 3 = 2")


def test_the_empty_key_is_distinguished_from_none() -> None:
    assert key_shown("") == "(empty key)"
    assert key_shown(" ") == '" "'
    assert key_shown("a\nb") == "a\\nb"


def test_the_foot_has_a_form_for_every_width() -> None:
    texts = keys_foot_texts(view_of(state=with_a_gap()).foot)
    assert [len(text) for text in texts] == sorted((len(text) for text in texts), reverse=True)
    assert len(texts[-1]) <= 38
    assert "12,767" in texts[0]


def test_luck_is_reported_in_every_width() -> None:
    for view in (view_of(), view_of(state=state_after(SUBSCRIBED))):
        texts = luck_numbers(view.luck)
        assert len(texts[-1]) <= 24
        assert list(map(len, texts)) == sorted(map(len, texts), reverse=True)


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
@pytest.mark.parametrize("mode", [*MODES])
def test_the_status_line_fits_and_always_names_the_mode(width: int, mode: str) -> None:
    how = f"{mode} points 4" if mode == "consistent-sticky" else mode
    status = replace(view_of(state=in_mode(how, 2, ("a",))).status, subscription="x" * 70)
    text = "".join(part for part, _ in keys_status_parts(status, "saved to a very long file name.jsonl", width))
    assert cell_len(text) <= width
    assert MODES[mode][0] in text
    assert ("client-side" in text) is (mode == "consistent-sticky")


def remarks(view_app: object, key: str) -> dict[str, str]:
    explanation = view_app.store.shown.explain_key_text(key)  # type: ignore[attr-defined]
    return {remark.label: remark.text for remark in key_remarks(explanation)}


def test_the_explanation_can_be_checked_by_hand() -> None:
    result = remarks(keys_app(in_mode("auto-split", 2)), "order-1")
    assert result["bytes"] == "6f 72 64 65 72 2d 31"
    assert result["hash"].startswith(f"{1970427425:,}")
    assert result["slot"] == f"{1970427425 % 65536:,}: 1,970,427,425 mod 65,536"
    assert result["owner"].startswith("worker-")
    assert result["heirs"].startswith("worker-")
    assert result["waits"] == "nothing blocks it"


def test_the_explanation_of_a_ring_names_the_point_and_of_a_gap_that_nobody_has_it() -> None:
    result = remarks(keys_app(), "order-1")
    assert "the hash of 'worker-" in result["point"]
    nobody = remarks(keys_app(with_a_gap()), "order-14")
    assert nobody["owner"] == "nobody: its messages wait"
    assert "range" not in nobody
    assert "4 messages of this slot wait" in nobody["waits"]
    assert remarks(keys_app(state_after(SUBSCRIBED)), "a")["heirs"] == NO_HEIRS
    assert remarks(keys_app(), "")["bytes"] == "none: the key is empty"


def test_the_answer_is_the_owner() -> None:
    explanation = keys_app().store.shown.explain_key_text("order-1")
    main = [remark for remark in key_remarks(explanation) if remark.main]  # type: ignore[arg-type]
    assert main == [Remark("owner", explanation.explanation.owner.name, main=True)]  # type: ignore[union-attr]


def test_the_hint_goes_with_the_state() -> None:
    said = {
        "nobody": keys_state_hint(view_of(state=state_after(SUBSCRIBED))),
        "no key": keys_state_hint(view_of(state=in_mode("auto-split", keys=()))),
        "gap": keys_state_hint(view_of(state=with_a_gap())),
        "wait": keys_state_hint(view_of("add worker-3", "send order-1", state=before_a_move())),
        "calm": keys_state_hint(view_of()),
    }
    assert "Press a to connect" in said["nobody"]
    assert "Press t to send" in said["no key"]
    assert said["gap"].startswith("12,767 slots have no owner, and 10 messages wait. a declares")
    assert "wait" in said["wait"] and "worker-2 holds 1 message" in said["wait"]
    assert said["calm"].startswith("40 keys on 4 consumers, consistent auto-split.")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (("kill worker-0",), ("slots moved", "nobody else lost any", "f asks where")),
        (("send order-1",), ("done.", "Try x or a")),
        (("send order-1", "ack all"), ("done.", "t sends on")),
        (("wait 10",), ("done.", "Try x or a")),
        (("share sticky",), ("all stopped and came back",)),
        (("share sticky", "kill worker-0"), ("slots have no owner", "a declares a range")),
        (tuple(f"kill worker-{at}" for at in range(4)), ("nobody is left", "Press a to connect")),
    ],
)
def test_the_hint_tells_what_the_last_step_did_and_what_to_try(lines: tuple[str, ...], words: tuple[str, ...]) -> None:
    result = keys_hint(view_of(*lines))
    for word in words:
        assert word in result, result


def test_a_notice_that_comes_up_is_reported_with_the_step() -> None:
    view = view_of("share consistent-sticky points 4")
    assert "New (i): consistent sticky ranges are a technique of clients" in keys_hint_with(view, view.notices[0].text)


def test_a_bystander_is_marked() -> None:
    """The release before PIP-379 lets points be shared in turns, so a newcomer takes slots and others change too."""
    state = state_after([*SUBSCRIBED, *joined(4), "share consistent-sticky points 3", *sent(ORDERS[:5])])
    view = view_of("kill worker-0", state=state)
    marked = [row for row in view.consumers if row.bystander]
    assert marked
    line = lines_of(view.consumers).line(view.consumers.index(marked[0]), 80).plain
    assert line.startswith(f"{BYSTANDER}{marked[0].tag}")
