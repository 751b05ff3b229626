"""Everything that can be shown, a row each, the worst first: what ``0`` shows on the screen, and ``ringside list``.

Verdict, backlog and out/s are what brokers reported; idle consumers and evenness are computed for the state in view.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Annotated, Any, ClassVar, Final

from msgspec import Struct
from msgspec.structs import replace

from engine.admin.facts import NotReported, total
from engine.answer import Column, Kind, about
from engine.cluster.keys.state import KeySubscription
from engine.cluster.owners import dispatch_order
from engine.cluster.scalable.events import ScalableSeen
from engine.cluster.scalable.state import ScalableTopic
from engine.cluster.state import ClusterState, Subscription
from engine.cluster.timeline import Timeline
from engine.compare.verdict import Evenness, evenness, shares
from engine.diagnosis.model import Diagnosis, Verdict
from engine.diagnosis.seen import Dispatcher, SubscriptionSeen, parent_of
from engine.diagnosis.why import diagnose
from engine.names import is_segment
from engine.text import natural_key
from engine.views.reported.trends import Series
from engine.views.reported.view import Subject
from engine.views.timeline import colour_numbers

PRODUCERS: Final = "Producers"
"""The type of a row that is a topic with producers."""
SCALABLE: Final = "Scalable"
"""The type of a row that is a scalable topic, all its subscriptions in one."""

Name = tuple[str, str]
"""Namespace and subscription."""


MOST_SHARES: Final = 40
"""Consumers of which a row has the share: those with the most work."""


class Share(Struct, frozen=True):
    """What one consumer has. ``number`` is the one that gives its letter and its colour on its own screen."""

    number: Annotated[int, about("The consumer by its number: 0 is A.")]
    items: Annotated[int, about("The partitions or slots that it has.")]


class ListedRow(Struct, frozen=True, kw_only=True):
    """A subscription, or a topic with producers. What nobody reported or computed is None."""

    key: Annotated[str, about("What opens it: --subscription takes it.")]
    verdict: Annotated[
        str | None,
        about("What brokers reported means for it, as `why` judges; null where nothing was reported."),
        Column("verdict", Kind.WORD, 1),
    ] = None
    cause: Annotated[
        str, about("The cause that `why` names first; empty without one."), Column("cause", Kind.WORD, 9)
    ] = ""
    what: Annotated[str, about("The sentence of that cause.")] = ""
    cluster: Annotated[
        str, about("Its cluster, where several are listed; else empty."), Column("cluster", Kind.NAME, 1)
    ] = ""
    namespace: Annotated[str, about("Tenant and namespace."), Column("namespace", Kind.NAME, 4)]
    topic: Annotated[str, about("The first topic that it reads, without its namespace."), Column("topic", Kind.NAME, 2)]
    subscription: Annotated[str, about("Its name; empty for producers."), Column("subscription", Kind.NAME, 0)] = ""
    type: Annotated[str, about("The subscription type, or Producers."), Column("type", Kind.WORD, 4)]
    topics: Annotated[int, about("How many topics it reads, without partitions."), Column("topics", Kind.COUNT, 8)] = 1
    consumers: Annotated[
        int | None,
        about("Connected consumers, or producers; null where no answer lists them."),
        Column("consumers", Kind.COUNT, 5),
    ]
    idle: Annotated[
        int | None, about("Consumers that could have work and have none; computed."), Column("idle", Kind.COUNT, 3)
    ] = None
    busiest_over_average: Annotated[
        float | None,
        about("Partitions or slots of the busiest consumer divided by the average; computed."),
        Column("busiest÷avg", Kind.RATIO, 3),
    ] = None
    shares: Annotated[
        tuple[Share, ...],
        about("The partitions or slots of its consumers, those with the most; computed."),
        Column("shares", Kind.BAR, 5),
    ] = ()
    backlog: Annotated[
        int | None,
        about("Entries that are not acknowledged, as reported; null where the answers lack some of them."),
        Column("backlog", Kind.COUNT, 2),
    ] = None
    out_msgs_per_sec: Annotated[
        float | None,
        about("Messages per second to its consumers, as reported; null where the answers lack some of them."),
        Column("out/s", Kind.RATE, 6),
    ] = None
    trend: Annotated[
        Series,
        about("Its backlog at each moment that was read, the newest last; empty for fewer than two of them."),
        Column("trend", Kind.TREND, 6),
    ] = ()


class Listing(Struct, frozen=True):
    """All rows, the worst first, with where they are from."""

    FORMAT: ClassVar[str] = "ringside.list/1"
    source: Annotated[str, about("What was opened.")]
    release: Annotated[str, about("The Pulsar release whose rules are used.")]
    rows: Annotated[tuple[ListedRow, ...], about("Subscriptions, and topics with producers, the worst first.")]
    step: Annotated[
        int, about("Steps of a simulation that consumers and their shares are after; the rest is reported.", 0)
    ] = 0


def of_clusters(listings: Mapping[str, Listing]) -> Listing:
    """The rows of several clusters, by their names, as one list."""
    rows = [replace(row, cluster=name) for name, each in listings.items() for row in each.rows]
    releases = dict.fromkeys(each.release for each in listings.values())
    step = max((each.step for each in listings.values()), default=0)
    return Listing(", ".join(listings), ", ".join(releases), tuple(sorted(rows, key=_rank)), step)


def listing(
    timeline: Timeline,
    others: Sequence[Subject] = (),
    seen: Mapping[Name, SubscriptionSeen] | None = None,
    diagnoses: Iterable[Diagnosis] = (),
    backlogs: Callable[[str], Series] = lambda key: (),
) -> Listing:
    """List what the present state has and ``others``, which brokers reported and the model does not have.

    ``seen`` is what they reported of all, ``diagnoses`` what it means, ``backlogs`` the trend of what has a key.
    O(partitions + slots) once.
    """
    state = timeline.state
    known = seen or {}
    judged = {(diagnosis.namespace, diagnosis.subscription): diagnosis for diagnosis in diagnoses}

    def of(subscription: Subscription | KeySubscription) -> _Reported:
        name = subscription.namespace, subscription.name
        if name not in known:
            return _Reported(None, ())
        whole = known[name]
        topics = set(subscription.topics) if len(whole.topics) > 1 else None
        part = tuple(each for each in whole.dispatchers if topics is None or parent_of(each.topic) in topics)
        if len(part) == len(whole.dispatchers):
            return _Reported(judged.get(name), part)
        # Its other topics have other consumers, and a row of their own.
        return _Reported(diagnose(replace(whole, dispatchers=part)) if part else None, part)

    is_scalable = _test_of_scalable(state)
    of_segments = {
        (each.namespace, each.name): each.key
        for each in others
        if is_scalable(known[each.namespace, each.name].dispatchers)
    }

    def rows_of(subscription: Subscription | KeySubscription) -> Iterator[ListedRow]:
        reported = of(subscription)
        if reported.dispatchers and is_scalable(reported.dispatchers):
            return
        if isinstance(subscription, Subscription):
            yield _row(subscription, evenness(state, subscription), _partitions(timeline, subscription), reported)
        else:
            yield _row(subscription, *_slots(state, subscription), reported)

    rows = [
        *chain.from_iterable(rows_of(each) for each in state.subscriptions),
        *chain.from_iterable(rows_of(each) for each in state.key_subscriptions),
        *(
            _other(each, known[each.namespace, each.name], judged)
            for each in others
            if (each.namespace, each.name) not in of_segments
        ),
        *(
            _producers(each.topic, sum(producer.state != "Closed" for producer in each.producers.producers))
            for each in state.producer_topics
        ),
        *(_scalable(each) for each in state.scalable_topics),
    ]
    rows = [replace(row, trend=backlogs(of_segments.get((row.namespace, row.subscription), row.key))) for row in rows]
    return Listing(timeline.source, state.release, tuple(sorted(rows, key=_rank)), timeline.cursor)


def _partitions(timeline: Timeline, subscription: Subscription) -> tuple[Share, ...]:
    counts, _ = shares(timeline.state, subscription)
    numbers = colour_numbers(timeline, subscription.key)
    order = dispatch_order(subscription.consumers)
    return _largest((numbers.get(each.consumer_id, 0), int(count)) for each, count in zip(order, counts, strict=True))


def _slots(state: ClusterState, subscription: KeySubscription) -> tuple[Evenness, tuple[Share, ...]]:
    from engine.views.keys.moves import keys_evenness
    from engine.views.keys.slice import keys_slice
    from engine.views.keys.view import key_colours

    now = keys_slice(state, subscription)
    numbers, counts = key_colours(subscription), now.slot_counts()
    return keys_evenness(now), _largest((numbers[each], count) for each, count in counts.items() if each in numbers)


def _largest(parts: Iterable[tuple[int, int]]) -> tuple[Share, ...]:
    having = sorted((Share(number, items) for number, items in parts if items), key=lambda share: -share.items)
    return tuple(sorted(having[:MOST_SHARES], key=lambda share: share.number))


class _Reported(Struct, frozen=True):
    """What brokers reported of a row."""

    diagnosis: Diagnosis | None
    dispatchers: tuple[Dispatcher, ...]

    @property
    def members(self) -> dict[str, Any]:
        """The members of a row that are reported."""
        rate = total(each.sub.msg_rate_out_msgs_per_sec for each in self.dispatchers)
        read: dict[str, Any] = (
            {}
            if not self.dispatchers
            else {
                "backlog": total(each.sub.msg_backlog_entries for each in self.dispatchers),
                "out_msgs_per_sec": float(rate) if rate is not None else None,
            }
        )
        if self.diagnosis is None:
            return read
        first = self.diagnosis.first
        if first is None:
            return {**read, "verdict": Verdict.FINE.value}
        return {**read, "verdict": first.verdict.value, "cause": first.id, "what": first.what}

    @property
    def consumers_unknown(self) -> bool:
        """Whether answers show it, and none of them lists its consumers."""
        return bool(self.dispatchers) and all(isinstance(each.sub.consumers, NotReported) for each in self.dispatchers)


def _row(
    subscription: Subscription | KeySubscription, even: Evenness, parts: tuple[Share, ...], reported: _Reported
) -> ListedRow:
    first = next(iter(subscription.topics), "")
    unknown = reported.consumers_unknown and not subscription.consumers
    return ListedRow(
        key=subscription.key,
        namespace=subscription.namespace,
        topic=_local(first),
        topics=len(subscription.topics),
        subscription=subscription.name,
        type="Failover" if isinstance(subscription, Subscription) else "Key_Shared",
        consumers=None if unknown else len(subscription.consumers),
        idle=even.idle if even.items and not unknown else None,
        busiest_over_average=even.max_over_mean if even.owned else None,
        shares=parts,
        **reported.members,
    )


def _other(subject: Subject, seen: SubscriptionSeen, judged: Mapping[Name, Diagnosis]) -> ListedRow:
    reported = _Reported(judged.get((subject.namespace, subject.name)), seen.dispatchers)
    names = {consumer.name for dispatcher in seen.dispatchers for consumer in dispatcher.sub.consumers}
    return ListedRow(
        key=subject.key,
        namespace=subject.namespace,
        topic=_local(seen.topics[0]),
        topics=len(seen.topics),
        subscription=subject.name,
        type=seen.type,
        consumers=None if reported.consumers_unknown else len(names),
        **reported.members,
    )


def _producers(topic: str, producers: int) -> ListedRow:
    parts = topic.removeprefix("persistent://").removeprefix("non-persistent://").split("/")
    return ListedRow(
        key=topic,
        namespace="/".join(parts[:-1]),
        topic=parts[-1],
        type=PRODUCERS,
        consumers=producers,
    )


def _scalable(topic: ScalableTopic) -> ListedRow:
    """A scalable topic by the simulation, which begins with what was printed."""
    from engine.views.scalable.dashboard import simulated_view
    from engine.views.scalable.figures import trouble_of

    view = simulated_view(topic.running)
    trouble = trouble_of(view)
    consumers = [one for row in view.subscriptions for one in row.consumers if one.connected]
    seen = any(isinstance(event, ScalableSeen) for event in topic.happened[:1])
    return ListedRow(
        key=topic.topic,
        verdict=(trouble.verdict if trouble is not None else Verdict.FINE).value if seen else None,
        cause=trouble.cause if trouble is not None else "",
        what=trouble.what if trouble is not None else "",
        namespace=topic.topic.partition("://")[2].rpartition("/")[0],
        topic=topic.topic.rpartition("/")[2],
        subscription=view.subscriptions[0].name if len(view.subscriptions) == 1 else "",
        type=SCALABLE,
        consumers=len(consumers),
        idle=sum(one.idle for one in consumers),
        backlog=sum(row.backlog for row in view.subscriptions) if view.subscriptions else None,
        out_msgs_per_sec=total(segment.msg_rate_out for segment in view.segments),
    )


def _test_of_scalable(state: ClusterState) -> Callable[[Iterable[Dispatcher]], bool]:
    """Return what says whether dispatchers are listed with a scalable topic, whose row is about them.

    What brokers list as topics are its segments, or partitions of before its migration.
    """
    scalable = {each.topic for each in state.scalable_topics}
    former = {
        segment.legacy_topic: each.topic
        for each in state.scalable_topics
        for segment in each.running.layout.segments.values()
        if segment.legacy_topic
    }
    return lambda dispatchers: {former.get(each.topic) or _scalable_of(each.topic) for each in dispatchers} <= scalable


def _scalable_of(topic: str) -> str:
    """The scalable topic of a segment; of other topics the name itself."""
    return f"topic://{topic.removeprefix('segment://').rpartition('/')[0]}" if is_segment(topic) else topic


def _local(topic: str) -> str:
    return topic.rpartition("/")[2]


_UNKNOWN_BACKLOG: Final = 0.5
"""More than none, and less than what is known to wait."""
_RANKS: Final = {verdict.value: verdict.rank for verdict in Verdict}


def _rank(row: ListedRow) -> tuple[object, ...]:
    """Sorts the worst first: by verdict, then by what waits, then by unevenness, then by name.

    A backlog that is not known comes behind those that are, and before none.
    """
    verdict = _RANKS[row.verdict] if row.verdict is not None else math.inf
    uneven = row.busiest_over_average or 0.0
    return (
        verdict, -_UNKNOWN_BACKLOG if row.backlog is None else -row.backlog, -uneven, -(row.idle or 0),
        row.namespace, natural_key(row.subscription), natural_key(row.topic), natural_key(row.key),
    )  # fmt: skip
