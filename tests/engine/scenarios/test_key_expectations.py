"""Expectations about a Key_Shared subscription: each kind holds when it is true, and says what is there when not."""

from __future__ import annotations

import pytest

from engine.cluster.timeline import Timeline
from engine.errors import Rejection
from engine.scenarios.script.expectations import parse_expectation, unmet
from tests.engine.views.key_states import after

KEYS = [f"k{number}" for number in range(30)]
SENT = f"send {' '.join(KEYS)}"
BUSY = after("share auto-split", "add a", "add b", SENT, "add c", SENT)
GAP = after("share sticky", "add a ranges 0-9999", "send k1 k2 k3")


def unmet_by(timeline: Timeline, text: str) -> str:
    expectation = parse_expectation(text)
    assert not isinstance(expectation, Rejection), expectation
    return unmet(expectation, timeline)


@pytest.mark.parametrize(
    ("timeline", "text"),
    [
        (BUSY, "mode auto-split"),
        (BUSY, "consumers = 3"),
        (BUSY, "slots b = 16384"),
        (BUSY, "slots c > 16000"),
        (BUSY, "unowned = 0"),
        (BUSY, "bystanders = 0"),
        (BUSY, "verdict chance"),
        (BUSY, "max/mean slots < 1.6"),
        (GAP, "owner k1 nobody"),
        (GAP, "unowned = 55536"),
        (GAP, "waiting = 3"),
        (GAP, "notice key-gaps"),
        (GAP, "keys a = 0"),
        (GAP, "unacked a = 0"),
    ],
)
def test_what_is_true_is_met(timeline: Timeline, text: str) -> None:
    assert unmet_by(timeline, text) == ""


@pytest.mark.parametrize(
    ("timeline", "text", "reason"),
    [
        (BUSY, "mode sticky", "the mode is auto-split"),
        (BUSY, "owner hex:0 a", "hex:0"),
        (BUSY, "notice key-gaps", "the notices are none"),
        (BUSY, "verdict chance of the points", "the verdict is chance"),
        (BUSY, "slots zebra = 1", "0 consumers are named 'zebra'"),
        (BUSY, "blocked nothing a", "no message of nothing waits"),
        (BUSY, "blocked hex:0 a", "hex:0"),
        (GAP, "owner k1 a", "nobody has k1"),
        (GAP, "blocked k1 a", "k1 waits (no owner) for nobody"),
        (GAP, "waiting = 4", "3"),
        (GAP, "notice key-gapes", "the notices are key-gaps"),
    ],
)
def test_what_is_not_true_says_what_is(timeline: Timeline, text: str, reason: str) -> None:
    assert reason in unmet_by(timeline, text)


def test_a_blocked_key_names_who_holds_it() -> None:
    waiting = [key for key in KEYS if not unmet_by(BUSY, f"blocked {key} b")]
    assert waiting, "a newcomer of halved ranges takes a part of somebody's keys"
    assert unmet_by(BUSY, f"blocked {waiting[0]} c") == f"{waiting[0]} waits (draining) for b"


def test_a_name_that_two_have_measures_nobody() -> None:
    assert unmet_by(after("add a", "add a"), "slots a = 1") == "2 consumers are named 'a'"
