"""One question about one subscription: which names, how many consumers, partitions or points, or the flag."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, Literal

import numpy as np

from engine.cluster.keys.state import KeySubscription
from engine.cluster.owners import columns_of
from engine.cluster.partitions import traffic
from engine.cluster.state import ClusterState, behaviour_in
from engine.compare.key_sizes import key_consumers_needed, points_needed, work_of_keys
from engine.compare.names import FAILOVER_RING, Fit, Work, fit_names, key_shared_ring
from engine.compare.sizes import MOST_CONSUMERS, Goal, Sizing, consumers_needed, partitions_needed
from engine.compare.slots import KnownKeys
from engine.compare.verdict import Verdict, flag_change, preview, subscription_of
from engine.config import BrokerSettings
from engine.errors import Rejection
from engine.keyshared.ring import RingSelector

SuggestionKind = Literal["names", "consumers", "partitions", "points", "flag"]
KINDS: Final[tuple[SuggestionKind, ...]] = ("names", "consumers", "partitions", "points", "flag")
UP_TO: Final = 24
"""Numbers that are compared beyond the present one, unless said otherwise."""
Suggestion = Fit | Sizing | Verdict


def suggestion(
    state: ClusterState,
    key: str,
    kind: SuggestionKind,
    goal: Goal,
    *,
    tell: Callable[[int, int], None] | None = None,
) -> Suggestion | Rejection:
    """The answer for the subscription of that key, Failover or Key_Shared. Seconds at most; ``tell`` as ``fit_names``.

    Names are fitted to the partitions or the known keys, to the hash space where there are none.
    """
    if kind == "flag":
        return preview(state, flag_change(state), key)
    if kind != "names":
        return sizing_for(state, key, kind, goal)
    found, keyed = subscription_of(state, key), key_subscription_of(state, key)
    if keyed is not None:
        ring = key_shared_ring(settings_of(state, keyed), behaviour_in(state))
        if isinstance(ring, Rejection):
            return ring
        keys = known_keys(keyed)
        work = work_of_keys(keys, ring) if keys.rates.sum() > 0 else Work.of_space()
        names = [each.name for each in keyed.consumers]
        return fit_names(names, work, survive=goal.survive, goal=goal.max_over_mean, ring=ring, tell=tell)
    if found is None:
        return _nothing(kind)
    columns = columns_of(state, found)
    work = Work.of_space()
    if len(columns):
        flow = traffic(columns, state.loads, found.loads).msgs_per_sec
        work = Work.of_topics(columns.hash, flow if goal.by_messages and flow.sum() > 0 else np.ones(len(columns)))
    names = [each.name for each in found.consumers]
    return fit_names(names, work, survive=goal.survive, goal=goal.max_over_mean, ring=FAILOVER_RING, tell=tell)


def sizing_for(
    state: ClusterState, key: str, kind: SuggestionKind, goal: Goal, *, up_to: int | None = None, seed: int = 0
) -> Sizing | Rejection:
    """The curve of numbers: of consumers, of partitions of each topic (Failover) or of points (Key_Shared)."""
    found, keyed = subscription_of(state, key), key_subscription_of(state, key)
    if keyed is not None and kind in ("consumers", "points"):
        return _of_keys(state, keyed, kind, goal, up_to, seed)
    if found is None or kind not in ("consumers", "partitions"):
        return _nothing(kind)
    if kind == "consumers":
        last = up_to if up_to is not None else min(len(found.consumers) + UP_TO, MOST_CONSUMERS)
        return consumers_needed(state, found, goal, range(2, max(last, 2) + 1), seed=seed)
    now = max((state.topics[name].partitions for name in found.topics), default=0)
    last = up_to if up_to is not None else max(now, 1) + UP_TO
    return partitions_needed(state, found, goal, range(max(now, 1), last + 1), seed=seed)


def key_subscription_of(state: ClusterState, key: str) -> KeySubscription | None:
    """The Key_Shared subscription of that key."""
    return next((each for each in state.key_subscriptions if each.key == key), None)


def known_keys(keyed: KeySubscription) -> KnownKeys:
    """Known keys with the messages that they had."""
    return KnownKeys.of({key: float(count) for key, count in keyed.keys.items()})


def settings_of(state: ClusterState, keyed: KeySubscription) -> BrokerSettings:
    """The settings that bring about the selector that the subscription has."""
    selector = keyed.delivery.selector
    if not isinstance(selector, RingSelector):
        return replace(state.settings, subscriptionKeySharedUseConsistentHashing=False)
    return replace(
        state.settings,
        subscriptionKeySharedUseConsistentHashing=True,
        subscriptionKeySharedConsistentHashingReplicaPoints=selector.points,
    )


def _of_keys(  # noqa: PLR0917 - private
    state: ClusterState, keyed: KeySubscription, kind: str, goal: Goal, up_to: int | None, seed: int
) -> Sizing | Rejection:
    if keyed.mode.declares:
        return Rejection(
            "Declared", f"consumers of {keyed.key} declare their ranges; ringside plan changes them", "mode"
        )
    names = [each.name for each in keyed.consumers]
    settings, behaviour, keys = settings_of(state, keyed), behaviour_in(state), known_keys(keyed)
    if kind == "points":
        return points_needed(names, keys, goal, settings=settings, behaviour=behaviour, seed=seed)
    last = up_to if up_to is not None else min(len(names) + UP_TO, MOST_CONSUMERS)
    numbers = range(2, max(last, 2) + 1)
    return key_consumers_needed(names, keys, goal, numbers, settings=settings, behaviour=behaviour, seed=seed)


def _nothing(kind: str) -> Rejection:
    wanted = {"points": "Key_Shared", "partitions": "Failover"}.get(kind, "Failover and Key_Shared")
    return Rejection("NoSubscription", f"{kind} are suggested for {wanted} subscriptions; this is none", "subscription")
