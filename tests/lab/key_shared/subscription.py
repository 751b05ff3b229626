"""One Key_Shared subscription as the model has it: who is connected, who owns what, which message went to whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from engine.config import BrokerSettings, default_settings
from engine.errors import Rejection
from engine.keyshared import delivery
from engine.keyshared.admission import SubscriptionTerms, delivery_terms, selector_for
from engine.keyshared.delivery_state import Delivery, DeliveryState, OrderRule
from engine.keyshared.entry_key import EntryMetadata, sticky_key
from engine.keyshared.model import Consumer, DeclaredRanges, Selector, owner_of_key
from tests.lab.judge import Judge
from tests.lab.key_shared.steps import MessageName

_NOW_MS: Final = 0
"""Scenarios tell no times: every message that goes out is acknowledged at once."""


class KeySharedBook:
    """``who`` are the scenario's own ids; ``sent_to`` tells for each message that went out the consumer it went to.

    ``settings`` are those in force for the topic. ``times_left`` counts consumers that left, ``times_empty`` those
    of them that were the last. ``refused`` says why there can be no selector.
    """

    def __init__(self, terms: SubscriptionTerms, judge: Judge, settings: BrokerSettings) -> None:
        self.terms = terms
        self.behaviour = judge.behaviour
        self.order = delivery_terms(terms, settings, judge.behaviour)
        self.sent_to: dict[MessageName, str] = {}
        self.times_left = 0
        self.times_empty = 0
        self.refused: Rejection | None = None
        self._names: dict[str, str] = {}
        self._who: dict[int, str] = {}
        self._messages: list[MessageName] = []
        self._after_stop: set[MessageName] = set()
        self._stopped = False
        selector = selector_for(terms.mode, settings, judge.behaviour)
        if isinstance(selector, Rejection):
            self.refused = selector
            selector = _default_selector(terms, judge)
        self._state = DeliveryState(self.order, selector)

    @property
    def selector(self) -> Selector:
        return self._state.selector

    @property
    def connected(self) -> tuple[str, ...]:
        """In the order they joined."""
        return tuple(self._who[each.consumer_id] for each in self.selector.consumers)

    def name_of(self, who: str) -> str:
        """The consumer's name; of somebody who never came the id itself."""
        return self._names.get(who, who)

    def who_is(self, consumer_id: int) -> str:
        """The scenario's id of a consumer of the selector."""
        return self._who[consumer_id]

    def ranges(self) -> dict[str, tuple[tuple[int, int], ...]]:
        """What statistics show for each of those connected."""
        shown = self.selector.ranges()
        return {
            self._who[each.consumer_id]: tuple((piece.start, piece.end) for piece in shown.get(each.consumer_id, ()))
            for each in self.selector.consumers
        }

    def slot_of(self, key: str) -> int:
        """The slot of a key that was given as text."""
        return self.selector.slots.slot_of_key(self._bytes_of(key))

    def owner_of(self, key: str) -> str | None:
        """Who has the slot of a key, whether or not something holds the key back."""
        owner = owner_of_key(self.selector, self._bytes_of(key))
        return None if owner is None else self._who[owner]

    def owner_of_slot(self, slot: int) -> str | None:
        """Who has a slot."""
        owner = self.selector.owner(slot)
        return None if owner is None else self._who[owner]

    def join(self, who: str, name: str, declared: DeclaredRanges | None) -> Rejection | None:
        """Let a consumer join; the refusal, if there is one, changes nothing."""
        number = max(self._who, default=-1) + 1
        joined = delivery.join(self._state, Consumer(number, name, declared), _NOW_MS)
        if isinstance(joined, Rejection):
            return joined
        self._who[number] = who
        self._names[who] = name
        self._take(joined)
        return None

    def leave(self, who: str) -> None:
        """Let a consumer go; when it is the last, nothing holds the subscription up any longer."""
        gone = next((each for each in self.selector.consumers if self._who[each.consumer_id] == who), None)
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
        """Whether the broker may take its time with what it lets go.

        Before 4.0 a key without owner slows the others down, or stops them: how much of the rest arrives in a step is
        a matter of time, and only what arrives tells its owner.
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
                self.sent_to[self._messages[sent.message.position]] = self._who[sent.consumer_id]
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


def _default_selector(terms: SubscriptionTerms, judge: Judge) -> Selector:
    selector = selector_for(terms.mode, default_settings(judge.behaviour), judge.behaviour)
    assert not isinstance(selector, Rejection), "the defaults are fine"
    return selector
