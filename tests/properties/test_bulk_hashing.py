"""Bulk hashes equal the scalar ones for every name, in whatever form the names come."""

from __future__ import annotations

from random import Random

import mmh3
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.bulk_hashing import LONGEST, ByteColumn, crc32_bulk, murmur3_bulk, murmur3_of_buffer, point_hashes
from engine.hashing import crc32_hash, murmur3_32, utf8

TEXTS = st.lists(st.text(alphabet=st.characters(codec=None), max_size=40), max_size=30)
"""Any characters, surrogates without partner included."""
BYTES = st.lists(st.binary(max_size=40), max_size=30)
BITS = st.sampled_from((1, 8, 11, 16, 31))


def column(values: list[bytes], lead: bytes = b"") -> ByteColumn:
    """The values as one buffer that begins with something else, as a slice of an Arrow column does."""
    ends = np.cumsum([len(lead), *map(len, values)]).astype(np.int32)
    return ByteColumn(ends, np.frombuffer(lead + b"".join(values), dtype=np.uint8))


@settings(max_examples=60, deadline=None)
@given(TEXTS, BITS)
def test_texts_hash_as_one_by_one(texts: list[str], bits: int) -> None:
    expected = [murmur3_32(text) % 2**bits for text in texts]
    for names in (texts, tuple(texts), np.array(texts, dtype=object)):
        hashes = murmur3_bulk(names, bits=bits)
        assert hashes.dtype == np.int64
        assert hashes.tolist() == expected
    assert crc32_bulk(texts).tolist() == [crc32_hash(text) for text in texts]


@settings(max_examples=60, deadline=None)
@given(BYTES, st.binary(max_size=5), BITS)
def test_bytes_and_arrow_buffers_hash_as_one_by_one(values: list[bytes], lead: bytes, bits: int) -> None:
    expected = [murmur3_32(value) % 2**bits for value in values]
    assert murmur3_bulk(values, bits=bits).tolist() == expected
    assert murmur3_bulk(column(values, lead), bits=bits).tolist() == expected
    assert list(column(values, lead).values()) == values
    assert crc32_bulk(values).tolist() == crc32_bulk(column(values, lead)).tolist()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.binary(max_size=40).map(lambda value: value.rstrip(b"\0")), min_size=1, max_size=30))
def test_numpy_bytes_hash_as_one_by_one(values: list[bytes]) -> None:
    """numpy drops NULs at the end, so such names are not drawn here."""
    array = np.array(values, dtype="S")
    assert murmur3_bulk(array).tolist() == [murmur3_32(value) for value in values]
    assert murmur3_bulk(array[::2]).tolist() == [murmur3_32(value) for value in values[::2]]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(LONGEST - 5, LONGEST + 5) | st.integers(0, 9), max_size=12), st.randoms())
def test_names_longer_than_the_kernel_takes_are_hashed_too(lengths: list[int], random: Random) -> None:
    values = [random.randbytes(length) for length in lengths]
    assert murmur3_bulk(column(values)).tolist() == [murmur3_32(value) for value in values]


def test_the_kernel_takes_names_in_any_order_and_of_one_buffer_that_is_read_only() -> None:
    """Names overlap, repeat, and end where the buffer ends, of which no byte beyond may be read."""
    data = np.frombuffer(bytes(range(250)) + b"\0" * 6, dtype=np.uint8)
    starts = np.random.default_rng(3).integers(0, 257, 500)
    lengths = np.minimum(np.arange(500) % 40, 256 - starts)
    text = data.tobytes()
    expected = [
        mmh3.hash(text[start : start + length], 0, False)
        for start, length in zip(starts.tolist(), lengths.tolist(), strict=True)
    ]
    assert murmur3_of_buffer(data, starts, lengths).tolist() == expected
    backwards = np.ascontiguousarray(data[::-1])[::-1]
    assert murmur3_of_buffer(backwards, starts, lengths).tolist() == expected


def test_the_kernel_agrees_across_the_edges_of_its_chunks() -> None:
    generator = np.random.default_rng(7)
    lengths = generator.integers(0, 23, 70_000)
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    data = generator.integers(0, 256, int(lengths.sum()), dtype=np.uint8)
    text = data.tobytes()
    expected = [
        mmh3.hash(text[start : start + length], 0, False)
        for start, length in zip(starts.tolist(), lengths.tolist(), strict=True)
    ]
    assert murmur3_of_buffer(data, starts, lengths).tolist() == expected


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(max_size=12).map(utf8), max_size=6), st.sampled_from((1, 9, 10, 11, 100, 1001)), BITS)
def test_points_are_the_hashes_of_name_and_number(names: list[bytes], points: int, bits: int) -> None:
    hashes = point_hashes(names, points, bits=bits)
    assert hashes.shape == (len(names), points)
    assert hashes.tolist() == [[murmur3_32(b"%b%d" % (name, at)) % 2**bits for at in range(points)] for name in names]


def test_points_of_many_names_of_each_length_mixed_together() -> None:
    """More points than are hashed one by one, for every remainder of the length by four."""
    names = [b"x" * length + b"%03d" % at for length in range(6) for at in range(30)]
    expected = [[murmur3_32(b"%b%d" % (name, at)) for at in range(120)] for name in names]
    assert point_hashes(names, 120).tolist() == expected
