"""One module a job; each loads tables, transforms them and writes its result into place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Final

from pipeline.jobs.result import JobOptions, JobResult
from pipeline.storage import Place, check_place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Job = Callable[["SparkSession", Place, Place, JobOptions], JobResult]
MODULES: Final = {
    "import": "importing",
    "assign": "assign",
    "keys": "keys",
    "bundles": "bundles",
    "lint": "linting",
    "report": "reporting",
    "run": "everything",
    "watch": "watching",
}
"""Job -> its module in this package; a module is loaded when its job is wanted."""

LOCAL: Final = ("watch",)
"""Jobs whose folders have to be on this machine: they follow links and locks."""


def job_called(name: str) -> Job:
    """The ``run`` of a job. Executors have working folders of their own, so IN and OUT reach it as whole paths.

    ``pipeline.storage.place_for`` makes a place of a URI.
    """
    run: Job = import_module(f"pipeline.jobs.{MODULES[name]}").run

    def anywhere(spark: SparkSession, source: Place, target: Place, options: JobOptions) -> JobResult:
        for place in (source, target):
            check_place(str(place), local=name in LOCAL)
        return replace(run(spark, source.absolute(), target.absolute(), options), place=target)

    return anywhere
