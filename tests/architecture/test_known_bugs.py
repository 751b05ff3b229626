"""Ids of known bugs in names of tests are listed in ``tests/known_pulsar_bugs.md``, and files named there have them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "tests" / "known_pulsar_bugs.md"
TEST_NAME = re.compile(r"^[ ]*(?:async )?def test_(\w+)", re.MULTILINE)
ENTRY = re.compile(r"^(?:### ([A-Z]\d*):|\| (L\d) \|)", re.MULTILINE)
HEADING = re.compile(r"^#", re.MULTILINE)
FILE = re.compile(r"`(tests/[\w/.]+\.py)`")
BUG_PATTERN = re.compile(r"bug patterns? ([A-Z]-?\d+(?:, [A-Z]-?\d+)*)", re.IGNORECASE)


def ids_of_name(name: str) -> list[str]:
    """The ids in the name of a test, without ``test_``: letters with a number, or a ``P`` at the beginning."""
    parts = name.split("_")
    return [part for at, part in enumerate(parts) if re.fullmatch(r"[A-Z]\d{1,2}", part) or (at == 0 and part == "P")]


def entries_of(page: str) -> dict[str, list[str]]:
    """The files of each entry by id; an entry is a section with an id in its heading, or a row of the table of laws."""
    entries = {}
    for entry in ENTRY.finditer(page):
        is_law = entry[2] is not None
        end = page.find("\n", entry.end()) if is_law else _next_heading(page, entry.end())
        entries[entry[2] if is_law else entry[1]] = FILE.findall(page[entry.end() : end])
    return entries


def _next_heading(page: str, start: int) -> int:
    heading = HEADING.search(page, start)
    return heading.start() if heading else len(page)


def disagreements(page: str, sources: Mapping[str, str]) -> list[str]:
    """What the page and the sources of tests, by path, do not agree on."""
    entries = entries_of(page)
    used = {
        (bug_id, path)
        for path, source in sources.items()
        for name in TEST_NAME.findall(source)
        for bug_id in ids_of_name(name)
    }
    unlisted = [f"{path} has {bug_id}, which is not listed" for bug_id, path in used if bug_id not in entries]
    without_files = [f"{bug_id} names no file" for bug_id, paths in entries.items() if not paths]
    stale = [
        f"{bug_id} names {path}, which " + ("does not have it" if path in sources else "does not exist")
        for bug_id, paths in entries.items()
        for path in paths
        if (bug_id, path) not in used and not _mentions(sources.get(path, ""), bug_id)
    ]
    return sorted([*unlisted, *without_files, *stale])


def _mentions(source: str, bug_id: str) -> bool:
    """Whether a comment or a docstring has the id; a bare P is a mention of nothing."""
    return bug_id != "P" and re.search(rf"\b{bug_id}\b", source) is not None


def test_the_page_lists_every_id_and_its_files_have_them() -> None:
    sources = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if path != Path(__file__)
    }
    assert disagreements(PAGE.read_text(encoding="utf-8"), sources) == []


@pytest.mark.parametrize("package", ["engine", "tui", "pipeline"])
def test_every_bug_pattern_that_a_docstring_refers_to_is_listed(package: str) -> None:
    entries = entries_of(PAGE.read_text(encoding="utf-8"))
    unlisted = [
        f"{path.relative_to(ROOT)}: {bug_id}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for ids in BUG_PATTERN.findall(path.read_text(encoding="utf-8"))
        for bug_id in ids.split(", ")
        if bug_id not in entries
    ]
    assert unlisted == []


SMALL_PAGE = """\
| law | tests |
|---|---|
| L2 | `tests/laws.py` |

### F09: names

- Files: `tests/ring.py`, `tests/comment.py`

## Others

### P: points

- Files: `tests/ring.py`
"""
SMALL_TESTS = {
    "tests/laws.py": "async def test_L2_only_the_mover() -> None: ...",
    "tests/ring.py": "class TestRing:\n    def test_F09_names(self): ...\ndef test_P_F09_points(): ...",
    "tests/comment.py": "# F09 in words only",
}


def test_a_page_that_agrees_has_nothing_to_report() -> None:
    assert entries_of(SMALL_PAGE) == {
        "L2": ["tests/laws.py"],
        "F09": ["tests/ring.py", "tests/comment.py"],
        "P": ["tests/ring.py"],
    }
    assert disagreements(SMALL_PAGE, SMALL_TESTS) == []


@pytest.mark.parametrize(
    ("old", "new", "reported"),
    [
        ("### F09:", "### F9:", "tests/ring.py has F09, which is not listed"),
        ("| L2 |", "| laws |", "tests/laws.py has L2, which is not listed"),
        ("tests/comment.py", "tests/gone.py", "F09 names tests/gone.py, which does not exist"),
        ("tests/laws.py", "tests/comment.py", "L2 names tests/comment.py, which does not have it"),
        ("- Files: `tests/ring.py`\n", "", "P names no file"),
    ],
)
def test_a_page_that_was_spoilt_is_reported(old: str, new: str, reported: str) -> None:
    assert SMALL_PAGE.count(old) == 1
    assert reported in disagreements(SMALL_PAGE.replace(old, new), SMALL_TESTS)


@pytest.mark.parametrize(
    ("path", "source", "reported"),
    [
        ("tests/new.py", "def test_K03_K99_twins(): ...", "tests/new.py has K03, which is not listed"),
        ("tests/new.py", "def test_F9_names(): ...", "tests/new.py has F9, which is not listed"),
        ("tests/laws.py", "def test_only_the_mover(): ...", "L2 names tests/laws.py, which does not have it"),
    ],
)
def test_tests_that_were_changed_are_reported(path: str, source: str, reported: str) -> None:
    assert reported in disagreements(SMALL_PAGE, {**SMALL_TESTS, path: source})
