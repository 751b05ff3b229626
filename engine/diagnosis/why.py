"""Find the causes why messages do not arrive: all deciders on each subscription, the worst and most specific first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Final

from msgspec import structs

from engine.admin.facts import total
from engine.admin.moments import Moment
from engine.admin.requests import with_placeholders
from engine.diagnosis.absent import as_reported, not_reported
from engine.diagnosis.causes import (
    connections,
    consumers,
    counts,
    draining,
    failover,
    in_hands,
    joining,
    pace,
    reached_limits,
    slots,
    stalled,
)
from engine.diagnosis.causes.in_hands import newcomers_of
from engine.diagnosis.known_bugs import looks_like
from engine.diagnosis.model import (
    Cause,
    Decider,
    Diagnosis,
    Earlier,
    Rank,
    RuledOut,
    Verdict,
    in_order_of_verdict,
    rank_of,
    worst_first,
)
from engine.diagnosis.producing import hot_partitions
from engine.diagnosis.replicating import replication_behind
from engine.diagnosis.seen import (
    EXCLUSIVE,
    FAILOVER,
    KEY_SHARED,
    NOBODY,
    SHARED,
    UNKNOWN_TYPE,
    SubscriptionSeen,
    parent_of,
    subscriptions_seen,
)
from engine.errors import Rejection

LOOKED_BACK: Final = 10
_ALL: Final = frozenset({SHARED, KEY_SHARED, FAILOVER, EXCLUSIVE, NOBODY, UNKNOWN_TYPE})
_SPREAD: Final = frozenset({SHARED, KEY_SHARED})
_KEYS: Final = frozenset({KEY_SHARED})
_ONE: Final = frozenset({FAILOVER, EXCLUSIVE})
_FAILOVER: Final = frozenset({FAILOVER})

DECIDERS: Final = (
    Decider(counts.COUNTS, "the broker reports numbers that cannot be", _ALL, counts.counts, also_quiet=True),
    Decider(consumers.TOPIC_NOT_LOADED, "a broker lost the topic, and no consumer is back", _ALL,
            consumers.topic_not_loaded),
    Decider(connections.LOST_PARTITIONS, "consumers of other partitions are not connected to these", _ALL,
            connections.lost_partitions),
    Decider(consumers.NO_CONSUMERS, "nobody is connected", _ALL, consumers.no_consumers),
    Decider(draining.SEGMENT_WAITS, "a segment waits until one that it descends from is read", _ALL,
            draining.segment_waits),
    Decider(reached_limits.BROKER, "the whole broker has too many unacknowledged messages", _SPREAD,
            reached_limits.broker_limit),
    Decider(reached_limits.SUBSCRIPTION, "the subscription has too many unacknowledged messages", _SPREAD,
            reached_limits.subscription_limit),
    Decider(reached_limits.QUOTA, "the backlog quota keeps producers out", _ALL, reached_limits.backlog_quota,
            also_quiet=True),
    Decider(draining.LOOK_AHEAD, "too much waits for single consumers, so nothing more is read", _KEYS,
            draining.look_ahead),
    Decider(reached_limits.KEY_SHARED_CONSUMER, "a consumer has too many unacknowledged messages", _KEYS,
            reached_limits.consumer_limit, of_some=True),
    Decider(reached_limits.SHARED_CONSUMER, "a consumer has too many unacknowledged messages", frozenset({SHARED}),
            reached_limits.consumer_limit, of_some=True),
    Decider(draining.DRAINING, "slots wait for their former owner", _KEYS, draining.draining, of_some=True),
    Decider(consumers.OWNER_NO_PERMITS, "the owner of keys asks for nothing", _KEYS, consumers.of_key_owner),
    Decider(joining.RECENTLY_JOINED, "consumers that joined wait for older messages", _KEYS, joining.recently_joined),
    Decider(slots.STICKY_GAP, "messages wait for slots of nobody", _KEYS, slots.sticky_gap),
    Decider(consumers.ACTIVE_NOT_CONNECTED, "the active consumer is not connected", _ONE,
            consumers.active_not_connected, also_quiet=True),
    Decider(consumers.ACTIVE_NO_PERMITS, "the active consumer asks for nothing", _ONE, consumers.of_active,
            of_some=True),
    Decider(connections.NEVER_ASKED, "a consumer has never asked this broker for a message", _ALL,
            connections.never_asked),
    Decider(failover.HAND_OVER, "a hand-over is under way", _FAILOVER, failover.hand_over),
    Decider(failover.TAKES_NOTHING, "the active consumer asks and is not served", _FAILOVER,
            failover.active_not_served),
    Decider(consumers.NO_PERMITS, "no consumer asks for anything", _SPREAD, consumers.of_all),
    Decider(stalled.STALLED, "consumers ask and nothing is sent", _SPREAD | {EXCLUSIVE}, stalled.stalled),
    Decider(pace.RATE_LIMITED, "the dispatch rate is limited", _ALL, pace.dispatch_rate),
    Decider(pace.HOT_KEY, "one consumer's keys are more than it can do", _KEYS, pace.hot_key),
    Decider(pace.SLOW_CONSUMER, "consumers acknowledge, and are slow", _ALL, pace.slow_consumer),
    Decider(pace.REDELIVERY, "the same messages go out again and again", _ALL, pace.redelivery, also_quiet=True),
    Decider(in_hands.NOT_ACKNOWLEDGED, "all was sent, and a consumer does not acknowledge", _ALL,
            in_hands.not_acknowledged),
    Decider(slots.NO_SLOTS, "consumers own no slot", _KEYS, slots.no_slots, also_quiet=True),
    Decider(failover.IDLE, "consumers are active for no partition although there are enough", _FAILOVER,
            failover.idle_consumers, also_quiet=True),
    Decider(slots.BATCHES, "batches go by their first key", _KEYS, slots.batches, also_quiet=True),
    Decider(slots.FEW_KEYS, "no key falls to some consumers", _KEYS, slots.few_keys, also_quiet=True),
    Decider(in_hands.NEWCOMER, "others had taken everything before a consumer came", frozenset({SHARED}),
            in_hands.newcomer, also_quiet=True),
    Decider(failover.DIFFERS, "no rule gives the reported active consumers", _FAILOVER, failover.active_differs,
            also_quiet=True),
    Decider(slots.DIFFER, "no rule gives the reported hash ranges", _KEYS, slots.ranges_differ),
    Decider(pace.DELAYED, "messages were sent to be delivered later", _ALL, pace.delayed),
    Decider(reached_limits.PRODUCERS_FULL, "as many producers as the limit allows", _ALL,
            reached_limits.producers_full, also_quiet=True),
    Decider(failover.STANDBY, "consumers stand by", _FAILOVER, failover.standby, also_quiet=True),
    Decider(slots.AUTO_SPLIT_SKEW, "auto-split gives uneven shares", _KEYS, slots.auto_split_skew, also_quiet=True),
    Decider(pace.CATCHING_UP, "the backlog shrinks", _ALL, pace.catching_up),
    Decider(pace.KEEPING_UP, "what waits is on its way", _ALL, pace.keeping_up),
    Decider(pace.DROPPED, "a topic that is not persistent drops messages", _ALL, pace.dropped, also_quiet=True),
    Decider(pace.IDLE, "nothing waits", _ALL, pace.idle, also_quiet=True),
)  # fmt: skip
"""Among causes of one verdict this is their order: the one that explains more comes first."""


def diagnose(seen: SubscriptionSeen) -> Diagnosis:
    """Run all deciders on one subscription. O(deciders x dispatchers x consumers)."""
    causes: list[Cause] = []
    ruled_out: list[RuledOut] = []
    for decider in DECIDERS:
        about = _judged_by(decider, seen)
        if about.type not in decider.types:
            ruled_out.append(RuledOut(decider.id, f"{about.type} subscriptions cannot have it"))
            continue
        judgement = as_reported(decider.decide(about), about)
        if isinstance(judgement, Cause):
            causes.append(judgement)
        else:
            ruled_out.append(RuledOut(decider.id, judgement))
    causes += _if_unexplained(seen, causes)
    causes = [
        structs.replace(without_invented_names(cause), looks_like=looks_like(cause, seen))
        for cause in in_order_of_verdict(causes)
    ]
    first = causes[0] if causes else None
    return Diagnosis(
        seen.namespace,
        seen.name,
        seen.type,
        (first.topic if first is not None else "") or seen.dispatchers[0].topic,
        len(seen.dispatchers),
        seen.moments,
        total(dispatcher.sub.msg_backlog_entries for dispatcher in seen.dispatchers),
        tuple(causes),
        tuple(ruled_out),
        release=seen.release,
    )


def _judged_by(decider: Decider, seen: SubscriptionSeen) -> SubscriptionSeen:
    """The subscription as a decider may see it: with the consumers of a cut list if some of them are enough."""
    return seen.with_some_consumers if decider.of_some else seen


def _if_unexplained(seen: SubscriptionSeen, causes: Sequence[Cause]) -> list[Cause]:
    """Return what is missing, or the numbers of what waits, where no cause says that messages wait or why not."""
    if any(cause.verdict not in (Verdict.BY_DESIGN, Verdict.UNEVEN) or cause.waiting for cause in causes):
        return []
    missing = not_reported(seen) if not causes else None
    found = missing or stalled.unexplained(seen)
    return [found] if found is not None else []


def without_invented_names(cause: Cause) -> Cause:
    """The cause with TOPIC in lines to paste, where no answer says which topic it is about."""
    return structs.replace(cause, fix=with_placeholders(cause.fix))


def diagnose_all(subscriptions: Iterable[SubscriptionSeen]) -> list[Diagnosis]:
    """Diagnose each subscription, the worst first."""
    return worst_first(map(diagnose, subscriptions))


def with_earlier(
    diagnoses: Sequence[Diagnosis],
    moments: Sequence[Moment],
    seen_at: Callable[[int], Iterable[SubscriptionSeen]] | None = None,
) -> list[Diagnosis]:
    """Add the latest harmful cause of an earlier moment to diagnoses without harm; these come before harmless ones.

    At most ``LOOKED_BACK`` moments are examined. ``seen_at`` has the subscriptions up to a moment, counted from 0,
    where the caller knows them. O(dispatchers x moments) for each of them.
    """
    results = list(diagnoses)
    for moment in range(len(moments) - 1, max(0, len(moments) - 1 - LOOKED_BACK), -1):
        open_ones = {
            (diagnosis.namespace, diagnosis.subscription): place
            for place, diagnosis in enumerate(results)
            if diagnosis.earlier is None and not diagnosis.harms
        }
        if not open_ones:
            break
        for seen in seen_at(moment - 1) if seen_at is not None else subscriptions_seen(moments[:moment]):
            place = open_ones.get((seen.namespace, seen.name))
            first = diagnose(seen).first if place is not None else None
            if place is not None and first is not None and first.verdict.harms:
                results[place] = replace(results[place], earlier=Earlier(moment, moments[moment - 1].at_ms, first))
    return sorted(results, key=_by_earlier)


def _by_earlier(diagnosis: Diagnosis) -> tuple[int, int]:
    if diagnosis.earlier is not None:
        return 1, diagnosis.earlier.cause.verdict.rank
    return (0, 0) if diagnosis.harms else (2, 0)


def worst_in(subscriptions: Sequence[SubscriptionSeen], moments: Sequence[Moment]) -> Diagnosis:
    """Return the first of ``with_earlier`` of ``diagnose_all``; there must be one subscription."""
    first = worst(subscriptions)
    if first.harms or len(moments) == 1:
        return first
    return with_earlier(diagnose_all(subscriptions), moments)[0]


def worst(subscriptions: Iterable[SubscriptionSeen]) -> Diagnosis:
    """Return the first of ``diagnose_all``; there must be one.

    A cheap bound of each subscription excludes those that cannot come first, and quiet ones get only the deciders for
    quiet ones.
    """
    waiting = sorted(
        ((_at_worst(seen), place, seen) for place, seen in enumerate(subscriptions)), key=lambda item: item[:2]
    )
    answer: tuple[Rank, int, SubscriptionSeen] | None = None
    for bound, place, seen in waiting:
        if answer is not None and answer[0] < bound:
            break
        rank = _rank(seen)
        if answer is None or (rank, place) < answer[:2]:
            answer = rank, place, seen
    assert answer is not None, "there is a subscription"
    return diagnose(answer[2])


def _rank(seen: SubscriptionSeen) -> Rank:
    """Return the rank of ``diagnose(seen)`` at a lower cost."""
    quiet = not seen.busy
    views = ((decider, _judged_by(decider, seen)) for decider in DECIDERS if decider.also_quiet or not quiet)
    judgements = (as_reported(decider.decide(about), about) for decider, about in views if about.type in decider.types)
    causes = [judgement for judgement in judgements if isinstance(judgement, Cause)]
    causes += _if_unexplained(seen, causes)
    first = next(iter(in_order_of_verdict(causes)), None)
    return rank_of(first, seen.backlog, seen.namespace, seen.name)


def _at_worst(seen: SubscriptionSeen) -> Rank:
    """Return a rank that is at least as bad as that of ``diagnose(seen)``."""
    name = (seen.namespace, seen.name)
    if seen.busy:
        # No cause has more waiting than this.
        most = sum(
            dispatcher.backlog + dispatcher.replay + dispatcher.unread + dispatcher.delayed for dispatcher in seen.busy
        )
        return Verdict.BLOCKS.rank, -max(seen.backlog, most), *name
    return _quiet_at_worst(seen).rank, 0, *name


def _quiet_at_worst(seen: SubscriptionSeen) -> Verdict:
    if any(dispatcher.last.topic.backlog_quota_bytes > 0 for dispatcher in seen.dispatchers):
        return Verdict.BLOCKS
    if seen.type in _ONE and any(
        dispatcher.sub.active_consumer_name != dispatcher.active_name for dispatcher in seen.dispatchers
    ):
        return Verdict.SLOWS
    if any((dispatcher.out or 0) > (dispatcher.came_in or 0) for dispatcher in seen.dispatchers):
        return Verdict.SLOWS
    if seen.type in _KEYS | _FAILOVER or (seen.type == SHARED and any(map(newcomers_of, seen.dispatchers))):
        return Verdict.UNEVEN
    if any(next(counts.impossible(dispatcher), None) for dispatcher in seen.dispatchers):
        return Verdict.UNEVEN
    return Verdict.BY_DESIGN


def why(moments: Sequence[Moment]) -> list[Diagnosis]:
    """Diagnose every subscription in moments in the order of time, the worst first.

    Uneven producers have a diagnosis of their own, and so have subscriptions of which there are no statistics but sums,
    metrics or cursors.
    """
    return worst_first([*map(diagnose, subscriptions_seen(moments)), *without_statistics(moments)])


def without_statistics(moments: Sequence[Moment]) -> list[Diagnosis]:
    """Diagnose uneven producers, and subscriptions that sums, metrics or cursors show, and no statistics."""
    from engine.diagnosis.cursors import diagnosed_cursors
    from engine.diagnosis.metered import diagnosed_metrics
    from engine.diagnosis.sums import diagnosed_sums

    found = [
        *hot_partitions(moments),
        *replication_behind(moments),
        *diagnosed_sums(moments),
        *diagnosed_metrics(moments),
        *diagnosed_cursors(moments),
    ]
    return [replace(row, causes=tuple(map(without_invented_names, row.causes))) for row in found]


def selected(subscriptions: Sequence[SubscriptionSeen], word: str) -> list[SubscriptionSeen] | Rejection:
    """Select subscriptions named ``word``; else those on a topic of that full or short name; else by a consumer's name.

    A subscription selected by a partition's name keeps only that partition. If nothing has the name, the refusal has
    the nearest names. O(dispatchers x consumers).
    """
    named = [subscription for subscription in subscriptions if subscription.name == word]
    if named:
        return named
    on_topic = [kept for subscription in subscriptions if (kept := _on_topic(subscription, word)) is not None]
    if on_topic:
        return on_topic
    consuming = [
        subscription
        for subscription in subscriptions
        if any(
            consumer.name == word for dispatcher in subscription.dispatchers for consumer in dispatcher.sub.consumers
        )
    ]
    if consuming:
        return consuming
    known = dict.fromkeys(
        name
        for subscription in subscriptions
        for name in (
            subscription.name,
            *(topic.rpartition("/")[2] for topic in subscription.topics),
            *_consumers(subscription),
        )
    )
    near = get_close_matches(word, list(known))
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return Rejection("NotFound", f"no subscription, topic or consumer is named {word!r}{hint}", "what")


def _on_topic(seen: SubscriptionSeen, word: str) -> SubscriptionSeen | None:
    def matches(topic: str) -> bool:
        return word in (topic, parent_of(topic), topic.rpartition("/")[2], parent_of(topic).rpartition("/")[2])

    kept = tuple(dispatcher for dispatcher in seen.dispatchers if matches(dispatcher.topic))
    if not kept:
        return None
    return SubscriptionSeen(seen.namespace, seen.name, kept, seen.limits, seen.release, seen.moments, seen.unloaded)


def _consumers(seen: SubscriptionSeen) -> list[str]:
    return [consumer.name for dispatcher in seen.dispatchers for consumer in dispatcher.sub.consumers]
