"""``python -m pipeline JOB IN OUT``, also for ``spark-submit``: one job, its summary as JSON on stdout."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.errors import InputError, RingsideError
from pipeline.jobs import MODULES, job_called
from pipeline.jobs.result import JobOptions
from pipeline.session import open_session


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 fine, 1 a failure, 2 usage or input, 130 ctrl+c."""
    parser = argparse.ArgumentParser(prog="python -m pipeline", description="Run one job over a fleet's tables.")
    parser.add_argument("job", choices=sorted(MODULES))
    parser.add_argument("source", metavar="IN", type=Path)
    parser.add_argument("target", metavar="OUT", type=Path)
    parser.add_argument("--master", help="Spark's master URL; without it this machine, or what spark-submit says")
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], help="spark.* for Spark, else the job's own"
    )
    asked = parser.parse_args(arguments)
    wrong = [text for text in asked.set if "=" not in text]
    if wrong:
        parser.error(f"--set wants KEY=VALUE, not {wrong[0]!r}")
    settings = dict(text.split("=", 1) for text in asked.set)
    spark_settings = {key: value for key, value in settings.items() if key.startswith("spark.")}
    own = {key: value for key, value in settings.items() if key not in spark_settings}
    try:
        with open_session(asked.master, spark_settings) as spark:
            result = job_called(asked.job)(spark, asked.source, asked.target, JobOptions(own, _to_stderr))
    except RingsideError as fault:
        _to_stderr(f"{asked.job}: {fault}")
        return 2 if isinstance(fault, InputError) else 1
    except KeyboardInterrupt:
        return 130
    sys.stdout.write(json.dumps(result.summary, indent=1, sort_keys=True, default=list) + "\n")
    return 0


def _to_stderr(text: str) -> None:
    sys.stderr.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
