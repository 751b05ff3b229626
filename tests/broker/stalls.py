"""Stalls made on a real broker and recorded, each with a twin in which the same client does its work.

``python -m tests.broker.stalls NAME...`` records them, or all, for ``tests.engine.diagnosis.stalls``;
``RINGSIDE_BROKER_RELEASE=4.2.4`` on that release.
"""

from __future__ import annotations

import gzip
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

from tests.broker.jars import jars
from tests.broker.releases import release
from tests.broker.standalone import Broker, real_broker
from tests.broker.wire import Client, RefusedError
from tests.engine.diagnosis.stalls import FOLDER

TYPES: Final = ("Exclusive", "Failover", "Shared", "Key_Shared")
MESSAGES: Final = 60
LATER: Final = 20
"""Messages that are sent between the moments."""
PAUSE_S: Final = 2.0
PERMITS: Final = 1_000
CRASHES: Final = 4
SUBSCRIPTION: Final = "billing"
CONSUMER: Final = "worker-1"


@dataclass
class Stage:
    """A topic in a namespace of its own, with one subscription that ``CONSUMER`` has."""

    broker: Broker
    namespace: str
    kind: str
    partitions: int = 0
    clients: list[Client] = field(default_factory=list)
    consuming: Client | None = None

    @property
    def base(self) -> str:
        return f"{self.namespace}/orders"

    @property
    def topics(self) -> list[str]:
        return [f"{self.base}-partition-{at}" for at in range(self.partitions)] or [self.base]

    def open(self) -> None:
        self.broker.admin("PUT", f"/admin/v2/namespaces/{self.namespace}", {"bundles": {"numBundles": 1}})
        path = f"/admin/v2/persistent/{self.base}"
        self.broker.admin("PUT", f"{path}/partitions" if self.partitions else path, self.partitions or None)
        for topic in self.topics:
            self.look_up(topic)
            self.broker.admin("PUT", f"/admin/v2/persistent/{topic}/subscription/{SUBSCRIPTION}")

    def look_up(self, topic: str) -> None:
        self.broker.admin("GET", f"/lookup/v2/topic/persistent/{topic}")

    def connect(self, permits: int, topics: Sequence[str] = ()) -> None:
        client = self.consuming = Client(self.broker.port)
        self.clients.append(client)
        for topic in topics or self.topics:
            number = self._subscribed(client, topic)
            if permits:
                client.allow(number, permits)

    def _subscribed(self, client: Client, topic: str) -> int:
        """The number of a new consumer, once the broker has noticed that an exclusive one before it is gone."""
        until = time.monotonic() + 20
        while True:
            try:
                return client.subscribe(f"persistent://{topic}", SUBSCRIPTION, self.kind, CONSUMER)
            except RefusedError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)

    def send(self, count: int) -> None:
        client = Client(self.broker.port)
        producers = [client.produce(f"persistent://{topic}") for topic in self.topics]
        for at in range(count):
            client.publish(producers[at % len(producers)], f"key-{at % 17}")
        client.close()

    def work(self, count: int) -> None:
        """Acknowledge so many messages."""
        assert self.consuming is not None
        until = time.monotonic() + 20
        while count and time.monotonic() < until:
            for received in self.consuming.received():
                self.consuming.acknowledge(received)
                count -= 1
            time.sleep(0.02)
        assert not count, f"{count} messages did not come"

    def wait_for(self, count: int) -> None:
        assert self.consuming is not None
        until = time.monotonic() + 20
        while len(self.consuming.received()) < count:
            assert time.monotonic() < until, "messages did not come"
            time.sleep(0.02)

    def disconnect(self) -> None:
        """Let the process die."""
        if self.consuming is not None:
            self.clients.remove(self.consuming)
            self.consuming.close()
            self.consuming = None

    def close(self) -> None:
        for client in self.clients:
            client.close()


def never_acknowledges(on: Stage) -> None:
    on.connect(PERMITS)
    on.send(MESSAGES)
    on.wait_for(MESSAGES)


def acknowledges(on: Stage) -> None:
    never_acknowledges(on)
    on.work(MESSAGES)


def queue_of_0_after_an_unload(on: Stage) -> None:
    """A client asks for one message at a time, only while somebody waits for it; after the unload nobody does."""
    on.connect(1)
    on.send(1)
    on.work(1)
    on.broker.admin("PUT", f"/admin/v2/persistent/{on.topics[0]}/unload")
    on.disconnect()
    on.look_up(on.topics[0])
    on.connect(0)
    on.send(MESSAGES)


