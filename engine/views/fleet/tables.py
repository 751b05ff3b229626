"""The tables of a fleet, each declared once: names, types, which columns may be empty, and what they mean.

Readers and writers of Parquet take the Arrow form, DataFrames the form of Spark; comments go into the files, where
Spark shows them, and into ``docs/tables.md`` (``pipeline.dictionary``). Written tables end with the columns ``STAMP``.
Needs pyarrow.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, NamedTuple

import pyarrow as pa

_ARROW: Final[Mapping[str, Any]] = {
    "string": pa.string(),
    "bigint": pa.int64(),
    "int": pa.int32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "timestamp": pa.timestamp("us", "UTC"),
    "array<string>": pa.list_(pa.string()),
    "array<bigint>": pa.list_(pa.int64()),
    "array<struct<name:string,value:double>>": pa.list_(pa.struct([("name", pa.string()), ("value", pa.float64())])),
    "array<struct<start:int,end:int>>": pa.list_(pa.struct([("start", pa.int32()), ("end", pa.int32())])),
}


class Column(NamedTuple):
    """A column; ``kind`` is the type in Spark's words."""

    name: str
    kind: str
    nullable: bool
    about: str


def _columns(text: str, shared: Mapping[str, Column]) -> Iterator[Column]:
    """Read declarations: a line is a name, a type and a comment, or names of ``shared`` columns with commas.

    A question mark after the type, or after the name of a shared column: a row may have none.
    """
    for line in filter(None, map(str.strip, text.splitlines())):
        name, *rest = line.split()
        if not rest or name.endswith(","):
            for each in (word.strip() for word in line.split(",")):
                yield shared[each.removesuffix("?")]._replace(nullable=each.endswith("?"))
        else:
            yield Column(name, rest[0].removesuffix("?"), rest[0].endswith("?"), " ".join(rest[1:]))


def _spark_type(kind: str) -> object:
    """A type as Spark writes it into the schema of a file.

    >>> _spark_type("array<bigint>")
    {'type': 'array', 'elementType': 'long', 'containsNull': True}
    """
    if kind.startswith("array<"):
        return {"type": "array", "elementType": _spark_type(kind[6:-1]), "containsNull": True}
    if kind.startswith("struct<"):
        members = (member.split(":") for member in kind[7:-1].split(","))
        return {"type": "struct", "fields": [_spark_field(name, of) for name, of in members]}
    return {"bigint": "long", "int": "integer"}.get(kind, kind)


def _spark_field(name: str, kind: str, about: str = "") -> dict[str, object]:
    comment = {"comment": about} if about else {}
    return {"name": name, "type": _spark_type(kind), "nullable": True, "metadata": comment}


def arrow_of(columns: Iterable[Column]) -> Any:
    """Columns as a ``pyarrow.Schema``."""
    return pa.schema([pa.field(column.name, _ARROW[column.kind], column.nullable) for column in columns])


