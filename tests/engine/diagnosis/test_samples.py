"""On every recorded fault the right cause comes first, and on every healthy twin nothing is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from engine.admin.moments import read_moments
from engine.diagnosis.model import Diagnosis, Verdict
from engine.diagnosis.why import DECIDERS, why, with_earlier
from engine.text import natural_key
from tests.engine.diagnosis.samples import FAULTS, HEALTHY, dump, mended_dump, sample

HARMLESS: Final = (Verdict.BY_DESIGN, Verdict.FINE)
ALSO_ALLOWED: Final = {"ghost-a": "statistics cannot tell a half-open connection from a consumer that hangs"}
"""Samples whose cause no answer shows: one of those that look alike is right."""
BLAME_DIFFERS: Final = {
    "ghost-a": "only the active consumer is blocked, as in its look-alike",
    "topic-not-loaded-a": "the moment before the unload, which knows who was there, is not in the dump",
}
ONE_MOMENT_DIFFERS: Final = {
    "broker-unacked-limit-a": ("subscription_unacked_limit", False),  # the last moment lacks the configuration
    "failover-handover-a": ("failover_active_not_served", False),  # when the other one left is not in it
    "keyshared-few-keys-a": ("fine_idle", True),  # counters of one moment do not say since when
}
SETTING_ADDED: Final = ("receiverQueueSize", "delayedDeliveryEnabled", "KeySharedPolicy.stickyHashRange")
"""Settings that the recordings do not name as a cause, and that rule it."""


def diagnosed(name: str, folder: Path, *, moments: int | None = None) -> list[Diagnosis]:
    return why(read_moments(dump(name, folder, moments=moments)))


@pytest.mark.parametrize("name", FAULTS)
def test_the_right_cause_comes_first(name: str, tmp_path: Path) -> None:
    cause = sample(name)["cause"]
    worst = diagnosed(name, tmp_path)[0]
    assert worst.subscription == cause["subscription"]
    first = worst.first
    assert first is not None
    right = [cause["kind"], *cause.get("also_right", ())] if name in ALSO_ALLOWED else [cause["kind"]]
    assert first.id in right
    assert first.verdict not in HARMLESS or not cause["blockage"]
    if name not in BLAME_DIFFERS:
        assert sorted(first.blocked, key=natural_key) == sorted(cause["blocked"], key=natural_key)
        assert sorted(first.by, key=natural_key) == sorted(cause["by"], key=natural_key)
    setting = first.setting.name if first.setting is not None else None
    assert setting == cause["setting"] or setting in SETTING_ADDED


@pytest.mark.parametrize("name", FAULTS)
def test_numbers_are_those_that_were_recorded(name: str, tmp_path: Path) -> None:
    recorded = sample(name)["cause"]["numbers"]
    first = diagnosed(name, tmp_path)[0].first
    assert first is not None
    result = dict(first.numbers)
    compared = 0
    for number, value in recorded.items():
        if number in result and isinstance(value, int | float) and number not in ("redeliver_rate", "throttle_events"):
            # What several answers of one moment say can be some messages apart.
            assert result[number] == pytest.approx(value, rel=0.05, abs=3), number
            compared += 1
    # Those that compare nothing have their numbers by consumer or by partition.
    by_name = [number for number, value in recorded.items() if isinstance(value, dict | list)]
    assert compared or by_name


@pytest.mark.parametrize("name", HEALTHY)
def test_nothing_is_wrong_with_a_healthy_twin(name: str, tmp_path: Path) -> None:
    result = [(each.subscription, cause.id) for each in diagnosed(name, tmp_path) for cause in each.causes
             if cause.verdict not in HARMLESS]  # fmt: skip
    assert result == []


@pytest.mark.parametrize("name", FAULTS)
def test_one_moment_alone_names_the_cause_or_says_that_it_cannot_tell(name: str, tmp_path: Path) -> None:
    cause = sample(name)["cause"]
    first = diagnosed(name, tmp_path, moments=1)[0].first
    assert first is not None
    result = first.id, first.verdict in HARMLESS
    if name in ONE_MOMENT_DIFFERS:
        assert result == ONE_MOMENT_DIFFERS[name]
    else:
        assert first.id in [cause["kind"], *cause.get("also_right", ())]


@pytest.mark.parametrize("name", HEALTHY)
def test_one_moment_of_a_healthy_twin_blocks_nothing(name: str, tmp_path: Path) -> None:
    result = [(each.subscription, cause.id, cause.verdict.value) for each in diagnosed(name, tmp_path, moments=1)
             for cause in each.causes if cause.verdict.harms]  # fmt: skip
    assert result == []


def test_every_decider_has_a_recorded_fault_or_a_test_that_finds_it() -> None:
    recorded = {sample(name)["cause"]["kind"] for name in FAULTS}
    tested = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    kept_still = {"fine_catching_up"}
    healthy = {cause for name in HEALTHY for cause in (name.removesuffix("-healthy").replace("-", "_"),)}
    missing = [decider.id for decider in DECIDERS if decider.id not in recorded and f'"{decider.id}"' not in tested]
    assert [each for each in missing if not any(name.startswith(each) for name in healthy | kept_still)] == []


def test_what_was_mended_is_named_with_its_moment(tmp_path: Path) -> None:
    fault, healthy = "failover-active-no-permits-a", "failover-active-no-permits-a-healthy"
    moments = read_moments(mended_dump(fault, healthy, tmp_path / "mended"))
    (result,) = with_earlier(why(moments), moments)
    assert result.first is not None and result.first.verdict in HARMLESS
    assert result.earlier is not None
    assert (result.earlier.moment, result.earlier.at_ms) == (2, moments[1].at_ms)
    assert result.earlier.cause.id == "failover_active_no_permits"
    still = read_moments(dump(fault, tmp_path / "still"))
    assert [each.earlier for each in with_earlier(why(still), still)] == [None]
    well = read_moments(dump(healthy, tmp_path / "well"))
    assert [each.earlier for each in with_earlier(why(well), well)] == [None]
