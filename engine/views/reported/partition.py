"""What brokers reported of one partition: who is connected there and who is active, beside what a rule gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from engine.admin.facts import NotReported, Snapshot, SubscriptionFacts, TopicFacts
from engine.answer import about
from engine.names import PARTITION_SUFFIX
from engine.text import counted


@dataclass(frozen=True, slots=True)
class PartitionReported:
    """What brokers reported of a partition."""

    consumers: Annotated[
        int, about("Consumers that the broker lists; with 0 nobody is active, whatever the rule gives.", 0)
    ]
    active: Annotated[str | None, about("The reported active consumer; null for nobody.")]
    backlog: Annotated[int | None, about("Messages that wait; null where the answer does not say.")]
    others_served: Annotated[int, about("Other partitions of the topic that have consumers.", 0)]

    @property
    def sentence(self) -> str:
        """Say that nobody is active there; "" where somebody is."""
        if self.consumers:
            return ""
        waits = f", where {counted(self.backlog, 'message', 'waits', 'wait')}" if self.backlog else ""
        others = f"; {counted(self.others_served, 'other partition', 'has', 'have')} one" if self.others_served else ""
        return f"nobody: the broker lists no consumer of this partition{waits}{others}"


def partition_reported(snapshot: Snapshot, topic: str, subscription: str) -> PartitionReported | None:
    """What was reported of a subscription on a partition; None where no answer lists its consumers. O(topics)."""
    known = snapshot.topics.get(topic)
    sub = _subscription(known, subscription)
    if sub is None or isinstance(sub.consumers, NotReported):
        return None
    parent, suffix, _ = topic.rpartition(PARTITION_SUFFIX)
    prefix = parent + suffix
    served = sum(
        1
        for name, other in snapshot.topics.items()
        if suffix
        and name.startswith(prefix)
        and name != topic
        and (of_other := _subscription(other, subscription)) is not None
        and of_other.consumers
    )
    active = sub.active_consumer_name if sub.consumers else None
    return PartitionReported(len(sub.consumers), active or None, sub.msg_backlog_entries, served)


def _subscription(topic: TopicFacts | None, name: str) -> SubscriptionFacts | None:
    """The subscription of that key; those of one name with other consumers elsewhere have keys like ``billing#2``."""
    subscriptions = () if topic is None else topic.subscriptions
    return next((sub for sub in subscriptions if name == sub.name or name.startswith(f"{sub.name}#")), None)
