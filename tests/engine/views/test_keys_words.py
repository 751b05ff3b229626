"""Every reason to wait, order rule and verdict has its words on the screen."""

from __future__ import annotations

from engine.keyshared.delivery_state import OrderRule
from engine.keyshared.luck import Verdict
from engine.keyshared.waits import WaitReason
from engine.views.keys_words import ORDER_RULES, REASONS, VERDICTS


def test_no_reason_rule_or_verdict_is_without_words() -> None:
    assert set(REASONS) == set(WaitReason)
    assert set(ORDER_RULES) == set(OrderRule)
    assert set(VERDICTS) == set(Verdict)
