"""A key as text stands for exactly its bytes, and what stands for none is refused by name."""

from __future__ import annotations

import base64

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.errors import Rejection
from engine.keyshared.keys import key_of_text, text_of_key


@given(st.binary(max_size=40) | st.text(max_size=20).map(lambda text: text.encode()))
@example(b"")
@example(b"hex:00")
@example(b"base64:")
@example(b"text:text:x")
@example("\N{RIGHT-TO-LEFT OVERRIDE}a".encode())
@example("a\N{LINE SEPARATOR}b".encode())
@settings(max_examples=100)
def test_every_key_has_a_text_of_one_line_that_reads_back_as_it(key: bytes) -> None:
    text = text_of_key(key)
    assert key_of_text(text) == key
    assert len(text.splitlines()) == (1 if text else 0)


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp", "Cs"]), max_size=20))
@settings(max_examples=60)
def test_plain_text_stays_plain_unless_a_prefix_has_a_meaning(text: str) -> None:
    result = text_of_key(text.encode())
    assert result == (f"text:{text}" if text.startswith(("hex:", "base64:", "text:")) else text)


@given(st.binary(max_size=20))
@settings(max_examples=40)
def test_bytes_can_be_given_in_three_forms(key: bytes) -> None:
    digits = base64.b64encode(key).decode()
    assert key_of_text(f"base64:{digits}") == key_of_text(f"base64:{digits.rstrip('=')}") == key
    assert key_of_text(f"hex:{key.hex()}") == key_of_text(f"hex:{key.hex().upper()}") == key


def test_a_refused_text_is_shown_up_to_60_characters() -> None:
    for length in (59, 60, 61, 5_000):
        text = "hex:" + "x" * (length - 4)
        refusal = key_of_text(text)
        assert isinstance(refusal, Rejection)
        assert (repr(text) in refusal.message) == (length <= 60)
        assert text[: min(length, 60)] in refusal.message and "x" * 57 not in refusal.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hex:0", "'hex:0' is not hexadecimal"),
        ("hex:zz", "two digits"),
        ("hex:00 ff", "hexadecimal"),
        ("hex:" + "x" * 5_000, "..."),
        ("base64:A", "base64"),
        ("base64:AP8=x", "base64"),
        ("base64:_-", "base64"),
        ("\udcff", "not valid text"),
        ("text:\ud800", "not valid text"),
    ],
)
def test_a_text_that_stands_for_no_bytes_is_refused_with_the_right_form(text: str, message: str) -> None:
    refusal = key_of_text(text)
    assert isinstance(refusal, Rejection)
    assert refusal.field == "key"
    assert message in refusal.message
    assert len(refusal.message) < 200