@dataclass(frozen=True)
class Table:
    """One table; ``key`` are the columns that identify a row, none if nothing does."""

    name: str
    columns: tuple[Column, ...]
    about: str = ""
    key: tuple[str, ...] = ()
    few: tuple[str, ...] | None = None
    """Columns of a large table with few different values, the only ones worth a dictionary; None means all."""
    sought: tuple[str, ...] = ()
    """Those of them that readers filter by."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @cached_property
    def arrow(self) -> Any:
        """The ``pyarrow.Schema``."""
        return arrow_of(self.columns)

    @cached_property
    def ddl(self) -> str:
        """The schema as Spark reads it."""
        return ", ".join(f"`{column.name}` {column.kind}" for column in self.columns)

    @cached_property
    def comments(self) -> Mapping[str, str]:
        """What each column means, those of the stamp included."""
        return {column.name: column.about for column in (*self.columns, *STAMP)}

    @cached_property
    def spark_schema(self) -> bytes:
        """The schema with its comments, as Spark writes it into a file and looks for it there."""
        fields = [_spark_field(column.name, column.kind, column.about) for column in (*self.columns, *STAMP)]
        return json.dumps({"type": "struct", "fields": fields}).encode()

    def named(self, name: str, about: str) -> Table:
        """Another table of the same columns."""
        return replace(self, name=name, about=about)

    def columns_of(self, rows: Sequence[tuple[object, ...]]) -> Any:
        """Rows, in the order of the columns, as a ``pyarrow.Table``. O(cells)."""
        turned = list(zip(*rows, strict=True)) if rows else [()] * len(self.columns)
        arrays = [pa.array(column, field.type) for column, field in zip(turned, self.arrow, strict=True)]
        return pa.Table.from_arrays(arrays, schema=self.arrow)


def declared(name: str, about: str, text: str, *, key: str = "", few: str | None = None, sought: str = "") -> Table:
    """A table whose columns ``text`` declares; ``key``, ``few`` and ``sought`` name some of them.

    >>> declared("units", "", "cluster, topic\\n held array<bigint> Partitions of each slot.").names
    ('cluster', 'topic', 'held')
    """
    columns, often = tuple(_columns(text, SHARED)), None if few is None else tuple(few.split())
    return Table(name, columns, about, tuple(key.split()), often, tuple(sought.split()))


_SHARED: Final = """
    cluster string The cluster; "" where the folder that was read is of one cluster. Part of every key.
    topic string The full name of the topic or partition.
    domain string persistent or non-persistent.
    namespace string tenant/namespace.
    partitioned_topic string The partitioned topic of a partition, else the topic itself.
    partition_index int The number of the partition, -1 for a topic without partitions.
    subscription string The name of the subscription.
    bundle string The full name of the bundle: namespace/range.
    broker string The broker, as its answers name it.
    range string The range of the bundle, such as 0x00000000_0x40000000.
    lower bigint The first hash of the bundle.
    upper bigint The hash after its last one; the last bundle of a namespace has this one too.
    msg_rate_in double Messages/s from producers.
    msg_rate_out double Messages/s to consumers.
    msg_throughput_in double Bytes/s from producers.
    msg_throughput_out double Bytes/s to consumers.
    unacked_messages bigint Messages that were delivered and not acknowledged.
    msg_backlog_entries bigint Entries that were not acknowledged.
    connected_since timestamp When it connected.
    client_version string The client library and its version.
    file string The file of the answer, below IN.
    position int Its place in the order of the dispatcher, from 0.
    policy string flag_off (modulo) or flag_on (ring): Pulsar's two rules.
    consumer string The name of the consumer.
    algorithm string A split algorithm by Pulsar's name.
    slot_space string The slots that a selector looks up, such as 1..65535.
    slot bigint The slot that the selector looks up for the key.
    even_up_to bigint With more consumers than this, an even spread is impossible.
    batch bigint The number of the batch of dumps, from 0.
    backlog_size_bytes bigint Bytes that were not acknowledged.
    consumers bigint Connected consumers.
    address string Host and port of the client.
    topics bigint Its topics.
    producers bigint Connected producers.
    bundles bigint Its bundles.
    body binary The answer.
    advice string What to do.
    partitions bigint Its topics and partitions.
    idle bigint Those of them without a partition.
    max_partitions bigint Partitions of the consumer that has most.
    mean_partitions double Partitions of a consumer on average.
    max_msg_rate_out double Messages/s of the consumer that gets most.
    mean_msg_rate_out double Messages/s of a consumer on average.
    busiest_over_average_rate double Messages/s of the busiest consumer / those of a consumer on average.
    least_moved bigint The fewest partitions that the same change has to move.
    busiest_over_average double The largest ratio of a consumer's partitions to its even share of what it reads.
    improvable boolean Whether a better spread exists: a partition cannot be divided, and a key goes to one consumer.
    lists bigint How many different lists of consumers its topics have.
    spare_msg_rate double Messages/s that an even spread would give to less busy consumers.
    worst_topic string The first topic by name of the list of consumers that makes busiest_over_average.
    worst_consumers bigint The consumers of that list.
    worst_active bigint Those of them that have a partition.
    shedder string The strategy of shedding.
    topics_interrupted bigint Topics whose clients connect again.
    msg_rate double Messages/s, in and out together.
    throughput double Bytes/s, in and out together.
    keys bigint Different keys.
    msgs bigint Messages.
    findings bigint Findings of the doctor.
    worst_severity string The severity of the worst.
    msg_rate_in_unknown bigint Topics that lack msg_rate_in: the sum is of the others, none where no topic has it.
    msg_rate_out_unknown bigint Topics that lack msg_rate_out: the sum is of the others, none where no topic has it.
    msg_throughput_in_unknown bigint Topics that lack msg_throughput_in, as above.
    msg_throughput_out_unknown bigint Topics that lack msg_throughput_out, as above.
    storage_size_bytes_unknown bigint Topics that lack storage_size_bytes, as above.
    backlog_size_bytes_unknown bigint Topics that lack backlog_size_bytes, as above.
    msg_backlog_entries_unknown bigint Topics that lack msg_backlog_entries, as above.
    tenant string? The tenant of the namespace; none where a row is about no namespace.
    snapshot_time timestamp? The latest moment of the answers that the run is about.
