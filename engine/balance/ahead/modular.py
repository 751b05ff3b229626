"""The modular leader's cycles of a forecast."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from engine.balance.ahead.model import (
    AheadCycle,
    AheadMove,
    LoadWorld,
    OtherUnloads,
    ShedStart,
    Trail,
    WrittenReports,
    evenness,
    move_of,
)
from engine.balance.averages import SETTLED_WITHIN, BundleData, TimeAverageMessageData
from engine.balance.java_maps import MapOrder, hash_order
from engine.balance.leadership.placement import look_up
from engine.balance.leadership.shedding import Unload, shed, view
from engine.balance.leadership.state import Leader, LeaderState, elected, reports_read
from engine.balance.placement.model import Placement
from engine.balance.settings import MS_PER_MINUTE, LoadSettings
from engine.balance.shedding.model import ShedView
from engine.balance.shedding.strategies import ShedderMemory
from engine.balance.shedding.strategies import shed as shed_by
from engine.errors import Rejection
from engine.load_rules import LoadRules


@dataclass(slots=True)
class ModularAhead:
    """The modular leader from cycle to cycle; lives no longer than the forecast."""

    start: ShedStart
    leader: Leader = field(init=False)
    state: LeaderState = field(init=False)
    world: LoadWorld = field(init=False)
    reports: WrittenReports = field(init=False)
    trail: Trail = field(default_factory=Trail)
    draws: int = 0

    def __post_init__(self) -> None:
        start = self.start
        self.leader = start.leader
        self.world = LoadWorld.of(start.loads)
        self.reports = WrittenReports(start.settings, start.rules, dict(self.world.loads))
        self.state = start.state or reports_read(self.leader, elected(self.leader), start.loads)

    def next(self, number: int) -> AheadCycle:
        settings = self.start.settings
        at_ms = number * settings.loadBalancerSheddingIntervalMinutes * MS_PER_MINUTE
        self._write_reports(at_ms)
        otherwise = self._otherwise() if number == 1 else None
        self.state, cycle = shed(self.leader, self.state, at_ms, self._pick)
        moves = tuple(self._moved(unload) for unload in cycle.carried_out)
        now = tuple(self.world.loads.values())
        even = evenness(now, settings, self.start.rules)
        return AheadCycle(number, at_ms, cycle, moves, self.world.loads, even, otherwise)

    def _moved(self, unload: Unload) -> AheadMove:
        """Carry out an unload. The clients look the bundle up at once, and the first of them uses the wish up."""
        bundle, destination = unload.bundle, unload.destination
        chances = unload.selection.chances if unload.selection is not None else {}
        if destination is None:
            self.state, answer = look_up(self.leader, self.state, bundle, self._pick)
            if not isinstance(answer, Rejection):
                destination = answer.picked
                chances = answer.selection.chances if answer.selection is not None else {}
        else:
            wishes = {name: broker for name, broker in self.state.wishes.items() if name != bundle}
            self.state = replace(self.state, wishes=wishes)
        # The leader may still take the bundle for that of a broker which has lost it; the unload reaches its owner.
        source = self.world.owner_of(bundle, unload.source)
        stats = self.world.stats_of(bundle, source)
        if destination is not None:
            self.world = self.world.moved(bundle, source, destination)
        returns = self.trail.goes(bundle, source, destination)
        return move_of(stats, source, destination, chances, returns=returns)

    def _pick(self, _: str, placement: Placement) -> str:
        self.draws += 1
        picked = placement.pick(self.start.seed, self.draws)
        assert picked is not None, placement
        return picked

    def _write_reports(self, at_ms: int) -> None:
        """The reports that brokers wrote since the last cycle: each makes the leader read all, once they are there.

        Once a reading changes no average, the others of the moment would not either.
        """
        for _ in range(self.reports.write(self.world.loads, at_ms)):
            before = self.state.data
            self.state = reports_read(self.leader, self.state, tuple(self.reports.last.values()))
            if all(_is_settled(before.get(bundle), data) for bundle, data in self.state.data.items()):
                break

    def _otherwise(self) -> tuple[OtherUnloads, ...] | None:
        state, start = self.state, self.start
        plan = other_plan(state.brokers, view(self.leader, state), state.shedder, start.settings, start.rules)
        return None if plan is None else tuple(OtherUnloads(broker, bundles) for broker, bundles in plan)


def other_plan(
    brokers: MapOrder,
    seen: ShedView,
    memory: ShedderMemory,
    settings: LoadSettings,
    rules: LoadRules,
) -> tuple[tuple[str, tuple[str, ...]], ...] | None:
    """The plan of a cycle if the names that share a bucket came in the other order, where it differs."""
    bundles = hash_order(seen.bundles)
    if not brokers.doubtful and not bundles.doubtful:
        return None
    loads = {load.broker: load for load in seen.brokers}
    other = ShedView(
        tuple(loads[broker] for broker in brokers.turned_round),
        seen.bundles.reordered(bundles.turned_round),
        seen.recently_unloaded,
    )
    plans = [shed_by(memory, view, settings, rules)[1].unloads for view in (seen, other)]
    return plans[1] if sorted(plans[0]) != sorted(plans[1]) else None


def _is_settled(before: BundleData | None, after: BundleData) -> bool:
    """Whether one more sample left an average where it was, but for rounding."""
    if before is None:
        return False
    return _is_near(before.short_term, after.short_term) and _is_near(before.long_term, after.long_term)


def _is_near(one: TimeAverageMessageData, other: TimeAverageMessageData) -> bool:
    return math.isclose(one.msgs_per_sec, other.msgs_per_sec, rel_tol=SETTLED_WITHIN) and math.isclose(
        one.bytes_per_sec, other.bytes_per_sec, rel_tol=SETTLED_WITHIN
    )
