"""The rules that answers are compared with: one release and one set of broker settings."""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.config import CURRENT, FLAG, BrokerSettings, ReleaseBehaviour, behaviour_of, default_settings
from engine.errors import Rejection
from engine.failover.choose import Rule, rule_in_force


@dataclass(frozen=True, slots=True)
class Rules:
    """What is taken as given while facts are compared."""

    behaviour: ReleaseBehaviour
    settings: BrokerSettings

    @property
    def consistent_hashing(self) -> bool:
        return self.settings.activeConsumerFailoverConsistentHashing

    def in_force(self, partition_index: int) -> Rule:
        """The rule that picks the active consumer; a negative index means that the topic is not partitioned."""
        return rule_in_force(partition_index, consistent_hashing=self.consistent_hashing, behaviour=self.behaviour)

    def described(self, partition_index: int) -> str:
        """The rule in force in words, for a difference."""
        rule = self.in_force(partition_index)
        if partition_index < 0:
            return f"{rule.value} (no partition, Pulsar {self.behaviour.label})"
        flag = "true" if self.consistent_hashing else "false"
        known = "" if self.behaviour.knows_failover_consistent_hashing else ", which this release does not know"
        return f"{rule.value} ({FLAG}={flag}{known}, Pulsar {self.behaviour.label})"

    def with_flag(self, flag: bool) -> Rules:
        return replace(self, settings=replace(self.settings, activeConsumerFailoverConsistentHashing=flag))


def defaults_of(version: str | None) -> BrokerSettings:
    """The settings of a broker of that version that sets none; those of the current release where it is unknown."""
    behaviour = behaviour_of(version) if version is not None else CURRENT
    return default_settings(CURRENT if isinstance(behaviour, Rejection) else behaviour)
