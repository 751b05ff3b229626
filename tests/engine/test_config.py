"""Which release knows which rule, and settings as broker.conf writes them."""

from __future__ import annotations

import re

import pytest

from engine.config import (
    CURRENT,
    DEFAULTS,
    LINES,
    SPLIT_ALGORITHMS,
    BrokerSettings,
    ReleaseBehaviour,
    behaviour_of,
    unknown_line,
)
from engine.errors import Rejection
from tests.releases import known


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("2.11.0", False),
        ("3.0.7", False),
        ("3.0.8", True),
        ("3.1.0", False),
        ("3.1.3", False),
        ("3.2.3", False),
        ("3.3.2", False),
        ("3.3.3", True),
        ("3.3.6", True),
        ("4.0.0", False),
        ("4.0.1", True),
        ("4.0.7", True),
        ("4.1.0", True),
        ("4.2.4", True),
        ("5.0.0-M1-SNAPSHOT", True),
    ],
)
def test_the_flag_of_pip_392_exists_from_4_0_1_and_4_1_on_and_was_carried_back(version: str, expected: bool) -> None:
    assert known(version).knows_failover_consistent_hashing is expected


@pytest.mark.parametrize(
    ("version", "expected"), [("2.10.6", "first-connected"), ("2.11", "first-connected"), ("3.0.0", "ring")]
)
def test_topics_without_partitions_use_the_ring_since_3_0(version: str, expected: str) -> None:
    assert known(version).nonpartitioned_failover == expected


def test_the_fourth_split_algorithm_came_with_3_0() -> None:
    assert known("2.11.0").split_algorithms == SPLIT_ALGORITHMS[:3]
    assert known("3.0.0").split_algorithms == SPLIT_ALGORITHMS


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("4.0.13", False),
        ("4.0.14", True),
        ("4.1.9", False),
        ("4.2.4", False),
        ("4.2.5", True),
        ("5.0.0-M1-SNAPSHOT", False),
        ("5.0.0", True),
    ],
)
def test_nonpersistent_topics_tell_all_consumers_since_26482(version: str, expected: bool) -> None:
    assert known(version).notices_on_nonpersistent_change is expected


def test_a_missing_patch_number_means_the_newest_of_the_line() -> None:
    assert known("4.0").knows_failover_consistent_hashing
    assert known("v3.3.x").label == "3.3.x"


def test_the_fourth_number_of_a_vendors_build_plays_no_part() -> None:
    assert not known("4.0.0.9").knows_failover_consistent_hashing
    assert known("4.0.1.1").knows_failover_consistent_hashing


@pytest.mark.parametrize(
    ("version", "attempts"), [("2.11.0", 1), ("3.3.9", 1), ("4.0.7", 1), ("4.0.8", 5), ("4.1.0", 5), ("4.2.4", 5)]
)
def test_a_second_exclusive_consumer_is_tried_five_times_since_4_0_8(version: str, attempts: int) -> None:
    assert known(version).exclusive_attempts == attempts


def test_the_lines_that_were_looked_at_and_the_current_release() -> None:
    assert CURRENT.label == "5.0.1"
    written = ["2.10", "2.11", "3.0", "3.1", "3.2", "3.3", "4.0", "4.1", "4.2", "5.0"]
    assert [f"{major}.{minor}" for major, minor in LINES] == written
    assert [unknown_line(line) for line in written] == [""] * len(written)


def test_the_first_modelled_version_is_2_10_0() -> None:
    assert known("2.10.0").label == "2.10.0"
    assert isinstance(behaviour_of("2.9.999"), Rejection)


@pytest.mark.parametrize(
    ("version", "stand_in"),
    [("3.9.1", "3.3"), ("3.9.x", "3.3"), ("2.12", "2.11"), ("4.9", "4.2"), ("5.1.0", "5.0"), ("9.9", "5.0")],
)
def test_a_line_that_nobody_looked_at_has_the_rules_of_the_one_before(version: str, stand_in: str) -> None:
    assert f" {stand_in}, " in unknown_line(version)


@pytest.mark.parametrize("version", ["", "four", "4.x", "2.9.9", "1.0", "2.10.3", "4.0.x", "5.0.0-M1-SNAPSHOT"])
def test_a_known_line_and_what_is_no_version_need_no_other(version: str) -> None:
    assert unknown_line(version) == ""


@pytest.mark.parametrize("version", ["", "four", "4", "2.9.5", "2.x.y.z", "1.0.0", "4.0.0.0.0"])
def test_what_is_no_version_or_too_old_is_refused(version: str) -> None:
    assert isinstance(behaviour_of(version), Rejection)


