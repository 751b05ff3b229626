"""Who shares keys: a selector from the options, or a Key_Shared subscription of a recording or a saved session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from msgspec import structs

from engine.cluster.keys.state import KeySubscription, SharingMode, set_of
from engine.cluster.state import behaviour_in, subscription_keys
from engine.config import CURRENT, BrokerSettings, ReleaseBehaviour, behaviour_of, default_settings, ignored_setting
from engine.errors import InputError, accepted
from engine.keyshared.admission import JoinRefused, KeySharedMode, assemble
from engine.keyshared.consistent_sticky import node_ranges
from engine.keyshared.delivery_state import DeliveryState
from engine.keyshared.keys import EntryMetadata
from engine.keyshared.model import Consumer, DeclaredRanges, Selector
from engine.keyshared.ownership import OwnedSlots, keys_of, slots_by_consumer
from engine.routing.clients import KeyRouting, partition_of, partition_of_bytes
from engine.scenarios.opening import SETTING_IGNORED
from engine.views.keys.model import PartitionsView
from engine.views.keys.partitions import spread_of_keys
from engine.views.keys.path import KeyPath, key_path, routed_key
from engine.views.reported.model import ReportedView
from engine.views.reported.view import Reported, subject_of
from tui.cli.key_options import DEFAULT_POINTS, SharingChoice
from tui.cli.options import WhatIf
from tui.cli.output import accepted_option, say, say_problems
from tui.cli.producer_options import RoutingChoice
from tui.cli.session import applied, session_of
from tui.kit.session import Session
from tui.sources.consumer_files import NamedRanges, named_ranges, names_of_text, read_consumers, without_duplicates

KEY_NOTES: Final = "key-"
"""The prefixes of codes of notes on Key_Shared subscriptions."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """Who shares keys. ``subscription``, ``delivery`` and ``keys`` are those of a recording, if it is one.

    ``reported`` is what brokers said of it, with consumers in the order of the selector. ``dispatchers`` are those of
    its partitions, and ``partition`` the one that selector, delivery and report are of, None for all.
    """

    selector: Selector
    mode: SharingMode
    behaviour: ReleaseBehaviour
    source: str
    points: int = 0
    subscription: str = ""
    delivery: DeliveryState | None = None
    keys: Mapping[bytes, int] = field(default_factory=dict)
    reported: ReportedView | None = None
    session: Session | None = None
    dispatchers: tuple[DeliveryState, ...] = ()
    routing: KeyRouting | None = None
    partition: int | None = None

    @property
    def differs(self) -> bool:
        """Whether partitions have different owners of slots."""
        return any(each.selector != self.dispatchers[0].selector for each in set_of(self.dispatchers))

    def at(self, partition: int) -> Sharing:
        """The same of one partition alone, which is one of the recording's."""
        dispatcher = self.dispatchers[partition]
        assert self.session is not None, "it was recorded"
        reported = _reported(self.session, self.subscription, dispatcher.selector)
        return replace(self, selector=dispatcher.selector, delivery=dispatcher, reported=reported, partition=partition)


@dataclass(frozen=True, slots=True)
class Owned:
    """The slots of one consumer, and the ``known`` keys (with their messages) that it gets."""

    consumer: Consumer
    pieces: tuple[OwnedSlots, ...]
    keys: tuple[bytes, ...]
    known: Mapping[bytes, int]

    @property
    def slots(self) -> int:
        return sum(piece.count for piece in self.pieces)


def owned_by(who: Sharing, consumer: Consumer, known: Mapping[bytes, int]) -> Owned:
    """The slots and the known keys of a consumer. O(n log n + k log n) for k keys."""
    pieces = slots_by_consumer(who.selector)[consumer.consumer_id]
    return Owned(consumer, pieces, keys_of(who.selector, consumer.consumer_id, known), known)


def sharing_of(choice: SharingChoice, path: str | None) -> Sharing:
    """The sharing on the command line, or that recorded at ``path``. Raises ``InputError`` by option or file."""
    if path is None:
        of_recordings = (
            ("--subscription", choice.subscription),
            ("--topic", choice.about),
            ("--apply", choice.commands),
        )
        for option, given in of_recordings:
            if given:
                raise InputError(f"{option}: it belongs to a recording; name its PATH")
        return _invented(choice)
    if choice.invented is not None:
        raise InputError(f"{choice.invented}: {path} says who consumes; leave out one of the two")
    return _recorded(choice, path)


def way_of(who: Sharing, choice: RoutingChoice, metadata: EntryMetadata) -> tuple[Sharing, KeyPath | None]:
    """The way of a message to its partition, None without partitions, and who shares the keys of that partition.

    Partitions and routing are those of the recording where the options name none. Raises ``InputError``.
    """
    partitions, routing = _routed(who, choice)
    if routing is None:
        return who, None
    key = routed_key(metadata)
    partition = partition_of(key, routing, partitions)
    if partition is not None and partition < len(who.dispatchers):
        who = who.at(partition)
    return who, key_path(key, routing, partitions, who.selector if who.selector.consumers else None)


