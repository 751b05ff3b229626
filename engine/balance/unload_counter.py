"""How often each reason led to an unload, a skip or a failure (``UnloadCounter``), which brokers print as metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

Label = Literal["Success", "Skip", "Failure"]


@dataclass(frozen=True, slots=True)
class UnloadCounter:
    """Counts by label and reason, unloaded bundles and brokers, and the last mean and deviation of all loads."""

    counts: Mapping[tuple[Label, str], int] = field(default_factory=dict)
    bundles: int = 0
    brokers: int = 0
    mean: float = 0.0
    deviation: float = 0.0

    def counted(self, label: Label, reason: str) -> UnloadCounter:
        """One more; a success is one more bundle as well.

        >>> UnloadCounter().counted("Skip", "HitCount").counts
        {('Skip', 'HitCount'): 1}
        """
        counts = {**self.counts, (label, reason): self.counts.get((label, reason), 0) + 1}
        return replace(self, counts=counts, bundles=self.bundles + (label == "Success"))

    def with_brokers(self, brokers: int) -> UnloadCounter:
        """So many more brokers unloaded something in one cycle."""
        return replace(self, brokers=self.brokers + brokers)

    def with_loads(self, mean: float, deviation: float) -> UnloadCounter:
        return replace(self, mean=mean, deviation=deviation)
