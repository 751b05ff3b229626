"""The shedding cycle of the leader: the shedder's plan, and bundle by bundle what becomes of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

from engine.balance.filters import unload_is_useful
from engine.balance.java_maps import MapOrder, hash_order
from engine.balance.leadership.placement import Picker, Selection, group_counts, permitted_brokers, select
from engine.balance.leadership.state import Leader, LeaderState, namespace_of
from engine.balance.settings import MS_PER_MINUTE
from engine.balance.shedding import strategies as shedders
from engine.balance.shedding.average import AverageMemory
from engine.balance.shedding.model import ShedPlan, ShedView
from engine.balance.top_bundles import SYSTEM_NAMESPACE, is_heartbeat_namespace
from engine.errors import Rejection

UnloadOutcome = Literal[
    "unloaded",
    "excluded-namespace",
    "no-other-broker",  # nobody else may own it
    "anti-affinity",
    "no-broker",  # the strategy found none
    "stays",  # the strategy chose its present broker
    "refused",
]


@dataclass(frozen=True, slots=True)
class Unload:
    """One bundle of the shedder's plan: what became of it, and where it goes (None: decided at the next look-up)."""

    bundle: str
    source: str
    outcome: UnloadOutcome
    destination: str | None = None
    selection: Selection | None = None


@dataclass(frozen=True, slots=True)
class SheddingCycle:
    """One run of ``doLoadShedding``; ``no_run`` says why the shedder was not asked."""

    plan: ShedPlan = field(default_factory=ShedPlan)
    unloads: tuple[Unload, ...] = ()
    no_run: Literal["switched-off", "one-broker"] | None = None

    @property
    def carried_out(self) -> tuple[Unload, ...]:
        return tuple(unload for unload in self.unloads if unload.outcome == "unloaded")


def view(leader: Leader, state: LeaderState) -> ShedView:
    """What the shedder gets to see."""
    order = _shed_order(state.bundles, leader.rules.system_namespace_shed)
    return ShedView.of(
        tuple(state.known[broker].load for broker in state.brokers),
        {bundle: state.data[bundle] for bundle in order},
        state.recently_unloaded,
    )


@lru_cache(maxsize=16)
def _shed_order(bundles: MapOrder, with_system: bool) -> MapOrder:
    """The copy of the leader's map that a shedder gets; from cycle to cycle the bundles are mostly the same."""
    return hash_order(bundle for bundle in bundles if is_shed(bundle, with_system=with_system))


def is_shed(bundle: str, *, with_system: bool) -> bool:
    """Whether shedders get to know a bundle; ``with_system``: the release sheds ``pulsar/system`` like others."""
    namespace = namespace_of(bundle)
    return not is_heartbeat_namespace(namespace) and (with_system or namespace != SYSTEM_NAMESPACE)


def shed(leader: Leader, state: LeaderState, now_ms: int, pick: Picker) -> tuple[LeaderState, SheddingCycle]:
    """One cycle of shedding (``doLoadShedding``): the plan, and bundle by bundle what becomes of it.

    The bundles of one cycle are placed as if the others stayed, so many may go to the same broker (bug pattern S09).
    """
    settings = leader.settings
    if not settings.loadBalancerEnabled or not settings.loadBalancerSheddingEnabled:
        return state, SheddingCycle(no_run="switched-off")
    if len(state.brokers) <= 1:
        return state, SheddingCycle(no_run="one-broker")
    since = now_ms - settings.loadBalancerSheddingGracePeriodMinutes * MS_PER_MINUTE
    recent = {bundle: time for bundle, time in state.recently_unloaded.items() if time >= since}
    state = replace(state, recently_unloaded=recent)
    memory, plan = shedders.shed(state.shedder, view(leader, state), settings, leader.rules)
    state = replace(state, shedder=memory)
    unloads: list[Unload] = []
    for source, bundles in plan.unloads:
        for bundle in bundles:
            state, unload = _unload(leader, state, Unload(bundle, source, "unloaded"), pick)
            unloads.append(unload)
            if unload.outcome == "unloaded":
                state = replace(state, recently_unloaded={**state.recently_unloaded, bundle: now_ms})
    if isinstance(state.shedder, AverageMemory):
        state = replace(state, shedder=state.shedder.attempted(leader.rules))
    return state, SheddingCycle(plan, tuple(unloads))


def _unload(leader: Leader, state: LeaderState, plan: Unload, pick: Picker) -> tuple[LeaderState, Unload]:
    """What becomes of one bundle of the plan; the state afterwards has the wish for its next look-up."""
    bundle, source, namespace = plan.bundle, plan.source, namespace_of(plan.bundle)
    excluded = leader.settings.loadBalancerSheddingExcludedNamespaces
    if leader.rules.excluded_namespaces and namespace in excluded:
        return state, replace(plan, outcome="excluded-namespace")
    allowed = permitted_brokers(leader, state, bundle)
    state = replace(state, candidates=state.candidates.cleared().updated(allowed))
    if not any(broker != source for broker in allowed):
        return state, replace(plan, outcome="no-other-broker")
    if not unload_is_useful(allowed, group_counts(leader, state, namespace)):
        return state, replace(plan, outcome="anti-affinity")
    if not leader.rules.chooses_destination:
        return state, plan
    state, selection = select(leader, state, bundle, pick)
    if isinstance(selection, Rejection):
        return state, replace(plan, outcome="refused")
    plan = replace(plan, destination=selection.picked, selection=selection)
    if selection.picked is None:
        return state, replace(plan, outcome="no-broker")
    if selection.picked == source:
        return state, replace(plan, outcome="stays")
    return replace(state, wishes={**state.wishes, bundle: selection.picked}), plan