def spread_of(who: Sharing, choice: RoutingChoice, counts: Mapping[bytes, int]) -> PartitionsView | None:
    """How known keys are spread over partitions; None without. Raises ``InputError``."""
    partitions, routing = _routed(who, choice)
    if routing is None:
        return None
    selectors = tuple(dispatcher.selector for dispatcher in who.dispatchers)
    return spread_of_keys(selectors if len(selectors) == partitions else (who.selector,) * partitions, routing, counts)


def narrowed(who: Sharing, choice: RoutingChoice, partition: int | None) -> Sharing:
    """One partition alone; where none is named, the first, and it is said that others differ. Raises ``InputError``."""
    partitions, _ = _routed(who, choice)
    if partition is None:
        say(f"partition 0 of {partitions}; the others differ, and --partition N shows one of them")
    elif not partitions:
        raise InputError("--partition: the topic has none; give --partitions N, or a recording of a partitioned topic")
    elif partition >= partitions:
        raise InputError(f"--partition: {partition} is not one of 0 to {partitions - 1}")
    number = partition or 0
    return who.at(number) if number < len(who.dispatchers) else replace(who, partition=number)


def keys_at(who: Sharing, choice: RoutingChoice, counts: Mapping[bytes, int]) -> dict[bytes, int]:
    """The known keys that go to the partition that ``who`` is of. Raises ``InputError``."""
    partitions, routing = _routed(who, choice)
    assert routing is not None, "there are partitions"
    return {
        key: count for key, count in counts.items() if partition_of_bytes(key, routing, partitions) == who.partition
    }


def _routed(who: Sharing, choice: RoutingChoice) -> tuple[int, KeyRouting | None]:
    partitions = choice.partitions or len(who.dispatchers)
    if not partitions and choice.named is not None:
        raise InputError(f"{choice.named}: it decides the partition; give --partitions N too")
    if not partitions:
        return 0, None
    named = choice.client is not None or choice.hashing is not None or who.routing is None
    return partitions, choice.routing() if named else who.routing


def _invented(choice: SharingChoice) -> Sharing:
    behaviour, settings = _broker(choice)
    mode = SharingMode(choice.mode) if choice.mode is not None else None
    if mode is None and choice.ranges:
        mode = SharingMode.STICKY
    if mode is None:
        ring = settings.subscriptionKeySharedUseConsistentHashing
        mode = SharingMode.CONSISTENT_AUTO_SPLIT if ring else SharingMode.AUTO_SPLIT
    points = DEFAULT_POINTS if choice.points is None else choice.points
    if choice.points is not None and mode in (SharingMode.AUTO_SPLIT, SharingMode.STICKY):
        raise InputError(f"--points: there are none in the mode {mode.value}")
    settings = structs.replace(
        settings, subscriptionKeySharedUseConsistentHashing=mode is SharingMode.CONSISTENT_AUTO_SPLIT
    )
    if choice.points is not None:
        settings = structs.replace(settings, subscriptionKeySharedConsistentHashingReplicaPoints=points)
    consumers = _consumers(choice, mode, points)
    broker_mode = KeySharedMode.STICKY if mode.declares else KeySharedMode.AUTO_SPLIT
    selector = assemble(consumers, broker_mode, settings, behaviour)
    if isinstance(selector, JoinRefused):
        raise InputError(f"{_option(choice)}: {_name(selector.consumer)} cannot join: {selector.rejection.message}")
    selector = accepted_option(selector)
    points = points if mode is SharingMode.CONSISTENT_STICKY else 0
    return Sharing(selector, mode, behaviour, "the command line", points)


def _broker(choice: SharingChoice) -> tuple[ReleaseBehaviour, BrokerSettings]:
    behaviour = CURRENT if choice.pulsar is None else accepted(behaviour_of(choice.pulsar), f"--pulsar {choice.pulsar}")
    settings = default_settings(behaviour)
    for name, text in choice.settings:
        settings = accepted(settings.with_setting(name, text), f"--set {name}={text}")
        ignored = ignored_setting(name, behaviour)
        if ignored:
            say(ignored)
    return behaviour, settings


def _consumers(choice: SharingChoice, mode: SharingMode, points: int) -> list[Consumer]:
    """The consumers in the order they join, numbered from 1, with what they declare."""
    if choice.ranges and mode is not SharingMode.STICKY:
        raise InputError(f"--ranges: consumers declare none in the mode {mode.value}; take --mode sticky")
    named = _named(choice, mode)
    if mode is SharingMode.CONSISTENT_STICKY:
        ranges = accepted_option(node_ranges(points, max(len(named), 1)))
        named = [(name, tuple((piece.start, piece.end) for piece in ranges[at])) for at, (name, _) in enumerate(named)]
    return [
        Consumer(number, name, declared if mode.declares else None)
        for number, (name, declared) in enumerate(named, start=1)
    ]


