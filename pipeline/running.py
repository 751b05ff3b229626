"""Run a job as commands do: in a session of its own, which is started once everything else has been checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pipeline.jobs import LOCAL, job_called
from pipeline.jobs.options import SPARK, check_options
from pipeline.jobs.result import JobOptions, JobResult
from pipeline.progress import Progress, watching_tasks
from pipeline.session import open_session
from pipeline.storage import check_place, is_small, place_for


def run_alone(
    job: str,
    source: str,
    target: str,
    settings: Mapping[str, str],
    *,
    master: str | None,
    say: Callable[[str], None],
    show: Callable[[Progress], None],
) -> JobResult:
    """Run a job on two paths or URIs. Of ``settings`` those that begin with ``spark.`` are Spark's.

    ``say`` is called with a line for each step, ``show`` with the progress of each second. Raises ``RingsideError``.
    """
    check_options(job, settings)
    for text in (source, target):
        check_place(text, local=job in LOCAL)
    own = {name: value for name, value in settings.items() if not name.startswith(SPARK)}
    of_spark = {name: value for name, value in settings.items() if name.startswith(SPARK)}
    # The files that a watch will read may not exist yet.
    small = job not in LOCAL and is_small(source)
    say("starting Spark …")
    with open_session(master, of_spark, small=small) as spark:
        places = place_for(spark, source), place_for(spark, target)
        with watching_tasks(spark, show) as watch:
            return job_called(job)(spark, *places, JobOptions(own, say, watch=watch))
