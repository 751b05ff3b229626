"""``AvgShedder`` as a placement strategy: where its shedding planned a bundle to go, else anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.balance.averages import BundleData
from engine.balance.placement.model import Placement
from engine.balance.shedding.average import AverageMemory, destination_key
from engine.errors import Rejection
from engine.load_rules import CURRENT_LOAD_RULES, LoadRules


def place_average(
    memory: AverageMemory,
    bundle: str,
    data: BundleData,
    candidates: Sequence[str],
    rules: LoadRules = CURRENT_LOAD_RULES,
) -> Placement | Rejection:
    """The planned destination while it is a candidate, else any candidate. Refused: no candidates at all."""
    if not candidates:
        return Rejection("ArithmeticException", f"no broker may own {bundle}: a division by 0", field="candidates")
    destination = memory.destinations.get(destination_key(bundle, data, rules))
    if destination is not None and destination in candidates:
        return Placement((destination,), "planned")
    return Placement(tuple(sorted(candidates)), "random")


def placed_average(
    memory: AverageMemory, bundle: str, data: BundleData, broker: str, rules: LoadRules = CURRENT_LOAD_RULES
) -> AverageMemory:
    """The memory once a broker was drawn: it is the planned destination from now on."""
    if rules.avg_destinations == "attempt":
        return memory
    destinations = {**memory.destinations, destination_key(bundle, data, rules): broker}
    return replace(memory, destinations=destinations)
