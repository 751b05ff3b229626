"""Reading two brokers: each owns a part, and what is asked of the wrong one leads to the other and nowhere else."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from engine.admin.topics import decode_topic_stats
from tests.broker.conftest import STEPS_VARIABLE
from tests.broker.jars import NoBrokerError, more_jars
from tests.broker.pair.cluster import two_brokers
from tests.broker.standalone import Broker
from tests.patience import HANG_S
from tui.sources.cluster.access import Access
from tui.sources.cluster.client import AdminClient
from tui.sources.cluster.reader import read_cluster
from tui.sources.cluster.reading import ClusterReading
from tui.sources.cluster.scope import Scope

NAMESPACE = "public/default"
MOST_TRIES = 10
"""The brokers draw lots for bundles: one of them gets all of them once in a while."""
TOPICS = {f"persistent://{NAMESPACE}/t-{number}" for number in range(12)}


@pytest.fixture(scope="module")
def brokers_of_one(broker_jars: Path) -> Iterator[tuple[Broker, Broker]]:
    """Two brokers; the short form of these tests does without: four processes take half a minute."""
    if not os.environ.get(STEPS_VARIABLE):
        pytest.skip(f"two brokers are started by make test-broker ({STEPS_VARIABLE} is not set)")
    try:
        jars = more_jars()
    except NoBrokerError as error:
        pytest.skip(f"no two brokers here: {error}")
    with two_brokers(broker_jars, jars) as brokers:
        yield brokers


class Recording(httpx.AsyncBaseTransport):
    """The real network. ``answered`` counts statuses by host, ``redirected`` are the hosts that redirects lead to.

    ``owners`` are the hosts that gave statistics of topics.
    """

    def __init__(self) -> None:
        self._network = httpx.AsyncHTTPTransport()
        self.answered: Counter[tuple[str, int]] = Counter()
        self.redirected: set[str] = set()
        self.owners: set[str] = set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._network.handle_async_request(request)
        asked = request.url.netloc.decode()
        self.answered[asked, response.status_code] += 1
        if response.status_code == 200 and request.url.path.endswith("/stats"):
            self.owners.add(asked)
        if "location" in response.headers:
            self.redirected.add(httpx.URL(response.headers["location"]).netloc.decode())
        return response

    async def aclose(self) -> None:
        await self._network.aclose()


def read(broker: Broker, scope: Scope) -> tuple[ClusterReading, Recording]:
    recording = Recording()

    async def run() -> ClusterReading:
        async with AdminClient(Access(broker.url), transport=recording) as client:
            return await read_cluster(client, scope)

    return asyncio.run(run()), recording


def host(broker: Broker) -> str:
    return broker.url.removeprefix("http://")


def make(topic: str, brokers: tuple[Broker, Broker]) -> None:
    """Make a topic at the broker that owns its bundle; the other one redirects, which changes nothing."""
    path = topic.replace("://", "/")
    owner = brokers[0].admin("GET", f"/lookup/v2/topic/{path}")["brokerUrl"]
    (broker,) = (broker for broker in brokers if owner == f"pulsar://127.0.0.1:{broker.port}")
    broker.admin("PUT", f"/admin/v2/{path}")


def wait_until_listed(brokers: tuple[Broker, Broker]) -> None:
    """Return when the lists of what is loaded, which brokers write once a second, have all topics."""
    until = time.monotonic() + HANG_S
    while time.monotonic() < until:
        lists = b"".join(broker.raw("/admin/v2/broker-stats/topics") for broker in brokers)
        if all(f'"{topic}"'.encode() in lists for topic in TOPICS):
            return
        time.sleep(0.1)
    raise TimeoutError("not all topics are listed")


def topics_read(reading: ClusterReading) -> set[str]:
    """The topics of which statistics came, and were statistics."""
    paths = {f"/admin/v2/{topic.replace('://', '/')}/stats": topic for topic in TOPICS}
    answers = {paths[answer.path]: answer.data for answer in reading.answers if answer.path in paths}
    return {topic for topic, data in answers.items() if decode_topic_stats(data, topic).good is not None}


def test_each_broker_has_a_part_and_redirects_lead_to_the_other(brokers_of_one: tuple[Broker, Broker]) -> None:
    both = {host(broker) for broker in brokers_of_one}
    first = brokers_of_one[0]
    for topic in sorted(TOPICS):
        make(topic, brokers_of_one)

    # Nobody has them loaded now, and who is asked first sends the other one what that gets.
    for _ in range(MOST_TRIES):
        first.admin("PUT", f"/admin/v2/namespaces/{NAMESPACE}/unload")
        reading, recording = read(first, Scope((NAMESPACE,), loads_topics=True))
        if topics_read(reading) == TOPICS and recording.owners == both:
            break
    assert topics_read(reading) == TOPICS, reading.gaps
    assert recording.owners == both
    assert recording.answered[host(first), 307] > 0
    assert host(brokers_of_one[1]) in recording.redirected
    assert recording.redirected <= both
    assert {asked for asked, _ in recording.answered} == both

    wait_until_listed(brokers_of_one)
    for broker in brokers_of_one:
        reading, recording = read(broker, Scope((NAMESPACE,)))
        assert set(reading.brokers) == both
        assert topics_read(reading) == TOPICS
        assert reading.topics_read == reading.topics >= len(TOPICS)
        assert {asked for asked, _ in recording.answered} == both
        assert recording.redirected <= both
        assert {answer.broker for answer in reading.answers if answer.path.endswith("/stats")} == both
