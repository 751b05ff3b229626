"""What the screen "keys" shows of one Key_Shared subscription, as plain values.

Consumers are referred to by their *position* in ``KeysView.consumers``; -1 means nobody.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.keyshared.explain import KeyExplanation, Rival
from engine.views.failover.model import EventLine, Notice, RingView, TimelineView
from engine.views.keys.path import KeyPath
from engine.views.reported.model import ReportedConsumer, ReportedView


@dataclass(frozen=True, slots=True)
class KeyConsumerRow:
    """One consumer, in the order of joining (which is that of node indices unless a node was renamed).

    ``slots`` are its own by the look-up; ``share`` is their part of all slots (0..1). ``keys`` counts the known keys it
    gets, ``messages`` how many messages those had so far, ``unacked`` what it holds unacknowledged, ``waiting`` the
    messages that wait to be sent to it, ``draining`` the slots that still drain **for** it, so that others wait.
    ``gained_slots`` and ``lost_slots`` are those of the last step; ``bystander`` is true when it lost slots although it
    was another one that joined or left. ``points`` (claimed) and ``lost_points`` are 0 without a ring. ``declared`` is
    the text of its declared ranges, "" when it declares none; ``ranges`` counts its pieces of the hash space.
    ``reported`` is what brokers said of it, None where they said nothing or a step of the simulation left it behind.
    """

    consumer_id: int
    name: str
    tag: str
    colour: int
    slots: int
    share: float
    ranges: int
    keys: int
    messages: int
    unacked: int
    waiting: int
    draining: int
    gained_slots: int
    lost_slots: int
    bystander: bool
    points: int
    lost_points: int
    declared: str
    reported: ReportedConsumer | None = None


@dataclass(frozen=True, slots=True)
class KeysFoot:
    """The line below the table. Ratios are largest divided by mean over the consumers, 0.0 when nothing is to divide.

    ``unowned_slots`` belong to nobody (gaps of sticky ranges); ``unowned_keys`` of the known keys fall there.
    """

    consumers: int
    slots: int
    keys: int
    messages: int
    waiting: int
    unowned_slots: int
    unowned_keys: int
    max_over_mean_slots: float
    max_over_mean_keys: float
    max_over_mean_messages: float
    idle_consumers: int


@dataclass(frozen=True, slots=True)
class KeysStatus:
    """The status line: the mode by its name, how it works in a sentence, and where the state is from.

    ``mode`` is one of auto-split, consistent-auto-split, sticky, consistent-sticky; ``form`` says which form of the
    selector ("16-bit ring, 100 points", "31-bit ring of the classic dispatcher", "ranges halved" ...). ``order_rule``
    is what keeps keys in order (draining hashes, recently joined consumers, none). ``client_side`` is true for
    consistent sticky ranges: a technique of clients, not a mode of the broker. ``namespace`` is the
    subscription's: several can have the same name. ``partitions`` is 0 without any; ``partition`` is the one that is
    shown, -1 for all. ``drawn_partition`` is the one whose slots the ring has where partitions differ in them and all
    are shown, else -1. ``client`` and ``hashing`` take the partition of a key, "" without partitions.
    """

    mode: str
    form: str
    rule_text: str
    order_rule: str
    client_side: bool
    points: int
    release: str
    subscription: str
    namespace: str
    subscriptions: tuple[str, ...]
    topic: str
    source: str
    step: int
    steps: int
    seed: int
    now_ms: int
    partitions: int = 0
    partition: int = -1
    drawn_partition: int = -1
    client: str = ""
    hashing: str = ""


@dataclass(frozen=True, slots=True)
class PartitionRow:
    """One partition: its known keys with their messages so far, and what is under way.

    ``slots`` occur among its keys; ``consumers`` can get any of them.
    """

    partition: int
    keys: int
    messages: int
    unacked: int
    waiting: int
    slots: int
    consumers: int


@dataclass(frozen=True, slots=True)
class Unreached:
    """A consumer that never gets a key of these partitions."""

    consumer_id: int
    name: str
    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PartitionsView:
    """All partitions: whose hash takes them, and what it leaves of the slots.

    ``modulus`` 1: any slot occurs in any partition. ``undecided_keys`` of the known keys are not keys for the client.
    ``sentence`` is "" where nothing is to be said.
    """

    client: str
    hashing: str
    modulus: int
    rows: tuple[PartitionRow, ...]
    undecided_keys: int
    unreached: tuple[Unreached, ...]
    sentence: str


@dataclass(frozen=True, slots=True)
class WaitRow:
    """One slot whose messages wait: who blocks whom, how many, since when, and what ends it.

    ``owner`` is the position of the consumer they will go to, ``holders`` those who must acknowledge first with how
    many messages. ``since_ms`` is -1 where Pulsar keeps no time. ``keys`` are texts, oldest first. ``partition`` is -1
    without partitions.
    """

    slot: int
    keys: tuple[str, ...]
    messages: int
    owner: int
    reason: str
    ends_when: str
    holders: tuple[tuple[int, int], ...]
    since_ms: int
    blocked_attempts: int
    partition: int = -1


@dataclass(frozen=True, slots=True)
class GapRow:
    """Slots ``start`` .. ``end`` that nobody has, and the known keys and waiting messages in them."""

    start: int
    end: int
    keys: tuple[str, ...]
    waiting: int


@dataclass(frozen=True, slots=True)
class LuckView:
    """Is it luck? What is observed, and what chance gives for as many keys over these consumers.

    ``observed_max`` is the busiest consumer's number of known keys; by chance, on equal shares, it is ``expected_max``
    on average and between ``low_max`` and ``high_max`` in nine of ten cases. ``probability`` bounds from above how
    often chance is as uneven. ``verdict`` is a word or two (chance, chance of the points, names, join order, history,
    declared, hot key, keys, defect, nothing to judge), ``sentence`` says why with its numbers. ``hot_key`` is the
    busiest key with its part of all messages (0..1).
    """

    keys: int
    observed_max: int
    expected_max: float
    low_max: int
    high_max: int
    probability: float
    verdict: str
    sentence: str
    hot_key: str
    hot_share: float


@dataclass(frozen=True, slots=True)
class KeyRow:
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


@dataclass(frozen=True, slots=True)
class KeyAnswer:
    """``f`` on a key: the explanation, the rule in a sentence, and what blocks it ("" for nothing).

    ``rivals`` are the other consumers and why they do not get it. ``path`` is the way to its partition, None without.
    """

    text: str
    explanation: KeyExplanation
    sentence: str
    obstacle: str
    steps: tuple[str, ...]
    rivals: tuple[Rival, ...] = ()
    path: KeyPath | None = None


@dataclass(frozen=True, slots=True)
class ConsumerKeysView:
    """The reverse: exactly which slots a consumer has, as (start, end, divisor, remainder), and which known keys."""

    consumer_id: int
    name: str
    slots: int
    pieces: tuple[tuple[int, int, int, int], ...]
    keys: tuple[KeyRow, ...]


@dataclass(frozen=True, slots=True)
class StepMoves:
    """What the last step moved: ``slots`` changed their owner, ``least`` had to, ``bystanders`` lost some besides.

    ``sentence`` says it in words, with the rule of Pulsar's that makes a bystander lose slots where one does.
    """

    slots: int
    least: int
    keys: int
    bystanders: tuple[int, ...]
    sentence: str


@dataclass(frozen=True, eq=False, slots=True)
class KeysView:
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
