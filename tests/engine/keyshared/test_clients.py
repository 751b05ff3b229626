"""Ranges as client code: complete, and taken by that client's own checks."""

from __future__ import annotations

import ast
import re
from itertools import pairwise, product

import pytest

from engine.keyshared.clients import WIDTH_CHARS, ClientLanguage, policy_code
from engine.keyshared.consistent_sticky import node_ranges
from engine.ranges import HashRange
from tests.engine.keyshared.selectors import accepted


@pytest.mark.parametrize("language", ClientLanguage)
@pytest.mark.parametrize("node", range(4))
def test_every_range_stands_in_the_code_once_and_in_order(language: ClientLanguage, node: int) -> None:
    ranges = accepted(node_ranges(100, 4))[node]
    lines = policy_code(language, "it", ranges)
    numbers = [int(number) for number in re.findall(r"\d+", "\n".join(lines))]
    assert numbers == [bound for piece in ranges for bound in (piece.start, piece.end)]
    assert max(len(line.expandtabs(4)) for line in lines) <= WIDTH_CHARS


@pytest.mark.parametrize("language", ClientLanguage)
def test_each_row_of_ranges_holds_as_many_as_fit(language: ClientLanguage) -> None:
    """The first range of a row, with its comma, would not have fitted into the row before."""
    first = {ClientLanguage.JAVA: r"Range\.of\(\d+, \d+\)", ClientLanguage.PYTHON: r"\(\d+, \d+\)"}
    assert WIDTH_CHARS == 100
    for short, low, high in product(range(2, 34), range(5), range(5)):
        if low > high:
            continue
        ranges = [HashRange(0, 1)] * short + [HashRange(10**low, 10**high + 1)] * 3
        for narrow in (ranges, [*ranges, HashRange(5, 5)]) if language is ClientLanguage.GO else (ranges,):
            rows = [line for line in policy_code(language, "it", narrow) if re.search(r"\d+, \d+", line)]
            for row, following in pairwise(rows):
                match = re.match(first.get(language, r"\d+, \d+"), following.strip())
                assert match is not None and row.endswith(",")
                assert len(row.expandtabs(4)) <= WIDTH_CHARS < len(row.expandtabs(4)) + len(match[0]) + 2


def test_java_code_ends_without_a_comma() -> None:
    ranges = [HashRange(0, 1), HashRange(5, 9)]
    assert policy_code(ClientLanguage.JAVA, "it", ranges) == (
        "KeySharedPolicy it = KeySharedPolicy.stickyHashRange().ranges(",
        "        Range.of(0, 1), Range.of(5, 9));",
    )


def test_python_code_is_python() -> None:
    lines = policy_code(ClientLanguage.PYTHON, "policy", accepted(node_ranges(100, 4))[3])
    (statement,) = [each for each in ast.parse("\n".join(lines)).body if isinstance(each, ast.Assign)]
    assert [target.id for target in statement.targets if isinstance(target, ast.Name)] == ["policy"]
    assert isinstance(statement.value, ast.Call)


def test_go_code_goes_round_the_constructor_where_a_range_has_one_slot() -> None:
    wide = "\n".join(policy_code(ClientLanguage.GO, "it", [HashRange(0, 1), HashRange(5, 9)]))
    assert "NewKeySharedPolicySticky([]int{\n\t0, 1, 5, 9,\n})" in wide
    narrow = "\n".join(policy_code(ClientLanguage.GO, "it", [HashRange(0, 1), HashRange(5, 5)]))
    assert "pulsar.KeySharedPolicyModeSticky" in narrow
    assert "HashRanges: []int{\n\t\t0, 1, 5, 5,\n\t}," in narrow
    assert "pulsar.NewKeySharedPolicySticky(" not in narrow


@pytest.mark.parametrize("language", ClientLanguage)
def test_a_node_without_ranges_has_no_policy(language: ClientLanguage) -> None:
    """Every client refuses an empty list."""
    assert policy_code(language, "it", []) == ()
