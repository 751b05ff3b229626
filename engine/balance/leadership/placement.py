"""Which broker a bundle goes to: filters, the placement strategy, and a second question when the answer is overloaded.

Where Pulsar draws, a picker chooses, so that a simulation can be repeated and a test can decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from engine.balance.averages import new_bundle_data
from engine.balance.filters import (
    anti_affinity,
    below_max_topics,
    least_servicing,
    newest_version,
    permitted,
    same_load_manager,
)
from engine.balance.java_maps import MapOrder
from engine.balance.leadership.state import Leader, LeaderState, namespace_of
from engine.balance.placement import strategies as placements
from engine.balance.placement.model import Placement
from engine.balance.placement.strategies import place_round_robin, placed_average
from engine.balance.shedding.average import AverageMemory
from engine.balance.top_bundles import SYSTEM_NAMESPACE
from engine.errors import Rejection

Picker = Callable[[str, Placement], str]
"""Draws one of the possible answers for a bundle."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which broker a bundle is placed on.

    ``placement``: the possible answers of the last question to the strategy, ``chances`` those of all it came to,
    ``picked`` the one drawn, None if no broker may have the bundle. ``filtered``: the candidates after each filter that
    took some away, by its name; ``considered``: how many brokers the leader logs as considered, which is before the
    filters by load manager and version.
    """

    placement: Placement
    chances: Mapping[str, float]
    picked: str | None
    filtered: Mapping[str, tuple[str, ...]]
    considered: int


@dataclass(frozen=True, slots=True)
class LookUp:
    """How an unowned bundle got its broker: by the wish of an unload, by an earlier placement, or by the strategy."""

    by: Literal["affinity", "preallocated", "strategy"]
    picked: str | None
    selection: Selection | None = None


def look_up(leader: Leader, state: LeaderState, bundle: str, pick: Picker) -> tuple[LeaderState, LookUp | Rejection]:
    """Who gets a bundle that nobody owns, when a client asks for one of its topics.

    The wish of an unload is used up by the first look-up, whatever becomes of it.
    """
    wish = state.wishes.get(bundle)
    if wish is not None:
        wishes = {name: broker for name, broker in state.wishes.items() if name != bundle}
        return replace(state, wishes=wishes), LookUp("affinity", wish)
    placed = state.preallocations.get(bundle)
    if placed is not None:
        return state, LookUp("preallocated", placed)
    state, selection = select(leader, state, bundle, pick)
    if isinstance(selection, Rejection):
        return state, selection
    if selection.picked is not None:
        state = _preallocated(leader, state, bundle, selection.picked)
    return state, LookUp("strategy", selection.picked, selection)


def _preallocated(leader: Leader, state: LeaderState, bundle: str, broker: str) -> LeaderState:
    known = state.known[broker]
    table = state.tables.get(broker, MapOrder("concurrent")).updated([bundle])
    placed = {**known.preallocated, bundle: state.data[bundle]}
    return replace(
        state,
        known={**state.known, broker: replace(known, preallocated={name: placed[name] for name in table})},
        tables={**state.tables, broker: table},
        preallocations={**state.preallocations, bundle: broker},
        served={**state.served, broker: state.served.get(broker, frozenset()) | {bundle}},
    )


def permitted_brokers(leader: Leader, state: LeaderState, bundle: str) -> tuple[str, ...]:
    """The brokers that isolation policies let own a bundle, in the order in which they are listed."""
    return permitted(
        namespace_of(bundle),
        {broker: state.known[broker].load for broker in state.active},
        leader.policies.isolation,
        leader.rules,
        persistent=bundle not in leader.policies.non_persistent,
    )


def select(leader: Leader, state: LeaderState, bundle: str, pick: Picker) -> tuple[LeaderState, Selection | Rejection]:
    """The broker for a bundle, without a record of it: filters, the strategy, and the strategy again if overloaded.

    Refused as the strategy refuses.
    """
    if bundle not in state.data:
        state = replace(state, bundles=state.bundles.updated([bundle]), data={**state.data, bundle: new_bundle_data()})
    allowed = permitted_brokers(leader, state, bundle)
    candidates, filtered, considered = _filtered(leader, state, bundle, allowed)
    excluded = (
        leader.rules.excluded_namespaces
        and namespace_of(bundle) in leader.settings.loadBalancerSheddingExcludedNamespaces
    )
    if excluded:
        turns, placement = place_round_robin(state.excluded, tuple(candidates))
        state = replace(state, excluded=turns)
    else:
        state, asked = _ask(leader, state, bundle, candidates)
        if isinstance(asked, Rejection):
            return replace(state, candidates=candidates), asked
        placement = asked
    if not placement.answers:
        return replace(state, candidates=candidates), Selection(placement, {}, None, filtered, considered)
    picked = pick(bundle, placement)
    state = _remember(leader, state, bundle, placement, picked)
    chances = dict.fromkeys(placement.answers, 1 / len(placement.answers))
    overloaded = [broker for broker in placement.answers if _is_overloaded(leader, state, broker)]
    if placement.reason == "random" and leader.rules.avg_destinations != "attempt":
        overloaded = []  # what was drawn is remembered, so a second question gets the same answer
    if overloaded:
        wider = candidates.updated(allowed)
        again_state, again = _ask(leader, state, bundle, wider)
        if isinstance(again, Rejection):
            return (state, again) if picked in overloaded else (replace(state, candidates=candidates), again)
        share = sum(chances.pop(broker) for broker in overloaded)
        for broker in again.answers:
            chances[broker] = chances.get(broker, 0.0) + share / len(again.answers)
        if picked in overloaded:
            state, placement, candidates = again_state, again, wider
            picked = pick(bundle, again)
            state = _remember(leader, state, bundle, again, picked)
    return replace(state, candidates=candidates), Selection(placement, chances, picked, filtered, considered)


def _is_overloaded(leader: Leader, state: LeaderState, broker: str) -> bool:
    return state.known[broker].is_overloaded(leader.settings, leader.rules)


def _ask(
    leader: Leader, state: LeaderState, bundle: str, candidates: MapOrder
) -> tuple[LeaderState, Placement | Rejection]:
    shedder = state.shedder if isinstance(state.shedder, AverageMemory) else None
    question = placements.Question(bundle, state.data[bundle], tuple(candidates), state.known, shedder)
    memory, placement = placements.place(state.placement, question, leader.settings, leader.rules)
    return replace(state, placement=memory), placement


def _remember(leader: Leader, state: LeaderState, bundle: str, placement: Placement, picked: str) -> LeaderState:
    if placement.reason != "random" or not isinstance(state.shedder, AverageMemory):
        return state
    return replace(state, shedder=placed_average(state.shedder, bundle, state.data[bundle], picked, leader.rules))


def _filtered(
    leader: Leader, state: LeaderState, bundle: str, allowed: tuple[str, ...]
) -> tuple[MapOrder, dict[str, tuple[str, ...]], int]:
    """The candidates after all filters, in the order of their set, what each left over, and how many are logged."""
    settings, namespace = leader.settings, namespace_of(bundle)
    candidates = state.candidates.cleared().updated(allowed)
    filtered: dict[str, tuple[str, ...]] = {}

    def keep(name: str, kept: Iterable[str]) -> None:
        nonlocal candidates
        wanted = frozenset(kept)
        gone = [broker for broker in candidates if broker not in wanted]
        if gone:
            candidates = candidates.updated(remove=gone)
            filtered[name] = tuple(candidates)

    keep("topics", below_max_topics(tuple(candidates), state.known, settings.loadBalancerBrokerMaxTopics))
    domains = leader.policies.domains if settings.failureDomainsEnabled else None
    keep("anti-affinity", anti_affinity(tuple(candidates), group_counts(leader, state, namespace), domains))
    system = namespace == SYSTEM_NAMESPACE and leader.rules.system_namespace_shed
    if settings.loadBalancerDistributeBundlesEvenlyEnabled or system:
        counts = {broker: _by_namespace(served)[namespace] for broker, served in state.served.items()}
        keep("fewest-bundles", least_servicing(tuple(candidates), counts))
    considered = len(candidates)
    classes = {broker: known.load.load_manager for broker, known in state.known.items()}
    keep("load-manager", same_load_manager(tuple(candidates), classes, settings.loadManagerClassName))
    if settings.preferLaterVersions:
        versions = {broker: known.load.version for broker, known in state.known.items()}
        newest = newest_version(tuple(candidates), versions, leader.rules)
        if isinstance(newest, Rejection):
            candidates = candidates.updated(allowed)
            filtered["version-unreadable"] = tuple(candidates)
        else:
            keep("version", newest)
    if not candidates.keys and allowed:
        candidates = candidates.updated(allowed)
        filtered["none-left"] = tuple(candidates)
    return candidates, filtered, considered


@lru_cache(maxsize=1024)
def _by_namespace(bundles: frozenset[str]) -> Counter[str]:
    """How many of these bundles each namespace has; the same set is asked about for every bundle that is placed."""
    return Counter(namespace_of(bundle) for bundle in bundles)


def group_counts(leader: Leader, state: LeaderState, namespace: str) -> dict[str, int] | None:
    """How many namespaces of the same anti-affinity group each broker has; None for one without a group."""
    same = leader.policies.same_group(namespace)
    if same is None:
        return None
    counts: dict[str, int] = {}
    for broker, served in state.served.items():
        count = len(same.intersection(_by_namespace(served)))
        if count:
            counts[broker] = count
    return counts
