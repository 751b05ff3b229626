"""The model against a recording of a real broker and the Python client: which partitions have which publisher.

The recording is of release 4.2.4 and client 3.13.0. What that client drew at random is read from its first step.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from engine.routing.clients import PYTHON_DEFAULT
from engine.routing.producers.model import OpenReason, PartitionedProducer
from engine.routing.producers.producer import close, create, send
from engine.routing.producers.settings import PYTHON, ProducerSettings
from engine.routing.producers.topic import PartitionedTopic
from engine.routing.routers import Router, SinglePartitionRouter, round_robin
from tests.engine.routing.fleets import created, topic_of

RECORDING = Path(__file__).parents[2] / "recordings" / "e-pip79-6p"
PARTITIONS = 6
LAZY = ProducerSettings(client=PYTHON, lazy_start_partitioned_producers=True)

Names = list[list[str]]


def recorded(step: int) -> Names:
    """The producer names that each partition's statistics list after a step."""
    answer = json.loads(gzip.decompress((RECORDING / f"{step:02}-partitioned-stats.json.gz").read_bytes()))
    by_index = sorted(answer["partitions"].items(), key=lambda item: int(item[0].rpartition("-")[2]))
    return [[publisher["producerName"] for publisher in each["publishers"]] for _, each in by_index]


def shown(topic: PartitionedTopic) -> Names:
    return [[producer.producer_name for producer in there] for there in topic.connected]


def started(step: int) -> int:
    """The one partition that has a publisher after this step."""
    [at] = [index for index, names in enumerate(recorded(step)) if names]
    return at


def after_sends(
    producer: PartitionedProducer, topic: PartitionedTopic, keys: list[str | None]
) -> tuple[PartitionedProducer, PartitionedTopic]:
    for key in keys:
        producer, topic, result = send(producer, topic, key, 0)
        assert result.outcome == "sent"
    return producer, topic


def test_a_lazy_producer_of_a_single_partition_opens_others_for_keys_only() -> None:
    router = SinglePartitionRouter(started(2), PYTHON_DEFAULT)
    producer, topic = created(replace(LAZY, producer_name="lazy-single"), router, topic_of(PARTITIONS))
    assert shown(topic) == recorded(2)
    producer, topic = after_sends(producer, topic, [None] * 10)
    assert shown(topic) == recorded(3)
    producer, topic = after_sends(producer, topic, [f"k{number}" for number in range(10)])
    assert shown(topic) == recorded(4)
    assert [each.opened for each in producer.started.values()].count(OpenReason.KEY) == len(producer.started) - 1


def test_a_lazy_producer_going_round_opens_the_next_partition_with_its_first_message() -> None:
    router: Router = round_robin(started(5), batching=False, keys=PYTHON_DEFAULT)
    producer, topic = created(replace(LAZY, producer_name="lazy-rr"), router, topic_of(PARTITIONS))
    assert shown(topic) == recorded(5)
    for step, messages in ((6, 1), (7, 1), (8, 1), (9, 10)):
        producer, topic = after_sends(producer, topic, [None] * messages)
        assert shown(topic) == recorded(step)


def test_an_eager_producer_without_a_name_has_one_of_the_broker_s_in_each_partition() -> None:
    eager = ProducerSettings("eager-rr", PYTHON)
    _, topic = created(eager, round_robin(0), topic_of(PARTITIONS))
    assert shown(topic) == recorded(10)
    second, topic = created(replace(eager, producer_name=None), round_robin(0), topic, number=1)
    assert shown(topic) == recorded(11) == recorded(12)
    assert second.producer_name == "standalone-0-0"


@pytest.mark.parametrize("lazily", [True, False])
def test_an_exclusive_producer_starts_everywhere_and_keeps_a_shared_one_out(lazily: bool) -> None:
    settings = ProducerSettings("lazy-excl", PYTHON, "Exclusive", lazy_start_partitioned_producers=lazily)
    exclusive, topic = created(settings, round_robin(0), topic_of(PARTITIONS))
    assert shown(topic) == recorded(13)
    late = create(replace(LAZY, producer_name="late"), round_robin(0), topic, 0, number=1)
    assert late.error is not None and late.error.error == "ProducerBusy"
    assert shown(late.topic) == recorded(14)
    assert not any(shown(close(exclusive, late.topic)[1]))
