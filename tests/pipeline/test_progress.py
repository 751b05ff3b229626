"""How far a job is, from the tasks that Spark counts and a clock that the test turns."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Event

import pytest
from pyspark.sql import SparkSession

from pipeline.progress import NowAndThen, Progress, Watch, progress_text, watching_tasks


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


def test_time_left_is_of_the_stages_that_run() -> None:
    clock = Clock()
    watch = Watch(clock)
    watch.begin("assign", rows=1_000)
    clock.now += 5
    assert watch.seen([]) == Progress("assign", 5.0, rows=1_000)
    first = watch.seen([(1, 4, 0)])
    assert (first.left_s, first.rows_per_s, first.stage_s) == (None, 0.0, 0.0)
    clock.now += 10
    second = watch.seen([(1, 4, 1)])
    assert (second.elapsed_s, second.stage_s, second.share) == (15.0, 10.0, 0.25)
    assert second.left_s == pytest.approx(30.0)
    assert second.rows_per_s == pytest.approx(25.0)
    # Another stage begins anew, and one that runs beside it counts with it.
    clock.now += 2
    assert watch.seen([(2, 8, 0)]).stage_s == 0.0
    clock.now += 6
    third = watch.seen([(2, 8, 4), (3, 8, 0)])
    assert (third.tasks, third.tasks_done, third.stage_s) == (16, 4, 6.0)
    watch.begin("lint")
    assert watch.seen([]) == Progress("lint", 0.0)


def test_a_log_gets_a_line_now_and_then() -> None:
    clock, said = Clock(), list[str]()
    show = NowAndThen(said.append, 20.0, clock)
    for _ in range(50):
        clock.now += 1
        show(Progress("lint", clock.now - 100, 1.0, 4, 2, files=10))
    assert said == [progress_text(Progress("lint", at, 1.0, 4, 2, files=10)) for at in (21.0, 41.0)]


def test_tasks_of_a_running_query_are_seen(spark: SparkSession) -> None:
    seen: list[Progress] = []
    enough = Event()

    def show(progress: Progress) -> None:
        seen.append(progress)
        if progress.tasks:
            enough.set()

    with watching_tasks(spark, show, every_s=0.01) as watch:
        watch.begin("assign", rows=6)
        while not enough.is_set():  # a query may be over before anybody looks
            spark.range(0, 600_000, 1, 6).selectExpr("sum(crc32(cast(id as string)))").collect()
    assert {progress.job for progress in seen} == {"assign"}
    running = [progress for progress in seen if progress.tasks]
    assert all(0 <= progress.tasks_done <= progress.tasks for progress in running)
