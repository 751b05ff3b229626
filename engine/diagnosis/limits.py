"""Limits in force and their source: a policy of the topic, of its namespace, or the broker's configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final

from msgspec import Struct

from engine.admin.facts import Snapshot
from engine.answer import about
from engine.config import CURRENT, BrokerSettings, ReleaseBehaviour, default_settings
from engine.names import PARTITION_SUFFIX
from engine.producer_limit import limit_in_force

TOPIC_POLICY: Final = "topic policy"
NAMESPACE_POLICY: Final = "namespace policy"
BROKER: Final = "broker"

NOT_MODELLED: Final[Mapping[str, float | str]] = {
    "maxUnackedMessagesPerBroker": 0,
    "maxUnackedMessagesPerSubscriptionOnBrokerBlocked": 0.16,
    "backlogQuotaDefaultRetentionPolicy": "producer_request_hold",
    "delayedDeliveryEnabled": "true",
    "dispatcherMaxRoundRobinBatchSize": 20,
}
"""Defaults of ``ServiceConfiguration`` in 4.2 for settings that the model does not read. 0 means no limit."""


class Setting(Struct, frozen=True):
    """The setting that controls a cause. ``value`` is the one in force, None where no answer has it; ``source`` says
    where it was read, "" if unknown. ``default`` is Pulsar's, None for settings of clients.
    """

    name: str
    value: Annotated[float | str | None, about("What is in force; null where no answer says it.")] = None
    default: Annotated[float | str | None, about("Pulsar's default; null where there is none.")] = None
    source: Annotated[str, about("Who set it; empty where no answer says it.")] = ""


class Limits(Struct, frozen=True):
    """Limits from the answers of all moments; later answers win. ``defaults`` are those of the release."""

    configuration: Mapping[str, str]
    topic_policies: Mapping[str, Mapping[str, object]]
    namespace_policies: Mapping[str, Mapping[str, object]]
    settings: BrokerSettings | None
    defaults: BrokerSettings

    def of_broker(self, name: str) -> Setting:
        """Return a setting of the broker by its name."""
        default = NOT_MODELLED.get(name, _written(self.defaults, name))
        text = self.configuration.get(name)
        if text is not None:
            return Setting(name, _parsed(text), default, BROKER)
        modelled = _written(self.settings, name)
        return Setting(name, modelled, default, BROKER if modelled is not None else "")

    def number(self, name: str) -> float:
        """Return a setting of the broker as a number, its default where no answer has it."""
        setting = self.of_broker(name)
        value = setting.value if setting.value is not None else setting.default
        return float(value) if isinstance(value, int | float) else 0.0

    def unacked_per_consumer(self, topic: str) -> Setting:
        """Return the number of unacknowledged messages that stops a consumer of Shared or Key_Shared."""
        return self._unacked(
            topic,
            "maxUnackedMessagesPerConsumer",
            "maxUnackedMessagesOnConsumer",
            "max_unacked_messages_per_consumer",
        )

    def unacked_per_subscription(self, topic: str) -> Setting:
        """Return the number of unacknowledged messages that stops a whole subscription of Shared or Key_Shared."""
        return self._unacked(
            topic,
            "maxUnackedMessagesPerSubscription",
            "maxUnackedMessagesOnSubscription",
            "max_unacked_messages_per_subscription",
        )

    def max_producers(self, topic: str) -> Setting:
        """Return how many producers each partition of a topic takes; value None or 0 for any number."""
        name = "maxProducersPerTopic"
        broker = self.of_broker(name)
        applied, in_namespace = (
            value if isinstance(value, int) else None
            for value in (self._of_topic(topic, "maxProducers"), self._of_namespace(topic, "max_producers_per_topic"))
        )
        others = limit_in_force(None, in_namespace, int(self.number(name)))
        # The applied value does not say who set it.
        limit = limit_in_force(applied if applied != others.most else None, in_namespace, others.most)
        if limit.source == BROKER:
            return broker
        unknown = limit.source == TOPIC_POLICY and in_namespace is None and broker.value is None
        return Setting(name, limit.most, broker.default, "" if unknown else limit.source)

    def _unacked(self, topic: str, name: str, policy: str, member: str) -> Setting:
        broker = self.of_broker(name)
        applied = self._of_topic(topic, policy)
        in_namespace = self._of_namespace(topic, member)
        if isinstance(applied, int):
            # The applied value does not say who set it.
            if applied == in_namespace:
                return Setting(name, applied, broker.default, NAMESPACE_POLICY)
            return Setting(name, applied, broker.default, BROKER if applied == broker.value else TOPIC_POLICY)
        if isinstance(in_namespace, int):
            return Setting(name, in_namespace, broker.default, NAMESPACE_POLICY)
        return broker

    def dispatch_rate(self, topic: str, policy: str) -> Setting:
        """Return ``dispatchRate`` or ``subscriptionDispatchRate``, such as ``10 messages/s``; value None if unlimited
        or unknown."""
        applied = self._of_topic(topic, policy)
        if not isinstance(applied, dict):
            return Setting(policy)
        period_s = applied.get("ratePeriodInSecond", 1)
        per = "s" if period_s == 1 else f"{period_s} s"
        limits = [
            f"{rate:,} {unit}/{per}"
            for member, unit in (("dispatchThrottlingRateInMsg", "messages"), ("dispatchThrottlingRateInByte", "bytes"))
            if isinstance(rate := applied.get(member), int) and rate > 0
        ]
        # The applied value does not say who set it.
        in_namespace = self._of_namespace(topic, "topicDispatchRate" if policy == "dispatchRate" else policy)
        by_namespace = isinstance(in_namespace, dict) and applied in (in_namespace, *in_namespace.values())
        by = NAMESPACE_POLICY if by_namespace else TOPIC_POLICY
        return Setting(policy, " and ".join(limits) or None, None, by if limits else "")

    def backlog_policy(self, topic: str, kind: str = "destination_storage") -> str:
        """Return the action at the quota by Pulsar's name; the default is ``producer_request_hold``."""
        policy = self._quota(topic, kind).get("policy")
        if isinstance(policy, str):
            return policy
        setting = self.of_broker("backlogQuotaDefaultRetentionPolicy")
        return str(setting.value or setting.default)

    def backlog_age_limit_s(self, topic: str) -> int:
        """Return the highest age of a backlog in seconds, -1 without a limit."""
        limit = self._quota(topic, "message_age").get("limitTime")
        return limit if isinstance(limit, int) else -1

    def _quota(self, topic: str, kind: str) -> Mapping[str, object]:
        for quotas in (self._of_topic(topic, "backlogQuotaMap"), self._of_namespace(topic, "backlog_quota_map")):
            quota = quotas.get(kind) if isinstance(quotas, dict) else None
            if isinstance(quota, dict):
                return quota
        return {}

    def _of_topic(self, topic: str, policy: str) -> object:
        parent = topic.rpartition(PARTITION_SUFFIX)[0] or topic
        for name in (topic, parent):
            if policy in self.topic_policies.get(name, {}):
                return self.topic_policies[name][policy]
        return None

    def _of_namespace(self, topic: str, member: str) -> object:
        namespace = "/".join(topic.partition("://")[2].split("/")[:2])
        return self.namespace_policies.get(namespace, {}).get(member)


def limits_of(snapshots: Sequence[Snapshot], behaviour: ReleaseBehaviour = CURRENT) -> Limits:
    """Collect the limits from snapshots in the order of time; ``behaviour`` is that of the brokers' release."""
    configuration: dict[str, str] = {}
    topics: dict[str, dict[str, object]] = {}
    namespaces: dict[str, Mapping[str, object]] = {}
    settings: BrokerSettings | None = None
    for snapshot in snapshots:
        configuration |= snapshot.configuration
        for topic, policies in snapshot.topic_policies.items():
            topics[topic] = {**topics.get(topic, {}), **policies}
        namespaces |= snapshot.namespace_policies
        settings = snapshot.settings or settings
    return Limits(configuration, topics, namespaces, settings, default_settings(behaviour))


def _written(settings: BrokerSettings | None, name: str) -> float | str | None:
    """Return a setting of the model as broker.conf writes it, None where it is unknown."""
    value = getattr(settings, name, None)
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else value


def _parsed(text: str) -> float | str:
    """Return a number if the text is one, else the text.

    >>> _parsed("45000"), _parsed("0.16"), _parsed("false")
    (45000, 0.16, 'false')
    """
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text
