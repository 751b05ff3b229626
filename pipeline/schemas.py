"""The tables of a fleet, each declared once: names, types and which columns may be empty.

Readers and writers of Parquet take the Arrow form, DataFrames the form of Spark; both come from one declaration.
Rates are messages per second, throughputs bytes per second, as the brokers say them. Written tables end with the two
columns of ``pipeline.stamps``, which are declared there once for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import pyarrow as pa

_ARROW: Final[Mapping[str, Any]] = {
    "string": pa.string(),
    "bigint": pa.int64(),
    "int": pa.int32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "array<string>": pa.list_(pa.string()),
    "array<bigint>": pa.list_(pa.int64()),
    "array<struct<name:string,value:double>>": pa.list_(pa.struct([("name", pa.string()), ("value", pa.float64())])),
    "array<struct<start:int,end:int>>": pa.list_(pa.struct([("start", pa.int32()), ("end", pa.int32())])),
}


@dataclass(frozen=True)
class Table:
    """One table: ``columns`` are lines like ``topic string`` or ``broker string?``, the mark meaning "may be empty"."""

    name: str
    columns: tuple[str, ...]
    few: tuple[str, ...] | None = None
    """Columns of a large table with few different values, the only ones worth a dictionary; None means all."""
    sought: tuple[str, ...] = ()
    """Those of them that readers filter by."""

    @cached_property
    def fields(self) -> tuple[tuple[str, str, bool], ...]:
        """Name, type in Spark's words, and whether the column may be empty."""
        split = (line.split(" ", 1) for line in self.columns)
        return tuple((name, kind.removesuffix("?"), kind.endswith("?")) for name, kind in split)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _, _ in self.fields)

    @cached_property
    def arrow(self) -> Any:
        """The ``pyarrow.Schema``."""
        return pa.schema([pa.field(name, _ARROW[kind], nullable) for name, kind, nullable in self.fields])

    @cached_property
    def ddl(self) -> str:
        """The schema as Spark reads it."""
        return ", ".join(f"`{name}` {kind}" for name, kind, _ in self.fields)

    def columns_of(self, rows: Sequence[tuple[object, ...]]) -> Any:
        """Rows, in the order of the columns, as a ``pyarrow.Table``. O(cells)."""
        turned = list(zip(*rows, strict=True)) if rows else [()] * len(self.columns)
        arrays = [pa.array(column, field.type) for column, field in zip(turned, self.arrow, strict=True)]
        return pa.Table.from_arrays(arrays, schema=self.arrow)


_RATES_OUT: Final = ("msg_rate_out double", "msg_throughput_out double")
_REPORTED_OUT: Final = ("msg_rate_out double?", "msg_throughput_out double?")
_REPORTED: Final = (
    "msg_rate_in double?",
    "msg_rate_out double?",
    "msg_throughput_in double?",
    "msg_throughput_out double?",
)
"""As answers have them: one that an answer lacks is null."""
_RATES: Final = ("msg_rate_in double", "msg_rate_out double", "msg_throughput_in double", "msg_throughput_out double")

_CLUSTER: Final = "cluster string"
"""The first column of every table, and part of every key: "" where the folder that was read is of one cluster."""

TOPICS: Final = Table(
    "topics",
    (_CLUSTER, "topic string", "domain string", "namespace string", "partitioned_topic string", "partition_index int",
     "bundle string?", "broker string?", *_REPORTED, "storage_size_bytes bigint?", "backlog_size_bytes bigint?",
     "publishers int?", "consumers int", "kind string", "file string"),
    few=("cluster", "domain", "namespace", "partition_index", "bundle", "broker", "publishers", "consumers", "kind",
     "file"),
    sought=("cluster", "namespace",),
)  # fmt: skip
"""``bundle`` is a range text; ``kind`` the answer it comes from: ``stats``, ``partitioned-stats``, ``broker-stats``."""

SUBSCRIPTIONS: Final = Table(
    "subscriptions",
    (_CLUSTER, "subscription string", "topic string", "namespace string", "partitioned_topic string",
     "partition_index int",
     "type string", "consumers int?", "consumer_set bigint", "told_active_consumer string?", *_REPORTED_OUT,
     "msg_backlog_entries bigint?", "unacked_messages bigint?", "file string"),
    few=("cluster", "subscription", "namespace", "partition_index", "type", "consumers", "consumer_set",
     "told_active_consumer",
         "file"),
    sought=("cluster", "namespace", "subscription", "type"),
)  # fmt: skip
"""One row for each subscription of each topic; ``consumer_set`` names a row of ``consumer_sets``."""

