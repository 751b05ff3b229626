"""Splits on request: the engine says the bundles that will be there, or the refusal, and then the broker is asked."""

from __future__ import annotations

import json
import random
import time
import urllib.error
import urllib.request

from engine.cluster.commands import Command
from engine.cluster.grammar.reading import parse_command
from engine.cluster.state import ClusterState
from engine.cluster.timeline import Timeline
from engine.scenarios.opening import open_moments
from tests.broker.conftest import Brokers
from tests.broker.standalone import Broker
from tests.broker.wire import Client
from tests.patience import HANG_S
from tui.sources.cluster.access import Access
from tui.sources.cluster.reading import moments_read
from tui.sources.cluster.scope import Scope
from tui.sources.cluster.source import Source

SETTINGS = {
    "activeConsumerFailoverConsistentHashing": "true",
    "subscriptionKeySharedUseConsistentHashing": "false",
    "activeConsumerFailoverDelayTimeMillis": "0",
}
TOPICS = 40
ALGORITHMS = ("range_equally_divide", "topic_count_equally_divide", "specified_positions_divide")
CHANGED = 204


def split(broker: Broker, namespace: str, bundle: str, algorithm: str, positions: list[int]) -> int:
    """Ask the broker for it and give the status; without an algorithm the broker takes its default."""
    named = f"&splitAlgorithmName={algorithm}" if algorithm else ""
    path = f"/admin/v2/namespaces/{namespace}/{bundle}/split?unload=false{named}"
    body = json.dumps(positions).encode() if positions else b""
    request = urllib.request.Request(
        broker.url + path, data=body, method="PUT", headers={"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def bundles_of(state: ClusterState, namespace: str) -> list[str]:
    return [f"0x{boundary:08x}" for boundary in state.namespaces[namespace].boundaries]


def in_the_model(broker: Broker, namespace: str, loaded: int) -> Timeline:
    """The broker's present state in the model, once a reading has all topics of a namespace that are loaded.

    What it reads is written once a second, so the broker may know of more topics than it says.
    """
    source = Source(Access(broker.url), Scope((namespace,), loads_topics=True))
    until = time.monotonic() + HANG_S
    while time.monotonic() < until:
        state = open_moments(moments_read([source.read()], limit_bytes=10**9)).state
        if sum(name.startswith(f"persistent://{namespace}/") for name in state.loads) >= loaded:
            return Timeline.start(state, 0, broker.url)
        time.sleep(0.1)
    raise TimeoutError(f"no reading has {loaded} loaded topics of {namespace}")


def test_what_a_split_makes(brokers: Brokers, steps: int, seed: int, predictions: list[int]) -> None:
    broker = brokers(SETTINGS)
    draw = random.Random(seed)
    namespace = f"public/splits-{seed}"
    broker.admin("PUT", f"/admin/v2/namespaces/{namespace}", {"bundles": {"numBundles": 4, "boundaries": []}})
    for number in range(TOPICS):
        broker.admin("PUT", f"/admin/v2/persistent/{namespace}/t-{number}")
        broker.admin("GET", f"/lookup/v2/topic/persistent/{namespace}/t-{number}")
    broker.wait_until_listed(namespace, TOPICS + 1)
    timeline = in_the_model(broker, namespace, TOPICS + 1)
    statuses = []
    for number in range(3 * steps):
        listed = bundles_of(timeline.state, namespace)
        at = draw.randrange(len(listed) - 1)
        low, high = int(listed[at], 16), int(listed[at + 1], 16)
        algorithm = draw.choice(ALGORITHMS)
        # Some are outside of the bundle, and some bundles do not exist; the first one never does.
        widest = draw.choice((high, min(0xFFFFFFFF, high + high // 4)))
        positions = sorted(draw.sample(range(low + 1, widest), draw.randint(1, 3))) if "positions" in algorithm else []
        bundle = (
            f"{listed[at]}_{listed[at + 1]}" if number and draw.random() < 0.9 else f"{listed[at]}_0x{high - 1:08x}"
        )
        line = f"split {namespace}/{bundle} {algorithm}" + (f" at {','.join(map(str, positions))}" if positions else "")
        command = parse_command(line, timeline.state)
        assert isinstance(command, Command), command
        timeline, refused = timeline.submit(command)
        statuses.append(split(broker, namespace, bundle, algorithm, positions))
        assert statuses[-1] == (refused.status if refused is not None else CHANGED), f"{line} (seed {seed}): {refused}"
        result = broker.admin("GET", f"/admin/v2/namespaces/{namespace}/bundles")["boundaries"]
        assert result == bundles_of(timeline.state, namespace), f"{line} (seed {seed})"
    assert len(set(statuses)) > 1
    predictions.append(2 * len(statuses))


BY_FLOW = {
    **SETTINGS,
    "defaultNamespaceBundleSplitAlgorithm": "flow_or_qps_equally_divide",
    "loadBalancerNamespaceBundleMaxMsgRate": "4",
    "flowOrQpsDifferenceThresholdPercentage": "10",
    "statsUpdateFrequencyInSecs": "6",
    "activeConsumerFailoverDelayTimeMillis": "600000",
}
"""Rates stay as they are between two updates, so that they are the same when the model and when the broker asks.

Nobody consumes here, so a hand-over that takes long is seen on the same broker (``test_why.py``).
"""
LOADED = 24
ROUNDS = 2
MOST_MESSAGES = 24


class Flow:
    """Producers of topics without partitions, and the rates that the broker last worked out."""

    def __init__(self, broker: Broker, namespace: str, draw: random.Random) -> None:
        self._broker = broker
        self._draw = draw
        self._client = Client(broker.port)
        self._paths = [f"/admin/v2/persistent/{namespace}/f-{number}" for number in range(LOADED)]
        self._producers: list[int] = []
        for path in self._paths:
            broker.admin("PUT", path)
            broker.admin("GET", path.replace("/admin/v2/", "/lookup/v2/topic/"))
            self._producers.append(self._client.produce(path.replace("/admin/v2/persistent/", "persistent://")))

    def rates(self) -> list[tuple[float, float]]:
        result = [self._broker.admin("GET", f"{path}/stats") for path in self._paths]
        return [(stats["msgRateIn"], stats["msgThroughputIn"]) for stats in result]

    def publish(self) -> None:
        """Publish something else to each topic than before, and wait for the next update of rates and one more."""
        before = self.rates()
        for producer in self._producers:
            for _ in range(self._draw.randint(0, MOST_MESSAGES)):
                self._client.publish(producer, "k", b"x" * 100)
        until = time.monotonic() + HANG_S
        while (now := self.rates()) == before or not any(rate for rate, _ in now):
            assert time.monotonic() < until, "the rates do not change"
            time.sleep(0.05)
        while self.rates() != self.rates():  # the update is under way
            time.sleep(0.05)

    def close(self) -> None:
        self._client.close()


def test_what_a_split_by_flow_makes(brokers: Brokers, steps: int, seed: int, predictions: list[int]) -> None:
    broker = brokers(BY_FLOW)
    draw = random.Random(seed)
    namespace = f"public/flow-{seed}"
    broker.admin("PUT", f"/admin/v2/namespaces/{namespace}", {"bundles": {"numBundles": 2, "boundaries": []}})
    flow = Flow(broker, namespace, draw)
    broker.wait_until_listed(namespace, LOADED + 1)
    checked = cuts = 0
    for _ in range(ROUNDS * (1 + steps // 30)):
        flow.publish()
        rates = flow.rates()
        timeline = in_the_model(broker, namespace, LOADED + 1)
        results: list[tuple[str, int, list[str]]] = []
        expected: list[tuple[str, int, list[str]]] = []
        for _ in range(4):
            listed = bundles_of(timeline.state, namespace)
            at = draw.randrange(len(listed) - 1)
            bundle = f"{listed[at]}_{listed[at + 1]}"
            command = parse_command(f"split {namespace}/{bundle}", timeline.state)
            assert isinstance(command, Command), command
            timeline, refused = timeline.submit(command)
            expected.append(
                (bundle, CHANGED if refused is None else refused.status, bundles_of(timeline.state, namespace))
            )
            status = split(broker, namespace, bundle, "", [])
            now = broker.admin("GET", f"/admin/v2/namespaces/{namespace}/bundles")["boundaries"]
            results.append((bundle, status, now))
            cuts += len(now) - len(listed)
            if now != expected[-1][2]:
                break
        if flow.rates() != rates:
            continue  # rates were worked out anew meanwhile, so the model and the broker had different ones
        assert results == expected, f"seed {seed}, rates {rates}"
        checked += len(results)
    flow.close()
    assert checked
    assert cuts
    predictions.append(checked)