@pytest.mark.parametrize(
    ("version", "ring", "gaps"),
    [
        ("2.10.6", "name_i", "served"),
        ("2.11.0", "name_i", "served"),
        ("3.0.2", "name_i", "served"),
        ("3.0.3", "name_nul_i", "served"),
        ("3.0.6", "name_nul_i", "served"),
        ("3.0.7", "indexed_replace", "served"),
        ("3.0.13", "indexed_replace", "served"),
        ("3.0.14", "indexed_replace", "unserved"),
        ("3.1.0", "name_i", "served"),
        ("3.1.3", "name_i", "served"),
        ("3.2.0", "name_i", "served"),
        ("3.2.1", "name_nul_i", "served"),
        ("3.2.3", "name_nul_i", "served"),
        ("3.3.1", "name_nul_i", "served"),
        ("3.3.2", "indexed_replace", "served"),
        ("3.3.6", "indexed_replace", "served"),
        ("3.3.9", "indexed_replace", "unserved"),
        ("4.0.0", "current", "served"),
        ("4.0.1", "current", "served"),
        ("4.0.6", "current", "served"),
        ("4.0.7", "current", "unserved"),
        ("4.1.0", "current", "served"),
        ("4.1.1", "current", "unserved"),
        ("4.2.4", "current", "unserved"),
        ("5.0.0-M1-SNAPSHOT", "current", "unserved"),
    ],
)
def test_each_release_has_its_form_of_the_key_shared_ring_and_of_sticky_gaps(
    version: str, ring: str, gaps: str
) -> None:
    assert (known(version).key_shared_ring, known(version).sticky_gaps) == (ring, gaps)


@pytest.mark.parametrize(
    ("version", "keyless", "order", "folds", "ownerless"),
    [
        ("2.11.0", "one-key", "recently-joined", False, "stops-subscription"),
        ("3.0.0", "one-key", "recently-joined", False, "delays-newcomers"),
        ("3.0.2", "one-key", "recently-joined", False, "delays-newcomers"),
        ("3.3.6", "one-key", "recently-joined", False, "delays-newcomers"),
        ("4.0.0", "spread", "draining-hashes", True, "waits"),
        ("4.2.4", "spread", "draining-hashes", True, "waits"),
    ],
)
def test_4_0_changed_keyless_messages_the_order_rule_slot_zero_and_ownerless_keys(
    version: str, keyless: str, order: str, folds: bool, ownerless: str
) -> None:
    behaviour = known(version)
    assert behaviour.keyless_messages == keyless
    assert behaviour.key_shared_order == order
    assert behaviour.key_shared_folds_slot_zero is folds
    assert behaviour.ownerless_key == ownerless


@pytest.mark.parametrize(
    ("version", "expected"), [("4.0.6", False), ("4.0.7", True), ("4.1.0", False), ("4.2.0", True)]
)
def test_a_draining_hash_can_return_since_24736(version: str, expected: bool) -> None:
    assert known(version).draining_takes_back is expected


@pytest.mark.parametrize(
    ("version", "expected"), [("2.10.6", "added-repeatedly"), ("2.11.0", "added-repeatedly"), ("3.0.0", "added-once")]
)
def test_partitioned_statistics_add_an_unnamed_publisher_once_since_18807(version: str, expected: str) -> None:
    assert known(version).unnamed_publishers == expected


@pytest.mark.parametrize(
    ("version", "lacked"),
    [
        ("2.3", {"PIP-34", "PIP-51", "#6791", "#7217", "PIP-119"}),
        ("2.5.2", {"#6791", "#7217", "PIP-119"}),
        ("2.6.0", {"#7217", "PIP-119"}),
        ("2.6.1", {"PIP-119"}),
        ("2.7.0", {"PIP-119"}),
    ],
)
def test_a_release_before_those_that_are_modelled_is_answered_with_what_it_lacked(
    version: str, lacked: set[str]
) -> None:
    refused = behaviour_of(version)
    assert isinstance(refused, Rejection) and refused.message.startswith(f"Pulsar {version} is older")
    assert set(re.findall(r"\((PIP-\d+|#\d+)\)", refused.message)) == lacked


