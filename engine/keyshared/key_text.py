"""Keys as text for people: plain text as it is, ``hex:`` and ``base64:`` for bytes that are not text.

Pulsar's keys are bytes; clients mostly make them from text. The forms are this project's, not Pulsar's.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Final

from engine.errors import Rejection
from engine.keyshared.entry_key import decode_base64

HEX: Final = "hex:"
BASE64: Final = "base64:"
TEXT: Final = "text:"
"""The rest is taken literally, so keys that begin with one of these prefixes can be written too."""

_SHOWN: Final = 60
_UNWRITABLE: Final = frozenset({"Cc", "Zl", "Zp"})


def key_of_text(text: str) -> bytes | Rejection:
    """The key written by a text; refused with the field ``key`` if it cannot be read.

    ``hex:`` takes pairs of digits, ``base64:`` what Java's decoder takes (padding may be left out), ``text:`` anything.
    All else is plain text, in UTF-8; "" is the empty key, which is a key. Half a surrogate pair is no text.

    >>> key_of_text("order-1"), key_of_text("hex:00ff"), key_of_text("base64:AP8="), key_of_text("text:hex:00")
    (b'order-1', b'\\x00\\xff', b'\\x00\\xff', b'hex:00')
    """
    for prefix, read in _READERS.items():
        if text.startswith(prefix):
            return read(text.removeprefix(prefix))
    return _plain(text)


def text_of_key(key: bytes) -> str:
    """A text that ``key_of_text`` reads back: plain where the bytes are text that stays on one line, else ``hex:``.

    >>> text_of_key(b"order-1"), text_of_key(b""), text_of_key(b"a\\nb"), text_of_key(b"hex:00")
    ('order-1', '', 'hex:610a62', 'text:hex:00')
    """
    try:
        text = key.decode("utf-8")
    except UnicodeDecodeError:
        return HEX + key.hex()
    if any(unicodedata.category(char) in _UNWRITABLE for char in text):
        return HEX + key.hex()
    return TEXT + text if text.startswith(tuple(_READERS)) else text


def _plain(text: str) -> bytes | Rejection:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        # Bytes of a command line or a file that are not UTF-8 arrive as unpaired surrogates.
        return _refused(text, "is no valid text; write its bytes as hex:00ff or base64:AP8=")


def _hexadecimal(digits: str) -> bytes | Rejection:
    if re.fullmatch(r"(?:[0-9a-fA-F]{2})*", digits) is None:
        return _refused(HEX + digits, "is no hexadecimal; write two digits 0-9, a-f for each byte, such as hex:00ff")
    return bytes.fromhex(digits)


def _base64(digits: str) -> bytes | Rejection:
    data = decode_base64(digits)
    return data if data is not None else _refused(BASE64 + digits, "is no base64; write it such as base64:AP8=")


def _refused(text: str, reason: str) -> Rejection:
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
    return Rejection("InvalidKey", f"{shown!r} {reason}", field="key")


_READERS: Final[Mapping[str, Callable[[str], bytes | Rejection]]] = {HEX: _hexadecimal, BASE64: _base64, TEXT: _plain}
