"""Recordings with one thing spoilt, and what must be found in them: every table of such cases is checked in one way.

A path names a place in a JSON document, member by member: a number is an index, ``^`` the first entry, and ``~end`` the
one member whose name ends so.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, NamedTuple

import pytest

from engine.admin.files import AnswerFile
from engine.admin.folders import FilesRead
from engine.verify.answers import answers_of
from engine.verify.compare import verify_answers
from engine.verify.report import Difference
from tests.lab.folder import Folder, recording
from tests.lab.reports import differences_of, report_of

SHOWN: Final = 6
Spoil = Callable[[bytes], bytes]
"""The content of a file, spoilt."""
Edit = Callable[[Any], object]
"""Changes a decoded document in place."""


def edit(change: Edit) -> Spoil:
    """A JSON document, changed in place."""

    def spoil(data: bytes) -> bytes:
        document = json.loads(data)
        change(document)
        return json.dumps(document).encode()

    return spoil


def let(path: str, change: Edit) -> Spoil:
    """What is at a path, changed in place."""
    return edit(lambda document: change(_at(document, path.split("."))))


def put(path: str, value: object) -> Spoil:
    """Another value at a path; a callable makes it of the one that was there."""
    *parents, last = path.split(".")

    def change(document: Any) -> None:
        owner = _at(document, parents)
        key = _key(owner, last)
        owner[key] = value(owner[key]) if callable(value) else value

    return edit(change)


def cut(path: str) -> Spoil:
    """A document without what is at a path."""
    *parents, last = path.split(".")

    def change(document: Any) -> None:
        owner = _at(document, parents)
        del owner[_key(owner, last)]

    return edit(change)


def plus(number: float) -> Callable[[float], float]:
    return lambda value: value + number


def swap(one: int, other: int) -> Edit:
    """Two entries of a list, each in the place of the other."""

    def change(entries: Any) -> None:
        entries[one], entries[other] = entries[other], entries[one]

    return change


def _at(document: Any, path: Sequence[str]) -> Any:
    for name in path:
        document = document[_key(document, name)]
    return document


def _key(owner: Any, name: str) -> Any:
    if isinstance(owner, list):
        return 0 if name == "^" else int(name)
    if name == "^":
        return next(iter(owner))
    return next(key for key in owner if key.endswith(name[1:])) if name.startswith("~") else name


def line(pattern: str, instead: str) -> Spoil:
    """A text whose first line that matches is another one."""

    def spoil(data: bytes) -> bytes:
        text, count = re.subn(pattern, instead, data.decode(), count=1, flags=re.MULTILINE)
        assert count == 1, pattern
        return text.encode()

    return spoil


def written(path: str, number: int, change: Spoil) -> Spoil:
    """A series in which what was written the nth time below a path is spoilt."""

    def spoil(data: bytes) -> bytes:
        lines = data.splitlines()
        decoded = ((at, json.loads(text)) for at, text in enumerate(lines) if path.encode() in text)
        places = [(at, one) for at, one in decoded if one["path"].startswith(path) and _is_write(one)]
        at, one = places[number]
        lines[at] = json.dumps({**one, "body": change(one["body"].encode()).decode()}).encode()
        return b"\n".join(lines)

    return spoil


def _is_write(one: Any) -> bool:
    return one["from"] == "metadata" and bool(one["body"])


class Found(NamedTuple):
    """A difference that must be found; None is any text, and ``about`` is a part of its subject or of its rule."""

    kind: Enum
    recorded: str | None = None
    modelled: str | None = None
    about: str = ""
    moment: str | None = None

    def is_met(self, difference: Difference) -> bool:
        return (
            difference.kind is self.kind
            and self.recorded in (None, difference.recorded)
            and self.modelled in (None, difference.modelled)
            and (self.about in difference.subject or self.about in difference.rule)
            and self.moment in (None, difference.moment)
        )


@dataclass(frozen=True)
class Case:
    """A recording with one file spoilt: what is ``found``, each once, and of which kinds ``others`` may differ as well.

    ``moment`` and ``file`` are those of all differences: where the file that is spoilt belongs to a step, that step's
    and that file's.
    """

    name: str
    spoilt: str
    spoil: Spoil
    found: Sequence[Found | Enum]
    others: Collection[Enum] = ()
    moment: str | None = None
    file: str | None = None
    verified: Collection[Enum] = ()
    """The kinds of what ``verify`` finds in the answers alone, if it finds any."""
    is_spread: bool = False
    """Whether it also shows at other steps."""

    def folder(self) -> Folder:
        folder = recording(self.name)
        return folder.with_file(self.spoilt, self.spoil(folder.files[self.spoilt]))

    def check(self) -> None:
        """Compare the recording as it is, where nothing differs, and spoilt."""
        assert report_of(self.name).agrees
        folder = self.folder()
        differences = differences_of(folder)
        self._check_found(differences)
        number = re.match(r"\d+(?=-)", self.spoilt)
        is_of_step = number is not None and not self.is_spread
        moment, file = (str(int(number[0])), self.spoilt) if number and is_of_step else (self.moment, self.file)
        assert moment is None or {one.moment for one in differences} == {moment}
        assert file is None or {one.file for one in differences} == {file}
        if self.verified:
            assert {one.kind for one in _verified(folder, self.spoilt)} == set(self.verified)

    def _check_found(self, differences: Sequence[Difference]) -> None:
        left = list(differences)
        for one in self.found:
            wanted = one if isinstance(one, Found) else Found(one)
            met = next((difference for difference in left if wanted.is_met(difference)), None)
            assert met is not None, f"{one} is not among {_shown(left)}"
            left.remove(met)
        kinds = {difference.kind for difference in left}
        assert kinds == set(self.others), _shown(left)


def _verified(folder: Folder, spoilt: str) -> tuple[Difference, ...]:
    """What ``verify`` finds in the answers of the spoilt one's moment, without the story of the steps."""
    moment = spoilt.partition("-")[0]
    files = tuple(AnswerFile(name, data) for name, data in folder.files.items() if name.startswith(f"{moment}-"))
    return verify_answers(answers_of(FilesRead(files, (), ()), folder.name)).differences


def _shown(differences: Sequence[Difference]) -> str:
    first = (
        f"{one.kind}: {one.subject} ({one.moment}, {one.file}) {one.recorded[:200]} / {one.modelled[:200]}"
        for one in differences[:SHOWN]
    )
    return "\n".join((str(Counter(str(one.kind) for one in differences)), *first))


def table(*cases: Case) -> pytest.MarkDecorator:
    """One test for each case, named by its recording and what is found in it."""
    return pytest.mark.parametrize("case", [pytest.param(one, id=_label(one)) for one in cases])


def _label(case: Case) -> str:
    """Each process names a test alike: others are sorted."""
    kinds = [one.kind if isinstance(one, Found) else one for one in case.found]
    return f"{case.name}-{[*kinds, *sorted(case.others, key=str)][0].name.lower()}"
