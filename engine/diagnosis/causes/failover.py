"""Failover: a hand-over to a new active consumer, an active consumer that is not served, and idle consumers."""

from __future__ import annotations

from collections import Counter, defaultdict
from math import sqrt
from typing import Final

from engine.admin.inference import infer_priority_levels
from engine.config import FLAG
from engine.diagnosis.model import Cause, Judgement, Verdict, natural, worst_of
from engine.diagnosis.recording import two_moments
from engine.diagnosis.seen import FAILOVER, Dispatcher, SubscriptionSeen
from engine.failover.choose import Rule, choose_many
from engine.failover.model import Consumer
from engine.names import partition_index
from engine.text import counted, joined, shell_line

HAND_OVER: Final = "failover_handover"
TAKES_NOTHING: Final = "failover_active_not_served"
IDLE: Final = "failover_idle_consumers"
STANDBY: Final = "failover_standby"
DIFFERS: Final = "failover_active_differs"
DELAY: Final = "activeConsumerFailoverDelayTimeMillis"


def hand_over(seen: SubscriptionSeen) -> Judgement:
    """Decide whether a new active consumer waits until the delay of the hand-over is over.

    It has permits, nothing was sent to it, and the throttling counters do not change. No field says since when a
    consumer is active, so a subscription without progress for longer than the delay has another cause.
    """
    delay_ms = seen.limits.number(DELAY)

    def decide(dispatcher: Dispatcher) -> Judgement:
        problem = _unserved(dispatcher)
        if problem:
            return problem
        if dispatcher.seconds is not None and dispatcher.seconds * 1000 > delay_ms:
            return f"it has not moved for {dispatcher.seconds:.0f} s, and the delay is {delay_ms / 1000:g} s"
        assert dispatcher.active is not None
        usual_ms = seen.limits.defaults.activeConsumerFailoverDelayTimeMillis
        if dispatcher.before is None and (delay_ms <= usual_ms or not dispatcher.active.stands_still):
            return "one moment alone does not say, or the delay is short"
        name = dispatcher.active.name
        return Cause(
            HAND_OVER,
            Verdict.BLOCKS,
            f"{name} took over and is served when the delay of {delay_ms / 1000:g} s is over;"
            f" {counted(dispatcher.backlog, 'message', 'waits', 'wait')}",
            dispatcher.topic,
            blocked=(name,),
            waiting=dispatcher.backlog,
            numbers=(
                ("delay_ms", int(delay_ms)),
                ("backlog", dispatcher.backlog),
                ("permits", dispatcher.active.permits),
            ),
            setting=seen.limits.of_broker(DELAY),
            fix=f"wait; {DELAY} in broker.conf is read when a broker starts",
            fields=("activeConsumerName", "availablePermits", "msgOutCounter", "readPosition"),
        )

    return worst_of(seen, decide)


def active_not_served(seen: SubscriptionSeen) -> Judgement:
    """Decide whether the active consumer has permits, messages wait, and nothing is sent (as in #26164)."""
    delay_ms = seen.limits.number(DELAY)

    def decide(dispatcher: Dispatcher) -> Judgement:
        problem = _unserved(dispatcher)
        if problem:
            return problem
        if dispatcher.seconds is not None and dispatcher.seconds * 1000 <= delay_ms:
            return "a hand-over can take that long"
        assert dispatcher.active is not None
        name = dispatcher.active.name
        sure = dispatcher.before is not None
        still = f" for {dispatcher.seconds:.0f} s" if dispatcher.seconds is not None else ""
        return Cause(
            TAKES_NOTHING,
            Verdict.BLOCKS if sure else Verdict.CANNOT_TELL,
            f"{name} is active and asks for messages, and nothing is sent{still}:"
            f" {counted(dispatcher.backlog, 'message', 'waits', 'wait')}"
            + ("" if sure else "; a second dump, some seconds later, says whether it stays so"),
            dispatcher.topic,
            blocked=(name,),
            waiting=dispatcher.backlog,
            numbers=(("permits", dispatcher.active.permits), ("backlog", dispatcher.backlog)),
            fix=shell_line("pulsar-admin", "topics", "unload", dispatcher.topic) + " starts the dispatcher anew"
            if sure
            else two_moments(dispatcher.topic),
            fields=("activeConsumerName", "availablePermits", "msgOutCounter", "msgBacklog"),
            symptom=TAKES_NOTHING,
        )

    return worst_of(seen, decide)


