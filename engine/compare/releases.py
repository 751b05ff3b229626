"""What a broker of another release does otherwise with the same state: rules that change, and defaults."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from engine.cluster.state import ClusterState
from engine.config import ReleaseBehaviour, release_number

THRESHOLD_SHEDDER: Final = "org.apache.pulsar.broker.loadbalance.impl.ThresholdShedder"
LEAST_LONG_TERM: Final = "org.apache.pulsar.broker.loadbalance.impl.LeastLongTermMessageRate"
AVG_SHEDDER: Final = "org.apache.pulsar.broker.loadbalance.impl.AvgShedder"
BUNDLES: Final = "defaultNumberOfNamespaceBundles"
SHEDDING: Final = "loadBalancerLoadSheddingStrategy"
PLACEMENT: Final = "loadBalancerLoadPlacementStrategy"
PER_CONSUMER: Final = "keySharedLookAheadMsgInReplayThresholdPerConsumer"
PER_SUBSCRIPTION: Final = "keySharedLookAheadMsgInReplayThresholdPerSubscription"
CLASSIC: Final = "subscriptionKeySharedUseClassicPersistentImplementation"
FLAG: Final = "activeConsumerFailoverConsistentHashing"


@dataclass(frozen=True, slots=True)
class ChangedDefault:
    """A setting whose default is another one from ``since`` on, by pull request ``source``."""

    name: str
    before: str
    after: str
    since: tuple[int, int, int]
    source: str


DEFAULTS_CHANGED: Final = (
    ChangedDefault(PER_CONSUMER, "2000", "4000", (5, 0, 0), "#25992"),
    ChangedDefault(PER_SUBSCRIPTION, "20000", "40000", (5, 0, 0), "#25992"),
    ChangedDefault(BUNDLES, "4", "32", (5, 0, 0), "#26610"),
    ChangedDefault(SHEDDING, THRESHOLD_SHEDDER, AVG_SHEDDER, (5, 0, 0), "#26609"),
    ChangedDefault(PLACEMENT, LEAST_LONG_TERM, AVG_SHEDDER, (5, 0, 0), "#26609"),
)
"""That they come with 5.0.0 is inferred from the dates at which they were merged."""


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
"""By rule and new form the setting that keeps the form before; of other rules there is only the new one."""
_TOLD_AS_DEFAULTS: Final = frozenset({"label", "look_ahead_defaults"})


def rule_changes(before: ReleaseBehaviour, after: ReleaseBehaviour) -> tuple[RuleChange, ...]:
    """The rules that differ between two releases, by their names in ``ReleaseBehaviour``.

    >>> from engine.config import behaviour_of
    >>> [each.name for each in rule_changes(behaviour_of("4.0.6"), behaviour_of("4.0.7"))]
    ['sticky_gaps', 'draining_takes_back']
    """
    changed = []
    for each in fields(ReleaseBehaviour):
        old, new = getattr(before, each.name), getattr(after, each.name)
        if old != new and each.name not in _TOLD_AS_DEFAULTS:
            changed.append(RuleChange(each.name, _text(old), _text(new), _KEEP.get((each.name, _text(new)), "")))
    return tuple(changed)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def defaults_changed(before: str, after: str) -> tuple[ChangedDefault, ...]:
    """The defaults that change from one version to another; going back, the other way round.

    >>> [each.after for each in defaults_changed("4.2.4", "5.0")], len(defaults_changed("4.0.7", "4.2.4"))
    (['4000', '40000', '32', 'org.apache.pulsar.broker.loadbalance.impl.AvgShedder', \
'org.apache.pulsar.broker.loadbalance.impl.AvgShedder'], 0)
    """
    old, new = release_number(before), release_number(after)
    forwards = tuple(each for each in DEFAULTS_CHANGED if old < each.since <= new)
    backwards = tuple(
        ChangedDefault(each.name, each.after, each.before, each.since, each.source)
        for each in DEFAULTS_CHANGED
        if new < each.since <= old
    )
    return forwards or backwards


def in_force(state: ClusterState, changed: ChangedDefault) -> str:
    """What a setting is in a state; "" for one that no state has."""
    return state.settings.text_of(changed.name) if hasattr(state.settings, changed.name) else ""
