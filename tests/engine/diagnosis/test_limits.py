"""Which limit is in force and who says so, and how a diagnosis becomes a finding."""

from __future__ import annotations

from typing import Any

import pytest

from engine.cluster.state import producer_limit
from engine.config import ReleaseBehaviour, behaviour_of
from engine.diagnosis.findings import CAUSE_RULES, findings_of
from engine.diagnosis.limits import Limits, limits_of
from engine.diagnosis.model import Cause, Diagnosis, Verdict, in_order_of_verdict, worst_first
from engine.lint.model import Severity
from engine.scenarios.opening import open_moments
from tests.engine.diagnosis.answers import TOPIC, consumer, diagnosed, moments, stats, stats_path

RUNTIME = "admin/v2/brokers/configuration/runtime"
NAMESPACE = "admin/v2/namespaces/t/n"


def limits(*answers: dict[str, Any], version: str = "4.2.4") -> Limits:
    behaviour = behaviour_of(version)
    assert isinstance(behaviour, ReleaseBehaviour)
    shown = {stats_path(): stats("Shared", [consumer("a")])}
    result = moments(*({**shown, **each} for each in answers or ({},)))
    return limits_of([each.snapshot for each in result], behaviour)


def test_what_no_answer_says_has_the_default_of_the_release() -> None:
    name = "keySharedLookAheadMsgInReplayThresholdPerConsumer"
    assert (limits().of_broker(name).value, limits().of_broker(name).default, limits().of_broker(name).source) == (
        None, 2_000, "",
    )  # fmt: skip
    assert limits(version="5.0.0").number(name) == 4_000
    assert limits().number("maxUnackedMessagesPerBroker") == 0
    assert limits().number("maxUnackedMessagesPerSubscriptionOnBrokerBlocked") == 0.16
    assert limits().number("dispatcherMaxRoundRobinBatchSize") == 20
    assert limits().number("delayedDeliveryEnabled") == 0.0


def test_a_later_answer_counts_more() -> None:
    first = {RUNTIME: {"maxUnackedMessagesPerConsumer": "7", "maxUnackedMessagesPerSubscription": "70"}}
    second = {RUNTIME: {"maxUnackedMessagesPerConsumer": "8", "activeConsumerFailoverConsistentHashing": "true"}}
    result = limits(first, second)
    assert result.number("maxUnackedMessagesPerConsumer") == 8
    assert result.number("maxUnackedMessagesPerSubscription") == 70
    assert result.of_broker("activeConsumerFailoverConsistentHashing").value == "true"
    assert result.settings is not None and result.settings.maxUnackedMessagesPerConsumer == 8


@pytest.mark.parametrize(
    ("applied", "of_namespace", "of_broker", "value", "source"),
    [
        (40, None, None, 40, "topic policy"), (40, 40, "40", 40, "namespace policy"), (40, 50, "40", 40, "broker"),
        (40, 50, "60", 40, "topic policy"), (None, 50, "60", 50, "namespace policy"), (None, None, "60", 60, "broker"),
        (None, None, None, None, ""),
    ],
)  # fmt: skip
def test_who_limits_unacknowledged_messages(
    applied: int | None, of_namespace: int | None, of_broker: str | None, value: int | None, source: str
) -> None:
    answers: dict[str, Any] = {}
    if applied is not None:
        answers["admin/v2/persistent/t/n/x/maxUnackedMessagesOnConsumer@applied=true"] = applied
    if of_namespace is not None:
        answers[NAMESPACE] = {"bundles": None, "auth_policies": {}, "max_unacked_messages_per_consumer": of_namespace}
    if of_broker is not None:
        answers[RUNTIME] = {"maxUnackedMessagesPerConsumer": of_broker}
    for topic in (TOPIC, f"{TOPIC}-partition-3"):
        setting = limits(answers).unacked_per_consumer(topic)
        assert (setting.value, setting.default, setting.source) == (value, 50_000, source)
    other = limits(answers).unacked_per_consumer("persistent://t/other/x")
    assert other.source in ("", "broker")


def test_a_quota_of_a_topic_goes_before_that_of_its_namespace() -> None:
    of_namespace = {"message_age": {"limitTime": 9, "policy": "a"}, "destination_storage": {"policy": "b"}}
    answers: dict[str, Any] = {NAMESPACE: {"bundles": None, "auth_policies": {}, "backlog_quota_map": of_namespace}}
    result = limits(answers)
    assert (result.backlog_age_limit_s(TOPIC), result.backlog_policy(TOPIC)) == (9, "b")
    answers["admin/v2/persistent/t/n/x/backlogQuotaMap@applied=true"] = {"message_age": {"limitTime": 4, "policy": "c"}}
    result = limits(answers)
    assert (result.backlog_age_limit_s(TOPIC), result.backlog_policy(TOPIC, "message_age")) == (4, "c")
    assert result.backlog_policy(TOPIC) == "b"
    assert (limits().backlog_age_limit_s(TOPIC), limits().backlog_policy(TOPIC)) == (-1, "producer_request_hold")
    evicts = limits({RUNTIME: {"backlogQuotaDefaultRetentionPolicy": "consumer_backlog_eviction", "clusterName": "c",
                               "maxUnackedMessagesPerConsumer": "1"}})  # fmt: skip
    assert evicts.backlog_policy(TOPIC) == "consumer_backlog_eviction"


