"""One module per job: it loads tables, transforms them and publishes its result."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from engine.errors import InputError
from pipeline.jobs.result import JobOptions, JobResult
from pipeline.manifests import document_of
from pipeline.schemas import (
    ANSWERS,
    BUNDLE_REPORTS,
    BUNDLES,
    CONSUMER_SETS,
    CONSUMERS,
    LISTED,
    PUBLISHERS,
    SUBSCRIPTIONS,
    TOPICS,
    Table,
)
from pipeline.storage import Place, check_place
from pipeline.tables import need_tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Job = Callable[["SparkSession", Place, Place, JobOptions], JobResult]
MODULES: Final = {
    "import": "importing",
    "assign": "assign",
    "keys": "keys",
    "bundles": "bundles",
    "lint": "lint",
    "balance": "balance",
    "report": "reporting",
    "run": "everything",
    "watch": "watching",
}
"""Job -> its module in this package, imported when the job is run."""

LOCAL: Final = ("watch",)
"""Jobs whose folders must be on this machine: they use links and locks."""


NEEDS: Final[Mapping[str, tuple[Table, ...]]] = {
    "assign": (SUBSCRIPTIONS, CONSUMER_SETS),
    "bundles": (TOPICS, LISTED, BUNDLES, BUNDLE_REPORTS),
    "lint": (TOPICS, SUBSCRIPTIONS, CONSUMER_SETS, CONSUMERS, PUBLISHERS, LISTED, BUNDLES, ANSWERS),
    "report": (TOPICS, SUBSCRIPTIONS),
}
"""Job -> the tables of an import that it cannot do without."""
_GOES_THROUGH: Final = {"assign": "subscriptions", "bundles": "topics", "lint": "subscriptions", "report": "topics"}


def _rows_of(job: str, source: Place) -> int:
    """The number of rows that a job reads, from the tables of the import; 0 where unknown."""
    try:
        rows = json.loads(document_of(source, "import.json"))["rows_out"][_GOES_THROUGH[job]]
    except (OSError, ValueError, LookupError, TypeError):
        return 0
    return rows if isinstance(rows, int) else 0


def check_places(job: str, source: Place, target: Place, options: JobOptions) -> None:
    """Raise ``InputError`` for an IN or an OUT with which the job could not begin; needs no session."""
    if isinstance(target, Path) and target.exists() and not target.is_dir():
        raise InputError(f"{target} is a file; name a folder for the result")
    if job in NEEDS:
        need_tables(source, NEEDS[job])
    elif job in ("run", "import", "watch"):
        import_module(f"pipeline.jobs.{MODULES[job]}").check_places(source, target, options)
    elif isinstance(source, Path) and not source.exists():
        raise InputError(f"{source} does not exist")


def job_called(name: str) -> Job:
    """The ``run`` of a job, which gets absolute paths: executors have other working folders.

    ``pipeline.storage.place_for`` turns a URI into a place.
    """
    run: Job = import_module(f"pipeline.jobs.{MODULES[name]}").run

    def anywhere(spark: SparkSession, source: Place, target: Place, options: JobOptions) -> JobResult:
        for place in (source, target):
            check_place(str(place), local=name in LOCAL)
        check_places(name, source.absolute(), target.absolute(), options)
        if name != "run":  # which begins its jobs one by one
            options.watch.begin(name, rows=_rows_of(name, source))
        return replace(run(spark, source.absolute(), target.absolute(), options), place=target)

    return anywhere
