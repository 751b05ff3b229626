"""The sticky key of an entry: the part of its metadata that is hashed. A batch is one entry and has one key.

Source: ``Commands.peekStickyKey`` and ``Commands.resolveStickyKey`` (#23219 added the third rule).
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from engine.config import CURRENT, ReleaseBehaviour
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


@dataclass(frozen=True, slots=True)
class EntryMetadata:
    """The members of ``MessageMetadata`` that decide; None where the message does not have it, "" where it is empty.

    ``partition_key_b64_encoded``: the key was given as bytes and ``partition_key`` is their base64 form.
    """

    ordering_key: bytes | None = None
    partition_key: str | None = None
    partition_key_b64_encoded: bool = False
    producer_name: str | None = None
    sequence_id: int | None = None


@dataclass(frozen=True, slots=True)
class StickyKey:
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
