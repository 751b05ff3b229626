"""Merged by name and by position from one and the same producers: what adds up, and which entries mix."""

from __future__ import annotations

import pytest
from msgspec import structs

from engine.config import CURRENT, BrokerSettings
from engine.errors import Rejection
from engine.routing.producers.model import ProducersState
from engine.routing.producers.settings import PYTHON, ProducerSettings, Routing
from engine.routing.producers.statistics import PartitionedPublishers, partitioned_publishers
from engine.routing.producers.steps import add_producers, close_producer, fail_partition, send_by_one
from tests.engine.routing.fleets import EAGER, LAZY, ONE_BY_ONE, done, fleet, fresh

BY_NAME = BrokerSettings(aggregatePublisherStatsByProducerName=True)


def publishers(state: ProducersState, settings: BrokerSettings = BY_NAME, **terms: int) -> PartitionedPublishers:
    view = partitioned_publishers(state, settings, **terms)  # type: ignore[arg-type]
    assert isinstance(view, PartitionedPublishers), view
    return view


def two_lazy_ones() -> ProducersState:
    """``alpha`` on partitions 0 and 1, ``beta`` on 1 and 2, as keys place them: 1, 2 and 3 messages of 10, 20, 30."""
    state = fresh(3)
    for name in ("alpha", "beta"):
        settings = structs.replace(LAZY, producer_name=name)
        for seed in range(100):
            tried = done(add_producers(structs.replace(state, seed=seed), 1, settings, Routing("SinglePartition")))
            if 1 in tried.producers[-1].started:
                state = structs.replace(tried, seed=0)
                break
    key_of = {97 % 3: "a", 98 % 3: "b", 99 % 3: "c"}
    state = done(send_by_one(state, 0, key_of[0], messages=1, size_bytes=10))
    state = done(send_by_one(state, 0, key_of[1], messages=2, size_bytes=20))
    state = done(send_by_one(state, 1, key_of[1], messages=3, size_bytes=30))
    return done(send_by_one(state, 1, key_of[2], messages=1, size_bytes=50))


def test_by_name_each_producer_has_one_entry_and_the_sum_of_its_partitions() -> None:
    merged = publishers(two_lazy_ones(), period_ms=1000).by_name
    assert [(entry.stats.producer_name, entry.producers, entry.mixture) for entry in merged.entries] == [
        ("alpha", (0,), False),
        ("beta", (1,), False),
    ]
    assert [entry.stats.msg_rate_in_msgs_per_sec for entry in merged.entries] == [3.0, 4.0]
    assert (merged.mixtures, merged.torn) == ((), ())


def test_by_position_entries_mix_and_a_producer_is_torn() -> None:
    """In partition 1 alpha is first and beta second; in partition 2 beta is alone, so first: it lands with alpha."""
    merged = publishers(two_lazy_ones(), period_ms=1000).by_position
    assert [(entry.stats.producer_name, entry.producers) for entry in merged.entries] == [(None, (0, 1)), (None, (1,))]
    assert [entry.stats.msg_rate_in_msgs_per_sec for entry in merged.entries] == [4.0, 3.0]
    assert merged.mixtures == (merged.entries[0],) and merged.torn == (1,)


def test_the_average_size_of_an_entry_is_a_mean_of_means_and_the_truth_is_weighted() -> None:
    view = publishers(two_lazy_ones(), period_ms=1000)
    assert [entry.stats.average_msg_size_bytes for entry in view.by_name.entries] == [15.0, 40.0]
    assert [each.average_msg_size_bytes for each in view.truth] == [pytest.approx(50 / 3), 35.0]
    assert [(producer.producer_name, producer.partitions) for producer in view.truth] == [("alpha", 2), ("beta", 2)]


def test_the_setting_in_force_decides_what_is_shown() -> None:
    state = two_lazy_ones()
    on, off = publishers(state), publishers(state, BrokerSettings())
    assert on.in_force == on.by_name == off.by_name
    assert off.in_force == off.by_position == on.by_position
    assert [[each.supports_partial_producer for each in there] for there in on.per_partition] == [
        [True],
        [True, True],
        [True],
    ]
    assert not any(each.supports_partial_producer for there in off.per_partition for each in there)


