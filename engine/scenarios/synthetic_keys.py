"""A made-up Key_Shared subscription: so many keys of uneven traffic, so many consumers, any of the four modes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from engine.cluster.commands import ShareKeys
from engine.cluster.decide import decide
from engine.cluster.evolve import evolve
from engine.cluster.keys.state import KeyConsumerJoined, KeysSeen, KeySubscriptionCreated, SharingMode
from engine.cluster.keys.subscriptions import started
from engine.cluster.state import ClusterState
from engine.cluster.tables.loads import load_of
from engine.config import CURRENT
from engine.errors import InputError, Rejection
from engine.scenarios.opening import Opened
from engine.scenarios.synthetic import synthetic_state
from engine.text import counted

SUBSCRIPTION: Final = "orders"
DEFAULT_MODE: Final = SharingMode.CONSISTENT_AUTO_SPLIT.value
DEFAULT_POINTS: Final = 100
MAX_KEYS: Final = 100_000
MAX_CONSUMERS: Final = 2_000


def synthetic_keys(
    keys: int = 1_000,
    consumers: int = 4,
    *,
    mode: str = DEFAULT_MODE,
    points: int = DEFAULT_POINTS,
    seed: int = 0,
    release: str = "",
) -> Opened:
    """One topic with one Key_Shared subscription of consumers ``worker-0 ..`` and keys ``order-0 ..``.

    How many messages a key had follows a Pareto tail that ``seed`` decides; keys, and so their slots, do not depend on
    it. ``points`` are those of a node, for consistent sticky ranges. Raises ``InputError`` with every number that is
    out of its limits. O(keys + consumers^2).
    """
    wrong = [
        f"{name} is {value}: give {low} to {high}"
        for name, value, low, high in (("keys", keys, 0, MAX_KEYS), ("consumers", consumers, 0, MAX_CONSUMERS))
        if not low <= value <= high
    ]
    modes = [each.value for each in SharingMode]
    if mode not in modes:
        wrong.append(f"mode is {mode}: give one of {', '.join(modes)}")
    if wrong:
        raise InputError("; ".join(wrong))
    state = replace(synthetic_state(1, 0, 0, seed, release=release or CURRENT.label).state, subscriptions=())
    topic, namespace = next(iter(state.topics)), next(iter(state.namespaces))
    state = evolve(state, KeySubscriptionCreated(SUBSCRIPTION, SUBSCRIPTION, namespace, (topic,)))
    state = evolve(state, started(state, SUBSCRIPTION))
    counts = tuple((f"order-{at}", _messages(seed, f"order-{at}")) for at in range(keys))
    state = evolve(state, KeysSeen(SUBSCRIPTION, counts))
    if mode == SharingMode.AUTO_SPLIT.value:
        state = _changed(state, mode, 0)
    for number in range(consumers):
        state = evolve(state, KeyConsumerJoined(SUBSCRIPTION, number, f"worker-{number}"))
    if SharingMode(mode).declares:
        state = _changed(state, mode, points)
    told = f"made up: {keys:,} keys, {counted(consumers, 'consumer')}, {mode}, seed {seed}"
    return Opened(state, told, seed=seed)


def _messages(seed: int, key: str) -> int:
    # The square root of a topic's rate: keys are uneven too, but one key seldom is a whole topic.
    return math.isqrt(int(load_of(seed, key).msg_rate_in))


def _changed(state: ClusterState, mode: str, points: int) -> ClusterState:
    outcome = decide(state, ShareKeys(SUBSCRIPTION, mode, points))
    if isinstance(outcome, Rejection):
        raise InputError(outcome.message)
    for event in outcome:
        state = evolve(state, event)
    return state
