"""The same state under another release: owners, rules and defaults that change, and settings that keep the old way."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

from engine.cluster.commands import SetRelease
from engine.cluster.keys.state import SharingMode
from engine.cluster.state import ClusterState, behaviour_in
from engine.compare.releases import (
    BUNDLES,
    DIRECT_MEMORY,
    MEMORY,
    PLACEMENT,
    SHEDDING,
    ChangedDefault,
    RuleChange,
    defaults_changed,
    in_force,
    rule_changes,
)
from engine.compare.verdict import carried_out
from engine.config import behaviour_of
from engine.errors import Rejection
from engine.text import counted
from engine.views.comparing.difference import DifferenceView, difference_document, difference_view
from engine.views.keys.slice import keys_slice_by_key

FORMAT: Final = "ringside.upgrade/1"
_MEANINGS: Final = {
    "nonpartitioned_failover": "who is active for a topic that is not partitioned",
    "knows_failover_consistent_hashing": "whether the flag of PIP-392 is read; where it is on, the ring decides",
    "notices_on_nonpersistent_change": "whether consumers of non-persistent topics hear who is active",
    "split_algorithms": "which algorithms a broker accepts for splitting bundles",
    "exclusive_attempts": "how often a second Exclusive consumer tries",
    "key_shared_ring": "where the points of a Key_Shared ring are, so keys change their consumers",
    "sticky_gaps": "whether the gap between two sticky ranges of one consumer is served; unserved, its messages wait",
    "keyless_messages": "where messages without a key go",
    "key_shared_order": "what keeps a key in order while consumers come and go",
    "draining_takes_back": "whether a hash that returns to its consumer stops draining",
    "key_shared_folds_slot_zero": "whether slot 0 becomes 1",
    "ownerless_key": "what waits while a sticky slot has no owner",
    "unnamed_publishers": "how statistics add up publishers without a name",
    "serves_segment_statistics": "whether segments of scalable topics can be asked for their statistics one by one",
    "load.overload_usage": "whether the weights of resources count at the overload limit",
    "load.heap_memory_counts": "whether heap memory counts into the load of a broker",
    "load.forgets_brokers": "whether averages of brokers that left are dropped",
    "load.uniform_source": "which broker UniformLoadShedder takes bundles from",
    "load.uniform_slack": "by how many messages a bundle may exceed what UniformLoadShedder has left to move",
    "load.uniform_bytes_slack": "by how many bytes a bundle may exceed what UniformLoadShedder has left to move",
    "load.avg_shedder": "whether AvgShedder can be configured",
    "load.avg_destinations": "by what AvgShedder keeps the destination of a bundle",
    "load.avg_scores_whole": "whether AvgShedder takes scores less than 1 apart for equal",
    "load.restarts_idle_average": "whether the average of an idle broker begins anew",
    "load.round_robin": "whether RoundRobinBrokerSelector can be configured",
    "load.chooses_destination": "whether an unloaded bundle gets its next owner before it is unloaded",
    "load.system_namespace_shed": "whether bundles of pulsar/system are shed like others",
    "load.excluded_namespaces": "whether namespaces can be left out of shedding",
    "load.placements_kept": "which bundles placed on a broker still count there after its report",
    "load.extensible": "whether there is an extensible load manager",
    "load.shed_idle_bundles": "whether TransferShedder moves bundles without traffic",
    "load.bundles_compared": "how brokers choose the bundles that they report as the largest",
    "load.underloaded_by_throughput": "whether throughput counts where a broker is found idle",
    "load.old_bandwidth_spelling_only": "how the weights of bandwidth are spelt",
}
_FAILOVER: Final = frozenset({"nonpartitioned_failover", "knows_failover_consistent_hashing"})
_STICKY: Final = frozenset({"sticky_gaps", "ownerless_key"})


@dataclass(frozen=True, slots=True)
class RuleHere:
    """A rule that changes, and how many subscriptions here it concerns."""

    change: RuleChange
    meaning: str
    subscriptions: int


@dataclass(frozen=True, slots=True)
class DefaultHere:
    """A default that changes. ``in_force`` is the value here, "" where it is not known.

    ``follows`` is true where that is the old default: then it may not be set, and the new default replaces it unless
    ``keep`` is written into broker.conf.
    """

    change: ChangedDefault
    in_force: str
    follows: bool
    meaning: str
    keep: str


@dataclass(frozen=True, slots=True)
class GapHere:
    """A Key_Shared subscription whose slots without an owner change: messages of those wait."""

    subscription: str
    before: int
    after: int
    known_keys: int


@dataclass(frozen=True, eq=False, slots=True)
class UpgradeView:
    """``difference`` has the owners that change, with the settings as they are in force here."""

    source: str
    before: str
    after: str
    rules: tuple[RuleHere, ...]
    defaults: tuple[DefaultHere, ...]
    gaps: tuple[GapHere, ...]
    difference: DifferenceView


def upgrade_view(state: ClusterState, release: str, source: str) -> UpgradeView | Rejection:
    """The state under another release; refused for one that no rule knows."""
    behaviour = behaviour_of(release)
    if isinstance(behaviour, Rejection):
        return behaviour
    after = carried_out(state, SetRelease(release))
    if isinstance(after, Rejection):
        return after
    names = (f"Pulsar {state.release}", f"Pulsar {after.release}")
    return UpgradeView(
        source=source,
        before=state.release,
        after=after.release,
        rules=tuple(
            RuleHere(change, _MEANINGS[change.name], _concerned(state, change.name))
            for change in rule_changes(behaviour_in(state), behaviour)
        ),
        defaults=tuple(_default(state, change) for change in defaults_changed(behaviour_in(state), behaviour)),
        gaps=_gaps(state, after),
        difference=difference_view(state, after, names, one_history=True),
    )


def _concerned(state: ClusterState, rule: str) -> int:
    if rule in _FAILOVER:
        return len(state.subscriptions)
    if rule in _STICKY:
        return sum(subscription.mode.declares for subscription in state.key_subscriptions)
    if rule == "key_shared_ring":
        return sum(subscription.mode is SharingMode.CONSISTENT_AUTO_SPLIT for subscription in state.key_subscriptions)
    if rule.startswith(("key", "draining")):
        return len(state.key_subscriptions)
    return 0


def _default(state: ClusterState, change: ChangedDefault) -> DefaultHere:
    value = in_force(state, change)
    return DefaultHere(
        change=change,
        in_force=value,
        follows=value in ("", change.before),
        meaning=_meaning(state, change),
        keep=f"{change.name}={change.before}",
    )


def _meaning(state: ClusterState, change: ChangedDefault) -> str:
    if change.name == BUNDLES:
        now = len(state.namespaces)
        return f"namespaces made from then on; {counted(now, 'namespace')} here keep their bundles"
    if change.name in (SHEDDING, PLACEMENT):
        other = PLACEMENT if change.name == SHEDDING else SHEDDING
        return f"which bundles the modular load manager moves, and where to; it takes effect together with {other}"
    if change.name in (DIRECT_MEMORY, MEMORY):
        return "how much memory counts into the load of a broker"
    keys = counted(len(state.key_subscriptions), "Key_Shared subscription")
    return f"how many messages are read ahead of keys that wait, on {keys} here"


def _gaps(before: ClusterState, after: ClusterState) -> tuple[GapHere, ...]:
    gaps = []
    for subscription in before.key_subscriptions:
        was, now = keys_slice_by_key(before, subscription.key), keys_slice_by_key(after, subscription.key)
        if was is None or now is None or was.gaps.slot_count == now.gaps.slot_count:
            continue
        unowned = int((now.known.owners < 0).sum())
        gaps.append(GapHere(subscription.key, was.gaps.slot_count, now.gaps.slot_count, unowned))
    return tuple(gaps)


def upgrade_document(view: UpgradeView) -> dict[str, Any]:
    """An upgrade as plain values; ``difference`` is the document of ``diff``."""
    return {
        "format": FORMAT,
        "source": view.source,
        "before": view.before,
        "after": view.after,
        "rules": [
            asdict(rule.change) | {"meaning": rule.meaning, "subscriptions": rule.subscriptions} for rule in view.rules
        ],
        "defaults": [
            {
                "name": default.change.name,
                "before": default.change.before,
                "after": default.change.after,
                "in_force": default.in_force or None,
                "follows": default.follows,
                "meaning": default.meaning,
                "keep": default.keep,
            }
            for default in view.defaults
        ],
        "gaps": [asdict(gap) for gap in view.gaps],
        # One state under two releases: nothing was reported of the other one.
        "difference": {key: value for key, value in difference_document(view.difference).items() if key != "reported"},
    }
