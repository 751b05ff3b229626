"""The answers that an import kept, some whole namespaces at a time, for what the engine decides from answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from engine.admin.files import AnswerFile
from engine.views.fleet.tables import ANSWERS, EVERYWHERE
from pipeline.batches import whole_groups
from pipeline.tables import Tables
from pipeline.transforms.bundle_topics import NAMESPACE

_TOGETHER: Final = 64
"""Answers in one table: few, since one of them can be the statistics of a whole namespace."""


def answers_by_namespace(answers: DataFrame) -> DataFrame:
    """Rows for ``NamespaceAnswers``: each namespace of a cluster is in one partition."""
    own = answers.where(fn.col("namespace") != EVERYWHERE)
    return own.repartition(*NAMESPACE).sortWithinPartitions(*NAMESPACE, "file")


@dataclass(frozen=True)
class NamespaceAnswers:
    """The answers about all namespaces of a cluster, as cluster, file and body, which have the settings of its brokers:
    each task gets them."""

    everywhere: tuple[tuple[str, str, bytes], ...]

    @classmethod
    def of(cls, tables: Tables) -> NamespaceAnswers:
        """Those of an import."""
        rows = tables.rows(ANSWERS, "cluster", "file", "body", filters=[("namespace", "=", EVERYWHERE)])
        return cls(tuple(sorted(rows)))

    def groups(self, batches: Iterator[Any]) -> Iterator[tuple[str, str, list[AnswerFile]]]:
        """A cluster, a namespace, and all answers that are about it."""
        for table in whole_groups(batches, NAMESPACE, rows_together=_TOGETHER):
            answers: dict[tuple[str, str], list[AnswerFile]] = {}
            for row in table.select([*NAMESPACE, "file", "body"]).to_pylist():
                own = answers.setdefault((row["cluster"], row["namespace"]), [])
                own.append(AnswerFile(row["file"], row["body"]))
            for (cluster, namespace), files in answers.items():
                shared = (AnswerFile(file, body) for of, file, body in self.everywhere if of == cluster)
                yield cluster, namespace, [*files, *shared]