def diagnosis(verdict: Verdict, *, id_: str = "x", name: str = "s", backlog: int = 0, waiting: int = 0) -> Diagnosis:
    cause = Cause(id_, verdict, "w", TOPIC, 2, ("a",), ("b",), waiting, (("n", 3), ("text", "t")), None, "f")
    return Diagnosis("t/n", name, "Shared", TOPIC, 2, 1, backlog, (cause,))


@pytest.mark.parametrize(
    ("verdict", "severity"),
    [
        (Verdict.BLOCKS, Severity.ERROR), (Verdict.SLOWS, Severity.WARNING), (Verdict.UNEVEN, Severity.WARNING),
        (Verdict.CANNOT_TELL, Severity.INFO), (Verdict.BY_DESIGN, None), (Verdict.FINE, None),
    ],
)  # fmt: skip
def test_a_verdict_is_a_severity(verdict: Verdict, severity: Severity | None) -> None:
    findings = findings_of([diagnosis(verdict)])
    assert [finding.severity for finding in findings] == ([severity] if severity else [])
    for each in findings:
        assert (each.rule, each.what, each.advice, each.numbers) == ("x", "w", "f", (("n", 3.0),))
        assert (each.where.namespace, each.where.subscription, each.where.consumer) == ("t/n", "s", "b")
        assert (each.where.topic, each.where.topics) == (TOPIC, 2)
    assert findings_of([diagnosis(verdict)], ["y"]) == findings_of([diagnosis(verdict)], namespace="t/m") == ()
    assert findings_of([diagnosis(verdict)], ["x"], namespace="t/n") == findings


def test_causes_that_can_block_are_rules_that_can_be_errors() -> None:
    worst = {rule.id: rule.worst for rule in CAUSE_RULES}
    assert worst["keyshared_draining"] is worst["no_consumers"] is worst["producer_side"] is Severity.ERROR
    assert worst["hot_key"] is worst["slow_consumer"] is worst["failover_idle_consumers"] is Severity.WARNING
    assert not {"fine_idle", "failover_standby", "delayed_messages", "fine_keeping_up"} & worst.keys()


def test_the_worst_comes_first_by_verdict_then_by_what_waits_then_by_name() -> None:
    result = [
        diagnosis(Verdict.SLOWS, name="a", backlog=900),
        diagnosis(Verdict.BLOCKS, name="b", backlog=5),
        diagnosis(Verdict.BLOCKS, name="c", waiting=6),
        diagnosis(Verdict.BLOCKS, name="d", backlog=5),
        Diagnosis("t/n", "e", "Shared", TOPIC, 1, 1, 0),
    ]
    assert [each.subscription for each in worst_first(reversed(result))] == ["c", "b", "d", "a", "e"]
    assert [each.blocks for each in result] == [False, True, True, True, False]


def test_without_a_cause_more_that_waits_comes_first() -> None:
    result = [
        Diagnosis("t/n", name, "Shared", TOPIC, 1, 1, backlog) for name, backlog in (("a", 0), ("b", 1), ("c", 2))
    ]
    assert [each.subscription for each in worst_first(result)] == ["c", "b", "a"]


def test_what_is_fine_is_left_out_where_one_thing_is_not() -> None:
    def of(*verdicts: Verdict) -> list[Verdict]:
        return [each.verdict for each in in_order_of_verdict(Cause("x", verdict, "w") for verdict in verdicts)]

    assert of(Verdict.FINE, Verdict.BY_DESIGN, Verdict.SLOWS) == [Verdict.SLOWS, Verdict.BY_DESIGN]
    assert of(Verdict.FINE, Verdict.BY_DESIGN) == [Verdict.BY_DESIGN, Verdict.FINE]


def test_a_finding_is_about_the_topic_of_its_cause_or_else_of_the_subscription() -> None:
    def topic_of(own: str) -> str:
        cause = Cause("x", Verdict.SLOWS, "w", own)
        (result,) = findings_of([Diagnosis("t/n", "s", "Shared", f"{TOPIC}-partition-0", 2, 1, 0, (cause,))])
        return result.where.topic

    assert topic_of("persistent://t/n/y-partition-7") == "persistent://t/n/y"
    assert topic_of("") == TOPIC


