"""A planned state as values: the plan, the present state where the file describes it, and the goals of each part."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from engine.cluster.keys.state import SharingMode
from engine.cluster.state import ClusterState
from engine.config import BrokerSettings, ReleaseBehaviour
from engine.keyshared.model import Consumer as KeyConsumer

GoalKind = Literal[
    "joins",
    "max_over_mean",
    "max_over_mean_msgs",
    "survive",
    "idle",
    "busiest_msgs",
    "moved",
    "gaps",
    "overlap",
    "fullest_bundle",
]
GOALS: Final[dict[GoalKind, str]] = {
    "joins": "every consumer of a Key_Shared subscription can join",
    "max_over_mean": "the busiest has at most so many times the mean of partitions, slots or topics",
    "max_over_mean_msgs": "the busiest consumer has at most so many times the mean of messages a second",
    "survive": "the two before hold after the loss of so many consumers or brokers, whichever they are",
    "idle": "at most so many consumers or brokers have nothing",
    "busiest_msgs": "no consumer has more messages a second",
    "moved": "at most this part (0..1) of all partitions or slots changes its owner",
    "gaps": "at most so many slots have no consumer",
    "overlap": "at most so many slots are declared by two consumers or more",
    "fullest_bundle": "no bundle has more topics",
}
"""The kinds of goals; ``joins`` is part of every plan."""


@dataclass(frozen=True, slots=True)
class Goal:
    """One goal of a plan. ``allowed`` is the largest value that meets it; ``losses`` is for ``survive`` only."""

    kind: GoalKind
    allowed: float
    line: int
    losses: int = 0
    by_messages: bool = False


@dataclass(frozen=True, slots=True)
class FailoverPlan:
    """A Failover subscription: the planned state has it alone, under ``name``; ``before`` as well, where given."""

    name: str
    state: ClusterState
    before: ClusterState | None
    goals: tuple[Goal, ...]


@dataclass(frozen=True, slots=True)
class KeyTerms:
    """Consumers of a Key_Shared subscription with all that decides who gets a slot."""

    consumers: tuple[KeyConsumer, ...]
    mode: SharingMode
    settings: BrokerSettings
    behaviour: ReleaseBehaviour


@dataclass(frozen=True, slots=True)
class KeyPlan:
    """A Key_Shared subscription; ``keys`` are messages a second of known keys."""

    name: str
    terms: KeyTerms
    before: KeyTerms | None
    keys: dict[str, float]
    goals: tuple[Goal, ...]
    line: int


@dataclass(frozen=True, slots=True)
class NamespacePlan:
    """The bundles of a namespace. ``topics`` are the partitions of the plan's topics in it.

    Without any, ``expected_topics`` is their number: then the expectation over random names counts.
    """

    name: str
    bundles: int
    brokers: int
    topics: tuple[str, ...]
    expected_topics: int
    goals: tuple[Goal, ...]


Part = FailoverPlan | KeyPlan | NamespacePlan


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan that could be read whole. ``source`` is where it came from."""

    source: str
    release: str
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether a goal is met. ``actual`` is None where it could not be computed, and ``reason`` says why.

    ``who`` are the consumers that decide: the busiest, those whose loss is worst, or those that cannot join.
    ``key`` is a key that alone violates a goal by messages, whatever the number of consumers.
    """

    part: str
    goal: Goal
    met: bool
    actual: float | None = None
    who: tuple[str, ...] = ()
    reason: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """All goals of a plan, in its order."""

    plan: Plan
    outcomes: tuple[Outcome, ...] = field(default=())

    @property
    def missed(self) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.outcomes if not outcome.met)