"""
SHARED: Final[Mapping[str, Column]] = {column.name: column for column in _columns(_SHARED, {})}
"""Columns that mean the same in several tables."""
STAMP: Final = (SHARED["tenant"], SHARED["snapshot_time"])
"""The last columns of every table."""

# fmt: off
TOPICS: Final = declared("topics", "Every topic and partition of which there are statistics.", """
    cluster, topic, domain, namespace, partitioned_topic, partition_index
    bundle string? The range of the bundle under which the broker lists it.
    broker?, msg_rate_in?, msg_rate_out?, msg_throughput_in?, msg_throughput_out?
    storage_size_bytes bigint? Bytes in the storage.
    backlog_size_bytes?
    publishers int? Connected producers.
    consumers int Connected consumers of all subscriptions.
    kind string The answer it comes from: stats, partitioned-stats or broker-stats.
    file
""", key="cluster topic", sought="cluster namespace",
    few="cluster domain namespace partition_index bundle broker publishers consumers kind file")

SUBSCRIPTIONS: Final = declared("subscriptions", "Every subscription of every topic and partition.", """
    cluster, subscription, topic, namespace, partitioned_topic, partition_index
    type string Exclusive, Shared, Failover, Key_Shared or None.
    consumers int? Connected consumers.
    consumer_set bigint Their names and order: a row of consumer_sets.
    reported_active_consumer string? The active consumer, where the broker names it.
    msg_rate_out?, msg_throughput_out?, msg_backlog_entries?, unacked_messages?, file
""", key="cluster topic subscription", sought="cluster namespace subscription type",
    few="cluster subscription namespace partition_index type consumers consumer_set reported_active_consumer file")

CONSUMER_SETS: Final = declared("consumer_sets", "Each list of consumers that occurs in a cluster, once.", """
    cluster
    consumer_set bigint Its number.
    names array<string> The names of the consumers in the order of the dispatcher.
""", key="cluster consumer_set")

CONSUMERS: Final = declared("consumers", "Every consumer of every topic and partition.", """
    cluster, namespace, subscription, topic, position, consumer, address, connected_since?, client_version
    msg_rate_out?, msg_throughput_out?, unacked_messages?
    available_permits bigint? Messages that the broker may still send to it.
    key_hash_ranges array<struct<start:int,end:int>> Its slots in a Key_Shared subscription, both ends inclusive.
    file
""", key="cluster topic subscription position", sought="cluster namespace subscription",
    few="cluster namespace subscription position consumer connected_since client_version available_permits file")

PUBLISHERS: Final = declared("publishers", "Every producer of every topic and partition.", """
    cluster, namespace, topic
    position int Its place in the order of the broker, from 0.
    publisher string The name of the producer.
    producer_id bigint Its number on its connection.
    access_mode string Shared, Exclusive, WaitForExclusive or ExclusiveWithFencing.
    address, connected_since?, client_version, msg_rate_in?, msg_throughput_in?
    average_msg_size double? Bytes of a message on average.
    file
""", key="cluster topic position",
    few="cluster namespace position access_mode connected_since client_version file")

BUNDLES: Final = declared("bundles", "The bundles of every namespace of which the boundaries are known.", """
    cluster, bundle, namespace, range
    position int Its place in its namespace, from 0.
    lower, upper, file
