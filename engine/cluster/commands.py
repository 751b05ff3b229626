"""What a person or a demo script can ask for. ``decide`` answers each with events or a ``Rejection``."""

from __future__ import annotations

from dataclasses import dataclass

from engine.cluster.producers.commands import ProducerCommand


@dataclass(frozen=True, slots=True)
class AddConsumer:
    """A consumer connects to every topic of the subscription.

    ``ranges`` are those of a STICKY policy, where the subscription is Key_Shared and its consumers declare them.
    """

    subscription: str
    name: str
    priority_level: int = 0
    ranges: tuple[tuple[int, int], ...] | None = None


@dataclass(frozen=True, slots=True)
class KillConsumer:
    """A consumer's connection drops."""

    subscription: str
    consumer_id: int


@dataclass(frozen=True, slots=True)
class RenameConsumer:
    """A consumer leaves and connects again under another name (a broker knows no renaming)."""

    subscription: str
    consumer_id: int
    name: str


@dataclass(frozen=True, slots=True)
class SetPriorityLevel:
    """A consumer leaves and connects again with another priority level."""

    subscription: str
    consumer_id: int
    priority_level: int


@dataclass(frozen=True, slots=True)
class SetSetting:
    """A broker setting takes another value; ``text`` is what broker.conf has after the ``=``."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class SetRelease:
    """The cluster runs another Pulsar version."""

    version: str


@dataclass(frozen=True, slots=True)
class AddTopic:
    """A topic is created; ``partitions`` 0 makes it non-partitioned. Subscriptions that accept new topics take it."""

    topic: str
    partitions: int = 0


@dataclass(frozen=True, slots=True)
class RemoveTopic:
    """A topic is deleted with all its partitions."""

    topic: str


@dataclass(frozen=True, slots=True)
class RepartitionTopic:
    """A partitioned topic grows to ``partitions``; Pulsar never shrinks one."""

    topic: str
    partitions: int


@dataclass(frozen=True, slots=True)
class SplitBundle:
    """A split on request: ``bundle`` is a range text, ``LARGEST`` or ``HOT``; ``positions`` are decimal hash values."""

    namespace: str
    bundle: str
    algorithm: str | None = None
    positions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SubscribeKeyShared:
    """A Key_Shared subscription is created on a topic; its mode is what ``ShareKeys`` makes of it."""

    name: str
    topic: str
    allow_out_of_order_delivery: bool = False


@dataclass(frozen=True, slots=True)
class ShareKeys:
    """All consumers of a Key_Shared subscription stop and come back in another mode, one of ``SharingMode``.

    Between the two automatic modes a broker's setting decides, so the broker restarts, and with it all subscriptions.
    ``points`` are those of a node, for consistent sticky ranges.
    """

    subscription: str
    mode: str
    points: int = 0


@dataclass(frozen=True, slots=True)
class SendKeys:
    """Messages of these keys are published, ``times`` over, one after another.

    ``batched``: in one batch each time, not made by key (``BatcherBuilder.KEY_BASED``), so that it goes whole to the
    owner of its first key.
    """

    subscription: str
    keys: tuple[str, ...]
    times: int = 1
    batched: bool = False


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """A consumer (None: each) acknowledges the oldest ``count`` messages it holds (0: all), of one key or of any."""

    subscription: str
    consumer_id: int | None = None
    key: str | None = None
    count: int = 0


@dataclass(frozen=True, slots=True)
class PassTime:
    """Simulated time goes on, in milliseconds."""

    duration_ms: int


Command = (
    AddConsumer
    | KillConsumer
    | RenameConsumer
    | SetPriorityLevel
    | SetSetting
    | SetRelease
    | AddTopic
    | RemoveTopic
    | RepartitionTopic
    | SplitBundle
    | SubscribeKeyShared
    | ShareKeys
    | SendKeys
    | Acknowledge
    | PassTime
    | ProducerCommand
)


@dataclass(frozen=True, slots=True)
class Undo:
    """The cursor one step back."""


@dataclass(frozen=True, slots=True)
class Redo:
    """The cursor one step forward."""


@dataclass(frozen=True, slots=True)
class Home:
    """The state as opened."""


@dataclass(frozen=True, slots=True)
class End:
    """The last step of the branch."""


@dataclass(frozen=True, slots=True)
class GoTo:
    """The state after ``step`` steps of the branch, 0 being the state as opened."""

    step: int


@dataclass(frozen=True, slots=True)
class SwitchBranch:
    """The end of another branch; ``branch`` counts from 1 in the order in which branches were opened."""

    branch: int


TimelineCommand = Undo | Redo | Home | End | GoTo | SwitchBranch
