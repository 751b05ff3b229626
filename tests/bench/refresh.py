"""What a refresh of the dashboard costs beside what a real broker spends to answer it: the CPU time of both processes.

1,000 partitions with 3,000 consumers, of which some get messages between any two refreshes. ``ours`` is reading,
decoding, comparing with the model and making the picture; the broker's time is taken while it is asked, without what
it spends anyway. Nothing is measured where there is no broker (Java 17, Maven) or no ``/proc``.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.bench.table import Row, lines
from tests.broker.driving import Driven, driven
from tests.broker.jars import jars
from tests.broker.releases import NoBrokerError
from tests.broker.standalone import Broker, real_broker
from tests.broker.wire import Client
from tui.cli.commands.live import EVERY_S, WHOLE_EVERY_S
from tui.cli.pictures import Pictures
from tui.sources.cluster.access import Access
from tui.sources.cluster.rounds import InView
from tui.sources.cluster.source import EVERYTHING_EVERY, Source

SETTINGS: Final = {
    "activeConsumerFailoverConsistentHashing": "true",
    "activeConsumerFailoverDelayTimeMillis": "0",
}
PARTITIONS: Final = 1_000
CONSUMERS: Final = ("anna", "berta", "clara")
PERMITS: Final = 100_000
WARM_UP: Final = 2 * EVERYTHING_EVERY
ROUNDS: Final = 2 * EVERYTHING_EVERY
"""Whole cycles, so that the rounds that read everything have their share."""
PAUSE_S: Final = 1.2
"""Longer than the broker's pause between two statistics, so that each refresh sees new ones."""
IDLE_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Load:
    """A cluster to refresh: so many partitioned topics, and of how many partitions something changes each time.

    ``in_view`` topics are on the screen, and the others are read in rounds.
    """

    topics: int
    busy: int
    in_view: int

    @property
    def what(self) -> str:
        noun = "topic" if self.topics == 1 else "topics"
        seen = "" if self.in_view == self.topics else f", {self.in_view} in view"
        return f"refresh: {PARTITIONS:,} partitions of {self.topics} {noun}{seen}, {self.busy} change"


LOADS: Final = (Load(1, 0, 1), Load(1, 100, 1), Load(100, 100, 100), Load(100, 100, 1))


def rows() -> list[Row]:
    """A row for each load."""
    try:
        folder = jars()
    except NoBrokerError as error:
        sys.stderr.write(f"no refresh is timed: {error}\n")
        return []
    if not Path("/proc/self/schedstat").exists():
        sys.stderr.write("no refresh is timed: the CPU time of a broker is read from /proc/PID/task/*/schedstat\n")
        return []
    measured = []
    for load in LOADS:
        with real_broker(folder, SETTINGS) as broker:
            measured.append(_row(broker, load))
    return measured


def _row(broker: Broker, load: Load) -> Row:
    topics = {f"t-{number}": PARTITIONS // load.topics for number in range(load.topics)}
    with driven(broker, "sub", "Failover", topics, 1) as driving:
        for name in CONSUMERS:
            driving.join(name)
            for number in range(1, PARTITIONS + 1):
                driving.client(name).allow(number, PERMITS)
        producer = Client(broker.port)
        producers = [producer.produce(topic) for topic in driving.dispatchers[: load.busy]]
        ours, brokers = _measured(broker, load, lambda: _change(driving, producer, producers))
    return Row(load.what, ours * 1000, "the broker's CPU to answer", brokers * 1000, ">= 5x")


def _change(driving: Driven, producer: Client, producers: list[int]) -> None:
    for number in producers:
        producer.publish(number, "key")
    for name in CONSUMERS:
        client = driving.client(name)
        for received in client.received():
            client.acknowledge(received)
    time.sleep(PAUSE_S)


def _measured(broker: Broker, load: Load, change: Callable[[], None]) -> tuple[float, float]:
    """CPU seconds of a refresh, ours and the broker's."""
    source = Source(Access(broker.url))
    pictures = Pictures()
    pictures.session(source.read())
    ours, brokers, walls = [], [], []
    view = InView(frozenset(f"persistent://public/default/t-{number}" for number in range(load.in_view)))
    with closing(source.follower(rounds=(EVERY_S, WHOLE_EVERY_S))) as follower:
        for turn in range(WARM_UP + ROUNDS):
            change()
            own, their, wall = time.process_time(), broker.cpu_s(), time.perf_counter()
            reading = follower.read(view=view)
            their, wall = broker.cpu_s() - their, time.perf_counter() - wall
            pictures.newer(reading)
            own = time.process_time() - own
            if turn >= WARM_UP:
                ours.append(own)
                brokers.append(their)
                walls.append(wall)
    idle = broker.cpu_s()
    time.sleep(IDLE_S)
    idle = (broker.cpu_s() - idle) / IDLE_S
    return statistics.mean(ours), statistics.mean(brokers) - idle * statistics.mean(walls)


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines(rows())) + "\n")
