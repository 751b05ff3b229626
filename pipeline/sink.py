"""Write tables whose columns the engine computes, with a Python data source of Spark.

``write`` of the data source runs in the tasks: it gets Arrow batches, the engine computes columns, pyarrow writes them
as parts, and the account of the task returns in the commit message. Spark calls ``commit`` once, with the messages of
the attempts that count; parts that no message names (of failed or slower attempts) are never moved into the result.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from pipeline.schemas import Table
from pipeline.stamps import Stamp
from pipeline.storage import Place
from pipeline.tables import PartWriter, move_part
from pipeline.writing import Draft

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pipeline.data_source import Written

_COMMITTED: Final = "committed.msgpack"
_Account = TypeVar("_Account", bound=msgspec.Struct)


class NoAccount(msgspec.Struct):
    """That of tasks whose tables say everything."""


@dataclass
class Parts:
    """The parts that one task writes: one per table, or per ``kind`` of rows of a table.

    An exception that leaves its ``with`` removes them.
    """

    folder: Place
    stamp: Stamp
    number: int
    _writers: dict[tuple[str, str], PartWriter] = field(default_factory=dict)

    def write(self, table: Table, columns: Any, kind: str = "") -> None:
        """Append the rows of a ``pyarrow.Table``; without rows no part is written."""
        if not columns.num_rows:
            return
        if (table.name, kind) not in self._writers:
            place = self.folder / table.name
            # Not its parents: an attempt that is late must not make them again after the result is published.
            place.mkdir(exist_ok=True)
            self._writers[table.name, kind] = PartWriter(table, place, self.number, self.stamp, kind=kind)
        self._writers[table.name, kind].write(columns)

    def close(self) -> list[tuple[str, str]]:
        """Finish the parts, and return (table, name) of each."""
        return [(table, name) for (table, _), writer in self._writers.items() if (name := writer.close())]

    def __enter__(self) -> Parts:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for writer in self._writers.values() if kind is not None else ():
            writer.discard()


def write_by_engine(
    rows: DataFrame,
    draft: Draft,
    work: Callable[[Iterator[Any], Parts], _Account],
    kind: type[_Account],
    *,
    aside: Collection[Table] = (),
) -> list[_Account]:
    """Run ``work`` on every partition, move its parts into ``draft``, and return the accounts.

    ``work`` is pickled into the tasks, so it should be small. ``aside``: tables that are not part of the result; their
    parts are moved to ``draft.aside("tables")`` instead.
    """
    from pipeline.data_source import EngineWriter, pickled, registered  # noqa: PLC0415  imports Spark

    staged = draft.aside(f"staged-{uuid.uuid4().hex[:8]}")
    committed = staged / _COMMITTED
    writer = EngineWriter(pickled(partial(_write, work, staged, draft.stamp)), pickled(committed))
    rows.write.format(registered(rows.sparkSession, engine_writer=writer)).mode("append").save()
    messages = msgspec.msgpack.decode(committed.read_bytes(), type=list[tuple[list[tuple[str, str]], bytes]])
    take_parts([part for parts, _ in messages for part in parts], staged, draft, aside)
    return [msgspec.msgpack.decode(account, type=kind) for _, account in messages]


def take_parts(parts: Iterable[tuple[str, str]], staged: Place, draft: Draft, aside: Collection[Table]) -> None:
    """Move parts, as (table, name), from ``staged`` to their tables in ``draft``."""
    others = {table.name for table in aside}
    for table, name in parts:
        place = draft.aside("tables") / table if table in others else draft.table(table)
        place.mkdir(exist_ok=True)
        move_part(staged / table / name, place)


def _write(
    work: Callable[[Iterator[Any], Parts], msgspec.Struct],
    staged: Place,
    stamp: Stamp,
    batches: Iterator[Any],
    partition: int,
) -> Written:
    """What the data source runs on each partition."""
    from pipeline.data_source import Written  # noqa: PLC0415  imports Spark

    with Parts(staged, stamp, partition) as parts:
        account = work(batches, parts)
        return Written(parts.close(), msgspec.msgpack.encode(account))
