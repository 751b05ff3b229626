"""The conditions under which a finished run fails: findings, unevenness, disagreement, quarantined records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from engine.errors import InputError
from engine.views.fleet.conditions import Figures, conditions_of, failures_of, figures_of_result


@dataclass(frozen=True)
class Result:
    job: str
    summary: Mapping[str, object]


@pytest.mark.parametrize(
    ("found", "fail_on", "expected"),
    [({"info": 9}, "info", True), ({"info": 9}, "warning", False), ({"error": 1}, "info", True),
     ({"error": 1}, None, False), ({}, "info", False)],
)  # fmt: skip
def test_a_run_fails_on_what_its_lint_found_and_only_when_asked(
    found: dict[str, int], fail_on: str | None, expected: bool
) -> None:
    conditions = conditions_of("run", [fail_on] if fail_on else [])
    assert (
        bool(failures_of(figures_of_result(Result("run", {"jobs": {"lint": {"severities": found}}})), conditions))
        is expected
    )
    assert bool(failures_of(figures_of_result(Result("lint", {"severities": found})), conditions)) is expected
    assert failures_of(figures_of_result(Result("import", {"job": "import"})), conditions) == []


@pytest.mark.parametrize(
    ("text", "met"),
    [("busiest_over_average>2.4", True), ("busiest_over_average>2.5", False), ("idle>2", True), ("idle>3", False),
     ("disagreement>0", True), ("disagreement>1", False), ("quarantined>4", True), ("quarantined>5", False),
     ("quarantined>9.9%", True), ("quarantined>10%", False)],
)  # fmt: skip
def test_a_run_fails_where_a_number_is_above_its_limit(text: str, met: bool) -> None:
    now = {"idle": 3, "worst_busiest_over_average": 2.5}
    assign = {"now": now, "agreement": {"reported": 7, "agreeing": 6}}
    jobs = {"assign": assign, "import": {"problem_rows": 5, "rows_in": {"topics": 20, "subscriptions": 30}}}
    conditions = conditions_of("run", [text])
    assert bool(failures_of(figures_of_result(Result("run", {"jobs": jobs})), conditions)) is met
    alone = "import" if text.startswith("quarantined") else "assign"
    assert bool(failures_of(figures_of_result(Result(alone, jobs[alone])), conditions)) is met


@pytest.mark.parametrize(
    ("job", "text"),
    [("run", "idle"), ("run", "idle>-1"), ("run", "idle>1%"), ("run", "luck>1"), ("lint", "idle>0"), ("run", "bad"),
     ("import", "disagreement>0"), ("assign", "warning")],
)  # fmt: skip
def test_a_condition_that_means_nothing_is_refused(job: str, text: str) -> None:
    with pytest.raises(InputError):
        conditions_of(job, [text])


def test_a_share_of_nothing_is_not_above_any_limit() -> None:
    (condition,) = conditions_of("report", ["quarantined>0%"])
    assert not condition.is_met(Figures({}, {"quarantined": 0.0}))
    assert condition.value(Figures({}, {})) is None


def test_a_job_that_failed_makes_the_run_a_failure() -> None:
    result = Result("run", {"jobs": {}, "failed": {"lint": "no memory"}})
    assert failures_of(figures_of_result(result), ()) == ["the job lint failed: no memory"]
