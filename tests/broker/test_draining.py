"""Key_Shared with messages under way: who holds which, what drains and what waits, before and after each change."""

from __future__ import annotations

import random
import time

import pytest

from engine.admin.facts import SubscriptionFacts
from engine.cluster.state import ClusterState
from tests.broker.conftest import Brokers
from tests.broker.driving import Driven, driven
from tests.broker.test_predictions import AT_ONCE, MODULO_AND_RING, RING_AND_AUTO_SPLIT
from tests.broker.wire import Client
from tests.patience import HANG_S

KEYS = 40
PERMITS = 1_000
MOST = 5
LEAST = 20
"""Changes after which something drained and something waited."""
SETTLED_MS = 1_000
Held = dict[str, tuple[int, dict[int, int]]]
"""Of each consumer how many messages it holds, and how many of each slot that drains."""


def predicted(state: ClusterState, name: str) -> tuple[Held, int]:
    """Who holds what by the model, and how many messages wait in the replay queue."""
    (subscription,) = (subscription for subscription in state.key_subscriptions if subscription.name == name)
    delivery = subscription.delivery
    held: Held = {}
    for consumer in subscription.consumers:
        drains = {
            entry.slot: entry.unacked
            for entry in delivery.draining.entries.values()
            if entry.consumer_id == consumer.consumer_id
        }
        held[consumer.name] = len(delivery.pending.get(consumer.consumer_id, {})), drains
    return held, len(delivery.replay)


def observed(facts: SubscriptionFacts) -> tuple[Held, int]:
    held = {
        consumer.name: (consumer.unacked_messages, {each.hash: each.unacked for each in consumer.draining})
        for consumer in facts.consumers
    }
    return held, facts.msg_in_replay or 0


class Messages:
    """A producer, and consumers that take what they are sent and acknowledge when they are told to."""

    def __init__(self, driving: Driven, port: int) -> None:
        self._driving = driving
        (self._topic,) = driving.dispatchers
        self._port = port
        self._client = Client(port)
        self._producer = self._client.produce(self._topic)

    def join(self, name: str) -> None:
        self._driving.join(name)
        client = self._driving.client(name)
        client.allow(1, PERMITS)

    def send(self, keys: list[str]) -> None:
        for key in keys:
            self._client.publish(self._producer, key)

    def acknowledge(self, name: str, key: str, count: int) -> None:
        """Acknowledge the oldest messages of a key; they may still be on their way."""
        client = self._driving.client(name)
        until = time.monotonic() + HANG_S
        while len([each for each in client.received() if each.key == key]) < count:
            assert time.monotonic() < until, f"{name} was not sent {count} messages of {key}"
            time.sleep(0.005)
        for each in [each for each in client.received() if each.key == key][:count]:
            client.acknowledge(each)

    def keys_of(self, name: str) -> list[str]:
        return [each.key for each in self._driving.client(name).received()]

    def close(self) -> None:
        self._client.close()


def step(driving: Driven, messages: Messages, held: Held, draw: random.Random) -> str:
    """Choose what happens next, as a line of the grammar."""
    what = draw.random()
    here = list(held)
    if what < 0.2 and len(here) < MOST:
        return f'add "{driving.new_name()}"'
    if what < 0.3 and len(here) > 1:
        return f'kill "{draw.choice(here)}"'
    holders = [name for name in here if messages.keys_of(name)]
    if what < 0.6 and holders:
        name = draw.choice(holders)
        keys = messages.keys_of(name)
        key = draw.choice(keys)
        return f'ack "{name}" key {key} count {draw.randint(1, keys.count(key))}'
    return "send " + " ".join(f"k-{draw.randrange(KEYS)}" for _ in range(draw.randint(1, 4)))


def carry_out(driving: Driven, messages: Messages, line: str) -> None:
    word, _, rest = line.partition(" ")
    if word == "send":
        messages.send(rest.split())
        return
    name = rest.partition('"')[2].partition('"')[0]
    if word == "add":
        messages.join(name)
    elif word == "kill":
        driving.kill(name)
    else:
        _, _, key, _, count = rest.rsplit(" ", 4)
        messages.acknowledge(name, key, int(count))


@pytest.mark.parametrize("settings", [MODULO_AND_RING, RING_AND_AUTO_SPLIT], ids=["ring", "auto-split"])
def test_what_drains_and_what_waits(
    brokers: Brokers, settings: dict[str, str], steps: int, seed: int, predictions: list[int]
) -> None:
    draw = random.Random(seed)
    name = f"drains-{'split' if settings is RING_AND_AUTO_SPLIT else 'ring'}-{seed}"
    broker = brokers({**settings, **AT_ONCE})
    checked = drained = waited = 0
    with driven(broker, name, "Key_Shared", {name: 0}, seed) as driving:
        messages = Messages(driving, broker.port)
        messages.join(driving.new_name())
        driving.seen()
        timeline = driving.opened()
        for _ in range(max(LEAST, 2 * steps)):
            before = driving.reading()
            line = step(driving, messages, predicted(timeline.state, name)[0], draw)
            timeline = driving.submitted(timeline, line, f"wait {SETTLED_MS}")
            expected = predicted(timeline.state, name)
            carry_out(driving, messages, line)
            result = driving.seen_as(observed, expected)
            driving.require(expected, result, before, line)
            checked += len(expected[0]) + 1
            drained += sum(len(slots) for _, slots in expected[0].values())
            waited += expected[1]
        messages.close()
    assert drained
    assert waited
    predictions.append(checked)
