"""What every job is given and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from engine.errors import RingsideError


def _quiet(_: str) -> None:
    """Say nothing."""


@dataclass(frozen=True)
class JobOptions:
    """``settings`` are a job's own words, as text: each job says which it knows. ``say`` is told each step."""

    settings: Mapping[str, str] = field(default_factory=dict)
    say: Callable[[str], None] = _quiet


@dataclass(frozen=True)
class JobResult:
    """``summary`` is what was written beside the tables: the same input gives the same bytes."""

    job: str
    summary: Mapping[str, object]

    @property
    def sentence(self) -> str:
        """The rows of each table, in one line."""
        tables = self.summary.get("tables", {})
        rows = ", ".join(f"{name} {count:,}" for name, count in tables.items()) if isinstance(tables, dict) else ""
        return f"{self.job}: {rows}"


@contextmanager
def spark_faults(job: str) -> Iterator[None]:
    """Spark's own failures as one sentence; what a task raised stands in the last line of its story."""
    from py4j.protocol import Py4JError  # noqa: PLC0415
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        yield
    except (PySparkException, Py4JError) as fault:
        raise RingsideError(f"the job {job} failed: {_core(str(fault))}") from fault


def _core(story: str) -> str:
    """The line that names the fault in the story of a failed task."""
    lines = [line.strip() for line in story.splitlines() if line.strip()]
    ends = [
        line for line in lines if not line.startswith(("at ", "File ", "Traceback", "During", "...")) and ": " in line
    ]
    python = [
        line for line in ends if line.split(":")[0].rpartition(".")[2].endswith(("Error", "Exception", "Interrupt"))
    ]
    return (python[-1] if python else (ends or lines or ["no reason was given"])[0])[:400]
