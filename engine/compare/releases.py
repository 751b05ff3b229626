"""What changes in another release with the same state: rules and defaults."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from engine.cluster.state import ClusterState
from engine.config import FLAG, ReleaseBehaviour
from engine.load_rules import LoadRules

IMPL: Final = "org.apache.pulsar.broker.loadbalance.impl."
"""The packages of shedders and placement strategies."""
BUNDLES: Final = "defaultNumberOfNamespaceBundles"
SHEDDING: Final = "loadBalancerLoadSheddingStrategy"
PLACEMENT: Final = "loadBalancerLoadPlacementStrategy"
DIRECT_MEMORY: Final = "loadBalancerDirectMemoryResourceWeight"
MEMORY: Final = "loadBalancerMemoryResourceWeight"
PER_CONSUMER: Final = "keySharedLookAheadMsgInReplayThresholdPerConsumer"
PER_SUBSCRIPTION: Final = "keySharedLookAheadMsgInReplayThresholdPerSubscription"
CLASSIC: Final = "subscriptionKeySharedUseClassicPersistentImplementation"


@dataclass(frozen=True, slots=True)
class ChangedDefault:
    """A setting whose default differs between the releases."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class RuleChange:
    """A field of ``ReleaseBehaviour`` that differs; ``keep`` is a line of broker.conf that keeps the old way, "" for
    none.
    """

    name: str
    before: str
    after: str
    keep: str


_KEEP: Final = {
    ("knows_failover_consistent_hashing", "true"): f"{FLAG}=false",
    ("key_shared_order", "draining-hashes"): f"{CLASSIC}=true",
}
"""(Rule, new form) -> the setting that keeps the old form; other rules have only the new form."""
LOAD: Final = "load."
"""How the rules of the load managers begin: they are a value of their own in ``ReleaseBehaviour``."""
_TOLD_AS_DEFAULTS: Final = frozenset(
    {
        "label",
        "look_ahead_defaults",
        "load.default_shedder",
        "load.default_placement",
        "load.default_bundles",
        "load.direct_memory_weight",
        "load.memory_weight",
    }
)


def rule_changes(before: ReleaseBehaviour, after: ReleaseBehaviour) -> tuple[RuleChange, ...]:
    """The rules that differ between two releases, by their names in ``ReleaseBehaviour``.

    >>> from engine.config import behaviour_of
    >>> [change.name for change in rule_changes(behaviour_of("4.0.6"), behaviour_of("4.0.7"))]
    ['sticky_gaps', 'draining_takes_back', 'load.bundles_compared']
    """
    old, new = _forms(before), _forms(after)
    return tuple(
        RuleChange(name, _text(old[name]), _text(new[name]), _KEEP.get((name, _text(new[name])), ""))
        for name in old
        if old[name] != new[name] and name not in _TOLD_AS_DEFAULTS
    )


def _forms(behaviour: ReleaseBehaviour) -> dict[str, object]:
    """The form of every rule by its name, those of the load managers behind ``load.``."""
    forms = {field.name: getattr(behaviour, field.name) for field in fields(ReleaseBehaviour) if field.name != "load"}
    return forms | {f"{LOAD}{field.name}": getattr(behaviour.load, field.name) for field in fields(LoadRules)}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def defaults_changed(before: ReleaseBehaviour, after: ReleaseBehaviour) -> tuple[ChangedDefault, ...]:
    """The settings whose defaults differ between two releases.

    >>> from engine.config import behaviour_of
    >>> [change.after.rpartition(".")[2] for change in defaults_changed(behaviour_of("4.2.4"), behaviour_of("5.0"))]
    ['4000', '40000', '32', 'AvgShedder', 'AvgShedder']
    """
    old, new = _defaults(before), _defaults(after)
    return tuple(ChangedDefault(name, old[name], new[name]) for name in old if old[name] != new[name])


def _defaults(behaviour: ReleaseBehaviour) -> dict[str, str]:
    per_consumer, per_subscription = behaviour.look_ahead_defaults
    return {
        PER_CONSUMER: str(per_consumer),
        PER_SUBSCRIPTION: str(per_subscription),
        BUNDLES: str(behaviour.load.default_bundles),
        SHEDDING: f"{IMPL}{behaviour.load.default_shedder}",
        PLACEMENT: f"{IMPL}{behaviour.load.default_placement}",
        DIRECT_MEMORY: str(behaviour.load.direct_memory_weight),
        MEMORY: str(behaviour.load.memory_weight),
    }


def in_force(state: ClusterState, changed: ChangedDefault) -> str:
    """The value of a setting in a state; "" for one that states do not have."""
    return state.settings.text_of(changed.name) if hasattr(state.settings, changed.name) else ""
