"""A word that a job does not know is refused before Spark starts, with what it may be meant to be."""

from __future__ import annotations

import pytest

from engine.errors import InputError
from pipeline.jobs import MODULES, assigning, keys, linting
from pipeline.jobs.everything import settings_by_job
from pipeline.jobs.options import IN_RUN, OWN, check_options, known_to
from pipeline.jobs.result import JobResult, fails


@pytest.mark.parametrize(
    ("job", "name", "hint"),
    [
        ("import", "colour", "it knows max-input, and spark.*"),
        ("import", "sprak.driver.memory", "did you mean spark.driver.memory?"),
        ("assign", "polices", "did you mean policies?"),
        ("assign", "subscriptionKeySharedUseConsistentHashing", "it knows policies, add, kill"),
        ("lint", "loadBalancerNamespaceBundleMaxTopic", "did you mean loadBalancerNamespaceBundleMaxTopics"),
        ("run", "policies", "did you mean assign.policies?"),
        ("run", "asign.add", "did you mean assign.add"),
        ("run", "kill", "did you mean assign.kill?"),
        ("watch", "evry", "did you mean every?"),
        ("report", "x", "it knows top, and spark.*"),
    ],
)
def test_a_misspelt_option_is_refused_with_a_near_one(job: str, name: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        check_options(job, [name])
    assert f"{job} knows no option {name!r}" in str(caught.value)
    assert hint in str(caught.value)


@pytest.mark.parametrize("job", MODULES)
def test_everything_a_job_says_it_knows_is_let_through(job: str) -> None:
    check_options(job, [*known_to(job), "spark.driver.memory"])


def test_jobs_read_the_options_that_are_declared() -> None:
    assert OWN.keys() | {"run"} == MODULES.keys()
    for job, module in (("assign", assigning), ("keys", keys), ("lint", linting)):
        assert OWN[job] == module.KNOWN
    for job in IN_RUN:
        for name in known_to(job):
            assert settings_by_job({f"{job}.{name}": "x"})[job] == {name: "x"}


@pytest.mark.parametrize(
    ("found", "fail_on", "wanted"),
    [({"info": 9}, "info", True), ({"info": 9}, "warning", False), ({"error": 1}, "info", True),
     ({"error": 1}, None, False), ({}, "info", False)],
)  # fmt: skip
def test_a_run_fails_on_what_its_lint_found_and_only_when_asked(
    found: dict[str, int], fail_on: str | None, wanted: bool
) -> None:
    assert fails(JobResult("run", {"job": "run", "jobs": {"lint": {"severities": found}}}), fail_on) is wanted
    assert fails(JobResult("lint", {"severities": found}), fail_on) is wanted
    assert fails(JobResult("import", {"job": "import"}), fail_on) is False