def test_a_python_producer_is_unnamed_whatever_the_setting_and_torn_names_do_not_matter() -> None:
    state = fleet(3, 2, ProducerSettings(client=PYTHON), ONE_BY_ONE)
    view = publishers(state)
    assert view.by_name == view.by_position
    assert [entry.producers for entry in view.by_name.entries] == [(0,), (1,)]


def test_generated_names_of_python_sort_by_text_so_entries_mix() -> None:
    """Twelve partitions: the names of the first producer end in 0 .. 11, of the second in 12 .. 23; texts sort so that
    ``-12`` comes before ``-2``."""
    view = publishers(fleet(12, 2, ProducerSettings(client=PYTHON), ONE_BY_ONE))
    assert len(view.by_position.mixtures) == 2
    assert view.by_position.torn == (0, 1)


def test_java_and_python_on_one_topic_are_shown_side_by_side() -> None:
    state = done(add_producers(fleet(3, 1, EAGER), 1, ProducerSettings(client=PYTHON), ONE_BY_ONE))
    entries = publishers(state).by_name.entries
    assert [(entry.stats.producer_name, entry.producers) for entry in entries] == [
        (None, (1,)),
        ("standalone-0-0", (0,)),
    ]


def test_before_the_fix_of_18807_entries_by_position_are_too_many_and_named_ones_are_not() -> None:
    behaviour = structs.replace(CURRENT, unnamed_publishers="added-repeatedly")
    state = two_lazy_ones()
    view = partitioned_publishers(state, BY_NAME, behaviour=behaviour)
    assert isinstance(view, PartitionedPublishers)
    assert len(view.by_position.entries) > len(publishers(state).by_position.entries)
    assert view.by_name == publishers(state).by_name
    for entry in view.by_position.entries:
        assert entry.stats.count >= len(entry.producers) > 0


def test_who_lost_the_connection_or_closed_is_not_listed() -> None:
    state = done(close_producer(fleet(2, 2, EAGER), 0))
    state = done(fail_partition(state, 1))
    view = publishers(state)
    assert [len(there) for there in view.per_partition] == [1, 0]
    assert [(each.number, each.partitions) for each in view.truth] == [(1, 1)]


def test_rates_are_per_second_of_the_period() -> None:
    state = done(send_by_one(fleet(1, 1, EAGER), 0, messages=6, size_bytes=50))
    [entry] = publishers(state, period_ms=2000).by_name.entries
    assert (entry.stats.msg_rate_in_msgs_per_sec, entry.stats.msg_throughput_in_bytes_per_sec) == (3.0, 150.0)
    [truth] = publishers(state, period_ms=2000).truth
    assert (truth.msg_rate_in_msgs_per_sec, truth.msg_throughput_in_bytes_per_sec) == (3.0, 150.0)
    [truth] = publishers(state, period_ms=1).truth
    assert (truth.msg_rate_in_msgs_per_sec, truth.msg_throughput_in_bytes_per_sec) == (6000.0, 300_000.0)


def test_who_has_sent_nothing_has_an_average_size_of_zero() -> None:
    view = publishers(fleet(1, 1, EAGER))
    assert [entry.stats.average_msg_size_bytes for entry in view.by_name.entries] == [0.0]
    assert [each.average_msg_size_bytes for each in view.truth] == [0.0]


def test_named_entries_are_in_the_order_of_their_names() -> None:
    state = fresh(1)
    for name in ("beta", "\uffee", "alpha", "\U0001f600"):
        state = done(add_producers(state, 1, structs.replace(EAGER, producer_name=name), ONE_BY_ONE))
    entries = publishers(state).by_name.entries
    assert [entry.stats.producer_name for entry in entries] == ["alpha", "beta", "\U0001f600", "\uffee"]


@pytest.mark.parametrize("period_ms", [0, -5])
def test_a_period_that_is_none_is_refused(period_ms: int) -> None:
    refused = partitioned_publishers(fleet(1, 1), BY_NAME, period_ms=period_ms)
    assert isinstance(refused, Rejection) and refused.field == "periodMs"
