"""What a person can ask of the producers of a partitioned topic.

``topic`` is any name of it; ``producer`` is a number in the order of creation.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.cluster.producers.events import ProducerPlan
from engine.routing.producers.model import DEFAULT_MSG_SIZE_BYTES


@dataclass(frozen=True, slots=True)
class AddProducers:
    """Producers are created on a partitioned topic, one after another."""

    topic: str
    plan: ProducerPlan


@dataclass(frozen=True, slots=True)
class SendByProducers:
    """Messages with this key, or without one, through one producer or (None) through all that are not closed."""

    topic: str
    producer: int | None = None
    key: str | None = None
    times: int = 1
    size_bytes: int = DEFAULT_MSG_SIZE_BYTES


@dataclass(frozen=True, slots=True)
class CloseProducer:
    """A producer is closed by its application; what waits in its queues is lost."""

    topic: str
    producer: int


@dataclass(frozen=True, slots=True)
class FailPartition:
    """A partition is not served any more, as when the broker that owns it is gone."""

    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class RecoverPartition:
    """A partition is served again."""

    topic: str
    partition: int


ProducerCommand = AddProducers | SendByProducers | CloseProducer | FailPartition | RecoverPartition
