"""A planned state as values: the plan, the present state where the file describes it, and the goals of each part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal

from engine.answer import FLAT, about
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
    kind: Annotated[GoalKind, about("What is asked for.", key="goal")]
    allowed: Annotated[
        float, about("The most that is fine: a ratio, a number, messages per second, or a part 0..1 for moved.", 0)
    ]
    line: Annotated[int, about("Its line in the plan.", 1)]
    losses: Annotated[int, about("Of survive: how many are lost at once.", 0, 3)] = 0
    by_messages: Annotated[bool, about("Of survive: the ratio is of messages per second.")] = False


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
    """A plan that could be read whole."""

    source: Annotated[str, about("The plan.")]
    release: Annotated[str, about("Pulsar's release by whose rules it is judged.")]
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    part: Annotated[str, about("Subscription or namespace.")]
    goal: Annotated[Goal, FLAT]
    met: Annotated[bool, about("Whether it is met.")]
    actual: Annotated[
        float | None,
        about("What was found, in the unit of allowed; null where it could not be judged.", 0, key="found"),
    ] = None
    who: Annotated[
        tuple[str, ...],
        about("Consumers that decide: the busiest, those whose loss is worst, those that cannot join."),
    ] = ()
    reason: Annotated[str, about("Why it could not be judged; empty where it could.")] = ""
    key: Annotated[
        str, about("The key that alone breaks the goal, whatever the number of consumers; empty for none.")
    ] = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """A planned state, judged by its goals."""

    FORMAT: ClassVar = "ringside.check/1"

    plan: Annotated[Plan, FLAT]
    outcomes: Annotated[tuple[Outcome, ...], about("Every goal, in the order of the plan.", key="goals")] = ()

    @property
    def met(self) -> Annotated[bool, about("Whether every goal is met.")]:
        return not self.missed

    @property
    def missed(self) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.outcomes if not outcome.met)
