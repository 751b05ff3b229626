"""Folders of load reports of random clusters, as brokers print them."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

IMPL = "org.apache.pulsar.broker.loadbalance.impl"
EXTENSIBLE = "org.apache.pulsar.broker.loadbalance.extensions.ExtensibleLoadManagerImpl"
SHEDDERS: tuple[Mapping[str, str], ...] = (
    {"loadBalancerLoadSheddingStrategy": f"{IMPL}.ThresholdShedder"},
    {"loadBalancerLoadSheddingStrategy": f"{IMPL}.OverloadShedder"},
    {"loadBalancerLoadSheddingStrategy": f"{IMPL}.UniformLoadShedder", "minUnloadMessage": "10"},
    {
        "loadBalancerLoadSheddingStrategy": f"{IMPL}.AvgShedder",
        "loadBalancerLoadPlacementStrategy": f"{IMPL}.AvgShedder",
        "minUnloadMessage": "10",
    },
    {"loadManagerClassName": EXTENSIBLE, "loadBalancerSheddingConditionHitCountThreshold": "0"},
)


def report(broker: str, bundles: Sequence[tuple[str, float, int]], cpu: float, updated_ms: int = 1) -> dict[str, Any]:
    """A report; of each bundle its name, messages/s each way (of 1 kB) and topics."""
    stats = {
        name: {"msgRateIn": rate, "msgRateOut": rate, "msgThroughputIn": rate * 1e3, "msgThroughputOut": rate * 1e3,
               "consumerCount": 1, "producerCount": 1, "topics": topics}
        for name, rate, topics in bundles
    }  # fmt: skip
    total = sum(rate for _, rate, _ in bundles)
    return {
        "webServiceUrl": f"http://{broker}", "pulsarServiceUrl": f"pulsar://{broker}",
        "cpu": {"usage": cpu, "limit": 100.0}, "memory": {"usage": 1.0, "limit": 9.0},
        "directMemory": {"usage": 1.0, "limit": 9.0}, "bandwidthIn": {"usage": 2.0, "limit": 90.0},
        "bandwidthOut": {"usage": 3.0, "limit": 90.0}, "msgThroughputIn": total * 1e3, "msgThroughputOut": total * 1e3,
        "msgRateIn": total, "msgRateOut": total, "lastUpdate": updated_ms, "lastStats": stats,
        "numTopics": sum(topics for *_, topics in bundles), "numBundles": len(bundles),
        "bundles": [name for name, *_ in bundles], "brokerVersionString": "4.2.4", "loadReportType": "LocalBrokerData",
    }  # fmt: skip


def random_cluster(folder: Path, seed: int, settings: Mapping[str, str], *, apart: bool = False) -> Path:
    """A cluster of some brokers, of which one may be hot; ``apart``: every broker in a folder of its own."""
    chance = random.Random(seed)
    brokers, each = chance.randint(2, 6), chance.randint(3, 12)
    width = 2**32 // (brokers * each)
    hot = chance.randrange(brokers)
    for at in range(brokers):
        names = [
            f"shop/orders/0x{(at * each + n) * width:08x}_0x{(at * each + n + 1) * width:08x}" for n in range(each)
        ]
        times = chance.choice([6, 20]) if at == hot else 1
        bundles = [(name, chance.uniform(10, 900) * times, chance.randint(1, 9)) for name in names]
        written = report(f"b{at}-{seed}:8080", bundles, min(98.0, chance.uniform(4, 12) * times), 1000 + at)
        place = folder / f"broker-{at}" if apart else folder
        save(place / f"load-report-{at}.json", written)
    save(folder / "runtime-configuration.json", settings)
    return folder


def save(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
