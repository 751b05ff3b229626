"""What each broker setting that is modelled here does, in one sentence, and how brokers take it.

Category and ``dynamic`` are those that ``ServiceConfiguration`` of 5.0.1 declares; ``engine.releases`` has the settings
whose default, existence or dynamic use depends on the release, and goes before what is said here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct

Category = Literal["Policies", "Server", "Metrics", "Load Balancer"]


class SettingNote(Struct, frozen=True):
    """``remark`` is where words elsewhere and the broker's code differ, ``source`` the proposal or pull request."""

    category: Category
    dynamic: bool
    text: str
    remark: str = ""
    source: str = ""


def _policy(text: str, *, dynamic: bool = False, remark: str = "", source: str = "") -> SettingNote:
    return SettingNote("Policies", dynamic, text, remark, source)


def _balancer(text: str, *, dynamic: bool = True, remark: str = "", source: str = "") -> SettingNote:
    return SettingNote("Load Balancer", dynamic, text, remark, source)


UNMODELLED: Final[Mapping[str, SettingNote]] = {
    "subscriptionSharedUseClassicPersistentImplementation": SettingNote(
        "Policies",
        True,
        "Shared subscriptions of persistent topics use the dispatcher of releases before 4.0.",
        remark="With either dispatcher any consumer with permits can get a message; which one does is not computed for"
        " Shared subscriptions.",
        source="PIP-379, #26687",
    ),
}
"""Settings that are explained and change nothing in the model; ``remark`` says why."""

