"""``scenario.json``: what was done step by step, who was connected, and which file answers which request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Literal

import msgspec

from engine.admin.kinds import AnswerKind, recognise
from engine.admin.load_reports import decode_load_report
from engine.admin.requests import AdminRequest, parse_request, refused_settings, settings_of
from engine.admin.text import plain_json
from engine.config import BrokerSettings
from engine.errors import InputError, Problem, Rejection
from engine.verify.report import defaults_of
from tests.lab.balance.records import BalanceRecords, balance_records
from tests.lab.folder import SCENARIO, Folder, shared
from tests.lab.key_shared.steps import (
    KEY_SHARED_FACTS,
    KeySharedScenario,
    KeySharedStep,
    is_key_shared,
    key_shared_scenario,
    key_shared_step,
)
from tests.lab.members import dicts, items, members, seconds, text, whole, wholes
from tests.lab.producers.steps import (
    PRODUCER_FACTS,
    ProducersScenario,
    ProducerStep,
    producer_step,
    producers_scenario,
)

MAX_PARTITIONS: Final = 100_000
"""A limit against typing errors that would fill the memory."""
KEY_SHARED_SETTINGS: Final = (
    "subscriptionKeySharedUseConsistentHashing",
    "subscriptionKeySharedConsistentHashingReplicaPoints",
    "subscriptionKeySharedUseClassicPersistentImplementation",
)
_REFUSED: Final = 400
# What an empty object is, by the request: a broker that owns nothing, or has no topics yet.
_EMPTY: Final = {
    "ownedNamespaces": AnswerKind.OWNED_NAMESPACES,
    "broker-stats-topics": AnswerKind.BROKER_STATS_TOPICS,
}
# Members of steps that hold facts which only scenarios of one kind can explain.
_SPECIAL_FACTS: Final = KEY_SHARED_FACTS | PRODUCER_FACTS


@dataclass(frozen=True, slots=True)
class Answer:
    """One request and its answer. ``status`` is None where it was not recorded; ``answered`` False: it never came.

    ``data`` is plain JSON (b"" without a file). ``broker`` is the recorder's letter for the broker that was asked,
    ``location`` where it redirects to, ``at_s`` when it was recorded.
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
    at_s: float | None = None


@dataclass(frozen=True, slots=True)
class KnownConsumer:
    """A consumer as the scenario introduces it."""

    name: str
    priority_level: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """What is known after one change. ``connected`` are the scenario's own ids in connect order; None: unknown.

    ``notices``: id -> (topic or partition, is active) in order of arrival. ``delivered``: partition -> id -> messages.
    ``key_shared`` and ``producers`` are set in scenarios about those.
    """

    label: str
    answers: tuple[Answer, ...]
    connected: tuple[str, ...] | None = None
    notices: Mapping[str, tuple[tuple[str, bool], ...]] | None = None
    delivered: Mapping[str, Mapping[str, int]] | None = None
    key_shared: KeySharedStep | None = None
    producers: ProducerStep | None = None


@dataclass(frozen=True, slots=True)
class ListedChange:
    """A split in the member ``changes``: between two recordings, with the lists before and after it."""

    namespace: str
    bundle: str
    algorithm: str
    positions: tuple[int, ...]
    status: int | None
    before: tuple[int, ...]
    after: tuple[int, ...]
    topics_in_bundle: int | None = None


