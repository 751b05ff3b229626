"""Who is served next in Shared and Exclusive subscriptions, by what was seen."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from engine.diagnosis.seen import subscriptions_seen
from engine.diagnosis.turns import TurnExplanation, WhyNot, explain_turn
from engine.errors import Rejection
from tests.engine.diagnosis.answers import TOPIC, Stats, consumer, moments, stats, stats_path

RUNTIME = "admin/v2/brokers/configuration/runtime"


def outcome_of(
    type_: str, *consumers: Stats, more: Mapping[str, object] | None = None, **sub: object
) -> TurnExplanation | Rejection:
    seen = subscriptions_seen(moments({stats_path(): stats(type_, consumers, **sub), **(more or {})}))
    return explain_turn(seen, TOPIC)


def explained(
    type_: str, *consumers: Stats, more: Mapping[str, object] | None = None, **sub: object
) -> TurnExplanation:
    outcome = outcome_of(type_, *consumers, more=more, **sub)
    assert isinstance(outcome, TurnExplanation), outcome
    return outcome


def test_who_has_permits_and_is_not_stopped_can_be_next() -> None:
    result = explained(
        "Shared",
        consumer("a", availablePermits=1),
        consumer("b", availablePermits=0),
        consumer("c", availablePermits=-3),
        consumer("d", blockedConsumerOnUnackedMsgs=True),
        msgBacklog=9,
    )
    assert [turn.why_not for turn in result.turns] == [None, WhyNot.NO_PERMITS, WhyNot.NO_PERMITS, WhyNot.UNACKED]
    assert [turn.consumer for turn in result.possible] == ["a"]
    assert (result.backlog, result.batch, result.type) == (9, 20, "Shared")


def test_a_subscription_that_is_stopped_serves_nobody() -> None:
    result = explained("Shared", consumer("a"), consumer("b"), blockedSubscriptionOnUnackedMsgs=True)
    assert {turn.why_not for turn in result.turns} == {WhyNot.SUBSCRIPTION_BLOCKED}


def test_how_many_entries_a_turn_has_is_the_broker_s_setting() -> None:
    answers = {
        RUNTIME: {
            "dispatcherMaxRoundRobinBatchSize": "7",
            "dispatchThrottlingRateInMsg": "0",
            "clusterName": "c",
            "activeConsumerFailoverDelayTimeMillis": "1000",
        }
    }
    assert explained("Shared", consumer("a"), more=answers).batch == 7


def test_the_one_of_an_exclusive_subscription_knows_no_limit_of_unacknowledged_messages() -> None:
    result = explained("Exclusive", consumer("a", blockedConsumerOnUnackedMsgs=True))
    assert [turn.why_not for turn in result.turns] == [None]
    assert result.batch == 0
    assert explained("Exclusive", consumer("a", availablePermits=0)).turns[0].why_not is WhyNot.NO_PERMITS


@pytest.mark.parametrize("type_", ["Failover", "Key_Shared", "None"])
def test_other_types_are_refused_with_what_explains_them(type_: str) -> None:
    outcome = outcome_of(type_, *([] if type_ == "None" else [consumer("a")]))
    assert isinstance(outcome, Rejection)
    assert (outcome.error, outcome.status) == ("IsFailover" if type_ == "Failover" else "OtherType", 409)


def test_a_name_may_be_short_and_must_mean_one_partition_and_one_subscription() -> None:
    two = stats("Shared", [consumer("a")])
    two["subscriptions"]["other"] = two["subscriptions"]["s"]
    seen = subscriptions_seen(
        moments({stats_path(0): stats("Shared", [consumer("a")]), stats_path(1): stats("Shared", [consumer("b")]),
                 "admin/v2/persistent/t/n/y/stats": two})
    )  # fmt: skip

    def outcome(topic: str, subscription: str | None = None) -> str:
        explanation = explain_turn(seen, topic, subscription)
        if isinstance(explanation, Rejection):
            assert explanation.status == 404
            return f"{explanation.error} {explanation.field}"
        return explanation.turns[0].consumer

    assert outcome("x-partition-1") == outcome(f"{TOPIC}-partition-1") == "b"
    assert outcome("x") == "Ambiguous topic"
    assert outcome("y") == "Ambiguous subscription"
    assert outcome("y", "other") == "a"
    assert outcome("y", "another") == "NotFound subscription"
    assert outcome("z") == "NotFound topic"
    assert outcome("z", "other") == "NotFound topic"


def test_a_wrong_name_is_refused_with_four_near_ones() -> None:
    names = [f"orders-{number}" for number in range(1, 7)]
    seen = subscriptions_seen(
        moments({f"admin/v2/persistent/t/n/{name}/stats": stats("Shared", [consumer("a")]) for name in names})
    )
    for topic in ("orders-", "persistent://t/n/orders-"):
        explanation = explain_turn(seen, topic)
        assert isinstance(explanation, Rejection)
        assert sum(name in explanation.message for name in names) == 4
    far = explain_turn(seen, "nothing/like/it")
    assert isinstance(far, Rejection)
    assert not any(name in far.message for name in names)
