"""Read what the engine decodes, with a Python data source of Spark: Arrow batches, one task for each share of input."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pipeline.session import activate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_Share = TypeVar("_Share")


def read_by_engine(
    spark: SparkSession, shares: Sequence[_Share], work: Callable[[_Share, int], Iterator[Any]], columns: str
) -> DataFrame:
    """The batches that ``work`` yields for each share and its number, as a DataFrame; nothing is read yet.

    ``work`` and shares are pickled, so they should be small; ``columns`` is the schema as Spark reads it.
    """
    from pyspark.serializers import CloudPickleSerializer  # noqa: PLC0415

    from pipeline.data_source import EngineReader, EngineSource  # noqa: PLC0415  imports Spark

    pickled: Callable[[object], bytes] = CloudPickleSerializer().dumps  # type: ignore[no-untyped-call]
    reader = EngineReader([pickled(share) for share in shares], pickled(work))
    # Parallel jobs share the session, so every read has a source of its own.
    name = f"ringside-{uuid.uuid4().hex[:8]}"
    spark.dataSource.register(
        type("Source", (EngineSource,), {"format_name": name, "columns": columns, "engine_reader": reader})
    )
    # Reading looks up data sources in the active session; that of a stream's thread is another one.
    before = type(spark).getActiveSession()
    activate(spark)
    try:
        return spark.read.format(name).load()
    finally:
        if before is not None:
            activate(before)
