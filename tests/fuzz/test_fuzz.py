"""A short run with a fixed seed, and proof that the fuzzer finds, shrinks and keeps what is planted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Final

import pytest

from tests.fuzz.__main__ import AT_ONCE
from tests.fuzz.campaign import Bench, Failure, bench, drawn, keep
from tests.fuzz.case import RECORDINGS, Case, Lines, of_bytes, sealed
from tests.fuzz.corpus import WEIGHTS, seeds
from tests.fuzz.mutate import mutated
from tests.fuzz.shrink import shrunk
from tests.fuzz.tree import Literal, Members, edited, parsed, paths, replaced, written

INPUTS = 150
SEED = 1
pytestmark = pytest.mark.xdist_group("fuzz")


@pytest.fixture(scope="module")
def place() -> Iterator[Bench]:
    with bench() as result:
        yield result


def test_a_short_run_finds_nothing(place: Bench) -> None:
    batches = [[drawn(SEED, number) for number in range(at, at + AT_ONCE)] for at in range(0, INPUTS, AT_ONCE)]
    failures = [failure for batch in batches for failure in place.failures(batch) if failure is not None]
    assert not failures, "\n".join(f"{' '.join(failure.form)}: {failure.fault}" for failure in failures)
    assert place.runs >= INPUTS


def test_inputs_are_the_same_for_the_same_numbers_and_of_every_kind() -> None:
    assert all(drawn(SEED, at)[0].content() == drawn(SEED, at)[0].content() for at in range(20))
    assert {drawn(SEED, at)[0].kind for at in range(200)} == set(WEIGHTS)


@pytest.mark.parametrize("kind", WEIGHTS)
def test_real_input_is_read_without_a_fault(place: Bench, kind: str) -> None:
    """What is mutated begins sound: a fault is one of what was changed."""
    from tests.hostile.readers import KINDS

    real = [case for case in seeds(kind) if not case.name.startswith("found-")]
    assert len(real) > 3
    for case in Random(kind).sample(real, 3):
        assert place.failure(case, KINDS[kind][:1]) is None, case.name


@pytest.mark.parametrize("kind", WEIGHTS)
def test_whatever_begins_a_case_can_be_changed(kind: str) -> None:
    random = Random(kind)
    for case in seeds(kind):
        for _ in range(10):
            mutated(random, case).content()


_PLANTED: Final = rb'"msgRateIn":(214748364|429496729|1000000000000)'


def test_a_planted_bug_is_found_shrunk_and_kept(tmp_path: Path) -> None:
    """High rates are planted as a bug: some mutation finds it, and little of a recording is left."""
    failure: Failure | None = None
    with bench("tests.hostile.planted:billions_of_messages") as place:
        for number in range(2_000):
            case, _ = drawn(3, number, ("answers",))
            if len(case.content()) <= 250 or not re.search(_PLANTED, case.content()):
                continue
            failure = place.failure(case, (("{}", "--once"),))
            if failure is not None:
                break
        assert failure is not None and failure.sort == "keyerror"
        small = place.smallest(failure)
    kept = keep(small, tmp_path)
    assert kept.parent == tmp_path / "answers" and kept.name.startswith("found-keyerror-")
    assert len(kept.read_bytes()) < 250 < len(failure.case.content())
    assert b"msgRateIn" in kept.read_bytes()
    json.loads(kept.read_bytes())


def test_a_planted_bug_in_journals_is_found(tmp_path: Path) -> None:
    """The check sum fits after every change, so that changes get as far as the events."""
    with bench("tests.hostile.planted:negative_consumer_ids") as place:
        result = None
        for number in range(2_000):
            case, _ = drawn(3, number, ("journals",))
            if b'"consumer_id":-' in case.content():
                result = place.failure(case, (("replay", "{}", "--once"),))
            if result is not None:
                break
        assert result is not None and result.sort == "zerodivisionerror"


def test_shrinking_leaves_what_makes_it_fail() -> None:
    case = of_bytes("answers", "x.json", json.dumps({"a": [1, 2, {"b": "x" * 1000, "c": [[7, -5]]}], "d": {}}).encode())
    small = shrunk(case, lambda each: b"-5" in each.content())
    assert b"-5" in small.content() and len(small.content()) <= 10
    lines = Case("scripts", "x", Lines([b"one\n", b"two bad words\n", b"three\n"]))
    assert shrunk(lines, lambda each: b"bad" in each.content()).content() == b"bad"
    folder = replace(case, kind=RECORDINGS, others={"one": b"1", "two": b"2"})
    assert set(shrunk(folder, lambda each: "two" in each.others).others) == {"two"}


def test_trees_hold_what_json_may_not() -> None:
    text = '{"a":1e400,"a":[NaN,"\\ud800"],"b":{}}'
    tree = parsed(text)
    assert written(tree) == text
    assert len(paths(tree)) == 6
    assert written(replaced(tree, (1, 0), Literal("007"))) == text.replace("NaN", "007")
    assert written(edited(tree, (0,))) == text.replace('"a":1e400,', "")
    assert isinstance(edited(tree, (0,)), Members)


def test_lines_of_journals_are_sealed_again() -> None:
    case = next(seed for seed in seeds("journals") if seed.name == "pip392.journal")
    assert isinstance(case.body, Lines) and all(isinstance(line, Members) for line in case.body)
    again = of_bytes("journals", "x.journal", case.content())
    assert again.content() == case.content()
    assert sealed(case.body[0]) == case.content().splitlines(keepends=True)[0]


def test_most_changes_change_something() -> None:
    random = Random(5)
    case = seeds("answers")[0]
    assert sum(mutated(random, case).content() != case.content() for _ in range(100)) > 80
