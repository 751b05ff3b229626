"""What each row of an upgrade is about, and the number that it asks of the state, by the name of what changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

Ask = Literal[
    "",
    "Failover subscriptions",
    "topics without partitions",
    "subscriptions of non-persistent topics",
    "partitioned topics",
    "partitioned topics with white space at an end",
    "Key_Shared subscriptions",
    "Key_Shared subscriptions on a ring",
    "Key_Shared subscriptions with declared ranges",
    "Key_Shared subscriptions in the classic dispatcher",
    "unacknowledged messages",
    "namespaces",
    "bundles",
    "bundles of pulsar/system",
    "topics",
    "scalable topics",
    "segments",
    "brokers",
    "isolation policies",
    "unloads",
]
"""What is counted here; "" for a row that the state has no number for."""


@dataclass(frozen=True, slots=True)
class About:
    """``meaning``: what the rule, the setting or the change decides. ``asks``: what of the state it concerns."""

    meaning: str
    asks: Ask = ""


_FAILOVER: Final = "Failover subscriptions"
_KEYS: Final = "Key_Shared subscriptions"
_RING: Final = "Key_Shared subscriptions on a ring"
_STICKY: Final = "Key_Shared subscriptions with declared ranges"
_CLASSIC: Final = "Key_Shared subscriptions in the classic dispatcher"
_STRATEGY: Final = "which bundles the modular load manager moves, and where to; it takes effect together with "

RULES: Final[Mapping[str, About]] = {
    "nonpartitioned_failover": About("who is active for a topic that is not partitioned", "topics without partitions"),
    "knows_failover_consistent_hashing": About(
        "whether the flag of PIP-392 is read; where it is on, the ring decides", _FAILOVER
    ),
    "notices_on_nonpersistent_change": About(
        "whether consumers of non-persistent topics hear who is active", "subscriptions of non-persistent topics"
    ),
    "split_algorithms": About("which algorithms a broker accepts for splitting bundles", "bundles"),
    "exclusive_attempts": About("how often a second Exclusive consumer tries"),
    "blank_ends": About(
        "whether a partitioned topic is made whose name begins or ends with white space; those that are there stay",
        "partitioned topics with white space at an end",
    ),
    "flow_by_name": About(
        "whether a split may ask for flow_or_qps_equally_divide by name while another algorithm is the default",
        "bundles",
    ),
    "equal_boundaries": About(
        "whether a split at equal positions is refused at once (412), or is never answered", "bundles"
    ),
    "extensible_without_cuts": About(
        "whether a split that finds nothing to cut is done or an error with the extensible load manager", "bundles"
    ),
    "key_shared_ring": About("where the points of a Key_Shared ring are, so keys change their consumers", _RING),
    "sticky_gaps": About(
        "whether the gap between two sticky ranges of one consumer is served; unserved, its messages wait", _STICKY
    ),
    "keyless_messages": About("where messages without a key go", _KEYS),
    "key_shared_order": About("what keeps a key in order while consumers come and go", _KEYS),
    "draining_takes_back": About("whether a hash that returns to its consumer stops draining", _KEYS),
    "key_shared_folds_slot_zero": About("whether slot 0 becomes 1", _KEYS),
    "ownerless_key": About("what waits while a sticky slot has no owner", _STICKY),
    "unnamed_publishers": About("how statistics add up publishers without a name", "partitioned topics"),
    "serves_segment_statistics": About("whether segments of scalable topics have statistics that can be asked for"),
    "load.overload_usage": About("whether the weights of resources count at the overload limit", "brokers"),
    "load.heap_memory_counts": About("whether heap memory counts into the load of a broker", "brokers"),
    "load.forgets_brokers": About("whether averages of brokers that left are dropped", "brokers"),
    "load.uniform_source": About("which broker UniformLoadShedder takes bundles from", "unloads"),
    "load.uniform_slack": About(
        "by how many messages a bundle may exceed what UniformLoadShedder has left to move", "unloads"
    ),
    "load.uniform_bytes_slack": About(
        "by how many bytes a bundle may exceed what UniformLoadShedder has left to move", "unloads"
    ),
    "load.avg_shedder": About("whether AvgShedder can be configured"),
    "load.avg_destinations": About(
        "by what AvgShedder keeps the destination of a bundle, how long, and where else it may go", "unloads"
    ),
    "load.avg_placement_alone": About("whether a broker starts with AvgShedder as placement beside another shedder"),
    "load.avg_scores_whole": About("whether AvgShedder takes scores less than 1 apart for equal", "unloads"),
    "load.restarts_idle_average": About("whether the average of an idle broker begins anew", "brokers"),
    "load.round_robin": About("whether RoundRobinBrokerSelector can be configured"),
    "load.chooses_destination": About(
        "whether an unloaded bundle gets its next owner before it is unloaded", "unloads"
    ),
    "load.system_namespace_shed": About(
        "whether bundles of pulsar/system are shed like others", "bundles of pulsar/system"
    ),
    "load.excluded_namespaces": About("whether namespaces can be left out of shedding", "namespaces"),
    "load.placements_kept": About("which bundles placed on a broker still count there after its report", "brokers"),
    "load.extensible": About("whether there is an extensible load manager"),
    "load.shed_idle_bundles": About("whether TransferShedder moves bundles without traffic", "unloads"),
    "load.bundles_compared": About("how brokers choose the bundles that they report as the largest", "bundles"),
    "load.underloaded_by_throughput": About("whether throughput counts where a broker is found idle", "brokers"),
    "load.old_bandwidth_spelling_only": About("how the weights of bandwidth are spelt", "brokers"),
    "load.isolation_by_port": About(
        "whether an expression of an isolation policy with a colon is tried on host:port", "isolation policies"
    ),
    "load.version_library": About(
        "how versions are compared where only the latest may own bundles; with java-semver 0.10 build metadata counts",
        "brokers",
    ),
    "load.roomy_sets": About(
        "how large Java makes a set of brokers, so in which order 12, 24, 48 … of them take turns", "brokers"
    ),
}
"""By the name of the rule in ``ReleaseBehaviour``."""

SETTINGS: Final[Mapping[str, About]] = {
    "keySharedLookAheadMsgInReplayThresholdPerConsumer": About(
        "how many messages are read ahead of keys that wait, for each consumer", _KEYS
    ),
    "keySharedLookAheadMsgInReplayThresholdPerSubscription": About(
        "how many messages are read ahead of keys that wait, for the subscription", _KEYS
    ),
    "subscriptionKeySharedUseClassicPersistentImplementation": About(
        "whether the classic Key_Shared dispatcher can be had; without it keys have other slots and hashes drain",
        _CLASSIC,
    ),
    "subscriptionSharedUseClassicPersistentImplementation": About("whether the classic Shared dispatcher can be had"),
    "dispatcherMaxReadBatchSize": About("how many entries are read, and so dispatched, at once", "topics"),
    "dispatcherDispatchMessagesInSubscriptionThread": About(
        "whether each subscription dispatches in a thread of its own", "topics"
    ),
    "managedLedgerBatchReadEnabled": About("whether entries are read from bookies many at once", "topics"),
    "managedLedgerMaxReadsInFlightSizeInMB": About(
        "how much memory reads may take: 0 is no limit, null is 15 percent of the direct memory", "topics"
    ),
    "acknowledgmentAtBatchIndexLevelEnabled": About(
        "whether single messages of a batch are acknowledged, or the batch is sent again whole", "topics"
    ),
    "managedLedgerMaxUnackedRangesToPersist": About(
        "how many gaps of acknowledgements outlive a move of the topic", "unacknowledged messages"
    ),
    "managedLedgerMaxUnackedRangesToPersistInMetadataStore": About(
        "how many of those gaps go into the metadata store", "unacknowledged messages"
    ),
    "managedLedgerMaxBatchDeletedIndexToPersist": About(
        "how many partly acknowledged batches outlive a move of the topic", "unacknowledged messages"
    ),
    "supportedNamespaceBundleSplitAlgorithms": About("the algorithms that a split request may name", "bundles"),
    "flowOrQpsDifferenceThresholdPercentage": About(
        "how far above a limit of messages or bandwidth a bundle must be before flow_or_qps_equally_divide cuts it",
        "bundles",
    ),
    "defaultNumberOfNamespaceBundles": About(
        "bundles of namespaces made from then on; those here keep theirs", "namespaces"
    ),
    "defaultNumberOfSystemNamespaceBundles": About(
        "bundles of pulsar/system where it is made from then on; one that is there keeps its own",
        "bundles of pulsar/system",
    ),
    "brokerCloseInactiveTopicsEnabled": About(
        "whether inactive topics are closed and kept; then they leave lists of loaded topics and metrics"
    ),
    "scalableTopicsEnabled": About(
        "whether there are scalable topics; false on every broker before the first one starts keeps the way back open"
    ),
    "scalableTopicAutoScaleEnabled": About("whether segments of scalable topics are split and merged by load"),
    "exposeSubscriptionBacklogAgeInPrometheus": About(
        "whether pulsar_subscription_storage_backlog_age_seconds is among the metrics"
    ),
    "authenticateOriginalAuthData": About(
        "whether brokers authenticate a client behind a proxy by its own credentials"
    ),
    "tlsHostnameVerificationEnabled": About(
        "whether brokers check the names in certificates of those they connect to", "brokers"
    ),
    "loadBalancerLoadSheddingStrategy": About(f"{_STRATEGY}loadBalancerLoadPlacementStrategy", "unloads"),
    "loadBalancerLoadPlacementStrategy": About(f"{_STRATEGY}loadBalancerLoadSheddingStrategy", "unloads"),
    "loadBalancerDistributeBundlesEvenlyEnabled": About(
        "whether the bundles of a namespace are spread evenly over brokers", "namespaces"
    ),
    "maxUnloadPercentage": About(
        "which part of the difference between two brokers AvgShedder and UniformLoadShedder move", "unloads"
    ),
    "loadBalancerDirectMemoryResourceWeight": About(
        "how much direct memory counts into the load of a broker", "brokers"
    ),
    "loadBalancerMemoryResourceWeight": About("how much heap memory counts into the load of a broker", "brokers"),
}
"""By the exact name of the setting."""

CHANGES: Final[Mapping[str, About]] = {
    "failover_stall_after_handover": About(
        "a subscription stops after a hand-over, until its topic is unloaded", _FAILOVER
    ),
    "key_shared_stall_at_look_ahead": About(
        "delivery stops where the look-ahead is used up at the end of a topic", _KEYS
    ),
    "key_shared_stall_out_of_order": About(
        "with out-of-order delivery, messages to be sent again wait at the end of a topic", _KEYS
    ),
    "shared_permits_lost": About("Shared consumers that reconnect often lose permits and slow down", "topics"),
    "unacked_counted_twice": About("unacknowledged messages are counted off twice when a consumer goes", "topics"),
    "key_shared_last_ack_race": About("the last acknowledgement of a hash can fail while the hash moves", _KEYS),
    "key_shared_slow_socket": About("a consumer that does not read from its socket stops the others", _KEYS),
    "shared_channel_not_writable": About(
        "dispatch to a Shared consumer goes on late after its socket was full", "topics"
    ),
    "shedding_by_former_leader": About("a broker that is the leader no more still sheds and writes", "brokers"),
    "extensible_ownership_races": About(
        "bundles of the extensible load manager stay without an owner after races and time-outs", "bundles"
    ),
    "ownership_cache_races": About("a late answer takes the ownership of a bundle away that was won again", "bundles"),
    "key_hash_range_texts": About("how statistics show the ranges of a consumer of the classic dispatcher", _CLASSIC),
    "read_positions_of_joins": About(
        "readPositionWhenJoining of consumers and consumersAfterMarkDeletePosition of subscriptions", _KEYS
    ),
    "backlog_age": About("oldestBacklogMessageAgeSeconds of subscriptions; -1 where it is not known", "topics"),
    "broker_ids": About("brokerId in look-ups and load reports", "brokers"),
    "extensible_bundle_metrics": About("metrics of bundles of the extensible load manager", "bundles"),
    "topic_metrics_dynamic": About(
        "how the settings take effect that add topics and consumers to the metrics", "topics"
    ),
    "unknown_load_manager": About("what a broker does whose load manager cannot be loaded"),
    "shadow_topics": About("when shadow topics are made, loaded and replicated"),
    "scalable_topics": About(
        "topics of segments that split, merge and get more buckets by themselves; a v5 client that asks for a topic://"
        " name that is missing makes it with one segment, where topics may be made automatically",
        "scalable topics",
    ),
    "segments_as_topics": About(
        "each segment of a scalable topic is a topic in bundles, statistics of brokers and load reports, and not in"
        " lists of topics; what a split or a merge makes is in other bundles",
        "segments",
    ),
    "scalable_migration": About(
        "a classic topic can become a scalable one; its old clients are refused from then on, and there is no way back",
        "topics",
    ),
    "server_java": About("what servers run on; clients need Java 17"),
}
"""By the name of the change in ``engine.compare.releases.CHANGES``."""
