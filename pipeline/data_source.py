"""The data source of ``pipeline.sink`` as Spark knows it.

Spark plans and commits a write in separate Python processes, which import this module and nothing of the engine: the
work of tasks stays pickled until a task begins, since importing the engine takes longer than the rest of planning.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec
from pyspark import TaskContext
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage


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
    """Registered as a subclass that holds its name and the writer."""

    format_name: ClassVar[str]
    engine_writer: ClassVar[EngineWriter]

    @classmethod
    def name(cls) -> str:
        return cls.format_name

    def writer(self, schema: Any, overwrite: bool) -> DataSourceArrowWriter:
        return self.engine_writer
