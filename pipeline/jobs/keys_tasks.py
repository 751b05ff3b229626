"""Fold key traces in tasks.

Reading tasks merge the equal keys of their pieces and send them as blocks. All keys of one part of the hash space meet
in one folding task, which counts keys, rows and messages by slot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from engine.keyshared.bulk import slots_bulk
from engine.keyshared.model import SlotSpace
from pipeline.batches import codes_of
from pipeline.blocks import Sender, accounts_in, opened, received
from pipeline.distinct_keys import by_part, distinct, hashed
from pipeline.reading.rows import Row
from pipeline.reading.trace_pieces import read_piece
from pipeline.reading.trace_rows import TraceAccount
from pipeline.reading.traces import TracePiece
from pipeline.schemas import Table
from pipeline.sink import Parts

FOLDED: Final = Table(
    "folded", ("function int", "space string", "slot bigint", "keys bigint", "rows bigint", "msgs bigint")
)
"""The keys of one task by slot; ``function`` is the index of the slot space in ``FoldWork.functions``."""
HOTTEST: Final = Table("hottest", ("space string", "key_hex string", "hash bigint", "msgs bigint"))
"""The heaviest keys of each space in one task; all rows of a key are in the same task."""
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
        for part, keys in by_part(distinct(held), self.parts):
            yield from sender.table(part, str(part), keys)


@dataclass(frozen=True)
class FoldWork:
    """The work of the folding tasks, inside a data source: takes all blocks of some parts, writes slots and hot keys.

    ``functions`` are the slot spaces to fold to, ``top`` is the number of hot keys to keep of each subscription.
    """

    functions: tuple[SlotSpace, ...]
    top: int

    def __call__(self, batches: Iterator[Any], parts: Parts) -> FoldAccount:
        task = _FoldTask(self)
        blocks = received(batches)
        task.account.readers = accounts_in(blocks, ReadAccount)
        for part in sorted(blocks):  # one by one, so that only one of them is unpacked
            task.take(distinct([opened(block) for block in blocks.pop(part)]))
        task.write(parts)
        return task.account


@dataclass
class _FoldTask:
    """Sums by space, slot function and slot, kept until the end: at most one row per slot that occurs."""

    plan: FoldWork
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
        begins = np.flatnonzero(np.append(True, np.diff(space[order]) != 0)[: len(order)])
        for begin, end in zip(begins.tolist(), [*begins[1:].tolist(), len(order)], strict=True):
            heaviest = order[begin:end]
            if len(heaviest) > self.plan.top:
                # Keys as heavy as the last one that counts may have a smaller text, so all of them are looked at.
                weights = msgs[heaviest]
                heaviest = heaviest[weights >= np.partition(weights, -self.plan.top)[-self.plan.top]]
            number = int(space[order[begin]])
            texts = key.take(pa.array(heaviest)).to_pylist()
            fresh = list(zip((-msgs[heaviest]).tolist(), texts, hashes[heaviest].tolist(), strict=True))
            self._hottest[number] = nsmallest(self.plan.top, self._hottest.get(number, []) + fresh)

    def write(self, parts: Parts) -> None:
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
                parts.write(FOLDED, pa.table(columns))
        spaces = list(self._spaces)
        rows_of_hot = [
            (spaces[number], key.hex(), hash_value, -weight)
            for number, heaviest in sorted(self._hottest.items())
            for weight, key, hash_value in heaviest
        ]
        parts.write(HOTTEST, HOTTEST.columns_of(rows_of_hot))


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
    begins = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
    return ordered[begins], *(np.add.reduceat(value[order], begins) if len(begins) else value[:0] for value in values)


def _merged(parts: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    if len(parts) == 1:
        return parts[0]
    code, *values = (np.concatenate([part[place] for part in parts]) for place in range(len(parts[0])))
    return folded(code, *values)


def _bits(function: SlotSpace) -> int:
    """Bits that hold every slot of a slot space."""
    return max(function.high, 1).bit_length()
