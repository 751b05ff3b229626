"""What holds for all brokers."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.bundles.plan import LoadManager
from engine.config import CURRENT, BrokerSettings, ReleaseBehaviour


@dataclass(frozen=True, slots=True)
class World:
    """What holds for all brokers: settings, release, and the load manager where it is known.

    ``shedder`` and ``placement`` are the strategies of the modular one by their class names, "" where no answer says.
    """

    settings: BrokerSettings = field(default_factory=BrokerSettings)
    behaviour: ReleaseBehaviour = CURRENT
    load_manager: LoadManager | None = None
    shedder: str = ""
    placement: str = ""

    @property
    def flag_in_force(self) -> bool:
        """``activeConsumerFailoverConsistentHashing``, as far as the release knows it."""
        return (
            self.settings.activeConsumerFailoverConsistentHashing and self.behaviour.knows_failover_consistent_hashing
        )
