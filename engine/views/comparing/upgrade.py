"""The same state under another release: owners, rules, settings and faults that change, in numbers of this state."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Final, Literal

import numpy as np

from engine.admin.facts import Snapshot, total
from engine.admin.shed_inputs import ShedInputs, shed_inputs_of
from engine.answer import about
from engine.bulk_hashing import murmur3_bulk
from engine.cluster.commands import SetRelease
from engine.cluster.keys.state import SharingMode
from engine.cluster.state import ClusterState, behaviour_in
from engine.compare.releases import Changed, ChangeKind, defaults_changed, other_changes, rule_changes
from engine.compare.verdict import carried_out
from engine.config import DEFAULTS, ReleaseBehaviour, behaviour_of, release_of
from engine.errors import Rejection
from engine.keyshared.admission import uses_classic_dispatcher
from engine.keyshared.bulk import slots_bulk
from engine.names import NON_PERSISTENT, has_blank_ends
from engine.releases import CURRENT_RELEASE, Release
from engine.views.comparing.difference import DifferenceView, difference_view
from engine.views.comparing.upgrade_rows import CHANGES, RULES, SETTINGS, About, Ask
from engine.views.keys.moves import key_moves
from engine.views.keys.slice import KeysSlice, keys_slice_by_key

SAMPLE: Final = 10_000
"""Keys ``key-0``, ``key-1`` … that stand for all keys where consumers may change and keys are not known."""
_SYSTEM: Final = "pulsar/system"
_ABOUT: Final[Mapping[ChangeKind, Mapping[str, About]]] = {
    "rule": RULES,
    "setting": SETTINGS,
    "mended": CHANGES,
    "answers": CHANGES,
    "platform": CHANGES,
}
Effect = Literal["", "follows", "stays", "comes", "ignored"]


@dataclass(frozen=True, slots=True)
class UpgradeRow:
    """One thing that changes.

    ``count`` of ``counted`` is what it concerns here, None where the state does not say it. Of a setting, ``in_force``
    is the value here, None where it is not known, and ``effect`` what becomes of it: it ``follows`` the new default,
    since it has the old one and may not be set; it ``stays``, since it is set; it ``comes`` with the release, or is
    ``ignored`` by it. ``keep`` is the line of broker.conf that keeps the old way, "" for none,
    and ``source`` the pull requests.
    """

    kind: Annotated[
        ChangeKind, about("A rule, a setting, a fault that is mended, what answers have, or what a broker needs.")
    ]
    name: Annotated[str, about("Name of the rule or change here, or exact name of the setting.")]
    before: Annotated[str, about("Its form before; empty for a setting that the release does not have.")]
    after: Annotated[str, about("Its form after; empty for a setting that the release does not have.")]
    meaning: Annotated[str, about("What it decides.")]
    counted: Annotated[Ask, about("What is counted in this state; empty for nothing.")]
    count: Annotated[int | None, about("How many of them there are here; null where the state does not say it.", 0)]
    in_force: Annotated[str | None, about("Value of a setting here; null where it is not known.")]
    effect: Annotated[
        Effect,
        about("Of a setting: it follows the new default, stays as it is set, comes with the release, or is ignored."),
    ]
    keep: Annotated[str, about("The line of broker.conf that keeps the old way; empty for none.")]
    source: Annotated[str, about("Pull requests; empty where the release notes name none.")]


@dataclass(frozen=True, slots=True)
class GapHere:
    """A Key_Shared subscription whose slots without an owner change: messages of those wait."""

    subscription: Annotated[str, about("Its key.")]
    before: Annotated[int, about("Slots without an owner before.", 0)]
    after: Annotated[int, about("The same after.", 0)]
    known_keys: Annotated[int, about("Known keys without an owner after.", 0)]


@dataclass(frozen=True, slots=True)
class KeysHere:
    """A Key_Shared subscription whose keys get other owners, or are kept in order in another way.

    Slots are all of the hash space. ``known_moved`` of ``known_keys`` get another owner, and ``sample_moved`` of
    ``sample_keys`` keys that stand for all.
    """

    subscription: Annotated[str, about("Its key.")]
    consumers: Annotated[int, about("Connected consumers.", 0)]
    slots_before: Annotated[int, about("Slots of the hash space before.", 0)]
    slots_after: Annotated[int, about("Slots of the hash space after.", 0)]
    order_before: Annotated[str, about("What keeps keys in order before.")]
    order_after: Annotated[str, about("What keeps keys in order after.")]
    known_keys: Annotated[int, about("Keys that are known of it.", 0)]
    known_moved: Annotated[int, about("Known keys that get another owner.", 0)]
    sample_keys: Annotated[int, about("Sample keys key-0, key-1 and so on that stand for all.", 0)]
    sample_moved: Annotated[int, about("Sample keys that get another owner.", 0)]


@dataclass(frozen=True, slots=True)
class Shedding:
    """What the shedder of one release would do in so many cycles with the loads that brokers reported.

    ``busiest_over_average`` is of the weighted usage after them, None where brokers have no usage.
    """

    shedder: Annotated[str, about("The shedder in force.")]
    placement: Annotated[str, about("The placement in force; empty for the extensible load manager.")]
    unloads: Annotated[int, about("Bundles unloaded.", 0)]
    topics: Annotated[int, about("Topics interrupted.", 0)]
    msgs_per_sec: Annotated[float, about("Messages a second moved, in and out.")]
    bytes_per_sec: Annotated[float, about("Bytes a second moved, in and out.")]
    busiest_over_average: Annotated[
        float | None,
        about(
            "Weighted usage of the busiest broker over the average, after all cycles; null where brokers have no usage."
        ),
    ]


@dataclass(frozen=True, slots=True)
class LoadHere:
    """The forecast of shedding by either release; settings that have the old default get the new one."""

    brokers: Annotated[int, about("Brokers.", 0)]
    cycles: Annotated[int, about("Cycles of shedding.", 0)]
    before: Annotated[Shedding, about("By the release before.")]
    after: Annotated[Shedding, about("By the release after, where settings that have the old default get the new one.")]


@dataclass(frozen=True, eq=False, slots=True)
class UpgradeView:
    """The same state under another release."""

    FORMAT: ClassVar = "ringside.upgrade/2"

    source: Annotated[str, about("Where the state is from.")]
    before: Annotated[str, about("Pulsar version of the state.")]
    after: Annotated[str, about("Pulsar version that is asked about.")]
    rows: Annotated[tuple[UpgradeRow, ...], about("Everything that changes: rules, settings, faults and answers.")]
    keys: Annotated[
        tuple[KeysHere, ...],
        about("Key_Shared subscriptions whose keys get other owners or are kept in order in another way."),
    ]
    gaps: Annotated[tuple[GapHere, ...], about("Key_Shared subscriptions whose slots without an owner change.")]
    load: Annotated[
        LoadHere | None,
        about(
            "Shedding ahead by either release, with the loads that brokers reported; null without load reports, or"
            " where a release refuses the strategy."
        ),
    ]
    difference: Annotated[DifferenceView, about("Owners that change, as in ringside.diff/1.")]

    def of_kind(self, *kinds: ChangeKind) -> tuple[UpgradeRow, ...]:
        return tuple(row for row in self.rows if row.kind in kinds)


def upgrade_view(
    state: ClusterState, release: str, source: str, snapshots: Sequence[Snapshot] = ()
) -> UpgradeView | Rejection:
    """The state under another release, with what brokers reported; refused for a release that no rule knows."""
    behaviour = behaviour_of(release)
    if isinstance(behaviour, Rejection):
        return behaviour
    after = carried_out(state, SetRelease(release))
    if isinstance(after, Rejection):
        return after
    reported: dict[str, str] = {}
    for snapshot in snapshots:
        reported |= snapshot.configuration
    now = behaviour_in(state)
    load = _load(shed_inputs_of(snapshots), now, behaviour)
    here = _Here(state, load, _policies(snapshots))
    changes = (
        *rule_changes(now, behaviour),
        *defaults_changed(now, behaviour),
        *other_changes(_release(state.release), _release(release)),
    )
    names = (f"Pulsar {state.release}", f"Pulsar {after.release}")
    return UpgradeView(
        source=source,
        before=state.release,
        after=after.release,
        rows=tuple(_row(change, here, reported) for change in changes),
        keys=_keys(state, after),
        gaps=_gaps(state, after),
        load=load,
        difference=difference_view(state, after, names, one_history=True),
    )


def _policies(snapshots: Sequence[Snapshot]) -> int | None:
    owned = [snapshot.ownership for snapshot in snapshots if snapshot.ownership is not None]
    return len(owned[-1].isolation) if owned and "isolation" not in owned[-1].unknown else None


def _release(version: str) -> Release:
    release = release_of(version)
    return CURRENT_RELEASE if isinstance(release, Rejection) else release


def _row(change: Changed, here: _Here, reported: Mapping[str, str]) -> UpgradeRow:
    about = _ABOUT[change.kind][change.name]
    in_force = None
    if change.kind == "setting":
        in_force = here.state.settings.text_of(change.name) if change.name in DEFAULTS else reported.get(change.name)
    return UpgradeRow(
        kind=change.kind,
        name=change.name,
        before=change.before,
        after=change.after,
        meaning=about.meaning,
        counted=about.asks,
        count=_COUNTS[about.asks](here) if about.asks else None,
        in_force=in_force,
        effect=_effect(change, in_force),
        keep=change.keep,
        source=change.source,
    )


def _effect(change: Changed, in_force: str | None) -> Effect:
    if change.kind != "setting":
        return ""
    if not change.after:
        return "ignored"
    if not change.before:
        return "comes"
    return "follows" if in_force in (None, change.before) else "stays"


@dataclass(frozen=True, slots=True)
class _Here:
    """What rows count."""

    state: ClusterState
    load: LoadHere | None
    policies: int | None


def _keys_of(*modes: SharingMode) -> Callable[[_Here], int]:
    return lambda here: sum(subscription.mode in modes for subscription in here.state.key_subscriptions)


def _system_bundles(here: _Here) -> int | None:
    known = here.state.namespaces.get(_SYSTEM)
    return None if known is None else len(known.boundaries) - 1


def _classic(here: _Here) -> int:
    is_classic = uses_classic_dispatcher(here.state.settings, behaviour_in(here.state))
    return len(here.state.key_subscriptions) if is_classic else 0


def _non_persistent(here: _Here) -> int:
    subscriptions = here.state.subscriptions
    return sum(any(topic.startswith(NON_PERSISTENT) for topic in one.topics) for one in subscriptions)


def _unacked(here: _Here) -> int | None:
    return total(load.unacked_messages for load in here.state.loads.values())


_COUNTS: Final[Mapping[Ask, Callable[[_Here], int | None]]] = {
    "Failover subscriptions": lambda here: len(here.state.subscriptions),
    "topics without partitions": lambda here: int((here.state.topics.partitions == 0).sum()),
    "subscriptions of non-persistent topics": _non_persistent,
    "partitioned topics": lambda here: int((here.state.topics.partitions > 0).sum()),
    "partitioned topics with white space at an end": lambda here: sum(
        topic.partitions > 0 and has_blank_ends(topic.name.rpartition("/")[2]) for topic in here.state.topics.values()
    ),
    "Key_Shared subscriptions": lambda here: len(here.state.key_subscriptions),
    "Key_Shared subscriptions on a ring": _keys_of(SharingMode.CONSISTENT_AUTO_SPLIT),
    "Key_Shared subscriptions with declared ranges": _keys_of(SharingMode.STICKY, SharingMode.CONSISTENT_STICKY),
    "Key_Shared subscriptions in the classic dispatcher": _classic,
    "unacknowledged messages": _unacked,
    "namespaces": lambda here: len(here.state.namespaces),
    "bundles": lambda here: sum(len(one.boundaries) - 1 for one in here.state.namespaces.values()),
    "bundles of pulsar/system": _system_bundles,
    "topics": lambda here: len(here.state.topics),
    "scalable topics": lambda here: len(here.state.scalable_topics),
    "segments": lambda here: sum(len(one.running.layout.segments) for one in here.state.scalable_topics),
    "brokers": lambda here: None if here.load is None else here.load.brokers,
    "isolation policies": lambda here: here.policies,
    "unloads": lambda here: None if here.load is None else here.load.after.unloads,
}


def _load(inputs: ShedInputs | None, before: ReleaseBehaviour, after: ReleaseBehaviour) -> LoadHere | None:
    if inputs is None:
        return None
    from engine.views.brokers.model import CYCLES

    usual = {name: default.text for name, default in before.defaults.entries}
    rest = {name: text for name, text in inputs.settings.items() if text != usual.get(name)}
    was, now = _shedding(inputs, before), _shedding(replace(inputs, settings=rest), after)
    return None if was is None or now is None else LoadHere(len(inputs.loads), CYCLES, was, now)


def _shedding(inputs: ShedInputs, behaviour: ReleaseBehaviour) -> Shedding | None:
    from engine.views.brokers.model import BrokersQuestion
    from engine.views.brokers.view import brokers_input, forecast_of, shedder_of

    ahead = forecast_of(brokers_input(inputs, behaviour.label), BrokersQuestion())
    if isinstance(ahead, Rejection):
        return None
    even = ahead.after.usage.max_over_mean
    is_modular = ahead.start.load_manager == "modular"
    return Shedding(
        shedder=shedder_of(ahead),
        placement=ahead.start.settings.loadBalancerLoadPlacementStrategy if is_modular else "",
        unloads=len(ahead.moves),
        topics=sum(move.topics for move in ahead.moves),
        msgs_per_sec=sum(move.msgs_per_sec for move in ahead.moves),
        bytes_per_sec=sum(move.bytes_per_sec for move in ahead.moves),
        busiest_over_average=even if math.isfinite(even) else None,
    )


def _keys(before: ClusterState, after: ClusterState) -> tuple[KeysHere, ...]:
    keys = []
    for subscription in before.key_subscriptions:
        was, now = keys_slice_by_key(before, subscription.key), keys_slice_by_key(after, subscription.key)
        if was is None or now is None or not was.selector.consumers:
            continue
        here = KeysHere(
            subscription=subscription.key,
            consumers=len(was.selector.consumers),
            slots_before=was.slot_count,
            slots_after=now.slot_count,
            order_before=was.subscription.delivery.terms.order.value,
            order_after=now.subscription.delivery.terms.order.value,
            known_keys=len(was.known.keys),
            known_moved=int(key_moves(was, now).keys.sum()),
            sample_keys=SAMPLE,
            sample_moved=_moved_of_sample(was, now),
        )
        if here.sample_moved or here.known_moved or here.order_before != here.order_after:
            keys.append(here)
    return tuple(keys)


def _moved_of_sample(was: KeysSlice, now: KeysSlice) -> int:
    hashes = murmur3_bulk([f"key-{number}" for number in range(SAMPLE)])
    old, new = (_owners(side, hashes) for side in (was, now))
    return int((old != new).sum())


def _owners(side: KeysSlice, hashes: Any) -> Any:
    slots = slots_bulk(hashes, side.selector.slots)
    if not side.pieces.shared:
        return side.pieces.owners_at(slots)
    # Where consumers share points, only the look-up knows whose turn a slot is.
    owners = [side.selector.owner(slot) for slot in slots.tolist()]
    return np.array([-1 if owner is None else owner for owner in owners], dtype=np.int64)


def _gaps(before: ClusterState, after: ClusterState) -> tuple[GapHere, ...]:
    gaps = []
    for subscription in before.key_subscriptions:
        was, now = keys_slice_by_key(before, subscription.key), keys_slice_by_key(after, subscription.key)
        if was is None or now is None or was.gaps.slot_count == now.gaps.slot_count:
            continue
        unowned = int((now.known.owners < 0).sum())
        gaps.append(GapHere(subscription.key, was.gaps.slot_count, now.gaps.slot_count, unowned))
    return tuple(gaps)
