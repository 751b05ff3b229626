"""Blocks of keys (``pipeline.distinct_keys``)."""

from __future__ import annotations

from pyspark.sql import DataFrame


def parts_together(blocks: DataFrame, parts: int) -> DataFrame:
    """Blocks with all those of one part in the same task, in ``parts`` partitions."""
    return blocks.repartition(parts, "part").select("part", "block")
