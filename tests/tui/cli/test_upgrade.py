"""``upgrade``: the same state under another release."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest

from engine.config import LINES, ReleaseBehaviour, behaviour_of
from engine.errors import Rejection
from engine.load_rules import LoadRules
from engine.views.comparing.upgrade import _MEANINGS
from tests.engine.scenarios.recordings import RECORDINGS
from tests.tui.cli.conftest import Run

GAPS = str(RECORDINGS / "v4.0.0-c-keyshared-sticky-gaps")
DUMP = str(RECORDINGS / "a-failover-8p-hash")


TOPIC = "persistent://public/default/keys"
GAPPY = (
    f"topic add {TOPIC}",
    f"subscribe orders to {TOPIC}",
    "share sticky of orders",
    "add gappy ranges 0-9999,20000-29999 to orders",
)
"""One consumer with a gap of 10,000 slots between its ranges, and nobody behind them."""


def document_of(run: Run, *words: str) -> Any:
    ran = run("upgrade", *words, "--json")
    assert ran.code == 0, ran
    return json.loads(ran.out)


def test_the_defaults_of_5_0_and_what_keeps_the_old_ones(run: Run) -> None:
    document = document_of(run, DUMP, "--pulsar", "4.2.4", "--to", "5.0")
    assert {row["name"]: (row["before"], row["after"].rpartition("impl.")[2]) for row in document["defaults"]} == {
        "keySharedLookAheadMsgInReplayThresholdPerConsumer": ("2000", "4000"),
        "keySharedLookAheadMsgInReplayThresholdPerSubscription": ("20000", "40000"),
        "subscriptionKeySharedUseClassicPersistentImplementation": ("false", ""),
        "subscriptionSharedUseClassicPersistentImplementation": ("false", ""),
        "dispatcherMaxReadBatchSize": ("100", "500"),
        "dispatcherDispatchMessagesInSubscriptionThread": ("true", "false"),
        "managedLedgerMaxUnackedRangesToPersist": ("10000", "200000"),
        "managedLedgerMaxUnackedRangesToPersistInMetadataStore": ("1000", "200000"),
        "managedLedgerMaxBatchDeletedIndexToPersist": ("10000", "200000"),
        "defaultNumberOfNamespaceBundles": ("4", "32"),
        "defaultNumberOfSystemNamespaceBundles": ("", "64"),
        "brokerCloseInactiveTopicsEnabled": ("", "false"),
        "scalableTopicsEnabled": ("", "true"),
        "loadBalancerDistributeBundlesEvenlyEnabled": ("true", "false"),
        "maxUnloadPercentage": ("0.2", "0.5"),
        "loadBalancerLoadSheddingStrategy": (
            "org.apache.pulsar.broker.loadbalance.impl.ThresholdShedder",
            "AvgShedder",
        ),
        "loadBalancerLoadPlacementStrategy": (
            "org.apache.pulsar.broker.loadbalance.impl.LeastLongTermMessageRate",
            "AvgShedder",
        ),
    }
    for row in document["defaults"]:
        assert row["keep"] == (f"{row['name']}={row['before']}" if row["before"] and row["after"] else "")
    assert document["difference"]["sums"]["moved"] == 0


def test_a_setting_that_is_not_the_default_stays(run: Run) -> None:
    document = document_of(run, DUMP, "--set", "defaultNumberOfNamespaceBundles=16", "--to", "5.0")
    follows = {row["name"]: row["follows"] for row in document["defaults"]}
    assert follows["defaultNumberOfNamespaceBundles"] is False
    assert follows["keySharedLookAheadMsgInReplayThresholdPerConsumer"] is True


def test_a_flag_that_was_ignored_begins_to_count(run: Run) -> None:
    document = document_of(run, "--pulsar", "3.0.2", "--flag", "on", "--to", "5.0")
    assert document["difference"]["sums"]["moved"] > 0
    rule = next(each for each in document["rules"] if each["name"] == "knows_failover_consistent_hashing")
    assert (rule["subscriptions"], rule["keep"]) == (1, "activeConsumerFailoverConsistentHashing=false")


def test_gaps_that_are_no_longer_served_have_their_slots_counted(run: Run) -> None:
    steps = [word for line in GAPPY for word in ("--apply", line)]
    document = document_of(run, "--pulsar", "4.0.0", "--to", "5.0", *steps)
    assert "sticky_gaps" in {row["name"] for row in document["rules"]}
    [gap] = document["gaps"]
    assert gap["after"] - gap["before"] == 10_000
    back = document_of(run, "--pulsar", "5.0", "--to", "4.0.0", *steps)
    [gap_back] = back["gaps"]
    assert (gap_back["before"], gap_back["after"]) == (gap["after"], gap["before"])
    assert all(row["keep"] == "" for row in back["rules"])


def test_a_release_beside_itself_changes_nothing(run: Run) -> None:
    document = document_of(run, DUMP, "--pulsar", "4.2.4", "--to", "4.2.4")
    assert document["rules"] == document["defaults"] == document["gaps"] == []


@pytest.mark.parametrize("line", LINES, ids=repr)
def test_every_line_can_be_gone_to(run: Run, line: tuple[int, int]) -> None:
    version = f"{line[0]}.{line[1]}"
    assert not isinstance(behaviour_of(version), Rejection)
    assert document_of(run, GAPS, "--to", version)["after"] == version


def test_every_rule_has_a_meaning() -> None:
    rules = {field.name for field in fields(ReleaseBehaviour)} | {f"load.{field.name}" for field in fields(LoadRules)}
    assert {*_MEANINGS} == rules - {"label", "load", "defaults"}


def test_an_unknown_release_is_refused(run: Run) -> None:
    assert run("upgrade", "--to", "1.0").code == 2
    assert run("upgrade").code == 2
