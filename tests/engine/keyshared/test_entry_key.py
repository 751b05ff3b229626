"""Which bytes of an entry's metadata are hashed, and the base64 that Java reads."""

from __future__ import annotations

import pytest

from engine.config import behaviour_of
from engine.keyshared.keys import NONE_KEY, EntryMetadata, KeySource, decode_base64, sticky_key
from tests.engine.keyshared.selectors import accepted


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("", b""),
        ("AA", b"\0"),
        ("AA==", b"\0"),
        ("AAA", b"\0\0"),
        ("AAA=", b"\0\0"),
        ("AAAA", b"\0\0\0"),
        ("AP8/+", None),
        ("AP8/+w", b"\0\xff?\xfb"),
        ("AP8/+w==", b"\0\xff?\xfb"),
        *((text, None) for text in ("A", "AA=", "A===", "=", "==", "AAA==", "AAAA=", "AAAA==", "AA==AA", "A A=", "_-")),
    ],
)
def test_base64_is_read_as_java_reads_it(text: str, data: bytes | None) -> None:
    assert decode_base64(text) == data


@pytest.mark.parametrize(
    ("metadata", "data", "source"),
    [
        (EntryMetadata(), NONE_KEY, KeySource.NONE_KEY),
        (EntryMetadata(b"o", "p", False, "x", 1), b"o", KeySource.ORDERING_KEY),
        (EntryMetadata(b"", "p"), b"", KeySource.ORDERING_KEY),
        (EntryMetadata(None, "p\u00e9", False, "x", 1), "p\u00e9".encode(), KeySource.PARTITION_KEY),
        (EntryMetadata(None, "AP8=", False), b"AP8=", KeySource.PARTITION_KEY),
        (EntryMetadata(partition_key="AP8="), b"AP8=", KeySource.PARTITION_KEY),
        (EntryMetadata(None, "AP8=", True), b"\0\xff", KeySource.PARTITION_KEY_BYTES),
        (EntryMetadata(None, "AP8", True, "x", 1), b"\0\xff", KeySource.PARTITION_KEY_BYTES),
        (EntryMetadata(None, "A", True, "x", 1), NONE_KEY, KeySource.UNREADABLE),
        (EntryMetadata(producer_name="x", sequence_id=0), b"x-0", KeySource.PRODUCER_AND_SEQUENCE),
        (EntryMetadata(producer_name="", sequence_id=-1), b"--1", KeySource.PRODUCER_AND_SEQUENCE),
        (EntryMetadata(producer_name="x"), NONE_KEY, KeySource.NONE_KEY),
        (EntryMetadata(sequence_id=1), NONE_KEY, KeySource.NONE_KEY),
    ],
)
def test_the_first_key_that_is_present_counts(metadata: EntryMetadata, data: bytes, source: KeySource) -> None:
    key = sticky_key(metadata)
    assert (key.data, key.source) == (data, source)


def test_before_4_0_messages_without_a_key_have_one_key() -> None:
    metadata = EntryMetadata(producer_name="x", sequence_id=1)
    assert sticky_key(metadata, accepted(behaviour_of("3.3.6"))).data == NONE_KEY == b"NONE_KEY"
    assert sticky_key(metadata, accepted(behaviour_of("4.0.0"))).data == b"x-1"