""", key="cluster bundle")

BUNDLE_REPORTS: Final = declared(
    "bundle_reports", "What load reports say of bundles; a bundle can be in the reports of two brokers.", """
    cluster, bundle, namespace, range, broker
    position int Its place in the report, from 0.
    topics bigint Loaded topics.
    producers, consumers, msg_rate_in, msg_rate_out, msg_throughput_in, msg_throughput_out, file
""", key="cluster broker bundle")

BROKERS: Final = declared("brokers", "Every broker that saved a load report, or metrics in place of one.", """
    cluster, broker
    version string The release of Pulsar; "" where the answer does not name it.
    last_update timestamp? When the load was measured.
    bundles int Bundles that it owns.
    file
""", key="cluster broker")

LISTED: Final = declared("listed", "Names from topic lists and hash positions, loaded or not.", """
    cluster, topic, domain, namespace
    is_parent boolean Whether it is a partitioned topic, whose partitions hold the messages.
    file
""")

SETTINGS: Final = declared(
    "settings", "The settings that brokers reported; of several rows of a name the last one counts.", """
    cluster
    name string The name of the setting.
    value string Its value as text.
    file
""")

ANSWERS: Final = declared("answers", "Answers as brokers printed them, which the causes of lint are decided from.", """
    cluster
    namespace string What it is about; "" where it holds for all.
    body, file
""")

EVERYWHERE: Final = ""
"""The namespace under which answers that hold for all namespaces of a cluster are kept."""

LOAD_ANSWERS: Final = declared(
    "load_answers", "Answers as brokers printed them, which balance computes from: loads, and what rules shedding.", """
    cluster
    broker string Whose load it is; "" for what holds for the cluster, and for topics and bundles beside metrics.
    body, file
""")

READ_ANSWERS: Final = declared(
    "read_answers", "Of watch: large answers as they were read, so that the next run reads only what has changed.", """
    cluster, file
    known string What the rows depend on: the file and what was known of it, as a digest.
    part int The part of the tables that the rows belong to.
    table string The table that they are rows of.
    block binary The rows, as a stream of Arrow.
    """,
)

FILES: Final = declared("files", "Every file that was looked into.", """
    cluster, file
    position int Its place in the order of reading, from 0.
    kind string What kind of answer it is.
    bytes bigint Its size, unpacked.
    outcome string read, of no use here, or quarantined.
    moment timestamp? When it was recorded: the time in its path, else when it was written.
""", key="cluster file")

QUARANTINE: Final = declared("quarantine", "What was wrong with the input of the jobs, and what they set aside.", """
    cluster
    job string The job that read it: import, assign, keys or balance.
    file
    place string Where in the file: a path from $, the document.
    line int? The line of a text.
    column int? The column of a text.
    table string The table that lacks the rows.
    rows bigint How many rows were set aside.
    kind string bad, superseded by a better answer about the same thing, contested: that one is of another \
    broker; or note: nothing was set aside.
    reason string What is wrong.
    advice
""")

ASSIGNMENTS: Final = declared(
    "assignments", "Every partition of every Failover subscription, and its active consumer under each policy.", """
    cluster, subscription, topic, namespace, partition_index
    consumer_set bigint The consumers that the brokers listed: a row of consumer_sets.
    reported_active_consumer string? The active consumer, where the broker names it.
    active_before string? That of the rule in force, before the changes asked for; none without consumers.
    position_before int Its place in the list after the changes, from 0; -1 where it is gone.
    flag_off string? The active consumer by Pulsar's rule with the flag off, after the changes asked for.
    flag_off_position int? Its place in the list, from 0; -1 where there is none.
    flag_off_rule string? The rule that decided: modulo, ring, or by name.
    flag_off_moved boolean? Whether it is another one than before.
    flag_on string? The active consumer by Pulsar's rule with the flag on, after the changes asked for.
    flag_on_position int? Its place in the list, from 0; -1 where there is none.
    flag_on_rule string? The rule that decided: modulo, ring, or by name.
    flag_on_moved boolean? Whether it is another one than before.
    msg_rate_out, msg_throughput_out
