"""Tables of a result folder as DataFrames."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import InputError
from pipeline.schemas import Table, check_folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def need_tables(source: Path, tables: Sequence[Table]) -> None:
    """Raises ``InputError`` with what to do when a table is not there or is not what was declared."""
    for table in tables:
        if not (source / table.name).is_dir():
            raise InputError(f"{source} has no table {table.name}; run the job import first and name its result")
        check_folder(table, source / table.name)


def load(spark: SparkSession, source: Path, table: Table) -> DataFrame:
    """One table by its declared schema; nothing is read yet."""
    return spark.read.schema(table.ddl).parquet(str(source / table.name))
