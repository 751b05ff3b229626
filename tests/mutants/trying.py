"""Mutants tried out: in forks of a process that has collected the tests, or in one that imports the changed module.

A change inside a function is a change of its code object. It is exchanged in a fork, so nothing is imported or
collected again, and every trial starts from the same state: caches are empty but for what the import put there. A
mutant that survives although its lines run on import too is tried a second time, by importing.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any, Final

import pytest

from tests.mutants.baseline import Baseline
from tests.mutants.rooms import ROOT
from tests.mutants.sites import Mutant
from tests.mutants.trial import ChangedModule, TestRun, Verdict, fork_trial, in_a_fork, limit, run_pytest, verdict

IMPORT_SECONDS: Final = 3.0
FIRST_KILLERS: Final = 3

_NEEDS_IMPORT: Final = "(needs an import)"
_NOT_IMPORTED: Final = "(not imported)"
_Code = tuple[str, str, int]
"""File, qualified name and first line of a function: the same before and after a change of its body."""


@dataclass(slots=True)
class Order:
    """The tests of a mutant: those that noticed others of the same function first, then the cheap ones."""

    baseline: Baseline
    killers: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def sort(self, mutant: Mutant, names: Iterable[str]) -> list[str]:
        known = set(names)
        first = [name for name in reversed(self.killers.get((mutant.file, mutant.function), ())) if name in known]
        rest = known.difference(first[:FIRST_KILLERS])
        return [*first[:FIRST_KILLERS], *sorted(rest, key=lambda name: (self.baseline.seconds[name], name))]

    def learn(self, mutant: Mutant, killer: str) -> None:
        known = self.killers.setdefault((mutant.file, mutant.function), [])
        if killer in known:
            known.remove(killer)
        known.append(killer)


def try_out(
    mutants: Sequence[Mutant], arguments: Sequence[str], baseline: Baseline, jobs: int
) -> Iterator[tuple[Mutant, Verdict]]:
    """Each mutant with its verdict, as they come."""
    order = Order(baseline)
    inside = [at for at, mutant in enumerate(mutants) if mutant.outer is not None]
    by_import = [at for at, mutant in enumerate(mutants) if mutant.outer is None]
    if inside:
        for at, outcome, killer, seconds in in_a_fork(
            lambda send: _try_inside(mutants, inside, arguments, order, jobs, send)
        ):
            survived = outcome == "survived" and "" in baseline.running(mutants[at])
            if survived or killer == _NEEDS_IMPORT:
                by_import.append(at)
            else:
                yield mutants[at], Verdict(outcome, killer, seconds)
    for at, result in _several(
        sorted(by_import), jobs, lambda at: fork_trial(lambda: _by_import(mutants[at], arguments, order))
    ):
        if result.killer == _NOT_IMPORTED:
            raise RuntimeError(f"{mutants[at].file} was imported as it is, not as it was changed")
        order.learn(mutants[at], result.killer)
        yield mutants[at], result


def _try_inside(
    mutants: Sequence[Mutant],
    chosen: Sequence[int],
    arguments: Sequence[str],
    order: Order,
    jobs: int,
    send: Callable[[Any], None],
) -> None:
    def run_all(items: Mapping[str, pytest.Item]) -> None:
        live = _live_functions({str(ROOT / mutant.file) for mutant in mutants})

        def start(at: int) -> tuple[int, int]:
            mutant = mutants[at]
            tests = [items[name] for name in order.sort(mutant, order.baseline.running(mutant) - {""})]

            def work() -> str:
                if not _exchange(mutant, live):
                    return _NEEDS_IMPORT
                return run.first_failure(tests, order.baseline.seconds)

            return fork_trial(work)

        for at, result in _several(chosen, jobs, start):
            order.learn(mutants[at], result.killer)
            send((at, result.outcome, result.killer, result.seconds))

    run = TestRun(run_all)
    code = run_pytest(arguments, run)
    if not run.started:
        raise RuntimeError(f"pytest could not collect the tests and ended with {code}")


def _by_import(mutant: Mutant, arguments: Sequence[str], order: Order) -> str:
    """Import the changed module before anything else does, then collect all tests of the room and run those needed."""
    needed = order.baseline.running(mutant) if mutant.outer is None and mutant.lines else order.baseline.seconds.keys()
    answer = ["(import)"]

    def run_all(items: Mapping[str, pytest.Item]) -> None:
        names = order.sort(mutant, items.keys() & needed)
        answer[0] = run.first_failure([items[name] for name in names], order.baseline.seconds)

    assert "engine" not in sys.modules, "the engine has been imported too early"
    changed = ChangedModule(ROOT / mutant.file, ROOT, mutant.source)
    sys.meta_path.insert(0, changed)
    limit(IMPORT_SECONDS)
    run = TestRun(run_all)
    run_pytest(arguments, run)
    return answer[0] if changed.imported else _NOT_IMPORTED


def _several(
    chosen: Iterable[int], jobs: int, start: Callable[[int], tuple[int, int]]
) -> Iterator[tuple[int, Verdict]]:
    """Verdicts of trials of which up to ``jobs`` run at a time."""
    running: dict[int, tuple[int, int]] = {}

    def next_one() -> tuple[int, Verdict]:
        child, status, used = os.wait3(0)
        at, reading = running.pop(child)
        return at, verdict(status, reading, used.ru_utime + used.ru_stime)

    for at in chosen:
        child, reading = start(at)
        running[child] = (at, reading)
        if len(running) >= jobs:
            yield next_one()
    while running:
        yield next_one()


def _live_functions(files: set[str]) -> dict[_Code, list[FunctionType]]:
    """All functions of these files, also those behind properties, caches and closures."""
    results: dict[_Code, list[FunctionType]] = {}
    gc.unfreeze()  # tests/thrift.py has hidden everything from the collector, which is what lists objects
    for thing in gc.get_objects():
        if type(thing) is FunctionType and thing.__code__.co_filename in files:
            results.setdefault(_identity(thing.__code__), []).append(thing)
    gc.freeze()
    return results


def _identity(code: CodeType) -> _Code:
    return (code.co_filename, code.co_qualname, code.co_firstlineno)


def _exchange(mutant: Mutant, live: Mapping[_Code, Sequence[FunctionType]]) -> bool:
    """Give the mutated function its new code; False where it has no function object or a closure that differs."""
    path = str(ROOT / mutant.file)
    changed = compile(mutant.source, path, "exec", dont_inherit=True)
    exchanged = False
    for code in _codes(changed):
        if code.co_qualname == mutant.outer:
            for function in live.get(_identity(code), ()):
                try:
                    function.__code__ = code
                except ValueError:
                    return False
                exchanged = True
    return exchanged


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)
