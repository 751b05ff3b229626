"""Reading two brokers: each owns a part, and what is asked of the wrong one leads to the other and nowhere else."""

from __future__ import annotations

import asyncio
import os
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
from tui.sources.cluster.access import Access
from tui.sources.cluster.client import AdminClient
from tui.sources.cluster.reader import read_cluster
from tui.sources.cluster.reading import ClusterReading
from tui.sources.cluster.scope import Scope

NAMESPACE = "public/default"
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
    """The real network; ``answered`` counts statuses by host, ``redirected`` has where redirects lead."""

    def __init__(self) -> None:
        self._network = httpx.AsyncHTTPTransport()
        self.answered: Counter[tuple[str, int]] = Counter()
        self.redirected: set[str] = set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._network.handle_async_request(request)
        self.answered[request.url.netloc.decode(), response.status_code] += 1
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

    reading, recording = read(first, Scope((NAMESPACE,), loads_topics=True))
    assert topics_read(reading) == TOPICS
    assert {asked for asked, _ in recording.answered} == both
    assert recording.redirected == both - {host(first)}
    assert recording.answered[host(first), 307] > 0

    for broker in brokers_of_one:
        reading, recording = read(broker, Scope((NAMESPACE,)))
        assert set(reading.brokers) == both
        assert topics_read(reading) == TOPICS
        assert reading.topics_read == reading.topics >= len(TOPICS)
        assert {asked for asked, _ in recording.answered} == both
        assert recording.redirected <= both
        owners = {answer.broker for answer in reading.answers if answer.path.endswith("/stats")}
        assert owners == both
