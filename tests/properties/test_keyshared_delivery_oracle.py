"""Delivery against the oracle, step by step: who gets which message, what waits, what drains, and until when."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import Rejection
from engine.hashing import murmur3_32
from engine.keyshared.delivery import acknowledge, advance_to, join, leave, publish
from engine.keyshared.delivery_state import Delivery, DeliveryState, DeliveryTerms, OrderRule
from engine.keyshared.model import Consumer, DeclaredRanges, Selector, SlotSpace
from engine.keyshared.sticky import sticky_selector
from tests.engine.keyshared.selectors import accepted, auto_split, ring
from tests.oracles.delivery import Dispatcher, Terms
from tests.oracles.selectors import AutoSplit, Ring, Sticky
from tests.oracles.selectors import Selector as OracleSelector

NAMES: Final = ("a", "b", "a", "c")
HALVES: Final[tuple[DeclaredRanges, ...]] = (
    ((0, 19_999),),
    ((20_000, 29_999), (50_000, 59_999)),
    ((30_000, 39_999),),
    ((60_000, 65_535), (19_000, 19_999)),
)
"""What each of four consumers declares where ranges are declared: 40000 .. 49999 is nobody's, the last clashes."""

ORDERS: Final = {
    "draining": OrderRule.DRAINING_HASHES,
    "recently-joined": OrderRule.RECENTLY_JOINED,
    "none": OrderRule.NONE,
}


def murmur(data: bytes) -> int:
    return murmur3_32(data)


@dataclass(frozen=True)
class Mode:
    """The same rules twice: for the engine and for the oracle."""

    name: str
    selector: Callable[[], Selector]
    oracle: Callable[[], OracleSelector]
    order: str
    takes_back: bool = True
    strict: bool = True
    declares: bool = False
    ownerless: Literal["waits", "stops-subscription"] = "waits"
    limits: tuple[tuple[int, int], tuple[int, int]] = ((2000, 20_000), (50_000, 200_000))


def narrow_ring() -> Selector:
    return ring(points=3, slots=SlotSpace(1, 15))


MODES: Final = (
    Mode("ring", narrow_ring, lambda: Ring(3, murmur, high=15), "draining"),
    Mode("ring up to 4.0.6", narrow_ring, lambda: Ring(3, murmur, high=15), "draining", takes_back=False),
    Mode("classic", narrow_ring, lambda: Ring(3, murmur, high=15), "recently-joined"),
    Mode("out of order", narrow_ring, lambda: Ring(3, murmur, high=15), "none", strict=False),
    Mode("auto-split", lambda: auto_split(16), lambda: AutoSplit(murmur, folds_zero=True, size=16), "draining"),
    Mode(
        "short look-ahead",
        lambda: auto_split(16),
        lambda: AutoSplit(murmur, folds_zero=True, size=16),
        "draining",
        limits=((2, 3), (0, 0)),
    ),
    Mode(
        "no look-ahead",
        lambda: auto_split(16),
        lambda: AutoSplit(murmur, folds_zero=True, size=16),
        "recently-joined",
        limits=((0, -1), (4, 5)),
    ),
    Mode(
        "no limit",
        lambda: auto_split(16),
        lambda: AutoSplit(murmur, folds_zero=True, size=16),
        "draining",
        limits=((0, 0), (0, 0)),
    ),
    Mode("sticky", lambda: accepted(sticky_selector()), lambda: Sticky(murmur), "none", declares=True),
    Mode(
        "strict sticky in 2.11",
        lambda: accepted(sticky_selector()),
        lambda: Sticky(murmur),
        "recently-joined",
        declares=True,
        ownerless="stops-subscription",
    ),
)

STEP = (
    st.tuples(st.just("toggle"), st.integers(0, 3))
    | st.tuples(st.just("publish"), st.integers(0, 23))
    | st.tuples(st.just("acknowledge"), st.integers(0, 30))
    | st.tuples(st.just("wait"), st.sampled_from([1, 9, 10, 11]))
)


