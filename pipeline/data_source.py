"""The data sources of ``pipeline.blocks`` and ``pipeline.sink`` as Spark knows them.

Spark plans reads and writes, and commits writes, in separate Python processes, which import this module and nothing of
the engine: the work of tasks stays pickled until a task begins, since importing the engine takes longer than planning.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from pyspark import TaskContext
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class EngineReader(DataSourceReader):
    """Reads one pickled share in each task; ``task`` is a pickled function of a share and its number."""

    shares: Sequence[bytes]
    task: bytes

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(number) for number in range(len(self.shares))]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        number = partition.value
        yield from pickle.loads(self.task)(pickle.loads(self.shares[number]), number)


@dataclass
class Written(WriterCommitMessage):
    """The parts that a task wrote, as (table, name), and its encoded account."""

    parts: list[tuple[str, str]]
    account: bytes


@dataclass
class EngineWriter(DataSourceArrowWriter):
    """``task`` and ``committed`` are pickled: a function of batches and the number of the partition that gives
    ``Written``, and the file for the messages of those attempts that count."""

    task: bytes
    committed: bytes

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        context = TaskContext.get()
        written: WriterCommitMessage = pickle.loads(self.task)(iterator, context.partitionId() if context else 0)
        return written

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        written = [(message.parts, message.account) for message in messages if isinstance(message, Written)]
        pickle.loads(self.committed).write_bytes(msgspec.msgpack.encode(written))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Do nothing: the parts are removed with the run."""


class EngineSource(DataSource):
    """Registered as a subclass that holds its name, and the reader with its columns or the writer."""

    format_name: ClassVar[str]
    columns: ClassVar[str]
    engine_reader: ClassVar[EngineReader]
    engine_writer: ClassVar[EngineWriter]

    @classmethod
    def name(cls) -> str:
        return cls.format_name

    def schema(self) -> str:
        return self.columns

    def reader(self, schema: Any) -> DataSourceReader:
        return self.engine_reader

    def writer(self, schema: Any, overwrite: bool) -> DataSourceArrowWriter:
        return self.engine_writer


def registered(spark: SparkSession, **members: object) -> str:
    """Register an ``EngineSource`` with these members, and return its name.

    Parallel jobs share the session, so every read and every write has a source of its own.
    """
    name = f"ringside-{uuid.uuid4().hex[:8]}"
    spark.dataSource.register(type("Source", (EngineSource,), {"format_name": name, **members}))
    return name


def pickled(value: object) -> bytes:
    """The value as tasks unpickle it; functions of the main program are pickled as a whole."""
    data: bytes = CloudPickleSerializer().dumps(value)  # type: ignore[no-untyped-call]
    return data
