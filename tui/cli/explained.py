"""Which explanation ``explain TOPIC`` gives: the active consumer of Failover, or whose turn it is by what was seen."""

from __future__ import annotations

from engine.diagnosis.seen import EXCLUSIVE, SHARED, SubscriptionSeen, subscriptions_seen
from engine.diagnosis.turns import TurnExplanation, explain_turn
from engine.errors import InputError, Rejection
from engine.scenarios.opening import Opened
from engine.views.dashboard import topic_explanation
from engine.views.details import TopicExplanation
from tui.cli.options import WhatIf
from tui.cli.session import begin


def topic_or_turn(opened: Opened, topic: str, what_if: WhatIf) -> TopicExplanation | TurnExplanation:
    """Explain a topic; a Shared or Exclusive subscription where it is named, or where no other one has the topic.

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
    if opened.seen:
        turn = explain_turn(seen if seen is not None else subscriptions_seen(opened.seen), topic, wanted)
        if isinstance(turn, TurnExplanation):
            return turn
        if turn.error != "NotFound" or not session.timeline.state.subscriptions:
            raise InputError(turn.message)
    raise InputError(told.message)
