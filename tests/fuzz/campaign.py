"""Draws inputs by their numbers, runs them, and keeps what fails, shrunk."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from tests.fuzz.case import FOLDERS, Case
from tests.fuzz.corpus import WEIGHTS, seeds
from tests.fuzz.mutate import mutated
from tests.fuzz.shrink import shrunk
from tests.hostile.judging import faults
from tests.hostile.limited import Ended, Job, Limited, limited
from tests.hostile.readers import KINDS

COMMANDS_OF_AN_INPUT: Final = 2
_RAISED: Final = re.compile(r"\b([A-Z]\w*(?:Error|Exception|Interrupt))\b|(SIG[A-Z]+)")


@dataclass(frozen=True)
class Failure:
    """An input, the command that did not take it, and what was wrong. ``sort`` is how it failed, in a few words."""

    case: Case
    form: tuple[str, ...]
    fault: str
    sort: str
    runs: int = 0
    "How often it was run while it was shrunk."


Forms = tuple[tuple[str, ...], ...]


def drawn(seed: int, number: int, kinds: tuple[str, ...] = tuple(WEIGHTS)) -> tuple[Case, Forms]:
    """The input of that number, and the commands that are to read it: always the same for the same numbers."""
    random = Random(f"{seed}/{number}")
    kind = random.choices(kinds, [WEIGHTS[kind] for kind in kinds])[0]
    case = mutated(random, random.choice(seeds(kind)))
    return case, tuple(random.sample(KINDS[kind], min(COMMANDS_OF_AN_INPUT, len(KINDS[kind]))))


class Bench:
    """Where inputs are run: a process that forks, and a folder."""

    def __init__(self, runner: Limited, folder: Path, plant: str = "") -> None:
        self._runner = runner
        self._folder = folder
        self._plant = plant
        self.runs = 0
        self.cpu_s = 0.0

    def failure(self, case: Case, forms: Forms) -> Failure | None:
        """How reading a case fails, None where nothing is wrong."""
        path = case.put(self._folder)
        commands = tuple(tuple(word.replace("{}", str(path)) for word in form) for form in forms)
        stdin = os.devnull if case.kind in FOLDERS else str(path)
        ended: tuple[Ended, ...] = self._runner.run(Job(commands, str(self._folder), stdin, plant=self._plant))
        self.runs += len(ended)
        self.cpu_s += sum(each.cpu_s for each in ended)
        for form, words, each in zip(forms, commands, ended, strict=False):
            result = faults(words, each, path, case.kind)
            if result:
                return Failure(case, form, result[0], _sort(result[0]))
        return None

    def failures(self, batch: Sequence[tuple[Case, Forms]]) -> list[Failure | None]:
        """The same for several inputs, which one child reads one after another: a new child costs as much as to read.

        What fails there is read again by a child of its own, as is all where a signal ended the child.
        """
        commands: list[tuple[str, ...]] = []
        stdins: list[str] = []
        read: list[tuple[Case, tuple[str, ...], Path]] = []
        for at, (case, forms) in enumerate(batch):
            folder = self._folder / str(at)
            folder.mkdir(exist_ok=True)
            path = case.put(folder)
            for form in forms:
                read.append((case, form, path))
                commands.append(tuple(word.replace("{}", str(path)) for word in form))
                stdins.append(os.devnull if case.kind in FOLDERS else str(path))
        job = Job(tuple(commands), str(self._folder), stdins=tuple(stdins), plant=self._plant)
        ended = self._runner.run(job)
        self.runs += len(ended)
        self.cpu_s += sum(each.cpu_s for each in ended)
        if len(ended) < len(commands) or ended[-1].signal:
            return [self.failure(case, forms) for case, forms in batch]
        doubtful = {
            id(case)
            for (case, _, path), words, each in zip(read, commands, ended, strict=True)
            if faults(words, each, path, case.kind)
        }
        return [self.failure(case, forms) if id(case) in doubtful else None for case, forms in batch]

    def smallest(self, failure: Failure) -> Failure:
        """The failure with as small an input as was found to fail in the same way."""
        before = self.runs

        def fails(case: Case) -> bool:
            other = self.failure(case, (failure.form,))
            return other is not None and other.sort == failure.sort

        case = shrunk(failure.case, fails)
        fault = self.failure(case, (failure.form,))
        return Failure(case, failure.form, (fault or failure).fault, failure.sort, self.runs - before)


@contextmanager
def bench(plant: str = "") -> Iterator[Bench]:
    """A place to run inputs in."""
    with limited() as runner, TemporaryDirectory() as folder:
        yield Bench(runner, Path(folder), plant)


def keep(failure: Failure, into: Path) -> Path:
    """Write the input down under the name of its fault, in the folder of its kind."""
    folder = into / failure.case.kind
    folder.mkdir(parents=True, exist_ok=True)
    content = failure.case.content()
    suffix = "".join(Path(failure.case.name).suffixes[-2:])
    stem = f"found-{failure.sort}-{zlib.crc32(content):08x}"
    if failure.case.kind not in FOLDERS:
        path = folder / f"{stem}{suffix}"
        path.write_bytes(content)
        return path
    path = folder / stem
    failure.case.put_files(path)
    return path


def _sort(fault: str) -> str:
    raised = _RAISED.search(fault)
    words = (raised[1] or raised[2]) if raised is not None else " ".join(fault.partition(":")[0].split()[:4])
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")
