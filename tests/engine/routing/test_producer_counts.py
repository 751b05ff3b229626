"""The curve over partitions: held to every possible draw, and to simulated producers."""

from __future__ import annotations

from itertools import combinations
from statistics import fmean

import pytest

from engine.errors import Rejection
from engine.routing.producers.costs import CountsAt, Workload, counts_over_partitions
from engine.routing.producers.settings import RouterKind, Routing
from engine.routing.producers.steps import counts_of, send_by_all
from tests.engine.routing.fleets import EAGER, LAZY, done, fleet


def curve(workload: Workload, *partitions: int, limit: int = 3, **terms: object) -> tuple[CountsAt, ...]:
    points = counts_over_partitions(workload, partitions, limit=limit, **terms)  # type: ignore[arg-type]
    assert not isinstance(points, Rejection), points
    return points


@pytest.mark.parametrize("brokers", [1, 2, 3, 5, 40])
@pytest.mark.parametrize("partitions", [1, 2, 3, 5, 6, 12])
@pytest.mark.parametrize("messages", [0, 1, 3, 11])
def test_one_producer_s_connections_are_the_mean_over_every_draw(brokers: int, partitions: int, messages: int) -> None:
    """All starts of a run, and all sets of a partial router, counted one by one; "exact" only where all agree."""
    [at] = curve(Workload(1, messages), partitions, brokers=brokers)
    run = min(partitions, messages + 1)
    runs = [len({(start + step) % partitions % brokers for step in range(run)}) for start in range(partitions)]
    chosen = min(3, partitions, messages + 1)
    sets = [len({each % brokers for each in drawn}) for drawn in combinations(range(partitions), chosen)]
    for counts, opened, each in ((at.lazy, run, runs), (at.partial, chosen, sets)):
        assert (counts.broker_producers.value, counts.broker_producers.exact) == (opened, True)
        assert counts.connections.value == pytest.approx(fmean(each))
        assert counts.connections.exact == (len(set(each)) == 1)
        assert (counts.partitions_used.value, counts.partitions_used.exact) == (pytest.approx(opened), True)
    assert at.eager.broker_producers.value == partitions
    assert (at.eager.connections.value, at.eager.connections.exact) == (min(brokers, partitions), True)


def test_keys_open_what_the_run_has_not_opened_yet() -> None:
    """Two keys on three partitions, one message: every pair of places, every start, counted one by one."""
    [at] = curve(Workload(1, 0, keys=2), 3, mode="RoundRobinPartition")
    every = [len({start, number, other}) for start in range(3) for number in range(3) for other in range(3)]
    assert at.lazy.broker_producers.value == pytest.approx(fmean(every))
    assert not at.lazy.broker_producers.exact
    [at] = curve(Workload(1, 0, keys=2), 4, brokers=2)
    every = [len({start % 2, number % 2, other % 2}) for start in range(4) for number in range(4) for other in range(4)]
    assert at.lazy.connections.value == pytest.approx(fmean(every))
    assert not at.lazy.connections.exact
    [at] = curve(Workload(1, 1, keys=2), 4, brokers=2)
    assert (at.lazy.connections.value, at.lazy.connections.exact) == (2, True)


def test_many_producers_use_partitions_as_random_starts_do() -> None:
    """Two producers with one partition each: the mean over all pairs of starts."""
    [at] = curve(Workload(2), 5, mode="SinglePartition", limit=1)
    every = [len({number, other}) for number in range(5) for other in range(5)]
    for counts in (at.lazy, at.partial):
        assert counts.partitions_used.value == pytest.approx(fmean(every))
        assert not counts.partitions_used.exact
        assert counts.broker_producers.value == 2 and counts.broker_producers.exact


@pytest.mark.parametrize(
    ("mode", "limit"), [("SinglePartition", 1), ("RoundRobinPartition", 3), ("PartialRoundRobin", 4)]
)
@pytest.mark.parametrize("messages", [0, 2, 30])
def test_what_is_exact_is_what_simulated_producers_show(mode: RouterKind, limit: int, messages: int) -> None:
    for partitions in (5, 12, 30):
        [at] = curve(Workload(7, messages), partitions, limit=limit, mode=mode, brokers=4)
        routing = Routing(mode, limit if mode == "PartialRoundRobin" else 0, batching=False)
        lazy = counts_of(done(send_by_all(fleet(partitions, 7, LAZY, routing, brokers=4), messages=messages)))
        assert at.lazy.broker_producers.value == lazy.broker_producers
        if at.lazy.connections.exact:
            assert at.lazy.connections.value == lazy.connections
        eager = counts_of(fleet(partitions, 7, EAGER, routing, brokers=4))
        assert (at.eager.broker_producers.value, at.eager.connections.value, at.eager.partitions_used.value) == (
            eager.broker_producers,
            eager.connections,
            eager.partitions_used,
        )


def test_without_end_round_robin_reaches_all_and_partial_its_limit() -> None:
    points = curve(Workload(10), *range(1, 20), limit=6)
    assert [point.lazy.broker_producers.value for point in points] == [10.0 * count for count in range(1, 20)]
    assert [point.partial.broker_producers.value for point in points] == [
        10.0 * min(6, count) for count in range(1, 20)
    ]
    assert all(point.lazy == point.eager for point in points)


def test_a_curve_over_no_numbers_is_empty() -> None:
    assert curve(Workload(1)) == ()


def test_nobody_needs_nothing() -> None:
    [at] = curve(Workload(0), 9)
    for counts in (at.eager, at.lazy, at.partial):
        assert (counts.broker_producers.value, counts.connections.value, counts.partitions_used.value) == (0, 0, 0)


@pytest.mark.parametrize(
    ("workload", "partitions", "terms", "field"),
    [
        (Workload(-1), [3], {}, "producers"),
        (Workload(1, -1), [3], {}, "messages"),
        (Workload(1, 1, -1), [3], {}, "keys"),
        (Workload(1), [3, 0], {}, "partitions"),
        (Workload(1), [3, -2], {}, "partitions"),
        (Workload(1), [3], {"brokers": 0}, "brokers"),
        (Workload(1), [3], {"limit": 0}, "numPartitionsLimit"),
    ],
)
def test_a_number_that_cannot_be_is_refused_by_its_field(
    workload: Workload, partitions: list[int], terms: dict[str, int], field: str
) -> None:
    refused = counts_over_partitions(workload, partitions, **{"limit": 3, **terms})  # type: ignore[arg-type]
    assert isinstance(refused, Rejection) and refused.field == field
