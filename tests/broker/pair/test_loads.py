"""The load of two brokers with the extensible load manager, which refuse to report it: read, and looked ahead from."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from engine.admin.measured_loads import decode_usage
from engine.admin.moments import combined
from engine.admin.shed_inputs import shed_inputs_of
from engine.balance.ahead.forecast import shed_ahead
from engine.balance.ahead.model import ShedAhead, ShedStart
from engine.balance.settings import EXTENSIBLE_CLASS, default_load_settings
from engine.errors import Rejection
from engine.names import parse_topic_name
from tests.broker.jars import release
from tests.broker.pair.asking import NAMESPACE, host, make, read_from, topics_of, wait_until_listed
from tests.broker.pair.conftest import Pairs
from tests.broker.standalone import Broker, BrokerFailedError
from tests.patience import HANG_S
from tests.releases import known
from tui.sources.cluster.reading import moments_read

TOPICS = topics_of(24)


@pytest.fixture(scope="module")
def brokers(pairs: Pairs) -> tuple[Broker, Broker]:
    return pairs({"loadManagerClassName": EXTENSIBLE_CLASS, "loadBalancerSheddingEnabled": "true"})


def wait_until(brokers: tuple[Broker, Broker], is_ready: Callable[[Broker], bool]) -> None:
    until = time.monotonic() + HANG_S
    while time.monotonic() < until:
        if all(map(is_ready, brokers)):
            return
        time.sleep(0.1)
    raise TimeoutError("a broker of the extensible load manager is not ready")


def places_topics(broker: Broker) -> bool:
    """Whether a look-up is answered: the load manager starts after the broker says that it is healthy."""
    with suppress(BrokerFailedError):
        return bool(broker.admin("GET", f"/lookup/v2/topic/persistent/{NAMESPACE}/first"))
    return False


def has_measured(broker: Broker) -> bool:
    """Whether it has measured itself, which brokers do every five seconds."""
    return decode_usage(broker.raw("/admin/v2/broker-stats/metrics")).good is not None


def test_both_brokers_loads_are_read_and_looked_ahead_from(brokers: tuple[Broker, Broker]) -> None:
    wait_until(brokers, places_topics)
    for topic in sorted(TOPICS):
        make(topic, brokers)
    wait_until_listed(brokers, TOPICS)
    wait_until(brokers, has_measured)
    reading = read_from(brokers[0])
    assert [gap.path for gap in reading.gaps if "broker-stats" in gap.path] == []
    snapshot = combined(moments_read([reading], limit_bytes=10**9))
    inputs = shed_inputs_of([snapshot])
    assert inputs is not None
    assert {load.broker for load in inputs.loads} == {host(broker) for broker in brokers}
    assert (inputs.is_extensible, inputs.problems) == (True, ())

    listed: dict[str, set[str]] = {}
    for answer in reading.answers:
        if answer.path.endswith("broker-stats/topics"):
            for namespace, bundles in json.loads(answer.data).items():
                for bundle, domains in bundles.items():
                    names = {name for topics in domains.values() for name in topics}
                    listed[f"{namespace}/{bundle}"] = names
    for load in inputs.loads:
        assert load.load_average is not None
        assert {stats.bundle: stats.topics for stats in load.stats} == {
            bundle: len(names) for bundle, names in listed.items() if bundle in {stats.bundle for stats in load.stats}
        }
        assert {snapshot.owners[bundle] for bundle in load.bundles} == {load.broker}
    of_topics = {name: bundle for bundle, names in listed.items() for name in names}
    assert of_topics.keys() >= TOPICS
    for topic in TOPICS:
        name = parse_topic_name(topic)
        assert not isinstance(name, Rejection)
        path = f"{name.domain}/{name.namespace}/{name.local_name}"
        owner = brokers[0].admin("GET", f"/lookup/v2/topic/{path}")["httpUrl"].removeprefix("http://")
        assert snapshot.owners[of_topics[topic]] == owner

    settings, problems = inputs.settings_over(default_load_settings(known(release().version)))
    assert problems == ()
    ahead = shed_ahead(ShedStart(inputs.loads, settings, load_manager="extensible"), 3)
    assert isinstance(ahead, ShedAhead)
    assert len(ahead.cycles) == 3
