"""A regression test for each known bug or question about Failover of ``tests/known_pulsar_bugs.md``."""

from __future__ import annotations

import pytest

from engine.config import ReleaseBehaviour, behaviour_of
from engine.failover.choose import Rule, choose_many
from engine.failover.explain import explain_choice
from engine.failover.handover import advance_to, connect, disconnect, flow, read_completed
from engine.failover.model import Consumer
from engine.failover.ring import POINTS_PER_CONSUMER, FailoverRing, failover_ring, scalar_ring
from engine.failover.state import (
    ActiveConsumerChanged,
    Connection,
    DispatcherState,
    EntriesDispatched,
    Notified,
    Outcome,
    Rewound,
    Terms,
)
from engine.hashing import murmur3_32, utf16_order
from engine.ring import OwnerPolicy, Ring
from tests.properties.ring_checks import check_ring


def consumers(count: int, prefix: str = "consumer-") -> tuple[Consumer, ...]:
    return tuple(Consumer(number, f"{prefix}{number:03}") for number in range(count))


def partitions(count: int, topic: str = "persistent://t/n/x") -> list[tuple[str, int]]:
    return [(f"{topic}-partition-{index}", index) for index in range(count)]


def active_ids(members: tuple[Consumer, ...], topics: list[tuple[str, int]], *, ring: bool) -> list[int]:
    return [choice.active.consumer_id for choice in choose_many(members, topics, consistent_hashing=ring)]


def done(outcome: object) -> Outcome:
    assert isinstance(outcome, Outcome), outcome
    return outcome


def numbered(count: int) -> tuple[str, ...]:
    return tuple(sorted((f"x-{number}" for number in range(count)), key=utf16_order))


def test_F01_a_hundred_topics_of_one_partition_pile_up_under_modulo_and_spread_on_the_ring() -> None:
    topics = [(f"persistent://t/n/topic-{number}-partition-0", 0) for number in range(100)]
    by_modulo = active_ids(consumers(10), topics, ring=False)
    assert [by_modulo.count(number) for number in range(10)] == [100] + [0] * 9
    by_ring = active_ids(consumers(10), topics, ring=True)
    assert all(by_ring.count(number) > 0 for number in range(10))


def test_F01_the_flag_switches_only_partitioned_topics() -> None:
    topics = [(f"persistent://t/n/topic-{number}", -1) for number in range(100)]
    assert active_ids(consumers(10), topics, ring=False) == active_ids(consumers(10), topics, ring=True)


def test_F02_non_partitioned_topics_use_the_ring_with_the_flag_off_and_pile_up_before_3_0() -> None:
    topics = [(f"persistent://t/n/topic-{number}", -1) for number in range(100)]
    now = choose_many(consumers(10), topics, consistent_hashing=False)
    assert {choice.rule for choice in now} == {Rule.RING}
    assert len({choice.active for choice in now}) == 10
    old = behaviour_of("2.11.0")
    assert isinstance(old, ReleaseBehaviour)
    before = choose_many(consumers(10), topics, consistent_hashing=False, behaviour=old)
    assert {choice.active.consumer_id for choice in before} == {0}


def test_F03_explain_shows_hash_point_owner_and_runner_up_also_where_the_ring_wraps() -> None:
    three = consumers(3)
    last_point = int(failover_ring(tuple(each.name for each in three)).points[-1])
    topic = next(
        name for number in range(100_000) if murmur3_32(name := f"persistent://t/n/topic-{number}") > last_point
    )
    why = explain_choice(three, topic, -1, consistent_hashing=False)
    assert why is not None and why.ring is not None
    first_point = int(failover_ring(tuple(each.name for each in three)).points[0])
    assert why.ring.wrapped and why.ring.point == first_point < last_point < why.topic_hash.value
    assert why.ring.distance == 2**31 - why.topic_hash.value + first_point
    assert why.ring.owned_by[0].consumer == why.active
    assert len({why.active, *why.heirs}) == 3


def test_F04_the_old_active_consumer_is_notified_and_messages_in_flight_may_come_twice() -> None:
    """B connects first and receives; A connects and takes over."""
    state = DispatcherState(Terms("persistent://t/n/x-partition-0", 0, delay_ms=1000))
    state = done(connect(state, Connection(Consumer(2, "B")), 0)).state
    state = flow(advance_to(state, 1000).state, 2, 3).state
    sent = read_completed(state, 3)
    assert sent.effects == (EntriesDispatched(2, (0, 1, 2)),)
    change = done(connect(sent.state, Connection(Consumer(1, "A")), 1500))
    assert change.state.active_id == 1
    task = advance_to(change.state, 2500)
    assert task.effects == (Rewound(0, (0, 1, 2)), Notified(1, True), Notified(2, False))


