"""What the brokers of an invented installation print: the jobs get their figures from it as from a real one."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, Final

from engine.bundles.boundaries import NamespaceBundles, default_boundaries, namespace_bundles
from engine.errors import Rejection
from engine.hashing import crc32_hash

BROKERS: Final = 6
TEAMS: Final = ("retail/orders", "retail/stock", "bank/ledger", "bank/cards", "fleet/tracks")
NAMESPACES_A_TEAM: Final = 5
APPLICATIONS: Final = (
    "billing", "shipping", "search-index", "fraud-check", "audit", "export", "mailer", "invoices", "risk", "reports",
)  # fmt: skip
BYTES_A_MESSAGE: Final = 640


def write_inventory(folder: Path, seed: int = 1) -> Path:
    """``broker-stats topics``, a load report of each broker, settings with the flag on, a key trace, and half a file.

    25 namespaces of 4 to 10 subscriptions over 4 to 32 partitions, each with 2 to 16 consumers; one subscription of
    five is Key_Shared. The same seed gives the same bytes.
    """
    folder.mkdir(parents=True)
    draw = random.Random(seed)
    results: list[dict[str, Any]] = [{} for _ in range(BROKERS)]
    events: list[str] = []
    for number in range(NAMESPACES_A_TEAM * len(TEAMS)):
        namespace = f"{TEAMS[number % len(TEAMS)]}-{number // len(TEAMS) + 1}"
        bundles = _bundles(namespace)
        for application in draw.sample(APPLICATIONS, draw.randint(4, 10)):
            keyed = draw.random() < 0.2
            consumers = _consumer_names(application, draw)
            for topic, rate in _topics(namespace, application, draw):
                place = bundles.index_of(crc32_hash(topic))
                inside = (
                    results[(number + place) % BROKERS].setdefault(namespace, {}).setdefault(str(bundles[place]), {})
                )
                inside.setdefault("persistent", {})[topic] = _statistics(application, keyed, consumers, rate, draw)
            if keyed:
                events += _events(namespace, application, draw)
    for broker, stats in enumerate(results):
        (folder / f"broker-stats-topics-{broker}.json").write_text(json.dumps(stats))
        report = _load_report(broker, stats)
        (folder / f"load-report-{broker}.json").write_text(json.dumps(report))
    (folder / "runtime-configuration.json").write_text('{"activeConsumerFailoverConsistentHashing": "true"}')
    (folder / "keys.jsonl").write_text("".join(events))
    (folder / "stats-cut-short.json").write_text(json.dumps(results[0])[:20_000])
    return folder


def _load_report(broker: int, stats: dict[str, Any]) -> dict[str, Any]:
    last = {}
    for namespace, inside in stats.items():
        for bundle, kinds in inside.items():
            topics = kinds["persistent"].values()
            rates = ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")
            last[f"{namespace}/{bundle}"] = {
                "topics": len(topics),
                **{rate: sum(topic[rate] for topic in topics) for rate in rates},
            }
    return {
        "webServiceUrl": f"http://broker-{broker}:8080",
        "pulsarServiceUrl": f"pulsar://broker-{broker}:6650",
        "brokerVersionString": "4.0.7",
        "lastStats": last,
    }


def _bundles(namespace: str) -> NamespaceBundles:
    boundaries = default_boundaries(4)
    assert not isinstance(boundaries, Rejection)
    bundles = namespace_bundles(namespace, boundaries)
    assert not isinstance(bundles, Rejection)
    return bundles


def _consumer_names(application: str, draw: random.Random) -> list[str]:
    """As a broker sorts them. Half of the applications number their consumers, the others are named by pods."""
    size = draw.randint(2, 16)
    if draw.random() < 0.5:
        return sorted(f"{application}-{at}" for at in range(size))
    return sorted(f"{application}-{draw.getrandbits(40):010x}" for _ in range(size))


def _topics(namespace: str, application: str, draw: random.Random) -> Iterator[tuple[str, float]]:
    """Partitions with their messages per second: most alike, now and then one with a multiple."""
    rate = 2.0 * draw.paretovariate(0.9)
    for at in range(4 * draw.randint(1, 8)):
        hot = 12.0 if draw.random() < 0.02 else 1.0
        yield f"persistent://{namespace}/{application}-in-partition-{at}", round(rate * hot * draw.uniform(0.7, 1.3), 2)


def _statistics(
    application: str, keyed: bool, consumers: list[str], rate: float, draw: random.Random
) -> dict[str, Any]:
    rates = {"msgRateOut": rate, "msgThroughputOut": rate * BYTES_A_MESSAGE}
    return {
        **rates,
        "msgRateIn": rate,
        "msgThroughputIn": rate * BYTES_A_MESSAGE,
        "publishers": [],
        "subscriptions": {
            application: {
                **rates,
                "type": "Key_Shared" if keyed else "Failover",
                "msgBacklog": draw.randint(0, 4_000) if draw.random() < 0.2 else 0,
                "consumers": [{"consumerName": name, "clientVersion": "Pulsar-Java-v4.0.7"} for name in consumers],
            }
        },
    }


def _events(namespace: str, application: str, draw: random.Random) -> Iterator[str]:
    """Some hundred keys, the first ones most often."""
    for at in count(1):
        if at > draw.choice((150, 400, 900)):
            return
        event = {"namespace": namespace, "subscription": application, "key": f"customer-{draw.getrandbits(30)}"}
        yield json.dumps(event | {"count": 1 + round(2_000 / at)}) + "\n"
