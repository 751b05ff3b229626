"""Makes the scenes that the package carries from recordings of real brokers: ``python -m tests.make_scenes``.

A scene keeps the form of a broker's answers, member for member, and leaves out the members nobody here reads. So it
goes through the same decoding as any recording.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

RECORDINGS = Path(__file__).parent / "recordings"
SCENES = Path(__file__).parents[1] / "engine" / "scenarios" / "scenes"

_RATES = ("msgRateIn", "msgThroughputIn", "msgRateOut", "msgThroughputOut", "storageSize", "backlogSize")
_SUBSCRIPTION = (
    "type",
    "activeConsumerName",
    "msgRateOut",
    "msgThroughputOut",
    "msgBacklog",
    "unackedMessages",
)
_CONSUMER = (
    "consumerName",
    "address",
    "connectedSince",
    "clientVersion",
    "msgRateOut",
    "msgThroughputOut",
    "unackedMessages",
    "availablePermits",
)


def answer(recording: str, name: str) -> Any:
    """One recorded answer."""
    return json.loads(gzip.decompress((RECORDINGS / recording / f"{name}.gz").read_bytes()))


def pip392() -> dict[str, Any]:
    """100 topics of one partition and ten consumers of one Failover subscription, the flag off."""
    recording = "pip392-flag-off"
    stats = answer(recording, "01-partitioned-stats.json")
    return {
        "01-bundles.json": answer(recording, "01-bundles.json"),
        "01-partitioned-stats.json": {topic: _partitioned(each) for topic, each in stats.items()},
        "01-runtime-configuration.json": answer(recording, "01-runtime-configuration.json"),
        "scenario.json": _scenario(recording),
    }


def flow_split() -> dict[str, Any]:
    """60 topics at steady, uneven rates in four bundles, just before the first split by flow; nobody consumes."""
    recording = "d-flow-msgrate-4x60"
    stats = answer(recording, "02-broker-stats-topics.json")
    trimmed = {
        namespace: {
            bundle: {
                domain: {name: _topic(topic) for name, topic in topics.items()} for domain, topics in domains.items()
            }
            for bundle, domains in bundles.items()
        }
        for namespace, bundles in stats.items()
    }
    return {
        "02-broker-stats-topics.json": trimmed,
        "02-bundles-before.json": answer(recording, "02-bundles-before.json"),
        "scenario.json": _scenario(recording),
    }


SOURCES = {"pip392": pip392, "flow-split": flow_split}


def _scenario(recording: str) -> dict[str, Any]:
    told = answer(recording, "scenario.json")
    return {name: told[name] for name in ("scenario", "pulsar_version", "broker_settings")} | {"steps": []}


def _partitioned(stats: dict[str, Any]) -> dict[str, Any]:
    # The sums over partitions are left out: a reader adds the partitions itself.
    return {
        "subscriptions": {},
        "metadata": {"partitions": stats["metadata"]["partitions"]},
        "partitions": {name: _topic(partition) for name, partition in stats["partitions"].items()},
    }


def _topic(stats: dict[str, Any]) -> dict[str, Any]:
    subscriptions = {
        name: _members(told, _SUBSCRIPTION) | {"consumers": [_members(each, _CONSUMER) for each in told["consumers"]]}
        for name, told in stats["subscriptions"].items()
    }
    return _members(stats, _RATES) | {"subscriptions": subscriptions}


def _members(told: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: told[name] for name in names if name in told}


def main() -> None:
    """Write all scenes; the same recordings give the same texts."""
    SCENES.mkdir(exist_ok=True)
    for name, make in SOURCES.items():
        text = json.dumps(make(), separators=(",", ":")).encode()
        (SCENES / f"{name}.json.gz").write_bytes(gzip.compress(text, 9, mtime=0))


if __name__ == "__main__":
    main()
