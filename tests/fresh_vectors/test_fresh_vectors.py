"""A short run; ``make fresh-vectors`` has the long one."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.broker.releases import NoBrokerError, release
from tests.fresh_vectors.checking import check
from tests.fresh_vectors.families import families_of
from tests.fresh_vectors.inputs import fresh, seeds
from tests.fresh_vectors.pulsar import MisfitError, Pulsar
from tests.golden.harness import HERE as KEPT
from tests.golden.load_lines import judged_by
from tests.releases import known

LINES = 12
pytestmark = pytest.mark.xdist_group("broker")


@pytest.fixture(scope="module")
def pulsar(tmp_path_factory: pytest.TempPathFactory) -> Pulsar:
    try:
        return Pulsar(tmp_path_factory.mktemp("classes"))
    except NoBrokerError as error:
        pytest.skip(f"no classes of Pulsar here: {error}")


def test_the_engine_answers_what_pulsars_own_classes_answer(pulsar: Pulsar) -> None:
    behaviour = known(release().version)
    families = families_of(behaviour)
    with judged_by(behaviour):
        outcome = check(pulsar, families, LINES, 1, behaviour)
    assert {family: result.lines for family, result in outcome.items()} == dict.fromkeys(families, LINES)
    assert {family: result.differing for family, result in outcome.items() if result.differing} == {}


def test_rules_of_another_release_are_noticed(pulsar: Pulsar) -> None:
    behaviour = known(release().version)
    others = replace(behaviour.load, uniform_source="mixed", overload_usage="unweighted")
    with judged_by(replace(behaviour, load=others)):
        outcome = check(pulsar, ("shed_uniform", "shed_overload"), 30, 1, behaviour)
    assert all(result.differing for result in outcome.values())


MISFIT = {"RoundRobin": "final class RoundRobin { Gone gone; }"}


@pytest.mark.parametrize(
    ("version", "more", "lacking"),
    [("4.2.9", {}, {"round_robin"}), ("4.2.9", {"Json": "final class Json { Gone gone; }"}, None), (None, {}, None)],
    ids=["another release", "another release, what all need", "one with its own libraries"],
)
def test_sources_that_do_not_fit_leave_kinds_out_of_another_release_and_are_an_error_of_a_known_one(
    pulsar: Pulsar,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    version: str | None,
    more: dict[str, str],
    lacking: set[str] | None,
) -> None:
    monkeypatch.setattr("tests.fresh_vectors.pulsar.jars_of", lambda *_: tmp_path)
    sources, classes = tmp_path / "java", tmp_path / "classes"
    sources.mkdir()
    classes.mkdir()
    for name, text in {"Stand": "final class Stand {}", **MISFIT, **more}.items():
        (sources / f"{name}.java").write_text(text)
    if lacking is None:
        with pytest.raises(MisfitError, match="Gone"):
            Pulsar(classes, version, sources)
    else:
        assert Pulsar(classes, version, sources).lacking == lacking
        assert (classes / "Stand.class").is_file()


def test_a_seed_draws_the_same_cases_and_most_are_new() -> None:
    kept = seeds(Path(KEPT))["shed_uniform"]
    once, again = (list(fresh(kept, 40, random.Random("3"), average_alone=True)) for _ in range(2))
    assert once == again
    assert sum(case not in kept for case in once) > 30