def test_a_broker_that_reported_its_settings_reported_its_defaults_too() -> None:
    result = limits({RUNTIME: {"maxUnackedMessagesPerConsumer": "7", "activeConsumerFailoverDelayTimeMillis": "1"}})
    setting = result.of_broker("maxUnackedMessagesPerSubscription")
    assert (setting.value, setting.default, setting.source) == (200_000, 200_000, "broker")


@pytest.mark.parametrize(
    ("policy", "member", "same"),
    [
        ("dispatchRate", "topicDispatchRate", True), ("dispatchRate", "topicDispatchRate", False),
        ("dispatchRate", "subscriptionDispatchRate", None),
        ("subscriptionDispatchRate", "subscriptionDispatchRate", True),
        ("subscriptionDispatchRate", "topicDispatchRate", None),
    ],
)  # fmt: skip
def test_a_rate_is_the_namespace_s_where_some_cluster_of_it_has_the_same(
    policy: str, member: str, same: bool | None
) -> None:
    rate = {"dispatchThrottlingRateInMsg": 20, "ratePeriodInSecond": 1}
    other = {**rate, "dispatchThrottlingRateInMsg": 21}
    of_clusters = {"east": other, "west": other if same is False else rate}
    result = limits({
        f"admin/v2/persistent/t/n/x/{policy}@applied=true": rate,
        NAMESPACE: {"bundles": None, "auth_policies": {}, member: of_clusters},
    }).dispatch_rate(TOPIC, policy)  # fmt: skip
    assert (result.value, result.source) == ("20 messages/s", "namespace policy" if same else "topic policy")


def test_a_name_with_a_suffix_or_a_scheme_inside_is_found() -> None:
    name = "maxUnackedMessagesOnConsumer"
    inner = "persistent://t/n/x-partition-3"
    result = limits({f"admin/v2/persistent/t/n/x-partition-3/{name}@applied=true": 40})
    assert result.unacked_per_consumer(f"{inner}-partition-0").value == 40
    policies = {"bundles": None, "auth_policies": {}, "max_unacked_messages_per_consumer": 9}
    assert limits({NAMESPACE: policies}).unacked_per_consumer("persistent://t/n/a://b/c").value == 9


def test_namespaces_of_earlier_answers_are_kept() -> None:
    policies = {"bundles": None, "auth_policies": {}, "max_unacked_messages_per_consumer": 9}
    result = limits({NAMESPACE: policies}, {"admin/v2/namespaces/t/m": policies})
    assert [result.unacked_per_consumer(f"persistent://t/{each}/x").value for each in "nmo"] == [9, 9, None]


@pytest.mark.parametrize(
    ("applied", "of_namespace", "of_broker", "value", "source"),
    [
        (None, None, None, None, ""), (None, None, "3", 3, "broker"), (None, 2, "3", 2, "namespace policy"),
        (None, 0, "3", 0, "namespace policy"), (1, 2, "3", 1, "topic policy"), (2, 2, "3", 2, "namespace policy"),
        (3, 2, "3", 3, "topic policy"), (0, 2, "3", 0, "topic policy"), (3, None, "3", 3, "broker"),
        (4, None, None, 4, ""),
    ],
)  # fmt: skip
def test_who_limits_producers(
    applied: int | None, of_namespace: int | None, of_broker: str | None, value: int | None, source: str
) -> None:
    answers: dict[str, Any] = {}
    if applied is not None:
        answers["admin/v2/persistent/t/n/x/maxProducers@applied=true"] = applied
    if of_namespace is not None:
        answers[NAMESPACE] = {"bundles": None, "auth_policies": {}, "max_producers_per_topic": of_namespace}
    if of_broker is not None:
        answers[RUNTIME] = {"maxProducersPerTopic": of_broker}
    for topic in (TOPIC, f"{TOPIC}-partition-3"):
        setting = limits(answers).max_producers(topic)
        assert (setting.value, setting.default, setting.source) == (value, 0, source)
    moment = moments({stats_path(): stats("Shared", [consumer("a")]), **answers})[-1]
    state = open_moments([moment]).state
    limit = producer_limit(state, TOPIC)
    assert (limit.most, limit.source) == (value or 0, source or ("topic policy" if value else "broker"))


def test_a_full_topic_is_named_with_its_limit_and_does_no_harm_by_itself() -> None:
    shown = stats("Shared", [consumer("a")], topic={"publishers": [{}, {}]})
    policy = {"admin/v2/persistent/t/n/x/maxProducers@applied=true": 2}
    (cause,) = [cause for cause in diagnosed({stats_path(): shown, **policy}).causes if cause.id == "producers_full"]
    assert (cause.verdict, cause.setting and cause.setting.value) == (Verdict.BY_DESIGN, 2)
    assert dict(cause.numbers) == {"limit": 2, "publishers": 2}
    not_full = diagnosed({stats_path(): shown, **dict.fromkeys(policy, 3)})
    assert "producers_full" not in [cause.id for cause in not_full.causes]
