"""Scalable topics with v5 clients: layouts, deals, receivers of keys and automatic steps, each predicted before it."""

from __future__ import annotations

import itertools
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.cluster.scalable.running import passed
from engine.scalable.scaling import Action
from tests.broker.conftest import STEPS_VARIABLE, Brokers
from tests.broker.java_client import ScalableClient, java_client
from tests.broker.releases import release
from tests.broker.scalable_driving import (
    CHECKPOINT,
    SENDER,
    STREAM,
    ScalableDriven,
    candidates,
    layout_facts,
    running_of,
)
from tests.broker.standalone import Broker
from tests.broker.test_predictions import AT_ONCE, RING_AND_AUTO_SPLIT
from tests.patience import HANG_S

pytestmark = pytest.mark.skipif(release().version.startswith("4."), reason="scalable topics came with 5.0")
thorough = pytest.mark.skipif(not os.environ.get(STEPS_VARIABLE), reason="takes minutes: make test-broker")
BY_HAND = {"enabled": False}
NAMESPACE = "public/scalable"
MOST_SEGMENTS = 6
MOST_CONSUMERS = 7
NEVER_PRUNED = {"retentionTimeInMinutes": -1, "retentionSizeInMB": -1}
KEYS = (*(f"order-{number}" for number in range(12)), "", "ключ", "😀", None)
STEPS_OF_A_TOPIC = 12
LEAST_CHANGES = 200
WHEN_TOLD = {"scalableTopicAutoScaleIntervalSeconds": "0", "scalableTopicLoadReportIntervalSeconds": "1"}
"""The controller evaluates when a consumer joins, and after the cooldown of a step of its own."""
LOADED_S = 4.0
"""After so long all loads have their final records."""
HELD_S = 65.0
"""A hand-over that waits for so long never ends."""
numbers = itertools.count(1)


def with_namespace(broker: Broker) -> Broker:
    broker.admin("PUT", f"/admin/v2/namespaces/{NAMESPACE}", {"bundles": {"numBundles": 4}})
    broker.admin("POST", f"/admin/v2/namespaces/{NAMESPACE}/retention", NEVER_PRUNED)
    return broker


@pytest.fixture(scope="module")
def broker(brokers: Brokers) -> Broker:
    return with_namespace(brokers({**RING_AND_AUTO_SPLIT, **AT_ONCE}))


@pytest.fixture(scope="module")
def client(broker: Broker, broker_jars: Path) -> Iterator[ScalableClient]:
    with java_client(ScalableClient, broker_jars, broker.port) as running:
        yield running


def new_topic(broker: Broker, client: ScalableClient, segments: int, policy: dict[str, object]) -> ScalableDriven:
    return ScalableDriven(broker, client, f"{NAMESPACE}/t{next(numbers)}", segments, policy)


def test_changes_by_hand_and_an_automatic_step(broker: Broker, client: ScalableClient, predictions: list[int]) -> None:
    driven = new_topic(broker, client, 2, BY_HAND)
    driven.join("b", "orders", STREAM)
    driven.join("a", "orders", STREAM)
    driven.join("c", "orders", STREAM)
    driven.send(KEYS)
    driven.split(0, settles=False)
    driven.rebucket(1, 8, settles=False)
    driven.split(1, settles=False)
    driven.merge(3, 2)
    driven.send(KEYS)
    driven.close("a")
    scaling = new_topic(broker, client, 4, {})
    for name in "abcde":
        scaling.join(name, "orders", STREAM)
    scaling.send(KEYS)
    checked = driven.checked + scaling.checked
    assert checked["refusal"] == 1
    assert len(scaling.reading().layout().segments) == 8
    predictions.append(checked.total())


@thorough
def test_random_changes(broker: Broker, client: ScalableClient, steps: int, seed: int, predictions: list[int]) -> None:
    draw = random.Random(seed)
    driven = new_topic(broker, client, 1, BY_HAND)
    checked = driven.checked
    for number in range(2 * steps):
        if number % STEPS_OF_A_TOPIC == 0:
            for name in list(driven.consumers):
                driven.close(name)
            driven = new_topic(broker, client, draw.randint(1, 4), BY_HAND)
            driven.checked = checked
            driven.join("first", "orders", STREAM)
        change(driven, draw)
        driven.send(draw.sample(KEYS, 6))
    changes = checked.total() - checked["segment of a key"] - checked["keys of a consumer"]
    assert changes >= min(LEAST_CHANGES, 3 * steps)
    predictions.append(checked.total())


def change(driven: ScalableDriven, draw: random.Random) -> None:
    """A random change that Pulsar allows, or refuses."""
    layout = driven.reading().layout()
    active = [segment.segment_id for segment in layout.active()]
    any_one = draw.choice(list(layout.segments))
    chance = draw.random()
    if chance < 0.3 and len(driven.consumers) < MOST_CONSUMERS:
        group = draw.random() < 0.3
        name = draw.choice("abcxyzé") + str(next(numbers))
        driven.join(name, "group" if group else "orders", CHECKPOINT if group else STREAM)
    elif chance < 0.45 and len(driven.consumers) > 1:
        driven.close(draw.choice(list(driven.consumers)))
    elif chance < 0.55 and len(active) < MOST_SEGMENTS and any(kind == STREAM for _, kind in driven.consumers.values()):
        driven.split_undrained(draw.choice(active), "orders")
    elif chance < 0.7 and len(active) < MOST_SEGMENTS:
        driven.split(draw.choice((any_one, draw.choice(active), draw.choice(active))))
    elif chance < 0.85:
        at = draw.randrange(len(active))
        driven.merge(
            *draw.choice((active[at : at + 2], [any_one, active[at]])) if at + 1 < len(active) else (any_one, 99)
        )
    else:
        driven.rebucket(draw.choice(active), draw.choice((0, 1, 2, 3, 4, 8, 1025)))


