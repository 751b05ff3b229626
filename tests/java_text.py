"""Bytes as Java reads them as a text."""

from __future__ import annotations

import codecs
from itertools import takewhile
from typing import Final

from engine.hashing import java_string_hash

_REPLACEMENT: Final = "\ufffd"
_JAVA_REPLACE: Final = "tests.java_replace"


def java_string_hash_of_bytes(data: bytes) -> int:
    """``JavaStringHash`` of bytes: they are decoded as UTF-8 the way Java does it, then hashed as a text."""
    return java_string_hash(java_decode_utf8(data))


def java_decode_utf8(data: bytes) -> str:
    """What ``new String(bytes, UTF_8)`` of JDK 17 makes of these bytes; each bad stretch becomes one U+FFFD.

    It differs from Python's ``replace`` in one case: a surrogate written as three bytes (ED A0..BF xx) is one bad
    stretch for Java and three for Python.

    >>> len(java_decode_utf8(b"\\xed\\xa0\\x80")), len(b"\\xed\\xa0\\x80".decode(errors="replace"))
    (1, 3)
    """
    return data.decode("utf-8", _JAVA_REPLACE)


def _replace_like_java(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    data, at = error.object, error.start
    # Why: Java looks at the value of three bytes only when all are well shaped, so ED A0 80 is a single fault.
    if data[at] == 0xED:
        return _REPLACEMENT, at + 1 + len(list(takewhile(lambda byte: byte & 0xC0 == 0x80, data[at + 1 : at + 3])))
    return _REPLACEMENT, error.end


codecs.register_error(_JAVA_REPLACE, _replace_like_java)
