"""Where a topic goes, and why: the active consumer by the rule in force and by the other one, and its bundle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated

from engine.admin.facts import total
from engine.answer import about
from engine.bundles.boundaries import BundleRange, NamespaceBundles
from engine.cluster.state import NO_STATISTICS, ClusterState, dispatched_load
from engine.errors import Rejection
from engine.failover.explain import FailoverExplanation, explain_choice
from engine.failover.state import Terms
from engine.failover.takeover import Takeover, takeover
from engine.hashing import crc32_hash
from engine.names import PARTITION_SUFFIX, TopicName, parse_topic_name, partition_index
from engine.views.failover.model import RuleInForce
from engine.views.failover.slice import Slice


@dataclass(frozen=True, slots=True)
class TopicExplanation:
    """Why one partition has its active consumer, and which bundle holds it.

    Brokers count no unacknowledged messages of Failover consumers and print 0; what was sent and is not acknowledged is
    part of the backlog then, which bounds ``sent_again_at_most``.
    """

    topic: Annotated[str, about("Full name of the partition.")]
    matched: Annotated[str, about("How the given text was understood.")]
    subscription: Annotated[str, about("Its key in what was opened.")]
    rule: Annotated[RuleInForce, about("The rule in force for the subscription.")]
    why: Annotated[FailoverExplanation | None, about("Why.")]
    other: Annotated[FailoverExplanation | None, about("The same with the other value of the flag.")]
    flag_known: Annotated[bool, about("Whether the release knows the flag.")]
    namespace: Annotated[str, about("tenant/namespace.")]
    bundle: Annotated[str, about("Its bundle's range; empty where none holds it.")]
    bundle_hash: Annotated[int, about("CRC-32 of the name.")]
    msgs_per_sec: Annotated[float | None, about("In plus out; null where no answer has both.")]
    bytes_per_sec: Annotated[float | None, about("In plus out; null where no answer has both.")]
    unacked_messages: Annotated[int | None, about("Delivered and not acknowledged; null where no answer has it.")]
    backlog_entries: Annotated[int | None, about("Entries that wait; null where no answer has it.")]
    takeover: Annotated[Takeover | None, about("What happens between two active consumers.")] = None
    happened: Annotated[
        bool,
        about(
            "Whether the last step led to this hand-over; false for the one that follows if the active consumer leaves."
        ),
    ] = False
    sent_again_at_most: Annotated[
        int | None,
        about(
            "Messages that the hand-over may deliver twice: what is not acknowledged, or the backlog where "
            "brokers count none; null where neither is known."
        ),
    ] = 0

    @property
    def active_consumer(self) -> str:
        """The name of the active consumer, "" for nobody (and for a consumer without a name)."""
        return self.why.active.name if self.why else ""


CANDIDATES_SHOWN = 4
SEARCHED_TOPICS = 20_000
"""Up to this number of topics, refusals suggest the nearest name, or another subscription."""


def explain_topic(now: Slice, text: str, earlier: Slice | None = None) -> TopicExplanation | Rejection:
    """Explain one partition of a slice; ``text`` is its name or enough of it, ``earlier`` the slice a step before.

    Understood, in this order: a full name; a partitioned topic of one partition; a short form as Pulsar reads it
    (``x``, ``tenant/ns/x``); a local name of any namespace; a part that occurs in one name only. Else a ``Rejection``
    that names the nearest topics. O(t) for the search, O(n log n) for the choice.
    """
    resolved = resolve_topic(now, text)
    if isinstance(resolved, Rejection):
        return resolved
    name, matched = resolved
    namespace = namespace_of(name)
    load = now.state.loads.get(name, NO_STATISTICS)
    own = dispatched_load(now.state, now.subscription, name)
    bundle_hash = crc32_hash(name)
    flag = now.state.settings.activeConsumerFailoverConsistentHashing
    past = _last_takeover(earlier, now, name)
    handed_over = own if past is None or earlier is None else dispatched_load(earlier.state, earlier.subscription, name)
    return TopicExplanation(
        topic=name,
        matched=matched,
        subscription=now.subscription.key,
        rule=now.rule,
        why=_explain(now, name, consistent_hashing=flag),
        other=_explain(now, name, consistent_hashing=not flag),
        flag_known=now.behaviour.knows_failover_consistent_hashing,
        namespace=namespace,
        bundle=bundle_text(now.state, namespace, bundle_hash),
        bundle_hash=bundle_hash,
        msgs_per_sec=total((load.msg_rate_in, load.msg_rate_out)),
        bytes_per_sec=total((load.throughput_in_bytes_per_sec, load.throughput_out_bytes_per_sec)),
        unacked_messages=own.unacked_messages,
        backlog_entries=own.backlog_entries,
        takeover=past or _next_takeover(now, name, own.unacked_messages),
        happened=past is not None,
        sent_again_at_most=handed_over.unacked_messages or handed_over.backlog_entries,
    )


def _last_takeover(earlier: Slice | None, now: Slice, name: str) -> Takeover | None:
    """The hand-over of the last step, if it changed the connected consumers and restarted no broker."""
    if earlier is None or earlier.behaviour != now.behaviour or earlier.state.settings != now.state.settings:
        return None
    if name not in earlier.topics.names:
        return None
    unacked = dispatched_load(earlier.state, earlier.subscription, name).unacked_messages
    return takeover(_terms(now, name), earlier.subscription.consumers, now.subscription.consumers, unacked)


def _next_takeover(now: Slice, name: str, unacked_messages: int | None) -> Takeover | None:
    why = _explain(now, name, consistent_hashing=now.state.settings.activeConsumerFailoverConsistentHashing)
    if why is None or not why.heirs:
        return None
    consumers = now.subscription.consumers
    left = [consumer for consumer in consumers if consumer.consumer_id != why.active.consumer_id]
    return takeover(_terms(now, name), consumers, left, unacked_messages)


def _terms(now: Slice, name: str) -> Terms:
    settings = now.state.settings
    return Terms(
        topic=name,
        partition_index=partition_index(name),
        persistent=not name.startswith("non-persistent://"),
        consistent_hashing=settings.activeConsumerFailoverConsistentHashing,
        delay_ms=settings.activeConsumerFailoverDelayTimeMillis,
        behaviour=now.behaviour,
    )


def resolve_topic(now: Slice, text: str) -> tuple[str, str] | Rejection:
    """The partition name a text means, and how it was understood (see ``TopicExplanation.matched``)."""
    typed = text.strip()
    if not typed:
        return Rejection("NotFound", "name a topic", "topic", 404)
    if typed in now.topics.names:
        return typed, "name"
    parsed = parse_topic_name(typed)
    complete = parsed.complete if isinstance(parsed, TopicName) else typed
    for candidate, matched in ((complete, "name"), (f"{complete}-partition-0", "topic")):
        if candidate in now.topics.names:
            if matched == "topic" and len(_partitions_of(now, complete)) > 1:
                return _ambiguous(text, _partitions_of(now, complete), "has several partitions")
            return candidate, matched
    names = _names_like(now, typed)
    by_local = [name for name in names if _local(name) in (typed, f"{typed}-partition-0")]
    if [_local(name) for name in by_local] == [typed]:
        return by_local[0], "local name"
    several = _partitions_of(now, by_local[0].removesuffix("-partition-0")) if len(by_local) == 1 else by_local
    if by_local and len(several) <= 1:
        return by_local[0], "local name"
    if by_local:
        return _ambiguous(text, several, "is not one topic")
    with_part = [name for name in names if typed in name]
    if len(with_part) == 1:
        return with_part[0], "part"
    if with_part:
        return _ambiguous(text, with_part, f"occurs in {len(with_part)} names")
    return _unknown(now, text, typed)


def _names_like(now: Slice, part: str) -> Sequence[str]:
    """The names that have the text in them, topic by topic."""
    topics = now.topics.names.topics
    names = [name for chunk in topics.partition_name_chunks() for name in chunk if part in name]
    # A subscription that has all topics need not be searched for each.
    return names if len(now.topics) == topics.partition_count else [name for name in names if name in now.topics.names]


def _partitions_of(now: Slice, topic: str) -> list[str]:
    known = now.state.topics.get(topic)
    prefix = f"{topic}{PARTITION_SUFFIX}"
    names = known.partition_names() if known else (name for name in _names_like(now, prefix) if name.startswith(prefix))
    return [name for name in names if name in now.topics.names]


def _ambiguous(text: str, names: list[str], what: str) -> Rejection:
    shown = ", ".join(names[:CANDIDATES_SHOWN])
    more = f" and {len(names) - CANDIDATES_SHOWN} more" if len(names) > CANDIDATES_SHOWN else ""
    return Rejection("Ambiguous", f"{text!r} {what}: {shown}{more}", "topic", 404)


def _unknown(now: Slice, text: str, typed: str) -> Rejection:
    # Among very many names the nearest one would take minutes to find.
    several = sorted(now.topics.names.numbers.tolist()) if len(now.topics) <= SEARCHED_TOPICS else ()
    locals_ = {_local(name): name for name in map(now.topics.names.topics.partition_name, several)}
    near = get_close_matches(typed.rpartition("/")[2], locals_, n=CANDIDATES_SHOWN, cutoff=0.6)
    hint = f"; did you mean {', '.join(locals_[local] for local in near)}?" if near else ""
    if not now.topics.names:
        hint = ": it has no topics"
    hint += _elsewhere(now, typed)
    return Rejection(
        "NotFound", f"no topic {text!r} in subscription {now.subscription.key!r}{hint}", field="topic", status=404
    )


def _elsewhere(now: Slice, name: str) -> str:
    """A hint about the name: it is a consumer here, or a topic of other subscriptions."""
    if any(consumer.name == name for consumer in now.order):
        first = now.topics.names.topics.partition_name(int(now.topics.names.numbers.min())) if now.topics.names else ""
        example = f", such as {_local(first)}" if first else ""
        return f"; {name} is a consumer, and topics are explained{example}"
    stem = name.partition(PARTITION_SUFFIX)[0]
    others = [
        subscription.key
        for subscription in now.state.subscriptions
        if subscription.key != now.subscription.key
        and len(subscription.topics) <= SEARCHED_TOPICS
        and any(stem in (topic, _local(topic)) for topic in subscription.topics)
    ]
    if not others:
        return ""
    more = f" and {len(others) - CANDIDATES_SHOWN} more" if len(others) > CANDIDATES_SHOWN else ""
    return f"; subscription {', '.join(map(repr, others[:CANDIDATES_SHOWN]))}{more} has it"


def _local(name: str) -> str:
    return name.rpartition("/")[2]


def _explain(now: Slice, name: str, *, consistent_hashing: bool) -> FailoverExplanation | None:
    return explain_choice(
        now.subscription.consumers,
        name,
        partition_index(name),
        consistent_hashing=consistent_hashing,
        behaviour=now.behaviour,
    )


def namespace_of(topic: str) -> str:
    """``tenant/namespace`` of a topic, "" for a name Pulsar refuses."""
    parsed = parse_topic_name(topic)
    return parsed.namespace if isinstance(parsed, TopicName) else ""


def bundle_text(state: ClusterState, namespace: str, bundle_hash: int) -> str:
    """The range text of the bundle that holds a hash; "" where the namespace is unknown or no bundle holds it."""
    seen = state.namespaces.get(namespace)
    if seen is None:
        return ""
    bundle = NamespaceBundles(namespace, seen.boundaries).find(bundle_hash)
    return str(bundle) if isinstance(bundle, BundleRange) else ""
