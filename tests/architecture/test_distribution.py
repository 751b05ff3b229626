"""Tests of a group or of a file are in one worker, and the groups that take longest begin."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.distribution import LONGEST, FilesAndGroups, _turn

HERE = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("nodeid", "scope"),
    [
        ("tests/tui/test_sizes.py::test_a[80-24]", "tests/tui/test_sizes.py"),
        ("tests/tui/test_sizes.py::TestOfIt::test_a", "tests/tui/test_sizes.py"),
        ("tests/tui/test_sizes.py::test_a[x@y]", "tests/tui/test_sizes.py"),
        ("tests/pipeline/test_keys.py::test_a[80-24]@spark", "spark"),
        ("engine/names.py::engine.names.partitioned_name", "engine/names.py"),
    ],
)
def test_a_file_or_a_group_is_in_one_worker(nodeid: str, scope: str) -> None:
    assert FilesAndGroups._split_scope(FilesAndGroups.__new__(FilesAndGroups), nodeid) == scope


@pytest.mark.parametrize("group", LONGEST)
def test_every_group_that_begins_is_one_of_some_tests(group: str) -> None:
    marked = f'xdist_group("{group}")'
    assert any(marked in path.read_text() for path in HERE.rglob("*.py") if path != Path(__file__))


def test_groups_begin_and_single_tests_end(request: pytest.FixtureRequest) -> None:
    item = request.node
    turns = [_turn(item)]
    for group in ("imports", *reversed(LONGEST)):
        item.add_marker(pytest.mark.xdist_group(group), append=False)
        turns.append(_turn(item))
    assert turns == sorted(turns, reverse=True) and len(set(turns)) == len(turns)
