"""The doctor on plain lists of names and on plans of sticky ranges."""

from __future__ import annotations

from engine.lint import Severity, lint_names
from tests.engine.lint.worlds import world

NOW = world()


def test_names_that_do_not_meet_have_no_finding() -> None:
    assert lint_names([f"c-{at:02}" for at in range(40)], NOW) == ()
    assert lint_names(["a"], NOW) == lint_names([], NOW) == ()


def test_F09_F10_names_are_judged_as_on_the_ring_since_topics_without_partitions_are_there_already() -> None:
    findings = lint_names(["c-1", "c-11", "d", "d"], NOW)
    reported = [(finding.rule, finding.severity, finding.where.consumer) for finding in findings]
    assert reported == [
        ("failover-duplicate-names", Severity.ERROR, "d"),
        ("failover-names-collide", Severity.WARNING, "c-1"),
        ("key-duplicate-names", Severity.INFO, "d"),
    ]
    old = {
        finding.severity
        for finding in lint_names(["c-1", "c-11"], world("2.11.0"))
        if finding.rule.startswith("failover")
    }
    assert old == {Severity.INFO}, "2.11 has a ring for no topic"


def test_K13_a_thousand_names_are_too_many_for_one_ring_and_do_not_collide_when_padded() -> None:
    findings = lint_names([f"c-{at:04}" for at in range(1000)], NOW)
    assert [finding.rule for finding in findings] == ["key-points-lost"]


def test_K10_K11_a_plan_of_sticky_ranges_tells_who_is_refused_and_what_stays_without_owner() -> None:
    plan = {"a": ((0, 20_000),), "b": ((20_000, 40_000),), "c": ((40_001, 65_535),)}
    findings = lint_names(list(plan), NOW, declared=list(plan.values()))
    reported = {finding.rule: (finding.where.consumer, finding.number("slots")) for finding in findings}
    # b is refused for one slot, so all it would have had has no owner.
    assert reported == {"key-overlaps": ("b", 1), "key-gaps": ("", 20_000)}
    mended = [((0, 20_000),), ((20_001, 40_000),), ((40_001, 65_535),)]
    assert lint_names(list(plan), NOW, declared=mended) == ()


def test_K10_a_plan_with_a_consumer_that_declares_nothing_is_no_plan() -> None:
    findings = lint_names(["a", "b"], NOW, declared=[((0, 65_535),), None])
    assert [(finding.rule, finding.where.consumer) for finding in findings] == [("key-overlaps", "b")]


def test_a_bandwidth_limit_of_all_brokers_is_reported_with_names_too() -> None:
    assert [
        finding.rule for finding in lint_names(["a"], world(loadBalancerNamespaceBundleMaxBandwidthMbytes=4096))
    ] == ["bandwidth-limit-overflow"]