@dataclass(frozen=True, slots=True)
class ListedSplit:
    """A split in the member ``splits``. ``files``: ``before``, ``positions``, ``rates``, ``after`` -> file name."""

    bundle: str
    algorithm: str
    positions: tuple[int, ...]
    status: int | None
    files: Mapping[str, str]
    contents: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Recording:
    """Everything a folder says. ``named_settings`` are those the scenario sets; all others have their defaults.

    ``refused_settings`` are those it sets to values that no broker accepts; their defaults count. ``newcomers`` are
    ids that are connected in some step without being in the roster, numbered after it. ``unmodelled``: members of
    steps with facts that nothing compares, and how often they occur. ``brokers``: letter -> id and addresses.
    """

    name: str
    version: str | None
    version_from_load_report: bool
    settings: BrokerSettings
    named_settings: Mapping[str, str]
    refused_settings: tuple[Rejection, ...]
    roster: Mapping[str, KnownConsumer]
    newcomers: Mapping[str, int]
    topic: str
    subscription: str
    subscription_type: str
    partitions: int
    namespace: str
    bundle_count: int | None
    flag_known: bool | None
    flag_in_configuration: tuple[str | None] | None
    steps: tuple[Step, ...]
    changes: tuple[ListedChange, ...]
    listed_splits: tuple[ListedSplit, ...]
    automatic_splits: int
    passed_over: tuple[str, ...]
    unmodelled: tuple[tuple[str, int], ...]
    problems: tuple[Problem, ...]
    key_shared: KeySharedScenario | None = None
    producers: ProducersScenario | None = None
    balance: BalanceRecords | None = None
    brokers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def load_manager(self) -> Literal["modular", "extensible"]:
        """The load manager of its brokers; without the setting the modular one."""
        name = self.named_settings.get("loadManagerClassName", "")
        return "extensible" if "ExtensibleLoadManager" in name else "modular"

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The answers of all steps."""
        return tuple(answer for step in self.steps for answer in step.answers)


@shared
def _plain(data: bytes, name: str) -> tuple[bytes, tuple[Problem, ...]]:
    return plain_json(data, name)


@shared
def _kind(name: str, data: bytes) -> AnswerKind:
    return recognise(name, data) if data else AnswerKind.OTHER


@lru_cache(maxsize=8)
def _decoded_scenario(data: bytes) -> object:
    return msgspec.json.decode(data)


def read_recording(folder: Folder) -> Recording:
    """The recording in a folder. Raises ``InputError`` when its scenario is missing or cannot be read."""
    data, problems = _plain(folder.files.get(SCENARIO, b""), SCENARIO)
    if not data:
        raise InputError(f"{folder.name}: {SCENARIO} is missing or empty")
    try:
        scenario = _decoded_scenario(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise InputError(f"{folder.name}: {SCENARIO} cannot be read: {fault}") from fault
    if not isinstance(scenario, dict):
        raise InputError(f"{folder.name}: {SCENARIO} is not an object")
    return _Reader(folder, scenario, [*folder.problems, *problems]).recording()


class _Reader:
    """Reads one scenario with the files that it names; ``problems`` are what cannot be read."""

    def __init__(self, folder: Folder, scenario: dict[str, Any], problems: list[Problem]) -> None:
        self._folder = folder
        self._scenario = scenario
        self._problems = problems
        self._used = {SCENARIO}

    def recording(self) -> Recording:
        scenario = self._scenario
        steps = self._steps()
        splits = tuple(self._listed_split(raw) for raw in dicts(scenario.get("splits")) if "before" in raw)
        balance = balance_records(scenario, self._folder, self._problems)
        self._used.update(balance.files if balance is not None else ())
        named = scenario.get("broker_settings")
        version, reported = text(scenario.get("pulsar_version")) or None, self._reported_version()
        defaults = defaults_of(version or reported)
        roster = _roster(scenario)
        newcomers = dict.fromkeys(who for step in steps for who in step.connected or () if who not in roster)
        flag_known = scenario.get("flag_known_to_release")
        return Recording(
            name=self._folder.name,
            version=version or reported,
            version_from_load_report=version is None and reported is not None,
            settings=settings_of(named, defaults) or defaults,
            named_settings={name: text(value) for name, value in members(named).items()},
            refused_settings=self._refused(named),
            roster=roster,
            newcomers={who: number for number, who in enumerate(newcomers, len(roster))},
            topic=text(scenario.get("topic")),
            subscription=text(scenario.get("subscription")),
            subscription_type=text(scenario.get("type")),
            partitions=self._partitions(),
            namespace=text(scenario.get("namespace")),
            bundle_count=whole(scenario.get("bundles")),
            flag_known=flag_known if isinstance(flag_known, bool) else None,
            flag_in_configuration=_flag_in_configuration(scenario),
            steps=steps,
            changes=_changes(scenario),
            listed_splits=splits,
            automatic_splits=sum("new_boundaries" in split for split in dicts(scenario.get("splits"))),
            passed_over=tuple(name for name in self._folder.files if name not in self._used),
            unmodelled=_unmodelled(scenario),
            problems=tuple(self._problems),
            key_shared=key_shared_scenario(scenario),
            producers=producers_scenario(scenario),
            balance=balance,
            brokers=_brokers(scenario),
        )

    def _reported_version(self) -> str | None:
        """The release that a load report names."""
        for name, data in self._folder.files.items():
            if b'"brokerVersionString"' in data and _kind(name, data) is AnswerKind.LOAD_REPORT:
                report = decode_load_report(data, name).good
                if report is not None and report.broker_version:
                    return report.broker_version
        return None

    def _refused(self, named: object) -> tuple[Rejection, ...]:
        refused = refused_settings(named)
        self._problems += [
            Problem(SCENARIO, f"$.broker_settings.{one.field}", one.message, "its default is in force here; correct it")
            for one in refused
            if one.field not in KEY_SHARED_SETTINGS
        ]
        return refused

    def _partitions(self) -> int:
        count = whole(self._scenario.get("partitions")) or 0
        if 0 <= count <= MAX_PARTITIONS:
            return count
        reason = f"{count} partitions: from 0 to {MAX_PARTITIONS} are possible here"
        self._problems.append(Problem(SCENARIO, "$.partitions", reason, "notices and deliveries are not compared"))
        return 0

    def _file(self, name: str) -> bytes:
        """A file that the scenario names, as plain JSON: b"" and a problem when it is missing, b"" for metrics."""
        data = self._folder.data(name)
        plain_name = name.removesuffix(".gz")
        if not plain_name.endswith(".json"):
            return b""
        if data is None:
            problem = Problem(SCENARIO, name, "a file that the scenario names is missing", "record it again")
            if problem not in self._problems:
                self._problems.append(problem)
            return b""
        self._used.add(plain_name)
        plain, faults = _plain(data, plain_name)
        self._problems += faults
        return plain

    def _steps(self) -> tuple[Step, ...]:
        """The steps in order; one without a label has its number."""
        steps: list[Step] = []
        about_keys = is_key_shared(self._scenario)
        about_producers = producers_scenario(self._scenario) is not None
        for place, raw in enumerate(items(self._scenario.get("steps"))):
            if not isinstance(raw, dict):
                continue
            connected, notices, delivered = raw.get("connected"), raw.get("notices"), raw.get("delivered")
            steps.append(
                Step(
                    text(raw.get("step", len(steps) + 1)),
                    self._answers(raw, f"$.steps[{place}]"),
                    tuple(map(text, connected)) if isinstance(connected, list) else None,
                    _notices(notices) if isinstance(notices, dict) else None,
                    _delivered(delivered) if isinstance(delivered, dict) and not about_keys else None,
                    key_shared_step(raw) if about_keys else None,
                    producer_step(raw) if about_producers else None,
                )
            )
        return tuple(steps)

    def _answers(self, step: dict[str, Any], where: str) -> tuple[Answer, ...]:
        """The answers of a step, without those about names that no broker has: they are set aside with their place.

        A broker that refused such a name did what it should, and its refusal is kept.
        """
        answers: list[Answer] = []
        for place, raw in enumerate(items(step.get("answers"))):
            if not isinstance(raw, dict):
                continue
            answer = self._answer(raw)
            if answer.request.fault and (answer.status is None or answer.status < _REFUSED):
                at = f"{where}.answers[{place}].request"
                self._problems.append(Problem(SCENARIO, at, answer.request.fault, "what it answered is set aside"))
            else:
                answers.append(answer)
        return tuple(answers)

    def _answer(self, raw: dict[str, Any]) -> Answer:
        name = text(raw.get("file"))
        data = self._file(name) if name else b""
        request = parse_request(text(raw.get("request")))
        kind = _EMPTY.get(request.what, AnswerKind.OTHER) if data.strip() == b"{}" else _kind(name, data)
        return Answer(
            request,
            whole(raw.get("status")),
            name,
            data,
            kind,
            raw.get("body"),
            "no_answer_after_s" not in raw,
            text(raw.get("from")),
            text(raw.get("location")),
            seconds(raw),
        )

    def _listed_split(self, raw: dict[str, Any]) -> ListedSplit:
        files = {part: text(raw[part]) for part in ("before", "positions", "rates", "after") if raw.get(part)}
        return ListedSplit(
            text(raw.get("bundle")),
            text(raw.get("algorithm")),
            wholes(raw.get("positions_given")),
            whole(members(raw.get("answer")).get("status")),
            files,
            {part: self._file(name) for part, name in files.items()},
        )


def _brokers(scenario: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    names = ("id", "serviceUrl", "webServiceUrl")
    brokers = members(scenario.get("brokers")).items()
    return {letter: tuple(text(raw.get(name)) for name in names) for letter, raw in brokers if isinstance(raw, dict)}


def _flag_in_configuration(scenario: dict[str, Any]) -> tuple[str | None] | None:
    """The flag's value in the run-time configuration, which may be null; None where the scenario does not say."""
    if "flag_in_runtime_configuration" not in scenario:
        return None
    value = scenario["flag_in_runtime_configuration"]
    return (None if value is None else text(value),)


