"""Decoding a large answer of a broker, beside ``json.loads`` of the same bytes, which checks nothing."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from engine.admin.topics import decode_partitioned_stats
from tests.bench.table import Row, median_ms

RECORDED = Path(__file__).parents[1] / "recordings" / "pip392-flag-off" / "02-partitioned-stats.json.gz"
MEGABYTES = 20
ROUNDS = 5


def document(megabytes: int) -> bytes:
    """One partitioned topic with as many partitions as it takes, each as a broker once printed it."""
    recorded = json.loads(gzip.decompress(RECORDED.read_bytes()))
    topic = next(iter(recorded.values()))
    partition = next(iter(topic["partitions"].values()))
    text = json.dumps(partition)
    count = megabytes * 1_000_000 // len(text)
    name = "persistent://public/default/many-partition-"
    partitions = ", ".join(f'"{name}{at}": {text}' for at in range(count))
    rest = json.dumps({member: value for member, value in topic.items() if member != "partitions"})
    return f'{rest[:-1]}, "partitions": {{{partitions}}}}}'.encode()


def rows(megabytes: int = MEGABYTES, rounds: int = ROUNDS) -> list[Row]:
    """One row."""
    data = document(megabytes)
    decoded = decode_partitioned_stats(data, "bench")
    assert not decoded.problems, decoded.problems[:3]
    ours = median_ms(lambda: decode_partitioned_stats(data, "bench"), rounds)
    peer = median_ms(lambda: json.loads(data), rounds)
    return [Row(f"decode partitioned-stats of {len(data) / 1e6:.0f} MB", ours, "json.loads of the same bytes", peer)]
