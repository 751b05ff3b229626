"""Tables of a result folder as DataFrames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.errors import InputError
from pipeline.manifests import has_table
from pipeline.schemas import Table, check_folder, parts_of
from pipeline.storage import Place, StorePath

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def need_tables(source: Place, tables: Sequence[Table]) -> None:
    """Raise ``InputError``, with advice, when a table is missing or its columns are not as declared."""
    for table in tables:
        if not has_table(source / table.name):
            raise InputError(f"{source} has no table {table.name}; run the job import first and name its result")
        check_folder(table, source / table.name)


def load_if_there(spark: SparkSession, source: Place, table: Table) -> DataFrame:
    """One table, or an empty one where its job has not run. Raises ``InputError`` for columns not as declared."""
    if not has_table(source / table.name):
        return spark.createDataFrame([], table.ddl)
    check_folder(table, source / table.name)
    return load(spark, source, table)


def load(spark: SparkSession, source: Place, table: Table) -> DataFrame:
    """One table with its declared schema; nothing is read yet."""
    folder = source / table.name
    if isinstance(folder, StorePath):  # the parts that the manifest names: others may exist for a moment
        parts = [str(part) for part in parts_of(folder)]
        return spark.read.schema(table.ddl).parquet(*parts) if parts else spark.createDataFrame([], table.ddl)
    return spark.read.schema(table.ddl).parquet(str(folder))
