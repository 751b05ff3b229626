"""Defaults of the settings of load managers, and how their values are read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import fields

from engine.balance.settings import LOAD_SETTING_DEFAULTS, BalanceSettings, LoadSettings
from engine.errors import Rejection
from tests.releases import load_settings

TESTS = Path(__file__).parents[2]
RUNTIME = "admin/v2/brokers/configuration/runtime.json"
CHANGED_IN_BOTH = {"loadBalancerReportUpdateMaxIntervalMinutes": 15}


def reported() -> list[dict[str, str]]:
    """The settings of two brokers of 4.2.4, each started with another few of them changed."""
    folders = [TESTS / "playing/standalone", *(TESTS / "samples/extensible-pair").glob("2*")]
    return [json.loads((folder / RUNTIME).read_text(encoding="utf-8")) for folder in folders]


BROKERS = reported()


@pytest.mark.parametrize("name", LOAD_SETTING_DEFAULTS)
def test_a_default_is_the_one_of_a_broker_whose_configuration_does_not_change_it(name: str) -> None:
    result = []
    for answers in BROKERS:
        changed = LoadSettings().with_setting(name, answers[name].strip("[]"))
        assert isinstance(changed, LoadSettings), changed
        result.append(getattr(changed, name))
    default = getattr(load_settings("4.2.4"), name)
    assert CHANGED_IN_BOTH.get(name, default) == default
    assert name in CHANGED_IN_BOTH or default in result


def test_a_default_interval_is_the_one_of_a_broker_whose_configuration_does_not_change_it() -> None:
    for field in fields(BalanceSettings):
        default = getattr(BalanceSettings(), field.name)
        assert default == CHANGED_IN_BOTH.get(field.name, default)
        assert field.name in CHANGED_IN_BOTH or str(default) in [answers[field.name] for answers in BROKERS]


def test_steady_traffic_is_reported_at_the_longest_interval_but_not_before_a_broker_looks() -> None:
    looks = BalanceSettings(
        loadBalancerReportUpdateMinIntervalMillis=90_000, loadBalancerReportUpdateMaxIntervalMinutes=1
    )
    waits = BalanceSettings(
        loadBalancerReportUpdateMinIntervalMillis=59_999, loadBalancerReportUpdateMaxIntervalMinutes=1
    )
    assert (looks.interval_ms("modular"), waits.interval_ms("modular")) == (90_000, 60_000)
    assert BalanceSettings(loadBalancerSplitIntervalMinutes=3).interval_ms("extensible") == 180_000


@pytest.mark.parametrize("name", [field.name for field in fields(BalanceSettings)])
@pytest.mark.parametrize(("value", "is_time"), [(-1, False), (0, False), (1, True)])
def test_a_timer_needs_an_interval_above_0(name: str, value: int, is_time: bool) -> None:
    refusal = BalanceSettings(**{name: value}).check()
    if name == "loadBalancerReportUpdateThresholdPercentage":  # the only one that is no interval
        assert refusal is None
    else:
        assert (refusal is None) is is_time
        assert is_time or (isinstance(refusal, Rejection) and refusal.field == name)