CONSUMER_SETS: Final = Table("consumer_sets", (_CLUSTER, "consumer_set bigint", "names array<string>"))
"""Each list of consumer names that occurs, once, in the dispatcher's order."""

CONSUMERS: Final = Table(
    "consumers",
    (_CLUSTER, "namespace string", "subscription string", "topic string", "position int", "consumer string",
     "address string",
     "connected_since string", "client_version string", *_REPORTED_OUT, "unacked_messages bigint?",
     "available_permits bigint?", "key_hash_ranges array<struct<start:int,end:int>>", "file string"),
    few=("cluster", "namespace", "subscription", "position", "consumer", "connected_since", "client_version",
     "available_permits", "file"),
)  # fmt: skip
"""``position`` counts from 0 in the dispatcher's order; ranges are slots, both ends inclusive."""

PUBLISHERS: Final = Table(
    "publishers",
    (_CLUSTER, "namespace string", "topic string", "position int", "publisher string", "producer_id bigint",
     "access_mode string", "address string",
     "connected_since string", "client_version string", "msg_rate_in double?", "msg_throughput_in double?",
     "average_msg_size double?", "file string"),
    few=("cluster", "namespace", "position", "access_mode", "connected_since", "client_version", "file"),
)  # fmt: skip

BUNDLES: Final = Table(
    "bundles",
    (_CLUSTER, "bundle string", "namespace string", "range string", "position int", "lower bigint", "upper bigint",
     "file string"),
)  # fmt: skip
"""The boundary lists: ``bundle`` is the full name, ``position`` counts from 0 in its namespace."""

BUNDLE_REPORTS: Final = Table(
    "bundle_reports",
    (_CLUSTER, "bundle string", "namespace string", "range string", "broker string", "position int", "topics bigint",
     "producers bigint", "consumers bigint", *_RATES, "file string"),
)  # fmt: skip
"""What load reports say of bundles, in the order of each report; a bundle can be in the reports of two brokers."""

BROKERS: Final = Table(
    "brokers", (_CLUSTER, "broker string", "version string", "last_update_ms bigint", "bundles int", "file string")
)

LISTED: Final = Table(
    "listed", (_CLUSTER, "topic string", "domain string", "namespace string", "is_parent boolean", "file string")
)
"""Names from topic lists and hash positions, loaded or not; ``is_parent``: from a list of partitioned topics."""

SETTINGS: Final = Table("settings", (_CLUSTER, "name string", "value string", "file string"))

ANSWERS: Final = Table("answers", (_CLUSTER, "namespace string", "body binary", "file string"))
"""Answers as brokers printed them, which the causes of ``lint`` are decided from: those about a namespace, and with an
empty one those that hold for all."""

LOAD_ANSWERS: Final = Table("load_answers", (_CLUSTER, "broker string", "body binary", "file string"))
"""Answers as brokers printed them, which the job ``balance`` computes from: load reports and metrics with the id of
their broker, and with an empty one what rules shedding (policies of ownership, failure domains, configurations) and
the loaded topics and owned bundles of brokers that give metrics. So a task of that job holds the lists of topics of one
cluster."""

FILES: Final = Table(
    "files", (_CLUSTER, "file string", "position int", "kind string", "bytes bigint", "outcome string")
)
"""Every file that was looked into; ``outcome``: ``read``, ``of no use here`` or ``quarantined``."""

QUARANTINE: Final = Table(
    "quarantine",
    (_CLUSTER, "file string", "place string", "line int?", "column int?", "table string", "rows bigint", "kind string",
     "reason string", "advice string"),
)  # fmt: skip
"""What was wrong. ``rows`` of ``table`` were set aside for it; ``kind``: ``bad``, ``superseded`` by a better answer
about the same thing, ``contested``: that better answer is of another broker, or ``note``: nothing was set aside."""

ASSIGN_QUARANTINE: Final = Table("assign_quarantine", QUARANTINE.columns)
"""The same for the lists of consumers that the job ``assign`` was given."""