def test_F05_messages_at_risk_are_the_unacknowledged_ones_of_topics_that_change_hands() -> None:
    """Two partitions have unacknowledged messages; only the one that moves to the newcomer sends them again."""
    at_risk: dict[int, tuple[int, ...]] = {}
    for index in (0, 1):
        state = DispatcherState(Terms(f"persistent://t/n/x-partition-{index}", index, delay_ms=0))
        state = flow(done(connect(state, Connection(Consumer(1, "a")))).state, 1, 2).state
        state = read_completed(state, 2).state
        effects = done(connect(state, Connection(Consumer(2, "b")))).effects
        at_risk[index] = sum((effect.sent_again for effect in effects if isinstance(effect, Rewound)), ())
    assert at_risk == {0: (), 1: (0, 1)}


def test_F06_a_flapping_consumer_moves_bystanders_under_modulo_and_never_on_the_ring() -> None:
    """The alphabetically first consumer leaves and returns 1,000 times: count the topics whose active one changes."""
    flapping, *rest = consumers(10)
    topics = partitions(50)
    handovers = {True: 0, False: 0}
    between_bystanders = {True: 0, False: 0}
    for ring in (True, False):
        states = {
            True: active_ids((flapping, *rest), topics, ring=ring),
            False: active_ids(tuple(rest), topics, ring=ring),
        }
        connected = True
        for _ in range(1000):
            before, connected = states[connected], not connected
            changed = [pair for pair in zip(before, states[connected], strict=True) if pair[0] != pair[1]]
            handovers[ring] += len(changed)
            between_bystanders[ring] += sum(flapping.consumer_id not in pair for pair in changed)
    own_topics = active_ids((flapping, *rest), topics, ring=True).count(flapping.consumer_id)
    assert handovers[True] == 1000 * own_topics and between_bystanders[True] == 0
    assert handovers[False] > 5 * handovers[True] and between_bystanders[False] > 0


@pytest.mark.parametrize("delay_ms", [0, 1000])
def test_F07_all_leave_and_one_returns_exactly_one_is_active(delay_ms: int) -> None:
    state = DispatcherState(Terms("persistent://t/n/x", -1, delay_ms=delay_ms))
    for number in (1, 2, 3):
        state = done(connect(state, Connection(Consumer(number, f"c{number}")), number)).state
    for number in (2, 3, 1):
        state = done(disconnect(state, number, 10 + number)).state
    assert state.active_id is None and state.connections == ()
    returned = done(connect(state, Connection(Consumer(4, "c2")), 20))
    assert returned.state.active_id == 4
    result = [*returned.effects, *advance_to(returned.state, 5000).effects]
    assert [each for each in result if isinstance(each, Notified)] == [Notified(4, True)]


@pytest.mark.parametrize("topic", [("persistent://t/n/x", -1), ("persistent://t/n/x-partition-3", 3)])
@pytest.mark.parametrize("ring", [False, True])
def test_F08_only_the_lowest_level_takes_part_on_every_kind_of_topic(topic: tuple[str, int], ring: bool) -> None:
    members = (Consumer(1, "a", 1), Consumer(2, "b", 1), Consumer(3, "z", 0), Consumer(4, "y", 2))
    (choice,) = choose_many(members, [topic], consistent_hashing=ring)
    assert choice.active.consumer_id == 3 and choice.cohort_size == 1
    (choice,) = choose_many((*members[:2], members[3]), [topic], consistent_hashing=ring)
    assert choice.active.priority_level == 1 and choice.cohort_size == 2
    assert [each.name for each in choice.order] == ["a", "b", "y"]
    (choice,) = choose_many((members[3],), [topic], consistent_hashing=ring)
    assert choice.active.consumer_id == 4


@pytest.mark.parametrize(("count", "starved"), [(10, 0), (20, 1), (100, 9), (1000, 99)])
def test_F09_names_that_extend_one_another_by_digits_starve_the_short_ones(count: int, starved: int) -> None:
    """From 20 consumers on ``x-1`` keeps 10 of its 100 points; 9 of 100 and 99 of 1,000 keep about a tenth."""
    names = numbered(count)
    ring = FailoverRing(names)
    points = dict(zip(names, ring.point_counts(), strict=True))
    shares = dict(zip(names, ring.shares(), strict=True))
    hungry = [name for name in names if points[name] <= 12]
    assert len(hungry) == starved
    if starved:
        assert points["x-1"] == 10
        assert sum(shares[name] for name in hungry) / starved * count == pytest.approx(0.105, abs=0.005)
        winners = {names[loss.winner_index] for loss in ring.losses() if names[loss.loser_index] == "x-1"}
        assert {f"x-1{digit}" for digit in range(1, 10)} <= winners


