"""When each load manager looks again: the settings of ``ServiceConfiguration`` that give cycles their times."""

# The names are Pulsar's own, as in engine.config.
# ruff: noqa: N815

from __future__ import annotations

from dataclasses import dataclass

from engine.bundles.plan import LoadManager
from engine.errors import Rejection

MS_PER_MINUTE = 60_000


@dataclass(frozen=True, slots=True)
class BalanceSettings:
    """Intervals by their exact names, with Pulsar's defaults; what a cycle may do stands in ``BrokerSettings``.

    The first four matter to the modular load manager: how often a broker looks whether its report must be written (ms),
    by how many percent its totals must have moved for that, after how many minutes it is written at the latest, and
    after how many minutes the leader stores the averages, which takes one more sample of each bundle. The last one
    matters to the extensible one.
    """

    loadBalancerReportUpdateMinIntervalMillis: int = 5000
    loadBalancerReportUpdateThresholdPercentage: int = 10
    loadBalancerReportUpdateMaxIntervalMinutes: int = 15
    loadBalancerResourceQuotaUpdateIntervalMinutes: int = 15
    loadBalancerSplitIntervalMinutes: int = 1

    def interval_ms(self, load_manager: LoadManager) -> int:
        """From one cycle of steady traffic to the next, in milliseconds.

        >>> BalanceSettings().interval_ms("modular"), BalanceSettings().interval_ms("extensible")
        (900000, 60000)
        """
        if load_manager == "extensible":
            return self.loadBalancerSplitIntervalMinutes * MS_PER_MINUTE
        # A broker only looks every so often, so the longest interval is no shorter than that.
        return max(
            self.loadBalancerReportUpdateMaxIntervalMinutes * MS_PER_MINUTE,
            self.loadBalancerReportUpdateMinIntervalMillis,
        )

    def check(self) -> Rejection | None:
        """None when every interval is above 0; Pulsar's timers refuse others (IllegalArgumentException)."""
        for name in (
            "loadBalancerReportUpdateMinIntervalMillis",
            "loadBalancerReportUpdateMaxIntervalMinutes",
            "loadBalancerResourceQuotaUpdateIntervalMinutes",
            "loadBalancerSplitIntervalMinutes",
        ):
            if getattr(self, name) <= 0:
                message = f"an interval of {getattr(self, name)} is no time between two cycles: give 1 or more"
                return Rejection("IllegalArgumentException", message, field=name)
        return None