ASSIGNMENTS: Final = Table(
    "assignments",
    (_CLUSTER, "subscription string", "topic string", "namespace string", "partition_index int", "policy string",
     "rule string", "active_consumer string?", "active_before string?", "moved boolean", *_RATES_OUT),
    few=("cluster", "subscription", "namespace", "policy", "rule", "active_consumer", "active_before",
     "partition_index"),
    sought=("cluster", "policy", "namespace", "subscription"),
)  # fmt: skip
"""Each part has the rows of one policy, sorted by namespace and subscription some hundred thousand at a time.

``active_before`` and ``moved`` compare with the rule in force before the changes
asked for; without consumers both names are empty."""

CONSUMER_LOADS: Final = Table(
    "consumer_loads",
    (_CLUSTER, "namespace string", "subscription string", "policy string", "consumer string",
     "partitions bigint", *_RATES_OUT),
)  # fmt: skip

_WORST_LIST: Final = ("worst_topic string?", "worst_consumers bigint?", "worst_active bigint?")
"""The list of consumers that makes ``max_over_even``: its first topic by name, its consumers, and those of them that
have a partition."""
SUBSCRIPTION_LOADS: Final = Table(
    "subscription_loads",
    (_CLUSTER, "namespace string", "subscription string", "policy string", "partitions bigint",
     "consumers bigint", "idle bigint", "max_partitions bigint", "mean_partitions double", "max_over_mean double?",
     "max_msg_rate_out double", "mean_msg_rate_out double", "max_over_mean_rate double?", "moved bigint",
     "least_moved bigint", "max_over_even double?", "in_force boolean", "lists bigint",
     "spare_msg_rate double", *_WORST_LIST),
)  # fmt: skip
"""``idle``: connected consumers without a partition. ``least_moved``: the fewest moves that the same change needs.

``max_over_even``: the largest ratio of a consumer's partitions to its even share. Where all topics have the same
consumers it equals ``max_over_mean``; else the share is of the topics that it reads (``pipeline.jobs.assign_loads``).
``in_force``: whether it is the policy of the brokers. ``lists``: how many different lists of consumers its topics have.
``spare_msg_rate``: messages/s that an even spread would give to less busy consumers, never more than there are.
"""

BUNDLE_TOPICS: Final = Table(
    "bundle_topics",
    (
        _CLUSTER,
        "topic string",
        "namespace string",
        "hash bigint",
        "bundle string?",
        "told_bundle string?",
        "has_stats boolean",
    ),
)
"""Topics by CRC-32; ``told_bundle`` is the full name of the bundle under which the broker listed it."""

BUNDLE_LOADS: Final = Table(
    "bundle_loads",
    (_CLUSTER, "bundle string", "namespace string", "lower bigint", "upper bigint", "broker string?", "topics bigint",
     "loaded_topics bigint", "producers bigint", "consumers bigint", *_RATES, "outcome string", "reason string"),
)  # fmt: skip
"""Loads summed over topics; ``outcome`` and ``reason`` are the modular load manager's verdict on these numbers."""

BROKER_LOADS: Final = Table(
    "broker_loads",
    (_CLUSTER, "broker string?", "bundles bigint", "topics bigint", "producers bigint", "consumers bigint", *_RATES),
)

BUNDLE_SPLITS: Final = Table(
    "bundle_splits",
    (_CLUSTER, "bundle string", "namespace string", "algorithm string", "cuts array<bigint>", "children bigint",
     "refusal string?", "empty_children bigint", "largest_share_topics double", "largest_share_rate double",
     "over_limit bigint"),
)  # fmt: skip
"""Where each algorithm would cut. Shares are of the parent's; ``over_limit`` children would be split again.

``refusal``: why no broker carries it out, empty where one would; ``not-the-default-algorithm`` still has the cuts."""

BUNDLE_CHILDREN: Final = Table(
    "bundle_children",
    (_CLUSTER, "bundle string", "namespace string", "algorithm string", "child string", "lower bigint", "upper bigint",
     "topics bigint", "msgs_per_sec double", "bytes_per_sec double"),
)  # fmt: skip

OCCUPANCY: Final = Table(
    "occupancy",
    (_CLUSTER, "namespace string", "bundles bigint", "empty_bundles bigint", "topics bigint", "max_topics bigint",
     "mean_topics double", "max_msgs_per_sec double", "mean_msgs_per_sec double"),
)  # fmt: skip

