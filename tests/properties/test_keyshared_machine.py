"""Delivery in every mode as a machine: joins, leaves, messages, acknowledgements in any order, and time.

Few slots and few points, so that slots move, come back and drain all the time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from engine.keyshared.delivery import acknowledge, advance_to, join, leave, publish
from engine.keyshared.delivery_state import Delivery, DeliveryState, DeliveryTerms, OrderRule, waits
from engine.keyshared.model import Consumer, DeclaredRanges, Selector, SlotSpace
from engine.keyshared.ring import RingForm
from engine.keyshared.sticky import sticky_selector
from tests.engine.keyshared.selectors import accepted, auto_split, ring

NAMES: Final = ("a", "b", "a", "c")
QUARTERS: Final[tuple[DeclaredRanges, ...]] = (((0, 1), (8, 9)), ((2, 3), (10, 11)), ((4, 7),), ((12, 15),))
"""What each of the four consumers declares where ranges are declared; together all 16 slots."""

KEYS: Final = tuple(bytes([number]) for number in range(24))


@dataclass(frozen=True)
class Mode:
    """A way of sharing keys: an empty selector, its order rule, and whether consumers declare ranges."""

    name: str
    selector: Callable[[], Selector]
    order: OrderRule
    declares: bool = False

    @property
    def one_hand(self) -> bool:
        """Whether no slot is ever in two hands: PIP-379 promises it, and undraining sticky ranges never move."""
        return self.order is not OrderRule.RECENTLY_JOINED


MODES: Final = (
    Mode("ring", lambda: ring(points=3, slots=SlotSpace(1, 15)), OrderRule.DRAINING_HASHES),
    Mode("auto-split", lambda: auto_split(16), OrderRule.DRAINING_HASHES),
    Mode("classic ring", lambda: ring(points=3, slots=SlotSpace(1, 254)), OrderRule.RECENTLY_JOINED),
    Mode(
        "ring before 4.0",
        lambda: ring(points=3, form=RingForm.NAME_NUL_I, slots=SlotSpace(0, 255, folds_zero=False)),
        OrderRule.RECENTLY_JOINED,
    ),
    Mode("sticky", lambda: accepted(sticky_selector(16)), OrderRule.NONE, declares=True),
    Mode("strict sticky before 4.0", lambda: accepted(sticky_selector(16)), OrderRule.RECENTLY_JOINED, declares=True),
)


class DeliveryMachine(RuleBasedStateMachine):
    """One subscription; beside it, written down plainly: what was published, sent and acknowledged."""

    mode = MODES[0]
    takes_back = True
    order: OrderRule | None = None

    def __init__(self) -> None:
        super().__init__()
        self.now_ms = 0
        self.acknowledged: set[int] = set()
        self.due_ms: dict[int, int] = {}
        self.ever_sent: dict[int, int] = {}
        self.last_first_sent: dict[int, int] = {}
        self.state = DeliveryState(DeliveryTerms(), self.mode.selector())

    @initialize(
        max_unacked=st.sampled_from((0, 0, 1, 3)),
        look_ahead=st.sampled_from((2000, 2)),
        keys=st.lists(st.sampled_from(KEYS), min_size=6, max_size=12),
        number=st.integers(0, 3),
    )
    def start(self, max_unacked: int, look_ahead: int, keys: list[bytes], number: int) -> None:
        terms = DeliveryTerms(
            order=self.order or self.mode.order,
            takes_back=self.takes_back,
            max_unacked=max_unacked,
            look_ahead_per_consumer=look_ahead,
        )
        self.state = DeliveryState(terms, self.mode.selector())
        self.join(number)
        self.publish(keys=keys)

    def take(self, outcome: Delivery) -> None:
        self.state = outcome.state
        for sent in outcome.sent:
            position, slot = sent.message.position, sent.message.slot
            assert position not in self.acknowledged, "what is acknowledged is never sent again"
            assert self.due_ms.get(position, 0) <= self.now_ms, "a delayed message went out before its time"
            if position not in self.ever_sent and position not in self.due_ms:
                assert position > self.last_first_sent.get(slot, -1), "a key overtook itself"
                self.last_first_sent[slot] = position
            self.ever_sent[position] = sent.consumer_id

    @rule(keys=st.lists(st.sampled_from(KEYS), min_size=1, max_size=6))
    def publish(self, keys: list[bytes]) -> None:
        self.take(publish(self.state, keys, self.now_ms))

    @rule(keys=st.lists(st.sampled_from(KEYS), min_size=1, max_size=3), delay_ms=st.sampled_from((1, 5, 50)))
    def publish_delayed(self, keys: list[bytes], delay_ms: int) -> None:
        """Delayed messages may be overtaken by others of their key, and by each other."""
        before = self.state.next_position
        due_ms = self.now_ms + delay_ms
        self.due_ms.update(dict.fromkeys(range(before, before + len(keys)), due_ms))
        self.take(publish(self.state, keys, self.now_ms, deliver_at_ms=due_ms))

    @rule(number=st.integers(0, 3))
    def join_or_leave(self, number: int) -> None:
        if number in self.state.pending:
            self.take(leave(self.state, number, self.now_ms))
        else:
            self.join(number)

    def join(self, number: int) -> None:
        declared = QUARTERS[number] if self.mode.declares else None
        self.take(accepted(join(self.state, Consumer(number, NAMES[number], declared), self.now_ms)))

    @precondition(lambda self: any(self.state.pending.values()))
    @rule(at=st.integers(0, 50), oldest=st.booleans())
    def acknowledge(self, at: int, oldest: bool) -> None:
        """Any message that somebody holds, so also out of order."""
        held = sorted((position, owner) for owner, mine in self.state.pending.items() for position in mine)
        position, owner = held[0] if oldest else held[at % len(held)]
        self.acknowledged.add(position)
        self.take(acknowledge(self.state, owner, position, self.now_ms))

    @rule(at=st.integers(0, 50))
    def acknowledge_what_one_does_not_hold(self, at: int) -> None:
        before = self.state
        self.take(acknowledge(before, 9, at, self.now_ms))
        assert self.state.backlog == before.backlog

    @rule(passed_ms=st.sampled_from((1, 10, 100)))
    def advance(self, passed_ms: int) -> None:
        self.now_ms += passed_ms
        self.take(advance_to(self.state, self.now_ms))
        assert self.state.read_due_ms is None or self.state.read_due_ms > self.now_ms

    @invariant()
    def no_message_is_lost(self) -> None:
        """Every message is acknowledged, in exactly one hand, on the replay queue, delayed, or not read yet."""
        state = self.state
        held = [position for mine in state.pending.values() for position in mine]
        unread = range(state.read_position, state.next_position)
        assert sorted([*held, *state.replay, *state.delayed, *unread, *self.acknowledged]) == list(
            range(state.next_position)
        )
        assert set(state.backlog) == set(range(state.next_position)) - self.acknowledged

    @invariant()
    def no_slot_is_in_two_hands(self) -> None:
        hands: dict[int, int] = {}
        for owner, mine in self.state.pending.items():
            for slot in mine.values():
                assert not self.mode.one_hand or hands.setdefault(slot, owner) == owner

    @invariant()
    def nothing_newer_of_a_slot_is_out_while_something_older_of_it_waits(self) -> None:
        newest: dict[int, int] = {}
        for mine in self.state.pending.values():
            for position, slot in mine.items():
                newest[slot] = max(newest.get(slot, -1), position)
        for wait in waits(self.state):
            oldest = min(
                (message.position for message in wait.messages if message.position not in self.due_ms), default=None
            )
            assert not self.mode.one_hand or oldest is None or oldest > newest.get(wait.slot, -1)

    @invariant()
    def draining_is_a_plain_count(self) -> None:
        """What drains are exactly the messages in the hands of consumers that no longer own their slots."""
        expected: dict[int, tuple[int, int]] = {}
        if self.mode.order is OrderRule.DRAINING_HASHES:
            for owner, mine in self.state.pending.items():
                for slot in mine.values():
                    if self.state.selector.owner(slot) != owner:
                        expected[slot] = (owner, expected.get(slot, (owner, 0))[1] + 1)
        reported = {slot: (entry.consumer_id, entry.unacked) for slot, entry in self.state.draining.entries.items()}
        assert reported == expected

    @invariant()
    def what_is_kept_for_the_rules_belongs_to_somebody_connected(self) -> None:
        """L8: nothing outlives its consumer."""
        connected = set(self.state.pending)
        assert {number for number, _ in self.state.recently_joined.marks} <= connected
        assert set(self.state.draining.cleared_total) <= connected

    def teardown(self) -> None:
        """Once all consumers are there and everything is acknowledged, everything has been sent, and nothing drains."""
        for number in set(range(4)) - set(self.state.pending):
            self.join(number)
        for _ in range(2 * self.state.next_position + 2):
            if not self.state.backlog:
                break
            if any(self.state.pending.values()):
                self.acknowledge(at=0, oldest=True)
            self.advance(100)
        assert not self.state.backlog
        assert not self.state.draining.entries
        assert waits(self.state) == ()
        assert set(self.ever_sent) == set(range(self.state.next_position))


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_L5_L8_each_mode_keeps_keys_in_order_loses_nothing_and_drains(mode: Mode) -> None:
    machine = type("Machine", (DeliveryMachine,), {"mode": mode})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


@pytest.mark.parametrize("mutant", [{"order": OrderRule.NONE}, {"takes_back": False}], ids=["no draining", "#24736"])
def test_the_machine_catches_a_ring_that_does_not_drain_and_one_that_takes_no_slot_back(
    mutant: dict[str, object],
) -> None:
    machine = type("Mutant", (DeliveryMachine,), mutant)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=400,
                stateful_step_count=40,
                deadline=None,
                database=None,
                derandomize=True,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            ),
        )
