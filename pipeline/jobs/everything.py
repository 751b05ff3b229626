"""The job ``run``: all jobs into one result folder, side by side where there is little to do."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from engine.errors import RingsideError
from engine.text import shell_line
from engine.views.fleet.options import BACKFILL, CLUSTERS, IN_RUN, KEEP
from pipeline.jobs import importing, job_called
from pipeline.jobs.balance import has_loads
from pipeline.jobs.options import check_names, known_to
from pipeline.jobs.result import JobOptions, JobResult
from pipeline.jobs.scalable import has_scalable_topics
from pipeline.progress import Watch
from pipeline.reading.consumer_lists import has_key_shared
from pipeline.reading.traces import has_traces
from pipeline.runs import Draft
from pipeline.session import activate
from pipeline.storage import Place, is_small

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOB: Final = "run"


def settings_by_job(settings: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The options of each job: ``JOB.NAME`` goes to one job, broker settings and ``pulsar`` to all that take them,
    ``clusters`` to ``import``, whose tables carry them.

    Raises ``InputError`` for a name that no job takes.

    >>> {job: own for job, own in settings_by_job({"assign.add": "c", "minUnloadMessage": "5"}).items() if own}
    {'assign': {'add': 'c'}, 'balance': {'minUnloadMessage': '5'}}
    """
    check_names(JOB, settings)
    by_job: dict[str, dict[str, str]] = {job: {} for job in IN_RUN}
    for name, value in settings.items():
        if name in (KEEP, BACKFILL):
            continue
        job, dot, own = name.partition(".")
        if dot and job in by_job:
            by_job[job][own] = value
            continue
        takers = ("import",) if name == CLUSTERS else (known for known in IN_RUN if name in known_to(known))
        for taker in takers:
            by_job[taker][name] = value
    return by_job


def check_places(source: Place, target: Place, options: JobOptions) -> None:
    """Raise ``InputError`` where there is nothing to import, or an option cannot be used."""
    importing.check_places(source, target, replace(options, settings=settings_by_job(options.settings)["import"]))


def run(spark: SparkSession, source: Place, target: Place, options: JobOptions) -> JobResult:
    """Import ``source`` into ``target``, then every other job on the tables that are there.

    Key traces may be in the folder of the answers; without traces and Key_Shared subscriptions ``keys`` is left out.
    A job that fails loses its own tables only: the summary names it, and ``failed`` has the reason. Raises what
    ``import`` raises, and ``RingsideError`` when ``report`` fails.
    """
    given = settings_by_job(options.settings)
    with options.writing(JOB, source, target, alone=True) as draft:
        whole = _Run(spark, source, draft, options, given)
        options.say("import …")
        whole.take("import")
        jobs = list(whole.wanted())
        if is_small(str(source)):
            whole.take_all(jobs)
        else:
            for job in jobs:
                options.say(f"{job} …")
                whole.take(job)
        options.say("report …")
        whole.take("report")
        summaries = {job: whole.summaries[job] for job in IN_RUN if job in whole.summaries}
    if "report" in whole.failed:
        raise RingsideError(
            f"report failed: {whole.failed['report']}; the tables of the other jobs are there, and "
            f"{shell_line('ringside', 'fleet', 'open', str(target))} lists what they hold"
        )
    return JobResult(JOB, {"job": JOB, "jobs": summaries, "failed": whole.failed})


@dataclass
class _Run:
    """What the jobs of one run share, and what became of them."""

    spark: SparkSession
    source: Place
    draft: Draft
    options: JobOptions
    given: Mapping[str, Mapping[str, str]]
    summaries: dict[str, object] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    left: bool = False
    """Interrupted: jobs that still run fail because the session ends, and their errors are not worth a message."""

    def wanted(self) -> Iterator[str]:
        """The jobs between ``import`` and ``report`` that have input; known only once the import is done."""
        for job in IN_RUN:
            if job in ("import", "report"):
                continue
            missing = ""
            if job == "keys" and not has_traces(self.source) and not has_key_shared(self.draft):
                missing = "neither a trace nor a Key_Shared subscription"
            elif job == "balance" and not has_loads(self.draft):
                missing = "neither a load report nor metrics in place of one"
            elif job == "scalable" and not has_scalable_topics(self.draft):
                continue  # most fleets have none, and no answer is missing
            if missing:
                self.options.say(f"{job}: left out, there is {missing}")
            else:
                yield job

    def take_all(self, jobs: Sequence[str]) -> None:
        """Run jobs in parallel: a small job is mostly planning, which keeps one core busy."""
        names = ", ".join(jobs)
        self.options.say(f"{names} …")
        self.options.watch.begin(names)
        pool = ThreadPoolExecutor(max_workers=os.cpu_count(), thread_name_prefix="job")
        try:
            for done in as_completed([pool.submit(self._take_beside, job) for job in jobs]):
                done.result()
        except BaseException:
            self.left = True
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _take_beside(self, job: str) -> None:
        activate(self.spark)
        self.take(job, Watch())

    def take(self, job: str, watch: Watch | None = None) -> None:
        """Run a job, and record its failure unless the run cannot go on without it."""
        from_answers = job == "import" or (job == "keys" and has_traces(self.source))
        place = self.source if from_answers else self.draft
        own = replace(
            self.options, settings=self.given[job], failed=self.failed, watch=watch or self.options.watch
        )  # fmt: skip
        try:
            result = job_called(job)(self.spark, place, self.draft, own)
        except (RingsideError, OSError, MemoryError, pa.ArrowException) as fault:
            if job == "import" or self.left:
                raise
            self.failed[job] = str(fault).removeprefix(f"the job {job} failed: ") or "there was not enough memory"
            if job != "report":
                self.options.say(f"{job} failed, the other jobs go on: {self.failed[job]}")
            return
        self.summaries[job] = result.summary
        self.options.say(result.sentence)
