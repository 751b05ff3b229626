"""How far the running job is: tasks as Spark counts them, and the rows and files that the job expects."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVERY_S: Final = 1.0
QUIET_S: Final = 20.0
"""Seconds between lines where they cannot be overwritten, as in the log of a cron job."""


@dataclass(frozen=True, slots=True)
class Progress:
    """``tasks`` are those of the running stages, 0 while the driver works alone; ``stage_s`` is since they began.

    ``rows`` and ``files`` are those of the whole job, 0 where unknown; how many are done is estimated from the tasks,
    since Spark counts nothing else in every kind of session.
    """

    job: str
    elapsed_s: float
    stage_s: float = 0.0
    tasks: int = 0
    tasks_done: int = 0
    rows: int = 0
    files: int = 0

    @property
    def share(self) -> float:
        return self.tasks_done / self.tasks if self.tasks else 0.0

    @property
    def rows_per_s(self) -> float:
        return self.rows * self.share / self.stage_s if self.stage_s > 0 else 0.0

    @property
    def left_s(self) -> float | None:
        """Estimated seconds until these tasks are done; None before the first is."""
        return self.stage_s * (1 - self.share) / self.share if self.share else None


def progress_text(progress: Progress) -> str:
    """One line.

    >>> progress_text(Progress("assign", 60, 20, tasks=40, tasks_done=10, rows=5_000_000))
    'assign: 10 of 40 tasks, about 1,250,000 of 5,000,000 rows, 62,500 rows/s, 1 min 0 s left in this stage'
    >>> progress_text(Progress("lint", 75))
    'lint: 1 min 15 s so far'
    """
    if not progress.tasks:
        return f"{progress.job}: {_duration(progress.elapsed_s)} so far"
    parts = [f"{progress.tasks_done:,} of {progress.tasks:,} tasks"]
    if progress.files:
        parts.append(f"about {int(progress.files * progress.share):,} of {progress.files:,} files")
    if progress.rows:
        parts.append(f"about {int(progress.rows * progress.share):,} of {progress.rows:,} rows")
        if progress.share:
            parts.append(f"{progress.rows_per_s:,.0f} rows/s")
    left = progress.left_s
    parts.append(f"{_duration(progress.stage_s)} so far" if left is None else f"{_duration(left)} left in this stage")
    return f"{progress.job}: {', '.join(parts)}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


@dataclass
class Watch:
    """The state of the running job, which a thread may read to show its progress."""

    clock: Callable[[], float] = time.monotonic
    job: str = ""
    rows: int = 0
    files: int = 0
    _began: float = 0.0
    _stages: dict[int, float] = field(default_factory=dict)

    def begin(self, job: str, *, rows: int = 0) -> None:
        """Note that another job has begun."""
        self.job, self.rows, self.files = job, rows, 0
        self._began = self.clock()
        self._stages = {}

    def expect(self, *, rows: int = 0, files: int = 0) -> None:
        """Note how many rows or files the job will read."""
        self.rows, self.files = rows or self.rows, files or self.files

    def seen(self, stages: Iterable[tuple[int, int, int]]) -> Progress:
        """The progress with these stages running: number, tasks, tasks done."""
        now = self.clock()
        running = list(stages)
        self._stages = {number: self._stages.get(number, now) for number, _, _ in running}
        return Progress(
            self.job, now - self._began, now - min(self._stages.values(), default=now),
            sum(tasks for _, tasks, _ in running), sum(done for _, _, done in running), self.rows, self.files,
        )  # fmt: skip


@contextmanager
def watching_tasks(
    spark: SparkSession, show: Callable[[Progress], None], *, every_s: float = EVERY_S
) -> Iterator[Watch]:
    """Show the progress of the jobs inside the ``with`` every ``every_s`` seconds, from another thread."""
    watch = Watch()
    over = Event()
    with _stages_of(spark) as stages:

        def work() -> None:
            # The session may end while this thread asks it; progress does not matter then.
            with suppress(Exception):
                while not over.wait(every_s):
                    if watch.job:
                        show(watch.seen(stages()))

        thread = Thread(target=work, name="progress", daemon=True)
        thread.start()
        try:
            yield watch
        finally:
            over.set()
            thread.join(timeout=2 * every_s)


@contextmanager
def _stages_of(spark: SparkSession) -> Iterator[Callable[[], list[tuple[int, int, int]]]]:
    """A function that returns number, tasks and tasks done of the running stages; a Connect server pushes them."""
    from pyspark.sql.utils import is_remote  # noqa: PLC0415

    if not is_remote():
        yield lambda: _tracked(spark)
        return
    running: dict[str | None, list[tuple[int, int, int]]] = {}

    def handle(stages: Iterable[Any] | None, inflight_tasks: int, operation_id: str | None, done: bool) -> None:
        if done:
            running.pop(operation_id, None)
        else:
            open_stages = (stage for stage in stages or () if not stage.done)
            running[operation_id] = [
                (open_stage.stage_id, open_stage.num_tasks, open_stage.num_completed_tasks)
                for open_stage in open_stages
            ]

    spark.registerProgressHandler(handle)  # type: ignore[arg-type]  # a function will do
    try:
        yield lambda: [stage for stages in list(running.values()) for stage in stages]
    finally:
        spark.removeProgressHandler(handle)  # type: ignore[arg-type]


def _tracked(spark: SparkSession) -> list[tuple[int, int, int]]:
    tracker = spark.sparkContext.statusTracker()
    infos = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    return [(info.stageId, info.numTasks, info.numCompletedTasks) for info in infos if info is not None]


@dataclass
class NowAndThen:
    """Show at most one line per ``every_s`` seconds."""

    show: Callable[[str], None]
    every_s: float = QUIET_S
    clock: Callable[[], float] = time.monotonic
    _last: float | None = None

    def __call__(self, progress: Progress) -> None:
        now = self.clock()
        if self._last is None:
            self._last = now
        if now - self._last >= self.every_s:
            self._last = now
            self.show(progress_text(progress))
