"""The defaults by release are those of Pulsar's own ``ServiceConfiguration``, and come in where its threads say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.balance.settings import LOAD_SETTING_DEFAULTS, LoadSettings, default_load_settings
from engine.config import CURRENT, DEFAULTS, SPLIT_ALGORITHMS, BrokerSettings, default_settings
from engine.releases import SETTINGS
from tests.golden.harness import HERE
from tests.releases import known

READ_FROM_CLASSES: Path = HERE / "5.0.1" / "defaults.json"
"""Every setting that differs between the classes of 4.2.4 and of 5.0.1; null where a release does not have it."""
CHANGES: dict[str, list[tuple[str, object]]] = {
    "activeConsumerFailoverConsistentHashing": [
        ("2.10.0", None),
        ("3.0.8", False),
        ("3.1.0", None),
        ("3.3.3", False),
        ("4.0.0", None),
        ("4.0.1", False),
    ],
    "keySharedLookAheadMsgInReplayThresholdPerConsumer": [("2.10.0", 2000), ("5.0.0-M1", 4000)],
    "keySharedLookAheadMsgInReplayThresholdPerSubscription": [("2.10.0", 20000), ("5.0.0-M1", 40000)],
    "subscriptionKeySharedUseClassicPersistentImplementation": [("2.10.0", None), ("4.0.0", False), ("5.0.0", None)],
    "dispatcherDispatchMessagesInSubscriptionThread": [
        ("2.10.0", True),
        ("4.0.14", False),
        ("4.1.0", True),
        ("4.2.5", False),
        ("5.0.0-M1", True),
        ("5.0.0", False),
    ],
    "flowOrQpsDifferenceThresholdPercentage": [("2.10.0", None), ("3.0.7", 10)],
    "supportedNamespaceBundleSplitAlgorithms": [("2.10.0", SPLIT_ALGORITHMS[:3]), ("3.0.7", SPLIT_ALGORITHMS)],
    "defaultNumberOfNamespaceBundles": [("2.10.0", 4), ("5.0.0", 32)],
    "defaultNumberOfSystemNamespaceBundles": [("2.10.0", None), ("5.0.0", 64)],
    "loadBalancerDistributeBundlesEvenlyEnabled": [("2.10.0", True), ("5.0.0", False)],
    "maxUnloadPercentage": [("2.10.0", 0.2), ("5.0.0", 0.5)],
    "loadBalancerDirectMemoryResourceWeight": [("2.10.0", 1.0), ("3.1.1", 0.0)],
    "loadBalancerMemoryResourceWeight": [("2.10.0", 1.0), ("4.0.0", 0.0)],
}
IN_ORDER = (
    *("2.10.0", "2.11.4", "3.0.7", "3.0.8", "3.0.99", "3.1.0", "3.1.1", "3.2.0", "3.3.2", "3.3.3", "4.0.0", "4.0.1"),
    *("4.0.13", "4.0.14", "4.1.0", "4.1.99", "4.2.4", "4.2.5", "5.0.0-M1", "5.0.0", "5.0.1", "5.1.0"),
)


@pytest.mark.parametrize("version", ["4.2.4", "5.0.1"])
def test_defaults_are_those_of_the_classes(version: str) -> None:
    defaults = known(version).defaults
    read = {row["name"]: row for row in json.loads(READ_FROM_CLASSES.read_bytes())}
    for name in SETTINGS.keys() & read.keys():
        row = read[name]
        assert defaults[name].text == (row[version] or ""), name
        assert defaults[name].dynamic == row.get(f"dynamic_{version}", False), name
        assert defaults.lacks(name) == (row[version] is None), name
    assert not (DEFAULTS.keys() | LOAD_SETTING_DEFAULTS.keys()) & read.keys() - SETTINGS.keys()


def test_what_the_classes_have_alike_differs_between_other_releases_only() -> None:
    old, new = known("4.2.4").defaults, known("5.0.1").defaults
    read = {row["name"] for row in json.loads(READ_FROM_CLASSES.read_bytes())}
    assert {name for name in SETTINGS if old[name].value != new[name].value} <= read


@pytest.mark.parametrize("name", CHANGES)
def test_a_default_changes_where_the_threads_say(name: str) -> None:
    firsts = [IN_ORDER.index(first) for first, _ in CHANGES[name]]
    for place, version in enumerate(IN_ORDER):
        value = [value for first, (_, value) in zip(firsts, CHANGES[name], strict=True) if first <= place][-1]
        assert known(version).defaults[name].value == value, version


def test_a_broker_without_a_file_has_the_defaults_of_its_release() -> None:
    found = {}
    for version in ("3.0.7", "4.2.4", "5.0.1"):
        load, other = default_load_settings(known(version)), default_settings(known(version))
        found[version] = (
            load.loadBalancerLoadSheddingStrategy,
            load.loadBalancerLoadPlacementStrategy,
            load.maxUnloadPercentage,
            load.loadBalancerDistributeBundlesEvenlyEnabled,
            load.loadBalancerMemoryResourceWeight,
            other.defaultNumberOfNamespaceBundles,
            other.keySharedLookAheadMsgInReplayThresholdPerSubscription,
        )
    assert found == {
        "3.0.7": ("ThresholdShedder", "LeastLongTermMessageRate", 0.2, True, 1.0, 4, 20000),
        "4.2.4": ("ThresholdShedder", "LeastLongTermMessageRate", 0.2, True, 0.0, 4, 20000),
        "5.0.1": ("AvgShedder", "AvgShedder", 0.5, False, 0.0, 32, 40000),
    }


def test_settings_of_which_nothing_is_said_are_those_of_the_current_release() -> None:
    assert default_settings(CURRENT) == BrokerSettings()
    assert default_load_settings(CURRENT) == LoadSettings()


@pytest.mark.parametrize(
    ("version", "bundles"), [("5.0.0-M1-SNAPSHOT", 4), ("5.0.0+7", 32), ("5.0.1-7", 32), ("5.0.0.4", 32), ("5.0", 32)]
)
def test_what_is_behind_a_version_makes_a_milestone_only_before_the_release(version: str, bundles: int) -> None:
    assert default_settings(known(version)).defaultNumberOfNamespaceBundles == bundles
