"""A broker is gone: where each of its bundles may land, and what the others carry then.

Clients look the bundles up in an order of their own; here it is that of the broker's report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.balance.brokers import BrokerLoad, BrokerLoadAverage
from engine.balance.leadership.placement import look_up
from engine.balance.leadership.reports import brokers_changed, reports_read
from engine.balance.leadership.state import ClusterPolicies, Leader, LeaderState, elected
from engine.balance.placement.extensible import extensible_candidates
from engine.balance.placement.least_resource import place_least_load
from engine.balance.placement.model import Placement
from engine.balance.shed_ahead_model import Evenness, ShedStart, evenness
from engine.balance.shed_world import LoadWorld
from engine.errors import Rejection


@dataclass(frozen=True, slots=True)
class Landing:
    """A bundle of the broker that is gone: every broker it may land on with its chance, and the one drawn.

    ``destination`` None: no broker may own it, and its topics stay without an owner.
    """

    bundle: str
    chances: Mapping[str, float]
    destination: str | None
    topics: int
    msgs_per_sec: float
    bytes_per_sec: float


@dataclass(frozen=True, slots=True)
class BrokerLost:
    """What the loss of one broker does. ``loads``: those left, in their order, with what they took over.

    ``state`` is the modular leader's memory afterwards, None for the extensible manager.
    """

    broker: str
    landings: tuple[Landing, ...]
    loads: tuple[BrokerLoad, ...]
    before: Evenness
    after: Evenness
    state: LeaderState | None


def broker_lost(start: ShedStart, broker: str) -> BrokerLost | Rejection:
    """The loss of ``broker``. Refused where it is unknown or the last one. O(bundles x brokers).

    The one that is left gets everything, whatever the placement strategy:

    >>> from engine.balance.brokers import report_of
    >>> from engine.balance.limits import BundleStats
    >>> reports = [report_of("b:1", [BundleStats("t/n/0x00000000_0xffffffff", 3)]), report_of("b:2", [])]
    >>> lost = broker_lost(ShedStart(tuple(reports)), "b:1")
    >>> [(each.destination, dict(each.chances)) for each in lost.landings], lost.loads[0].topics
    ([('b:2', {'b:2': 1.0})], 3)
    """
    known = {load.broker: load for load in start.loads}
    if broker not in known:
        return Rejection("NotFound", f"no broker {broker!r} reports its load", "broker", 404)
    if len(known) == 1:
        return Rejection("NoBrokers", f"{broker} is the only broker, so nobody is left to take its bundles", "broker")
    placing = _Modular(start, broker) if start.load_manager == "modular" else _Extensible(start, broker)
    world = LoadWorld.of(start.loads)
    landings: list[Landing] = []
    for number, bundle in enumerate(dict.fromkeys(known[broker].bundles)):
        chances, destination = placing.place(bundle, number)
        stats = world.stats_of(bundle, broker)
        landings.append(Landing(bundle, chances, destination, stats.topics, stats.msgs_per_sec, stats.bytes_per_sec))
        if destination is not None:
            world = world.moved(bundle, broker, destination)
    left = tuple(load for name, load in world.loads.items() if name != broker)
    before, after = (evenness(each, start.settings, start.rules) for each in (start.loads, left))
    return BrokerLost(broker, tuple(landings), left, before, after, placing.state)


class _Modular:
    """The modular leader reads that the broker is gone, and answers one look-up after the other."""

    def __init__(self, start: ShedStart, broker: str) -> None:
        self._leader = Leader(start.settings, start.policies or ClusterPolicies(), start.rules)
        self._seed = start.seed
        self._draws = 0
        known = start.state or reports_read(self._leader, elected(self._leader), start.loads)
        left = tuple(load for load in start.loads if load.broker != broker)
        self.state: LeaderState | None = brokers_changed(self._leader, known, left)

    def place(self, bundle: str, _: int) -> tuple[Mapping[str, float], str | None]:
        assert self.state is not None, "made with one"
        self.state, answer = look_up(self._leader, self.state, bundle, self._pick)
        if isinstance(answer, Rejection) or answer.picked is None:
            return {}, None
        chances = {answer.picked: 1.0} if answer.selection is None else answer.selection.chances
        return chances, answer.picked

    def _pick(self, _: str, placement: Placement) -> str:
        self._draws += 1
        picked = placement.pick(self._seed, self._draws)
        assert picked is not None, placement
        return picked


class _Extensible:
    """The leader of the extensible manager assigns the orphans by what the others published last."""

    state: LeaderState | None = None

    def __init__(self, start: ShedStart, broker: str) -> None:
        self._start = start
        self._loads = {load.broker: load for load in start.loads if load.broker != broker}
        self._published = {
            name: BrokerLoadAverage().updated(load, start.settings, start.rules).load
            for name, load in self._loads.items()
        }

    def place(self, bundle: str, number: int) -> tuple[Mapping[str, float], str | None]:
        start = self._start
        candidates = extensible_candidates(bundle, self._loads, start.settings, start.policies)
        placement = place_least_load(candidates, self._published, start.settings)
        return placement.chances, placement.pick(start.seed, number)
