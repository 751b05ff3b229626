"""The matrix of who has opened which partition: numbers of all producers side by side, made anew only where needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.cluster.producers.state import ProducerTopic
from engine.memo import Remembered
from engine.routing.producers.model import OpenReason, PartitionedProducer, PartitionProducer
from engine.views.producers.model import FRESH, LOST, REASON

CODES = {reason: code for code, reason in enumerate(OpenReason, start=1)}


@dataclass(frozen=True, eq=False, slots=True)
class Opened:
    """What one producer has opened, in that order, side by side: partitions, cells, messages published and waiting.

    ``started`` is what it was made from; while that is the same object, this holds.
    """

    started: Mapping[int, PartitionProducer]
    partitions: NDArray[np.int64]
    cells: NDArray[np.uint8]
    sent: NDArray[np.int64]
    pending: NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class Matrix:
    """``cells`` is producers x partitions (uint8, without ``FRESH``); a producer that is closed has none."""

    opened: tuple[Opened, ...]
    cells: NDArray[np.uint8]

    def with_fresh(self, before: Matrix | None) -> NDArray[np.uint8]:
        """The cells with what is open now and was not before. A producer that is new opened all it has."""
        cells = self.cells
        if before is None:
            return cells
        rows, columns = (min(now, then) for now, then in zip(cells.shape, before.cells.shape, strict=True))
        fresh = (cells & REASON) != 0
        fresh[:rows, :columns] &= (before.cells[:rows, :columns] & REASON) == 0
        return np.where(fresh, cells | np.uint8(FRESH), cells)


_matrices: Remembered[Matrix] = Remembered()
_latest: dict[int, Opened] = {}
"""By number, what was made last: the next state shares most of it."""


def matrix_of(topic: ProducerTopic) -> Matrix:
    """The matrix of a topic's producers. O(producers x partitions) bytes, and O(partitions opened) of changed ones."""
    return _matrices.get((topic.producers,), (), lambda: _matrix(topic))


def _matrix(topic: ProducerTopic) -> Matrix:
    producers = topic.producers.producers
    cells = np.zeros((len(producers), topic.partitions), dtype=np.uint8)
    opened = tuple(map(_opened, producers))
    for producer, each in zip(producers, opened, strict=True):
        if producer.state != "Closed":
            cells[producer.number, each.partitions] = each.cells
    _latest.clear()
    _latest.update(enumerate(opened))
    return Matrix(opened, cells)


def _opened(producer: PartitionedProducer) -> Opened:
    known = _latest.get(producer.number)
    if known is not None and known.started is producer.started:
        return known
    mine = producer.started.values()
    count = len(mine)
    return Opened(
        producer.started,
        np.fromiter(producer.started, np.int64, count),
        np.fromiter((_cell(each) for each in mine), np.uint8, count),
        np.fromiter((each.sent_msgs for each in mine), np.int64, count),
        np.fromiter((each.pending_msgs for each in mine), np.int64, count),
    )


def _cell(each: PartitionProducer) -> int:
    return CODES[each.opened] if each.connected else CODES[each.opened] | LOST


def summed(partitions: int, opened: Iterable[Opened], what: str) -> NDArray[np.int64]:
    """Per partition the sum over the producers of ``sent`` or ``pending``."""
    total = np.zeros(partitions, dtype=np.int64)
    for each in opened:
        total[each.partitions] += getattr(each, what)
    return total
