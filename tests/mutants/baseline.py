"""One run of a room's tests with the engine as it is: how long each takes and which lines it runs."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import coverage
import pytest

from tests.mutants.rooms import ROOT
from tests.mutants.sites import Mutant
from tests.mutants.trial import TestRun, in_a_fork, run_pytest


@dataclass(frozen=True, slots=True)
class Baseline:
    """``seconds`` of CPU time by test; by file and line the tests that run it, "" for the import."""

    seconds: Mapping[str, float] = field(default_factory=dict)
    tests: Mapping[str, Mapping[int, frozenset[str]]] = field(default_factory=dict)

    def running(self, mutant: Mutant) -> frozenset[str]:
        """The tests that run a line of the mutated statement."""
        lines = self.tests.get(mutant.file, {})
        return frozenset().union(*(lines.get(line, ()) for line in mutant.lines))


class BaselineError(Exception):
    """Tests fail without any mutant."""


def measure(arguments: Sequence[str], files: Sequence[Path]) -> Baseline:
    """Run the tests once in a process of its own, with coverage by test."""
    [(seconds, failed, names, lines_by_file)] = in_a_fork(lambda send: send(_measure(arguments, files)))
    if failed:
        raise BaselineError("fail without any mutant: " + ", ".join(failed))
    tests = {
        file: {int(line): frozenset(names[at] for at in ran) for line, ran in lines.items()}
        for file, lines in lines_by_file.items()
    }
    return Baseline(seconds, tests)


def _measure(arguments: Sequence[str], files: Sequence[Path]) -> tuple[Any, ...]:
    seen = coverage.Coverage(data_file=None, config_file=False, include=[str(path) for path in files])
    seconds: dict[str, float] = {}

    def run_all(items: Mapping[str, pytest.Item]) -> None:
        order = list(items.values())
        for item, following in zip(order, [*order[1:], None], strict=True):
            seen.switch_context(item.nodeid)
            start = time.process_time()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            seconds[item.nodeid] = time.process_time() - start

    run = TestRun(run_all)
    seen.start()
    code = run_pytest(arguments, run)
    seen.stop()
    if not seconds:
        raise RuntimeError(f"pytest ran no test and ended with {code}")
    numbers = {name: at for at, name in enumerate(["", *seconds])}
    data = seen.get_data()
    lines_by_file = {
        path.relative_to(ROOT).as_posix(): {
            line: [numbers[name] for name in names] for line, names in data.contexts_by_lineno(str(path)).items()
        }
        for path in files
    }
    return seconds, sorted(set(run.failed)), list(numbers), lines_by_file
