"""Decoding of what a Pulsar broker prints: bytes of any release in, plain facts out, bad topics set aside."""

from engine.admin.facts import (
    BrokerStats,
    BundleList,
    ConsumerFacts,
    Counts,
    Decoded,
    HashPositions,
    LoadReport,
    Place,
    RuntimeConfiguration,
    Snapshot,
    SubscriptionFacts,
    TopicFacts,
)
from engine.admin.kinds import AnswerKind, recognise
from engine.admin.load_reports import decode_load_report
from engine.admin.namespaces import (
    decode_bundles,
    decode_hash_positions,
    decode_policies,
    decode_runtime_configuration,
    decode_topic_list,
)
from engine.admin.snapshot import read_answers
from engine.admin.topics import (
    decode_broker_stats_topics,
    decode_named_stats,
    decode_partitioned_stats,
    decode_topic_stats,
)

__all__ = [
    "AnswerKind",
    "BrokerStats",
    "BundleList",
    "ConsumerFacts",
    "Counts",
    "Decoded",
    "HashPositions",
    "LoadReport",
    "Place",
    "RuntimeConfiguration",
    "Snapshot",
    "SubscriptionFacts",
    "TopicFacts",
    "decode_broker_stats_topics",
    "decode_bundles",
    "decode_hash_positions",
    "decode_load_report",
    "decode_named_stats",
    "decode_partitioned_stats",
    "decode_policies",
    "decode_runtime_configuration",
    "decode_topic_list",
    "decode_topic_stats",
    "read_answers",
    "recognise",
]
