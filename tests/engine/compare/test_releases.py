"""What changes between two releases, by the tables of rules, settings and other changes."""

from __future__ import annotations

import pytest

from engine.compare.releases import Changed, ChangeKind, defaults_changed, other_changes, rule_changes
from engine.config import release_of
from engine.errors import Rejection
from tests.releases import known

IMPL = "org.apache.pulsar.broker.loadbalance.impl."
AUTUMN_2026 = {
    "authenticateOriginalAuthData": ("false", "true"),
    "dispatcherDispatchMessagesInSubscriptionThread": ("true", "false"),
    "exposeSubscriptionBacklogAgeInPrometheus": ("", "false"),
}
"""Settings whose defaults came with 4.0.14, 4.2.5 and 5.0."""
NEW_IN_5_0 = {
    "keySharedLookAheadMsgInReplayThresholdPerConsumer": ("2000", "4000"),
    "keySharedLookAheadMsgInReplayThresholdPerSubscription": ("20000", "40000"),
    "subscriptionKeySharedUseClassicPersistentImplementation": ("false", ""),
    "subscriptionSharedUseClassicPersistentImplementation": ("false", ""),
    "dispatcherMaxReadBatchSize": ("100", "500"),
    "managedLedgerBatchReadEnabled": ("", "true"),
    "managedLedgerMaxReadsInFlightSizeInMB": ("0", "null"),
    "managedLedgerMaxUnackedRangesToPersist": ("10000", "200000"),
    "managedLedgerMaxUnackedRangesToPersistInMetadataStore": ("1000", "200000"),
    "managedLedgerMaxBatchDeletedIndexToPersist": ("10000", "200000"),
    "defaultNumberOfNamespaceBundles": ("4", "32"),
    "defaultNumberOfSystemNamespaceBundles": ("", "64"),
    "brokerCloseInactiveTopicsEnabled": ("", "false"),
    "scalableTopicsEnabled": ("", "true"),
    "scalableTopicAutoScaleEnabled": ("", "true"),
    "tlsHostnameVerificationEnabled": ("false", "true"),
    "loadBalancerDistributeBundlesEvenlyEnabled": ("true", "false"),
    "maxUnloadPercentage": ("0.2", "0.5"),
    "loadBalancerLoadSheddingStrategy": (f"{IMPL}ThresholdShedder", f"{IMPL}AvgShedder"),
    "loadBalancerLoadPlacementStrategy": (f"{IMPL}LeastLongTermMessageRate", f"{IMPL}AvgShedder"),
}
BATCH_INDEX = {"acknowledgmentAtBatchIndexLevelEnabled": ("false", "true")}
SPLITS_OF_5_0 = {"flow_by_name": ("false", "true"), "extensible_without_cuts": ("fails", "done")}
ANSWERED = {"equal_boundaries": ("never-answered", "refused"), "notices_on_nonpersistent_change": ("false", "true")}
LOAD_OF_5_0 = {
    "load.avg_placement_alone": ("refused", "replaced"),
    "load.isolation_by_port": ("false", "true"),
    "load.version_library": ("0.9", "0.10"),
    "load.roomy_sets": ("true", "false"),
}
BLANKS = {"blank_ends": ("taken", "refused")}
SUMMER_FAULTS = {"failover_stall_after_handover", "key_shared_stall_at_look_ahead"}
AUTUMN_FAULTS = {
    "key_shared_stall_out_of_order",
    "shared_permits_lost",
    "unacked_counted_twice",
    "key_shared_last_ack_race",
    "shedding_by_former_leader",
    "extensible_ownership_races",
    "ownership_cache_races",
}
FAULTS_OF_5_0 = {"key_shared_slow_socket", "shared_channel_not_writable"}
METRICS = {"extensible_bundle_metrics", "topic_metrics_dynamic"}
ANSWERS_OF_5_0 = {"key_hash_range_texts", "read_positions_of_joins", "backlog_age", "broker_ids"}
SCALABLE = {"scalable_topics", "segments_as_topics", "scalable_migration"}
PLATFORM = {"unknown_load_manager", "shadow_topics", "server_java"} | SCALABLE
PAIRS: list[tuple[str, str, dict[str, tuple[str, str]], set[str], set[str]]] = [
    ("4.2.4", "5.0.1", NEW_IN_5_0 | AUTUMN_2026, AUTUMN_FAULTS | FAULTS_OF_5_0, METRICS | ANSWERS_OF_5_0 | PLATFORM),
    ("4.0.13", "5.0.1", NEW_IN_5_0 | AUTUMN_2026 | BATCH_INDEX, AUTUMN_FAULTS | FAULTS_OF_5_0,
     METRICS | ANSWERS_OF_5_0 | PLATFORM),
    ("4.0.12", "5.0.0", NEW_IN_5_0 | AUTUMN_2026 | BATCH_INDEX, SUMMER_FAULTS | AUTUMN_FAULTS | FAULTS_OF_5_0,
     METRICS | ANSWERS_OF_5_0 | PLATFORM),
    ("4.2.5", "5.0.1", NEW_IN_5_0, FAULTS_OF_5_0, ANSWERS_OF_5_0 | PLATFORM),
    ("4.0.14", "5.0.1", NEW_IN_5_0 | BATCH_INDEX, FAULTS_OF_5_0, ANSWERS_OF_5_0 | PLATFORM),
    ("4.2.4", "4.2.5", AUTUMN_2026, AUTUMN_FAULTS, METRICS),
    ("4.0.13", "4.0.14", AUTUMN_2026, AUTUMN_FAULTS, METRICS),
    ("4.0.14", "4.2.5", BATCH_INDEX, set(), set()),
    ("4.2.3", "4.2.4", {}, SUMMER_FAULTS, set()),
    ("5.0.0", "5.0.1", {}, set(), set()),
]  # fmt: skip


