"""Runs what reads input in children with limited memory and CPU time, forked from one process that has loaded it all.

A child costs some milliseconds instead of the seconds that imports take. The kernel holds the limits, and no clock on a
wall is asked: RLIMIT_CPU ends a child with SIGXCPU, whatever it is doing. RLIMIT_DATA makes allocations fail beyond
1 GB of private writable memory, which is the heap and everything that Python, numpy and Arrow map for themselves;
RLIMIT_AS would count libraries and reserved address space instead, which differ from machine to machine.
"""

from __future__ import annotations

import contextlib
import gc
import json
import math
import os
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Final

from tests.patience import HANG_S

MEMORY_BYTES: Final = 10**9
CPU_S: Final = 30
"""What grows with the square of its input takes minutes; a busy machine needs three times what a quiet one does."""
OUTPUT_BYTES: Final = 1 << 22
"""What is kept of an output."""
UNEXPECTED: Final = 99
"""The exit code after an exception that was not caught."""
_LENGTH: Final = struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class Job:
    """What one child does, one after another: words for ``ringside``, or for another reader if they begin with ``@``.

    Each command has the CPU time for itself. What one of them leaves behind the next ones find, as in a test process.
    """

    commands: tuple[tuple[str, ...], ...]
    folder: str
    stdin: str = os.devnull
    stdins: tuple[str, ...] = ()
    """Another standard input for each of the commands."""
    memory_bytes: int = MEMORY_BYTES
    cpu_s: int = CPU_S
    plant: str = ""
    """``module:function`` that is called in the child before it reads: a bug for tests of what finds bugs."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How one command ended: ``code`` is -1 where a signal ended it."""

    code: int
    signal: int
    out: str
    err: str
    cpu_s: float = field(default=0.0, compare=False)
    peak_bytes: int = field(default=0, compare=False)


class Limited:
    """The process that forks, as seen by the one that asks."""

    def __init__(self) -> None:
        root = Path(__file__).resolve().parents[2]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONUTF8": "1"}
        for name in ("RINGSIDE_DEBUG", "NO_COLOR", "COLUMNS"):
            environment.pop(name, None)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.hostile.limited"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=root,
            env=environment,
        )

    def run(self, job: Job) -> tuple[Ended, ...]:
        """How the commands ended. Where one was ended by a signal it is the last, and the others were not run."""
        assert self._process.stdin is not None and self._process.stdout is not None
        _send(self._process.stdin, asdict(job))
        return tuple(Ended(**each) for each in _received(self._process.stdout))

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(HANG_S)


@contextmanager
def limited() -> Iterator[Limited]:
    """Runs jobs until the end of the ``with``."""
    runner = Limited()
    try:
        yield runner
    finally:
        runner.close()


def _send(stream: Any, message: Any) -> None:
    data = json.dumps(message).encode()
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def _received(stream: Any) -> Any:
    (length,) = _LENGTH.unpack(stream.read(_LENGTH.size))
    return json.loads(stream.read(length))


def serve() -> None:
    """Take jobs from standard input until it ends."""
    from tests.hostile.readers import OTHER_READERS, load_everything

    load_everything()
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    gc.collect()
    gc.freeze()
    while length := requests.read(_LENGTH.size):
        asked = json.loads(requests.read(_LENGTH.unpack(length)[0]))
        job = Job(**{**asked, "commands": tuple(tuple(words) for words in asked["commands"])})
        _send(answers, [asdict(each) for each in _in_a_child(job, OTHER_READERS)])


Readers = dict[str, Callable[[Sequence[str]], int]]


def _in_a_child(job: Job, readers: Readers) -> list[Ended]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as results:
        child = os.fork()
        if child == 0:
            _be_the_child(job, readers, out, err, results)
        status, usage = _awaited(child)
        code = os.waitstatus_to_exitcode(status)
        results.seek(0)
        ended = [Ended(**json.loads(line)) for line in results]
        if code != 0:
            spent = usage.ru_utime + usage.ru_stime - sum(each.cpu_s for each in ended)
            ended.append(Ended(max(code, -1), max(-code, 0), _text(out), _text(err), spent, usage.ru_maxrss * 1024))
        return ended


def _awaited(child: int) -> tuple[int, resource.struct_rusage]:
    """How a child ended; one that waits for something that never comes is killed, so that it is reported too."""

    def kill(_number: int, _frame: FrameType | None) -> None:
        os.kill(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, kill)
    signal.alarm(round(HANG_S))
    _, status, usage = os.wait4(child, 0)
    signal.alarm(0)
    return status, usage


def _text(file: Any) -> str:
    file.seek(0)
    return str(file.read(OUTPUT_BYTES).decode("utf-8", "backslashreplace"))


def _be_the_child(job: Job, readers: Readers, out: Any, err: Any, results: Any) -> None:
    from tui.cli import exits

    code = UNEXPECTED
    # The kernel holds the limit of time, also where a handler of Python would not run.
    exits.ENDING = tuple(number for number in exits.ENDING if number != signal.SIGXCPU)  # type: ignore[misc]
    try:
        os.chdir(job.folder)
        os.environ["XDG_STATE_HOME"] = f"{job.folder}/state"
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_DATA, (job.memory_bytes, job.memory_bytes))
        if job.plant:
            module, _, name = job.plant.partition(":")
            getattr(__import__(module, fromlist=[name]), name)()
        for words, stdin in zip(job.commands, job.stdins or [job.stdin] * len(job.commands), strict=True):
            ended = _run_one(words, stdin, job.cpu_s, readers, out, err)
            results.write(json.dumps(asdict(ended)).encode() + b"\n")
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, ValueError):
            results.flush()
        os._exit(code)


def _run_one(words: tuple[str, ...], stdin: str, cpu_s: int, readers: Readers, out: Any, err: Any) -> Ended:
    from tui.cli.main import main

    for file in (out, err):
        file.seek(0)
        file.truncate()
    source = os.open(stdin, os.O_RDONLY)
    for descriptor, standard in ((source, 0), (out.fileno(), 1), (err.fileno(), 2)):
        os.dup2(descriptor, standard)
    os.close(source)
    before = _spent()
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(before) + cpu_s, resource.RLIM_INFINITY))
    try:
        code = readers[words[0]](words[1:]) if words[0].startswith("@") else main(words)
    except Exception:
        traceback.print_exc()
        code = UNEXPECTED
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Ended(code, 0, _text(out), _text(err), _spent() - before, peak)


def _spent() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    serve()
