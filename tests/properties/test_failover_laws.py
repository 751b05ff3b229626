"""Laws of the Failover ring that must hold for every input: L1 history, L2 only the mover moves, L3 cover, L4, L5.

``tests/known_pulsar_bugs.md`` states the laws. They hold within one priority level. The spaces of 8, 11 and 16 bits
make points of different consumers meet.
"""

from __future__ import annotations

from hypothesis import find, given, settings
from hypothesis import strategies as st

from engine.failover.choose import choose, choose_many, sort_consumers
from engine.failover.handover import advance_to, connect, disconnect
from engine.failover.model import Consumer
from engine.failover.ring import FailoverRing, failover_points, scalar_ring
from engine.failover.state import Connection, DispatcherState, Notified, Outcome, Terms
from engine.hashing import HASH_SPACE_SIZE
from engine.ranges import HashRange, covers_exactly
from engine.ring import Ring
from tests.properties.ring_checks import check_ring
from tests.properties.strategies import cohorts, memberships, narrow_spaces, topics

SPACES = narrow_spaces() | st.just(HASH_SPACE_SIZE)


def owners(consumers: tuple[Consumer, ...], space: int) -> dict[int, int]:
    """The consumer id that owns each of (at most 512) evenly spaced hashes and of all points, by a ring built anew."""
    if not consumers:
        return {}
    order = sort_consumers(consumers)
    ring = FailoverRing(tuple(consumer.name for consumer in order), space)
    hashes = {*range(0, space, max(1, space // 512)), *ring.points.tolist()}
    return {value: order[ring.owner_index(value)].consumer_id for value in hashes}


@settings(max_examples=60, deadline=None)
@given(cohorts(), memberships(members=8), SPACES)
def test_L1_after_any_history_the_ring_is_the_one_built_from_the_survivors(
    members: tuple[Consumer, ...], toggles: list[int], space: int
) -> None:
    live = scalar_ring(space=space)
    connected: list[Consumer] = []
    for toggle in toggles:
        member = members[toggle % len(members)]
        if member in live:
            live.remove(member)
            connected.remove(member)
        else:
            live.add(member)
            connected.append(member)
    check_ring(live)
    for value, owner_id in owners(tuple(connected), space).items():
        hit = live.successor(value)
        assert hit is not None and hit.owner.consumer_id == owner_id


@settings(max_examples=60, deadline=None)
@given(cohorts(), st.data())
def test_L1_connect_order_matters_only_among_namesakes(members: tuple[Consumer, ...], data: st.DataObject) -> None:
    distinct = tuple({member.name: member for member in members}.values())
    shuffled = tuple(data.draw(st.permutations(distinct)))
    assert owners(distinct, 2**11) == owners(shuffled, 2**11)


@settings(max_examples=80, deadline=None)
@given(cohorts(), SPACES)
def test_L2_on_the_ring_only_the_mover_s_hashes_move(members: tuple[Consumer, ...], space: int) -> None:
    """Read forwards the last consumer joins and takes; read backwards it leaves and gives. Nobody else changes."""
    *rest, mover = members
    before, after = owners(tuple(rest), space), owners(members, space)
    for value in before.keys() & after.keys():
        assert after[value] in (before[value], mover.consumer_id)


@settings(max_examples=80, deadline=None)
@given(cohorts(levels=2), st.lists(topics(), min_size=1, max_size=20), st.data())
def test_L2_a_leaver_s_topics_are_the_only_ones_that_change_hands_under_the_ring(
    members: tuple[Consumer, ...], some: list[tuple[str, int]], data: st.DataObject
) -> None:
    """Also with levels: a standby of lower priority that leaves moves nothing at all."""
    leaver = data.draw(st.sampled_from(members))
    left = tuple(member for member in members if member != leaver)
    before = choose_many(members, some, consistent_hashing=True)
    after = choose_many(left, some, consistent_hashing=True)
    for was, now in zip(before, after, strict=False):
        assert was.active == leaver or now.active == was.active
    assert bool(after) == bool(left)


@settings(max_examples=40, deadline=None)
@given(cohorts(), st.sampled_from((2**8, 2**11)))
def test_L3_L4_ranges_cover_the_space_and_are_what_a_look_up_returns(members: tuple[Consumer, ...], space: int) -> None:
    """Exhaustive: every hash of the space, the incremental ring beside the immutable one."""
    order = sort_consumers(members)
    ring = FailoverRing(tuple(member.name for member in order), space)
    live = scalar_ring(space=space)
    for member in members:
        live.add(member)
    every = [piece for index in range(len(order)) for piece in ring.ranges_of(index)]
    assert covers_exactly(every, HashRange(0, space - 1))
    reported = {value: arc.owner for arc in ring.arcs() for value in range(arc.range.start, arc.range.end + 1)}
    assert [reported[value] for value in range(space)] == [ring.owner_index(value) for value in range(space)]
    walked = {value: live.successor(value) for value in range(space)}
    assert [hit and hit.owner for hit in walked.values()] == [order[reported[value]] for value in walked]


@settings(max_examples=60, deadline=None)
@given(cohorts(levels=2), memberships(members=8), topics(), st.booleans(), st.sampled_from((0, 1000)))
def test_L5_exactly_one_is_active_while_anybody_is_connected(
    members: tuple[Consumer, ...], toggles: list[int], topic: tuple[str, int], flag: bool, delay_ms: int
) -> None:
    """The dispatcher, step by step, agrees with a choice from its survivors; each round of notices names one active."""
    state = DispatcherState(Terms(*topic, consistent_hashing=flag, delay_ms=delay_ms))
    connected: list[Consumer] = []
    for now_ms, toggle in enumerate(toggles):
        member = members[toggle % len(members)]
        if member in connected:
            connected.remove(member)
            outcome = disconnect(state, member.consumer_id, now_ms * 400)
        else:
            connected.append(member)
            outcome = connect(state, Connection(member), now_ms * 400)
        assert isinstance(outcome, Outcome)
        later = advance_to(outcome.state, (now_ms + 1) * 400)
        state = later.state
        choice = choose(connected, *topic, consistent_hashing=flag)
        assert state.active_id == (choice.active.consumer_id if choice else None)
        assert tuple(connection.consumer for connection in state.connections) == (choice.order if choice else ())
        for effects in (outcome.effects, later.effects):
            reported = [effect for effect in effects if isinstance(effect, Notified)]
            assert [consumer.consumer_id for consumer in reported if consumer.is_active] in ([], [state.active_id])
            assert len(reported) in (0, 1, len(connected))


def test_L2_a_ring_that_numbers_its_points_by_position_is_caught() -> None:
    """The mutant hashes the index in the sorted list instead of the name: a join then moves bystanders."""

    def by_position(consumers: tuple[Consumer, ...]) -> dict[int, int]:
        ring: Ring[int] = Ring(lambda index: [point % 2**8 for point in failover_points(f"{index}-")], space=2**8)
        order = sort_consumers(consumers)
        for index in range(len(order)):
            ring.add(index)
        return {value: order[hit.owner].consumer_id for value in range(2**8) if (hit := ring.successor(value))}

    def breaks_the_law(members: tuple[Consumer, ...]) -> bool:
        *rest, mover = members
        before, after = by_position(tuple(rest)), by_position(members)
        return any(after[value] not in (owner, mover.consumer_id) for value, owner in before.items())

    assert len(find(cohorts(), breaks_the_law)) >= 2
