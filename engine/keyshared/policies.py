"""The modes of Key_Shared that traces are computed under, and the selector of each mode for a list of consumers."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from msgspec.structs import replace

from engine.config import BrokerSettings, ReleaseBehaviour
from engine.errors import InputError, Rejection
from engine.keyshared.admission import JoinRefused, KeySharedMode, assemble, selector_for
from engine.keyshared.consistent_sticky import node_ranges
from engine.keyshared.model import Consumer, Selector, SlotSpace


class KeyPolicy(Enum):
    """The modes by their names in the tables. The last is a technique of clients: to the broker it is ``sticky``."""

    AUTO_SPLIT = "auto_split"
    CONSISTENT_AUTO_SPLIT = "consistent_auto_split"
    STICKY = "sticky"
    CONSISTENT_STICKY = "consistent_sticky"

    @property
    def mode(self) -> KeySharedMode:
        sticky = self in (KeyPolicy.STICKY, KeyPolicy.CONSISTENT_STICKY)
        return KeySharedMode.STICKY if sticky else KeySharedMode.AUTO_SPLIT


def key_policies_of(text: str) -> tuple[KeyPolicy, ...]:
    """Parse a comma-separated list of modes, or ``all``. Raises ``InputError`` for an unknown mode.

    >>> [policy.value for policy in key_policies_of("auto_split, sticky")]
    ['auto_split', 'sticky']
    """
    if text.strip() == "all":
        return tuple(KeyPolicy)
    known = {policy.value: policy for policy in KeyPolicy}
    words = [word.strip() for word in text.split(",") if word.strip()]
    wrong = [word for word in words if word not in known]
    if wrong or not words:
        raise InputError(f"{(wrong or ['nothing'])[0]} is not a mode; known are {', '.join(known)}, all")
    return tuple(dict.fromkeys(known[word] for word in words))


def settings_under(policy: KeyPolicy, settings: BrokerSettings) -> BrokerSettings:
    """The brokers' settings, with consistent hashing on or off as the mode requires."""
    consistent = policy is KeyPolicy.CONSISTENT_AUTO_SPLIT
    return replace(settings, subscriptionKeySharedUseConsistentHashing=consistent)


def slot_space(policy: KeyPolicy, settings: BrokerSettings, behaviour: ReleaseBehaviour) -> SlotSpace:
    """The slots of a mode. Raises ``InputError`` where the settings allow no selector."""
    empty = selector_for(policy.mode, settings_under(policy, settings), behaviour)
    if isinstance(empty, Rejection):
        raise InputError(str(empty))
    return empty.slots


def selector_of(
    policy: KeyPolicy, consumers: Sequence[Consumer], settings: BrokerSettings, behaviour: ReleaseBehaviour
) -> Selector | str | None:
    """The selector of consumers that joined in this order, or a sentence why a broker refuses one of them.

    None where the mode does not apply: ``sticky`` without declared ranges. For ``consistent_sticky`` the n-th consumer
    is node n - 1, with as many points as the broker's ring has.
    """
    asked = tuple(consumers)
    if policy is KeyPolicy.STICKY and any(consumer.declared is None for consumer in asked):
        return None
    if policy is KeyPolicy.CONSISTENT_STICKY:
        ranges = node_ranges(settings.subscriptionKeySharedConsistentHashingReplicaPoints, len(asked))
        if isinstance(ranges, Rejection):
            return ranges.message
        asked = tuple(
            replace(consumer, declared=tuple((piece.start, piece.end) for piece in pieces))
            for consumer, pieces in zip(asked, ranges, strict=True)
        )
    selector = assemble(asked, policy.mode, settings_under(policy, settings), behaviour)
    if isinstance(selector, JoinRefused):
        return f"{selector.consumer.name!r} cannot join: {selector.rejection.message}"
    return selector.message if isinstance(selector, Rejection) else selector
