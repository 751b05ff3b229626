"""Each rule of load management changes in the release in which the published sources, or a thread, have it changed."""

from __future__ import annotations

import pytest
from msgspec.structs import fields, replace

from engine.load_rules import CURRENT_LOAD_RULES, LoadRules, load_rules
from engine.releases import Release

Version = tuple[int, int, int]

CHANGES: dict[str, list[tuple[Version, object]]] = {
    "overload_usage": [((2, 10, 0), "unweighted"), ((4, 0, 0), "weighted")],
    "heap_memory_counts": [((2, 10, 0), True), ((3, 0, 0), False)],
    "forgets_brokers": [((2, 10, 0), False), ((3, 0, 0), True)],
    # 21016: in 2.11.3, 3.0.2 and 3.1.1
    "uniform_source": [
        ((2, 10, 0), "mixed"),
        ((2, 11, 3), "separate"),
        ((3, 0, 0), "mixed"),
        ((3, 0, 2), "separate"),
        ((3, 1, 0), "mixed"),
        ((3, 1, 1), "separate"),
    ],
    "uniform_slack": [((2, 10, 0), 1000), ((4, 2, 0), 0)],
    "uniform_bytes_slack": [
        ((2, 10, 0), 1000),
        ((2, 11, 0), 0),
        ((2, 11, 3), 1000),
        ((3, 0, 0), 0),
        ((3, 0, 2), 1000),
        ((3, 1, 0), 0),
        ((3, 1, 1), 1000),
        ((4, 2, 0), 0),
    ],
    # 22949: in 3.0.6, 3.2.4 and 3.3.1; 23156 let it be configured
    "avg_shedder": [
        ((2, 10, 0), "absent"),
        ((3, 0, 6), "not-configurable"),
        ((3, 0, 8), "present"),
        ((3, 1, 0), "absent"),
        ((3, 2, 4), "not-configurable"),
        ((3, 3, 0), "absent"),
        ((3, 3, 1), "not-configurable"),
        ((3, 3, 3), "present"),
    ],
    # 26246: in 4.0.14 and 4.2.5
    "avg_destinations": [
        ((2, 10, 0), "bundle"),
        ((4, 0, 0), "bundle-numbers"),
        ((4, 0, 14), "attempt"),
        ((4, 1, 0), "bundle-numbers"),
        ((4, 2, 5), "attempt"),
    ],
    "avg_placement_alone": [((2, 10, 0), "refused"), ((5, 0, 0), "replaced")],
    "isolation_by_port": [((2, 10, 0), False), ((5, 0, 0), True)],
    "version_library": [((2, 10, 0), "0.9"), ((5, 0, 0), "0.10")],
    "roomy_sets": [((2, 10, 0), True), ((5, 0, 0), False)],
    "avg_scores_whole": [((2, 10, 0), True), ((4, 0, 8), False), ((4, 1, 0), True), ((4, 1, 2), False)],
    "restarts_idle_average": [((2, 10, 0), False), ((3, 0, 0), True)],
    "round_robin": [((2, 10, 0), False), ((3, 0, 0), True)],
    "chooses_destination": [((2, 10, 0), False), ((3, 0, 0), True)],
    "system_namespace_shed": [((2, 10, 0), False), ((3, 0, 0), True)],
    "excluded_namespaces": [((2, 10, 0), False), ((4, 2, 0), True)],
    # 19420: in 2.10.4 and 2.11.1
    "placements_kept": [
        ((2, 10, 0), "until-one-reported"),
        ((2, 10, 4), "leaders-own"),
        ((2, 11, 0), "until-one-reported"),
        ((2, 11, 1), "leaders-own"),
    ],
    "extensible": [((2, 10, 0), False), ((3, 0, 0), True)],
    "shed_idle_bundles": [
        ((2, 10, 0), True),
        ((3, 0, 8), False),
        ((3, 1, 0), True),
        ((3, 3, 3), False),
        ((4, 0, 0), True),
        ((4, 0, 1), False),
    ],
    # 24772: in 3.0.14, 3.3.9 and 4.0.7
    "bundles_compared": [
        ((2, 10, 0), "by-difference"),
        ((3, 0, 14), "in-steps"),
        ((3, 1, 0), "by-difference"),
        ((3, 3, 9), "in-steps"),
        ((4, 0, 0), "by-difference"),
        ((4, 0, 7), "in-steps"),
    ],
    # 22321: in 3.0.5, 3.1.5 and 3.2.3
    "underloaded_by_throughput": [
        ((2, 10, 0), False),
        ((3, 0, 5), True),
        ((3, 1, 0), False),
        ((3, 1, 5), True),
        ((3, 2, 0), False),
        ((3, 2, 3), True),
    ],
    "old_bandwidth_spelling_only": [((2, 10, 0), True), ((4, 0, 0), False)],
}


LINES = ((2, 10), (2, 11), (3, 0), (3, 1), (3, 2), (3, 3), (4, 0), (4, 1), (4, 2), (5, 0), (5, 1))


def versions() -> list[Version]:
    """Every release in which something changes, one patch before and after it, and the ends of every line."""
    result = {version for changes in CHANGES.values() for version, _ in changes}
    for major, minor, patch in list(result):
        result |= {(major, minor, patch + 1), (major, minor, max(0, patch - 1))}
    for major, minor in LINES:
        result |= {(major, minor, 0), (major, minor, 99)}
    return sorted(result)


@pytest.mark.parametrize("rule", list(CHANGES))
def test_a_rule_changes_where_the_sources_have_it_changed(rule: str) -> None:
    for version in versions():
        since = [value for first, value in CHANGES[rule] if first <= version]
        if since:
            assert getattr(load_rules(Release(*version)), rule) == since[-1], (rule, version)


def test_every_rule_is_in_the_table() -> None:
    assert {field.name for field in fields(LoadRules)} == set(CHANGES)


def test_milestones_of_5_0_lack_its_last_changes() -> None:
    release, milestone = load_rules(Release(5, 0, 0)), load_rules(Release(5, 0, 0, milestone=1))
    assert milestone == replace(
        release,
        avg_destinations="bundle-numbers",
        avg_placement_alone="refused",
        isolation_by_port=False,
        version_library="0.9",
    )


def test_the_values_of_a_rule_set_without_a_release_are_those_of_the_current_one() -> None:
    assert load_rules(Release(5, 0, 1)) == CURRENT_LOAD_RULES == LoadRules()