def queue_of_many_after_an_unload(on: Stage) -> None:
    queue_of_0_after_an_unload(on)
    assert on.consuming is not None
    on.consuming.allow(1, PERMITS)
    on.work(MESSAGES)


def lost_partitions(on: Stage) -> None:
    """A client that came back on two of three partitions."""
    on.connect(PERMITS, on.topics[:2])
    on.send(MESSAGES)
    on.work(MESSAGES * 2 // 3)


def kept_partitions(on: Stage) -> None:
    on.connect(PERMITS)
    on.send(MESSAGES)
    on.work(MESSAGES)


def reset(on: Stage) -> None:
    """The broker sends consumers away when their cursor is reset; this one comes back and asks for a few messages."""
    on.connect(PERMITS)
    on.send(MESSAGES)
    on.work(MESSAGES)
    on.broker.admin("POST", f"/admin/v2/persistent/{on.topics[0]}/subscription/{SUBSCRIPTION}/resetcursor/0")
    on.disconnect()
    on.connect(10)
    on.wait_for(10)


def reset_and_read_again(on: Stage) -> None:
    reset(on)
    assert on.consuming is not None
    on.consuming.allow(1, PERMITS)
    on.work(MESSAGES)


def crashes_before_it_acknowledges(on: Stage) -> None:
    """A client that is started again and again: it gets all messages and dies of one of them."""
    on.connect(PERMITS)
    on.send(MESSAGES)
    for _ in range(CRASHES):
        _crashes_again(on)


def _crashes_again(on: Stage) -> None:
    on.wait_for(MESSAGES)
    on.disconnect()
    on.connect(PERMITS)
    on.wait_for(MESSAGES)


def started_anew_and_acknowledges(on: Stage) -> None:
    crashes_before_it_acknowledges(on)
    on.work(MESSAGES)


def nothing_happens(on: Stage) -> None:
    """Nothing moves between the moments."""


def works_on(on: Stage) -> None:
    on.send(LATER)
    on.work(LATER)


@dataclass(frozen=True)
class Stall:
    """A fault and its twin, and what happens between the moments of each; ``partitions`` of the topic."""

    fault: Callable[[Stage], None]
    healthy: Callable[[Stage], None]
    partitions: int = 0
    meanwhile: Callable[[Stage], None] = nothing_happens


STALLS: Final = {
    "never-acknowledged": Stall(never_acknowledges, acknowledges),
    "never-asked": Stall(queue_of_0_after_an_unload, queue_of_many_after_an_unload),
    "lost-partitions": Stall(lost_partitions, kept_partitions, partitions=3),
    "cursor-reset": Stall(reset, reset_and_read_again),
    "churn": Stall(crashes_before_it_acknowledges, started_anew_and_acknowledges, meanwhile=_crashes_again),
}


def moment(on: Stage) -> dict[str, Any]:
    """What a broker answers about the topics."""
    paths = [f"admin/v2/persistent/{topic}/{what}" for topic in on.topics for what in ("stats", "internalStats")]
    return {path: on.broker.admin("GET", f"/{quote(path)}") for path in paths}


def recorded(broker: Broker, name: str, stall: Stall, kind: str, *, healthy: bool) -> bytes:
    short = kind.lower().replace("_", "")
    on = Stage(broker, f"public/{name}-{short}{'-healthy' if healthy else ''}", kind, stall.partitions)
    on.open()
    (stall.healthy if healthy else stall.fault)(on)
    moments = {}
    for number in range(2):
        if number:
            (works_on if healthy else stall.meanwhile)(on)
            time.sleep(PAUSE_S)
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S.%f")[:-3] + "Z"
        moments[at] = moment(on)
    on.close()
    return gzip.compress(json.dumps({"moments": moments}, separators=(",", ":")).encode(), mtime=0)


def main() -> int:
    chosen = [name for name in STALLS if name in sys.argv[1:] or not sys.argv[1:]]
    folder = FOLDER / release().version
    folder.mkdir(exist_ok=True)
    with real_broker(jars(), {}) as broker:
        for name in chosen:
            for kind in TYPES:
                for healthy in (False, True):
                    data = recorded(broker, name, STALLS[name], kind, healthy=healthy)
                    short = kind.lower().replace("_", "")
                    (folder / f"{name}-{short}{'-healthy' if healthy else ''}.json.gz").write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
