"""Balancing over time: cycle after cycle of automatic splitting, from given traffic, brokers and settings."""

from __future__ import annotations

from engine.balance.extensible_cycles import ExtensibleCycles
from engine.balance.model import Balance, BalanceCycle
from engine.balance.modular_cycles import ModularCycles
from engine.balance.start import BalanceStart
from engine.balance.world import World
from engine.errors import Rejection

MAX_CYCLES = 10_000
"""A limit of this model, against typing errors."""


def simulate(start: BalanceStart, cycles: int) -> Balance | Rejection:
    """``cycles`` cycles of the load manager. O(cycles × (topics × log topics + brokers × bundles)).

    Modular: a cycle is a moment at which reports are written, all brokers' after
    ``loadBalancerReportUpdateMaxIntervalMinutes`` of steady traffic, and only the changed brokers' after
    ``loadBalancerReportUpdateMinIntervalMillis`` when their totals moved by more than the threshold, as after a split.
    In each the leader decides once per report written. Extensible: a cycle is every
    ``loadBalancerSplitIntervalMinutes``, in which every broker decides about its own bundles. Traffic grows with each
    full interval, not at an early report; the first cycle comes after one interval and sees the traffic as given.

    Only this namespace is simulated: elsewhere others share the maximum of splits per cycle and broker. Loads are not
    shed; a bundle changes its broker only when the modular load manager unloads the children of a split.

    Refused: a number of cycles below 0 or above ``MAX_CYCLES``.

    >>> from engine.balance.start import balance_start
    >>> from engine.bundles.boundaries import NamespaceBundles
    >>> from engine.bundles.loads import TopicLoad
    >>> from engine.config import BrokerSettings
    >>> topics = [TopicLoad("persistent://t/n/a", 1, 20000.0), TopicLoad("persistent://t/n/b", 0xF0000000, 20000.0)]
    >>> whole, brokers = NamespaceBundles("t/n", (0, 0xFFFFFFFF)), ["b:1", "b:2"]
    >>> start = balance_start(whole, topics, brokers, BrokerSettings(), change_events=False)
    >>> [(number, split.reason, split.measure.over_by) for number, split in simulate(start, 3).splits]
    [(1, 'MsgRate', 10000.0)]
    """
    if not 0 <= cycles <= MAX_CYCLES:
        message = f"{cycles} cycles: give 0 to {MAX_CYCLES}"
        return Rejection("IllegalArgumentException", message, field="cycles")
    world = World(start)
    running = ModularCycles(world) if start.load_manager == "modular" else ExtensibleCycles(world)
    done: list[BalanceCycle] = [running.next(number) for number in range(1, cycles + 1)]
    return Balance(start, tuple(done))
