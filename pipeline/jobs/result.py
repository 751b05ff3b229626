"""The options and the result that all jobs share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from pipeline.failures import failure_of
from pipeline.progress import Watch
from pipeline.schemas import FILES
from pipeline.stamps import Stamp, new_run_id, time_of_table
from pipeline.storage import Place


def _quiet(_: str) -> None:
    """Say nothing."""


@dataclass(frozen=True)
class JobOptions:
    """``settings`` are the job's options as text, checked by the job. ``say`` is called with a line for each step.

    ``failed``: jobs of the same run that failed, with the reason. ``run_id`` goes into every row. ``watch`` receives
    how much a job has to read, so that progress can be shown.
    """

    settings: Mapping[str, str] = field(default_factory=dict)
    say: Callable[[str], None] = _quiet
    failed: Mapping[str, str] = field(default_factory=dict)
    run_id: str = field(default_factory=new_run_id)
    watch: Watch = field(default_factory=Watch, compare=False)

    def stamp_of(self, tables: Place) -> Stamp:
        """The stamp for rows that are computed from the tables of an import."""
        return Stamp(self.run_id, time_of_table(tables / FILES.name))


@dataclass(frozen=True)
class JobResult:
    """``summary`` is the document beside the tables: the same input gives the same bytes. ``place`` is OUT."""

    job: str
    summary: Mapping[str, object]
    place: Place | None = field(default=None, compare=False)

    @property
    def sentence(self) -> str:
        """The rows of each table, in one line."""
        tables = self.summary.get("tables", {})
        rows = ", ".join(f"{name} {count:,}" for name, count in tables.items()) if isinstance(tables, dict) else ""
        return f"{self.job}: {rows}"


@contextmanager
def spark_faults(job: str) -> Iterator[None]:
    """Turn failures of Spark into one sentence, and raise again what a task raised."""
    from py4j.protocol import Py4JError  # noqa: PLC0415
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        yield
    except (PySparkException, Py4JError) as fault:
        raise failure_of(job, str(fault)) from fault
