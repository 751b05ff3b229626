"""Scalable topics with v5 clients: layouts, deals, receivers of keys and automatic steps, each predicted before it."""

from __future__ import annotations

import itertools
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TypeVar

import pytest

from engine.cluster.scalable.running import passed
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
BY_HAND: dict[str, object] = {"enabled": False}
NAMESPACE = "public/scalable"
MOST_SEGMENTS = 6
MOST_CONSUMERS = 7
NEVER_PRUNED = {"retentionTimeInMinutes": -1, "retentionSizeInMB": -1}
KEYS = (*(f"order-{number}" for number in range(12)), "", "ключ", "😀", None)
STEPS_OF_A_TOPIC = 15
CHANGES = ("split", "merge", "rebucket", "join", "leave")
LEAST_CHANGES = 200
"""Of each kind, in a run of 60 steps."""
SETTLING, UNDRAINED = 0.2, 0.1
"""After how many changes all is left to settle, and how many splits meet what is not acknowledged."""
LANES = 6
WHEN_TOLD = {"scalableTopicAutoScaleIntervalSeconds": "0", "scalableTopicLoadReportIntervalSeconds": "1"}
"""The controller evaluates when a consumer joins, and after the cooldown of a step of its own."""
LOADED_S = 4.0
"""After so long all loads have their final records."""
HELD_S = 65.0
"""A hand-over that waits for so long never ends."""
numbers = itertools.count(1)
T = TypeVar("T")
Summary = Callable[["Counter[str]"], None]


def with_namespace(broker: Broker) -> Broker:
    broker.admin("PUT", f"/admin/v2/namespaces/{NAMESPACE}", {"bundles": {"numBundles": 4}})
    broker.admin("POST", f"/admin/v2/namespaces/{NAMESPACE}/retention", NEVER_PRUNED)
    return broker


@pytest.fixture(scope="module")
def broker(brokers: Brokers) -> Broker:
    return with_namespace(brokers({**RING_AND_AUTO_SPLIT, **AT_ONCE}))


def in_lanes(jars: Path, broker: Broker, lanes: Sequence[Callable[[ScalableClient], T]]) -> list[T]:
    """What these return, each run with a client of its own and all at once: brokers and clients mostly wait."""

    def run(lane: Callable[[ScalableClient], T]) -> T:
        with java_client(ScalableClient, jars, broker.port) as client:
            with first_decoding:
                new_topic(broker, client, 1, BY_HAND).opened()
            return lane(client)

    first_decoding = Lock()  # msgspec learns a type when it is first decoded, and not in several threads at once
    with ThreadPoolExecutor(len(lanes)) as pool:
        return list(pool.map(run, lanes))


