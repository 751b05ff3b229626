"""Fold key traces in tasks.

Reading tasks merge the equal keys of their pieces and send them as blocks. All keys of one part of the hash space meet
in one folding task, which counts keys, rows and messages by slot. What it counts goes, again as blocks, to the tasks
that judge subscriptions (``pipeline.jobs.keys_judging``).

A table of keys has the columns of ``pipeline.reading.trace_rows.EVENTS``, and each key of a space once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final
from zlib import crc32

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.admin.inference import RulesInForce
from engine.bulk_hashing import murmur3_bulk
from engine.config import BrokerSettings, ReleaseBehaviour
from engine.keyshared.bulk import slots_bulk
from engine.keyshared.model import SlotSpace
from engine.views.fleet.tables import Table, declared
from pipeline.batches import begins_of, by_part, byte_column, codes_of, runs
from pipeline.blocks import Sender, accounts_in, joined, opened, plain, received
from pipeline.clusters import ByCluster
from pipeline.reading.rows import Row
from pipeline.reading.trace_pieces import read_piece
from pipeline.reading.trace_rows import EVENTS, SPACE_SEPARATOR, TraceAccount
from pipeline.reading.traces import TracePiece

FOLDED: Final = declared(
    "folded", "The keys of one task by slot.", """
    function int The index of the slot space in FoldTraces.functions.
    space string
    slot, keys
    rows bigint
    msgs
    """,
)  # fmt: skip
HOTTEST: Final = declared(
    "hottest", "The heaviest keys of each space in one task; all rows of a key are in the same task.",
    "space string\n key binary\n hash bigint\n msgs",
)  # fmt: skip
LISTS: Final = declared(
    "lists", "Subscriptions that have consumers.", """
    space string
    names array<string> None: those that the user lists.
    lists
    """,
)  # fmt: skip
_ROWS_HELD: Final = 2_000_000
_DENSE: Final = 1 << 24
"""Up to this code, counting with one counter per code is faster than sorting."""
EXACT_SUM: Final = 2**53
"""Below it sums of whole numbers are exact as floats too."""
_HASH_BITS: Final = 31


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
class KeyRules:
    """The settings of a cluster, and its release with how that is known."""

    settings: BrokerSettings
    in_force: RulesInForce

    @property
    def behaviour(self) -> ReleaseBehaviour:
        return self.in_force.behaviour


@dataclass(frozen=True)
class Spaces:
    """To which of ``parts`` parts a space belongs; a part is judged by one task.

    The spaces of a subscription in ``by_name`` meet, whatever their clusters and namespaces.
    """

    parts: int
    by_name: frozenset[str] = frozenset()

    def part_of(self, space: str) -> int:
        subscription = space.rpartition(SPACE_SEPARATOR)[2]
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


def send_lists(batches: Iterator[Any], spaces: Spaces) -> Iterator[Any]:
    """Send rows of ``LISTS`` as blocks, in ``mapInArrow``."""
    sender = Sender(task_number())
    for batch in batches:
        yield from spaces.blocks(LISTS, pa.Table.from_batches([batch]), sender)


@dataclass(frozen=True)
class ReadTraces:
    """The work of the reading tasks: blocks of the keys in some pieces, for ``parts`` parts, the account last."""

    parts: int
    rules: ByCluster[KeyRules]

    def __call__(self, pieces: Sequence[TracePiece], number: int) -> Iterator[Any]:
        account, sender = TraceAccount(), Sender(number)
        held: list[Any] = []
        rows = 0
        for piece in pieces:
            spread = self.rules.of(piece.cluster).behaviour.keyless_messages == "spread"
            for events in read_piece(piece, account, spread=spread):
                held.append(events)
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
        blocks, sender = received(batches), Sender(task_number())
        account = FoldAccount(readers=accounts_in(blocks, ReadAccount))
        for part in sorted(blocks):  # one by one, so that only one of them is unpacked
            keys = distinct([opened(block) for block in blocks.pop(part)])
            account.keys += keys.num_rows
            account.rows += pc.sum(keys["rows"]).as_py()
            for table, rows in self.folded(keys):
                yield from self.spaces.blocks(table, rows, sender)
        yield sender.account(account)

    def folded(self, keys: Any) -> Iterator[tuple[Table, Any]]:
        """Rows of ``FOLDED`` for each slot function, and of ``HOTTEST``."""
        names, space = codes_of(keys["space"])
        hashes, msgs = hashes_of(keys), keys["msgs"].to_numpy()
        sums = np.ones(len(space), dtype=np.int64), keys["rows"].to_numpy(), msgs
        for number, function in enumerate(self.functions):
            bits = max(function.high, 1).bit_length()
            code, *columns = summed((space << bits) | slots_bulk(hashes, function), *sums)
            spaces = pa.DictionaryArray.from_arrays(pa.array((code >> bits).astype(np.int32)), names)
            columns = [np.full(len(code), number, np.int32), spaces, code & ((1 << bits) - 1), *columns]
            yield FOLDED, pa.table(columns, names=list(FOLDED.names))
        places = hottest_places(space, msgs, keys["key"].chunk(0), self.top)
        hottest = keys.select(["space", "key", "msgs"]).take(pa.array(places))
        yield HOTTEST, hottest.add_column(2, "hash", pa.array(hashes[places]))


def task_number() -> int:
    from pyspark import TaskContext  # noqa: PLC0415

    context = TaskContext.get()
    return context.partitionId() if context else 0


def distinct(tables: Sequence[Any]) -> Any:
    """Every key of every space once, with the sums of its rows and messages. O(n).

    >>> events = {"space": ["s"] * 3, "key": [b"a", b"b", b"a"], "rows": [1, 1, 1], "msgs": [1, 2, 3]}
    >>> sorted(row["msgs"] for row in distinct([pa.table(events)]).to_pylist())
    [2, 4]
    """
    events = joined(tables, ("space",)).group_by(["space", "key"], use_threads=False)
    return events.aggregate([("rows", "sum"), ("msgs", "sum")]).rename_columns(EVENTS.names).combine_chunks()


def hashes_of(keys: Any) -> NDArray[np.int64]:
    """The Murmur3 hash of each key. O(bytes)."""
    return murmur3_bulk(byte_column(keys["key"])).astype(np.int64)


def by_hash(keys: Any, parts: int) -> Iterator[tuple[int, Any]]:
    """(part, keys) of each of so many parts of the hash space that has any."""
    return by_part(keys, hashes_of(keys) * parts >> _HASH_BITS)


def summed(code: Any, *values: Any) -> tuple[Any, ...]:
    """Sums of whole numbers by code: the codes that occur, ascending, then one (n,) int64 for each of ``values``.

    >>> [column.tolist() for column in summed(np.array([5, 2, 5]), np.array([1, 1, 1]), np.array([7, 8, 9]))]
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


def hottest_places(space: NDArray[np.int64], msgs: NDArray[np.int64], key: Any, top: int) -> list[int]:
    """The places of the ``top`` heaviest keys of each space; of equal ones the smaller keys, to be reproducible."""
    # Short numbers are sorted in one pass.
    order = np.argsort(space.astype(np.uint16) if space.max(initial=0) < 1 << 16 else space, kind="stable")
    places: list[int] = []
    for begin, end in runs(space[order]):
        heaviest = order[begin:end]
        if len(heaviest) > top:
            # Keys as heavy as the last one that counts may be smaller, so all of them are compared.
            weights = msgs[heaviest]
            heaviest = heaviest[weights >= np.partition(weights, -top)[-top]]
        texts = key.take(pa.array(heaviest)).to_pylist()
        ranked = sorted(zip((-msgs[heaviest]).tolist(), texts, heaviest.tolist(), strict=True))
        places += [place for *_, place in ranked[:top]]
    return places
