"""What is built once is sent to others: tables survive pickling, and Arrow's own buffers are read as they are."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest

from engine.bulk_hashing import ByteColumn, crc32_bulk, murmur3_bulk
from engine.bundles.columns import bundle_map
from engine.failover.bulk_ring import build_rings, cohorts
from engine.hashing import crc32_hash, murmur3_32
from engine.keyshared.bulk import slot_owners
from tests.engine.keyshared.selectors import ring

NAMES = ["", "persistent://t/n/x", "é", "\U0001f600-partition-3", "persistent://t/n/x-partition-12"]


def test_tables_answer_alike_after_pickling() -> None:
    hashes = murmur3_bulk([f"key-{at}" for at in range(300)])
    rings, bundles, slots = build_rings([["a", "b"], ["c"]]), bundle_map([(0, 9, 0xFFFFFFFF)]), slot_owners(ring("ab"))
    for table, ask in (
        (rings, lambda made: made.look_up(np.arange(300) % 2, hashes)),
        (bundles, lambda made: made.look_up(0, hashes)),
        (slots, lambda made: made.look_up(hashes % 65_535 + 1)),
        (cohorts([["b", "a"]]), lambda made: made.members),
    ):
        assert ask(pickle.loads(pickle.dumps(table))).tolist() == ask(table).tolist()


@pytest.mark.parametrize("kind", [pa.string(), pa.binary()])
def test_the_buffers_of_an_arrow_array_and_of_a_slice_hash_as_the_names(kind: pa.DataType) -> None:
    for array, names in (
        (pa.array(NAMES, kind), NAMES),
        (pa.array(NAMES, kind).slice(1, 3), NAMES[1:4]),
        (pa.array([], kind), []),
    ):
        _, offsets, data = array.buffers()
        column = ByteColumn.from_buffers(offsets, data, len(array), array.offset)
        assert murmur3_bulk(column).tolist() == [murmur3_32(name) for name in names]
        assert crc32_bulk(column).tolist() == [crc32_hash(name) for name in names]


@pytest.mark.parametrize("offsets", [None, b"", b"\0\0\0\0"])
def test_a_column_without_strings_needs_no_offsets(offsets: bytes | None) -> None:
    column = ByteColumn.from_buffers(offsets, None, 0, 3)
    assert (len(column), list(column.values())) == (0, [])
    assert murmur3_bulk(column).tolist() == crc32_bulk(column).tolist() == []


def test_large_arrow_arrays_bring_offsets_of_64_bits() -> None:
    array = pa.array(NAMES, pa.large_string())
    _, offsets, data = array.buffers()
    column = ByteColumn(np.frombuffer(offsets, np.int64), np.frombuffer(data, np.uint8))
    assert murmur3_bulk(column).tolist() == murmur3_bulk(NAMES).tolist()
