"""Write tables whose columns the engine computes, with a Python data source of Spark.

``write`` of the data source runs in the tasks: it gets Arrow batches, the engine computes columns, pyarrow writes them
as parts, and the account of the task returns in the commit message. Spark calls ``commit`` once, with the messages of
the attempts that count; parts that no message names (of failed or slower attempts) are removed before the run is
published.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterator
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from engine.views.fleet.tables import Table
from pipeline.runs import Draft, Folders, Parts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pipeline.data_source import Written

_Account = TypeVar("_Account", bound=msgspec.Struct)


class NoAccount(msgspec.Struct):
    """That of tasks whose tables say everything."""


def write_by_engine(
    rows: DataFrame,
    draft: Draft,
    work: Callable[[Iterator[Any], Parts], _Account],
    kind: type[_Account],
    *,
    aside: Collection[Table] = (),
) -> list[_Account]:
    """Run ``work`` on every partition, take its parts into ``draft``, and return the accounts.

    ``work`` is pickled into the tasks, so it should be small. ``aside``: tables that go to ``draft.working``.
    """
    from pipeline.data_source import EngineWriter, pickled, registered  # noqa: PLC0415  imports Spark

    committed = draft.work / f"committed-{uuid.uuid4().hex[:8]}.msgpack"
    task = partial(_write, work, draft.folders(aside), draft.snapshot_time)
    writer = EngineWriter(pickled(task), pickled(committed))
    rows.write.format(registered(rows.sparkSession, engine_writer=writer)).mode("append").save()
    messages = msgspec.msgpack.decode(committed.read_bytes(), type=list[tuple[list[tuple[str, str]], bytes]])
    draft.take(part for parts, _ in messages for part in parts)
    return [msgspec.msgpack.decode(account, type=kind) for _, account in messages]


def _write(
    work: Callable[[Iterator[Any], Parts], msgspec.Struct],
    folders: Folders,
    snapshot_time: datetime | None,
    batches: Iterator[Any],
    partition: int,
) -> Written:
    """What the data source runs on each partition."""
    from pipeline.data_source import Written  # noqa: PLC0415  imports Spark

    with Parts(folders, snapshot_time, partition) as parts:
        account = work(batches, parts)
        return Written(parts.close(), msgspec.msgpack.encode(account))