@pytest.mark.parametrize("pattern", ["x-{:03}", "x-{}-a"])
def test_F09_padded_and_suffixed_names_are_clean(pattern: str) -> None:
    names = tuple(sorted((pattern.format(number) for number in range(100)), key=utf16_order))
    assert min(FailoverRing(names).point_counts()) >= 99


def test_F09_a_ring_where_the_earlier_claimant_wins_is_caught() -> None:
    """The mutant: with the other policy ``x-1`` keeps all its points, so the numbers above can tell them apart."""
    right = scalar_ring()
    mutant: Ring[Consumer] = Ring(
        right._points_of, order=lambda each: utf16_order(each.name), policy=OwnerPolicy.FIRST_CLAIMANT_KEEPS
    )
    for number, name in enumerate(numbered(20)):
        right.add(Consumer(number, name))
        mutant.add(Consumer(number, name))

    def points_of(ring: Ring[Consumer]) -> int:
        hits = [ring.successor(point) for point, _ in ring.claims()]
        return sum(hit is not None and hit.owner.name == "x-1" for hit in hits)

    assert (points_of(right), points_of(mutant)) == (10, 100)


def test_F10_of_two_namesakes_the_last_connected_owns_everything() -> None:
    twins = (Consumer(1, "same"), Consumer(2, "same"))
    ring = failover_ring(("same", "same"))
    assert ring.shares() == (0.0, 1.0) and ring.point_counts() == (0, POINTS_PER_CONSUMER)
    topics = [(f"persistent://t/n/topic-{number}", -1) for number in range(50)]
    assert set(active_ids(twins, topics, ring=True)) == {2}
    assert [(loss.loser_index, loss.winner_index, loss.points) for loss in ring.losses()] == [(0, 1, 100)]


def test_F11_growing_partitions_and_consumers_in_either_order_ends_alike() -> None:
    three, four = consumers(3), consumers(4)
    assert active_ids(three, partitions(3), ring=False) == [0, 1, 2]
    partition_first = active_ids(three, partitions(4), ring=False)
    consumer_first = active_ids(four, partitions(3), ring=False)
    assert (partition_first, consumer_first) == ([0, 1, 2, 0], [0, 1, 2])
    assert active_ids(four, partitions(4), ring=False) == [0, 1, 2, 3]
    state = DispatcherState(Terms("persistent://t/n/x-partition-3", 3, delay_ms=0))
    for each in three:
        state = done(connect(state, Connection(each))).state
    assert state.active_id == 0
    moved = done(connect(state, Connection(four[3])))
    assert moved.effects[0] == ActiveConsumerChanged(0, 3)


def test_F12_the_scalar_ring_equals_one_built_anew_after_each_step() -> None:
    """Thirty consumers join one by one and every third leaves again; names collide on purpose."""
    live = scalar_ring()
    connected: list[Consumer] = []
    members = [Consumer(number, f"x-{number % 25}") for number in range(30)]
    for step in [*members, *members[::3]]:
        if step in live:
            live.remove(step)
            connected.remove(step)
        else:
            live.add(step)
            connected.append(step)
        order = sorted(connected, key=lambda each: utf16_order(each.name))
        rebuilt = FailoverRing(tuple(each.name for each in order))
        points = {point: claimants[-1] for point, claimants in live.claims()}
        owners = (order[owner] for owner in rebuilt.owners.tolist())
        assert points == dict(zip(rebuilt.points.tolist(), owners, strict=True))
    check_ring(live)


def test_F13_equal_names_do_not_stall_the_subscription() -> None:
    """Each twin that leaves hands over to the one that connected last before it."""
    state = DispatcherState(Terms("persistent://t/n/x", -1, delay_ms=0))
    for number in (1, 2, 3):
        state = done(connect(state, Connection(Consumer(number, "same")))).state
        assert state.active_id == number
    for leaver, heir in ((3, 2), (1, 2), (2, None)):
        state = done(disconnect(state, leaver)).state
        assert state.active_id == heir


def test_F14_the_points_of_a_non_ascii_name_come_from_its_utf8_bytes() -> None:
    """A JVM with another default charset hashes ``?`` there; that is its fault of deployment, and not followed."""
    ring = failover_ring(("caf\u00e9",))
    assert int(ring.points.min()) == min(murmur3_32(b"caf\xc3\xa9%d" % replica) for replica in range(100))
    assert set(ring.points.tolist()).isdisjoint(failover_ring(("caf?",)).points.tolist())
