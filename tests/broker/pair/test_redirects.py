"""Reading two brokers: each owns a part, and what is asked of the wrong one leads to the other and nowhere else."""

from __future__ import annotations

from collections import Counter

import httpx2
import pytest

from engine.admin.topics import decode_topic_stats
from tests.broker.pair.asking import NAMESPACE, host, make, read_from, topics_of, wait_until_listed
from tests.broker.pair.conftest import Pairs
from tests.broker.standalone import Broker
from tui.sources.cluster.reading import ClusterReading
from tui.sources.cluster.scope import Scope

MOST_TRIES = 10
"""The brokers draw lots for bundles: one of them gets all of them once in a while."""
TOPICS = topics_of(12)


@pytest.fixture(scope="module")
def brokers_of_one(pairs: Pairs) -> tuple[Broker, Broker]:
    return pairs({})


class Recording(httpx2.AsyncBaseTransport):
    """The real network. ``answered`` counts statuses by host, ``redirected`` are the hosts that redirects lead to.

    ``owners`` are the hosts that gave statistics of topics.
    """

    def __init__(self) -> None:
        self._network = httpx2.AsyncHTTPTransport()
        self.answered: Counter[tuple[str, int]] = Counter()
        self.redirected: set[str] = set()
        self.owners: set[str] = set()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._network.handle_async_request(request)
        asked = request.url.netloc.decode()
        self.answered[asked, response.status_code] += 1
        if response.status_code == 200 and request.url.path.endswith("/stats"):
            self.owners.add(asked)
        if "location" in response.headers:
            self.redirected.add(httpx2.URL(response.headers["location"]).netloc.decode())
        return response

    async def aclose(self) -> None:
        await self._network.aclose()


def read(broker: Broker, scope: Scope) -> tuple[ClusterReading, Recording]:
    recording = Recording()
    return read_from(broker, scope, recording), recording


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

    wait_until_listed(brokers_of_one, TOPICS)
    for broker in brokers_of_one:
        reading, recording = read(broker, Scope((NAMESPACE,)))
        assert set(reading.brokers) == both
        assert topics_read(reading) == TOPICS
        assert reading.topics_read == reading.topics >= len(TOPICS)
        assert {asked for asked, _ in recording.answered} == both
        assert recording.redirected <= both
        assert {answer.broker for answer in reading.answers if answer.path.endswith("/stats")} == both
