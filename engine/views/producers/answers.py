"""The questions of the screen "producers" that are answered on demand: a send explained, and merged statistics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from engine.cluster.commands import plan_settings
from engine.cluster.producers.state import ProducerPlan, ProducerTopic
from engine.cluster.state import behaviour_in, find_producer_topic
from engine.cluster.timeline import Timeline
from engine.errors import Rejection
from engine.memo import Remembered
from engine.routing.explain import RouteExplanation, explain_route, explain_send
from engine.routing.keys import (
    HASHING_SCHEMES,
    HashingScheme,
    Message,
    client_disagreements,
    moved_keys_by_scheme,
    partition_of_key,
)
from engine.routing.producers.settings import new_router
from engine.routing.producers.statistics import MergedPublishers, PartitionedPublishers, partitioned_publishers
from engine.text import counted
from engine.views.producers.model import SendAnswer, StatisticsRow, StatisticsView
from engine.views.producers.words import name_of
from engine.views.timeline import state_before

CLIENTS_OF: dict[HashingScheme, str] = {
    "JavaStringHash": "the Java client",
    "Murmur3_32Hash": "the Java client on request",
    "BoostHash": "the Python and C++ clients",
}


@dataclass(frozen=True, slots=True)
class SchemeMoves:
    """One hashing scheme: ``moved`` of the keys go elsewhere, where ``expected_share`` (0..1) of random ones would."""

    hashing: HashingScheme
    clients: str
    moved: int
    expected_share: float


@dataclass(frozen=True, slots=True)
class KeyGrowth:
    """One key: its partition before and after under each scheme, in the order of ``HASHING_SCHEMES``.

    None where a client takes the empty key for none.
    """

    key: str
    before: tuple[int | None, ...]
    after: tuple[int | None, ...]

    @property
    def moves(self) -> bool:
        """Whether it moves for any client."""
        return self.before != self.after

    @property
    def disagrees(self) -> bool:
        """Whether Java's and Python's default put it into different partitions after the growth."""
        return self.after[0] != self.after[-1]


@dataclass(frozen=True, slots=True)
class GrowthView:
    """A growth from ``before`` to ``after`` partitions; equal numbers only compare clients.

    ``disagreeing`` keys go to different partitions from Java and from Python after it, where ``expected_disagreeing``
    (0..1) of independent hashes would.
    """

    before: int
    after: int
    schemes: tuple[SchemeMoves, ...]
    keys: tuple[KeyGrowth, ...]
    disagreeing: int
    expected_disagreeing: float


def growth_view(keys: Iterable[str], before: int, after: int) -> GrowthView | Rejection:
    """Each key under each scheme. Refused: partitions below 1, or fewer than before. Linear in the keys.

    >>> view = growth_view(["k0", "k1"], 4, 6)
    >>> [(row.key, row.before, row.after) for row in view.keys], [row.moved for row in view.schemes]
    ([('k0', (1, 2, 3), (5, 4, 5)), ('k1', (2, 2, 1), (0, 2, 1))], [2, 1, 1])
    """
    distinct = tuple(dict.fromkeys(keys))
    moves_by_scheme = moved_keys_by_scheme(distinct, before, after)
    if isinstance(moves_by_scheme, Rejection):
        return moves_by_scheme
    disagreements = client_disagreements(distinct, after)
    if isinstance(disagreements, Rejection):
        return disagreements
    places = [moves_by_scheme[scheme].places for scheme in HASHING_SCHEMES]
    rows = tuple(
        KeyGrowth(key, tuple(place.left for place in row), tuple(place.right for place in row))
        for key, *row in zip(distinct, *places, strict=True)
    )
    return GrowthView(
        before=before,
        after=after,
        schemes=tuple(
            SchemeMoves(scheme, CLIENTS_OF[scheme], len(moves.moved), moves.expected_share)
            for scheme, moves in moves_by_scheme.items()
        ),
        keys=rows,
        disagreeing=len(disagreements.disagreeing),
        expected_disagreeing=disagreements.expected_share,
    )


@dataclass(frozen=True, slots=True)
class RouteAnswer:
    """``elsewhere``: where the other hashing schemes put the key, None where their clients take it for none."""

    client: str
    partitions: int
    explanation: RouteExplanation
    elsewhere: tuple[tuple[str, int | None], ...]


def route_answer(
    key: str | bytes | None, plan: ProducerPlan, partitions: int, *, now_ms: int = 0, seed: int = 0
) -> RouteAnswer | Rejection:
    """The route of the first message of a new producer; ``seed`` decides what its client draws at random.

    A key of bytes is what ``keyBytes`` sets. Refused: partitions below 1, and what no client would take.

    >>> answer = route_answer("k1", ProducerPlan(), 6)
    >>> answer.explanation.partition, answer.elsewhere
    (0, (('Murmur3_32Hash', 2), ('BoostHash', 1)))
    """
    if partitions < 1:
        message = f"a partitioned topic has at least 1 partition, not {partitions}"
        return Rejection("IllegalArgumentException", message, field="partitions")
    parsed = plan_settings(plan, partitions)
    if isinstance(parsed, Rejection):
        return parsed
    settings, routing = parsed
    router = new_router(routing, settings.client, partitions, f"{seed}/0", now_ms)
    if isinstance(router, Rejection):
        return router
    explanation = explain_route(router, key, partitions, now_ms)
    if isinstance(explanation, Rejection):
        return explanation
    return RouteAnswer(settings.client.name, partitions, explanation, elsewhere(explanation, partitions))


def elsewhere(explanation: RouteExplanation, partitions: int) -> tuple[tuple[str, int | None], ...]:
    """Where the schemes that did not decide put the key; nothing where no key decided."""
    if explanation.key is None:
        return ()
    text = explanation.key.text
    return tuple(
        (scheme, partition_of_key(text, scheme, partitions) if Message(text).has_key(scheme) else None)
        for scheme in HASHING_SCHEMES
        if scheme != explanation.key.hashing
    )


KEYS_LISTED: Final = 20

_statistics: Remembered[StatisticsView] = Remembered()


def send_answer(timeline: Timeline, topic: str, number: int, key: str | None) -> SendAnswer | Rejection:
    """What the next message of a producer with this key, or without one, would do. Refused: no such producer."""
    now = find_producer_topic(timeline.state, topic)
    if now is None:
        return Rejection("ProducersNotFound", f"there are no producers of {topic!r}", "topic")
    explanation = explain_send(now.producers, number, key)
    if isinstance(explanation, Rejection):
        return explanation
    producer = now.producers.producers[number]
    others = elsewhere(explanation.route, producer.partitions)
    return SendAnswer(number, name_of(producer), producer.settings.client.name, key, explanation, others)


def statistics_view(timeline: Timeline, topic: str) -> StatisticsView:
    """The merged statistics both ways; the messages of the whole history count as of one minute.

    Remembered until something changes. O(producer objects), but for sorting.
    """
    now = find_producer_topic(timeline.state, topic)
    assert now is not None, f"there are no producers of {topic!r}"
    settings, behaviour = timeline.state.settings, behaviour_in(timeline.state)

    def computed() -> StatisticsView:
        publishers = partitioned_publishers(now.producers, settings, behaviour=behaviour)
        assert not isinstance(publishers, Rejection), publishers
        return _view(now, publishers, by_name=settings.aggregatePublisherStatsByProducerName)

    return _statistics.get(
        (now.producers,), (settings.aggregatePublisherStatsByProducerName, behaviour.label), computed
    )


def known_keys_view(timeline: Timeline, topic: str) -> GrowthView | None:
    """The busiest known keys under each hash: where they were before the last step and where they are. None: no key."""
    now = find_producer_topic(timeline.state, topic)
    if now is None or not now.keys:
        return None
    earlier = state_before(timeline)
    before = find_producer_topic(earlier, topic) if earlier is not None else None
    busiest = sorted(now.keys, key=lambda key: (-now.keys[key], key))[:KEYS_LISTED]
    growth = growth_view(busiest, before.partitions if before is not None else now.partitions, now.partitions)
    assert not isinstance(growth, Rejection), growth
    return growth


def _view(topic: ProducerTopic, publishers: PartitionedPublishers, *, by_name: bool) -> StatisticsView:
    truth = tuple(
        StatisticsRow(
            publisher.producer_name or "",
            (publisher.number,),
            publisher.msg_rate_in_msgs_per_sec,
            publisher.msg_throughput_in_bytes_per_sec,
            publisher.average_msg_size_bytes,
        )
        for publisher in publishers.truth
    )
    return StatisticsView(
        in_force="by name" if by_name else "by position",
        by_name=_rows(publishers.by_name),
        by_position=_rows(publishers.by_position),
        truth=truth,
        torn_by_name=len(publishers.by_name.torn),
        torn_by_position=len(publishers.by_position.torn),
        sentence=_sentence(publishers, by_name=by_name),
    )


def _rows(merged: MergedPublishers) -> tuple[StatisticsRow, ...]:
    return tuple(
        StatisticsRow(
            entry.stats.producer_name or "",
            entry.producers,
            entry.stats.msg_rate_in_msgs_per_sec,
            entry.stats.msg_throughput_in_bytes_per_sec,
            entry.stats.average_msg_size_bytes,
        )
        for entry in merged.entries
    )


def _sentence(publishers: PartitionedPublishers, *, by_name: bool) -> str:
    if not publishers.truth:
        return "nobody is connected"
    merged = publishers.in_force
    what = "by producer name" if by_name else "by position in each partition's list"
    entries = len(merged.entries)
    merged_text = f"merged {what}: {counted(entries, 'entry')} for {counted(len(publishers.truth), 'producer')}"
    mixtures, torn = len(merged.mixtures), len(merged.torn)
    if not mixtures and not torn:
        return f"{merged_text}, each its own"
    torn_apart = f"{counted(torn, 'producer')} torn over several entries"
    return f"{merged_text}, {mixtures:,} of them mixtures of several producers, {torn_apart}"
