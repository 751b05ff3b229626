"""What changes in another release with the same state: rules and defaults."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from engine.cluster.state import ClusterState
from engine.config import FLAG, ReleaseBehaviour
from engine.load_rules import LoadRules

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
    """A setting whose default differs between the releases; "" where a release does not have the setting."""

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
_NO_RULES: Final = frozenset({"label", "load", "defaults"})


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
        if old[name] != new[name]
    )


def _forms(behaviour: ReleaseBehaviour) -> dict[str, object]:
    """The form of every rule by its name, those of the load managers behind ``load.``."""
    names = [field.name for field in fields(ReleaseBehaviour) if field.name not in _NO_RULES]
    forms = {name: getattr(behaviour, name) for name in names}
    return forms | {f"{LOAD}{field.name}": getattr(behaviour.load, field.name) for field in fields(LoadRules)}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def defaults_changed(before: ReleaseBehaviour, after: ReleaseBehaviour) -> tuple[ChangedDefault, ...]:
    """The settings whose defaults differ between two releases, and those that only one of the two has.

    >>> from engine.config import behaviour_of
    >>> [change.name for change in defaults_changed(behaviour_of("4.2.4"), behaviour_of("4.2.5"))]
    ['dispatcherDispatchMessagesInSubscriptionThread']
    """
    return tuple(
        ChangedDefault(name, old.text, new.text)
        for (name, old), (_, new) in zip(before.defaults.entries, after.defaults.entries, strict=True)
        if old.value != new.value and name != FLAG  # a rule: knows_failover_consistent_hashing
    )


def in_force(state: ClusterState, changed: ChangedDefault) -> str:
    """The value of a setting in a state; "" for one that states do not have."""
    return state.settings.text_of(changed.name) if hasattr(state.settings, changed.name) else ""