BALANCE_CLUSTERS: Final = Table(
    "balance_clusters",
    (_CLUSTER, "load_manager string", "shedder string", "placement string?", "release string",
     "reports bigint", "brokers bigint", "bundles bigint", "topics bigint", "cycles int", "unloads bigint",
     "unloads_per_hour double", "topics_interrupted bigint", "msg_rate_moved double", "returned bigint",
     "loops bigint", "swaps bigint", "quiet_after int?", "max_usage double?", "max_usage_after double?",
     "max_over_mean double?", "max_over_mean_after double?", "assumptions array<string>", "refusal string?"),
)  # fmt: skip
"""The forecast of each cluster, most loops first. ``cluster`` is the folder of its answers, "" the top one.

``usage`` is the weighted share that placement and shedding see; ``after`` the last cycle. ``loops``: bundles that come
back to a broker they had left, ``swaps``: pairs of brokers that give each other bundles. ``quiet_after`` is empty where
no end of the unloads is seen. ``refusal``: why there is no forecast."""

BALANCE_BROKERS: Final = Table(
    "balance_brokers",
    (_CLUSTER, "broker string", "usage double?", "usage_after double?", "fullest string?", "bundles bigint",
     "bundles_after bigint", "topics bigint", "msg_rate double", "throughput double", "next_unloads bigint",
     "unloads bigint", "gained bigint", "topics_interrupted bigint", "loops bigint", "next_outcome string",
     "measure string?", "figure double?", "limit double?", "shedder string"),
)  # fmt: skip
"""Every broker, the fullest first. ``fullest`` is the resource that makes its usage; rates are in and out together.

``next_outcome``: what the next cycle does with it and why (an outcome of the shedder, or why the cycle is skipped);
``figure`` was compared with ``limit``, both of ``measure``. ``unloads``, ``gained`` and ``topics_interrupted`` are of
all cycles, ``loops`` counts bundles that came back to it."""

BALANCE_UNLOADS: Final = Table(
    "balance_unloads",
    (_CLUSTER, "cycle int", "at_ms bigint", "bundle string", "namespace string", "source string",
     "destination string?", "chances array<struct<name:string,value:double>>", "topics bigint", "msg_rate double",
     "throughput double", "returns boolean"),
)  # fmt: skip
"""Every unload of the forecast in its order; ``chances`` of each broker that it may go to, ``destination`` the one that
the seed draws. ``returns``: to a broker that the bundle had left."""

BALANCE_LOOPS: Final = Table(
    "balance_loops",
    (_CLUSTER, "kind string", "bundle string", "brokers array<string>", "times bigint",
     "cycles array<bigint>"),
)  # fmt: skip
"""What goes round: ``bundle`` comes back (``kind`` ``returns``; ``brokers`` its way) or is unloaded and given to its
broker again (``stays``), or two brokers give each other bundles (``swaps``, without a ``bundle``)."""

BALANCE_ANSWERS: Final = Table("balance_answers", LOAD_ANSWERS.columns)
"""The answers that each forecast was computed from, so that its screen opens from the result alone."""

BALANCE_QUARANTINE: Final = Table("balance_quarantine", QUARANTINE.columns)
"""What was wrong with load reports and the answers about shedding; of raw answers, every damaged file as well."""

_KEY_SPACE: Final = (_CLUSTER, "namespace string", "subscription string")

KEY_SLOTS: Final = Table(
    "key_slots", (*_KEY_SPACE, "slot_space string", "slot bigint", "keys bigint", "rows bigint", "msgs bigint")
)
"""A key trace folded to slots. ``slot_space`` is the slots a selector looks up, like ``1..65535``; ``keys`` different
keys, ``rows`` of the trace, ``msgs`` messages."""

KEY_LOADS: Final = Table(
    "key_loads",
    (*_KEY_SPACE, "policy string", "consumer string", "position int", "share double", "keys bigint", "msgs bigint",
     "expected_keys double", "likely_low bigint", "likely_high bigint"),
)  # fmt: skip
"""What each consumer gets in each mode; ``share`` of the slots, and the keys that nine of ten throws give it."""

