"""The rules about scalable topics, on states that are opened from answers, and on cases of their own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.admin.client_facts import ClientFacts
from engine.admin.facts import Snapshot
from engine.admin.moments import Moment
from engine.admin.scalable import ScalableFacts
from engine.errors import Rejection
from engine.lint import Finding, lint
from engine.lint.doctor import SCALABLE_RULES, lint_scalable, lint_world, rule_set
from engine.lint.model import OneBucket, ScalableCase, World
from engine.scalable.layout import first_layout, rebucket
from engine.scalable.model import Layout
from engine.scalable.settings import AutoScaleSettings
from engine.scalable.statistics import (
    AutoScale,
    AutoScalePolicy,
    SegmentConsumer,
    SegmentStatistics,
    SegmentSubscription,
    TopicConsumer,
    TopicStatistics,
    TopicSubscription,
)
from engine.scenarios.linting import one_bucket, reported_facts, scalable_findings
from engine.scenarios.opening import open_snapshot
from tests.engine.scalable.scenes import moments_of

TOPIC = "topic://t/n/x"
PRINTED = {"statsUpdateFrequencyInSecs": "60", "scalableTopicLoadReportIntervalSeconds": "10"}


def laid_out(segments: int, **more: Any) -> Layout:
    layout = first_layout(segments, **more)
    assert isinstance(layout, Layout)
    return layout


def rules(case: ScalableCase) -> list[str]:
    return [finding.rule for finding in lint_scalable(case)]


def case(layout: Layout, world: World | None = None, **settings: Any) -> ScalableCase:
    return ScalableCase(world or World(), TOPIC, layout, AutoScaleSettings(**settings))


def test_a_topic_with_the_defaults_has_no_finding() -> None:
    sound = replace(case(laid_out(1), World(configuration=PRINTED)), retention_minutes=-1,
                    subscriptions={"s": ("STREAM", 4), "c": ("CHECKPOINT", 64), "q": ("QUEUE", 900)})  # fmt: skip
    assert rules(sound) == []


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"minSegments": 9, "maxSegments": 8}, ["scalable-invalid-policy", "scalable-min-segments"]),
        ({"splitMsgRateInThreshold": 1000}, ["scalable-invalid-policy"]),
        ({"minSegments": 2}, ["scalable-min-segments"]),
        ({"splitMsgRateInThreshold": 1999}, ["scalable-split-merges"]),
        ({"splitBytesRateOutThreshold": 49_000_000}, ["scalable-split-merges"]),
        ({"mergeWindowSeconds": 9}, ["scalable-merge-window"]),
        ({"splitMsgRateInThreshold": 2000, "mergeWindowSeconds": 10}, []),
        ({"minSegments": 2, "enabled": False, "mergeWindowSeconds": 9, "splitMsgRateInThreshold": 1999}, []),
    ],
)
def test_settings_that_do_not_fit(settings: dict[str, Any], expected: list[str]) -> None:
    assert rules(case(laid_out(1), World(configuration=PRINTED), **settings)) == expected


def test_a_window_is_only_judged_beside_a_printed_interval() -> None:
    assert rules(case(laid_out(1), mergeWindowSeconds=0)) == []


@pytest.mark.parametrize(
    ("segments", "kind", "consumers", "rule", "idle"),
    [
        (1, "STREAM", 5, "scalable-few-buckets", 1),
        (3, "STREAM", 5, "scalable-few-buckets", 2),
        (3, "STREAM", 3, None, 0),
        (3, "CHECKPOINT", 9, "scalable-max-segments", 1),
        (3, "CHECKPOINT", 8, None, 0),
        (3, "QUEUE", 99, None, 0),
    ],
)
def test_consumers_beyond_what_there_is(segments: int, kind: Any, consumers: int, rule: str | None, idle: int) -> None:
    many = replace(case(laid_out(segments), maxSegments=8), subscriptions={"s": (kind, consumers)})
    found = [(one.rule, one.where.subscription, one.number("idle")) for one in lint_scalable(many)]
    assert found == ([(rule, "s", idle)] if rule else [])


@pytest.mark.parametrize(("changes", "minutes", "found"), [(9, -1, 0), (10, -1, 1), (10, 0, 0), (10, None, 0)])
def test_sealed_segments_that_are_never_pruned(changes: int, minutes: int | None, found: int) -> None:
    layout: Layout | Rejection = laid_out(1)
    for at in range(changes):
        assert isinstance(layout, Layout)
        layout = rebucket(layout, at, at + 5)
    assert isinstance(layout, Layout)
    kept = replace(case(layout), retention_minutes=minutes)
    assert rules(kept) == ["scalable-kept-segments"] * found


@pytest.mark.parametrize(("statistics", "reports", "found"), [("60", "10", 1), ("10", "10", 0), ("", "10", 0)])
def test_rates_older_than_load_records(statistics: str, reports: str, found: int) -> None:
    printed = {name: value for name, value in zip(PRINTED, (statistics, reports), strict=True) if value}
    world = World(configuration=printed, has_scalable_topics=True)
    assert [one.rule for one in lint_world(world) if one.rule.startswith("scalable")] == ["scalable-old-rates"] * found
    assert not [one for one in lint_world(replace(world, has_scalable_topics=False)) if one.rule.startswith("scalable")]


def sharing(*rates: float, of_segment: bool) -> ScalableFacts:
    """Consumers a, b … that share the only segment, with what each gets."""
    names = [chr(ord("a") + at) for at in range(len(rates))]
    consumers = tuple(
        TopicConsumer(name, True, (0,), msgRateOut=0.0 if of_segment else rate)
        for name, rate in zip(names, rates, strict=True)
    )
    attached = tuple(SegmentConsumer(f"{name}-seg-0", rate) for name, rate in zip(names, rates, strict=True))
    statistics = TopicStatistics(
        subscriptions={"s": TopicSubscription(type="STREAM", uncoveredSegmentIds=(), consumers=consumers)}
    )
    closer = {0: SegmentStatistics(subscriptions={"s": SegmentSubscription("Key_Shared", consumers=attached)})}
    return ScalableFacts(TOPIC, laid_out(1), statistics, closer if of_segment else {})


@pytest.mark.parametrize("of_segment", [True, False])
@pytest.mark.parametrize(
    ("rates", "found"),
    [((7.0, 0.0, 0.0), [OneBucket("s", 0, "a", 3, 7.0)]), ((7.0, 0.0, 0.1), []), ((0.0, 7.0), []), ((0.0, 0.0), []),
     ((7.0,), [])],
)  # fmt: skip
def test_only_the_owner_of_bucket_0_gets_messages(
    rates: tuple[float, ...], found: list[OneBucket], *, of_segment: bool
) -> None:
    facts = sharing(*rates, of_segment=of_segment)
    assert list(one_bucket(facts)) == found
    assert rules(replace(case(laid_out(1)), one_bucket=tuple(found))) == ["scalable-keyless"] * len(found)


def of_state(snapshot: Snapshot, **more: Any) -> tuple[Finding, ...]:
    opened = open_snapshot(snapshot)
    return lint(opened.state, reported_facts(snapshot, opened.state, ClientFacts()), **more)


def answers() -> Snapshot:
    facts = sharing(7.0, 0.0, 0.0, of_segment=True)
    assert facts.statistics is not None
    policy = AutoScale(AutoScalePolicy(minSegments=4))
    statistics = TopicStatistics(autoScale=policy, subscriptions=facts.statistics.subscriptions)
    policies = {"t/n": {"retention_policies": {"retentionTimeInMinutes": -1}}}
    scalable = {TOPIC: replace(facts, statistics=statistics)}
    return Snapshot("x", {}, namespace_policies=policies, configuration=PRINTED, scalable=scalable)


def test_answers_are_judged_with_what_they_print_of_settings_and_rates() -> None:
    found = of_state(answers())
    assert {(one.rule, one.where.namespace, one.where.topic) for one in found} >= {
        ("scalable-keyless", "t/n", TOPIC),
        ("scalable-min-segments", "t/n", TOPIC),
        ("scalable-old-rates", "", ""),
    }
    assert [one.rule for one in of_state(answers(), namespace="t/other") if one.where.topic] == []
    only = rule_set(["scalable-min-segments"])
    assert not isinstance(only, Rejection)
    assert [one.rule for one in of_state(answers(), rules=only)] == ["scalable-min-segments"]


def test_fleets_find_the_same_from_the_answers_of_a_namespace() -> None:
    world = World(configuration=PRINTED)
    found = list(scalable_findings((Moment(0, answers()),), world, "t/n"))
    assert sorted(one.rule for one in found) == ["scalable-keyless", "scalable-min-segments"]
    assert list(scalable_findings((Moment(0, answers()),), world, "t/other")) == []


@pytest.mark.parametrize("name", ["manual", "order", "holdup", "migrate", "auto-load"])
def test_nothing_is_wrong_in_the_recordings(tmp_path: Path, name: str) -> None:
    for moment in moments_of(tmp_path, name):
        if not moment.snapshot.scalable:
            continue  # it is not migrated yet
        found = [one.rule for one in of_state(moment.snapshot) if one.rule.startswith("scalable")]
        assert set(found) <= {"scalable-old-rates"}


def test_every_rule_is_found_by_its_id() -> None:
    ids = [rule.id for rule in SCALABLE_RULES]
    assert ids == sorted(ids)
    assert all(one.startswith("scalable-") for one in ids)
