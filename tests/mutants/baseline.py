"""One run of a room's tests with the engine as it is: how long each takes and which lines it runs.

What is known of a test file is kept in ``build/mutants`` until the file, the engine or a helper of the tests changes:
who writes a test for a survivor waits for that test only.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import coverage
import pytest

from tests.mutants.rooms import ROOT, Room
from tests.mutants.sites import Mutant
from tests.mutants.trial import TestRun, in_a_fork, run_pytest

KEPT: Final = ROOT / "build" / "mutants"

Lines = dict[str, list[int]]
"""By file the lines that ran."""


@dataclass(slots=True)
class Baseline:
    """``seconds`` of CPU time by test; the tests by line, "" for the import."""

    seconds: dict[str, float] = field(default_factory=dict)
    tests: dict[tuple[str, int], set[str]] = field(default_factory=dict)

    def add(self, test: str, lines: Lines) -> None:
        """Let ``test`` have run ``lines``."""
        for file, numbers in lines.items():
            for number in numbers:
                self.tests.setdefault((file, number), set()).add(test)

    def running(self, mutant: Mutant) -> set[str]:
        """The tests that run a line of the mutated statement."""
        return set().union(*(self.tests.get((mutant.file, line), ()) for line in mutant.lines))


class BaselineError(Exception):
    """Tests fail without any mutant."""


def measure(room: Room) -> Baseline:
    """Run the tests that are not known yet in a process of their own, with coverage by test."""
    path = KEPT / f"{room.name}.json"
    words = room.arguments()
    engine = _digest(_common_files())
    known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    if known.get("engine") != engine:
        known = {"engine": engine, "import": {}, "words": {}}
    digests = {word: _digest(_files_of(word)) for word in words}
    unknown = [word for word in words if known["words"].get(word, {}).get("digest") != digests[word]]
    if unknown:
        print(f"{room.name}: running {len(unknown)} of {len(words)} files of tests", file=sys.stderr)
        [(failed, on_import, tests)] = in_a_fork(lambda send: send(_run(unknown, room.paths())))
        if failed:
            raise BaselineError(f"{', '.join(failed)}: fails without any mutant")
        known["import"] = _joined(known["import"], on_import)
        for word in unknown:
            of_word = {test: kept for test, kept in tests.items() if word in (test, test.partition("::")[0])}
            known["words"][word] = {"digest": digests[word], "tests": of_word}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(known), encoding="utf-8")
    baseline = Baseline()
    baseline.add("", known["import"])
    for word in words:
        for test, (seconds, lines) in known["words"][word]["tests"].items():
            baseline.seconds[test] = seconds
            baseline.add(test, lines)
    return baseline


def _run(words: Sequence[str], files: Sequence[Path]) -> tuple[list[str], Lines, dict[str, tuple[float, Lines]]]:
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
    code = run_pytest(words, run)
    seen.stop()
    if not run.started:
        raise RuntimeError(f"pytest could not collect the tests and ended with {code}")
    lines: dict[str, Lines] = {test: {} for test in ("", *seconds)}
    for path in files:
        file = path.relative_to(ROOT).as_posix()
        for line, tests in seen.get_data().contexts_by_lineno(str(path)).items():
            for test in tests:
                lines[test].setdefault(file, []).append(line)
    return sorted(set(run.failed)), lines.pop(""), {test: (seconds[test], lines[test]) for test in lines}


def _joined(one: Lines, other: Lines) -> Lines:
    return {file: sorted({*one.get(file, ()), *other.get(file, ())}) for file in one.keys() | other.keys()}


def _common_files() -> list[Path]:
    """What every test may depend on: the engine, and the modules of the tests that hold no test."""
    tests = (ROOT / "tests").rglob("*.py")
    helpers = [path for path in tests if not path.name.startswith("test_") and path.parent.name != "mutants"]
    return sorted((ROOT / "engine").rglob("*.py")) + sorted(helpers)


def _files_of(word: str) -> list[Path]:
    """The file of tests that a word for pytest names, with the vectors of a golden family."""
    path, _, test = word.partition("::")
    family = test.partition("[")[2].rstrip("]")
    return [ROOT / path, *([ROOT / "tests" / "golden" / f"{family}.jsonl"] if family else [])]


def _digest(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