def _roster(scenario: dict[str, Any]) -> dict[str, KnownConsumer]:
    """Id -> consumer, in the order in which the scenario introduces them."""
    roster: dict[str, KnownConsumer] = {}
    for place, raw in enumerate(items(scenario.get("names"))):
        roster[str(place)] = KnownConsumer(text(raw))
    for place, raw in enumerate(items(scenario.get("consumers_in_join_order"))):
        if isinstance(raw, dict):
            level = whole(raw.get("priority_level")) or 0
            roster[text(raw.get("id", place))] = KnownConsumer(text(raw.get("name")), level)
        else:
            roster[text(raw)] = KnownConsumer(text(raw))
    for raw in dicts(scenario.get("steps")):
        connected = items(raw.get("connected"))
        if "name" in raw and connected and text(connected[-1]) not in roster:
            level = whole(raw.get("priority_level")) or 0
            roster[text(connected[-1])] = KnownConsumer(text(raw["name"]), level)
    return roster


def _notices(raw: dict[str, Any]) -> dict[str, tuple[tuple[str, bool], ...]]:
    return {
        who: tuple((text(pair[0]), bool(pair[1])) for pair in pairs if isinstance(pair, list) and len(pair) == 2)
        for who, pairs in raw.items()
        if isinstance(pairs, list)
    }