def _unserved(dispatcher: Dispatcher) -> str:
    """Return why no active consumer with permits waits; "" if one does."""
    active = dispatcher.active
    if active is None:
        return "no active consumer is connected"
    if active.permits <= 0:
        return f"{active.name} has no permits"
    if not dispatcher.unread or dispatcher.sent_all:
        return "everything was sent"
    if active.stands_still is False or (dispatcher.out or 0) > 0:
        return "messages go out"
    if active.stands_still is None and not _has_no_rate(dispatcher):
        return "one moment alone does not say"
    if dispatcher.throttled:
        return "the dispatch rate is limited"
    return ""


def _has_no_rate(dispatcher: Dispatcher) -> bool:
    """Whether a single moment shows a rate of 0, the average of a minute before it."""
    rates = [consumer.facts.msg_rate_out_msgs_per_sec for consumer in dispatcher.consumers]
    return dispatcher.before is None and dispatcher.sub.msg_rate_out_msgs_per_sec == 0 and not any(rates)


def active_differs(seen: SubscriptionSeen) -> Judgement:
    """Decide whether brokers report active consumers that no rule gives, for any priority levels.

    Each list of consumers is judged separately, by the modulo rule and by the ring.
    """
    by_list: defaultdict[tuple[str, ...], dict[tuple[str, int], str]] = defaultdict(dict)
    for dispatcher in seen.dispatchers:
        active = dispatcher.active_name
        if dispatcher.sub.type == FAILOVER and active is not None:
            names = tuple([consumer.name for consumer in dispatcher.sub.consumers])
            by_list[names][dispatcher.topic, partition_index(dispatcher.topic)] = active
    if not by_list:
        return "no answer names an active consumer"
    rules = (Rule.MODULO, Rule.RING, Rule.FIRST_CONNECTED)
    wrong = {
        names: observed
        for names, observed in by_list.items()
        if infer_priority_levels(names, observed, rules).basis == "contradiction"
    }
    if not wrong:
        return "a rule gives every reported active consumer"
    names, observed = max(wrong.items(), key=lambda item: len(item[1]))
    topic, active = next((topic, active) for (topic, _), active in observed.items())
    return Cause(
        DIFFERS,
        Verdict.CANNOT_TELL,
        f"no rule gives the reported active consumers of {counted(len(observed), 'topic')}: {active} of {topic}",
        topic,
        topics=sum(map(len, wrong.values())),
        by=natural(set(observed.values())),
        numbers=(("topics", len(observed)), ("consumers", len(names))),
        setting=seen.limits.of_broker(FLAG),
        fix="take another dump: somebody may have joined or left while this one was taken, or the brokers have"
        " different releases or settings",
        fields=("activeConsumerName", "consumers[].consumerName"),
    )


def idle_consumers(seen: SubscriptionSeen) -> Judgement:
    """Decide whether consumers are idle although there are enough partitions for them.

    With the modulo rule each topic begins with the first name again, so that many topics of one partition have one
    active consumer. On a ring some are idle by chance: with n consumers and p partitions about n * (1 - 1/n)^p.
    """
    active, consumers, partitions = _activity(seen)
    if active.total() < partitions or not partitions:
        return "not every answer names an active consumer"
    idle = [name for name in consumers if name not in active]
    if not idle:
        return "every consumer is active somewhere"
    if _must_be_idle(seen, active, consumers, partitions):
        return "no more consumers are idle than must be"
    others = _with_flag(seen, consumers)
    expected = len(consumers) * (1 - 1 / len(consumers)) ** partitions
    by_chance = len(active) > 1 and len(idle) <= expected + 3 * sqrt(max(expected, 1.0))
    on_ring = by_chance and seen.limits.of_broker(FLAG).value in ("true", None)
    most, count = active.most_common(1)[0]
    return Cause(
        IDLE,
        Verdict.BY_DESIGN if on_ring else Verdict.UNEVEN,
        f"{len(idle)} of {len(consumers)} consumers are active nowhere; {most} is on {count:,} of {partitions:,} topics"
        + (f" (about {expected:.1f} idle ones are chance on a ring)" if on_ring else ""),
        topics=partitions,
        blocked=natural(idle),
        by=natural(active),
        numbers=(
            ("consumers", len(consumers)),
            ("topics", partitions),
            ("idle_consumers", len(idle)),
            ("most_topics", count),
            ("idle_with_flag", len(consumers) - len(others)),
            ("most_topics_with_flag", max(others.values())),
            ("backlog", seen.backlog),
        ),
        setting=seen.limits.of_broker(FLAG),
        fix=_mend(seen, on_ring=on_ring, active=len(others), consumers=len(consumers)),
        fields=("activeConsumerName", "consumers[].consumerName"),
    )


