"""The modular leader's forecast bundle by bundle: what a move leaves, how often it reads, the other map order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from engine.balance.ahead.model import ShedStart
from engine.balance.ahead.modular import ModularAhead, other_plan
from engine.balance.brokers import BrokerLoad
from engine.balance.java_maps import concurrent_order, spread_hash
from engine.balance.leadership.state import Leader, LeaderState, elected, reports_read
from engine.balance.settings import LoadSettings
from engine.balance.shedding.strategies import UNIFORM, new_memory
from engine.load_rules import CURRENT_LOAD_RULES
from tests.engine.balance.shedding_world import MB, broker, name, stats, view
from tests.releases import start_of

UNIFORMLY = LoadSettings(
    loadBalancerLoadSheddingStrategy=UNIFORM, loadBalancerDistributeBundlesEvenlyEnabled=False,
    loadBalancerMsgRateDifferenceShedderThreshold=10.0, minUnloadMessage=0, minUnloadMessageThroughput=0,
    maxUnloadPercentage=0.2,
)  # fmt: skip
KEPT, MOVED, SECOND, ARRIVED = (name(at) for at in range(4))
PLENTY = [stats(KEPT, 100.0), stats(MOVED, 15.0), stats(SECOND, 12.0)]
"""A fifth of what its broker has above an idle one is 25 messages/s: the second bundle, and then not the third."""


@pytest.mark.parametrize("release", ["2.11.0", "4.2.0"])
def test_a_moved_bundle_is_looked_up_once_and_leaves_no_wish(release: str) -> None:
    """2.11 decides at the look-up, later releases before the unload."""
    hot = broker("b:0", 99, [stats(name(at), 1.0, 20 * MB) for at in range(2)])
    ahead = ModularAhead(start_of(release, (hot, broker("b:1", 1), broker("b:2", 1))))
    moves = ahead.next(1).moves
    assert [move.bundle for move in moves] == [name(0), name(1)]
    assert dict(moves[0].chances) == {"b:1": 0.5, "b:2": 0.5}
    assert ahead.state.wishes == {}


def samples(bundles: Iterable[str], loads: tuple[BrokerLoad, ...], state: LeaderState | None = None) -> tuple[int, ...]:
    """How many samples bundles have after a cycle that moves one, which makes two brokers report, and the next."""
    ahead = ModularAhead(ShedStart(loads, UNIFORMLY, state=state))
    assert [move.bundle for move in ahead.next(1).moves] == [MOVED]
    assert ahead.state.wishes == {}
    ahead.next(2)
    return tuple(ahead.state.data[bundle].long_term.num_samples for bundle in bundles)


def test_steady_averages_are_read_once_however_many_brokers_report() -> None:
    assert samples((KEPT, MOVED), (broker("b:0", 50, PLENTY), broker("b:1", 50))) == (2, 2)


def test_a_bundle_that_the_leader_did_not_know_is_read_again() -> None:
    loads = (broker("b:0", 50, PLENTY), broker("b:1", 50, [stats(ARRIVED, 0.0)]))
    leader = Leader(UNIFORMLY)
    state = reports_read(leader, elected(leader), (loads[0], broker("b:1", 50)))
    assert samples((KEPT, ARRIVED), loads, state) == (3, 2)


@pytest.mark.parametrize("other", [stats(KEPT, 150.0), stats(KEPT, 100.0, 1e6)])
def test_a_long_average_that_still_moves_is_read_again_though_the_short_one_has_settled(other: object) -> None:
    loads = (broker("b:0", 50, PLENTY), broker("b:1", 50))
    leader = Leader(UNIFORMLY)
    state = reports_read(leader, elected(leader), (broker("b:0", 50, [other, *PLENTY[1:]]), loads[1]))  # type: ignore[list-item]
    for _ in range(300):
        state = reports_read(leader, state, loads)
    assert samples((KEPT,), loads, state) == (303,)


def with_buckets(make: Iterable[str], shared: bool) -> list[str]:
    """The first two names of one bucket; or three names with a bucket each."""
    results: dict[int, list[str]] = {}
    for each in make:
        bucket = results.setdefault(spread_hash(each) & 15, [])
        bucket.append(each)
        if shared and len(bucket) == 2:
            return bucket
        if not shared and len(results) == 6:
            return [names[0] for names in results.values()]
    raise AssertionError("no such names")


def otherwise(*loads: BrokerLoad) -> tuple[tuple[str, tuple[str, ...]], ...] | None:
    order = concurrent_order(load.broker for load in loads)
    return other_plan(order, view(loads), new_memory(UNIFORM), UNIFORMLY, CURRENT_LOAD_RULES)


BROKERS = [f"b-{at}:8080" for at in range(60)]
BUNDLES = [name(at) for at in range(60)]


def test_brokers_that_tie_in_one_bucket_may_shed_the_one_or_the_other() -> None:
    (one, other), bundles = with_buckets(BROKERS, shared=True), with_buckets(BUNDLES, shared=False)
    idle = next(each for each in BROKERS if spread_hash(each) & 15 != spread_hash(one) & 15)
    loads = [
        broker(one, 50, [stats(bundles[0], 100.0), stats(bundles[1], 10.0)]),
        broker(other, 50, [stats(bundles[2], 100.0), stats(bundles[3], 10.0)]),
        broker(idle, 50),
    ]
    assert otherwise(*loads) == ((other, (bundles[3],)),)
    unequal = replace(loads[1], msg_rate_in=1.0)
    assert otherwise(loads[0], unequal, loads[2]) is None, "the same brokers shed, whatever their order"


def test_bundles_that_tie_in_one_bucket_may_be_the_one_or_the_other() -> None:
    brokers, (one, other) = with_buckets(BROKERS, shared=False), with_buckets(BUNDLES, shared=True)
    rest = next(bundle for bundle in BUNDLES if spread_hash(bundle) & 15 != spread_hash(one) & 15)

    def moves_of(*bundles: tuple[str, float]) -> tuple[tuple[str, tuple[str, ...]], ...] | None:
        reported = [stats(bundle, msgs) for bundle, msgs in bundles]
        return otherwise(broker(brokers[0], 50, reported), broker(brokers[1], 50))

    assert moves_of((rest, 100.0), (one, 15.0), (other, 15.0)) == ((brokers[0], (other,)),)
    assert moves_of((rest, 100.0), (one, 15.0), (other, 14.0)) is None


def test_names_in_buckets_of_their_own_have_one_order() -> None:
    brokers, bundles = with_buckets(BROKERS, shared=False), with_buckets(BUNDLES, shared=False)
    busy = [stats(bundles[0], 100.0), stats(bundles[1], 15.0), stats(bundles[2], 15.0)]
    assert otherwise(broker(brokers[0], 50, busy), broker(brokers[1], 50)) is None
