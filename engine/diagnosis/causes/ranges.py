"""Key_Shared as reported and as computed: hash ranges that no rule gives, and batches whose keys go together."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Final

from engine.config import BrokerSettings, ReleaseBehaviour, behaviour_of, default_settings
from engine.diagnosis.causes.worst import worst_of
from engine.diagnosis.model import Cause, Judgement, Setting, Verdict
from engine.diagnosis.seen import Dispatcher, SubscriptionSeen
from engine.errors import Rejection
from engine.keyshared.admission import KeySharedMode
from engine.keyshared.assembly import JoinRefused, assemble
from engine.keyshared.model import RANGE_SIZE, Consumer, RangesById, Selector
from engine.keyshared.name_indices import with_namesakes_gone
from engine.keyshared.ownership import impact_of
from engine.keyshared.ring import RingSelector
from engine.lint.words import counted
from engine.ranges import HashRange, join_neighbours

DIFFER: Final = "keyshared_ranges_differ"
BATCHES: Final = "keyshared_batches"
POINTS: Final = "subscriptionKeySharedConsistentHashingReplicaPoints"
RING: Final = "subscriptionKeySharedUseConsistentHashing"
_STICKY: Final = "STICKY"
_OTHER_RELEASES: Final = ("3.3.2", "3.2.3", "2.11.0")
"""One release for each older form of the ring."""


def ranges_differ(seen: SubscriptionSeen) -> Judgement:
    """Decide whether consumers report hash ranges that neither halving nor the ring gives for their names.

    Declared ranges are what clients say. Halves depend on who came and went, so any that tile all slots are right.
    Judged only where something waits: elsewhere nobody asks, and a ring takes time.
    """
    points = seen.limits.of_broker(POINTS)

    def decide(dispatcher: Dispatcher) -> Judgement:
        if dispatcher.sub.mode == _STICKY:
            return "ranges are declared by the clients"
        consumers, reported = _reported(dispatcher)
        if len(reported) < len(consumers) or not consumers:
            return "not every consumer reports ranges"
        if _tiles(reported):
            return "the halves of auto-split cover every slot once"
        computed = _ring(seen, consumers, {})
        if computed is None:
            return "so many consumers have no ring"
        if reported in (computed, _ring(seen, consumers, {}, namesakes=reported)):
            return "the ring gives the reported ranges"
        added = impact_of(reported, computed).added
        slots = sum(piece.size for pieces in added.values() for piece in pieces)
        names = {consumer.consumer_id: consumer.name for consumer in consumers}
        reason = _reason(seen, consumers, reported)
        return Cause(
            DIFFER,
            Verdict.CANNOT_TELL,
            f"{counted(slots, 'slot')} are reported for other consumers than the ring of these names gives; likeliest:"
            f" {reason}",
            dispatcher.topic,
            by=tuple(names[owner] for owner in sorted(added)),
            numbers=(("slots", slots), ("consumers", len(consumers)), ("consumers_with_others", len(added))),
            setting=points,
            fix="take another dump; if it stays so, compare the settings and releases of the brokers",
            fields=("keyHashRangeArrays", "keyHashRanges", "consumers[].consumerName"),
        )

    return worst_of(seen, decide)


def _reported(dispatcher: Dispatcher) -> tuple[tuple[Consumer, ...], RangesById]:
    """The consumers in the order of connecting, and the ranges of those that report some."""
    facts = list(dispatcher.sub.consumers)
    if all(consumer.connected_since for consumer in facts):
        facts.sort(key=lambda consumer: consumer.connected_since.rstrip("Z"))
    ranges = {
        number: join_neighbours(HashRange(start, end) for start, end in consumer.key_hash_ranges if start <= end)
        for number, consumer in enumerate(facts)
        if consumer.key_hash_ranges
    }
    return tuple(Consumer(number, consumer.name) for number, consumer in enumerate(facts)), ranges


def _tiles(reported: RangesById) -> bool:
    """Whether each consumer has one range and together they are 0 to 65536, as auto-split has them."""
    pieces = sorted(piece for those in reported.values() for piece in those)
    if len(pieces) != len(reported) or pieces[0].start != 0 or pieces[-1].end not in (RANGE_SIZE - 1, RANGE_SIZE):
        return False
    return all(later.start == earlier.end + 1 for earlier, later in pairwise(pieces))


def _ring(
    seen: SubscriptionSeen,
    consumers: tuple[Consumer, ...],
    changed: dict[str, int],
    *,
    release: str = "",
    namesakes: RangesById | None = None,
) -> RangesById | None:
    """The ranges that the ring gives, None where there can be none.

    With ``namesakes`` others of the same names had connected and left, as those ranges tell.
    """
    behaviour = behaviour_of(release) if release else seen.behaviour
    assert not isinstance(behaviour, Rejection), release
    settings: BrokerSettings = seen.limits.settings or default_settings(behaviour)
    settings = replace(settings, **{RING: True}, **changed)  # type: ignore[arg-type]
    if namesakes is None:
        return _ring_of(consumers, settings, behaviour)
    selector = assemble((), KeySharedMode.AUTO_SPLIT, settings, behaviour)
    if not isinstance(selector, RingSelector):
        return None
    return _joined(
        with_namesakes_gone(selector, consumers, [namesakes[consumer.consumer_id] for consumer in consumers])
    )


@lru_cache(maxsize=256)
def _ring_of(
    consumers: tuple[Consumer, ...], settings: BrokerSettings, behaviour: ReleaseBehaviour
) -> RangesById | None:
    """The same for the topics of one subscription, which mostly have the same consumers. Shared: do not change it."""
    selector = assemble(consumers, KeySharedMode.AUTO_SPLIT, settings, behaviour)
    return None if isinstance(selector, Rejection | JoinRefused) else _joined(selector)


def _joined(selector: Selector) -> RangesById:
    return {owner: join_neighbours(pieces) for owner, pieces in selector.ranges().items()}


def _reason(seen: SubscriptionSeen, consumers: tuple[Consumer, ...], reported: RangesById) -> str:
    """What explains the difference best, the surest first."""
    pieces = sorted(piece for those in reported.values() for piece in those)
    if any(earlier.end >= later.start for earlier, later in pairwise(pieces)):
        return "somebody joined or left while the answer was made, since two consumers report one slot"
    points = BrokerSettings().subscriptionKeySharedConsistentHashingReplicaPoints
    if _ring(seen, consumers, {POINTS: points}) == reported:
        return f"{POINTS} was {points} when the consumers connected"
    for release in _OTHER_RELEASES:
        if _ring(seen, consumers, {}, release=release) == reported:
            return f"the broker has the ring of Pulsar {release}"
    if _ring(seen, tuple(reversed(consumers)), {}) == reported:
        return "the consumers connected in another order than the answer says"
    return "somebody left or joined that this answer does not show yet, or another release"


def batches(seen: SubscriptionSeen) -> Judgement:
    """Tell that entries hold several messages: such a batch goes whole to the owner of its first key.

    Unless the producer batches by key (``BatcherBuilder.KEY_BASED``), which no answer says.
    """

    def decide(dispatcher: Dispatcher) -> Judgement:
        per_entry = max((consumer.avg_messages_per_entry or 0 for consumer in dispatcher.sub.consumers), default=0)
        if per_entry < _SEVERAL:
            return "entries hold one message each, so that each goes by its own key"
        return Cause(
            BATCHES,
            Verdict.BY_DESIGN,
            f"entries hold about {per_entry:,} messages: a batch goes whole to the owner of its first key, unless its"
            " producer batches by key; no answer says which batcher it has",
            dispatcher.topic,
            numbers=(("messages_per_entry", per_entry),),
            setting=Setting("batcherBuilder (client)", None, "BatcherBuilder.DEFAULT"),
            fix="use BatcherBuilder.KEY_BASED in producers of Key_Shared topics, or no batches",
            fields=("consumers[].avgMessagesPerEntry",),
        )

    return worst_of(seen, decide)


_SEVERAL: Final = 2