class Both:
    """The engine and the oracle side by side."""

    def __init__(self, mode: Mode) -> None:
        (per_consumer, in_all), (unacked_each, unacked) = mode.limits
        terms = DeliveryTerms(
            order=ORDERS[mode.order],
            takes_back=mode.takes_back,
            keeps_slot_order=mode.strict,
            ownerless_key=mode.ownerless,
            unblocking_interval_ms=10,
            look_ahead_per_consumer=per_consumer,
            look_ahead=in_all,
            unacked_per_consumer=unacked_each,
            unacked=unacked,
        )
        self.mode = mode
        self.state = DeliveryState(terms, mode.selector())
        stops = mode.ownerless == "stops-subscription"
        oracle_terms = Terms(mode.order, mode.takes_back, mode.strict, stops, 10, mode.limits)
        self.oracle = Dispatcher(mode.oracle(), oracle_terms)
        self.now_ms = 0
        self.sent: list[tuple[int, int]] = []

    def take(self, delivery: Delivery) -> None:
        self.state = delivery.state
        self.sent += [(consumer.consumer_id, consumer.message.position) for consumer in delivery.sent]

    def toggle(self, number: int) -> None:
        if number in self.oracle.pending:
            self.take(leave(self.state, number, self.now_ms))
            self.oracle.leave(number, self.now_ms)
            return
        declared = HALVES[number] if self.mode.declares else None
        joined = join(self.state, Consumer(number, NAMES[number], declared), self.now_ms)
        taken = self.oracle.join(number, NAMES[number], declared, self.now_ms)
        assert taken != isinstance(joined, Rejection)
        if isinstance(joined, Rejection):
            joined = advance_to(self.state, self.now_ms)
        self.take(joined)

    def publish(self, number: int) -> None:
        keys = [bytes([each % 24]) for each in range(number, number + 3)]
        self.take(publish(self.state, keys, self.now_ms))
        self.oracle.publish(keys, self.now_ms)

    def acknowledge(self, at: int) -> None:
        held = sorted((position, owner) for owner, mine in self.oracle.pending.items() for position in mine)
        if held:
            position, owner = held[at % len(held)]
            self.take(acknowledge(self.state, owner, position, self.now_ms))
            self.oracle.acknowledge(owner, [position], self.now_ms)

    def wait(self, elapsed_ms: int) -> None:
        self.now_ms += elapsed_ms
        self.take(advance_to(self.state, self.now_ms))
        self.oracle.let_time_pass(self.now_ms)

    def compare(self) -> None:
        state, oracle = self.state, self.oracle
        assert self.sent == oracle.sent
        assert {owner: set(held) for owner, held in state.pending.items()} == oracle.pending
        assert {at: slot for held in state.pending.values() for at, slot in held.items()} == {
            at: oracle.slots[at] for held in oracle.pending.values() for at in held
        }
        assert (state.read_position, state.next_position) == (oracle.read_position, oracle.next_position)
        assert (set(state.replay), set(state.delayed)) == (oracle.replay, set())
        assert {at: message.key for at, message in state.backlog.items()} == oracle.unacked
        assert (state.read_due_ms, state.stopped_at is not None) == (oracle.due_ms, oracle.stopped)
        assert {slot: (each.consumer_id, each.unacked) for slot, each in state.draining.entries.items()} == {
            slot: (each.holder, each.count) for slot, each in oracle.draining.items()
        }
        assert dict(state.recently_joined.released(state.first_unacked).marks) == {
            number: mark for number, mark in oracle.marks.items() if mark > state.first_unacked
        }


@pytest.mark.parametrize("mode", MODES, ids=[mode.name for mode in MODES])
@settings(max_examples=60, deadline=None)
@given(steps=st.lists(STEP, max_size=40))
def test_every_step_is_that_of_the_oracle(mode: Mode, steps: list[tuple[str, int]]) -> None:
    both = Both(mode)
    both.toggle(0)
    for step, number in steps:
        getattr(both, step)(number)
        both.compare()
