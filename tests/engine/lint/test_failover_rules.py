"""Rules over Failover subscriptions: each fires, each has a case where it nearly would, and its numbers are checked."""

from __future__ import annotations

import mmh3
import pytest

from engine.lint import Severity, SubscriptionCase
from engine.lint.rules.failover import (
    DUPLICATE_NAMES,
    FLAG_IGNORED,
    FLAG_UNKNOWN,
    NAMES_COLLIDE,
)
from tests.engine.lint.worlds import failover, findings_by, world

COLLIDE = NAMES_COLLIDE
DUPLICATES = DUPLICATE_NAMES
IGNORED = FLAG_IGNORED
UNKNOWN = FLAG_UNKNOWN
RING = world(flag=True)
MODULO = world(flag=False)


def share_by_hand(names: list[str], wanted: str) -> float:
    """The share of one name on the failover ring, from hashes alone: later names overwrite earlier ones."""
    owner: dict[int, str] = {}
    for name in sorted(names):
        for replica in range(100):
            owner[mmh3.hash(f"{name}{replica}".encode(), 0, signed=False) & 0x7FFFFFFF] = name
    points = sorted(owner)
    before = [points[-1] - 2**31, *points[:-1]]
    return sum(at - last for last, at in zip(before, points, strict=True) if owner[at] == wanted) / 2**31


def test_F09_of_twenty_numbered_names_number_1_keeps_10_of_100_points_and_the_share_is_that_of_the_ring() -> None:
    names = [f"x-{at}" for at in range(20)]
    (finding,) = findings_by(COLLIDE, failover(names, RING))
    assert (finding.severity, finding.where.consumer) == (Severity.WARNING, "x-1")
    # x-1 + 10..99 is x-11..x-19 + 0..9: nine names take ten points each, and no other name extends another.
    assert (finding.number("points_kept"), finding.number("points_lost"), finding.number("lost_share")) == (10, 90, 0.9)
    assert "loses 90 of its 100 points to x-11, x-12, x-13 and 6 more" in finding.what
    assert "x-11 with 0 behind it is x-1 with 10" in finding.what
    assert finding.number("even_share") == pytest.approx(1 / 20)
    assert finding.number("share") == pytest.approx(share_by_hand(names, "x-1"))
    assert finding.number("share") < 0.02


def test_F09_of_a_hundred_nine_and_of_a_thousand_ninety_nine_are_starved() -> None:
    for count, starved in ((100, 9), (1000, 99)):
        findings = findings_by(COLLIDE, failover([f"x-{at}" for at in range(count)], RING))
        assert len(findings) == starved
        assert {finding.number("points_kept") for finding in findings} == {10}


@pytest.mark.parametrize(
    "names",
    [
        [f"x-{at:02}" for at in range(20)],
        [f"x-{at}-" for at in range(20)],
        [f"x-{at}" for at in range(10)],
        ["c-1", "c-10"],  # a 0 behind the name makes another number, but 1 + 0.. is no two digits of a replica
        ["c", "c-1"],
    ],
    ids=["padded", "suffixed", "one digit", "ten", "no digits between"],
)
def test_F09_names_that_nearly_collide_are_clean(names: list[str]) -> None:
    assert findings_by(COLLIDE, failover(names, RING)) == []
    assert share_by_hand(names, names[0]) > 0.5 / len(names)


def test_F09_while_modulo_decides_the_loss_is_only_to_be_known() -> None:
    names = ["c-1", "c-11"]
    (finding,) = findings_by(COLLIDE, failover(names, MODULO))
    assert finding.severity is Severity.INFO and finding.what.endswith("it counts once the ring decides")
    (other,) = findings_by(COLLIDE, failover(names, MODULO, unpartitioned=1))
    assert other.severity is Severity.WARNING, "a topic without partitions goes by the ring already"


def test_F09_only_names_of_the_best_priority_level_are_on_the_ring() -> None:
    assert findings_by(COLLIDE, failover(["c-1", "c-11"], RING, levels=[0, 1])) == []


def test_F09_namesakes_do_not_change_what_a_name_keeps() -> None:
    (finding,) = findings_by(COLLIDE, failover(["c-1", "c-1", "c-11"], RING))
    assert finding.number("points_kept") == 90
    assert finding.number("share") == pytest.approx(share_by_hand(["c-1", "c-11"], "c-1"))


