"""What a recording is: what was done step by step, and the raw answer to each request.

Owns the form of it only. ``folder`` reads it from files, ``scenario`` and ``scenario_steps`` from a ``scenario.json``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.admin.kinds import AnswerKind
from engine.admin.requests import AdminRequest
from engine.config import BrokerSettings
from engine.errors import Problem, Rejection
from tests.lab.balance.records import BalancingTold
from tests.lab.key_shared.steps import KeySharedScenario, KeySharedTold
from tests.lab.producers.steps import ProducersScenario, ProducersTold


@dataclass(frozen=True, slots=True)
class Answer:
    """One request and its answer. ``status`` is None where it is not told; ``answered`` False: it never came.

    ``data`` is plain JSON (b"" without a file). ``broker`` is the recorder's letter for the broker that was asked, and
    ``location`` where it sends the request on.
    """

    request: AdminRequest
    status: int | None
    file: str
    data: bytes
    kind: AnswerKind
    body: object = None
    answered: bool = True
    broker: str = ""
    location: str = ""


@dataclass(frozen=True, slots=True)
class Person:
    """A consumer as the scenario introduces it."""

    name: str
    priority_level: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """What is known after one change. ``connected`` are the scenario's own ids, in connect order; None: not told.

    ``notices``: id -> (topic or partition, is active) in order of arrival. ``delivered``: partition -> id -> messages.
    ``key_shared`` and ``producers`` are set in scenarios about those.
    """

    label: str
    answers: tuple[Answer, ...]
    connected: tuple[str, ...] | None = None
    notices: Mapping[str, tuple[tuple[str, bool], ...]] | None = None
    delivered: Mapping[str, Mapping[str, int]] | None = None
    key_shared: KeySharedTold | None = None
    producers: ProducersTold | None = None


@dataclass(frozen=True, slots=True)
class SplitRecord:
    """A split told outside of the steps, with the lists before and after it."""

    namespace: str
    bundle: str
    algorithm: str
    positions: tuple[int, ...]
    status: int | None
    before: tuple[int, ...]
    after: tuple[int, ...]
    topics_in_bundle: int | None = None


@dataclass(frozen=True, slots=True)
class ToldSplit:
    """A split that the scenario lists beside its steps, with its four files: before, positions, rates, after."""

    bundle: str
    algorithm: str
    positions: tuple[int, ...]
    status: int | None
    files: tuple[tuple[str, bytes], ...]
    names: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Recording:
    """Everything a folder tells. ``named_settings`` are those the scenario sets; the others have their defaults.

    ``refused_settings`` are those it sets to what no broker can have; their defaults count.
    """

    path: str
    has_scenario: bool
    version: str | None
    version_from_load_report: bool
    settings: BrokerSettings
    named_settings: Mapping[str, str]
    refused_settings: tuple[Rejection, ...]
    roster: Mapping[str, Person]
    topic: str
    subscription: str
    subscription_type: str
    partitions: int
    namespace: str
    bundle_count: int | None
    flag_known: bool | None
    flag_in_configuration: tuple[str | None] | None
    steps: tuple[Step, ...]
    changes: tuple[SplitRecord, ...] = ()
    told_splits: tuple[ToldSplit, ...] = ()
    automatic_splits: int = 0
    passed_over: tuple[str, ...] = ()
    untold: tuple[tuple[str, int], ...] = ()
    problems: tuple[Problem, ...] = field(default=())
    strangers: Mapping[str, int] = field(default_factory=dict)
    """Who is connected in some step without standing in the roster, numbered after it, the same in all steps."""
    key_shared: KeySharedScenario | None = None
    producers: ProducersScenario | None = None
    balancing: BalancingTold | None = None
    brokers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The recorder's letter for a broker -> its id and its addresses."""
