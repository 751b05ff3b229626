"""One episode: a cluster drawn from a seed, a way of hashing, and a walk of deeds through it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from random import Random

from msgspec import structs

from engine.cluster.commands import Command, TimelineCommand
from engine.cluster.state import ClusterState, Namespace, Subscription
from engine.cluster.tables.topics import Load, Topic
from engine.cluster.timeline import Timeline
from engine.config import BrokerSettings
from engine.failover.model import Consumer
from tests.oracles.hashes import SHAPES, Hashes, Hashing
from tests.soak.deeds import NAMES, RELEASES, Deed, command_of, walk
from tests.soak.narrow import narrow
from tests.soak.session import Session
from tests.soak.tally import DisagreementError, Tally
from tests.soak.thresholds import SMALL, lowered

LENGTH = 60
"""Deeds of one episode."""

BITS = (4, 8, 11, 16, 31)


Request = Command | TimelineCommand


@dataclass(frozen=True)
class Played:
    """The commands that deeds came to, what was found, and where the timeline was then."""

    commands: tuple[Request, ...]
    found: DisagreementError | None
    timeline: Timeline


@dataclass(frozen=True)
class Terms:
    """How an episode runs besides its walk; its text is kept in a journal as the source. ``small``: the thresholds."""

    hashing: Hashing
    small: bool = False

    def __str__(self) -> str:
        return f"soak {self.hashing} {'small' if self.small else 'usual'}"

    @classmethod
    def parse(cls, text: str) -> Terms:
        """What ``str`` of one gave; anything else is a whole hash."""
        words = text.split()
        if len(words) < 3 or words[0] != "soak":
            return cls(Hashing())
        return cls(Hashing.parse(words[1]), words[-1] == "small")

    @contextmanager
    def in_force(self) -> Iterator[Hashes]:
        """The engine under these terms, and the oracle's hashes for them."""
        with narrow(self.hashing), lowered(*([SMALL] if self.small else [])):
            yield self.hashing.hashes()


@dataclass(frozen=True)
class Episode:
    """A seed decides everything."""

    seed: int
    terms: Terms
    state: ClusterState
    deeds: tuple[Deed, ...]

    @classmethod
    def drawn(cls, seed: int, length: int = LENGTH) -> Episode:
        """The episode of a number: most of them with narrowed hashes, a third of them in columns."""
        random = Random(seed)
        shape = random.choice(SHAPES)
        narrowed = Hashing(random.choice(BITS), shape, random.random() < 0.5)
        hashing = narrowed if random.random() < 0.85 else Hashing()
        terms = Terms(hashing, random.random() < 0.5)
        return cls(seed, terms, _opening(random), tuple(walk(random, length)))

    def timeline(self, state: ClusterState | None = None) -> Timeline:
        """The beginning; call it under the terms, since columns keep hashes."""
        opening = hashed_again(self.state if state is None else state)
        return Timeline.start(opening, self.seed, str(self.terms))

    def play(
        self,
        deeds: Sequence[Deed | Request],
        tally: Tally,
        state: ClusterState | None = None,
        *,
        only: str | None = None,
    ) -> Played:
        """The deeds up to the first disagreement, from the episode's beginning or from another state."""
        done: list[Request] = []
        with self.terms.in_force() as hashes:
            session = Session.open(self.timeline(state), hashes, tally, only=only)
            try:
                for deed in deeds:
                    done.append(command_of(deed, session.timeline) if isinstance(deed, Deed) else deed)
                    session.carry_out(done[-1])
                session.close()
            except DisagreementError as found:
                return Played(tuple(done), found, session.timeline)
        return Played(tuple(done), None, session.timeline)


def hashed_again(state: ClusterState) -> ClusterState:
    """The same state, whose columns keep the hashes of these terms; nothing is looked up by the others."""
    names = [name for chunk in state.topics.partition_name_chunks() for name in chunk]
    known = [True] * len(names) if state.loads.known is None else state.loads.known.tolist()
    return structs.replace(
        state,
        topics={topic.name: topic for topic in state.topics.listed()},
        loads={name: state.loads.at(number) for number, name in enumerate(names) if known[number]},
        subscriptions=tuple(
            replace(subscription, topics=tuple(subscription.topics)) for subscription in state.subscriptions
        ),
    )


def _opening(random: Random) -> ClusterState:
    topics = {
        name: Topic(name, random.choice((0, 2, 5, 9)))
        for name in ("persistent://t/n/x", "persistent://t/n/y", "persistent://t/m/w")
        if random.random() < 0.7
    }
    loads = {
        name: Load(
            *(float(random.choice((0, 1, 40, 300))) for _ in range(2)),
            *(random.choice((0.0, 5e4, 9e5)) for _ in range(2)),
        )
        for topic in topics.values()
        for name in topic.partition_names()
        if random.random() < 0.8
    }
    own = tuple(topic for topic in topics if "/t/n/" in topic)
    count = random.randrange(5)
    consumers = tuple(Consumer(at, random.choice(NAMES), random.choice((0, 0, 0, 1))) for at in range(count))
    inner = tuple(
        sorted({random.choice((1, 2**31, 2**30, random.getrandbits(32) or 1)) for _ in range(random.randrange(3))})
    )
    settings = BrokerSettings(
        activeConsumerFailoverConsistentHashing=random.random() < 0.5,
        subscriptionKeySharedUseConsistentHashing=random.random() < 0.6,
        subscriptionKeySharedConsistentHashingReplicaPoints=random.choice((100, 100, 1, 3, 12)),
        subscriptionKeySharedUseClassicPersistentImplementation=random.random() < 0.15,
    )
    return ClusterState(
        release=random.choice(RELEASES),
        settings=settings,
        topics=topics,
        loads=loads,
        subscriptions=(
            Subscription("left", "left", "t/n", own, consumers),
            Subscription("right", "right", "t/n", own[:1], ()),
        ),
        namespaces={
            "t/n": Namespace("t/n", (0, 0x40000000, 0x80000000, 0xC0000000, 0xFFFFFFFF)),
            "t/m": Namespace("t/m", (0, *inner, 0xFFFFFFFF)),
        },
        next_consumer_id=count,
    )
