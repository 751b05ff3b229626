"""Numbers, names and sentences as people read them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len

from engine.views.failover.model import EventLine
from tests.tui.screens_under_test import app_of, cluster
from tui.drawing.glyphs import ascii_text
from tui.failover.words import flag_unknown, foot_texts, hint
from tui.kit.wording import (
    event_effect,
    event_effect_short,
    fit,
    next_name,
    percent,
    quantity,
    safe_name,
    shorten_middle,
)


@given(st.text(max_size=80), st.integers(0, 60))
@settings(max_examples=100, deadline=None)
def test_a_shortened_text_fits_and_a_fitting_one_is_whole(text: str, cells: int) -> None:
    short = shorten_middle(text, cells)
    assert cell_len(short) <= cells
    assert (short == text) is (cell_len(text) <= cells)


@given(st.text(max_size=60), st.integers(1, 40))
@settings(max_examples=100, deadline=None)
def test_a_fitted_name_has_exactly_its_cells(text: str, cells: int) -> None:
    assert cell_len(fit(safe_name(text), cells)) == cells


@given(st.text(max_size=60))
@settings(max_examples=100, deadline=None)
def test_a_safe_name_has_nothing_a_terminal_obeys(text: str) -> None:
    assert safe_name(text).replace(" ", "").replace("\u3000", "")
    assert not any(ord(char) < 32 or 0x7F <= ord(char) < 0xA0 for char in safe_name(text))


@given(st.text(max_size=40))
@settings(max_examples=100, deadline=None)
def test_ascii_keeps_the_width(text: str) -> None:
    safe = safe_name(text)
    assert ascii_text(safe).isascii()
    assert cell_len(ascii_text(safe)) >= cell_len(safe) - safe.count("\u200d")


@given(st.floats(0, 1e15, allow_nan=False))
@settings(max_examples=100, deadline=None)
def test_a_quantity_is_short_and_near(value: float) -> None:
    text = quantity(value)
    assert len(text) <= 6
    number = float(text.rstrip("kMGTP")) * 1000 ** "\0kMGTP".index(text[-1] if text[-1].isalpha() else "\0")
    assert number == pytest.approx(value, rel=0.06, abs=0.5)


@pytest.mark.parametrize(("share", "text"), [(0.0, "0.0%"), (0.1234, "12.3%"), (0.9994, "99.9%"), (1.0, "100%")])
def test_shares_have_one_decimal(share: float, text: str) -> None:
    assert percent(share) == text


@given(st.lists(st.from_regex(r"[a-c]{0,2}-?[0-9]{0,3}", fullmatch=True), max_size=12))
@settings(max_examples=100, deadline=None)
def test_the_next_name_is_free(names: list[str]) -> None:
    assert next_name(names) not in names


def test_moves_stand_beside_the_least_that_would_do_and_the_risk() -> None:
    event = EventLine(2, "kill", "kill c-1", moved=25, least=10, partitions=100, unacked_at_risk=7)
    assert event_effect(event) == "25 of 100 partitions moved (10 would do); 7 messages may be delivered again"
    assert event_effect_short(event) == "25/100 moved (least 10), 7 at risk"
    assert event_effect(replace(event, moved=0, unacked_at_risk=0)) == "nothing moved"
    assert event_effect(replace(event, kind="open")) == ""


def test_the_hint_goes_with_the_state() -> None:
    said = {
        "index 0": hint(app_of().store.shown.failover_view),
        "all equal": hint(app_of(cluster(topics=4, partitions=4)).store.shown.failover_view),
        "nobody": hint(app_of(cluster(())).store.shown.failover_view),
        "no topics": hint(app_of(cluster(topics=0)).store.shown.failover_view),
        "old": hint(app_of(cluster(release="3.0.0")).store.shown.failover_view),
        "one level": hint(app_of(cluster(priorities=(0, 1, 1))).store.shown.failover_view),
    }
    assert said["index 0"].endswith("each topic has one, and index 0 mod 3 = 0. Press c to use the hash ring.")
    assert said["all equal"].startswith("Partitions are dealt out by index.")
    assert said["nobody"].startswith("Nobody consumes")
    assert "no topics" in said["no topics"]
    assert "Press c" not in said["old"]
    assert "highest priority level" in said["one level"]


@pytest.mark.parametrize(("flag", "said"), [("false", True), ("true", False)])
def test_the_ring_of_topics_without_partitions_is_explained_where_the_flag_is_off(flag: str, said: bool) -> None:
    state = cluster(topics=3, partitions=0)
    with_flag = replace(state.settings, activeConsumerFailoverConsistentHashing=flag == "true")
    view = app_of(replace(state, settings=with_flag)).store.shown.failover_view
    assert ("without partitions" in hint(view)) is said


def test_the_hint_never_says_index_0_of_other_partitions() -> None:
    """Partition 0 and 3 of 3 consumers go to the same one too, and not because the index is 0."""
    state = cluster(topics=1, partitions=4)
    topic = next(iter(state.topics.values()))
    text = hint(app_of(replace(state, topics={topic.name: replace(topic, partitions=1)})).store.shown.failover_view)
    assert "each topic has one, and index 0 mod 3 = 0" in text
    assert "index 0" not in hint(app_of(cluster(("a", "b"), topics=1, partitions=3)).store.shown.failover_view)


def after(line: str, *earlier: str, **how: Any) -> str:
    """The hint after commands on a small cluster."""
    app = app_of(cluster(**how))
    for each in (*earlier, line):
        assert app.store.submit_line(each) is None
    return hint(app.store.shown.failover_view)


FLAG_ON = "toggle activeConsumerFailoverConsistentHashing"


def test_the_hint_tells_what_the_last_step_did_and_what_to_try() -> None:
    """What moved stands beside the least that would do, in words; the key named next does something here."""
    assert after(FLAG_ON).startswith("The flag is on: ")
    assert after(FLAG_ON).endswith("x kills a consumer.")
    assert "the minimum. Try a" in after("kill billing-0", FLAG_ON)
    assert "would do." in after("kill billing-2", topics=4, partitions=6)
    assert "Press c to use the hash ring" in after("add c-9", topics=4, partitions=6)
    assert "marked *" in after("split shop/orders/0x00000000_0x80000000")
    assert "Press a to connect" in after("kill billing-0", names=("billing-0",))


def test_a_flag_that_moves_nothing_says_why() -> None:
    """With one consumer of the highest level flag on and off are the same, and the notice about the others says so."""
    assert "nothing moved. 1 consumer stands by" in after(FLAG_ON, names=("a", "b"), priorities=(0, 1))


def test_the_hint_after_an_undo_is_that_of_the_state() -> None:
    assert after("undo", FLAG_ON) == after("home", FLAG_ON)
    assert "Press c" in after("undo", FLAG_ON)


def test_a_release_without_the_flag_names_a_command_that_works() -> None:
    """The command in the sentence is taken by the command line."""
    status = app_of(cluster(release="3.0.0")).store.shown.failover_view.status
    command = flag_unknown(status).rpartition("Try :")[2]
    app = app_of(cluster(release="3.0.0"))
    assert app.store.submit_line(command) is None
    assert app.store.shown.failover_view.status.flag_known


def test_the_foot_has_a_form_for_every_width() -> None:
    texts = foot_texts(app_of().store.shown.failover_view.foot)
    assert [len(text) for text in texts] == sorted((len(text) for text in texts), reverse=True)
    assert len(texts[-1]) <= 38
    assert all("busiest" in text for text in texts)
