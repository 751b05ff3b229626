"""The settings that a recording is read with: what it names, on top of the defaults of its own release."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest

from engine.bundles.balance_settings import BalanceSettings
from engine.config import BrokerSettings
from tests.lab.folder import load_recording
from tests.lab.settings import defaults_of

LOOK_AHEAD = "keySharedLookAheadMsgInReplayThresholdPerConsumer"


@pytest.mark.parametrize(("version", "look_ahead"), [("5.0.0", 4000), ("4.0.1", 2000), (None, 2000), ("unknown", 2000)])
def test_the_defaults_are_those_of_the_recorded_release(tmp_path: Path, version: str | None, look_ahead: int) -> None:
    assert getattr(defaults_of(version), LOOK_AHEAD) == look_ahead
    named = {"activeConsumerFailoverConsistentHashing": "true"}
    scenario = {"broker_settings": named, "pulsar_version": version, "steps": []}
    (tmp_path / "scenario.json").write_text(json.dumps(scenario))
    settings = load_recording(tmp_path).settings
    assert getattr(settings, LOOK_AHEAD) == look_ahead
    assert settings.activeConsumerFailoverConsistentHashing is True


def test_a_setting_has_one_place() -> None:
    names = [{field.name for field in fields(kind)} for kind in (BrokerSettings, BalanceSettings)]
    assert not names[0] & names[1]


def test_a_setting_that_no_broker_can_have_is_told_and_its_default_counts(tmp_path: Path) -> None:
    named = {"loadBalancerNamespaceMaximumBundles": "many", "activeConsumerFailoverConsistentHashing": "true"}
    (tmp_path / "scenario.json").write_text(json.dumps({"broker_settings": named, "steps": []}))
    recording = load_recording(tmp_path)
    assert [problem.path for problem in recording.problems] == ["$.broker_settings.loadBalancerNamespaceMaximumBundles"]
    assert recording.settings.loadBalancerNamespaceMaximumBundles == 128
    assert recording.settings.activeConsumerFailoverConsistentHashing is True
