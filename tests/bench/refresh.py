"""What a refresh of the dashboard costs beside what a real broker spends to answer it: the CPU time of both processes.

1,000 partitions with 3,000 consumers, of which some get messages between any two refreshes. ``ours`` is reading,
decoding, comparing with the model and making the picture; the broker's time is taken while it is asked, without what
it spends anyway. Nothing is measured where there is no broker (Java 17, Maven) or no ``/proc``.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.bench.going_on import NotTimedError
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
CONSUMERS: Final = ("anna", "berta", "clara")
PERMITS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Pace:
    """Refreshes before and while it is timed, the pause before each, and how long the idle broker is watched.

    Whole cycles, so that the rounds that read everything have their share; the pause is longer than the broker's own
    between two statistics, so that each refresh sees new ones.
    """

    warm_up: int = 2 * EVERYTHING_EVERY
    rounds: int = 2 * EVERYTHING_EVERY
    pause_s: float = 1.2
    idle_s: float = 5.0


@dataclass(frozen=True, slots=True)
class Load:
    """A cluster to refresh: so many partitioned topics, and of how many partitions something changes each time.

    ``in_view`` topics are on the screen, and the others are read in rounds.
    """

    topics: int
    busy: int
    in_view: int
    partitions: int = 1_000

    @property
    def what(self) -> str:
        noun = "topic" if self.topics == 1 else "topics"
        seen = "" if self.in_view == self.topics else f", {self.in_view} in view"
        return f"refresh: {self.partitions:,} partitions of {self.topics} {noun}{seen}, {self.busy} change"

    def topic(self, number: int) -> str:
        """The name of a topic."""
        return f"refresh-{self.topics}-{self.busy}-{number}"


LOADS: Final = (Load(1, 0, 1), Load(1, 100, 1), Load(100, 100, 100), Load(100, 100, 1))


def rows(loads: Sequence[Load] = LOADS) -> list[Row]:
    """A row for each load."""
    try:
        folder = jars()
    except NoBrokerError as error:
        raise NotTimedError(str(error)) from error
    if not Path("/proc/self/schedstat").exists():
        raise NotTimedError("the CPU time of a broker is read from /proc/PID/task/*/schedstat")
    measured = []
    for load in loads:
        with real_broker(folder, SETTINGS) as broker:
            measured.append(row_of(broker, load, Pace()))
    return measured


def row_of(broker: Broker, load: Load, pace: Pace) -> Row:
    """The row of one load on a broker that may have been used before."""
    topics = {load.topic(number): load.partitions // load.topics for number in range(load.topics)}
    with driven(broker, "refresh", "Failover", topics, 1) as driving:
        for name in CONSUMERS:
            driving.join(name)
            for number in range(1, load.partitions + 1):
                driving.client(name).allow(number, PERMITS)
        producer = Client(broker.port)
        producers = [producer.produce(topic) for topic in driving.dispatchers[: load.busy]]
        ours, brokers = _measured(broker, load, pace, lambda: _change(driving, producer, producers))
    return Row(load.what, ours * 1000, "the broker's CPU to answer", brokers * 1000, ">= 5x")


def _change(driving: Driven, producer: Client, producers: list[int]) -> None:
    for number in producers:
        producer.publish(number, "key")
    for name in CONSUMERS:
        client = driving.client(name)
        for received in client.received():
            client.acknowledge(received)


def _measured(broker: Broker, load: Load, pace: Pace, change: Callable[[], None]) -> tuple[float, float]:
    """CPU seconds of a refresh, ours and the broker's."""
    source = Source(Access(broker.url))
    pictures = Pictures()
    pictures.session(source.read())
    ours, brokers, walls = [], [], []
    view = InView(frozenset(f"persistent://public/default/{load.topic(number)}" for number in range(load.in_view)))
    with closing(source.follower(rounds=(EVERY_S, WHOLE_EVERY_S))) as follower:
        for turn in range(pace.warm_up + pace.rounds):
            change()
            time.sleep(pace.pause_s)
            own, their, wall = time.process_time(), broker.cpu_s(), time.perf_counter()
            reading = follower.read(view=view)
            their, wall = broker.cpu_s() - their, time.perf_counter() - wall
            pictures.newer(reading)
            own = time.process_time() - own
            if turn >= pace.warm_up:
                ours.append(own)
                brokers.append(their)
                walls.append(wall)
    idle = broker.cpu_s()
    time.sleep(pace.idle_s)
    idle = (broker.cpu_s() - idle) / pace.idle_s
    return statistics.mean(ours), statistics.mean(brokers) - idle * statistics.mean(walls)


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines(rows())) + "\n")
