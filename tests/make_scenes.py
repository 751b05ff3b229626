"""Makes the scenes that the package carries: ``python -m tests.make_scenes``.

A scene keeps the form of a broker's answers, member for member, and leaves out the members nobody here reads. So it
goes through the same decoding as any recording. All are from recordings of real brokers but ``pip-169``, which has the
numbers of a proposal.
"""

from __future__ import annotations

import gzip
import json
from functools import partial
from pathlib import Path
from typing import Any

from tests.engine.scalable import scenes

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


PIP_169_BOUNDARIES = ["0x00000000", "0x00000200", "0xffffffff"]
PIP_169_EXAMPLES = {
    "pip-169/proposed": {
        "at-10-qeifiwj": (100, 1),
        "at-20-jejqnkd": (200, 2),
        "at-80-ythnajb": (300, 3),
        "at-90-kswiyst": (400, 4),
        "at-100-xjnhlix": (500, 5),
        "at-110-ypsvdra": (2_000, 190),
    },
    "pip-169/edited": {
        "at-10-qcijfwc": (100, 10),
        "at-20-ubnhpgd": (200, 20),
        "at-80-yrhbnjk": (300, 30),
        "at-90-dgfyakd": (400, 40),
        "at-100-nywnjth": (500, 50),
        "at-110-slyueug": (600, 60),
    },
}
"""Namespace -> topic -> messages and MB a second. The ends of the names make their CRC-32 the number before them."""


def pip_169() -> dict[str, Any]:
    """The two examples of #16782, which proposed the split by flow: the first text's and the edited one's."""
    bundle = "_".join(PIP_169_BOUNDARIES[:2])
    stats = {
        namespace: {
            bundle: {
                "persistent": {
                    f"persistent://{namespace}/{topic}": _written(msgs, mbytes)
                    for topic, (msgs, mbytes) in topics.items()
                }
            }
        }
        for namespace, topics in PIP_169_EXAMPLES.items()
    }
    files = {namespace: f"{namespace.replace('/', '-')}-bundles.json" for namespace in PIP_169_EXAMPLES}
    answers = [
        {"file": file, "request": f"GET /admin/v2/namespaces/{namespace}/bundles", "status": 200}
        for namespace, file in files.items()
    ]
    return {
        "broker-stats-topics.json": stats,
        **{file: {"boundaries": PIP_169_BOUNDARIES, "numBundles": 2} for file in files.values()},
        "scenario.json": {
            "scenario": "pip-169",
            "pulsar_version": "4.2.4",
            "broker_settings": {"defaultNamespaceBundleSplitAlgorithm": "flow_or_qps_equally_divide"},
            "steps": [{"answers": answers}],
        },
    }


def _written(msgs_per_sec: int, mbytes_per_sec: int) -> dict[str, Any]:
    return {
        "msgRateIn": float(msgs_per_sec),
        "msgThroughputIn": mbytes_per_sec * 1e6,
        "msgRateOut": 0.0,
        "msgThroughputOut": 0.0,
        "storageSize": 0,
        "backlogSize": 0,
        "subscriptions": {},
    }


def scalable(name: str, moment: str) -> dict[str, Any]:
    """The statistics of a scalable topic at a recorded moment, without addresses of clients."""
    recorded = scenes.scene(name)
    (path,) = (one for one in recorded["answers"][moment] if one.endswith("/orders/stats.json"))
    stats = json.loads(json.dumps(recorded["answers"][moment][path]))
    for subscription in stats["subscriptions"].values():
        for consumer in subscription["consumers"]:
            consumer.pop("address", None)
    stats["producers"] = []
    scenario = recorded["scenario"]
    kept = {each: scenario[each] for each in ("scenario", "pulsar_version", "broker_settings")}
    return {"01-stats.json": stats, "scenario.json": kept | {"steps": []}}


SOURCES = {
    "pip392": pip392,
    "flow-split": flow_split,
    "pip-169": pip_169,
    "scalable-order": partial(scalable, "order", "2026-11-27T15-16-29Z"),
    "scalable-sharing": partial(scalable, "manual", "2026-11-27T15-14-16Z"),
    "scalable-load": partial(scalable, "auto-load", "2026-11-27T15-01-20Z"),
    "scalable-migrate": partial(scalable, "migrate", "2026-11-27T14-59-17Z"),
}


def _scenario(recording: str) -> dict[str, Any]:
    result = answer(recording, "scenario.json")
    return {name: result[name] for name in ("scenario", "pulsar_version", "broker_settings")} | {"steps": []}


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
