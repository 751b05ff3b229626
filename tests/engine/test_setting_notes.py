"""Notes on settings: each setting has one, and what brokers declare is what they say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec import convert

from engine.balance.settings import LOAD_SETTING_DEFAULTS
from engine.config import DEFAULTS, BrokerSettings, is_dynamic
from engine.documents import document
from engine.errors import Rejection
from engine.releases import SETTINGS
from engine.setting_notes import SETTING_NOTES, UNMODELLED
from engine.views.setting import SettingView, setting_view
from tests.releases import known

# Read from the annotations of ServiceConfiguration in 5.0.1.
DECLARED = json.loads((Path(__file__).parent.parent / "golden" / "5.0.1" / "settings.json").read_text())
GONE = {"subscriptionKeySharedUseClassicPersistentImplementation"}


def test_each_setting_that_is_modelled_has_a_note_and_no_other_has() -> None:
    assert set(SETTING_NOTES) == {*DEFAULTS, *LOAD_SETTING_DEFAULTS}
    assert {row["name"] for row in DECLARED} == set(SETTING_NOTES) - GONE
    assert not set(UNMODELLED) & set(SETTING_NOTES) and set(UNMODELLED) <= set(SETTINGS)


@pytest.mark.parametrize(
    ("name", "piece"),
    [
        ("subscriptionSharedUseClassicPersistentImplementation", "not computed for Shared"),
        ("scalableTopicsEnabled", "upgrade"),
        ("maxUnloadPercentage", "brokers"),
    ],
)
def test_a_setting_that_the_model_does_not_read_says_why(name: str, piece: str) -> None:
    refused = BrokerSettings().with_setting(name, "true")
    assert isinstance(refused, Rejection) and (refused.error, refused.field) == ("NotModelled", name)
    assert piece in refused.message


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_of_an_upgrade_is_taken_or_answered(name: str) -> None:
    answer = BrokerSettings().with_setting(name, "1")
    assert not isinstance(answer, Rejection) or answer.error in ("NotModelled", "IllegalArgumentException")


@pytest.mark.parametrize("row", DECLARED, ids=lambda row: str(row["name"]))
def test_category_and_dynamic_are_what_the_class_declares(row: dict[str, object]) -> None:
    assert SETTING_NOTES[str(row["name"])].category == row["category"]
    assert is_dynamic(str(row["name"]), known("5.0.1")) == row["dynamic"]


@pytest.mark.parametrize(
    ("name", "release", "default", "dynamic"),
    [
        ("activeConsumerFailoverConsistentHashing", "3.0.7", None, False),
        ("activeConsumerFailoverConsistentHashing", "4.0.1", "false", False),
        ("maxUnloadPercentage", "4.2.4", "0.2", True),
        ("maxUnloadPercentage", "5.0.1", "0.5", True),
        ("loadBalancerLoadSheddingStrategy", "5.0.1", "AvgShedder", True),
        ("subscriptionKeySharedUseClassicPersistentImplementation", "4.2.4", "false", True),
        ("subscriptionKeySharedUseClassicPersistentImplementation", "5.0.1", None, False),
        ("subscriptionSharedUseClassicPersistentImplementation", "3.0.7", None, False),
        ("subscriptionSharedUseClassicPersistentImplementation", "4.0.0", "false", True),
        ("subscriptionSharedUseClassicPersistentImplementation", "5.0.1", None, False),
        ("defaultNumberOfNamespaceBundles", "5.0.1", "32", True),
        ("maxProducersPerTopic", "4.2.4", "0", False),
    ],
)
def test_a_setting_has_the_default_of_its_release(name: str, release: str, default: str | None, dynamic: bool) -> None:
    view = setting_view(name, known(release))
    assert isinstance(view, SettingView)
    assert (view.default, view.dynamic, view.release) == (default, dynamic, release)
    written = document(view)
    assert written.pop("format") == SettingView.FORMAT
    assert convert(written, SettingView) == view


@pytest.mark.parametrize(
    ("name", "near"), [("maxunloadpercentage", "maxUnloadPercentage"), ("maxProducerPerTopic", "maxProducersPerTopic")]
)
def test_a_name_that_is_not_known_is_refused_with_the_nearest(name: str, near: str) -> None:
    refused = setting_view(name, known("5.0.1"))
    assert isinstance(refused, Rejection) and (refused.error, refused.field) == ("UnknownSetting", name)
    assert near in refused.message
    assert isinstance(setting_view("q" * 5_000, known("5.0.1")), Rejection)
