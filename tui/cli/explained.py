"""Which explanation ``explain TOPIC`` gives: the active consumer of Failover, or whose turn it is by what was seen."""

from __future__ import annotations

from engine.diagnosis.seen import EXCLUSIVE, SHARED, SubscriptionSeen, subscriptions_seen
from engine.diagnosis.turns import TurnExplanation, explain_turn
from engine.errors import InputError, Rejection
from engine.scenarios.opening import Opened
from engine.views.failover.dashboard import topic_explanation
from engine.views.failover.explanations import TopicExplanation
from tui.cli.options import WhatIf
from tui.cli.session import begin


def topic_or_turn(opened: Opened, topic: str, what_if: WhatIf) -> TopicExplanation | TurnExplanation:
    """Explain a topic in the subscription that is named, else in the first that has it; Shared and Exclusive come last.

    Raises ``InputError`` with the names that are near.
    """
    wanted = what_if.subscription
    seen: list[SubscriptionSeen] | None = None
    if wanted is not None and opened.seen:
        seen = subscriptions_seen(opened.seen)
        types = {each.type for each in seen if each.name == wanted}
        if types and types <= {SHARED, EXCLUSIVE}:
            turn = explain_turn(seen, topic, wanted)
            if isinstance(turn, Rejection):
                raise InputError(turn.message)
            return turn
    session = begin(opened, what_if)
    told = topic_explanation(session.timeline, session.subscription, topic)
    if isinstance(told, TopicExplanation):
        return told
    for place in range(len(session.timeline.state.subscriptions) if wanted is None else 0):
        elsewhere = topic_explanation(session.timeline, place, topic)
        if isinstance(elsewhere, TopicExplanation):
            return elsewhere
        if elsewhere.error == "Ambiguous":  # it has the topic, and wants to know which partition is meant
            told = elsewhere
    if opened.seen:
        turn = explain_turn(seen if seen is not None else subscriptions_seen(opened.seen), topic, wanted)
        if isinstance(turn, TurnExplanation):
            return turn
        if turn.error not in ("NotFound", "IsFailover") or not session.timeline.state.subscriptions:
            raise InputError(turn.message)
    raise InputError(told.message)
