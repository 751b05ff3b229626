"""One Key_Shared subscription in the model: who is connected, who owns what, and which message went to whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from engine.config import BrokerSettings, default_settings
from engine.errors import Rejection
from engine.keyshared import delivery
from engine.keyshared.admission import SubscriptionTerms, delivery_terms, selector_for
from engine.keyshared.delivery_state import Delivery, DeliveryState, OrderRule
from engine.keyshared.keys import EntryMetadata, sticky_key
from engine.keyshared.model import Consumer, DeclaredRanges, Selector, owner_of_key
from engine.verify.report import Rules
from tests.lab.key_shared.steps import MessageName

_NOW_MS: Final = 0
"""Scenarios have no times of messages: every message that goes out is acknowledged at once."""


class ModelledSubscription:
    """``sent_to``: message -> who it went to. ``times_left`` counts leaves, ``times_empty`` those that left nobody.

    Consumers have the scenario's own ids. ``settings`` are those in force for the topic. ``refused`` says why there is
    no selector.
    """

    def __init__(self, terms: SubscriptionTerms, rules: Rules, settings: BrokerSettings) -> None:
        self.terms = terms
        self.behaviour = rules.behaviour
        self.order = delivery_terms(terms, settings, rules.behaviour)
        self.sent_to: dict[MessageName, str] = {}
        self.times_left = 0
        self.times_empty = 0
        self.refused: Rejection | None = None
        self._names: dict[str, str] = {}
        self._ids: dict[int, str] = {}
        self._messages: list[MessageName] = []
        self._after_stop: set[MessageName] = set()
        self._stopped = False
        selector = selector_for(terms.mode, settings, rules.behaviour)
        if isinstance(selector, Rejection):
            self.refused = selector
            selector = _default_selector(terms, rules)
        self._state = DeliveryState(self.order, selector)

    @property
    def selector(self) -> Selector:
        return self._state.selector

    @property
    def connected(self) -> tuple[str, ...]:
        """The ids of those connected, in the order in which they joined."""
        return tuple(self._ids[consumer.consumer_id] for consumer in self.selector.consumers)

    def name_of(self, who: str) -> str:
        """The consumer's name; the id itself for one that never came."""
        return self._names.get(who, who)

    def ranges(self) -> dict[str, tuple[tuple[int, int], ...]]:
        """What statistics show for each of those connected."""
        shown = self.selector.ranges()
        return {
            self._ids[consumer.consumer_id]: tuple(
                (piece.start, piece.end) for piece in shown.get(consumer.consumer_id, ())
            )
            for consumer in self.selector.consumers
        }

    def slot_of(self, key: str) -> int:
        """The slot of a key that was given as text."""
        return self.selector.slots.slot_of_key(self._bytes_of(key))

    def owner_of(self, key: str) -> str | None:
        """Who owns the slot of a key, whether or not something holds the key back."""
        owner = owner_of_key(self.selector, self._bytes_of(key))
        return None if owner is None else self._ids[owner]

    def owner_of_slot(self, slot: int) -> str | None:
        """Who owns a slot."""
        owner = self.selector.owner(slot)
        return None if owner is None else self._ids[owner]

    def join(self, who: str, name: str, declared: DeclaredRanges | None) -> Rejection | None:
        """Let a consumer join; a refusal changes nothing."""
        number = max(self._ids, default=-1) + 1
        joined = delivery.join(self._state, Consumer(number, name, declared), _NOW_MS)
        if isinstance(joined, Rejection):
            return joined
        self._ids[number] = who
        self._names[who] = name
        self._take(joined)
        return None

    def leave(self, who: str) -> None:
        """Let a consumer go; when it is the last, nothing stops the subscription any longer."""
        gone = next((consumer for consumer in self.selector.consumers if self._ids[consumer.consumer_id] == who), None)
        if gone is None:
            return
        self.times_left += 1
        self._take(delivery.leave(self._state, gone.consumer_id, _NOW_MS))
        if not self.selector.consumers:
            self.times_empty += 1
            self._stopped = False
            self._after_stop.clear()

    def publish(self, round_name: str, keys: Sequence[str]) -> tuple[MessageName, ...]:
        """Send one message for each key; their names."""
        names = tuple((round_name, key) for key in keys)
        if self.behaviour.ownerless_key == "stops-subscription":
            for name in names:
                if self._stopped:
                    self._after_stop.add(name)
                self._stopped = self._stopped or self.owner_of(name[1]) is None
        self._messages += names
        self._take(delivery.publish(self._state, [self._bytes_of(key) for key in keys], _NOW_MS))
        return names

    def may_go(self, message: MessageName) -> bool:
        """Whether the model lets a message go: it has an owner, and no rule holds it back."""
        return message in self.sent_to and message not in self._after_stop

    @property
    def may_be_late(self) -> bool:
        """Whether the broker may take its time with messages that it lets go.

        Before 4.0 a key without owner slows the others down, or stops them. How much of the rest arrives in a step is a
        matter of time, so only messages that did arrive show their owner.
        """
        if self._stopped:
            return True
        waiting = any(self.selector.owner(message.slot) is None for message in self._state.backlog.values())
        return waiting and self.order.order is OrderRule.RECENTLY_JOINED and len(self.selector.consumers) > 1

    def _take(self, step: Delivery) -> None:
        """Note what was sent and acknowledge it, until nothing more goes out."""
        while step.sent:
            taken = {sent.message.position for sent in step.sent}
            for sent in step.sent:
                self.sent_to[self._messages[sent.message.position]] = self._ids[sent.consumer_id]
            step = delivery.publish(_without(step.state, taken), (), _NOW_MS)
        self._state = step.state

    def _bytes_of(self, key: str) -> bytes:
        return sticky_key(EntryMetadata(partition_key=key), self.behaviour).data


def _without(state: DeliveryState, positions: Iterable[int]) -> DeliveryState:
    gone = frozenset(positions)
    return replace(
        state,
        backlog={position: message for position, message in state.backlog.items() if position not in gone},
        pending={
            owner: {position: slot for position, slot in held.items() if position not in gone}
            for owner, held in state.pending.items()
        },
    )


def _default_selector(terms: SubscriptionTerms, rules: Rules) -> Selector:
    selector = selector_for(terms.mode, default_settings(rules.behaviour), rules.behaviour)
    assert not isinstance(selector, Rejection), "the defaults are valid"
    return selector
