"""The job ``run``: all jobs one after another into one result folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from engine.errors import RingsideError
from engine.text import shell_line
from pipeline.history import keep_run
from pipeline.jobs import importing
from pipeline.jobs.balance import has_load_reports
from pipeline.jobs.options import IN_RUN, KEEP_HISTORY, SETTINGS_OF, TAKE_RELEASE, check_names
from pipeline.jobs.result import JobOptions, JobResult
from pipeline.reading.key_tables import consumers_of_tables
from pipeline.reading.traces import has_traces
from pipeline.storage import Place
from pipeline.writing import one_after_another, withdraw

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOB: Final = "run"


def settings_by_job(settings: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Who is given which option: ``JOB.NAME`` goes to one job, broker settings and ``pulsar`` to all that take them.

    Raises ``InputError`` for a name that no job can be found for.

    >>> {job: each for job, each in settings_by_job({"assign.add": "c", "minUnloadMessage": "5"}).items() if each}
    {'assign': {'add': 'c'}, 'balance': {'minUnloadMessage': '5'}}
    """
    check_names(JOB, settings)
    found: dict[str, dict[str, str]] = {job: {} for job in IN_RUN}
    for name, value in settings.items():
        if name == KEEP_HISTORY:
            continue
        job, dot, own = name.partition(".")
        if dot and job in found:
            found[job][own] = value
        elif name == "pulsar":
            for each in TAKE_RELEASE:
                found[each][name] = value
        else:
            for each in (known for known, names in SETTINGS_OF.items() if name in names):
                found[each][name] = value
    return found


def run(spark: SparkSession, source: Place, target: Place, options: JobOptions) -> JobResult:
    """Import ``source`` into ``target``, then every other job on the tables that are there.

    Key traces may lie beside the answers; without any, and without Key_Shared subscriptions, ``keys`` has nothing to
    do and is left out. A job that fails costs its own tables only: the summary names it, and ``failed`` has the reason.
    With the option ``keep-history`` so many runs are kept under ``history`` as well. Raises what ``import`` raises;
    ``RingsideError`` when ``report`` fails, or another run writes there.
    """
    from pipeline.jobs import job_called  # noqa: PLC0415  that module names this one

    given = settings_by_job(options.settings)
    summaries: dict[str, object] = {}
    failed: dict[str, str] = {}
    importing.files_to_import(source, target, JobOptions(given["import"]))  # else a wrong IN would leave an empty OUT
    with one_after_another(target):
        for job in _wanted(source, target, options):
            options.say(f"{job} …")
            from_answers = job == "import" or (job == "keys" and has_traces(source))
            place = source if from_answers else target
            try:
                result = job_called(job)(spark, place, target, replace(options, settings=given[job], failed=failed))
            except (RingsideError, OSError, MemoryError, pa.ArrowException) as fault:
                if job == "import":
                    raise
                # What it left from an earlier run belongs to another input.
                withdraw(target, job)
                failed[job] = str(fault) or "there was not enough memory"
                if job == "report":
                    raise RingsideError(
                        f"report failed: {failed[job]}; the tables of the other jobs are there, and "
                        f"{shell_line('ringside', 'fleet', 'open', str(target))} lists what they hold"
                    ) from fault
                options.say(f"{job} failed, the other jobs go on: {fault}")
                continue
            summaries[job] = result.summary
            options.say(result.sentence)
        if KEEP_HISTORY in options.settings:
            keep_run(target, options.run_id, list(summaries), int(options.settings[KEEP_HISTORY]))
    return JobResult(JOB, {"job": JOB, "jobs": summaries, "failed": failed})


def _wanted(source: Place, target: Place, options: JobOptions) -> Iterator[str]:
    """The jobs in order; what there is for ``keys`` and ``balance`` is known only after the import."""
    for job in IN_RUN:
        if job == "keys" and not has_traces(source) and not consumers_of_tables(target):
            options.say("keys: there is neither a trace nor a Key_Shared subscription, so it is left out")
            continue
        if job == "balance" and not has_load_reports(target):
            options.say("balance: there is no load report, so it is left out")
            continue
        yield job
