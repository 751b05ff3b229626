"""What the detail screens show, as plain values: a split before it is made, and why a topic goes where it goes.

Rates are messages per second and bytes per second, in plus out; shares are fractions 0..1; hashes are numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.bundles.plan import SplitWarning
from engine.errors import Rejection
from engine.failover.explain import FailoverExplanation
from engine.failover.takeover import Takeover
from engine.views.failover.model import RuleInForce


@dataclass(frozen=True, slots=True)
class SplitPiece:
    """One bundle that a split would leave: ``[lower, upper)`` with what lies in it.

    ``rate_share`` is its part of the parent's messages per second; 0.0 when the parent has none.
    """

    range_text: str
    lower: int
    upper: int
    topics: int
    msgs_per_sec: float
    bytes_per_sec: float
    rate_share: float


@dataclass(frozen=True, slots=True)
class SplitOption:
    """One algorithm's answer for one bundle.

    ``cuts`` are its boundaries (twins included), ``pieces`` what they would leave, empty when nothing would be split.
    ``refusal`` is what a broker with the settings in force answers to the request by name, None when it takes it; an
    algorithm can have both pieces and a refusal. ``status`` is the HTTP status of the request, None for one that is
    never answered, and 204 may come without any change. ``as_proposed`` marks the rule of the first PIP-169 text, which
    no Pulsar has. ``positions`` are those assumed for ``specified_positions_divide``, ``positions_from`` says whence.
    ``admin_line`` is a ``pulsar-admin`` line that makes these very cuts, ``command_text`` the line that makes them in
    the model; both are empty where there is nothing to make.
    """

    algorithm: str
    is_default: bool
    as_proposed: bool
    cuts: tuple[int, ...]
    pieces: tuple[SplitPiece, ...]
    refusal: Rejection | None
    status: int | None
    warnings: tuple[SplitWarning, ...]
    positions: tuple[int, ...]
    positions_from: str
    admin_line: str
    command_text: str

    @property
    def cut_texts(self) -> tuple[str, ...]:
        """The cuts as Pulsar writes boundaries, ``0x%08x``."""
        return tuple(f"0x{cut:08x}" for cut in self.cuts)

    @property
    def largest_rate_share(self) -> float:
        """The share of the busiest piece; 1.0 means that the split parts no traffic."""
        return max((piece.rate_share for piece in self.pieces), default=1.0)


@dataclass(frozen=True, eq=False, slots=True)
class SplitPreviewView:
    """All algorithms side by side for one bundle, and where its topics stand between ``lower`` and ``upper``.

    ``topic_names``, ``topic_hashes`` and ``topic_msgs_per_sec`` run in parallel, ascending by hash: names
    are made on demand, the others are arrays. ``problem`` is set
    (and ``options`` empty) when the bundle cannot be looked at: no such namespace, or no such bundle now.
    """

    namespace: str
    range_text: str
    lower: int
    upper: int
    topics: int
    msgs_per_sec: float
    bytes_per_sec: float
    options: tuple[SplitOption, ...]
    topic_names: Sequence[str]
    topic_hashes: Sequence[int] | NDArray[np.int64]
    topic_msgs_per_sec: Sequence[float] | NDArray[np.float64]
    problem: Rejection | None = None


@dataclass(frozen=True, slots=True)
class TopicExplanation:
    """Why one partition has its active consumer, and which bundle holds it.

    ``why`` is the choice with all its steps (None: nobody is connected), ``other`` the same under the other value of
    ``activeConsumerFailoverConsistentHashing``. ``matched`` says how the given text was understood: "name", "topic"
    (a partitioned topic of one partition), "local name" or "part" (a text that occurs in one name only).
    ``bundle_hash`` is the CRC-32 of the name, by which its bundle is found; ``bundle`` is "" where none holds it.
    ``takeover`` is the hand-over of the last step where that moved the partition to another consumer (``happened``),
    else the one that follows if the active consumer leaves; None where nobody could take over, or the broker restarted.
    """

    topic: str
    matched: str
    subscription: str
    rule: RuleInForce
    why: FailoverExplanation | None
    other: FailoverExplanation | None
    flag_known: bool
    namespace: str
    bundle: str
    bundle_hash: int
    msgs_per_sec: float
    bytes_per_sec: float
    unacked_messages: int
    backlog_entries: int
    takeover: Takeover | None = None
    happened: bool = False

    @property
    def active_consumer(self) -> str:
        """The name of the active consumer, "" for nobody (and for a consumer without a name)."""
        return self.why.active.name if self.why else ""
