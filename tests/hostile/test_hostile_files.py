"""Every hostile file, through the commands that read such a thing, in a process with limits."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile.judging import faults
from tests.hostile.limited import UNEXPECTED, Ended, Job, Limited, limited
from tests.hostile.readers import KINDS

HERE = Path(__file__).parent
COMMANDS_OF_A_FILE = 4
FILES_AT_ONCE = 25


def files_of(kind: str) -> list[Path]:
    return sorted(path for path in (HERE / kind).iterdir() if not path.name.startswith("."))


def commands_for(path: Path, kind: str) -> tuple[tuple[str, ...], ...]:
    """Four of the commands that read a kind of file, others for each file, and the first one for all."""
    forms = KINDS[kind]
    start = zlib.crc32(path.name.encode()) % len(forms)
    chosen = dict.fromkeys([forms[0], *(forms[(start + at) % len(forms)] for at in range(COMMANDS_OF_A_FILE - 1))])
    return tuple(tuple(word.replace("{}", str(path)) for word in form) for form in chosen)


@pytest.fixture(scope="module")
def runner() -> Iterator[Limited]:
    with limited() as running:
        yield running


GROUPS = [
    pytest.param(kind, files[at : at + FILES_AT_ONCE], id=f"{kind} {files[at].name}")
    for kind in KINDS
    if (HERE / kind).is_dir()
    for files in [files_of(kind)]
    for at in range(0, len(files), FILES_AT_ONCE)
]


@pytest.mark.xdist_group("hostile")
@pytest.mark.parametrize(("kind", "paths"), GROUPS)
def test_every_file_ends_in_a_sentence(runner: Limited, tmp_path: Path, kind: str, paths: list[Path]) -> None:
    result: list[str] = []
    for path in paths:
        commands = commands_for(path, kind)
        stdin = str(path) if path.is_file() else "/dev/null"
        ended = runner.run(Job(commands, str(tmp_path), stdin))
        for words, each in zip(commands, ended, strict=False):
            result += [f"{' '.join(words)}: {fault}" for fault in faults(words, each, path, kind)]
    assert not result, "\n".join(result)


BROKEN = {
    "internal": Ended(1, 0, "", "ringside: unexpected KeyError: 'x' (this is a fault of ringside"),
    "traceback": Ended(UNEXPECTED, 0, "", "Traceback (most recent call last):\nKeyError: 'x'"),
    "time": Ended(-1, 24, "", ""),
    "no word": Ended(2, 0, "", ""),
    "no name": Ended(2, 0, "", "ringside: something is wrong"),
    "no place": Ended(2, 0, "", "ringside: torn.json is wrong"),
    "code": Ended(1, 0, "fine", ""),
    "escape": Ended(0, 0, "name \x1b[2J", ""),
    "bidi": Ended(0, 0, "name \u202e", ""),
    "long": Ended(0, 0, "", "ringside: torn.json" + "x" * 10_000),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_wrong_is_noticed(name: str) -> None:
    assert faults(("torn.json", "--once"), BROKEN[name], HERE / "answers" / "torn.json", "answers")


def test_what_is_right_is_not_a_fault() -> None:
    path = HERE / "answers" / "torn.json"
    right = Ended(2, 0, "", "ringside: torn.json:1:5: is not JSON")
    assert faults(("torn.json", "--once"), right, path, "answers") == []
    assert faults(("lint", "torn.json"), Ended(1, 0, "a finding", ""), path, "answers") == []
    assert faults(("torn.json", "--json"), Ended(0, 0, "{", ""), path, "answers")


def test_the_limits_hold(runner: Limited, tmp_path: Path) -> None:
    """Memory that is asked for beyond the limit is not given, and time beyond it ends the child."""
    (spent,) = runner.run(Job((("--once",),), str(tmp_path), plant="tests.hostile.planted:endless_loop", cpu_s=1))
    assert (spent.code, spent.signal) == (-1, 24)
    (full,) = runner.run(Job((("--once",),), str(tmp_path), plant="tests.hostile.planted:two_gigabytes"))
    assert full.code == UNEXPECTED and "MemoryError" in full.err
    (fine,) = runner.run(Job((("--once", "--no-journal"),), str(tmp_path)))
    assert fine.code == 0
