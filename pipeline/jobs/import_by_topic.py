"""Write the tables that have a topic, with the best answer about each: in the driver if they fit, else by joins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pipeline.jobs.import_answers import best_rows, claimed_twice, pieces_in, repeated_topics, staged_topics
from pipeline.reading.rows import Row
from pipeline.schemas import CONSUMERS, FILES, PUBLISHERS, QUARANTINE, SUBSCRIPTIONS, TOPICS, Table
from pipeline.stamps import Stamp
from pipeline.storage import Place
from pipeline.transforms import superseding
from pipeline.writing import Draft, PartWriter, ensure_part

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BY_TOPIC: Final = (TOPICS, SUBSCRIPTIONS, CONSUMERS, PUBLISHERS)
FITS_ROWS: Final = 3_000_000
"""Up to so many topics the driver decides alone, in some 500 MB."""
_BROADCAST_ROWS: Final = 500_000
_PART: Final = 999_998


@dataclass
class ByTopic:
    """The staged tables of one import, and where the result goes. ``position``: each file's place in reading order."""

    spark: SparkSession
    staged: Place
    draft: Draft
    stamp: Stamp
    position: Mapping[str, int]

    def __post_init__(self) -> None:
        pieces = pieces_in(self.staged / TOPICS.name)
        fits = sum(piece.rows for piece in pieces) <= FITS_ROWS
        self._topics: Any = staged_topics(pieces) if fits else None
        self._by_joins = not fits

    def claims(self) -> list[tuple[str, Sequence[tuple[str, str]]]]:
        """Bundles of which two brokers list topics: full name, and brokers with their files, sorted."""
        if self._by_joins:
            rows = superseding.claimed_twice(self._frame(TOPICS)).collect()
            return [(row.bundle, [(one.broker, one.file) for one in row.listed]) for row in rows]
        return [] if self._topics is None else [*claimed_twice(self._topics)]

    def keep_best(self) -> list[Row] | None:
        """Write the tables without the replaced answers, and return rows for the quarantine.

        None when nothing is replaced: no table is written then. With joins the quarantine is written as well.
        """
        if self._by_joins:
            return [] if self._join() else None
        if self._topics is None:
            return None
        answers = repeated_topics(self._topics, self.position)
        self._topics = None
        if not len(answers):
            return None
        lost: list[Row] = []
        for table in BY_TOPIC:
            place = self.draft.table(table)
            writer = PartWriter(table, place, _PART, self.stamp)
            for rows in best_rows(table, pieces_in(self.staged / table.name), answers, lost):
                writer.write(rows)
            writer.close()
            ensure_part(table, place, self.stamp)
        return lost

    def _frame(self, table: Table) -> DataFrame:
        return self.spark.read.schema(table.ddl).parquet(str(self.staged / table.name))

    def _join(self) -> bool:
        """False when nothing is replaced."""
        from pyspark.sql.functions import broadcast  # noqa: PLC0415

        files = self.spark.read.parquet(str(self.draft.table(FILES))).select("file", "position")
        topics = self._frame(TOPICS)
        twice = superseding.repeated_topics(topics, superseding.with_members(topics, files)).localCheckpoint()
        repeated = twice.count()
        if not repeated:
            return False
        if repeated < _BROADCAST_ROWS:
            # Spark knows no size of a checkpoint and would sort both sides of every join.
            twice = broadcast(twice)
        lost = superseding.superseded_topics(topics, twice)
        for table in BY_TOPIC[1:]:
            lost = lost.unionByName(superseding.superseded_parts(self._frame(table), twice, table.name))
        kept_quarantine = self._frame(QUARANTINE).unionByName(lost)
        self._save(TOPICS, superseding.best_topics(topics, twice))
        for table in BY_TOPIC[1:]:
            self._save(table, superseding.only_best(self._frame(table), twice))
        self._save(QUARANTINE, kept_quarantine)
        return True

    def _save(self, table: Table, rows: DataFrame) -> None:
        self.stamp.on_frame(rows).write.mode("overwrite").parquet(str(self.draft.table(table)))
        ensure_part(table, self.draft.table(table), self.stamp)
