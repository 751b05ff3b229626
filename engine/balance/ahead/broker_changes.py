"""Brokers that leave or join: where every bundle of one that dies may land, and the cluster a forecast goes on from.

Bundles of a dead broker belong to nobody until a client looks one of their topics up. Here they are looked up one
after the other in the order of the dead broker's report, so each answer knows of those before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated

from engine.answer import FLAT, about
from engine.balance.ahead.extensible import ExtensibleAhead
from engine.balance.ahead.model import Candidate, Candidates, LoadWorld, ShedStart
from engine.balance.brokers import BrokerLoad, ResourceUsage
from engine.balance.leadership.placement import look_up
from engine.balance.leadership.state import (
    Leader,
    LeaderState,
    broker_gone,
    brokers_changed,
    elected,
    namespace_of,
    reports_read,
)
from engine.balance.limits import BundleStats
from engine.balance.placement.model import Placement
from engine.balance.top_bundles import is_heartbeat_namespace
from engine.errors import Rejection
from engine.text import listed, natural_key

NEW_BROKER = "new-broker-{}:8080"


@dataclass(frozen=True, slots=True)
class Landing:
    """One bundle of a dead broker: every broker that may get it with its chance, and the one drawn.

    ``destination`` None: nobody may own it, for the reason in ``refusal`` where there is one.
    """

    bundle: Annotated[str, about("Its full name.")]
    stats: Annotated[BundleStats, FLAT]
    chances: Mapping[str, float]
    destination: Annotated[str | None, about("The broker drawn; null where nobody may own it.", key="to")]
    refusal: str = ""

    @property
    def candidates(self) -> Candidates:
        return [Candidate(broker, chance) for broker, chance in self.chances.items()]


@dataclass(frozen=True, slots=True)
class BrokerDeath:
    """What the death of a broker does: where its bundles land, and what the others report then."""

    broker: str
    landings: tuple[Landing, ...]
    start: ShedStart


def broker_dies(start: ShedStart, broker: str) -> BrokerDeath | Rejection:
    """Let a broker die, and every bundle it had be looked up once, but those of its own heartbeats.

    O(bundles of it × brokers).

    Refused: a broker that is not there, and the last one.

    >>> from engine.balance.brokers import report_of
    >>> mine = [BundleStats("t/n/0x00000000_0xffffffff", 3)]
    >>> death = broker_dies(ShedStart((report_of("b:1", mine), report_of("b:2", []))), "b:1")
    >>> [(landing.destination, dict(landing.chances)) for landing in death.landings]
    [('b:2', {'b:2': 1.0})]
    """
    dead = next((load for load in start.loads if load.broker == broker), None)
    if dead is None:
        known = listed(sorted((load.broker for load in start.loads), key=natural_key))
        return Rejection("UnknownBroker", f"{broker!r} is not among the brokers: {known}", field="broker")
    rest = tuple(load for load in start.loads if load.broker != broker)
    if not rest:
        return Rejection("LastBroker", f"{broker} is the only broker, so nobody could take its bundles", field="broker")
    if start.load_manager == "extensible":
        return _extensible(start, dead, rest)
    return _modular(_Before.of(start), dead, rest)


def every_broker_dies(start: ShedStart) -> Iterator[BrokerDeath | Rejection]:
    """Each broker's death alone, in their order. O(bundles × brokers): what all have in common is computed once.

    >>> from engine.balance.brokers import report_of
    >>> two = report_of("b:1", []), report_of("b:2", [BundleStats("t/n/0x00000000_0xffffffff")])
    >>> [death.broker for death in every_broker_dies(ShedStart(two))]
    ['b:1', 'b:2']
    """
    if start.load_manager == "extensible" or len(start.loads) < 2:
        yield from (broker_dies(start, load.broker) for load in start.loads)
        return
    before = _Before.of(start)
    for dead in start.loads:
        yield _modular(before, dead, tuple(load for load in start.loads if load is not dead))


@dataclass(frozen=True, slots=True)
class _Before:
    """What the deaths of a cluster's brokers have in common: ``sampled`` is ``known`` after two more readings."""

    start: ShedStart
    leader: Leader
    known: LeaderState
    sampled: LeaderState

    @classmethod
    def of(cls, start: ShedStart) -> _Before:
        leader = start.leader
        known = start.state or reports_read(leader, elected(leader), start.loads)
        return cls(start, leader, known, brokers_changed(leader, known, start.loads))