""", key="cluster topic subscription", sought="cluster namespace subscription reported_active_consumer",
    few="cluster subscription namespace partition_index consumer_set reported_active_consumer active_before "
    "position_before flag_off flag_off_position flag_off_rule flag_on flag_on_position flag_on_rule")

CONSUMER_LOADS: Final = declared(
    "consumer_loads", "What each consumer of a Failover subscription gets under each policy.", """
    cluster, namespace, subscription, policy, consumer
    partitions bigint Partitions of which it is the active consumer.
    msg_rate_out, msg_throughput_out
""")

SUBSCRIPTION_LOADS: Final = declared(
    "subscription_loads", "How even each Failover subscription is under each policy.", """
    cluster, namespace, subscription, policy, partitions
    consumers bigint Connected consumers; one that is in several lists counts once.
    idle, max_partitions, mean_partitions, max_msg_rate_out, mean_msg_rate_out, busiest_over_average_rate?
    moved bigint Partitions whose active consumer differs from that of the rule in force.
    least_moved, busiest_over_average?, improvable
    in_force boolean Whether it is the policy of the brokers.
    lists, spare_msg_rate, worst_topic?, worst_consumers?, worst_active?
""", key="cluster namespace subscription policy")

BUNDLE_TOPICS: Final = declared("bundle_topics", "The bundle of every topic, by its hash.", """
    cluster, topic, namespace
    hash bigint CRC-32 of the name.
    bundle string? The bundle of the hash; none where no answer lists the bundles of the namespace.
    reported_bundle string? The bundle under which the broker listed it.
    has_stats boolean Whether it was loaded.
""", key="cluster topic")

BUNDLE_LOADS: Final = declared(
    "bundle_loads", "The load of every bundle, summed over its topics, and whether it would be split.", """
    cluster, bundle, namespace, lower, upper, broker?
    topics bigint Topics, loaded or not.
    loaded_topics bigint Loaded topics.
    producers, consumers, msg_rate_in?, msg_rate_out?, msg_throughput_in?, msg_throughput_out?
    msg_rate_in_unknown, msg_rate_out_unknown, msg_throughput_in_unknown, msg_throughput_out_unknown
    outcome string What the modular load manager decides on these numbers: chosen, below-limits, ….
    reason string The limit that decided.
""", key="cluster bundle")

BROKER_LOADS: Final = declared("broker_loads", "The load of every broker, summed over its topics.", """
    cluster
    broker string? The broker; none for topics of which no answer names it.
    bundles bigint Bundles with topics.
    topics bigint Loaded topics.
    producers, consumers, msg_rate_in?, msg_rate_out?, msg_throughput_in?, msg_throughput_out?
    msg_rate_in_unknown, msg_rate_out_unknown, msg_throughput_in_unknown, msg_throughput_out_unknown
""", key="cluster broker")

BUNDLE_SPLITS: Final = declared("bundle_splits", "Where each algorithm would cut each bundle.", """
    cluster, bundle, namespace, algorithm
    cuts array<bigint> The hashes at which it cuts.
    children bigint Bundles afterwards.
    refusal string? Why no broker carries it out; none where one would.
    empty_children bigint Those without a topic.
    largest_share_topics double The largest part of its topics that one of them has.
    largest_share_rate double The largest part of its messages/s.
    over_limit bigint Those that would be split again.
""", key="cluster bundle algorithm")

BUNDLE_CHILDREN: Final = declared("bundle_children", "The bundles that each of these cuts leaves.", """
    cluster
    bundle string The bundle that is cut.
    namespace, algorithm
    child string The range of the new bundle.
    lower, upper, topics, msg_rate, throughput
""", key="cluster bundle algorithm child")

OCCUPANCY: Final = declared("occupancy", "How evenly the topics of each namespace fill its bundles.", """
    cluster, namespace, bundles
    empty_bundles bigint Those without a topic.
    topics
    max_topics bigint Topics of the fullest bundle.
    mean_topics double Topics of a bundle on average.
    max_msg_rate double Messages/s of the busiest bundle, in and out together.
    mean_msg_rate double Messages/s of a bundle on average.
