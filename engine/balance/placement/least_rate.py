"""``LeastLongTermMessageRate``: the broker with the lowest long-term message rate that is not overloaded."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from engine.balance.brokers import overload_usage
from engine.balance.placement.model import KnownBroker, Placement
from engine.balance.settings import LoadSettings
from engine.errors import Rejection
from engine.load_rules import CURRENT_LOAD_RULES, LoadRules


def long_term_score(broker: KnownBroker, settings: LoadSettings, rules: LoadRules = CURRENT_LOAD_RULES) -> float:
    """Long-term messages/s of a broker and of what was placed on it since its report; infinite when it is overloaded.

    Exactly at the limit it is not overloaded, while ``OverloadShedder`` would shed.
    """
    if overload_usage(broker.load, settings, rules) > settings.overload_limit:
        return math.inf
    placed = 0.0
    for data in broker.preallocated.values():
        placed += data.long_term.msgs_per_sec
    return placed + broker.long_term.msgs_per_sec


def place_least_rate(
    candidates: Sequence[str],
    brokers: Mapping[str, KnownBroker],
    settings: LoadSettings,
    rules: LoadRules = CURRENT_LOAD_RULES,
) -> Placement | Rejection:
    """All candidates with the least score; every candidate if none has a number. Refused: one without a report."""
    if not candidates:
        return Placement((), "no-candidates")
    best: list[str] = []
    least = math.inf
    for name in candidates:
        broker = brokers.get(name)
        if broker is None:
            return Rejection("NullPointerException", f"{name} has not reported its load", field="candidates")
        score = long_term_score(broker, settings, rules)
        if score < least:
            best, least = [name], score
        elif score == least:  # an overloaded one ties with the start, until one with a number comes
            best.append(name)
    if not best or least == math.inf:
        return Placement(tuple(best or candidates), "all-overloaded")
    return Placement(tuple(best), "least")