def _mend(seen: SubscriptionSeen, *, on_ring: bool, active: int, consumers: int) -> str:
    if on_ring:
        return "more partitions even it out"
    if any(partition_index(dispatcher.topic) < 0 for dispatcher in seen.dispatchers):
        return "give the topics partitions: without them the release decides, and not a setting"
    if not seen.behaviour.knows_failover_consistent_hashing:
        return f"Pulsar {seen.behaviour.label} does not know {FLAG}; give the topics more partitions"
    return f"{FLAG}=true in broker.conf, read when a broker starts: then {active} of {consumers} are active"


def standby(seen: SubscriptionSeen) -> Judgement:
    """Decide whether consumers are idle because there are more of them than partitions, as Failover intends."""
    active, consumers, partitions = _activity(seen)
    idle = natural(name for name in consumers if name not in active)
    if active.total() < partitions or not partitions:
        return "not every answer names an active consumer"
    if not idle:
        return "every consumer is active somewhere"
    if not _must_be_idle(seen, active, consumers, partitions):
        return "there are partitions enough for more of them"
    return Cause(
        STANDBY,
        Verdict.BY_DESIGN,
        f"{joined(idle)} {'stands' if len(idle) == 1 else 'stand'} by: {counted(len(consumers), 'consumer')},"
        f" {counted(partitions, 'partition')}",
        topics=partitions,
        blocked=idle,
        by=natural(active),
        numbers=(("partitions", partitions), ("consumers", len(consumers)), ("backlog", seen.backlog)),
        fix="more partitions would make more of them active",
        fields=("activeConsumerName", "consumers[].consumerName"),
    )


def _must_be_idle(seen: SubscriptionSeen, active: Counter[str], consumers: list[str], partitions: int) -> bool:
    """Whether there are too few partitions for more consumers, or idle consumers have a lower priority level.

    Levels are inferred from the order of consumers and the active ones.
    """
    if len(consumers) - len(active) <= max(0, len(consumers) - partitions):
        return True
    observed = {
        (item.topic, partition_index(item.topic)): item.active_name
        for item in seen.dispatchers
        if item.active_name is not None
    }
    names = next(item.sub.consumers for item in seen.dispatchers if item.active_name is not None)
    inferred = infer_priority_levels([item.name for item in names], observed)
    return inferred.basis != "contradiction" and inferred.cohort_size == len(active)


def _activity(seen: SubscriptionSeen) -> tuple[Counter[str], list[str], int]:
    """Count the topics of each active consumer; return that with all names and the number of topics and partitions."""
    of_type = [
        dispatcher for dispatcher in seen.dispatchers if dispatcher.sub.type == FAILOVER and dispatcher.sub.consumers
    ]
    active = Counter(dispatcher.active_name for dispatcher in of_type if dispatcher.active_name is not None)
    consumers = dict.fromkeys(consumer.name for dispatcher in of_type for consumer in dispatcher.sub.consumers)
    return active, list(consumers), len(of_type)


def _with_flag(seen: SubscriptionSeen, consumers: list[str]) -> Counter[str]:
    """Count the topics on which each consumer would be active on the ring, with equal priority levels."""
    topics = [
        (dispatcher.topic, partition_index(dispatcher.topic))
        for dispatcher in seen.dispatchers
        if dispatcher.sub.type == FAILOVER
    ]
    members = [Consumer(number, name) for number, name in enumerate(consumers)]
    return Counter(choice.active.name for choice in choose_many(members, topics, consistent_hashing=True))