def _modular(before: _Before, dead: BrokerLoad, rest: tuple[BrokerLoad, ...]) -> BrokerDeath:
    start, leader, known = before.start, before.leader, before.known
    stats = {bundle.bundle: bundle for bundle in dead.stats}
    state = broker_gone(leader, known, before.sampled, rest, dead)
    # Averages outlive the broker: the leader reads them from the metadata again.
    kept = {bundle: known.data[bundle] for bundle in dict.fromkeys(dead.bundles) if bundle in known.data}
    state = replace(state, data={**state.data, **kept})
    draws = 0

    def pick(_bundle: str, placement: Placement) -> str:
        nonlocal draws
        draws += 1
        picked = placement.pick(start.seed, draws)
        assert picked is not None, placement
        return picked

    landings = []
    for bundle in _looked_up(dead):
        state, answer = look_up(leader, state, bundle, pick)
        one = stats.get(bundle, BundleStats(bundle))
        if isinstance(answer, Rejection):
            landings.append(Landing(bundle, one, {}, None, answer.message))
        else:
            drawn = dict(answer.selection.chances) if answer.selection is not None else {}
            if not drawn and answer.picked is not None:
                drawn = {answer.picked: 1.0}
            landings.append(Landing(bundle, one, drawn, answer.picked))
    after = _landed(dead, rest, landings)
    following = None
    if start.state is not None:
        following = brokers_changed(leader, replace(state, bundles=state.bundles.updated(kept)), after)
    return BrokerDeath(dead.broker, tuple(landings), replace(start, loads=after, state=following))


def _extensible(start: ShedStart, dead: BrokerLoad, rest: tuple[BrokerLoad, ...]) -> BrokerDeath:
    """Each owner is drawn among the least loaded by what brokers have published, which does not change meanwhile."""
    stats = {bundle.bundle: bundle for bundle in dead.stats}
    placed = ExtensibleAhead(replace(start, loads=rest))
    landings = []
    for number, bundle in enumerate(_looked_up(dead), 1):
        placement = placed.placement(bundle)
        drawn = placement.pick(start.seed, number)
        landings.append(Landing(bundle, stats.get(bundle, BundleStats(bundle)), placement.chances, drawn))
    return BrokerDeath(dead.broker, tuple(landings), replace(start, loads=_landed(dead, rest, landings)))


def _looked_up(dead: BrokerLoad) -> list[str]:
    """The bundles of a dead broker that others get: its own, of heartbeats, are nobody else's."""
    return [bundle for bundle in dict.fromkeys(dead.bundles) if not is_heartbeat_namespace(namespace_of(bundle))]


def _landed(dead: BrokerLoad, rest: tuple[BrokerLoad, ...], landings: list[Landing]) -> tuple[BrokerLoad, ...]:
    world = LoadWorld.of((*rest, dead))
    for landing in landings:
        if landing.destination is not None:
            world = world.moved(landing.bundle, dead.broker, landing.destination)
    return tuple(world.loads[load.broker] for load in rest)


def broker_joins(start: ShedStart) -> tuple[str, ShedStart]:
    """Add a broker without a bundle, with the limits and the version of the first one; its name and the start then."""
    names = {load.broker for load in start.loads}
    number = next(at for at in range(1, len(names) + 2) if NEW_BROKER.format(at) not in names)
    name = NEW_BROKER.format(number)
    like = start.loads[0]

    def unused(resource: ResourceUsage) -> ResourceUsage:
        return ResourceUsage(0.0, resource.limit)

    new = BrokerLoad(
        name,
        unused(like.cpu),
        unused(like.memory),
        unused(like.direct_memory),
        unused(like.bandwidth_in),
        unused(like.bandwidth_out),
        version=like.version,
        load_manager=like.load_manager,
    )
    loads = (*start.loads, new)
    if start.state is None:
        return name, replace(start, loads=loads)
    leader = start.leader
    return name, replace(start, loads=loads, state=brokers_changed(leader, start.state, loads))
