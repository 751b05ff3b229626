"""Blocks of keys (``pipeline.distinct_keys``)."""

from __future__ import annotations

from pyspark.sql import DataFrame


def parts_together(blocks: DataFrame, parts: int) -> DataFrame:
    """All blocks of one part in one task; ``parts`` of them."""
    return blocks.repartition(parts, "part").select("part", "block")
