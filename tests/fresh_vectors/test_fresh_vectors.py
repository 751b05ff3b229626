"""A short run; ``make fresh-vectors`` has the long one."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from engine.config import CURRENT
from tests.broker.jars import NoBrokerError
from tests.fresh_vectors.checking import check
from tests.fresh_vectors.families import families_of
from tests.fresh_vectors.inputs import fresh, seeds
from tests.fresh_vectors.pulsar import Pulsar
from tests.golden.harness import HERE as KEPT
from tests.golden.load_lines import judged_by

LINES = 12
pytestmark = pytest.mark.xdist_group("broker")


@pytest.fixture(scope="module")
def pulsar(tmp_path_factory: pytest.TempPathFactory) -> Pulsar:
    try:
        return Pulsar(tmp_path_factory.mktemp("classes"))
    except NoBrokerError as error:
        pytest.skip(f"no classes of Pulsar here: {error}")


def test_the_engine_answers_what_pulsars_own_classes_answer(pulsar: Pulsar) -> None:
    families = families_of(CURRENT)
    outcome = check(pulsar, families, LINES, seed=1)
    assert {family: result.lines for family, result in outcome.items()} == dict.fromkeys(families, LINES)
    assert {family: result.differing for family, result in outcome.items() if result.differing} == {}


def test_rules_of_another_release_are_noticed(pulsar: Pulsar) -> None:
    with judged_by(replace(CURRENT, load=replace(CURRENT.load, uniform_source="mixed", overload_usage="unweighted"))):
        outcome = check(pulsar, ("shed_uniform", "shed_overload"), 30, seed=1)
    assert all(result.differing for result in outcome.values())


def test_a_seed_draws_the_same_cases_and_most_are_new() -> None:
    kept = seeds(Path(KEPT))["shed_uniform"]
    once, again = (list(fresh(kept, 40, random.Random("3"))) for _ in range(2))
    assert once == again
    assert sum(case not in kept for case in once) > 30