@pytest.fixture
def summary(capsys: pytest.CaptureFixture[str]) -> Summary:
    """Prints how many predictions of each kind were checked."""

    def print_counts(checked: Counter[str]) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n{', '.join(f'{count} {kind}' for kind, count in sorted(checked.items()))}\n")

    return print_counts


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
def test_random_changes_refused_newcomers_and_lost_connections(
    broker: Broker, broker_jars: Path, steps: int, seed: int, predictions: list[int], summary: Summary
) -> None:
    least = 1 + LEAST_CHANGES * steps // (60 * LANES)

    def lane(number: int, client: ScalableClient) -> Counter[str]:
        draw = random.Random(f"{seed} {number}")
        checked: Counter[str] = Counter()
        while any(checked[kind] < least for kind in CHANGES):
            driven = new_topic(broker, client, draw.randint(1, 4), BY_HAND)
            driven.checked = checked
            driven.join("first", "orders", STREAM)
            for _ in range(STEPS_OF_A_TOPIC):
                if change(driven, draw, [kind for kind in CHANGES if checked[kind] < least]):
                    driven.send(draw.sample(KEYS, 6))
            for name in list(driven.consumers):
                driven.close(name)
        return checked

    slow = [partial(refusing, broker), partial(stuck, broker), partial(losing, broker_jars, broker)]
    lanes = [*slow, *(partial(lane, number) for number in range(LANES))]
    checked = sum(in_lanes(broker_jars, broker, lanes), Counter())
    summary(checked)
    assert all(checked[kind] >= LEAST_CHANGES * steps // 60 for kind in (*CHANGES, "segment of a key"))
    predictions.append(checked.total())


def refusing(broker: Broker, client: ScalableClient) -> Counter[str]:
    """A newcomer is refused."""
    driven = new_topic(broker, client, 1, BY_HAND)
    driven.join("a", "orders", STREAM)
    driven.refused_join("b", "orders")
    return driven.checked


def stuck(broker: Broker, client: ScalableClient) -> Counter[str]:
    """Hand-overs never end."""
    driven = new_topic(broker, client, 3, BY_HAND)
    for name in "abc":
        driven.join(name, "orders", STREAM)
    driven.close_while_others_hold("a", "orders", HELD_S)
    return driven.checked


def losing(jars: Path, broker: Broker, client: ScalableClient) -> Counter[str]:
    """A connection is lost."""
    driven = new_topic(broker, client, 3, BY_HAND)
    driven.join("a", "orders", STREAM)
    driven.join("c", "orders", STREAM)
    with java_client(ScalableClient, jars, broker.port) as other:
        driven.lose("b", "orders", other)
    driven.send(KEYS)
    return driven.checked


def change(driven: ScalableDriven, draw: random.Random, lacking: Sequence[str]) -> bool:
    """A random change, one that is lacking where there is any, which Pulsar allows or refuses; whether it settled."""
    layout = driven.reading().layout()
    active = [segment.segment_id for segment in layout.active()]
    settles = draw.random() < SETTLING
    possible = ["rebucket"]
    possible += ["join"] * (len(driven.consumers) < MOST_CONSUMERS) + ["leave"] * bool(driven.consumers)
    possible += ["split"] * (len(active) < MOST_SEGMENTS) + ["merge"] * (len(active) > 1)
    kind = draw.choice([kind for kind in possible if kind in lacking] or possible)
    match kind:
        case "join":
            group = draw.random() < 0.3
            name = draw.choice("abcxyzé") + str(next(numbers))
            driven.join(name, "group" if group else "orders", CHECKPOINT if group else STREAM)
        case "leave":
            driven.close(draw.choice(list(driven.consumers)))
        case "split" if draw.random() < UNDRAINED and any(kind == STREAM for _, kind in driven.consumers.values()):
            driven.split_undrained(draw.choice(active), "orders")
        case "split":
            driven.split(draw.choice((*active, *active, max(layout.segments), 99)), settles=settles)
        case "merge":
            at = draw.randrange(len(active) - 1)
            anything = draw.choice(list(layout.segments)), draw.choice(active)
            driven.merge(*draw.choice((active[at : at + 2], active[at : at + 2], anything)), settles=settles)
        case _:
            driven.rebucket(draw.choice(active), draw.choice((0, 1, 2, 3, 4, 8, 16, 1025)), settles=settles)
    return settles or kind in ("join", "leave")


@pytest.fixture(scope="module")
def told(brokers: Brokers) -> Broker:
    return with_namespace(brokers({**RING_AND_AUTO_SPLIT, **AT_ONCE, **WHEN_TOLD}))


@thorough
def test_automatic_steps_under_load(
    told: Broker, broker_jars: Path, steps: int, seed: int, predictions: list[int], summary: Summary
) -> None:
    def lane(number: int, client: ScalableClient) -> Counter[str]:
        draw = random.Random(f"{seed} {number}")
        checked: Counter[str] = Counter()
        for _ in range(1 + steps // (2 * LANES)):
            driven = new_topic(told, client, draw.randint(1, 5), BY_HAND)
            driven.checked = checked
            step_of_a_loaded_topic(driven, draw)
        return checked

    lanes = [partial(lane, number) for number in range(LANES)]
    checked = sum(in_lanes(broker_jars, told, [partial(splits_one_after_another, told), *lanes]), Counter())
    summary(checked)
    assert steps < 60 or all(checked[f"automatic {action}"] for action in ("split", "merge", "rebucket"))
    predictions.append(checked.total())


def step_of_a_loaded_topic(driven: ScalableDriven, draw: random.Random) -> None:
    count = len(driven.reading().layout().segments)
    for number in range(draw.randint(0, 3)):
        driven.join(f"s{number}", "orders", STREAM)
    for number in range(draw.choice((0, 0, count))):
        driven.join(f"g{number}", "group", CHECKPOINT)
    loaded = [segment for segment in range(count) if draw.random() < 0.6]
    keys = [key for segment in loaded for key in driven.keys_of(segment, draw.randint(1, 3))]
    driven.client.load(SENDER, 100 * bool(keys), keys)
    time.sleep(LOADED_S)
    driven.allow(random_policy(draw, count))
    step = driven.join_scaling("new", *draw.choice((("orders", STREAM), ("group", CHECKPOINT))))
    driven.checked[f"automatic {step.action.name.lower()}"] += 1
    driven.client.load(SENDER, 0, [])
    for name in list(driven.consumers):
        driven.client.close(name)


def splits_one_after_another(told: Broker, client: ScalableClient) -> Counter[str]:
    """After each split the controller evaluates again once the cooldown is over."""
    driven = new_topic(told, client, 1, BY_HAND)
    client.load(SENDER, 400, [f"k{number}" for number in range(500)])
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
    return driven.checked


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
