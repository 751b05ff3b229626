"""A failure inside Spark reaches people as one sentence: what is wrong, where, what to do."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from engine.errors import InputError, RingsideError
from engine.views.fleet.tables import SETTINGS
from pipeline.failures import failure_of
from pipeline.tables import tables_at
from tests import fleet_results

PYTHON = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/x/pipeline/sink.py", line 33, in run
    account = self.work(batches, parts)
              ^^^^^^^^^^^^^^^^^^^^^^^^^
{0}
"""
JAVA = """An error occurred while calling o230.collectToPython.
: org.apache.spark.SparkException: {0}
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.cannotReadFilesError(QueryExecutionErrors.scala:920)
\tat org.apache.spark.sql.execution.datasources.FileScanRDD$$anon$1.hasNext(FileScanRDD.scala:153)
Caused by: org.apache.spark.SparkException: {0}
\t... 4 more
Caused by: {1}
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
\t... 14 more
"""
LOST = "Job aborted due to stage failure: Task 0 in stage 0.0 failed 1 times, most recent failure: Lost task 0.0"


@pytest.mark.parametrize(
    ("story", "message"),
    [
        (PYTHON.format("KeyError: 'a'"), "the job x failed: KeyError: 'a'"),
        (PYTHON.format("engine.errors.RingsideError: no way"), "no way"),
        (PYTHON.format("ModuleNotFoundError: No module named 'mmh3'"), "has no mmh3; install it there"),
        (JAVA.format(LOST, "java.io.IOException: No space left on device"), "TMPDIR"),
        (JAVA.format(LOST, "java.lang.OutOfMemoryError: Java heap space"), "--set spark.driver.memory=6g"),
        (JAVA.format("Python worker exited unexpectedly (crashed).", "java.io.EOFException"), "killed from outside"),
        (JAVA.format(LOST, 'java.io.IOException: Cannot run program "/p": error=13, Permission denied'),
         "the workers' Python /p cannot be run (Permission denied); name another in PYSPARK_PYTHON"),
        (JAVA.format(LOST, "org.apache.hadoop.fs.FSError: java.io.IOException: something else"),
         "the job x failed: something else"),
        ("", "the job x failed: no reason was given"),
    ],
)  # fmt: skip
def test_the_sentence_names_the_cause_and_no_class_of_java(story: str, message: str) -> None:
    failure = failure_of("x", story)
    assert isinstance(failure, RingsideError) and not isinstance(failure, InputError)
    assert message in str(failure)
    assert "\n" not in str(failure)
    assert "org.apache" not in str(failure) and "java." not in str(failure)


@pytest.mark.parametrize(
    "story",
    [
        PYTHON.format("OSError: [Errno 28] No space left on device"),
        PYTHON.format("OSError: [Errno 28] Error writing bytes to file. Detail: [errno 28] No space left on device"),
        JAVA.format("[TASK_WRITE_FAILED] Task failed while writing rows to file:/o.", "java.io.IOException: No space left on device"),  # noqa: E501
    ],
)  # fmt: skip
def test_a_full_disk_under_the_result_is_left_to_whoever_writes_it(story: str) -> None:
    failure = failure_of("x", story)
    assert isinstance(failure, OSError) and failure.errno == errno.ENOSPC


def test_a_table_that_cannot_be_read_is_named_wherever_that_was_noticed(tmp_path: Path) -> None:
    """By Java, by a worker, by the driver: each time it is an input that cannot be used."""
    java = JAVA.format("[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///o/x.parquet.  SQL", "")
    assert isinstance(failure_of("x", java), InputError)
    assert str(failure_of("x", java)).startswith("/o/x.parquet cannot be read")
    rows = SETTINGS.columns_of([("", f"name {number}", f"value {number}", "f") for number in range(5_000)])
    part = fleet_results.put_table(tmp_path, SETTINGS.name, rows)
    assert str(failure_of("x", PYTHON.format(f"engine.errors.InputError: {part} is cut"))) == f"{part} is cut"
    part.write_bytes(part.read_bytes()[:3_000])
    with pytest.raises(InputError, match=rf"{part.name} is not a table settings: it cannot be read"):
        tables_at(tmp_path).check(SETTINGS)
