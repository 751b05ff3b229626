"""The questions of the screen "producers" that are answered on demand: a send explained, and merged statistics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

from engine.answer import about
from engine.cluster.commands import plan_settings
from engine.cluster.producers.state import ProducerPlan, ProducerTopic
from engine.cluster.state import behaviour_in, find_producer_topic
from engine.cluster.timeline import Timeline
from engine.errors import Rejection
from engine.memo import Remembered
from engine.routing.clients import (
    JAVA_DEFAULT,
    PYTHON_DEFAULT,
    ROUTING_CLIENTS,
    KeyRouting,
    OtherRoute,
    base64_text,
    key_routing,
    other_routes,
    route_key,
)
from engine.routing.explain import RouteExplanation, explain_key_route, explain_route, explain_send
from engine.routing.growth import client_disagreements, moves_of_clients
from engine.routing.producers.settings import CLIENTS, new_router
from engine.routing.producers.statistics import MergedPublishers, PartitionedPublishers, partitioned_publishers
from engine.routing.routers import PartialRoundRobinRouter, Router
from engine.text import counted
from engine.views.producers.model import MergedStatistics, SendAnswer, StatisticsRow, StatisticsView
from engine.views.producers.words import name_of
from engine.views.timeline import state_before


@dataclass(frozen=True, slots=True)
class ClientMoves:
    """Clients that hash these keys alike."""

    label: Annotated[str, about("The first of them, with its hash where that is not its default.")]
    hashing: Annotated[str, about("The name of their hash.")]
    clients: Annotated[tuple[str, ...], about("The names of all.")]
    moved: Annotated[int, about("Keys that go to another partition.", 0)]
    expected_share: Annotated[float, about("The part of random keys that would.", 0, 1)]


@dataclass(frozen=True, slots=True)
class KeyGrowth:
    """One key. ``java`` and ``python`` are the partitions by the defaults of these clients, before and after."""

    key: Annotated[str, about("Its text.")]
    before: Annotated[
        Mapping[str, int | None],
        about("Its partition now, by the label of the clients that hash alike; null where the key does not decide.", 0),
    ]
    after: Annotated[Mapping[str, int | None], about("Its partition then.", 0)]
    java: tuple[int | None, int | None]
    python: tuple[int | None, int | None]

    @property
    def moves(self) -> Annotated[bool, about("Whether it moves for any client.")]:
        return self.before != self.after

    @property
    def disagrees(
        self,
    ) -> Annotated[
        bool, about("Whether Java and Python put it into different partitions then.", key="clients_disagree")
    ]:
        return self.java[1] != self.python[1]


@dataclass(frozen=True, slots=True)
class GrowthView:
    """A growth to more partitions; equal numbers only compare clients."""

    FORMAT: ClassVar[str] = "ringside.partitions/1"
    before: Annotated[int, about("Partitions now.", 1, key="from")]
    after: Annotated[int, about("Partitions then.", 1, key="to")]
    clients: Annotated[tuple[ClientMoves, ...], about("Clients by their hash.")]
    random: Annotated[tuple[str, ...], about("Clients whose default lets no key decide.")]
    disagreeing: Annotated[int, about("Keys for which Java and Python differ then.", 0)]
    expected_disagreeing: Annotated[float, about("The part of random keys for which they would.", 0, 1)]
    keys: Annotated[tuple[KeyGrowth, ...], about("The keys that were given.")]


def growth_view(keys: Iterable[str | bytes], before: int, after: int) -> GrowthView | Rejection:
    """Each key from each client. Refused: partitions below 1, or fewer than before. Linear in the keys.

    >>> view = growth_view(["k0", "k1"], 4, 6)
    >>> [(row.key, row.java, row.python) for row in view.keys], [row.moved for row in view.clients]
    ([('k0', (1, 5), (3, 5)), ('k1', (2, 0), (1, 1))], [2, 1, 1, 2, 2, 2])
    """
    distinct = tuple(dict.fromkeys(keys))
    moves = moves_of_clients(distinct, before, after)
    if isinstance(moves, Rejection):
        return moves
    disagreements = client_disagreements(distinct, after)
    if isinstance(disagreements, Rejection):
        return disagreements
    clients = tuple(
        ClientMoves(
            label=_label(each.routing),
            hashing=each.routing.hashing,
            clients=tuple(routing.family.name for routing in routings),
            moved=len(each.moved),
            expected_share=each.expected_share,
        )
        for routings, each in moves
    )
    places = [each.places for _, each in moves]
    java = next(each.places for routings, each in moves if JAVA_DEFAULT in routings)
    python = next(each.places for routings, each in moves if PYTHON_DEFAULT in routings)
    return GrowthView(
        before=before,
        after=after,
        clients=clients,
        keys=tuple(
            KeyGrowth(
                key if isinstance(key, str) else base64_text(key),
                {client.label: place[at].left for client, place in zip(clients, places, strict=True)},
                {client.label: place[at].right for client, place in zip(clients, places, strict=True)},
                (java[at].left, java[at].right),
                (python[at].left, python[at].right),
            )
            for at, key in enumerate(distinct)
        ),
        disagreeing=len(disagreements.disagreeing),
        expected_disagreeing=disagreements.expected_share,
        random=tuple(family.name for family in ROUTING_CLIENTS.values() if family.default.raw is None),
    )


def _label(routing: KeyRouting) -> str:
    is_default = routing.hashing == routing.family.default.scheme
    return routing.client if is_default else f"{routing.client}/{routing.hashing}"


@dataclass(frozen=True, slots=True)
class RouteAnswer:
    """Where a message goes."""

    FORMAT: ClassVar[str] = "ringside.route/1"
    partition: Annotated[int, about("The partition.", 0)]
    partitions: Annotated[int, about("How many there are.", 1)]
    client: Annotated[str, about("The client that sends the message.")]
    explanation: Annotated[RouteExplanation, about("Every step.")]
    elsewhere: Annotated[
        tuple[OtherRoute, ...], about("Where all other clients and hashes put the key; empty where no key decided.")
    ]


def route_answer(
    key: str | bytes | None, plan: ProducerPlan, partitions: int, *, now_ms: int = 0, seed: int = 0
) -> RouteAnswer | Rejection:
    """The route of the first message of a new producer; ``seed`` decides what its client draws at random.

    A key of bytes is what ``keyBytes`` sets. Refused: partitions below 1, and what no client would take.

    >>> answer = route_answer("k1", ProducerPlan(), 6)
    >>> answer.explanation.partition, [other.partition for other in answer.elsewhere if other.client == "cpp"]
    (0, [1, 2, 0])
    """
    if partitions < 1:
        message = f"a partitioned topic has at least 1 partition, not {partitions}"
        return Rejection("IllegalArgumentException", message, field="partitions")
    if plan.client in ROUTING_CLIENTS and plan.client not in CLIENTS:
        return _route_by_key(key, plan, partitions)
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
    others = elsewhere(key, router, explanation, partitions)
    return RouteAnswer(explanation.partition, partitions, settings.client.name, explanation, others)


def _route_by_key(key: str | bytes | None, plan: ProducerPlan, partitions: int) -> RouteAnswer | Rejection:
    """The same of a client of which only the hashes are modelled."""
    routing = key_routing(plan.client, plan.hashing)
    if isinstance(routing, Rejection):
        return routing
    name = routing.family.name
    if plan.router == "partial":
        message = f"the {name} client has no partial round robin; it is a router of the Java client"
        return Rejection("IllegalArgumentException", message, field="messageRouter")
    found = route_key(key, routing, partitions)
    if key is None or found.division is None:
        message = f"{found.undecided}; what {name} does with such a message is not modelled"
        return Rejection("NotModelled", message, field="client")
    explanation = explain_key_route(key, found)
    others = other_routes(key, routing, partitions)
    return RouteAnswer(explanation.partition, partitions, name, explanation, others)


def elsewhere(
    key: str | bytes | None, router: Router, explanation: RouteExplanation, partitions: int
) -> tuple[OtherRoute, ...]:
    """Where clients and hashes that did not decide put the key; nothing where no key decided."""
    if explanation.key is None or isinstance(router, PartialRoundRobinRouter):
        return ()
    return other_routes(key, router.keys, partitions)


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
    assert producer.router is not None, "explained"
    others = elsewhere(key, producer.router, explanation.route, producer.partitions)
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
        by_name=_merged(publishers.by_name),
        by_position=_merged(publishers.by_position),
        truth=truth,
        sentence=_sentence(publishers, by_name=by_name),
    )


def _merged(merged: MergedPublishers) -> MergedStatistics:
    entries = tuple(
        StatisticsRow(
            entry.stats.producer_name or "",
            entry.producers,
            entry.stats.msg_rate_in_msgs_per_sec,
            entry.stats.msg_throughput_in_bytes_per_sec,
            entry.stats.average_msg_size_bytes,
        )
        for entry in merged.entries
    )
    return MergedStatistics(entries, len(merged.torn))


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
