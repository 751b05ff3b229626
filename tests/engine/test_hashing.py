"""Hashes and text forms, against the JDK's own answers written out by hand."""

from __future__ import annotations

import zlib

import pytest

from engine.hashing import (
    HASH_SPACE_SIZE,
    crc32_hash,
    java_string_hash,
    murmur3_32,
    murmur3_32_raw,
    sign_safe_mod,
    utf8,
    utf16_order,
)
from engine.keyshared.model import SlotSpace
from tests.java_text import java_decode_utf8, java_string_hash_of_bytes


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("", b""),
        ("é", b"\xc3\xa9"),
        ("\U0001f600", b"\xf0\x9f\x98\x80"),
        ("\ud83d\ude00", b"\xf0\x9f\x98\x80"),
        ("a\ud800b", b"a?b"),
        ("\ude00\ud83d", b"??"),
    ],
)
def test_utf8_is_what_java_gives_for_whole_and_broken_surrogates(text: str, data: bytes) -> None:
    assert utf8(text) == data
    assert murmur3_32_raw(text) == murmur3_32_raw(data)
    assert murmur3_32(text) == murmur3_32(data)


def test_the_top_bit_is_cleared_and_not_negated() -> None:
    assert murmur3_32_raw("ab") < 0
    assert murmur3_32("ab") == murmur3_32_raw("ab") + HASH_SPACE_SIZE


@pytest.mark.parametrize("length", range(18))
def test_text_and_bytes_hash_alike_for_every_tail_length(length: int) -> None:
    text = "é0123456789abcdefgh"[:length]
    assert murmur3_32(text) == murmur3_32(utf8(text))
    assert 0 <= murmur3_32(text) < HASH_SPACE_SIZE


def test_the_java_hash_counts_utf16_units_and_wraps_at_32_bits() -> None:
    assert java_string_hash("\U0001f600") == 0xD83D * 31 + 0xDE00
    assert java_string_hash("polygenelubricants") == 0  # String.hashCode() is Integer.MIN_VALUE
    assert java_string_hash("") == 0


@pytest.mark.parametrize(
    ("data", "units"),
    [
        (b"a\xffb", "a\ufffdb"),
        (b"\xed\xa0\x80", "\ufffd"),
        (b"\xed\xa0", "\ufffd"),
        (b"\xed\xa0A", "\ufffdA"),
        (b"\xed\x32\xac", "\ufffd2\ufffd"),
        (b"\xed\xa0\x80\x80", "\ufffd\ufffd"),
        (b"\xed\x9f\xbf", "\ud7ff"),
        (b"\xe0\x80\x80", "\ufffd\ufffd\ufffd"),
        (b"\xf0\x9f\x98", "\ufffd"),
        (b"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"),
    ],
)
def test_bad_bytes_are_replaced_in_java_s_stretches(data: bytes, units: str) -> None:
    """Expected values are those of ``new String(bytes, UTF_8)`` of JDK 17."""
    assert java_decode_utf8(data) == units
    assert java_string_hash_of_bytes(data) == java_string_hash(units)


def test_sign_safe_modulo_is_never_negative() -> None:
    assert [sign_safe_mod(value, 3) for value in (-4, -3, -1, 0, 4)] == [2, 0, 2, 0, 1]
    assert sign_safe_mod(-(2**63), 2**31 - 1) >= 0


def test_a_sticky_key_slot_lies_in_its_range_and_is_never_zero() -> None:
    assert SlotSpace(0, 65_535).slot(0) == 1
    assert SlotSpace(1, 65_535).slot(0) == 1
    assert SlotSpace(1, 65_535).slot(65_534) == 65_535
    assert SlotSpace(0, 65_535).slot(65_535) == 65_535
    assert SlotSpace(1, 2_147_483_646).slot(HASH_SPACE_SIZE - 1) == 2


def test_crc32_reads_utf8_and_is_unsigned() -> None:
    assert crc32_hash("123456789") == 0xCBF43926
    assert crc32_hash("é") == zlib.crc32(b"\xc3\xa9")
    assert crc32_hash("\ud800") == zlib.crc32(b"?")


def test_names_sort_by_utf16_unit_then_length() -> None:
    names = ["a", "\uffee", "", "B", "\U0001f600", "ab"]
    assert sorted(names, key=utf16_order) == ["", "B", "a", "ab", "\U0001f600", "\uffee"]
    assert sorted(names) != sorted(names, key=utf16_order)
