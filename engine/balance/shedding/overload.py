"""``OverloadShedder``: every broker at its limit gives away a little more traffic than it is above it."""

from __future__ import annotations

from typing import Final

from engine.balance.brokers import overload_usage
from engine.balance.java_maps import MapOrder
from engine.balance.settings import LoadSettings
from engine.balance.shedding.model import BrokerVerdict, ShedPlan, ShedView, planned, shed_verdict, take_bytes
from engine.load_rules import CURRENT_LOAD_RULES, LoadRules

ADDITIONAL_SHARE: Final = 0.05
"""``ADDITIONAL_THRESHOLD_PERCENT_MARGIN``: how much further below the limit a broker is brought."""


def shed_overload(
    table: MapOrder, view: ShedView, settings: LoadSettings, rules: LoadRules = CURRENT_LOAD_RULES
) -> tuple[MapOrder, ShedPlan]:
    """One cycle; ``table`` is the map of the plan, which keeps its size from cycle to cycle.

    Exactly at the limit is overloaded. Where the bundles go is not asked, so with every broker overloaded all shed.

    >>> from engine.balance.brokers import BrokerLoad, ResourceUsage
    >>> loads = tuple(BrokerLoad(f"b:{percent}", cpu=ResourceUsage(percent, 100)) for percent in (84, 86))
    >>> _, plan = shed_overload(MapOrder("hash"), ShedView(loads, {}), LoadSettings())
    >>> [verdict.outcome for verdict in plan.verdicts]
    ['below-threshold', 'too-few-bundles']
    """
    limit = settings.overload_limit
    verdicts: list[BrokerVerdict] = []
    for load in view.brokers:
        usage = overload_usage(load, settings, rules)
        if usage < limit:
            verdicts.append(BrokerVerdict(load.broker, "below-threshold", usage, limit))
        elif len(load.bundles) < 2:
            verdicts.append(BrokerVerdict(load.broker, "too-few-bundles", usage, limit))
        else:
            need = load.bytes_per_sec * (usage - limit + ADDITIONAL_SHARE)
            verdicts.append(shed_verdict(load, usage, limit, need, take_bytes(view, load, need)))
    return planned(table, verdicts)
