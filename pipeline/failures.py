"""Turn Spark's report of a failure, which is a page of Java, into one sentence.

Works on text only; Spark need not be installed.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Sequence
from typing import Final

from engine.errors import InputError, RingsideError

_MEMORY: Final = "there was not enough memory; give more with --set spark.driver.memory=6g"
_KILLED: Final = (
    "a Python worker was killed from outside, as happens when memory runs out; run fewer at once, "
    "with --master 'local[1]', or give executors more memory"
)
_TEMPORARY: Final = "the disk of the temporary folder is full; make room, or name another folder in TMPDIR"
_FULL: Final = ("No space left on device", "Disk quota exceeded", "File too large")
_OWN: Final[dict[str, type[RingsideError]]] = {
    "engine.errors.InputError": InputError,
    "engine.errors.RingsideError": RingsideError,
}
_RAISED: Final = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Interrupt|ArrowInvalid)(?=:|$)")
_JAVA: Final = re.compile(r"^(?:Caused by|Exception in thread \"main\")?:? ?(?:(?:[a-z]\w*\.)+[A-Z]\w*: )+")
_UNREADABLE: Final = re.compile(r"[Ee]rror while reading file (?:file:/+)?(\S+?)\.?\s")
_NO_PROGRAM: Final = re.compile(r'Cannot run program "([^"]*)": (?:error=\d+, )?(.*)')
_MODULE: Final = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_NOTICES: Final = ("NOTE:", "WARNING:", "Picked up ")
"""How lines begin that a JVM writes at every start."""
_LONGEST: Final = 400


def failure_of(job: str, story: str) -> Exception:
    """The exception to raise for Spark's report (``story``) of a failed job.

    An error of ours that a worker raised is raised again; a full disk under the result is an ``OSError``, since only
    the caller that writes knows its path. Everything else is a ``RingsideError``. O(length).

    >>> failure_of("assign", "Traceback (most recent call last):\\nengine.errors.InputError: x.parquet is cut short\\n")
    InputError('x.parquet is cut short')
    """
    lines = [line.strip() for line in story.splitlines() if line.strip()]
    raised = _raised(lines)
    for name, kind in _OWN.items():
        if raised.startswith(f"{name}: "):
            return kind(raised.removeprefix(f"{name}: "))
    if any(word in story for word in _FULL):
        # Workers write nothing but the result; the JVM also spills to its temporary folder.
        in_result = bool(raised) or "TASK_WRITE_FAILED" in story
        return OSError(errno.ENOSPC, "No space left on device") if in_result else _failed(job, _TEMPORARY)
    unreadable = _UNREADABLE.search(story)
    if unreadable is not None:
        path = unreadable[1] if unreadable[1].startswith("/") else f"/{unreadable[1]}"
        return InputError(f"{path} cannot be read, it is damaged or has changed; make the table again")
    return _failed(job, _known(story) or raised or _innermost(lines))


def start_failure(story: str) -> str:
    """Why no session could be opened.

    >>> start_failure(": org.apache.spark.SparkException: Could not parse Master URL: 'foo'")
    "Could not parse Master URL: 'foo'"
    >>> start_failure('WARNING: x\\nException in thread "main" org.apache.spark.SparkException: Master must be yarn')
    'Master must be yarn'
    """
    lines = [line.strip() for line in story.splitlines() if line.strip() and not line.startswith(_NOTICES)]
    return (_known(story) or _innermost(lines))[:_LONGEST]


def _failed(job: str, reason: str) -> RingsideError:
    return RingsideError(f"the job {job} failed: {reason[:_LONGEST]}")


def _known(story: str) -> str | None:
    if "OutOfMemoryError" in story:
        return _MEMORY
    if "Python worker exited unexpectedly" in story:
        return _KILLED
    program = _NO_PROGRAM.search(story)
    if program is not None:
        return f"the workers' Python {program[1]} cannot be run ({program[2]}); name another in PYSPARK_PYTHON"
    module = _MODULE.search(story)
    if module is not None:
        return f"Python on the executors has no {module[1]}; install it there, or name another Python in PYSPARK_PYTHON"
    return None


def _raised(lines: Sequence[str]) -> str:
    """The last line with a Python exception, empty without one."""
    raised = [line for line in lines if _RAISED.match(line) and not line.startswith(("java.", "org.", "scala."))]
    return raised[-1] if raised else ""


def _innermost(lines: Sequence[str]) -> str:
    """The innermost cause in a report from Java."""
    causes = [line for line in lines if line.startswith("Caused by:")]
    candidates = causes[-1:] or [line for line in lines if _JAVA.match(line)] or list(lines) or ["no reason was given"]
    return _JAVA.sub("", candidates[0])
