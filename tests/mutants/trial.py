"""pytest in a forked process: the tests of a room are collected once, then run in any order until one fails."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import hypothesis
import pytest

CPU_SECONDS: Final = 1.5
CPU_FACTOR: Final = 4.0
"""A test that takes this much longer than with the engine as it is runs into an endless loop."""
WALL_SECONDS: Final = 300.0
MEMORY_BYTES: Final = 4 << 30

# Assertions are plain because pytest, to rewrite them, would import each file with doctests by a hook of its own, which
# comes before ``ChangedModule``.
_OPTIONS: Final = ("-q", "-s", "--tb=no", "--assert=plain", "-p", "no:cacheprovider", "-o", "faulthandler_timeout=0")
_PLAIN, _SHRINKING = "mutants", "mutants, shrinking"
_ENDED_BY_LIMIT: Final = frozenset({signal.SIGPROF, signal.SIGALRM, signal.SIGKILL})


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant: "killed" (by the test ``killer``), "timeout" or "survived"; CPU ``seconds`` of it."""

    outcome: str
    killer: str = ""
    seconds: float = 0.0


class TestRun:
    """The plugin that takes pytest's loop over: ``run`` gets the collected tests by their ids."""

    __test__ = False

    def __init__(self, run: Callable[[Mapping[str, pytest.Item]], None]) -> None:
        self.run = run
        self.started = False
        self.failed: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Interrupted("the tests could not be collected")
        self.started = True
        _fail_at_the_first_line()
        hypothesis.settings.load_profile(_SHRINKING)
        self.run({item.nodeid: item for item in session.items})
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def first_failure(self, items: Sequence[pytest.Item], seconds: Mapping[str, float]) -> str:
        """Run the tests in this order, each with its limit of CPU time; the first one that fails, "" if none does."""
        for item, following in zip(items, [*items[1:], None], strict=True):
            limit(seconds.get(item.nodeid, 0.0))
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                return self.failed[0]
        return ""


def run_pytest(arguments: Sequence[str], run: TestRun, *more: object) -> int:
    """pytest in this process, silent."""
    return int(pytest.main([*_OPTIONS, *arguments], plugins=[run, *more]))


def in_a_fork(work: Callable[[Callable[[Any], None]], None]) -> Iterator[Any]:
    """The values that ``work`` sends from a process of its own; they pass through JSON.

    What it prints is shown only if the process fails.
    """
    reading, writing = os.pipe()
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.close(reading)
                os.dup2(output.fileno(), 1)
                os.dup2(output.fileno(), 2)
                with os.fdopen(writing, "w", encoding="utf-8") as stream:
                    work(lambda value: print(json.dumps(value), file=stream, flush=True))
                code = 0
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                sys.stdout.flush()
                os._exit(code)
        os.close(writing)
        try:
            with os.fdopen(reading, encoding="utf-8") as stream:
                for line in stream:
                    yield json.loads(line)
        finally:
            _, status = os.waitpid(child, 0)
        if status:
            output.seek(0)
            raise RuntimeError(output.read().decode(errors="replace")[-4000:] or f"a process ended with {status}")


def fork_trial(work: Callable[[], str]) -> tuple[int, int]:
    """Start ``work`` in a process: its id, and where its killer can be read after it has ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 2
        try:
            os.close(reading)
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 1)
            os.dup2(silent, 2)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            os.write(writing, work().encode()[:4000])
            code = 0
        except BaseException:  # a mutant can break the running of tests as well: that is noticed
            os.write(writing, b"(the test run)")
        finally:
            os._exit(code)
    os.close(writing)
    return child, reading


def verdict(status: int, reading: int, seconds: float) -> Verdict:
    """What a process of ``fork_trial`` has ended with."""
    with os.fdopen(reading, "rb") as stream:
        killer = stream.read().decode()
    if os.WIFSIGNALED(status):
        ended_by = os.WTERMSIG(status)
        return Verdict("timeout" if ended_by in _ENDED_BY_LIMIT else "killed", f"(signal {ended_by})", seconds)
    return Verdict("killed" if killer else "survived", killer, seconds)


def use_plain_hypothesis() -> None:
    """The same examples in every run; tests shrink nothing, since a failure is all that is wanted.

    Decorated tests take the settings when they are imported. What a test calls later, as ``hypothesis.find``, shrinks:
    some tests assert how short a counterexample is.
    """
    plain = hypothesis.settings(
        derandomize=True,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    hypothesis.settings.register_profile(_SHRINKING, plain)
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile(_PLAIN, plain, phases=phases)
    hypothesis.settings.load_profile(_PLAIN)


def limit(seconds: float) -> None:
    """End the process once the next test has taken far more CPU time than usual, or waits for ever."""
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS + CPU_FACTOR * seconds)
    signal.setitimer(signal.ITIMER_REAL, WALL_SECONDS)


def _fail_at_the_first_line() -> None:
    """A golden family collects what fails, up to its last line; for a mutant the first failure is enough."""
    from tests.golden import harness

    harness.load_families()

    def stopping(checker: harness.Checker) -> harness.Checker:
        def check(line: harness.Line) -> None:
            try:
                checker(line)
            except Exception as error:
                pytest.fail(str(error), pytrace=False)

        return check

    harness._checkers.update({key: stopping(checker) for key, checker in harness._checkers.items()})


class _ChangedSource(importlib.machinery.SourceFileLoader):
    source = ""

    def get_code(self, fullname: str) -> Any:
        return compile(self.source, self.path, "exec", dont_inherit=True)


class ChangedModule:
    """An entry of ``sys.meta_path``: one module is imported from another text than its file has."""

    def __init__(self, path: Path, root: Path, source: str) -> None:
        self.name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        self.loader = _ChangedSource(self.name, str(path))
        self.loader.source = source
        self.imported = False

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> Any:
        if fullname != self.name:
            return None
        self.imported = True
        return importlib.util.spec_from_file_location(fullname, self.loader.path, loader=self.loader)
