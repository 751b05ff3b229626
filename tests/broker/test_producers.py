"""Producers of a partitioned topic come and go: the sums and lists that a broker makes over its partitions."""

from __future__ import annotations

import random

import pytest

from engine.admin.folders import FilesRead
from engine.verify.answers import answers_of
from engine.verify.compare import verify_answers
from engine.verify.report import FactKind
from tests.broker.conftest import Brokers
from tests.broker.driving import NAMESPACE
from tests.broker.test_predictions import AT_ONCE, MODULO_AND_RING, RING_AND_AUTO_SPLIT
from tests.broker.wire import Client
from tui.sources.cluster.access import Access
from tui.sources.cluster.scope import Scope
from tui.sources.cluster.source import Source

PARTITIONS = 6
MOST = 7
TRIES = 4
"""Rates are worked out anew every second, and sums and parts are asked for one after the other."""
NAMES = ("alpha", "beta", "gamma", None)
"""None lets the broker make one up."""
OF_SUMS = {
    FactKind.PARTITIONED_SUM,
    FactKind.PARTITIONED_AVERAGE,
    FactKind.PUBLISHER_ENTRIES,
    FactKind.PUBLISHER_SUM,
    FactKind.PUBLISHER_AVERAGE,
    FactKind.SUBSCRIPTION_SUM,
    FactKind.CONSUMER_ENTRIES,
}


class Producers:
    """Producers, each with a connection of its own and on some of the partitions."""

    def __init__(self, port: int, topic: str, draw: random.Random) -> None:
        self._port = port
        self._topic = topic
        self._draw = draw
        self._open: list[tuple[Client, list[int]]] = []
        self._number = 0

    def join(self) -> None:
        """Open one on all partitions, or on some as a producer does that opens them when it needs them."""
        partial = self._draw.random() < 0.5
        chosen = self._draw.sample(range(PARTITIONS), self._draw.randint(1, PARTITIONS)) if partial else None
        name = self._draw.choice(NAMES)
        self._number += 1
        client = Client(self._port, partial_producer=partial)
        where = chosen if chosen is not None else range(PARTITIONS)
        named = None if name is None else f"{name}-{self._number}"
        self._open.append((client, [client.produce(f"{self._topic}-partition-{index}", named) for index in where]))

    def leave(self) -> None:
        client, _ = self._open.pop(self._draw.randrange(len(self._open)))
        client.close()

    def publish(self) -> None:
        client, producers = self._draw.choice(self._open)
        for _ in range(self._draw.randint(1, 5)):
            client.publish(self._draw.choice(producers), "k", b"x" * self._draw.randint(1, 500))

    def step(self) -> None:
        chance = self._draw.random()
        if not self._open or (chance < 0.4 and len(self._open) < MOST):
            self.join()
        elif chance < 0.6 and len(self._open) > 1:
            self.leave()
        else:
            self.publish()

    def close(self) -> None:
        for client, _ in self._open:
            client.close()


@pytest.mark.parametrize("by_name", ["true", "false"], ids=["by-name", "by-position"])
def test_the_sums_over_the_partitions(
    brokers: Brokers, by_name: str, steps: int, seed: int, predictions: list[int]
) -> None:
    broker = brokers({**(MODULO_AND_RING if by_name == "true" else RING_AND_AUTO_SPLIT), **AT_ONCE})
    topic = f"persistent://{NAMESPACE}/produced-{by_name}-{seed}"
    broker.admin("PUT", f"/admin/v2/persistent/{NAMESPACE}/produced-{by_name}-{seed}/partitions", PARTITIONS)
    for index in range(PARTITIONS):
        broker.admin("GET", f"/lookup/v2/topic/{topic.replace('://', '/')}-partition-{index}")
    source = Source(Access(broker.url), Scope((NAMESPACE,), f"produced-{by_name}-{seed}*", loads_topics=True))
    producers = Producers(broker.port, topic, random.Random(seed))
    checked = entries = 0
    for _ in range(2 * steps):
        producers.step()
        for _ in range(TRIES):
            reading = source.read()
            report = verify_answers(answers_of(FilesRead(reading.files(), (), ()), reading.origin), None)
            differences = [difference for difference in report.differences if difference.kind in OF_SUMS]
            if not differences:
                break
        assert differences == [], f"seed {seed}"
        checked += sum(tally.compared for tally in report.tallies if tally.kind in OF_SUMS)
        entries += sum(tally.compared for tally in report.tallies if tally.kind is FactKind.PUBLISHER_ENTRIES)
    producers.close()
    assert entries == 2 * steps
    predictions.append(checked)