@thorough
def test_a_newcomer_that_is_refused_and_hand_overs_that_never_end(
    broker: Broker, client: ScalableClient, predictions: list[int]
) -> None:
    refusing = new_topic(broker, client, 1, BY_HAND)
    refusing.join("a", "orders", STREAM)
    refusing.refused_join("b", "orders")
    stuck = new_topic(broker, client, 3, BY_HAND)
    for name in "abc":
        stuck.join(name, "orders", STREAM)
    stuck.close_while_others_hold("a", "orders", HELD_S)
    predictions.append(refusing.checked.total() + stuck.checked.total())


@thorough
def test_a_consumer_whose_connection_is_lost(
    broker: Broker, client: ScalableClient, broker_jars: Path, predictions: list[int]
) -> None:
    driven = new_topic(broker, client, 3, BY_HAND)
    driven.join("a", "orders", STREAM)
    driven.join("c", "orders", STREAM)
    with java_client(ScalableClient, broker_jars, broker.port) as other:
        driven.lose("b", "orders", other)
    driven.send(KEYS)
    predictions.append(driven.checked.total())


@pytest.fixture(scope="module")
def told(brokers: Brokers) -> Broker:
    return with_namespace(brokers({**RING_AND_AUTO_SPLIT, **AT_ONCE, **WHEN_TOLD}))


@pytest.fixture(scope="module")
def loading(told: Broker, broker_jars: Path) -> Iterator[ScalableClient]:
    with java_client(ScalableClient, broker_jars, told.port) as running:
        yield running


@thorough
def test_automatic_steps_of_loaded_topics(
    told: Broker, loading: ScalableClient, steps: int, seed: int, predictions: list[int]
) -> None:
    draw = random.Random(seed)
    seen = set()
    for _ in range(steps // 2):
        driven = new_topic(told, loading, draw.randint(1, 5), BY_HAND)
        count = len(driven.reading().layout().segments)
        for number in range(draw.randint(0, 3)):
            driven.join(f"s{number}", "orders", STREAM)
        for number in range(draw.choice((0, 0, count))):
            driven.join(f"g{number}", "group", CHECKPOINT)
        keys = [
            key
            for segment in range(count)
            if draw.random() < 0.6
            for key in driven.keys_of(segment, draw.randint(1, 3))
        ]
        loading.load(SENDER, 100 * bool(keys), keys)
        time.sleep(LOADED_S)
        driven.allow(random_policy(draw, count))
        step = driven.join_scaling("new", *draw.choice((("orders", STREAM), ("group", CHECKPOINT))))
        seen.add((step.action, step.reason, step.shown))
        loading.load(SENDER, 0, [])
        for name in list(driven.consumers):
            loading.close(name)
        predictions.append(driven.checked.total())
    assert {action for action, _, _ in seen} >= {Action.SPLIT, Action.MERGE, Action.REBUCKET} or steps < 30


def random_policy(draw: random.Random, count: int) -> dict[str, object]:
    return {
        "enabled": True,
        "maxSegments": draw.choice((count, count + 1, 64)),
        "maxDagDepth": draw.choice((0, 10, 10)),
        "splitCooldownSeconds": 600,
        "rebucketCooldownSeconds": 600,
        "mergeCooldownSeconds": draw.choice((0, 0, 600)),
        "mergeWindowSeconds": draw.choice((0, 1, 600)),
        "splitVsRebucketMinMsgRateInThreshold": draw.choice((5, 1000)),
        "splitMsgRateInThreshold": draw.choice((15, 5000, 5000)),
        "mergeMsgRateInThreshold": draw.choice((1, 10)),
    }


@thorough
def test_automatic_splits_one_after_another_under_load(
    told: Broker, loading: ScalableClient, predictions: list[int]
) -> None:
    """After each split the controller evaluates again once the cooldown is over."""
    driven = new_topic(told, loading, 1, BY_HAND)
    loading.load(SENDER, 400, [f"k{number}" for number in range(500)])
    time.sleep(LOADED_S)
    driven.allow({"enabled": True, "maxSegments": 4, "splitCooldownSeconds": 8, "splitMsgRateInThreshold": 40,
                  "mergeMsgRateInThreshold": 1})  # fmt: skip
    driven.join_scaling("a", "orders", STREAM)
    for _ in range(2):
        until = time.monotonic() + HANG_S
        before = after = driven.reading()
        while after.layout().epoch == before.layout().epoch and time.monotonic() < until:
            before, after = after, driven.reading()
            time.sleep(0.1)
        running = running_of(driven.opened(before))
        layouts = [layout_facts(topic.layout) for _, topic in candidates(passed(running, after.at_ms))]
        observed = layout_facts(after.layout())
        driven.require("automatic step", layouts, observed, agrees=observed in layouts)
    assert len(driven.reading().layout().active()) == 4
    predictions.append(driven.checked.total())