""", key="cluster namespace")

BALANCE_CLUSTERS: Final = declared(
    "balance_clusters", "The forecast of shedding of each cluster, the one with most loops first.", """
    cluster
    load_manager string modular, simple or extensible.
    shedder
    placement string? The strategy of placement.
    release string The release whose rules were used.
    reports bigint Load reports, or metrics in place of them.
    brokers bigint Brokers with a load.
    bundles bigint Their bundles.
    topics bigint Their topics.
    cycles int Cycles ahead.
    unloads bigint Unloads in all of them.
    unloads_per_hour double Unloads an hour.
    topics_interrupted
    msg_rate_moved double Messages/s of the unloaded bundles.
    returned bigint Unloads to a broker that the bundle had left.
    loops bigint Bundles that come back to a broker they had left.
    swaps bigint Pairs of brokers that give each other bundles.
    quiet_after int? After how many cycles nothing is unloaded; none where no end is seen.
    max_usage double? The usage of the fullest broker, as placement and shedding see it.
    max_usage_after double? The same after the last cycle.
    busiest_over_average double? Busiest / average usage.
    busiest_over_average_after double? The same after the last cycle.
    assumptions array<string> What had to be assumed.
    refusal string? Why there is no forecast.
""", key="cluster")

BALANCE_BROKERS: Final = declared("balance_brokers", "Every broker of the forecasts, the fullest first.", """
    cluster, broker
    usage double? The weighted usage that placement and shedding see.
    usage_after double? The same after the last cycle.
    fullest string? The resource that makes its usage.
    bundles
    bundles_after bigint Its bundles after the last cycle.
    topics, msg_rate, throughput
    next_unloads bigint Bundles that the next cycle takes away.
    unloads bigint Bundles that all cycles take away.
    gained bigint Bundles that it is given.
    topics_interrupted
    loops bigint Bundles that come back to it.
    next_outcome string What the next cycle does with it, and why.
    measure string? What was compared.
    figure double? Its value.
    limit double? With which limit.
    shedder
""", key="cluster broker")

BALANCE_UNLOADS: Final = declared("balance_unloads", "Every unload of the forecasts, in order.", """
    cluster
    cycle int The cycle, from 1.
    at timestamp? When, counted from the moment of the answers.
    bundle, namespace
    source string The broker that gives it away.
    destination string? The broker that the seed draws for it.
    chances array<struct<name:string,value:double>> The chance of each broker that it may go to.
    topics, msg_rate, throughput
    returns boolean Whether it goes to a broker that it had left.
""")

BALANCE_LOOPS: Final = declared("balance_loops", "What goes round in the forecasts.", """
    cluster
    kind string returns: a bundle comes back; stays: it is unloaded and given to its broker again; swaps: two \
    brokers give each other bundles.
    bundle string The bundle; "" for swaps.
    brokers array<string> The way of the bundle, or the two brokers.
    times bigint How often.
    cycles array<bigint> In which cycles.
""")

BALANCE_ANSWERS: Final = LOAD_ANSWERS.named(
    "balance_answers", "The answers that each forecast was computed from, for its screen."
)

KEY_SLOTS: Final = declared("key_slots", "Key traces folded to slots.", """
    cluster, namespace, subscription, slot_space, slot, keys
    rows bigint Rows of the trace.
    msgs
""", key="cluster namespace subscription slot_space slot")

KEY_LOADS: Final = declared("key_loads", "What each consumer gets in each mode of Key_Shared.", """
    cluster, namespace, subscription
    policy string The mode.
    consumer
    position int The order in which it joined, from 0.
    share double Its part of the slots.
    keys bigint Different keys that it gets.
    msgs bigint Messages that it gets.
    expected_keys double Keys that its share gives it on average.
    likely_low bigint Nine of ten throws give it at least so many.
    likely_high bigint Nine of ten throws give it at most so many.
