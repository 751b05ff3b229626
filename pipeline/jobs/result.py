"""The options and the result that all jobs share, and how each of them writes its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from engine.views.fleet.options import BACKFILL, KEEP
from engine.views.fleet.runs import Manifest
from pipeline.failures import failure_of
from pipeline.progress import Watch
from pipeline.runs import Draft, new_run
from pipeline.stamps import new_run_id
from pipeline.storage import Place
from pipeline.tables import Tables


def _quiet(_: str) -> None:
    """Say nothing."""


@dataclass(frozen=True)
class JobOptions:
    """``settings`` are the job's options as text, checked by the job. ``say`` is called with a line for each step.

    ``failed``: jobs of the same run that failed, with the reason. ``watch`` receives how much a job has to read, so
    that progress can be shown.
    """

    settings: Mapping[str, str] = field(default_factory=dict)
    say: Callable[[str], None] = _quiet
    failed: Mapping[str, str] = field(default_factory=dict)
    run_id: str = ""
    """That of the run; a new one each time where it is empty."""
    watch: Watch = field(default_factory=Watch, compare=False)

    @contextmanager
    def writing(
        self,
        job: str,
        source: Place | Tables,
        target: Place | Draft,
        snapshot_time: datetime | None = None,
        *,
        alone: bool = False,
    ) -> Iterator[Draft]:
        """What a job writes, published at the end; faults of Spark become one sentence (``runs.new_run``)."""
        when = source.snapshot_time if snapshot_time is None and isinstance(source, Tables) else snapshot_time
        about = Manifest(
            self.run_id or new_run_id(), snapshot_time=when, source=str(source), options=dict(self.settings)
        )
        keep, backfill = int(self.settings.get(KEEP, "0")), self.settings.get(BACKFILL) == "true"
        with new_run(target, job, about, alone=alone, keep=keep, backfill=backfill) as draft, spark_faults(job):
            yield draft


@dataclass(frozen=True)
class JobResult:
    """``summary`` is a document of the run: the same input gives the same bytes. ``place`` is OUT."""

    job: str
    summary: Mapping[str, object]
    place: Place | None = field(default=None, compare=False)
    run_id: str = field(default="", compare=False)

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
