"""``expect next`` and ``expect forecast``: those that hold are silent, the others say what is forecast instead."""

from __future__ import annotations

import pytest

from engine.scenarios.script.expectations import parse_expectation
from engine.scenarios.script.run import Script, parse_script, run_script

FLOW = "ring/ddflowmsgrate4x60"
SMALL = "new topics 10 consumers 2\n"


def failures(text: str) -> list[str]:
    script = parse_script(text, "demo.ringside")
    assert isinstance(script, Script), script
    return [failure.reason for step, _ in run_script(script) for failure in step.failures]


@pytest.mark.parametrize(
    "expectation",
    [
        f"next split {FLOW} 0x00000000_0x40000000",
        f"next reason {FLOW} MsgRate",
        f"forecast {FLOW} cycle = 1",
        f"forecast {FLOW} seconds = 900",
        f"forecast {FLOW} pieces = 2",
        f"forecast {FLOW} splits = 2",
        f"forecast {FLOW} bundles < 7",
        f"forecast {FLOW} over >= 1",
    ],
)
def test_a_forecast_that_holds_is_silent(expectation: str) -> None:
    assert failures(f"scene flow-split\nexpect {expectation}") == []


@pytest.mark.parametrize(
    ("start", "expectation", "message"),
    [
        ("scene flow-split\n", f"next split {FLOW} 0x80000000_0xc0000000", "it is 0x00000000_0x40000000"),
        ("scene flow-split\n", f"next split {FLOW} nothing", "it is 0x00000000_0x40000000"),
        ("scene flow-split\n", f"next reason {FLOW} Topics", "it is MsgRate"),
        ("scene flow-split\n", f"forecast {FLOW} cycle > 1", "it is 1"),
        ("scene flow-split\n", "forecast no/where cycle > 1", "no namespace 'no/where'"),
        (SMALL, "next split public/default 0x00000000_0x40000000", "nothing splits within 20 cycles"),
        (SMALL, "next reason public/default MsgRate", "nothing splits within 20 cycles"),
        (SMALL, "forecast public/default seconds = 900", "nothing splits within 20 cycles"),
        (SMALL, "forecast public/default over = 1", "it is 0"),
    ],
)
def test_a_forecast_that_does_not_hold_says_what_comes_instead(start: str, expectation: str, message: str) -> None:
    (reason,) = failures(f"{start}expect {expectation}")
    assert message in reason


def test_nothing_to_come_can_be_expected() -> None:
    assert failures(f"{SMALL}expect next split public/default nothing") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("next split", "write expect next split NAMESPACE RANGE"),
        ("next bundle a/b 0x0_0x1", "'bundle' is not forecast"),
        ("forecast a/b soon = 3", "'soon' is not forecast"),
        ("forecast a/b cycle", "write expect forecast NAMESPACE"),
        ("forecast a/b cycle = soon", "'soon' is not a number"),
    ],
)
def test_a_forecast_that_cannot_be_read_says_how_it_is_written(text: str, message: str) -> None:
    assert message in str(parse_expectation(text))