def _delivered(raw: dict[str, Any]) -> dict[str, dict[str, int]] | None:
    """Only the form partition -> consumer -> number of messages."""
    delivered: dict[str, dict[str, int]] = {}
    for partition, counts in raw.items():
        if not isinstance(counts, dict):
            return None
        delivered[partition] = {who: count for who, count in counts.items() if isinstance(count, int)}
    return delivered


def _unmodelled(scenario: dict[str, Any]) -> tuple[tuple[str, int], ...]:
    """Members of steps with facts that nothing compares in a scenario of this kind, and how many steps have them."""
    modelled = KEY_SHARED_FACTS if is_key_shared(scenario) else frozenset[str]()
    modelled |= PRODUCER_FACTS if producers_scenario(scenario) is not None else frozenset[str]()
    counts: dict[str, int] = {}
    for raw in dicts(scenario.get("steps")):
        for name in raw.keys() & _SPECIAL_FACTS - modelled:
            counts[name] = counts.get(name, 0) + 1
    return tuple(sorted(counts.items()))


def _changes(scenario: dict[str, Any]) -> tuple[ListedChange, ...]:
    changes: list[ListedChange] = []
    for raw in dicts(scenario.get("changes")):
        before, after = _boundaries(raw.get("boundaries_before")), _boundaries(raw.get("boundaries_after"))
        if before and after:
            changes.append(
                ListedChange(
                    text(raw.get("namespace")),
                    text(raw.get("bundle")),
                    text(raw.get("algorithm")),
                    wholes(raw.get("positions_given")),
                    whole(raw.get("status")),
                    before,
                    after,
                    whole(raw.get("topics_in_bundle")),
                )
            )
    return tuple(changes)


def _boundaries(raw: object) -> tuple[int, ...]:
    try:
        return tuple(int(boundary, 16) for boundary in raw) if isinstance(raw, list) else ()
    except (TypeError, ValueError):
        return ()
