"""What becomes visible, character by character, and what stays as it is."""

from __future__ import annotations

import pytest

from engine.text import BLANK_LETTERS, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("a b~", "a b~"),
        ("\x00\t\n\x1f\x7f", r"\x00\t\n\x1f\x7f"),
        ("a\x9bb", r"a\x9bb"),
        ("\u202e\u200b\ufeff", r"\u202e\u200b\ufeff"),
        ("\u2028\u2029", r"\u2028\u2029"),
        ("\ud800", r"\ud800"),
        ("\ue000\U0010ffff", r"\ue000\U0010ffff"),
        ("é日本😀\u00a0", "é日本😀\u00a0"),
        ("a\\x1b", "a\\x1b"),
    ],
)
def test_a_character_that_is_not_seen_is_shown_as_its_escape(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize("char", BLANK_LETTERS)
def test_a_letter_that_shows_nothing_is_escaped(char: str) -> None:
    assert visible(f"a{char}b") == f"a\\u{ord(char):04x}b"


@pytest.mark.parametrize("mark", "\u0301\u20dd")
def test_four_marks_may_share_a_cell_with_their_letter(mark: str) -> None:
    assert visible("e" + mark * 4) == "e" + mark * 4
    assert visible("e" + mark * 6) == "e" + mark * 4 + f"\\u{ord(mark):04x}" * 2
    assert visible(mark * 5) == mark * 4 + f"\\u{ord(mark):04x}"
    assert visible(("e" + mark * 4) * 3) == ("e" + mark * 4) * 3
