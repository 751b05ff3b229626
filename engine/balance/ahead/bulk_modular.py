"""The modular leader's cycles of a forecast for many bundles: averages in columns, brokers that change in place.

Equal to :class:`engine.balance.ahead.modular.ModularAhead` in every decision, draw and number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Final

import numpy as np

from engine.balance.ahead.model import (
    AheadCycle,
    AheadMove,
    ShedStart,
    Trail,
    WrittenReports,
    evenness,
    move_of,
)
from engine.balance.ahead.modular import other_plan
from engine.balance.ahead.moving_world import MovingWorld
from engine.balance.brokers import BrokerLoad
from engine.balance.bulk_averages import AverageColumns, Places, ShedAverages, has_one_window
from engine.balance.java_maps import MapOrder, hash_order_of_all
from engine.balance.leadership.bulk_shedding import BulkShedding, can_shed_in_bulk
from engine.balance.leadership.shedding import Unload, is_shed
from engine.balance.leadership.state import Leader, LeaderState, elected
from engine.balance.placement.model import Placement
from engine.balance.settings import MS_PER_MINUTE


class BulkModularAhead:
    """The modular leader from cycle to cycle; lives no longer than the forecast."""

    def __init__(self, start: ShedStart) -> None:
        self._start: Final = start
        leader = start.leader
        state = start.state or _first_meeting(leader, start.loads)
        stats = [stats for load in start.loads for stats in load.stats]
        with_system = start.rules.system_namespace_shed
        copied = {known.bundle for known in stats if is_shed(known.bundle, with_system=with_system)}
        self._averages: Final = AverageColumns(stats, state.bundles, state.data, copied)
        self._shedding: Final = BulkShedding(leader, state, ShedAverages(self._averages), self._pick)
        self._world: Final = MovingWorld(start.loads)
        self._reports: Final = WrittenReports(start.settings, start.rules, {load.broker: load for load in start.loads})
        self._active: Final = hash_order_of_all(self._reports.last, roomy=start.rules.roomy_sets)
        self._trail: Final = Trail()
        self._draws = 0
        self._bundles_read: dict[str, tuple[BrokerLoad, Places]] = {}
        self._reports_read: tuple[Places, ...] = ()
        if start.state is None:
            self._read()
        else:
            known = start.state.known
            msgs = {name: broker.long_term.msgs_per_sec for name, broker in known.items()}
            self._shedding.read({name: broker.load for name, broker in known.items()}, msgs)

    def next(self, number: int) -> AheadCycle:
        settings, rules = self._start.settings, self._start.rules
        at_ms = number * settings.loadBalancerSheddingIntervalMinutes * MS_PER_MINUTE
        self._write_reports(at_ms)
        shedding = self._shedding
        otherwise = None
        if number == 1:
            otherwise = other_plan(shedding.brokers, shedding.view(), shedding.shedder, settings, rules)
        cycle = shedding.shed(at_ms)
        moves = tuple(self._moved(unload) for unload in cycle.carried_out)
        loads = self._world.loads()
        even = evenness(tuple(loads.values()), settings, rules)
        return AheadCycle(number, at_ms, cycle, moves, loads, even, otherwise)

    def _pick(self, _: str, placement: Placement) -> str:
        self._draws += 1
        picked = placement.pick(self._start.seed, self._draws)
        assert picked is not None, placement
        return picked

    def _moved(self, unload: Unload) -> AheadMove:
        bundle, destination, world = unload.bundle, unload.destination, self._world
        assert destination is not None and unload.selection is not None, unload
        # The leader may still take the bundle for that of a broker which has lost it; the unload reaches its owner.
        source = world.owner_of(bundle, unload.source)
        stats = world.stats_of(bundle, source)
        world.move(bundle, source, destination)
        returns = self._trail.goes(bundle, source, destination)
        return move_of(stats, source, destination, unload.selection.chances, returns=returns)

    def _write_reports(self, at_ms: int) -> None:
        """As in ``ModularAhead``: each report that is due makes the leader read all, until no average changes."""
        for _ in range(self._reports.write(self._world.loads(), at_ms)):
            if self._read():
                break

    def _read(self) -> bool:
        """The leader reads all reports; whether that has changed no average."""
        brokers = self._shedding.brokers
        read = {broker: self._places(self._reports.last[broker]) for broker in brokers}
        if any(old is not new for old, new in zip(self._reports_read, read.values(), strict=False)) or (
            len(self._reports_read) != len(read)
        ):
            self._reports_read = tuple(read.values())
        sums, is_settled = self._averages.read(self._reports_read)
        msgs = dict(zip(brokers, (sums[0] + sums[1]).tolist(), strict=True))
        self._shedding.read(self._reports.last, msgs, self._active)
        return is_settled

    def _places(self, load: BrokerLoad) -> Places:
        """The places of a report's bundles in the columns."""
        known = self._bundles_read.get(load.broker)
        if known is None or known[0] is not load:
            places = self._averages.places
            at = np.fromiter((places[stats.bundle] for stats in load.stats), np.int64, len(load.stats))
            known = self._bundles_read[load.broker] = (load, at)
        return known[1]


def _first_meeting(leader: Leader, loads: Iterable[BrokerLoad]) -> LeaderState:
    """A new leader that has met these brokers and has not read their reports."""
    state = elected(leader)
    active = hash_order_of_all((load.broker for load in loads), roomy=leader.rules.roomy_sets)
    return LeaderState(
        brokers=MapOrder("concurrent").updated(active),
        shedder=state.shedder,
        placement=state.placement,
    )


def can_forecast_in_bulk(start: ShedStart) -> bool:
    """Whether the bulk form knows this start: a release that chooses destinations, and each bundle with one broker."""
    leader = start.leader
    state = start.state or LeaderState()
    reported = {stats.bundle: load.broker for load in start.loads for stats in load.stats}
    known: Mapping[str, object] = state.data
    return (
        len({load.broker for load in start.loads}) == len(start.loads)
        and (start.state is None or set(state.known) == {load.broker for load in start.loads})
        and known.keys() <= reported.keys()
        and has_one_window(state.data.values())
        and all(_is_once(names) for names in _names(start))
        and all(reported.get(bundle, load.broker) == load.broker for load in start.loads for bundle in load.bundles)
        and can_shed_in_bulk(leader, state)
    )


def _names(start: ShedStart) -> tuple[Iterable[str], Iterable[str]]:
    return (
        (stats.bundle for load in start.loads for stats in load.stats),
        chain.from_iterable(load.bundles for load in start.loads),
    )


def _is_once(names: Iterable[str]) -> bool:
    return max(Counter(names).values(), default=1) == 1