def test_F10_of_three_namesakes_two_are_never_active_on_the_ring() -> None:
    (finding,) = findings_by(DUPLICATES, failover(["c", "d", "c", "c"], RING, partitioned=3, unpartitioned=4))
    assert (finding.severity, finding.where.consumer) == (Severity.ERROR, "c")
    assert dict(finding.numbers) == {"consumers": 3, "never_active": 2, "topics": 7}
    assert "the other 2 get nothing" in finding.what


def test_F10_by_modulo_each_namesake_has_its_part_and_only_statistics_mix_them_up() -> None:
    (finding,) = findings_by(DUPLICATES, failover(["c", "c"], MODULO, partitioned=3))
    assert (finding.severity, finding.number("never_active")) == (Severity.INFO, 0)


def test_F10_namesakes_of_a_lower_level_and_names_in_another_case_are_no_duplicates() -> None:
    assert findings_by(DUPLICATES, failover(["c", "c"], RING, levels=[0, 1])) == []
    assert findings_by(DUPLICATES, failover(["c", "C", "c "], RING)) == []


def test_F03_only_topics_without_partitions_ignore_a_flag_that_is_off() -> None:
    (finding,) = findings_by(IGNORED, failover(["a", "b"], MODULO, partitioned=5, unpartitioned=7))
    assert (finding.severity, finding.number("topics"), finding.number("of_topics")) == (Severity.INFO, 7, 12)


@pytest.mark.parametrize(
    "case",
    [
        failover(["a", "b"], RING, unpartitioned=7),
        failover(["a", "b"], MODULO, partitioned=5),
        failover(["a"], MODULO, unpartitioned=7),
        failover([], MODULO, unpartitioned=7),
        failover(["a", "b"], MODULO, unpartitioned=7, levels=[0, 1]),
        failover(["a", "b"], world("2.11.0"), unpartitioned=7),
    ],
    ids=["flag on", "partitions only", "one consumer", "nobody", "a standby", "first connected"],
)
def test_F03_where_the_rule_is_what_the_flag_says_or_does_not_matter_nothing_is_reported(
    case: SubscriptionCase,
) -> None:
    assert findings_by(IGNORED, case) == []


def test_F03_a_flag_that_the_release_does_not_know_leaves_partitions_to_modulo() -> None:
    old = world("4.0.0", flag=True)
    (finding,) = findings_by(UNKNOWN, failover(["a", "b"], old, partitioned=5, unpartitioned=2))
    assert (finding.severity, finding.number("topics")) == (Severity.WARNING, 5)
    assert "Pulsar 4.0.0 does not know it" in finding.what


def test_F03_before_3_0_the_flag_leaves_topics_without_partitions_to_whoever_connected_first() -> None:
    old = world("2.11.0", flag=True)
    (finding,) = findings_by(UNKNOWN, failover(["a", "b"], old, partitioned=5, unpartitioned=2))
    assert finding.number("topics") == 7
    assert "the consumer that connected first has 2 topics without partitions" in finding.what
    # By priority level "b" is no candidate for the ring or modulo; the old rule does not look at levels.
    (levels,) = findings_by(UNKNOWN, failover(["a", "b"], old, partitioned=5, unpartitioned=2, levels=[0, 1]))
    assert levels.number("topics") == 2
    assert findings_by(UNKNOWN, failover(["a"], old, partitioned=5, unpartitioned=2)) == []


@pytest.mark.parametrize(
    "case",
    [
        failover(["a", "b"], world("4.0.1", flag=True), partitioned=5),
        failover(["a", "b"], world("4.0.0", flag=False), partitioned=5),
        failover(["a", "b"], world("4.0.0", flag=True), partitioned=0, unpartitioned=5),
        failover(["a"], world("4.0.0", flag=True), partitioned=5),
    ],
    ids=["the next release", "flag off", "no partitions", "one consumer"],
)
def test_F03_a_flag_that_is_known_or_changes_nothing_is_not_reported(case: SubscriptionCase) -> None:
    assert findings_by(UNKNOWN, case) == []
