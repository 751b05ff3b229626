"""The job ``import`` beside what msgspec takes for the same document: typed, and the topics as Parquet; nothing else.

That checks no names, finds no member written twice, and leaves out subscriptions, consumers and publishers.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.reading.topic_columns import TopicWithPublishers
from tests import fleet_results
from tests.bench_spark.comparing import check_same

_DOCUMENT = msgspec.json.Decoder(dict[str, dict[str, dict[str, dict[str, TopicWithPublishers]]]])


def by_msgspec(document: Path, target: Path) -> None:
    """The whole document in one go, and one table of it."""
    decoded = _DOCUMENT.decode(document.read_bytes())
    rows = [
        (name, bundle, told.msgRateIn, told.msgRateOut, told.msgThroughputIn, told.msgThroughputOut, told.storageSize)
        for bundles in decoded.values()
        for bundle, domains in bundles.items()
        for topics in domains.values()
        for name, told in topics.items()
    ]
    names = ["topic", "bundle", "msg_rate_in", "msg_rate_out", "msg_throughput_in", "msg_throughput_out", "size"]
    columns = [pa.array(column) for column in zip(*rows, strict=True)]
    pq.write_table(pa.Table.from_arrays(columns, names=names), target / "topics.parquet", compression="zstd")


def check_equal(ours: Path, peer: Path) -> int:
    """The topics agree; gives their number."""
    columns = "topic, bundle, msg_rate_in, msg_rate_out, msg_throughput_in, msg_throughput_out"
    return check_same("the topics", columns, fleet_results.sql(ours, "topics"), f"'{peer}/topics.parquet'")
