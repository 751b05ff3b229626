"""The mutants themselves: which changes are made, and what is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutants import equivalents
from tests.mutants.rooms import ROOMS, ROOT
from tests.mutants.sites import Mutant, mutants_of


def mutants(folder: Path, text: str) -> list[Mutant]:
    path = folder / "rule.py"
    path.write_text(text, encoding="utf-8")
    return mutants_of(path)


@pytest.mark.parametrize(
    ("line", "others"),
    [
        ("return a <= b", {"return a < b"}),
        ("return a * b", {"return a / b", "return a + b"}),
        ("return a or b", {"return a and b"}),
        ("return f(a, limit=b)", {"return f(a, )"}),
        ("return min(a, b)", {"return max(a, b)"}),
        (
            "return a if b else 1",
            {"return a if (b) and False else 1", "return a if (b) or True else 1", "return a if b else 2"},
        ),
        ("a.append(b)", {"pass"}),
    ],
)
def test_one_line_is_changed_in_one_way_at_a_time(tmp_path: Path, line: str, others: set[str]) -> None:
    result = mutants(tmp_path, f"def rule(a, b):\n    {line}\n")
    assert {mutant.after for mutant in result} == others
    assert {(mutant.function, mutant.line, mutant.before, mutant.outer) for mutant in result} == {
        ("rule", 2, line, "rule")
    }


def test_a_condition_without_an_operator_is_negated(tmp_path: Path) -> None:
    (mutant,) = mutants(tmp_path, "def rule(a):\n    if a:\n        return a\n")
    assert mutant.after == "if not (a):"


@pytest.mark.parametrize(
    "text",
    [
        '"""Docs of 3 lines."""\n',
        "def rule(a):\n    return f'{a + 1} of {len(a) - 1}'\n",
        "def rule(a):\n    assert a > 0, 'not positive'\n",
        "def rule(a: int | None) -> list[int]: ...\n",
        "def rule(a):\n    return 'one' if a == 1 else f'{a} of them'\n",
        "def rule(a):\n    a.setflags(write=False)\n",
        "Number = int | float\n",
        "def rule(a):\n    return zip(a, strict=True)\n",
    ],
)
def test_texts_assertions_and_annotations_are_left_alone(tmp_path: Path, text: str) -> None:
    assert mutants(tmp_path, text) == []


def test_what_takes_effect_on_import_is_known(tmp_path: Path) -> None:
    text = "LIMIT = 3\n\n\nclass Rule:\n    size: int = 4\n\n    def check(self, a=5):\n        return a < 6\n"
    places = {mutant.line: (mutant.function, mutant.outer) for mutant in mutants(tmp_path, text)}
    assert places[1] == ("", None)
    assert places[5] == ("Rule", None)
    assert places[7] == ("Rule.check", None)
    assert places[8] == ("Rule.check", "Rule.check")


def test_a_default_of_a_class_behind_a_private_constant_is_not_private(tmp_path: Path) -> None:
    result = mutants(tmp_path, "_LIMIT = 3\n\n\nclass Rule:\n    size: int = 4\n")
    assert {mutant.line: bool(mutant.lines) for mutant in result} == {1: True, 5: False}


def test_an_entry_that_matches_no_mutant_is_found(tmp_path: Path) -> None:
    result = mutants(tmp_path, "def rule(a, b):\n    return a <= b\n")
    assert equivalents.stale([result[0].key], result) == []
    gone = ("rule.py", "rule", "return a >= b", "return a > b")
    assert equivalents.stale([gone], result) == [gone]
    path = tmp_path / "equivalent.toml"
    path.write_text(equivalents.as_entry(result[0]).replace('why = ""', "why = 'never equal'"), encoding="utf-8")
    assert equivalents.read(path) == {result[0].key: "never equal"}


def test_every_named_equivalent_is_a_mutant_of_today() -> None:
    named = equivalents.read()
    functions: dict[str, set[str]] = {}
    for file, function, *_ in named:
        functions.setdefault(file, set()).add(function)
    today = {mutant.key for file, names in functions.items() for mutant in mutants_of(ROOT / file, names)}
    assert set(named) <= today


def test_every_rule_of_the_two_floors_and_every_decider_is_in_one_room() -> None:
    paths = [path for room in ROOMS.values() for path in room.paths()]
    assert len(paths) == len(set(paths))
    rules = {"engine", "failover", "keyshared", "routing", "scalable", "bundles", "balance"}
    below = {"placement", "shedding", "leadership", "splitting", "ahead", "causes"}
    assert {path.parent.name for path in paths} == rules | below | {"diagnosis"}
