"""Fold key traces in tasks.

Reading tasks merge the equal keys of their pieces and send them as blocks. All keys of one part of the hash space meet
in one folding task, which counts keys, rows and messages by slot. What it counts goes, again as blocks, to the tasks
that judge subscriptions (``pipeline.jobs.keys_judging``).

A table of keys has the columns ``space`` (a dictionary of names), ``key`` (bytes), ``rows`` of the trace with this key
and their ``msgs``, as ``pipeline.reading.trace_rows.EVENTS``, and ``hash``, the Murmur3 hash of the key. Sorting
compares hashes only; keys with equal hashes are compared by their bytes, so the result is exact. After sorting, the
keys of a part of the hash space are one slice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import Any, Final
from zlib import crc32

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.bulk_hashing import murmur3_bulk
from engine.keyshared.bulk import slots_bulk
from engine.keyshared.model import SlotSpace
from pipeline.batches import begins_of, by_part, byte_column, codes_of, runs
from pipeline.blocks import Sender, accounts_in, joined, opened, plain, received
from pipeline.reading.rows import Row
from pipeline.reading.trace_pieces import read_piece
from pipeline.reading.trace_rows import SPACE_SEPARATOR, TraceAccount
from pipeline.reading.traces import TracePiece
from pipeline.schemas import Table

FOLDED: Final = Table(
    "folded", ("function int", "space string", "slot bigint", "keys bigint", "rows bigint", "msgs bigint")
)
"""The keys of one task by slot; ``function`` is the index of the slot space in ``FoldTraces.functions``."""
HOTTEST: Final = Table("hottest", ("space string", "key_hex string", "hash bigint", "msgs bigint"))
"""The heaviest keys of each space in one task; all rows of a key are in the same task."""
LISTS: Final = Table("lists", ("space string", "names array<string>", "lists bigint"))
"""Subscriptions that have consumers: without ``names`` those that the user lists; ``lists``: how many different lists
its topics have."""
_ROWS_HELD: Final = 2_000_000
_DENSE: Final = 1 << 24
"""Up to this code, counting with one counter per code is faster than sorting."""
EXACT_SUM: Final = 2**53
"""Below it sums of whole numbers are exact as floats too."""


class ReadAccount(msgspec.Struct):
    """The rows that one reading task read; ``quarantine`` are rows of that table."""

    rows: int
    good: int
    quarantine: list[Row]


class FoldAccount(msgspec.Struct):
    """What one folding task wrote, and the accounts of readers among its blocks."""

    rows: int = 0
    keys: int = 0
    readers: list[ReadAccount] = []


@dataclass(frozen=True)
class Spaces:
    """To which of ``parts`` parts a space belongs; a part is judged by one task.

    The spaces of a subscription in ``by_name`` meet, whatever their namespaces.
    """

    parts: int
    by_name: frozenset[str] = frozenset()

    def part_of(self, space: str) -> int:
        subscription = space.partition(SPACE_SEPARATOR)[2]
        name = subscription if subscription in self.by_name else space
        return crc32(name.encode("utf-8", "surrogatepass")) % self.parts

    def blocks(self, table: Table, rows: Any, sender: Sender) -> Iterator[Any]:
        """The blocks of rows with a ``space``, for their parts."""
        names, codes = codes_of(rows["space"])
        part = np.array([self.part_of(name) for name in names], dtype=np.int64)[codes]
        place = rows.column_names.index("space")
        for number, own in by_part(rows, part):
            # A slice has the dictionary of all spaces.
            spaces = plain(own["space"]).dictionary_encode()
            yield from sender.table(number, f"{number} {table.name}", own.set_column(place, "space", spaces))


@dataclass(frozen=True)
class SendLists:
    """Send rows of ``LISTS`` as blocks, in ``mapInArrow``."""

    spaces: Spaces

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        sender = Sender(task_number())
        for batch in batches:
            yield from self.spaces.blocks(LISTS, pa.Table.from_batches([batch]), sender)


@dataclass(frozen=True)
class ReadTraces:
    """The work of the reading tasks: blocks of the keys in some pieces, for ``parts`` parts, the account last."""

    parts: int
    spread: bool

    def __call__(self, pieces: Sequence[TracePiece], number: int) -> Iterator[Any]:
        account, sender = TraceAccount(), Sender(number)
        held: list[Any] = []
        rows = 0
        for piece in pieces:
            for events in read_piece(piece, account, spread=self.spread):
                held.append(hashed(events))
                rows += events.num_rows
                if rows >= _ROWS_HELD:
                    yield from self._sent(held, sender)
                    held, rows = [], 0
        if rows:
            yield from self._sent(held, sender)
        yield sender.account(ReadAccount(account.rows, account.good, account.quarantine()))

    def _sent(self, held: Sequence[Any], sender: Sender) -> Iterator[Any]:
        for part, keys in by_hash(distinct(held), self.parts):
            yield from sender.table(part, str(part), keys)


@dataclass(frozen=True)
class FoldTraces:
    """The work of the folding tasks, in ``mapInArrow``: takes all blocks of some parts, sends slots and hot keys.

    ``functions`` are the slot spaces to fold to, ``top`` is the number of hot keys to keep of each subscription.
    """

    functions: tuple[SlotSpace, ...]
    top: int
    spaces: Spaces

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        task = _FoldTask(self)
        blocks = received(batches)
        task.account.readers = accounts_in(blocks, ReadAccount)
        for part in sorted(blocks):  # one by one, so that only one of them is unpacked
            task.take(distinct([opened(block) for block in blocks.pop(part)]))
        yield from task.blocks(Sender(task_number()))


def task_number() -> int:
    from pyspark import TaskContext  # noqa: PLC0415

    context = TaskContext.get()
    return context.partitionId() if context else 0


@dataclass
class _FoldTask:
    """Sums by space, slot function and slot, kept until the end: at most one row per slot that occurs."""

    plan: FoldTraces
    account: FoldAccount = field(default_factory=FoldAccount)
    _spaces: dict[str, int] = field(default_factory=dict)
    _folded: list[list[Any]] = field(default_factory=list)
    _hottest: dict[int, list[tuple[int, bytes, int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._folded = [[] for _ in self.plan.functions]

    def take(self, keys: Any) -> None:
        """Fold distinct keys, once per slot function."""
        names, codes = codes_of(keys["space"])
        space = np.array([self._spaces.setdefault(name, len(self._spaces)) for name in names], dtype=np.int64)[codes]
        hashes, rows, msgs = (keys[name].to_numpy().astype(np.int64) for name in ("hash", "rows", "msgs"))
        self.account.keys += len(space)
        self.account.rows += int(rows.sum())
        for place, function in enumerate(self.plan.functions):
            code = (space << _bits(function)) | slots_bulk(hashes, function)
            self._folded[place].append(folded(code, np.ones(len(code), np.int64), rows, msgs))
        self._keep_hottest(space, keys["key"], hashes, msgs)

    def _keep_hottest(self, space: Any, key: Any, hashes: Any, msgs: Any) -> None:
        """Keep the heaviest keys of each space; of equal ones the smaller key, so that the choice is reproducible."""
        small = len(self._spaces) <= 1 << 16  # short numbers are sorted in one pass
        order = np.argsort(space.astype(np.uint16) if small else space, kind="stable")
        for begin, end in runs(space[order]):
            heaviest = order[begin:end]
            if len(heaviest) > self.plan.top:
                # Keys as heavy as the last one that counts may have a smaller text, so all of them are looked at.
                weights = msgs[heaviest]
                heaviest = heaviest[weights >= np.partition(weights, -self.plan.top)[-self.plan.top]]
            number = int(space[order[begin]])
            texts = key.take(pa.array(heaviest)).to_pylist()
            fresh = list(zip((-msgs[heaviest]).tolist(), texts, hashes[heaviest].tolist(), strict=True))
            self._hottest[number] = nsmallest(self.plan.top, self._hottest.get(number, []) + fresh)

    def blocks(self, sender: Sender) -> Iterator[Any]:
        """Slots and hot keys, and the account last."""
        names = pa.array(list(self._spaces), pa.string())
        for place, folds in enumerate(self._folded):
            if folds:
                code, keys, rows, msgs = _merged(folds)
                bits = _bits(self.plan.functions[place])
                columns = {
                    "function": pa.array(np.full(len(code), place, dtype=np.int32)),
                    "space": pa.DictionaryArray.from_arrays(pa.array((code >> bits).astype(np.int32)), names),
                    "slot": pa.array(code & ((1 << bits) - 1)),
                    "keys": pa.array(keys),
                    "rows": pa.array(rows),
                    "msgs": pa.array(msgs),
                }
                yield from self.plan.spaces.blocks(FOLDED, pa.table(columns), sender)
        spaces = list(self._spaces)
        rows_of_hot = [
            (spaces[number], key.hex(), hash_value, -weight)
            for number, heaviest in sorted(self._hottest.items())
            for weight, key, hash_value in heaviest
        ]
        yield from self.plan.spaces.blocks(HOTTEST, HOTTEST.columns_of(rows_of_hot), sender)
        yield sender.account(self.account)


def folded(code: Any, *values: Any) -> tuple[Any, ...]:
    """Sums of whole numbers by code: the codes that occur, ascending, then one (n,) int64 for each of ``values``.

    >>> [column.tolist() for column in folded(np.array([5, 2, 5]), np.array([1, 1, 1]), np.array([7, 8, 9]))]
    [[2, 5], [1, 2], [8, 16]]
    """
    largest = int(code.max(initial=0))
    if largest < _DENSE and sum(int(value.sum()) for value in values) < EXACT_SUM:
        sums = [np.bincount(code, weights=value) for value in values]
        occurring = np.flatnonzero(np.bincount(code))
        return occurring, *(column[occurring].astype(np.int64) for column in sums)
    order = np.argsort(code)
    ordered = code[order]
    begins = begins_of(ordered)
    return ordered[begins], *(np.add.reduceat(value[order], begins) if len(begins) else value[:0] for value in values)


def _merged(parts: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    if len(parts) == 1:
        return parts[0]
    code, *values = (np.concatenate([part[place] for part in parts]) for place in range(len(parts[0])))
    return folded(code, *values)


def _bits(function: SlotSpace) -> int:
    """Bits that hold every slot of a slot space."""
    return max(function.high, 1).bit_length()


_SPACE_BITS: Final = 24
_HASH_BITS: Final = 31


def hashed(events: Any) -> Any:
    """Events with the hash of each key. O(bytes)."""
    return events.append_column("hash", pa.array(murmur3_bulk(byte_column(events["key"])).astype(np.int32)))


def distinct(tables: Sequence[Any]) -> Any:
    """Every key of every space once, with the sums of its rows and messages, by ascending hash. O(n log n).

    >>> events = {"space": ["s"] * 3, "key": [b"a", b"b", b"a"], "rows": [1, 1, 1], "msgs": [1, 2, 3]}
    >>> once = distinct([hashed(pa.table(events))])
    >>> sorted(zip(once["key"].to_pylist(), once["msgs"].to_pylist()))
    [(b'a', 4), (b'b', 2)]
    """
    keys = joined(tables, ("space",))
    if not keys.num_rows:
        return keys
    spaces, space = codes_of(keys["space"])
    assert len(spaces) < 1 << _SPACE_BITS, f"{len(spaces)} subscriptions are too many for one trace"
    key, values = keys["key"].chunk(0), [keys[name].to_numpy() for name in ("rows", "msgs")]
    code = (keys["hash"].to_numpy().astype(np.int64) << _SPACE_BITS) | space
    order = np.argsort(code)
    code = code[order]
    begins = _begins(code, key, order)
    meeting = begins[1:] & (code[1:] == code[:-1])
    if meeting.any():
        # Different keys with one hash: equal ones may not be adjacent, so these few are sorted by their bytes.
        places = np.flatnonzero(np.isin(code, code[1:][meeting]))
        texts = key.take(pa.array(order[places])).to_pylist()
        ranked = sorted(range(len(places)), key=lambda at: (int(code[places[at]]), texts[at]))
        order[places] = order[places][ranked]
        begins = _begins(code, key, order)
    first = np.flatnonzero(begins)
    sums = (pa.array(np.add.reduceat(value[order], first)) for value in values)
    once = keys.select(["space", "key", "hash"]).take(pa.array(order[first]))
    for name, value in zip(("rows", "msgs"), sums, strict=True):
        once = once.append_column(name, value)
    return once


def _begins(code: NDArray[np.int64], key: Any, order: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(n,) whether a key differs from the one before it; bytes are compared only where the hashes are equal."""
    begins = np.append(True, code[1:] != code[:-1])
    like = np.flatnonzero(~begins)
    differ = pc.not_equal(key.take(pa.array(order[like])), key.take(pa.array(order[like - 1])))
    begins[like] = differ.to_numpy(zero_copy_only=False)
    return begins


def by_hash(keys: Any, parts: int) -> Iterator[tuple[int, Any]]:
    """Keys in order of ascending hash, as (part, keys) of each of so many parts of the hash space that has any."""
    bounds = np.searchsorted(keys["hash"].to_numpy(), (np.arange(parts + 1) << _HASH_BITS) // parts)
    for part in range(parts):
        begin, end = int(bounds[part]), int(bounds[part + 1])
        if end > begin:
            yield part, keys.slice(begin, end - begin)