def test_the_defaults_are_those_of_broker_conf() -> None:
    broker_conf = {
        "activeConsumerFailoverConsistentHashing": "false",
        "activeConsumerFailoverDelayTimeMillis": "1000",
        "maxConsumersPerSubscription": "0",
        "maxConsumersPerTopic": "0",
        "maxProducersPerTopic": "0",
        "subscriptionKeySharedUseConsistentHashing": "true",
        "subscriptionKeySharedConsistentHashingReplicaPoints": "100",
        "subscriptionKeySharedUseClassicPersistentImplementation": "false",
        "keySharedLookAheadMsgInReplayThresholdPerConsumer": "4000",
        "keySharedLookAheadMsgInReplayThresholdPerSubscription": "40000",
        "keySharedUnblockingIntervalMs": "10",
        "maxUnackedMessagesPerConsumer": "50000",
        "maxUnackedMessagesPerSubscription": "200000",
        "aggregatePublisherStatsByProducerName": "false",
        "defaultNumberOfNamespaceBundles": "32",
        "loadBalancerAutoBundleSplitEnabled": "true",
        "loadBalancerAutoUnloadSplitBundlesEnabled": "true",
        "loadBalancerNamespaceBundleMaxTopics": "1000",
        "loadBalancerNamespaceBundleMaxSessions": "1000",
        "loadBalancerNamespaceBundleMaxMsgRate": "30000",
        "loadBalancerNamespaceBundleMaxBandwidthMbytes": "100",
        "loadBalancerNamespaceMaximumBundles": "128",
        "loadBalancerMaxNumberOfBundlesToSplitPerCycle": "10",
        "loadBalancerNamespaceBundleSplitConditionHitCountThreshold": "3",
        "defaultNamespaceBundleSplitAlgorithm": "range_equally_divide",
        "supportedNamespaceBundleSplitAlgorithms": (
            "range_equally_divide,topic_count_equally_divide,specified_positions_divide,flow_or_qps_equally_divide"
        ),
        "flowOrQpsDifferenceThresholdPercentage": "10",
    }
    assert {name: BrokerSettings().text_of(name) for name in DEFAULTS} == broker_conf


def test_a_release_of_which_nothing_is_said_behaves_as_the_current_one() -> None:
    assert ReleaseBehaviour(CURRENT.label) == CURRENT


def test_settings_take_the_text_of_broker_conf_and_give_it_back() -> None:
    settings = BrokerSettings()
    for name, text in [
        ("activeConsumerFailoverConsistentHashing", "true"),
        ("activeConsumerFailoverDelayTimeMillis", "-1"),
        ("defaultNamespaceBundleSplitAlgorithm", "flow_or_qps_equally_divide"),
        ("supportedNamespaceBundleSplitAlgorithms", "range_equally_divide,topic_count_equally_divide"),
    ]:
        changed = settings.with_setting(name, f" {text} ")
        assert isinstance(changed, BrokerSettings)
        assert changed.text_of(name) == text
        assert [other for other in DEFAULTS if changed.text_of(other) != settings.text_of(other)] == [name]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("activeConsumerFailoverConsistentHashing", "TRUE", True),
        ("loadBalancerAutoBundleSplitEnabled", "false", False),
        ("maxConsumersPerTopic", "+2147483647", 2**31 - 1),
        ("maxConsumersPerTopic", "-2147483648", -(2**31)),
        ("subscriptionKeySharedConsistentHashingReplicaPoints", "1", 1),
        ("defaultNamespaceBundleSplitAlgorithm", "a, b", "a, b"),
        ("supportedNamespaceBundleSplitAlgorithms", "a, b,,", ("a", "b")),
    ],
)
def test_a_setting_has_the_type_of_its_default(name: str, text: str, value: object) -> None:
    changed = BrokerSettings().with_setting(name, text)
    assert isinstance(changed, BrokerSettings)
    assert getattr(changed, name) == value and type(getattr(changed, name)) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "word"),
    [
        ("activeConsumerFailoverConsistentHashing", "yes", "true or false"),
        ("activeConsumerFailoverDelayTimeMillis", "1s", "whole number"),
        ("loadBalancerNamespaceBundleMaxMsgRate", "2147483648", "whole number"),
        ("loadBalancerNamespaceBundleMaxMsgRate", "-2147483649", "whole number"),
        ("loadBalancerNamespaceBundleMaxMsgRate", "", "whole number"),
        ("activeconsumerfailoverconsistenthashing", "true", "did you mean activeConsumerFailoverConsistentHashing"),
        ("nonsense", "1", "no broker setting"),
        ("subscriptionKeySharedConsistentHashingReplicaPoints", "0", "is 0; a ring needs 1 point or more"),
        ("subscriptionKeySharedConsistentHashingReplicaPoints", "-5", "is -5; a ring"),
    ],
)
def test_a_bad_setting_is_refused_by_name(name: str, text: str, word: str) -> None:
    refusal = BrokerSettings().with_setting(name, text)
    assert isinstance(refusal, Rejection)
    assert refusal.field == name
    assert word in refusal.message