KEY_SPREADS: Final = Table(
    "key_spreads",
    (*_KEY_SPACE, "policy string", "consumers bigint", "keys bigint", "msgs bigint", "ownerless_keys bigint",
     "ownerless_msgs bigint", "busiest_keys bigint", "expected_busiest_keys double?", "likely_busiest_low bigint?",
     "likely_busiest_high bigint?", "probability double", "probability_by_shares double",
     "idle bigint", "expected_idle double?", "max_over_mean double?", "best_max_over_mean double?", "verdict string"),
)  # fmt: skip
"""Observed spread beside the expected one. ``probability`` is an upper bound for seeing any consumer as far out if
equal shares are thrown at random, ``probability_by_shares`` if the mode's own shares are. ``max_over_mean`` is of
messages; ``best_max_over_mean``: no placement of these keys can be better, since a key goes to one consumer.
``verdict`` is a ``Verdict`` of the engine. Keys without an owner are counted beside, and in nothing else."""

HOT_KEYS: Final = Table(
    "hot_keys",
    (*_KEY_SPACE, "rank int", "key string", "hash bigint", "msgs bigint", "share double", "even_up_to bigint"),
)  # fmt: skip
"""The heaviest keys, exactly. ``key`` as text, ``hex:`` where it is none. With more than ``even_up_to`` consumers this
key alone is more than an even part, and no number of consumers separates it."""

INSEPARABLE: Final = Table(
    "inseparable_keys",
    (*_KEY_SPACE, "slot_space string", "slot bigint", "keys bigint", "hot_keys array<string>", "msgs bigint",
     "share double", "even_up_to bigint", "reason string"),
)  # fmt: skip
"""Slots whose keys stay together whatever the number of consumers. ``reason``: ``one key`` is more than an even part,
``one slot`` is, or ``hot keys meet`` in it."""

KEY_QUARANTINE: Final = Table("key_quarantine", QUARANTINE.columns)
"""What was wrong with key traces, one row for each file and reason; ``place`` is the first example."""

FINDINGS: Final = Table(
    "findings",
    (*_KEY_SPACE, "rule string", "severity string", "severity_level int", "bundle string", "topic string",
     "consumer string", "topics bigint", "what string", "advice string",
     "numbers array<struct<name:string,value:double>>"),
)  # fmt: skip
"""Findings of the doctor, the most severe first; texts are empty where a part of the place does not apply."""

WORST_SUBSCRIPTIONS: Final = Table(
    "worst_subscriptions",
    (*_KEY_SPACE, "type string", "policy string", "partitions bigint", "consumers bigint", "idle bigint",
     "max_over_mean double?", "max_over_mean_rate double?", "moved bigint", "least_moved bigint", "verdict string?",
     "findings bigint", "worst_severity string?", "msg_rate_out double?", "msg_backlog_entries bigint?",
     "max_over_even double?", "lists bigint",
     "spare_msg_rate double", *_WORST_LIST),
)  # fmt: skip
"""Subscriptions under the rule in force (``engine.views.fleet.summary.WorstSubscription``): first the one in which
a consumer is furthest above its even share of what it reads."""

WORST_NAMESPACES: Final = Table(
    "worst_namespaces",
    (_CLUSTER, "namespace string", "topics bigint", "subscriptions bigint", *_REPORTED, "backlog_size_bytes bigint?",
     "bundles bigint", "bundles_to_split bigint", "worst_max_over_even double?", "worst_subscription string?",
     "idle bigint", "findings bigint", "worst_severity string?"),
)  # fmt: skip
"""Every namespace, the one with the most uneven subscription first (``engine.views.fleet.summary.WorstNamespace``)."""

IMBALANCE_HISTORY: Final = Table(
    "imbalance_history",
    (*_KEY_SPACE, "batch bigint", "policy string", "partitions bigint", "consumers bigint", "idle bigint",
     "max_partitions bigint", "mean_partitions double", "max_over_mean double?", "max_msg_rate_out double",
     "mean_msg_rate_out double", "max_over_mean_rate double?"),
)  # fmt: skip
"""Failover subscriptions under the rule in force, after each batch of dumps; batches count from 0."""

BROKER_HISTORY: Final = Table("broker_history", (_CLUSTER, "broker string", "batch bigint", "topics bigint", *_RATES))
"""The load of each broker after each batch, as far as answers name the broker of a topic."""

EVERY_TABLE: Final = tuple(value for value in list(globals().values()) if isinstance(value, Table))
"""The tables above, in their order."""
