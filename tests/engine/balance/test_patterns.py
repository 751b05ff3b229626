"""Regular expressions from outside end soon, and those that brokers have are tried."""

from __future__ import annotations

import re
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.admin.shed_inputs import read_shed_inputs
from engine.balance.filters import MAX_REPETITIONS, IsolationPolicy, is_isolated, pattern_problem
from tests.engine.scenarios.recordings import RECORDINGS

REPORT = RECORDINGS / "g-shed-modular-uniform" / "05-load-report-a.json.gz"


@pytest.mark.parametrize(
    "pattern",
    [
        "broker-1.example.org", ".*", "shop/.*", r"b-\d+\.org", "(b-1|b-2).*", "[a-z+*|]{3}", "(?:a+)?b", r"\(a+\)+",
        "[]+]+", "a{1,3}", "x+?y", "(?i)Shop/.*", r"[\]|(]+", "(a)(b)(c)",
        "(ab)+", "{a}", "x" * 1000, "a*" * MAX_REPETITIONS,
    ],
)  # fmt: skip
def test_what_operators_write_is_tried(pattern: str) -> None:
    assert pattern_problem(pattern) is None


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$", "(a*)*b", "((ab)*c)*", "(a|aa)+$", "(a{2,3}){4}", "(.*)(.*)+x", "(a?a?)*$", r"(a)\1", r"\\(a+)+",
        "(?P<n>a)(?P=n)", "a*" * (MAX_REPETITIONS + 1), "[", "x" * 1001, "(?:(?:a|b)+c)*",
        "((a+)(c))*", "((a+))*",
    ],
)  # fmt: skip
def test_what_may_never_end_is_not_tried(pattern: str) -> None:
    assert pattern_problem(pattern) is not None
    assert not is_isolated("a" * 40, (IsolationPolicy((pattern,), ()),))


def test_what_a_later_python_may_read_otherwise_is_nobodys_concern() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pattern_problem("[[a]") is None


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from(r"ab()[]*+?{}|\.,1^$-"), max_size=14))
def test_any_pattern_that_is_tried_ends(pattern: str) -> None:
    """Thirty equal letters are enough for the slow ones to run for hours."""
    if pattern_problem(pattern) is None:
        with cpu_seconds(5):
            re.compile(pattern).fullmatch("a" * 30 + "!")


def test_a_pattern_that_runs_for_hours_is_noticed() -> None:
    with pytest.raises(TimeoutError), cpu_seconds(0.05):
        re.compile("(a+)+$").fullmatch("a" * 30 + "!")


@contextmanager
def cpu_seconds(most: float) -> Iterator[None]:
    """Raise ``TimeoutError`` in what takes more time of the processor; ``re`` listens to signals on its way."""

    def stop(*_: object) -> NoReturn:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, most)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def test_a_policy_with_such_a_pattern_is_left_out_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "load-report.json.gz").write_bytes(REPORT.read_bytes())
    limits = {"policy_type": "min_available", "parameters": {"min_limit": "1", "usage_threshold": "80"}}
    policies = {
        "good": {"namespaces": ["ring/.*"], "primary": ["127.*"], "secondary": [], "auto_failover_policy": limits},
        "slow": {"namespaces": ["a/b"], "primary": ["x", "(a+)+$"], "secondary": [], "auto_failover_policy": limits},
    }
    (tmp_path / "namespaceIsolationPolicies.json").write_bytes(msgspec.json.encode(policies))
    inputs = read_shed_inputs(tmp_path)
    assert inputs.policies is not None
    assert inputs.policies.isolation == (IsolationPolicy(("ring/.*",), ("127.*",), (), 1),)
    (problem,) = inputs.problems
    assert problem.path == "$.slow.primary[1]"