""", key="cluster namespace subscription policy position")

KEY_SPREADS: Final = declared(
    "key_spreads", "How even each Key_Shared subscription is in each mode, and what chance explains.", """
    cluster, namespace, subscription
    policy string The mode.
    consumers, keys, msgs
    ownerless_keys bigint Keys without an owner, which count nowhere else.
    ownerless_msgs bigint Their messages.
    busiest_keys bigint Keys of the consumer that has most.
    expected_busiest_keys double? What chance gives that one on average.
    likely_busiest_low bigint? Nine of ten throws give it at least so many.
    likely_busiest_high bigint? Nine of ten throws give it at most so many.
    probability double An upper bound for any consumer being as far out, if equal shares are thrown at random.
    probability_by_shares double The same with the shares of the mode.
    idle bigint Consumers without a key.
    expected_idle double? What chance gives on average.
    busiest_over_average double? Messages of the busiest consumer / those of a consumer on average.
    best_busiest_over_average double? No placement of these keys can be better: a key goes to one consumer.
    verdict string What explains it: chance, shares, hot keys, ….
""", key="cluster namespace subscription policy")

HOT_KEYS: Final = declared("hot_keys", "The heaviest keys of each subscription, exactly.", """
    cluster, namespace, subscription
    rank int Its place, from 1.
    key string The key as text, hex: where it is none.
    hash bigint Its hash.
    msgs bigint Its messages.
    share double Its part of the messages.
    even_up_to
""", key="cluster namespace subscription rank")

INSEPARABLE: Final = declared(
    "inseparable_keys", "Slots whose keys stay together whatever the number of consumers.", """
    cluster, namespace, subscription, slot_space, slot
    keys bigint Different keys in it.
    hot_keys array<string> The hot ones of them.
    msgs bigint Their messages.
    share double Their part of the messages.
    even_up_to
    reason string one key is more than an even part, one slot is, or hot keys meet in it.
""", key="cluster namespace subscription slot_space slot")

SEGMENTS: Final = declared("segments", "Every listed segment of every scalable topic, at its last moment.", """
    cluster, namespace
    topic string The full name of the scalable topic.
    segment bigint Its id.
    start int Its first hash, 0 to 65535.
    end int Its last hash.
    state string ACTIVE or SEALED.
    buckets bigint Entry buckets: as many consumers of a subscription can share it.
    backing_topic string The topic with its messages.
    broker?
    msg_rate_in double? Messages/s by its load record.
    byte_rate_in double? Bytes/s by its load record.
    msg_rate_out double? Delivered messages/s by its load record.
    byte_rate_out double? Delivered bytes/s by its load record.
    load_age_s double? Seconds since a rate changed by 25 %.
    score double? Greatest rate over its split limit; above 1 it is split.
    score_metric string? The rate that gives the score.
    backlog bigint? Messages of all subscriptions that are not acknowledged.
    created timestamp? When it was made.
    parents array<bigint> The segments that it was made of.
    children array<bigint> The segments that were made of it.
""", key="cluster topic segment")

SEGMENT_CONSUMERS: Final = declared(
    "segment_consumers", "Who has which segment of scalable topics, as computed and as printed.", """
    cluster, namespace
    topic string The full name of the scalable topic.
    subscription
    type string STREAM, CHECKPOINT or QUEUE.
    consumer
    segment bigint? The segment; none where the consumer has none.
    dealt boolean Whether the rules give it to the consumer.
    printed boolean Whether brokers printed it there.
    stuck boolean Whether it is in a hand-over that never ends.
    buckets bigint Buckets that the owners of a shared segment divide, 0 of a whole one.
    first_bucket bigint? The first that the consumer has.
    last_bucket bigint? The last one.
    connected boolean Whether it is connected.
    unacked bigint Its delivered messages that are not acknowledged, on all segments.
