"""Sticky keys: the part of an entry's metadata that is hashed, and keys written as text for people.

A batch is one entry and has one key. Source: ``Commands.peekStickyKey`` and ``Commands.resolveStickyKey`` (#23219 added
the third rule). Pulsar's keys are bytes; the text forms with ``hex:`` and ``base64:`` are this project's, not Pulsar's.
"""

from __future__ import annotations

import base64
import re
import unicodedata
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final

from msgspec import Struct

from engine.config import CURRENT, ReleaseBehaviour
from engine.errors import Rejection
from engine.hashing import utf8

NONE_KEY: Final = b"NONE_KEY"


class KeySource(Enum):
    """Where a sticky key was taken from."""

    ORDERING_KEY = "ordering key"
    PARTITION_KEY = "partition key"
    PARTITION_KEY_BYTES = "partition key, decoded from base64"
    PRODUCER_AND_SEQUENCE = "producer name and sequence id"
    NONE_KEY = "no key"
    UNREADABLE = "metadata that cannot be read"


class EntryMetadata(Struct, frozen=True):
    """The members of ``MessageMetadata`` that decide; None where the message does not have it, "" where it is empty.

    ``partition_key_b64_encoded``: the key was given as bytes and ``partition_key`` is their base64 form.
    """

    ordering_key: bytes | None = None
    partition_key: str | None = None
    partition_key_b64_encoded: bool = False
    producer_name: str | None = None
    sequence_id: int | None = None


class StickyKey(Struct, frozen=True):
    """The bytes that are hashed, and where they come from."""

    data: bytes
    source: KeySource


def sticky_key(metadata: EntryMetadata, behaviour: ReleaseBehaviour = CURRENT) -> StickyKey:
    """The first of: ordering key, partition key, producer name and sequence id (since 4.0), ``NONE_KEY``.

    **A key that is present but empty counts as present**: it is hashed as empty input. Base64 that Java cannot decode
    makes the whole metadata unreadable, which gives ``NONE_KEY``.

    >>> sticky_key(EntryMetadata(producer_name="p", sequence_id=7)).data
    b'p-7'
    >>> sticky_key(EntryMetadata(partition_key="", producer_name="p", sequence_id=7)).data
    b''
    """
    if metadata.ordering_key is not None:
        return StickyKey(metadata.ordering_key, KeySource.ORDERING_KEY)
    if metadata.partition_key is not None:
        if not metadata.partition_key_b64_encoded:
            return StickyKey(utf8(metadata.partition_key), KeySource.PARTITION_KEY)
        decoded = decode_base64(metadata.partition_key)
        if decoded is None:
            return StickyKey(NONE_KEY, KeySource.UNREADABLE)
        return StickyKey(decoded, KeySource.PARTITION_KEY_BYTES)
    if (
        behaviour.keyless_messages == "spread"
        and metadata.producer_name is not None
        and metadata.sequence_id is not None
    ):
        text = f"{metadata.producer_name}-{metadata.sequence_id}"
        return StickyKey(utf8(text), KeySource.PRODUCER_AND_SEQUENCE)
    return StickyKey(NONE_KEY, KeySource.NONE_KEY)


def decode_base64(text: str) -> bytes | None:
    """What ``Base64.getDecoder().decode`` gives: padding may be left out, but not half of it; None where it throws."""
    if re.fullmatch(r"[A-Za-z0-9+/]*={0,2}", text) is None:
        return None
    digits = text.rstrip("=")
    if len(digits) % 4 == 1 or (digits != text and len(text) % 4 != 0):
        return None
    return base64.b64decode(digits + "=" * (-len(digits) % 4))


HEX: Final = "hex:"
BASE64: Final = "base64:"
TEXT: Final = "text:"
"""The rest is taken literally, so keys that begin with one of these prefixes can be written too."""

_SHOWN: Final = 60
_UNWRITABLE: Final = frozenset({"Cc", "Zl", "Zp"})


def key_of_text(text: str) -> bytes | Rejection:
    """The key written by a text; refused with the field ``key`` if it cannot be read.

    ``hex:`` takes pairs of digits, ``base64:`` what Java's decoder takes (padding may be left out), ``text:`` anything.
    All else is plain text, in UTF-8; "" is the empty key, which is a key. Half a surrogate pair is not a text.

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
        return _refused(text, "is not valid text; write its bytes as hex:00ff or base64:AP8=")


def _hexadecimal(digits: str) -> bytes | Rejection:
    if re.fullmatch(r"(?:[0-9a-fA-F]{2})*", digits) is None:
        return _refused(HEX + digits, "is not hexadecimal; write two digits 0-9, a-f for each byte, such as hex:00ff")
    return bytes.fromhex(digits)


def _base64(digits: str) -> bytes | Rejection:
    data = decode_base64(digits)
    return data if data is not None else _refused(BASE64 + digits, "is not base64; write it such as base64:AP8=")


def _refused(text: str, reason: str) -> Rejection:
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
    return Rejection("InvalidKey", f"{shown!r} {reason}", field="key")


_READERS: Final[Mapping[str, Callable[[str], bytes | Rejection]]] = {HEX: _hexadecimal, BASE64: _base64, TEXT: _plain}
