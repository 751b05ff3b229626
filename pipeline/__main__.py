"""``python -m pipeline JOB IN OUT``, also for ``spark-submit``: one job, its summary as JSON on stdout."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from engine.errors import InputError, RingsideError
from engine.visible import visible
from pipeline.jobs import MODULES, job_called
from pipeline.jobs.options import SPARK, check_options
from pipeline.jobs.result import JobOptions, JobResult, fails
from pipeline.session import open_session

SEVERITIES: Final = ("info", "warning", "error")


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 fine, 1 a failure or a finding, 2 usage or input, 130 ctrl+c, 143 and 129 other signals."""
    parser = argparse.ArgumentParser(prog="python -m pipeline", description="Run one job over a fleet's tables.")
    parser.add_argument("job", choices=sorted(MODULES))
    parser.add_argument("source", metavar="IN", type=Path)
    parser.add_argument("target", metavar="OUT", type=Path)
    parser.add_argument("--master", help="Spark's master URL; without it this machine, or what spark-submit says")
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], help="spark.* for Spark, else the job's own"
    )
    parser.add_argument(
        "--fail-on", choices=SEVERITIES, help="lint, run: exit 1 if a finding is as bad as this or worse (lint: error)"
    )
    asked = parser.parse_args(arguments)
    if asked.fail_on is not None and asked.job not in ("lint", "run"):
        parser.error(f"--fail-on is for lint and run; {asked.job} finds nothing")
    wrong = [text for text in asked.set if "=" not in text]
    if wrong:
        parser.error(f"--set wants KEY=VALUE, not {wrong[0]!r}")
    settings = dict(text.split("=", 1) for text in asked.set)
    fail_on = asked.fail_on or ("error" if asked.job == "lint" else None)
    try:
        result = _done(asked.job, asked.source, asked.target, asked.master, settings)
        sys.stdout.write(json.dumps(result.summary, indent=1, sort_keys=True, default=list) + "\n")
        sys.stdout.flush()
        return int(fails(result, fail_on))
    except RingsideError as fault:
        _to_stderr(f"{asked.job}: {fault}")
        return 2 if isinstance(fault, InputError) else 1
    except OSError as fault:
        _to_stderr(f"{asked.job}: {fault}")
        return 1
    except KeyboardInterrupt:
        return 130


def _done(job: str, source: Path, target: Path, master: str | None, settings: dict[str, str]) -> JobResult:
    check_options(job, settings)
    own = {key: value for key, value in settings.items() if not key.startswith(SPARK)}
    with open_session(master, {key: settings[key] for key in settings.keys() - own.keys()}) as spark:
        return job_called(job)(spark, source, target, JobOptions(own, _to_stderr))


def _to_stderr(text: str) -> None:
    sys.stderr.write(visible(text) + "\n")


if __name__ == "__main__":
    sys.exit(main())