""")

SCALE_FORECAST: Final = declared(
    "scale_forecast", "Every scalable topic in numbers, and the next automatic step; the worst first.", """
    cluster, namespace
    topic string The full name of the scalable topic.
    blocked bigint Segments that wait for an older one, of all subscriptions.
    stuck bigint Segments in a hand-over that never ends.
    unattached bigint Segments that are dealt and have no attached consumer.
    uncovered bigint Active segments that lack a subscription of the topic.
    consumers bigint Consumers of all subscriptions.
    idle bigint Connected ones without a segment.
    segments bigint Active segments.
    sealed bigint Sealed ones that are still listed.
    capacity bigint Buckets of all active segments.
    score double? The greatest rate over its split limit.
    flaps bigint? Splits, merges and rebuckets within the last hour.
    backlog bigint Messages that are not acknowledged, of all subscriptions.
    next string none, split, merge, rebucket or blocked.
    reason string Why, in Pulsar's word.
    step_segments array<bigint> What is split, merged or rebucketed.
    step_buckets bigint Of a rebucket: the buckets of each successor.
    candidates int Steps of which the next is one: equal loads leave it to the order of a map.
    reported_reason string? What brokers printed after the last evaluation.
    split_in_s double? Seconds until a split is possible.
    merge_in_s double? Seconds until a merge is possible.
    rebucket_in_s double? Seconds until a rebucket is possible.
    controller string? The broker that deals segments.
    epoch bigint Changes of the layout so far.
""", key="cluster topic")

FINDINGS: Final = declared(
    "findings", "Findings of the doctor, the most severe first; a part of the place that does not apply is empty.", """
    cluster, namespace, subscription
    rule string The name of the rule.
    severity string info, warning or error.
    severity_level int The same as a number.
    bundle, topic, consumer
    topics bigint How many topics it concerns.
    what string What is wrong.
    advice
    numbers array<struct<name:string,value:double>> The numbers behind it.
""")

WORST_SUBSCRIPTIONS: Final = declared(
    "worst_subscriptions", "Failover and Key_Shared subscriptions under the rule in force, the worst first.", """
    cluster, namespace, subscription
    type string Failover or Key_Shared.
    policy string The policy or mode in force.
    partitions, consumers
    idle bigint Those of them without work.
    busiest_over_average_rate?
    moved bigint Partitions whose active consumer differs from that before the changes asked for.
    least_moved
    verdict string? What explains its keys.
    findings, worst_severity?, msg_rate_out?, msg_backlog_entries?, busiest_over_average?, lists, spare_msg_rate
    worst_topic?, worst_consumers?, worst_active?, msg_rate_out_unknown?, msg_backlog_entries_unknown?, improvable
""", key="cluster namespace subscription type")

WORST_NAMESPACES: Final = declared(
    "worst_namespaces", "Every namespace, the one with the most uneven subscription first.", """
    cluster, namespace
    topics bigint Topics and partitions.
    subscriptions bigint Names of subscriptions.
    msg_rate_in?, msg_rate_out?, msg_throughput_in?, msg_throughput_out?, backlog_size_bytes?, bundles
    bundles_to_split bigint Those that would be split.
    worst_busiest_over_average double? The busiest_over_average of its worst subscription.
    worst_subscription string? Its name.
    idle bigint Idle consumers.
    findings, worst_severity?
    partitioned_topics bigint Partitioned topics.
    storage_size_bytes bigint? Bytes in the storage.
    msg_rate_in_unknown?, msg_rate_out_unknown?, msg_throughput_in_unknown?, msg_throughput_out_unknown?
    storage_size_bytes_unknown?, backlog_size_bytes_unknown?
""", key="cluster namespace")

IMBALANCE_HISTORY: Final = declared(
    "imbalance_history", "Failover subscriptions under the rule in force, after each batch of dumps.", """
    cluster, namespace, subscription, batch
    policy string The policy in force.
    partitions, consumers, idle, max_partitions, mean_partitions, busiest_over_average?, max_msg_rate_out
    mean_msg_rate_out, busiest_over_average_rate?
""")

BROKER_HISTORY: Final = declared(
    "broker_history", "The load of each broker after each batch, as far as answers name the broker of a topic.", """
    cluster, broker, batch
    topics bigint Loaded topics.
    msg_rate_in?, msg_rate_out?, msg_throughput_in?, msg_throughput_out?
    msg_rate_in_unknown, msg_rate_out_unknown, msg_throughput_in_unknown, msg_throughput_out_unknown
""")
# fmt: on

EVERY_TABLE: Final = tuple(value for value in list(globals().values()) if isinstance(value, Table))
"""The tables above, in their order."""
BY_NAME: Final = {table.name: table for table in EVERY_TABLE}
