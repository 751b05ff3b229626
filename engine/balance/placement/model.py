"""What a placement strategy is asked, and what it may answer: every broker it can draw, with its chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from engine.balance.averages import BundleData, TimeAverageMessageData
from engine.balance.brokers import BrokerLoad, overload_usage
from engine.balance.settings import LoadSettings
from engine.hashing import murmur3_32
from engine.load_rules import LoadRules

PlacementReason = Literal[
    "least",  # by the strategy's measure
    "all-overloaded",
    "none-below-average",
    "planned",  # the shedder has said where to
    "planned-overloaded",  # where the shedder has said is overloaded, and these are not
    "planned-unavailable",  # where the shedder has said is not a candidate
    "random",
    "in-turn",
    "no-candidates",
]


@dataclass(frozen=True, slots=True)
class KnownBroker:
    """What the leader knows of a broker: its report, the sum of its bundles' long-term averages, and bundles that were
    placed on it since (in the order of their ``ConcurrentHashMap``).

    ``usage``: what is compared with the overload limit, None where nobody has computed it yet. It is asked for at every
    placement and changes with the report only.
    """

    load: BrokerLoad
    long_term: TimeAverageMessageData = field(default_factory=lambda: TimeAverageMessageData(1))
    preallocated: Mapping[str, BundleData] = field(default_factory=dict)
    usage: float | None = None

    def is_overloaded(self, settings: LoadSettings, rules: LoadRules) -> bool:
        """Exactly at the limit it is not, while ``OverloadShedder`` would shed."""
        usage = overload_usage(self.load, settings, rules) if self.usage is None else self.usage
        return usage > settings.overload_limit


@dataclass(frozen=True, slots=True)
class Placement:
    """All brokers a strategy can answer, each as likely as the next; none for a bundle that stays without an owner."""

    answers: tuple[str, ...]
    reason: PlacementReason

    @property
    def chances(self) -> dict[str, float]:
        """How likely each answer is."""
        return {broker: 1 / len(self.answers) for broker in self.answers}

    def pick(self, seed: int, draw: int) -> str | None:
        """One of the answers; the same for the same seed and number of the draw. None when there is none.

        >>> Placement(("b:1", "b:2"), "least").pick(1, 0) in ("b:1", "b:2")
        True
        """
        if not self.answers:
            return None
        return self.answers[murmur3_32(f"{seed}/{draw}") % len(self.answers)]