def changes(before: str, after: str) -> list[Changed]:
    old, new = release_of(before), release_of(after)
    assert not isinstance(old, Rejection) and not isinstance(new, Rejection)
    behaviours = known(before), known(after)
    return [*rule_changes(*behaviours), *defaults_changed(*behaviours), *other_changes(old, new)]


def sides(before: str, after: str, *kinds: ChangeKind) -> dict[str, tuple[str, str]]:
    return {each.name: (each.before, each.after) for each in changes(before, after) if each.kind in kinds}


@pytest.mark.parametrize(("before", "after", "settings", "faults", "others"), PAIRS)
def test_all_settings_and_faults_between_two_releases(
    before: str, after: str, settings: dict[str, tuple[str, str]], faults: set[str], others: set[str]
) -> None:
    assert sides(before, after, "setting") == settings
    assert sides(before, after, "mended").keys() == faults
    assert sides(before, after, "answers", "platform").keys() == others


@pytest.mark.parametrize(("before", "after"), [pair[:2] for pair in PAIRS] + [("2.10.4", "3.0.7"), ("3.3.2", "4.0.0")])
def test_the_way_back_takes_all_of_it_back(before: str, after: str) -> None:
    there, back = changes(before, after), changes(after, before)
    assert [(each.name, each.after, each.before) for each in there] == [
        (each.name, each.before, each.after) for each in back
    ]


@pytest.mark.parametrize(
    ("before", "after", "rules"),
    [
        ("4.2.4", "5.0.1", {**SPLITS_OF_5_0, **ANSWERED, **LOAD_OF_5_0, **BLANKS}),
        ("4.2.5", "5.0.1", {**SPLITS_OF_5_0, **LOAD_OF_5_0, **BLANKS}),
        ("4.2.4", "4.2.5", ANSWERED),
        ("4.0.13", "4.0.14", ANSWERED),
    ],
)
def test_all_rules_but_those_of_avg_shedder(before: str, after: str, rules: dict[str, tuple[str, str]]) -> None:
    found = sides(before, after, "rule")
    assert {name: pair for name, pair in found.items() if name != "load.avg_destinations"} == rules


def test_what_keeps_the_old_way() -> None:
    rows = changes("4.2.4", "5.0.1")
    kept = {row.name: row.keep.partition("=")[2] for row in rows if row.keep}
    assert all(row.keep.startswith(f"{row.name}=") for row in rows if row.keep and row.kind == "setting")
    changed = {name: before for name, (before, after) in (NEW_IN_5_0 | AUTUMN_2026).items() if before and after}
    assert kept == changed | {
        "defaultNumberOfSystemNamespaceBundles": "4",
        "managedLedgerBatchReadEnabled": "false",
        "scalableTopicsEnabled": "false",
        "scalableTopicAutoScaleEnabled": "false",
        "shadow_topics": "true",
    }


@pytest.mark.parametrize(
    ("after", "keep"), [("4.2.5", "subscriptionKeySharedUseClassicPersistentImplementation=true"), ("5.0.1", "")]
)
def test_the_classic_dispatcher_is_advised_only_where_it_is(after: str, keep: str) -> None:
    assert {row.keep for row in changes("3.3.2", after) if row.name == "key_shared_order"} == {keep}
