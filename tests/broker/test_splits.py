"""Splits on request: the engine says the bundles that will be there, or the refusal, and then the broker is asked."""

from __future__ import annotations

import json
import random
import urllib.error
import urllib.request

from engine.cluster.commands import Command
from engine.cluster.grammar.reading import parse_command
from engine.cluster.state import ClusterState
from engine.cluster.timeline import Timeline
from engine.scenarios.opening import open_moments
from tests.broker.conftest import Brokers
from tests.broker.standalone import Broker
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
    """Ask the broker for it and give the status."""
    path = f"/admin/v2/namespaces/{namespace}/{bundle}/split?unload=false&splitAlgorithmName={algorithm}"
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


def test_what_a_split_makes(brokers: Brokers, steps: int, seed: int) -> None:
    broker = brokers(SETTINGS)
    draw = random.Random(seed)
    namespace = f"public/splits-{seed}"
    broker.admin("PUT", f"/admin/v2/namespaces/{namespace}", {"bundles": {"numBundles": 4, "boundaries": []}})
    for number in range(TOPICS):
        broker.admin("PUT", f"/admin/v2/persistent/{namespace}/t-{number}")
        broker.admin("GET", f"/lookup/v2/topic/persistent/{namespace}/t-{number}")
    broker.wait_until_listed(namespace, TOPICS + 1)
    reading = Source(Access(broker.url), Scope((namespace,), loads_topics=True)).read()
    opened = open_moments(moments_read([reading], limit_bytes=10**9))
    timeline = Timeline.start(opened.state, 0, broker.url)
    statuses = []
    for _ in range(3 * steps):
        listed = bundles_of(timeline.state, namespace)
        at = draw.randrange(len(listed) - 1)
        low, high = int(listed[at], 16), int(listed[at + 1], 16)
        algorithm = draw.choice(ALGORITHMS)
        # Some are outside of the bundle, and some bundles do not exist.
        widest = draw.choice((high, min(0xFFFFFFFF, high + high // 4)))
        positions = sorted(draw.sample(range(low + 1, widest), draw.randint(1, 3))) if "positions" in algorithm else []
        bundle = f"{listed[at]}_{listed[at + 1]}" if draw.random() < 0.9 else f"{listed[at]}_0x{high - 1:08x}"
        line = f"split {namespace}/{bundle} {algorithm}" + (f" at {','.join(map(str, positions))}" if positions else "")
        command = parse_command(line, timeline.state)
        assert isinstance(command, Command), command
        timeline, refused = timeline.submit(command)
        statuses.append(split(broker, namespace, bundle, algorithm, positions))
        assert statuses[-1] == (refused.status if refused is not None else CHANGED), f"{line} (seed {seed}): {refused}"
        found = broker.admin("GET", f"/admin/v2/namespaces/{namespace}/bundles")["boundaries"]
        assert found == bundles_of(timeline.state, namespace), f"{line} (seed {seed})"
    assert len(set(statuses)) > 1
