"""Topics of a fleet by cluster and namespace, with the bundles of each namespace and their owners."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from pipeline.batches import codes_of, runs, whole_groups

NAMESPACE: Final = ("cluster", "namespace")
LOADS: Final = ("publishers", "consumers", "msg_rate_in", "msg_rate_out", "msg_throughput_in", "msg_throughput_out")


def by_namespace(
    topics: DataFrame, listed: DataFrame | None, bundles: DataFrame, reports: DataFrame | None = None
) -> DataFrame:
    """Rows for ``known_and_topics``: each namespace is in one partition. One shuffle.

    First come those without a topic: its bundles, and who reported to own one. Then its topics, by name, so that sums
    are reproducible; one that is loaded and ``listed`` comes twice, with its loads first. Other columns are null.
    """
    rows = topics.select(*NAMESPACE, "topic", fn.lit(True).alias("has_stats"), "bundle", "broker", *LOADS)
    others = [bundles.select(*NAMESPACE, "lower", "upper")]
    if listed is not None:
        others.append(listed.where("not is_parent").select(*NAMESPACE, "topic"))
    if reports is not None:
        others.append(reports.select(*NAMESPACE, fn.col("range").alias("bundle"), "broker"))
    for other in others:
        rows = rows.unionByName(other, allowMissingColumns=True)
    return rows.repartition(*NAMESPACE).sortWithinPartitions(*NAMESPACE, "topic", fn.desc("has_stats"))


def known_and_topics(batches: Iterator[Any]) -> Iterator[tuple[str, Any, Any]]:
    """A cluster, and rows of ``by_namespace`` of some of its whole namespaces: those without a topic, and each topic
    once.

    Topics that are only listed have no statistics, and loads of 0; a load that statistics lack is null.
    """
    for cluster, table in _by_cluster(whole_groups(batches, NAMESPACE)):
        named = pc.is_valid(table["topic"])
        topics = table.filter(named).combine_chunks()
        names = topics["topic"]
        again = np.asarray(pc.equal(names[1:], names[:-1]), dtype=bool)
        topics = topics.filter(pa.array(~np.append(False, again)[: len(names)]))
        has_stats = topics["has_stats"].fill_null(False)
        columns = {"has_stats": has_stats, **{name: pc.if_else(has_stats, topics[name], 0) for name in LOADS}}
        for name, column in columns.items():
            topics = topics.set_column(topics.schema.get_field_index(name), name, column)
        yield cluster, table.filter(pc.invert(named)), topics


def loads_of(topics: Any) -> NDArray[np.float64]:
    """The ``LOADS`` of topics, (6, n); NaN where statistics lack one."""
    return np.array([topics[name].to_numpy().astype(np.float64) for name in LOADS])


def _by_cluster(tables: Iterator[Any]) -> Iterator[tuple[str, Any]]:
    for table in tables:
        clusters, codes = codes_of(table["cluster"])
        for begin, end in runs(codes):
            yield clusters[codes[begin]], table.slice(begin, end - begin).combine_chunks()


def boundaries_of(known: Any) -> dict[str, tuple[int, ...]]:
    """The boundaries of each namespace that has bundles among rows without a topic, ascending, with both ends."""
    bundles = known.filter(pc.is_valid(known["lower"])).sort_by([("namespace", "ascending"), ("lower", "ascending")])
    names, lower, upper = (bundles[name].to_numpy() for name in ("namespace", "lower", "upper"))
    return {names[begin]: (*lower[begin:end].tolist(), int(upper[begin:end].max())) for begin, end in runs(names)}


def owners_of(known: Any, updated_ms: Mapping[str, int]) -> dict[str, str]:
    """The broker that owns a bundle, as load reports among rows without a topic say, by the bundle's full name.

    Where two brokers report the same bundle, the newer report counts; of equal times, the later broker by name.
    """
    reports = known.filter(pc.is_valid(known["bundle"])).to_pylist()
    claims = sorted(
        (updated_ms.get(row["broker"], 0), row["broker"], f"{row['namespace']}/{row['bundle']}") for row in reports
    )
    return {bundle: broker for _, broker, bundle in claims}


def mixed_producers(topics: DataFrame, listed: DataFrame, publishers: DataFrame) -> DataFrame:
    """Topics with producers of several client versions: ``NAMESPACE`` and ``members``, partition by partition.

    The ``members`` of a row have one name up to ``-partition-``, which what follows need not be the number of. Each has
    its ``topic`` and the ``client_versions`` of its producers.
    """
    # Whatever a partition's number is, it has no hyphen (``engine.names.partition_index``).
    stem = fn.regexp_replace("topic", "-partition-[^-]+$", "").alias("stem")
    versions = publishers.select("cluster", "topic", "client_version", stem)
    several = versions.groupBy("cluster", "stem").agg(
        fn.min("client_version").alias("first"), fn.max("client_version").alias("last")
    )
    several = several.where("first <> last").select("cluster", "stem")
    every = topics.select(*NAMESPACE, "topic").union(listed.where("not is_parent").select(*NAMESPACE, "topic"))
    there = every.select(*NAMESPACE, "topic", stem).join(several, ["cluster", "stem"], "left_semi").distinct()
    mixed = versions.join(several, ["cluster", "stem"], "left_semi")
    by_topic = mixed.groupBy("cluster", "topic").agg(
        fn.sort_array(fn.collect_set("client_version")).alias("client_versions")
    )
    known = fn.coalesce("client_versions", fn.array().cast("array<string>")).alias("client_versions")
    members = fn.sort_array(fn.collect_list(fn.struct("topic", known))).alias("members")
    return there.join(by_topic, ["cluster", "topic"], "left").groupBy(*NAMESPACE, "stem").agg(members).drop("stem")
