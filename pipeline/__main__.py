"""``python -m pipeline JOB IN OUT``, also for ``spark-submit``: run one job, print its summary as JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from engine.errors import InputError, RingsideError
from engine.text import visible
from engine.views.fleet.conditions import Figures, conditions_of, failures_of, figures_of_result, figures_of_summary
from engine.views.fleet.summary import FILE_NAME, read_summary
from pipeline.jobs import MODULES
from pipeline.jobs.result import JobResult
from pipeline.manifests import document_of
from pipeline.progress import NowAndThen
from pipeline.running import run_alone


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit code: 0 success, 1 a failure or a finding, 2 usage or input, 130 ctrl+c, 143 and 129 signals."""
    parser = argparse.ArgumentParser(prog="python -m pipeline", description="Run one job over a fleet's tables.")
    parser.add_argument("job", choices=sorted(MODULES))
    parser.add_argument("source", metavar="IN")
    parser.add_argument("target", metavar="OUT")
    parser.add_argument("--master", help="Spark's master URL; without it this machine, or what spark-submit says")
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], help="spark.* for Spark, else the job's own"
    )
    parser.add_argument(
        "--fail-on", metavar="CONDITION", action="append", default=[],
        help="exit 1 at a finding (info, warning, error; lint: error), or if max_over_even>N, idle>N, disagreement>N, "
        "quarantined>N or quarantined>N%% is true",
    )  # fmt: skip
    asked = parser.parse_args(arguments)
    wrong = [text for text in asked.set if "=" not in text]
    if wrong:
        parser.error(f"--set takes KEY=VALUE, not {wrong[0]!r}")
    settings = dict(text.split("=", 1) for text in asked.set)
    try:
        conditions = conditions_of(asked.job, asked.fail_on or (["error"] if asked.job == "lint" else []))
        result = run_alone(
            asked.job, asked.source, asked.target, settings,
            master=asked.master, say=_to_stderr, show=NowAndThen(_to_stderr),
        )  # fmt: skip
        sys.stdout.write(json.dumps(result.summary, indent=1, sort_keys=True, default=list) + "\n")
        sys.stdout.flush()
        failures = failures_of(_figures(result), conditions)
        for reason in failures:
            _to_stderr(f"{asked.job}: {reason}")
        return int(bool(failures))
    except RingsideError as fault:
        _to_stderr(f"{asked.job}: {fault}")
        return 2 if isinstance(fault, InputError) else 1
    except OSError as fault:
        _to_stderr(f"{asked.job}: {fault}")
        return 1
    except KeyboardInterrupt:
        return 130


def _figures(result: JobResult) -> Figures:
    """The figures of a result; those of ``report`` are in the summary that it wrote."""
    if result.job != "report" or result.place is None:
        return figures_of_result(result)
    return figures_of_summary(read_summary(document_of(result.place, FILE_NAME)))


def _to_stderr(text: str) -> None:
    sys.stderr.write(visible(text) + "\n")


if __name__ == "__main__":
    sys.exit(main())
