"""A cluster read in rounds, against a real broker: what is in view is never old, and nothing is old for longer than a
round."""

from __future__ import annotations

import os
import time
from contextlib import closing

import pytest

from engine.admin.folders import FilesRead
from engine.admin.moments import combined
from engine.verify.answers import answers_of
from engine.verify.compare import verify_answers
from tests.broker.conftest import STEPS_VARIABLE, Brokers
from tests.broker.driving import NAMESPACE, driven
from tests.broker.standalone import Broker
from tests.broker.test_dashboard import SETTINGS
from tests.patience import HANG_S
from tests.playing.clock import CountingClock
from tui.sources.cluster.access import Access
from tui.sources.cluster.reading import ClusterReading, moments_read
from tui.sources.cluster.rounds import WHOLE_TOPICS, InView
from tui.sources.cluster.scope import Scope
from tui.sources.cluster.source import Source

TOPICS = WHOLE_TOPICS + 10
REFRESHES = 6
EVERY_S = 10.0


def consumers(reading: ClusterReading, subscription: str) -> dict[str, list[str]]:
    """Who is connected to each topic by a reading."""
    topics = combined(moments_read([reading], limit_bytes=10**9)).topics
    return {
        name: sorted(consumer.name for consumer in one.consumers)
        for name, facts in topics.items()
        for one in facts.subscriptions
        if one.name == subscription
    }


def wait_until_listed(broker: Broker, name: str) -> None:
    """Return when the list of loaded topics, which the broker writes once a second, has the consumer in all of them."""
    until = time.monotonic() + HANG_S
    while time.monotonic() < until:
        if broker.raw("/admin/v2/broker-stats/topics").count(f'"consumerName":"{name}"'.encode()) >= TOPICS:
            return
        time.sleep(0.1)
    raise TimeoutError(f"{name} is not in the list of all topics")


def test_a_consumer_that_dies_leaves_what_is_in_view_at_once_and_the_rest_within_a_round(
    brokers: Brokers, seed: int
) -> None:
    if not os.environ.get(STEPS_VARIABLE):
        pytest.skip(f"{TOPICS} topics are made by make test-broker ({STEPS_VARIABLE} is not set)")
    broker = brokers(SETTINGS)
    names = [f"r{seed}-{number:03}" for number in range(TOPICS)]
    subscription = f"rounds-{seed}"
    in_view = f"persistent://{NAMESPACE}/{names[0]}"
    with driven(broker, subscription, "Failover", dict.fromkeys(names, 0), seed) as driving:
        driving.join("anna")
        driving.join("berta")
        driving.seen()
        wait_until_listed(broker, "berta")
        clock = CountingClock()
        source = Source(Access(broker.url), Scope((NAMESPACE,), f"r{seed}-*", loads_topics=True))
        rounds = (EVERY_S, EVERY_S * REFRESHES)
        with closing(source.follower(clock, rounds)) as follower:
            whole = follower.read()
            assert set(map(tuple, consumers(whole, subscription).values())) == {("anna", "berta")}
            driving.kill("berta")
            driving.seen()
            left: list[int] = []
            for _ in range(REFRESHES):
                clock.now += EVERY_S
                reading = follower.read(view=InView(frozenset([in_view])))
                shown = consumers(reading, subscription)
                assert len(shown) == TOPICS
                assert shown[in_view] == ["anna"]
                assert in_view not in reading.older
                assert reading.requests < TOPICS
                assert min(reading.older.values(), default=reading.at_ms) >= whole.at_ms
                left.append(sum("berta" in there for there in shown.values()))
            assert left[0] > 0
            assert left == sorted(left, reverse=True)
            assert left[-1] == 0
            report = verify_answers(answers_of(FilesRead(reading.files(), (), ()), broker.url))
            assert report.differences == ()
            assert report.compared >= TOPICS
