"""One module per job: it loads tables, transforms them and publishes its result."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from engine.errors import InputError
from engine.views.fleet.runs import check_release
from engine.views.fleet.tables import (
    ANSWERS,
    BUNDLE_REPORTS,
    BUNDLES,
    CONSUMER_SETS,
    CONSUMERS,
    FILES,
    LISTED,
    PUBLISHERS,
    SUBSCRIPTIONS,
    TOPICS,
    Table,
)
from pipeline.jobs.result import JobOptions, JobResult
from pipeline.runs import Draft
from pipeline.stamps import new_run_id
from pipeline.storage import Place, check_place
from pipeline.tables import Tables, tables_at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Job = Callable[["SparkSession", Any, Any, JobOptions], JobResult]
MODULES: Final = {
    "import": "importing",
    "assign": "assign",
    "keys": "keys",
    "bundles": "bundles",
    "lint": "lint",
    "balance": "balance",
    "scalable": "scalable",
    "report": "reporting",
    "run": "everything",
    "watch": "watching",
}
"""Job -> its module in this package, imported when the job is run."""

NEEDS: Final[Mapping[str, tuple[Table, ...]]] = {
    "assign": (SUBSCRIPTIONS, CONSUMER_SETS),
    "bundles": (TOPICS, LISTED, BUNDLES, BUNDLE_REPORTS),
    "lint": (SUBSCRIPTIONS, TOPICS, CONSUMER_SETS, CONSUMERS, PUBLISHERS, LISTED, BUNDLES, ANSWERS),
    "scalable": (ANSWERS, FILES),
    "report": (TOPICS, SUBSCRIPTIONS),
}
"""Job -> the tables of an import that it cannot do without; first that which it goes through."""


def _rows_of(job: str, tables: Tables) -> int:
    """The number of rows that a job reads, from the tables of the import; 0 where unknown."""
    try:
        rows = json.loads(tables.documents["import.json"])["rows_out"][NEEDS[job][0].name]
    except LookupError:
        return 0
    return rows if isinstance(rows, int) else 0


def check_places(job: str, source: Place, target: Place, options: JobOptions) -> None:
    """Raise ``InputError`` for an IN or an OUT with which the job could not begin; needs no session."""
    if isinstance(target, Path) and target.exists() and not target.is_dir():
        raise InputError(f"{target} is a file; name a folder for the result")
    check_release(target)
    if job in NEEDS:
        tables_at(source).need(*NEEDS[job])
    elif job in ("run", "import", "watch"):
        import_module(f"pipeline.jobs.{MODULES[job]}").check_places(source, target, options)
    elif isinstance(source, Path) and not source.exists():
        raise InputError(f"{source} does not exist")


def job_called(name: str) -> Job:
    """The ``run`` of a job, which gets absolute paths: executors have other working folders.

    ``pipeline.storage.place_for`` turns a URI into a place.
    """
    run: Job = import_module(f"pipeline.jobs.{MODULES[name]}").run

    def anywhere(spark: SparkSession, source: Place | Tables, target: Place | Draft, options: JobOptions) -> JobResult:
        for place in (source, target):
            if not isinstance(place, Tables):
                check_place(str(place))
        source = source if isinstance(source, Tables) else source.absolute()
        target = target if isinstance(target, Draft) else target.absolute()
        if not isinstance(source, Tables) and not isinstance(target, Draft):
            check_places(name, source, target, options)
        if name in NEEDS:
            source = tables_at(source)
            source.need(*NEEDS[name])
            options.watch.begin(name, rows=_rows_of(name, source))
        elif name != "run":  # which begins its jobs one by one
            options.watch.begin(name)
        options = replace(options, run_id=options.run_id or new_run_id())
        place = target.root if isinstance(target, Draft) else target
        return replace(run(spark, source, target, options), place=place, run_id=options.run_id)

    return anywhere
