"""What the screen "keys" shows of one Key_Shared subscription, as plain values.

Consumers are referred to by their *position* in ``KeysView.consumers``; -1 means nobody.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from engine.answer import about
from engine.cluster.keys.state import SharingMode
from engine.keyshared.explain import KeyExplanation, Rival
from engine.views.failover.model import EventLine, Notice, RingView, TimelineView
from engine.views.keys.path import KeyPath
from engine.views.reported.model import ReportedConsumer, ReportedView


class KeyConsumerRow(Struct, frozen=True):
    """One consumer, in the order of joining (which is that of node indices unless a node was renamed).

    ``reported`` is None where brokers reported nothing of it, or a step of the simulation left that behind.
    """

    consumer_id: Annotated[int, about("Never used twice in a session, except by a client that comes back.", 0)]
    name: Annotated[str, about("Name of the consumer; several can have one.")]
    tag: Annotated[str, about("Short letters that stand for the consumer.")]
    colour: Annotated[int, about("Number of the consumer that decides its colour.", 0)]
    slots: Annotated[int, about("Slots it has by the look-up.", 0)]
    share: Annotated[float, about("Their part of all slots, 0 to 1.", 0, 1)]
    ranges: Annotated[int, about("Pieces of the hash space that it has.", 0)]
    keys: Annotated[int, about("Known keys that it gets.", 0)]
    messages: Annotated[int, about("Messages those keys had so far.", 0)]
    unacked: Annotated[int, about("Messages it holds unacknowledged.", 0)]
    waiting: Annotated[int, about("Messages that wait to be sent to it.", 0)]
    draining: Annotated[int, about("Slots that drain for it, so that others wait.", 0)]
    gained_slots: Annotated[int, about("Slots that the last step gave it.", 0)]
    lost_slots: Annotated[int, about("Slots that the last step took from it.", 0)]
    bystander: Annotated[
        bool, about("Whether it lost slots to one that was connected before, although others joined or left.")
    ]
    points: Annotated[int, about("Points it claims on the ring; 0 without one.", 0)]
    lost_points: Annotated[int, about("Points of those that others serve.", 0)]
    declared: Annotated[str, about("The ranges it declares as text, empty when it declares none.")]
    reported: ReportedConsumer | None = None


class KeysFoot(Struct, frozen=True):
    """The line below the table."""

    consumers: Annotated[int, about("Consumers connected.", 0)]
    slots: Annotated[int, about("Slots that occur.", 0)]
    keys: Annotated[int, about("Known keys.", 0)]
    messages: Annotated[int, about("Messages of the known keys so far.", 0)]
    waiting: Annotated[int, about("Messages that wait to be sent.", 0)]
    unowned_slots: Annotated[int, about("Slots that nobody has.", 0)]
    unowned_keys: Annotated[int, about("Known keys whose slot nobody has.", 0)]
    max_over_mean_slots: Annotated[float, about("Of the consumers' slots.", 0)]
    max_over_mean_keys: Annotated[float, about("Of the consumers' known keys.", 0)]
    max_over_mean_messages: Annotated[float, about("Of the messages of their known keys.", 0)]
    idle_consumers: Annotated[int, about("Consumers without a known key, or without a slot where no key is known.", 0)]


class KeysStatus(Struct, frozen=True):
    """The status line."""

    mode: Annotated[SharingMode, about("How keys are shared; the last one is a technique of clients on top of sticky.")]
    form: Annotated[str, about("Which form of the selector this is, in few words.")]
    rule_text: Annotated[str, about("How a key finds its consumer, in one sentence.")]
    order_rule: Annotated[str, about("What keeps the messages of a key in order while consumers come and go.")]
    client_side: Annotated[bool, about("Whether this is a technique of clients and not a mode of the broker.")]
    points: Annotated[
        int, about("Points of a consumer on the ring, or of a node with consistent sticky ranges; else 0.", 0)
    ]
    release: Annotated[str, about("Pulsar version of the model.")]
    subscription: Annotated[str, about("Key of the shown subscription.")]
    namespace: Annotated[str, about("Namespace of the shown subscription.")]
    subscriptions: Annotated[tuple[str, ...], about("Keys of all subscriptions, in order.")]
    topic: Annotated[str, about("The first topic of the subscription; all have the same consumers.")]
    source: Annotated[str, about("Where the state is from.")]
    step: Annotated[int, about("Steps that are applied; 0 is the state as opened.", 0)]
    steps: Annotated[int, about("Steps of the current branch.", 0)]
    seed: Annotated[int, about("Seed of a made-up state, else 0.", 0)]
    now_ms: Annotated[int, about("Simulated time in milliseconds.", 0)]
    partitions: Annotated[int, about("How many partitions the topic has; 0: it is not partitioned.", 0)] = 0
    partition: Annotated[int, about("The partition that is shown; null for all.", 0, null=-1)] = -1
    drawn_partition: Annotated[
        int,
        about("The partition whose slots are drawn, where all are shown and differ in them; else null.", 0, null=-1),
    ] = -1
    client: Annotated[
        str, about("The client family whose hash takes the partition of a key, empty without partitions.")
    ] = ""
    hashing: Annotated[str, about("The name of that hash.")] = ""


class PartitionRow(Struct, frozen=True):
    """One partition: its known keys with their messages so far, and what is under way."""

    partition: Annotated[int, about("Its index.", 0)]
    keys: Annotated[int, about("Known keys that go there.", 0)]
    messages: Annotated[int, about("Messages of those so far.", 0)]
    unacked: Annotated[int, about("Messages that were sent and not acknowledged.", 0)]
    waiting: Annotated[int, about("Messages that wait.", 0)]
    slots: Annotated[int, about("Slots that occur among its keys.", 0)]
    consumers: Annotated[int, about("Consumers that can get a key of it.", 0)]


class Unreached(Struct, frozen=True):
    """A consumer that never gets a key of some partitions."""

    consumer_id: Annotated[int, about("Its id.", 0)]
    name: Annotated[str, about("Its name.")]
    partitions: Annotated[tuple[int, ...], about("Those partitions.", 0)]


class PartitionsView(Struct, frozen=True):
    """All partitions: whose hash takes them, and what it leaves of the slots."""

    client: Annotated[
        str, about("The client family whose hash takes the partition of a key, empty without partitions.")
    ]
    hashing: Annotated[str, about("The name of that hash.")]
    modulus: Annotated[
        int,
        about("Keys of one partition agree in their hash modulo this number; 1: any slot occurs in any partition.", 1),
    ]
    rows: Annotated[tuple[PartitionRow, ...], about("The partitions.")]
    undecided_keys: Annotated[int, about("Known keys that the client does not count as keys.", 0)]
    unreached: Annotated[tuple[Unreached, ...], about("Consumers that never get a key of some partitions.")]
    sentence: Annotated[str, about("What the hash leaves of the slots; empty where nothing is to be said.")]


class WaitHolder(Struct, frozen=True):
    consumer: Annotated[int, about("Its id; null when it has gone.", 0, key="consumer_id", place=True)]
    unacked: Annotated[int, about("Messages it holds that count.", 0)]


class WaitRow(Struct, frozen=True):
    """One slot whose messages wait: who blocks whom, how many, since when, and what ends it."""

    slot: Annotated[int, about("The slot.", 0)]
    keys: Annotated[tuple[str, ...], about("Keys that wait, oldest first; at most 20.")]
    messages: Annotated[int, about("Messages that wait.", 0)]
    owner: Annotated[int, about("Id of the consumer they will go to; null for nobody.", 0, place=True)]
    reason: Annotated[str, about("Why they wait, in a word or two.")]
    ends_when: Annotated[str, about("What ends the wait.")]
    holders: Annotated[tuple[WaitHolder, ...], about("Who must acknowledge first.")]
    since_ms: Annotated[
        int, about("Simulated time from which the slot drains; null where Pulsar keeps none.", 0, null=-1)
    ]
    blocked_attempts: Annotated[int, about("How often sending was tried in vain.", 0)]
    partition: Annotated[int, about("The partition it waits in; null without partitions.", 0, null=-1)] = -1


class GapRow(Struct, frozen=True):
    """Slots that nobody has."""

    start: Annotated[int, about("First slot.", 0)]
    end: Annotated[int, about("Last slot.", 0)]
    keys: Annotated[tuple[str, ...], about("Known keys in it; at most 20.")]
    waiting: Annotated[int, about("Messages that wait there.", 0)]


LuckWord = Literal[
    "chance", "chance of the points", "names", "join order", "history", "declared", "hot key", "keys", "defect",
    "nothing to judge",
]  # fmt: skip


class LuckView(Struct, frozen=True):
    """Is it luck? The keys of the busiest consumer, and what chance gives on equal shares."""

    keys: Annotated[int, about("Known keys that have a consumer.", 0)]
    observed_max: Annotated[int, about("Keys of the busiest consumer.", 0)]
    expected_max: Annotated[float, about("Keys the busiest one has by chance, on average.", 0)]
    low_max: Annotated[int, about("Keys of the busiest one that only one throw in twenty stays below.", 0)]
    high_max: Annotated[int, about("Keys of the busiest one that only one throw in twenty exceeds.", 0)]
    probability: Annotated[float, about("At most this often chance is as uneven, 0 to 1.", 0, 1)]
    verdict: Annotated[LuckWord, about("What explains how unevenly the keys fall.")]
    sentence: Annotated[str, about("Why, with its numbers.")]
    hot_key: Annotated[str, about("The key with most messages.")]
    hot_share: Annotated[float, about("Its part of all messages, 0 to 1.", 0, 1)]


class KeyRow(Struct, frozen=True):
    """One known key: its text form, slot, owner and traffic, and whether the last step moved it.

    ``partition`` is -1 without partitions.
    """

    text: str
    slot: int
    owner: int
    messages: int
    waiting: int
    moved: bool
    partition: int = -1


class KeyAnswer(Struct, frozen=True):
    """``f`` on a key: the explanation, the rule in a sentence, and what blocks it ("" for nothing).

    ``rivals`` are the other consumers and why they do not get it. ``path`` is the way to its partition, None without.
    """

    text: str
    explanation: KeyExplanation
    sentence: str
    obstacle: str
    rivals: tuple[Rival, ...] = ()
    path: KeyPath | None = None


class ConsumerKeysView(Struct, frozen=True):
    """The reverse: exactly which slots a consumer has, as (start, end, divisor, remainder), and which known keys."""

    consumer_id: int
    name: str
    slots: int
    pieces: tuple[tuple[int, int, int, int], ...]
    keys: tuple[KeyRow, ...]


class StepMoves(Struct, frozen=True):
    """What the last step moved; a bystander lost slots although it was another one that joined or left."""

    slots: Annotated[
        int,
        about(
            "Slots that had an owner before and have another one, or none, now; 0 where the step led to another slot"
            " space, as a change of mode can.",
            0,
        ),
    ]
    least: Annotated[int, about("How many of them had to, since their consumers have fewer now.", 0)]
    keys: Annotated[int, about("Known keys that moved.", 0)]
    bystanders: Annotated[
        tuple[int, ...], about("Ids of consumers that lost slots to others that were connected before.", 0, place=True)
    ]
    sentence: Annotated[str, about("The same in words.")]


class KeysView(Struct, frozen=True, eq=False):
    """One screenful of facts.

    ``ring`` has the slots as its hash space: ``points`` are the last slots of the pieces, ascending, a slot belongs to
    the first one at or after it; ``topic_*`` are the known keys. ``deliveries`` are the last lines of what was sent,
    newest last. ``reported`` is what brokers said of the subscription, if anything. ``key_partitions`` are those of the
    known keys in the order of ``ring``, -1 without; ``partitions`` is None without partitions.
    """

    status: KeysStatus
    consumers: tuple[KeyConsumerRow, ...]
    foot: KeysFoot
    ring: RingView
    waits: tuple[WaitRow, ...]
    gaps: tuple[GapRow, ...]
    luck: LuckView
    moves: StepMoves
    events: tuple[EventLine, ...]
    timeline: TimelineView
    notices: tuple[Notice, ...]
    deliveries: tuple[str, ...]
    key_partitions: tuple[int, ...] = ()
    partitions: PartitionsView | None = None
    reported: ReportedView | None = None