SETTING_NOTES: Final[Mapping[str, SettingNote]] = {
    "activeConsumerFailoverConsistentHashing": _policy(
        "The active consumer of each partition of a Failover subscription comes from a hash ring of 100 points a"
        " consumer, instead of the partition's index modulo the number of consumers.",
        remark="Where the proposal speaks of the first connected consumer, the code sorts consumers by priority level"
        " and then by name, so the first is the one whose name sorts first. Topics without partitions go by the ring"
        " whatever the setting is, since 3.0 (#19502).",
        source="PIP-392, #23584",
    ),
    "activeConsumerFailoverDelayTimeMillis": _policy(
        "How long a new active consumer of a Failover subscription waits before the cursor is rewound and it is sent"
        " anything."
    ),
    "maxConsumersPerSubscription": SettingNote(
        "Server", False, "A subscription of a topic or partition refuses another consumer from this number on; 0: none."
    ),
    "maxConsumersPerTopic": SettingNote(
        "Server", False, "A topic or partition refuses another consumer from this number on; 0: no limit."
    ),
    "maxProducersPerTopic": SettingNote(
        "Server",
        False,
        "A topic or partition refuses another producer from this number on; 0: no limit. Replicators and system topics"
        " do not count. Policies of the namespace and of the topic go before it.",
        source="PIP-79",
    ),
    "subscriptionKeySharedUseConsistentHashing": _policy(
        "Key_Shared consumers that declare no ranges share the slots by a hash ring; without it a newcomer takes half"
        " of the widest range.",
        remark="The Key_Shared article of 2020 describes both; ranges that are halved were the default then, and the"
        " ring is since 2.10 (PIP-119).",
        source="#6791, PIP-119",
    ),
    "subscriptionKeySharedConsistentHashingReplicaPoints": _policy(
        "Points of each consumer on the hash ring of Key_Shared; more points make shares more even."
    ),
    "subscriptionKeySharedUseClassicPersistentImplementation": _policy(
        "Key_Shared subscriptions of persistent topics use the dispatcher of releases before 4.0.",
        dynamic=True,
        source="PIP-379",
    ),
    "keySharedLookAheadMsgInReplayThresholdPerConsumer": _policy(
        "Times the connected consumers: how many messages may wait in replay before a Key_Shared subscription reads no"
        " further; 0: no such limit.",
        dynamic=True,
        source="#25992",
    ),
    "keySharedLookAheadMsgInReplayThresholdPerSubscription": _policy(
        "How many messages may wait in replay before a Key_Shared subscription reads no further, whatever the number of"
        " consumers; 0: no such limit.",
        dynamic=True,
        source="#25992",
    ),
    "keySharedUnblockingIntervalMs": _policy(
        "After a key of Key_Shared is free again, how long the broker waits before it sends what waited, so that"
        " several keys are one attempt.",
        dynamic=True,
    ),
    "maxUnackedMessagesPerConsumer": _policy(
        "A consumer of a Shared or Key_Shared subscription is sent nothing from this number of unacknowledged messages"
        " on, until half of them are acknowledged; 0: no limit."
    ),
    "maxUnackedMessagesPerSubscription": _policy(
        "A Shared or Key_Shared subscription sends nothing to anybody from this number of unacknowledged messages on,"
        " until half of them are acknowledged; 0: no limit."
    ),
    "aggregatePublisherStatsByProducerName": SettingNote(
        "Metrics",
        False,
        "Statistics of a partitioned topic merge producers by name instead of by their place in each partition's list.",
        remark="Producers of clients that do not send the feature flag (C++, Python) are merged by their place all the"
        " same.",
        source="PIP-79, #12401",
    ),
    "defaultNumberOfNamespaceBundles": _policy(
        "Bundles of a namespace that is created without a number.", dynamic=True, source="#26610"
    ),
    "loadBalancerAutoBundleSplitEnabled": _balancer("Bundles above a limit are split by the load manager."),
    "loadBalancerAutoUnloadSplitBundlesEnabled": _balancer("Both parts are unloaded after the load manager has split."),
    "loadBalancerNamespaceBundleMaxTopics": _balancer("A bundle with more topics is split."),
    "loadBalancerNamespaceBundleMaxSessions": _balancer(
        "A bundle with more producers and consumers together is split; -1: not for that."
    ),
    "loadBalancerNamespaceBundleMaxMsgRate": _balancer("A bundle with more messages/s, in and out, is split."),
    "loadBalancerNamespaceBundleMaxBandwidthMbytes": _balancer(
        "A bundle with more bandwidth, in and out, is split; counted in 1048576 bytes/s."
    ),
    "loadBalancerNamespaceMaximumBundles": _balancer("A namespace with so many bundles is split no further."),
    "loadBalancerMaxNumberOfBundlesToSplitPerCycle": _balancer(
        "Splits of one cycle of the extensible load manager at most."
    ),
    "loadBalancerNamespaceBundleSplitConditionHitCountThreshold": _balancer(
        "The extensible load manager splits a bundle that was above a limit more often than this in a row."
    ),
    "defaultNamespaceBundleSplitAlgorithm": _balancer(
        "The algorithm of automatic splits, and of requests that name none."
    ),
    "supportedNamespaceBundleSplitAlgorithms": _balancer("The algorithms that a split request may name."),
    "flowOrQpsDifferenceThresholdPercentage": _balancer(
        "flow_or_qps_equally_divide cuts a bundle only where it is so many percent above the limit of messages or"
        " bandwidth.",
        remark="The proposal's first text had no such setting: it cut a bundle once, where half of its traffic is"
        " passed. The code cuts wherever another limit's worth is passed, and one hash higher.",
        source="PIP-169, #16782",
    ),
    "loadBalancerEnabled": _balancer("The load manager writes reports and balances.", dynamic=False),
    "loadBalancerSheddingEnabled": _balancer("The load manager unloads bundles to even out the load."),
    "loadBalancerSheddingIntervalMinutes": _balancer("Minutes between two cycles of shedding."),
    "loadBalancerSheddingGracePeriodMinutes": _balancer("A bundle is shed once in so many minutes at most."),
    "loadBalancerSheddingExcludedNamespaces": _balancer(
        "Bundles of these namespaces are never shed.", source="PIP-380"
    ),
    "loadBalancerLoadSheddingStrategy": _balancer(
        "The class that decides which bundles leave which broker; another one needs a restart.", source="#26609"
    ),
    "loadBalancerLoadPlacementStrategy": _balancer(
        "The class that chooses the broker of a bundle.", dynamic=False, source="#26609"
    ),
    "loadBalancerDistributeBundlesEvenlyEnabled": _balancer(
        "Only brokers with the fewest bundles of the namespace are candidates for another one of it.", source="#26609"
    ),
    "loadBalancerBrokerMaxTopics": _balancer("A broker with so many topics is no candidate for another bundle."),
    "loadBalancerBrokerOverloadedThresholdPercentage": _balancer(
        "A broker is overloaded above this usage of its fullest resource."
    ),
    "loadBalancerBrokerThresholdShedderPercentage": _balancer(
        "ThresholdShedder sheds from a broker that is so many points above the mean usage."
    ),
    "loadBalancerAverageResourceUsageDifferenceThresholdPercentage": _balancer(
        "LeastResourceUsageWithWeight draws among brokers that are so many points below the mean usage."
    ),
    "loadBalancerHistoryResourcePercentage": _balancer("The weight of the past in a broker's mean usage, 0 to 1."),
    "loadBalancerBundleUnloadMinThroughputThreshold": _balancer(
        "ThresholdShedder sheds nothing where what should leave is below this, in 1048576 bytes/s."
    ),
    "lowerBoundarySheddingEnabled": _balancer(
        "ThresholdShedder sheds from the fullest broker too where another is far below the mean.", dynamic=False
    ),
    "loadBalancerMsgRateDifferenceShedderThreshold": _balancer(
        "UniformLoadShedder sheds where the busiest broker has so many percent more messages/s than the least busy one."
    ),
    "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold": _balancer(
        "UniformLoadShedder sheds where the busiest broker has so many times the bandwidth of the least busy one."
    ),
    "minUnloadMessage": _balancer("UniformLoadShedder and AvgShedder move at least so many messages/s, or nothing."),
    "minUnloadMessageThroughput": _balancer(
        "UniformLoadShedder and AvgShedder move at least so many bytes/s, or nothing."
    ),
    "maxUnloadPercentage": _balancer(
        "UniformLoadShedder and AvgShedder move at most this part of the difference between two brokers.",
        source="#26609",
    ),
    "maxUnloadBundleNumPerShedding": _balancer(
        "UniformLoadShedder moves at most so many bundles a cycle; -1: any number."
    ),
    "loadBalancerAvgShedderLowThreshold": _balancer(
        "AvgShedder counts a cycle in which two brokers are so many points apart."
    ),
    "loadBalancerAvgShedderHighThreshold": _balancer(
        "AvgShedder counts a cycle in which two brokers are so many points apart, towards the smaller number of cycles."
    ),
    "loadBalancerAvgShedderHitCountLowThreshold": _balancer(
        "AvgShedder sheds after so many cycles above the low limit."
    ),
    "loadBalancerAvgShedderHitCountHighThreshold": _balancer(
        "AvgShedder sheds after so many cycles above the high limit."
    ),
    "loadBalancerCPUResourceWeight": _balancer("The weight of CPU in the usage of a broker."),
    "loadBalancerMemoryResourceWeight": _balancer(
        "The weight of heap memory in the usage of a broker; unused since 3.0."
    ),
    "loadBalancerDirectMemoryResourceWeight": _balancer("The weight of direct memory in the usage of a broker."),
    "loadBalancerBandwidthInResourceWeight": _balancer("The weight of incoming bandwidth in the usage of a broker."),
    "loadBalancerBandwidthOutResourceWeight": _balancer("The weight of outgoing bandwidth in the usage of a broker."),
    "loadBalancerBandwithInResourceWeight": _balancer(
        "The old spelling of loadBalancerBandwidthInResourceWeight; it counts while the new one is exactly 1."
    ),
    "loadBalancerBandwithOutResourceWeight": _balancer(
        "The old spelling of loadBalancerBandwidthOutResourceWeight; it counts while the new one is exactly 1."
    ),
    "loadBalancerReportUpdateThresholdPercentage": _balancer(
        "A broker writes a new load report when something has changed by so many percent."
    ),
    "loadBalancerReportUpdateMaxIntervalMinutes": _balancer("A broker writes a new load report after so many minutes."),
    "loadBalancerBrokerLoadTargetStd": _balancer(
        "TransferShedder moves bundles while the standard deviation of the brokers' loads is above this."
    ),
    "loadBalancerSheddingConditionHitCountThreshold": _balancer(
        "TransferShedder sheds after more than so many uneven cycles in a row."
    ),
    "loadBalancerMaxNumberOfBrokerSheddingPerCycle": _balancer(
        "TransferShedder takes bundles from so many brokers a cycle."
    ),
    "loadBalancerTransferEnabled": _balancer("TransferShedder names the next owner before it unloads a bundle."),
    "loadBalanceSheddingDelayInSeconds": _balancer("TransferShedder waits so many seconds after it has unloaded."),
    "loadBalancerBrokerLoadDataTTLInSeconds": _balancer("TransferShedder ignores load data that are older than this."),
    "loadBalancerMaxNumberOfBundlesInBundleLoadReport": _balancer(
        "How many of its largest bundles a broker reports to the extensible load manager."
    ),
    "loadBalancerSheddingBundlesWithPoliciesEnabled": _balancer(
        "TransferShedder also moves bundles with isolation policies or anti-affinity groups."
    ),
    "loadBalancerDebugModeEnabled": _balancer("The extensible load manager logs its decisions."),
    "loadManagerClassName": _balancer("The load manager: modular or extensible."),
    "preferLaterVersions": SettingNote(
        "Server", True, "Only brokers of the newest version among the candidates get bundles."
    ),
    "failureDomainsEnabled": SettingNote(
        "Server", True, "Namespaces of an anti-affinity group are spread over failure domains first."
    ),
}
