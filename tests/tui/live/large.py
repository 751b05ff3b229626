"""Readings of a cluster with many topics, made of the answers that a real broker gave for a few."""

from __future__ import annotations

import json
from typing import Any, Final

from tests.playing.server import RECORDED_BROKER, recorded
from tui.sources.cluster.outcomes import Answer
from tui.sources.cluster.reading import ClusterReading

LOADED: Final = "/admin/v2/broker-stats/topics"
ORDERS: Final = "/admin/v2/persistent/public/default/orders/partitioned-stats"
BEGAN_MS: Final = 1_795_427_287_231


def large_reading(partitions: int, second: int, without: str = "") -> ClusterReading:
    """``orders`` with so many partitions, and without the consumer of this name."""
    answers = recorded()
    stats = json.loads(answers[ORDERS])
    one = next(iter(stats["partitions"].values()))
    prefix = "persistent://public/default/orders-partition-"
    stats["partitions"] = {f"{prefix}{index}": _partition(one, index, without) for index in range(partitions)}
    stats["metadata"] = {"partitions": partitions}
    answers[ORDERS] = json.dumps(stats).encode()
    loaded = json.loads(answers[LOADED])
    bundles = loaded["public/default"]
    places = {name: (bundle, facts) for bundle, domains in bundles.items() for name, facts in _persistent(domains)}
    bundle, facts = places[f"{prefix}0"]
    for index in range(partitions):
        bundles[places.get(f"{prefix}{index}", (bundle, None))[0]]["persistent"][f"{prefix}{index}"] = facts
    answers[LOADED] = json.dumps(loaded).encode()
    return ClusterReading(
        "http://broker.example:8080",
        BEGAN_MS + 1000 * second,
        "standalone",
        "4.2.4",
        (RECORDED_BROKER,),
        tuple(Answer(path, data) for path, data in answers.items()),
        (),
        topics=partitions,
    )


def _persistent(domains: dict[str, Any]) -> list[tuple[str, Any]]:
    return list(domains.get("persistent", {}).items())


def _partition(one: dict[str, Any], index: int, without: str) -> dict[str, Any]:
    billing = one["subscriptions"]["billing"]
    consumers = [each for each in billing["consumers"] if each["consumerName"] != without]
    active = consumers[index % len(consumers)]["consumerName"]
    return {
        **one,
        "msgRateOut": float(index % 97),
        "subscriptions": {"billing": {**billing, "consumers": consumers, "activeConsumerName": active}},
    }