def _named(choice: SharingChoice, mode: SharingMode) -> list[NamedRanges]:
    if choice.consumers is not None and choice.consumers_from is not None:
        raise InputError("--consumers and --consumers-from both say who consumes; leave out one of them")
    named: list[NamedRanges] | None = None
    if choice.consumers is not None:
        named = [(name, None) for name in names_of_text(choice.consumers, "--consumers")]
    elif choice.consumers_from is not None:
        with_ranges = mode is SharingMode.STICKY and not choice.ranges
        named = list(read_consumers(choice.consumers_from, with_ranges=with_ranges))
    declared = without_duplicates([named_ranges(text, "--ranges") for text in choice.ranges], "--ranges")
    if named is None:
        return list(declared.items())
    return _declaring(named, declared)


def _declaring(named: Sequence[NamedRanges], declared: Mapping[str, DeclaredRanges | None]) -> list[NamedRanges]:
    names = {name for name, _ in named}
    strange = next((name for name in declared if name not in names), None)
    if strange is not None:
        raise InputError(f"--ranges: {strange!r} is none of the consumers")
    return [(name, declared.get(name, ranges)) for name, ranges in named]


def _option(choice: SharingChoice) -> str:
    if choice.ranges:
        return "--ranges"
    return f"--consumers-from {choice.consumers_from}" if choice.consumers_from is not None else "--consumers"


def _name(consumer: Consumer) -> str:
    return repr(consumer.name if len(consumer.name) <= 60 else consumer.name[:60] + "...")


def recorded_session(choice: SharingChoice, path: str) -> Session:
    """What ``path`` holds, changed as the options say. Raises ``InputError``.

    Steps are read for the Key_Shared subscription that is meant, or the first one.
    """
    what_if = WhatIf(choice.settings, choice.pulsar, (), None, choice.about, choice.max_input)
    session = session_of(path, what_if)
    timeline = session.timeline
    for line in choice.commands:
        keys = subscription_keys(timeline.state)
        shared = [key_subscription.key for key_subscription in timeline.state.key_subscriptions]
        wanted = choice.subscription if choice.subscription in shared else shared[0] if shared else None
        timeline = applied(timeline, line, keys.index(wanted) if wanted is not None else 0)
    return structs.replace(session, timeline=timeline, subscription=0)


def _recorded(choice: SharingChoice, path: str) -> Sharing:

    session = recorded_session(choice, path)
    say_problems(session.problems)
    for note in session.notes:
        if note.code.startswith(KEY_NOTES) or note.code == SETTING_IGNORED:
            say(note.text)
    timeline = session.timeline
    subscription = chosen_subscription(timeline.state.key_subscriptions, choice.subscription, path)
    behaviour = behaviour_in(timeline.state)
    delivery = subscription.delivery
    return Sharing(
        delivery.selector,
        subscription.mode,
        behaviour,
        timeline.source,
        subscription.points,
        subscription.key,
        delivery,
        subscription.keys,
        _reported(session, subscription.key, delivery.selector),
        session,
        subscription.dispatchers if subscription.routing is not None else (),
        subscription.routing,
    )


def _reported(session: Session, key: str, selector: Selector) -> ReportedView | None:
    """What brokers reported about the subscription, None where they reported nothing."""
    reported, subject = Reported(session.seen), subject_of(session.timeline, key)
    if subject is None:
        return None
    rows = [(consumer.consumer_id, consumer.name) for consumer in selector.consumers]
    return reported.view(reported.last, structs.replace(subject, rows=rows), session.timeline.cursor)


def chosen_subscription(candidates: Sequence[KeySubscription], wanted: str | None, path: str) -> KeySubscription:
    """The Key_Shared subscription of that key or name, else the only one. Raises ``InputError``."""
    if not candidates:
        raise InputError(f"{path}: no Key_Shared subscription in it; name consumers with --consumers instead")
    listed = ", ".join(repr(candidate.key) for candidate in candidates[:8]) + (", ..." if len(candidates) > 8 else "")
    if wanted is None:
        if len(candidates) > 1:
            raise InputError(f"--subscription: which one? {path} has {listed}")
        return candidates[0]
    for names in ([candidate.key for candidate in candidates], [candidate.name for candidate in candidates]):
        if wanted in names:
            return candidates[names.index(wanted)]
    raise InputError(f"--subscription: there is no Key_Shared subscription {wanted!r}; {path} has {listed}")
