"""One module a job; each loads tables, transforms them and writes its result into place."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pipeline.jobs.result import JobOptions, JobResult

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Job = Callable[["SparkSession", Path, Path, JobOptions], JobResult]
MODULES: Final = {
    "import": "importing",
    "assign": "assigning",
    "keys": "keys",
    "bundles": "bundling",
    "lint": "linting",
    "report": "reporting",
    "run": "everything",
    "watch": "watching",
}
"""Job -> its module in this package; a module is loaded when its job is wanted."""


def job_called(name: str) -> Job:
    """The ``run`` of a job. Executors have working folders of their own, so IN and OUT reach it as whole paths."""
    run: Job = import_module(f"pipeline.jobs.{MODULES[name]}").run

    def anywhere(spark: SparkSession, source: Path, target: Path, options: JobOptions) -> JobResult:
        return run(spark, source.absolute(), target.absolute(), options)

    return anywhere
