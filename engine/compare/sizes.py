"""How many consumers or partitions make a Failover subscription even enough, with the curve around the answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Annotated, Final

import numpy as np
from msgspec import structs

from engine.answer import about
from engine.cluster.owners import columns_of, dispatch_order, in_connect_order, rules_of
from engine.cluster.partitions import traffic
from engine.cluster.state import ClusterState, Subscription
from engine.cluster.tables.loads import LoadTable
from engine.cluster.tables.topics import Load, Topic, TopicTable
from engine.compare.heirs import losses
from engine.compare.names import FAILOVER_RING, RingKind, Work, score_of
from engine.compare.verdict import Goal, evenness
from engine.errors import Rejection
from engine.failover.choose import Rule, cohort
from engine.failover.model import Consumer
from engine.names import partition_name
from engine.routing.producers.model import ProducersState
from engine.routing.producers.rates import flow_on, is_rated, sends, shares_on

CHANCES: Final = 30
"""How many rings of random names are drawn to estimate chance."""
MOST_CONSUMERS: Final = 200
MOST_PARTITIONS: Final = 200_000
"""Partitions of all topics together, in any row."""
ROWS: Final = 24
_NUMBERED: Final = re.compile(r"(?P<stem>.*?)(?P<number>[0-9]{1,9})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Size:
    """One number of consumers or partitions, with its ``max_over_mean``, also the worst after any one loss.

    ``busiest_msgs`` are messages a second of the busiest consumer, ``idle`` consumers have nothing. ``chance_low`` and
    ``chance_high`` hold nine of ten rings of random names; both 0.0 where no ring decides. ``good`` says whether it
    meets the goal.
    """

    number: Annotated[int, about("Consumers, partitions of every topic, bundles, or points of a consumer.", 0)]
    max_over_mean: Annotated[float, about("The busiest consumer or broker divided by the mean.")]
    after_loss: Annotated[float, about("The worst of it after the loss of any one.")]
    busiest_msgs: Annotated[
        float | None,
        about(
            "Messages per second of the busiest consumer or broker; of a Key_Shared subscription those of known keys."
            " Null where statistics lack a rate."
        ),
    ]
    idle: Annotated[int, about("Consumers or brokers without anything.", 0)]
    chance_low: Annotated[float, about("One of twenty rings of random names is below; 0 without a ring.")]
    chance_high: Annotated[float, about("One of twenty is above.")]
    good: Annotated[bool, about("Whether it meets the goal.")]


@dataclass(frozen=True, slots=True)
class FastProducer:
    """The producer that sends most, and to how many partitions at the largest number of partitions that was tried."""

    name: Annotated[str, about("Its name, or # and its number.")]
    msgs_per_sec: Annotated[float, about("Messages a second that it sends.", 0)]
    partitions: Annotated[int, about("To how many partitions, at the largest number that was tried.", 0)]


@dataclass(frozen=True, slots=True)
class Sizing:
    """The rows around ``now``, and the smallest and largest good number, None without one.

    A partition stays with one consumer, so no number of consumers takes anything off ``hottest``.
    """

    now: Annotated[int, about("The present number.", 0)]
    smallest: Annotated[int | None, about("The smallest that meets the goal.")]
    largest: Annotated[int | None, about("The largest of them that was looked at.")]
    rows: tuple[Size, ...]
    hottest: Annotated[str, about("The partition, key or topic with most messages; empty where none flow.")]
    hottest_share: Annotated[float, about("Its share of all messages, 0..1.")]
    fastest: Annotated[
        FastProducer | None,
        about("Of numbers of partitions: the producer that sends most, null where producers have no rates."),
    ] = None
    smallest_on_ring: Annotated[
        int | None,
        about("Of consumers: the smallest that meets the goal with the flag on; null where fewer do without, or none."),
    ] = None


def consumers_needed(
    state: ClusterState, subscription: Subscription, goal: Goal, numbers: range, *, seed: int = 0
) -> Sizing | Rejection:
    """The evenness for several numbers of consumers: fewer of the present names, or more of the same pattern.

    Refused without partitions, and for more than ``MOST_CONSUMERS``.
    """
    columns = columns_of(state, subscription)
    if not len(columns):
        return Rejection("NoTopics", f"{subscription.key} has no partition to share out", "subscription")
    wanted = [number for number in numbers if number > 0] if numbers and numbers[-1] <= MOST_CONSUMERS else []
    if not wanted:
        return Rejection("TooManyConsumers", f"between 1 and {MOST_CONSUMERS} consumers can be compared", "up_to")
    names = [consumer.name for consumer in in_connect_order(subscription.consumers, _cohort(subscription))]
    flow = traffic(columns, state.loads, subscription.loads).msgs_per_sec
    ring = _ring_decides(state, subscription)
    rows = []
    for number in wanted:
        members = tuple(Consumer(at, name) for at, name in enumerate(grown(names, number)))
        chance = (0.0, 0.0)
        if ring:
            weight = flow if goal.by_messages and flow.sum() > 0 else np.ones(len(columns))
            chance = chance_of(number, Work.of_topics(columns.hash, weight), seed)
        rows.append(_size(state, replace(subscription, consumers=members), goal, number, chance))
    return _sizing(state, subscription, len(names), rows)


def partitions_needed(
    state: ClusterState, subscription: Subscription, goal: Goal, numbers: range, *, seed: int = 0
) -> Sizing | Rejection:
    """The evenness for several numbers of partitions per topic.

    Its traffic is spread evenly over them, that of producers with rates as their routers send it.

    Refused without consumers, without topics, and for more than ``MOST_PARTITIONS`` in all.
    """
    if not subscription.consumers:
        return Rejection("NoConsumers", f"nobody consumes {subscription.key}", "subscription")
    topics = list(subscription.topics)
    if not topics:
        return Rejection("NoTopics", f"{subscription.key} has no topic", "subscription")
    fits = bool(numbers) and numbers[-1] * len(topics) <= MOST_PARTITIONS
    wanted = [number for number in numbers if number > 0] if fits else []
    if not wanted:
        return Rejection("TooManyPartitions", f"at most {MOST_PARTITIONS:,} partitions in all can be compared", "up_to")
    rates = _topic_rates(state, subscription)
    producers = {topic.topic: topic.producers for topic in state.producer_topics if is_rated(topic.producers)}
    rows = []
    for number in wanted:
        split: dict[str, Load] = {}
        for name in topics:
            known = producers.get(name)
            flow = np.full(number, rates[name] / number) if known is None else flow_on(known, number)
            split |= {partition_name(name, at): Load(msg_rate_out=rate) for at, rate in enumerate(flow.tolist())}
        table = TopicTable.of([Topic(name, number) for name in topics])
        bigger = structs.replace(state, topics=table, loads=LoadTable.of(table, split), subscriptions=())
        one = replace(subscription, topics=tuple(topics), loads={})
        chance = (0.0, 0.0)
        if _ring_decides(bigger, one):
            columns = columns_of(bigger, one)
            chance = chance_of(len(_cohort(one)), Work.of_topics(columns.hash, np.ones(len(columns))), seed)
        rows.append(_size(bigger, one, goal, number, chance))
    now = max((state.topics[name].partitions for name in topics), default=0)
    fastest = _fastest([producers[name] for name in topics if name in producers], wanted[-1])
    return replace(_sizing(state, subscription, now, rows), fastest=fastest)


def _fastest(topics: Sequence[ProducersState], partitions: int) -> FastProducer | None:
    sending = [(sum(sends(one).values()), one) for topic in topics for one in topic.producers if sends(one)]
    if not sending:
        return None
    msgs_per_sec, producer = max(sending, key=lambda item: item[0])
    name = producer.producer_name or f"#{producer.number}"
    return FastProducer(name, msgs_per_sec, len(shares_on(producer, partitions)))


def grown(names: Sequence[str], number: int) -> list[str]:
    """``number`` names: the first of these, then more that continue the most common stem.

    >>> grown(["billing-0", "billing-1"], 4), grown(["a", "b"], 1), grown([], 2)
    (['billing-0', 'billing-1', 'billing-2', 'billing-3'], ['a'], ['consumer-0', 'consumer-1'])
    """
    result = list(names[:number])
    matches = [match for name in names if (match := _NUMBERED.fullmatch(name))]
    stem = Counter(match["stem"] for match in matches).most_common(1)[0][0] if matches else "consumer-"
    following = max((int(match["number"]) + 1 for match in matches if match["stem"] == stem), default=0)
    while len(result) < number:
        name = f"{stem}{following}"
        following += 1
        if name not in result:
            result.append(name)
    return result


def chance_of(consumers: int, work: Work, seed: int, ring: RingKind = FAILOVER_RING) -> tuple[float, float]:
    """The 5 % and 95 % quantiles of max/mean over rings of random names. Costs ``CHANCES`` rings."""
    if consumers < 1:
        return 0.0, 0.0
    random = Random(f"{seed}/{consumers}")
    drawn = [
        score_of([f"{random.getrandbits(48):012x}" for _ in range(consumers)], work, ring).now for _ in range(CHANCES)
    ]
    low, high = np.quantile(drawn, [0.05, 0.95])
    return float(low), float(high)


def _size(
    state: ClusterState, subscription: Subscription, goal: Goal, number: int, chance: tuple[float, float]
) -> Size:
    resized = structs.replace(state, subscriptions=(subscription,))
    even = evenness(resized, subscription)
    by_messages = goal.by_messages and bool(even.msgs_per_sec)
    ratio = (even.max_over_mean_rate if by_messages else None) or even.max_over_mean
    after = [
        (loss.after.max_over_mean_rate if by_messages else None) or loss.after.max_over_mean
        for loss in losses(resized, subscription)
        if len(subscription.consumers) > 1
    ]
    worst = max(after, default=0.0)
    return meets(Size(number, ratio, worst, even.busiest_msgs_per_sec, even.idle, *chance, good=False), goal)


def meets(size: Size, goal: Goal) -> Size:
    """The row with ``good`` set by the goal."""
    good = size.max_over_mean <= goal.max_over_mean
    if goal.survive and not 0 < size.after_loss <= goal.max_over_mean:
        good = False
    if goal.busiest_msgs and (size.busiest_msgs is None or size.busiest_msgs > goal.busiest_msgs):
        good = False
    return replace(size, good=good)


def sizing_of(now: int, rows: Sequence[Size], hottest: str, share: float) -> Sizing:
    """The rows with the smallest and largest good number."""
    good = [row.number for row in rows if row.good]
    return Sizing(now, min(good, default=None), max(good, default=None), tuple(rows), hottest, share)


def _sizing(state: ClusterState, subscription: Subscription, now: int, rows: list[Size]) -> Sizing:
    columns = columns_of(state, subscription)
    flow = traffic(columns, state.loads, subscription.loads).msgs_per_sec
    total = float(flow.sum())
    hottest = int(flow.argmax()) if total > 0 else -1
    name, share = (columns.names[hottest], float(flow[hottest]) / total) if hottest >= 0 else ("", 0.0)
    return sizing_of(now, rows, name, share)


def _cohort(subscription: Subscription) -> tuple[Consumer, ...]:
    return cohort(dispatch_order(subscription.consumers))


def _ring_decides(state: ClusterState, subscription: Subscription) -> bool:
    return rules_of(state, columns_of(state, subscription)) <= {Rule.RING}


def _topic_rates(state: ClusterState, subscription: Subscription) -> dict[str, float]:
    columns = columns_of(state, subscription)
    flow = traffic(columns, state.loads, subscription.loads).msgs_per_sec
    places = columns.topics.topic_of(columns.numbers)
    sums = np.bincount(places, weights=flow, minlength=len(columns.topics.names))
    return {columns.topics.names[at]: float(sums[at]) for at in np.unique(places).tolist()}
