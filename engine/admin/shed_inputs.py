"""Read the inputs of shedding from a folder of answers: load reports by time, settings, ownership policies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import structs

from engine.admin.documents import pasted_file
from engine.admin.facts import Snapshot, WrittenLoad
from engine.admin.files import AnswerFile
from engine.admin.folders import FilesRead, read_files
from engine.admin.interruptions import NOTHING_REPORTED, Interruptions
from engine.admin.kinds import AnswerKind, is_scalar, recognise
from engine.admin.load_reports import decode_broker_load
from engine.admin.measured_loads import METRICS, OWNED, TOPICS, MeasuredLoads
from engine.admin.mended_reports import quoted_numbers
from engine.admin.namespaces import decode_owned, living_brokers
from engine.admin.ownership_policies import OwnershipPolicies
from engine.admin.requests import release_text, request_of_path
from engine.admin.text import plain_json, raw_list, raw_object
from engine.admin.topics import decode_broker_stats_topics
from engine.balance.brokers import BrokerLoad
from engine.balance.leadership.policies import ClusterPolicies
from engine.balance.leadership.state import Leader, LeaderState, elected, reports_read
from engine.balance.settings import (
    EXTENSIBLE_CLASS,
    LOAD_SETTING_DEFAULTS,
    MODULAR_CLASS,
    MS_PER_MINUTE,
    LoadSettings,
)
from engine.balance.shedding.strategies import MODULAR_SHEDDERS, TRANSFER
from engine.errors import InputError, Problem, Rejection
from engine.input import MAX_INPUT_BYTES, Intake
from engine.releases import defaults_ever
from engine.text import time_text

NO_LOAD_REPORT: Final = (
    "save GET /admin/v2/broker-stats/load-report of every broker beside these files (ringside record does)"
)
EXTENSIBLE_REPORTS_NOTHING: Final = (
    "these brokers run the extensible load manager, which refuses to give a load report: save"
    " GET /admin/v2/broker-stats/metrics and GET /admin/v2/broker-stats/topics of every broker"
    " below brokers/HOST:PORT/ instead (ringside record does)"
)
_EXTENSIBLE_REFUSAL: Final = b"ExtensibleLoadManagerWrapper.generateLoadReport"
_INTERVAL: Final = "loadBalancerSheddingIntervalMinutes"
_READ_HERE: Final = ("", "load-report", TOPICS, OWNED, "runtime-configuration")
"""Requests whose answers have to be JSON here; others may be a bare number or empty, and are of no use here."""


@dataclass(frozen=True, slots=True)
class ShedInputs:
    """Every load report once, the oldest first; ``settings`` are the brokers' texts by name.

    ``policies`` is None where no answer is about ownership. ``version`` is the release in the reports. ``refused``:
    a broker with the extensible load manager was asked for a report. ``interruptions``: what unloads interrupt.
    """

    written: tuple[WrittenLoad, ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    policies: ClusterPolicies | None = None
    version: str | None = None
    problems: tuple[Problem, ...] = ()
    refused: bool = False
    interruptions: Interruptions = field(default=NOTHING_REPORTED, compare=False, repr=False)

    @property
    def loads(self) -> tuple[BrokerLoad, ...]:
        """The last report of each broker, in the order of their first ones."""
        last: dict[str, BrokerLoad] = {}
        for written in self.written:
            last[written.load.broker] = written.load
        return tuple(last.values())

    @property
    def lacking(self) -> Mapping[str, frozenset[str]]:
        """What the last report of a broker lacks, by broker, of those that lack something."""
        last = {written.load.broker: written.lacks for written in self.written}
        return {broker: lacks for broker, lacks in last.items() if lacks}

    @property
    def is_series(self) -> bool:
        """Whether a broker has more than one report, so that averages can be computed."""
        return len(self.written) > len(self.loads)

    @property
    def from_metrics(self) -> bool:
        """Whether a broker did not report its load, which was read from its metrics."""
        return any(load.load_average is not None for load in self.loads)

    @property
    def is_extensible(self) -> bool:
        """Whether the brokers run the extensible load manager, by their settings or their reports."""
        named = self.settings.get("loadManagerClassName", "")
        classes = {load.load_manager for load in self.loads}
        return named == EXTENSIBLE_CLASS or (not named and classes == {EXTENSIBLE_CLASS})

    def settings_over(self, defaults: LoadSettings) -> tuple[LoadSettings, tuple[Problem, ...]]:
        """Return these settings over the defaults of a release. A value that no broker starts with is a problem."""
        settings, problems = defaults, list[Problem]()
        for name, text in self.settings.items():
            if name in LOAD_SETTING_DEFAULTS:
                changed = settings.with_setting(name, text)
                if isinstance(changed, Rejection):
                    problems.append(Problem("settings", name, changed.message, "the default is taken for it"))
                elif name == _INTERVAL and changed.loadBalancerSheddingIntervalMinutes < 1:
                    reason = f"{text} minutes are not a time between two cycles"
                    problems.append(Problem("settings", name, reason, "the default is taken for it"))
                else:
                    settings = changed
        default = defaults.loadBalancerLoadSheddingStrategy
        return settings, (*problems, *self._of_another_manager(settings.loadBalancerLoadSheddingStrategy, default))

    def _of_another_manager(self, shedder: str, default: str) -> Iterable[Problem]:
        """Yield a load manager without a forecast, and a shedder that the load manager in force does not take."""
        manager = self.settings.get("loadManagerClassName", "")
        if manager and manager not in (MODULAR_CLASS, EXTENSIBLE_CLASS):
            reason = f"{manager.rpartition('.')[2]} is neither the modular nor the extensible load manager"
            yield Problem("settings", "loadManagerClassName", reason, "the forecast is that of the modular one")
        if "loadBalancerLoadSheddingStrategy" not in self.settings or (shedder == TRANSFER) == self.is_extensible:
            return
        usual = {default} if self.version is not None else defaults_ever("loadBalancerLoadSheddingStrategy")
        if self.is_extensible and shedder in usual:
            return  # nobody chose it: brokers print every setting, and TransferShedder sheds all the same
        if shedder == TRANSFER:
            advice = "the default of the release is taken for the modular load manager, which does not have it"
        elif shedder in MODULAR_SHEDDERS:
            advice = "the extensible load manager sheds by TransferShedder instead"
        else:
            return
        place = "loadBalancerLoadSheddingStrategy"
        yield Problem("settings", place, f"{shedder} is a shedder of the other load manager", advice)

    def leader_state(self, leader: Leader) -> LeaderState | None:
        """Return the memory of the modular leader after these reports; None with only one report of each broker.

        A broker whose first report is later than others' does not count as new: reports do not say when it joined.
        """
        if not self.is_series:
            return None
        state, current = elected(leader), dict[str, BrokerLoad]()
        for written in self.written:
            current[written.load.broker] = written.load
            state = reports_read(leader, state, tuple(current.values()))
        return state


def read_shed_inputs(path: str | Path, limit_bytes: int = MAX_INPUT_BYTES) -> ShedInputs:
    """Read the inputs of shedding from a folder or a file. Raises ``InputError`` without a load report.

    A bundle in the last reports of two brokers belongs to the newer one. Repeated reports are left out.
    """
    read = read_files(Path(path), Intake(limit_bytes))
    inputs = shed_inputs_of_answers(read.files, read.problems, limit_bytes=limit_bytes)
    if not inputs.written:
        why = without_reports(inputs.settings, refused=inputs.refused)
        raise InputError(f"{path}: no answer has the load of a broker; {why}", inputs.problems)
    return inputs


def without_reports(settings: Mapping[str, str], *, refused: bool = False) -> str:
    """Say what to save where there is no load report, or that brokers with these settings give none."""
    is_extensible = refused or settings.get("loadManagerClassName") == EXTENSIBLE_CLASS
    return EXTENSIBLE_REPORTS_NOTHING if is_extensible else NO_LOAD_REPORT


def shed_inputs_of_answers(
    files: Iterable[AnswerFile], problems: Iterable[Problem] = (), *, limit_bytes: int = MAX_INPUT_BYTES
) -> ShedInputs:
    """The same for answers that are read already, in the order of the files; ``written`` is empty without a report.

    ``problems``: those of the reading.
    """
    from engine.admin.moments import files_of_last_moment

    collector, answers = _Collector(list(problems)), tuple(files)
    for file in answers:
        collector.take(file)
    measured = collector.measured.written(collector.written)
    collector.written += measured.good
    collector.problems += measured.problems
    collector.problems += series_problems(collector.written, report_interval_ms(collector.settings))
    reports = sorted((report for _, report in collector.written), key=lambda written: written.updated_at_ms)
    reports = _of_living_brokers(reports, collector.alive, collector.problems)
    written = tuple(_single_owners(list(dict.fromkeys(reports)), collector.problems))
    collector.problems += collector.ownership.problems
    versions = [report.load.version for report in written if report.load.version]
    return ShedInputs(
        written,
        collector.settings,
        collector.ownership.gathered,
        versions[-1] if versions else collector.version,
        tuple(collector.problems),
        collector.refused,
        Interruptions(partial(_snapshot_of, files_of_last_moment(answers), limit_bytes)),
    )


def _snapshot_of(files: tuple[AnswerFile, ...], limit_bytes: int) -> Snapshot | None:
    """The snapshot of the same answers, for their topics; None where none of them is understood."""
    from engine.admin.snapshot import AnswerCollector

    collector = AnswerCollector(limit_bytes)
    collector.add(FilesRead(files, (), ()))
    return collector.snapshot("") if collector.understood else None


def shed_inputs_of(snapshots: Iterable[Snapshot]) -> ShedInputs | None:
    """Return the inputs of shedding in snapshots, in the order of time; None without a load report.

    The policies are those of the last moment that has any.
    """
    written: list[tuple[str, WrittenLoad]] = []
    settings: dict[str, str] = {}
    problems: list[Problem] = []
    version = policies = living = last = None
    for snapshot in snapshots:
        last = snapshot
        written += snapshot.written_loads
        settings.update(snapshot.configuration)
        version = snapshot.version or version
        policies = snapshot.ownership or policies
        living = snapshot.living or living
    if not written:
        return None
    problems += series_problems(written, report_interval_ms(settings))
    reports = sorted((report for _, report in written), key=lambda report: report.updated_at_ms)
    reports = _of_living_brokers(reports, living, problems)
    single = tuple(_single_owners(list(dict.fromkeys(reports)), problems))
    interruptions = Interruptions(lambda: last)
    return ShedInputs(single, settings, policies, version, tuple(problems), interruptions=interruptions)


def report_interval_ms(settings: Mapping[str, str]) -> int:
    """How long a broker waits at most before it writes a report, by its settings."""
    name = "loadBalancerReportUpdateMaxIntervalMinutes"
    changed = LoadSettings().with_setting(name, settings.get(name, "15"))
    minutes = 15 if isinstance(changed, Rejection) else changed.loadBalancerReportUpdateMaxIntervalMinutes
    return minutes * MS_PER_MINUTE


@dataclass(slots=True)
class _Collector:
    problems: list[Problem]
    written: list[tuple[str, WrittenLoad]] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    ownership: OwnershipPolicies = field(default_factory=OwnershipPolicies)
    alive: tuple[str, frozenset[str]] | None = None
    refused: bool = False
    measured: MeasuredLoads = field(default_factory=MeasuredLoads)
    version: str | None = None

    def take(self, file: AnswerFile) -> None:
        if self.ownership.take(file.name, file.data):
            return
        request = request_of_path(file.name)
        what = request.what if request is not None else ""
        if what == "version":
            self.version = release_text(file.data) or self.version
            return
        data, problems = plain_json(file.data, file.name)
        if what == METRICS:
            self._take_metrics(file.name, data)
            return
        data = quoted_numbers(data)
        kind = recognise(file.name, data) if data else AnswerKind.OTHER
        if file.name.rpartition("/")[2].startswith("scenario."):
            self._take_scenario(_object(data))
        elif kind is AnswerKind.LOAD_REPORT and b'"lastStats"' in data:
            decoded = decode_broker_load(data, file.name)
            self.problems += (*problems, *decoded.problems)
            if decoded.good is not None:
                self.written.append((file.name, decoded.good))
        elif (listed := living_brokers(file.name, data)) is not None:
            self.alive = (file.name, listed)
        elif kind is AnswerKind.ERROR:
            self.refused |= _EXTENSIBLE_REFUSAL in data
        elif kind is AnswerKind.NO_JSON:
            self._take_paste(file, data, what)
        elif kind is AnswerKind.RUNTIME_CONFIGURATION:
            self._take_settings(_object(data))
        elif kind is AnswerKind.BROKER_STATS_TOPICS:
            self.measured.take_loaded(file.name, lambda: decode_broker_stats_topics(data, file.name))
        elif kind is AnswerKind.OWNED_NAMESPACES and request is not None and request.broker:
            owned = decode_owned(data, file.name)
            self.problems += owned.problems
            self.measured.take_owned(file.name, request.broker, owned.good)

    def _take_paste(self, file: AnswerFile, data: bytes, what: str) -> None:
        """Take the answers in a text among other words, or the text of ``/metrics``."""
        if self.measured.take_text(file.name, data):
            return
        pasted = pasted_file(file, data)
        if pasted is None:
            if what in _READ_HERE and not is_scalar(data):
                self.problems += raw_object(data, file.name)[1]
            return
        self.problems += pasted.problems
        for answer in pasted.answers:
            if answer.kind is not AnswerKind.NO_JSON:
                self.take(AnswerFile(answer.name, answer.data))

    def _take_metrics(self, name: str, data: bytes) -> None:
        # Without a usage they are of the modular manager, a refusal, or damaged before they come to it.
        if not self.measured.take_metrics(name, data) and data.lstrip()[:1] != b"{":
            self.problems += raw_list(quoted_numbers(data), name)[1]

    def _take_scenario(self, scenario: dict[str, Any]) -> None:
        self._take_settings(scenario.get("broker_settings"))
        self.measured.ids.update(_broker_ids(scenario.get("brokers")))
        self.version = release_text(str(scenario.get("pulsar_version", "")).encode()) or self.version

    def _take_settings(self, members: object) -> None:
        if isinstance(members, dict):
            self.settings.update({name: _text(value) for name, value in members.items() if isinstance(name, str)})


def _of_living_brokers(
    reports: list[WrittenLoad], alive: tuple[str, frozenset[str]] | None, problems: list[Problem]
) -> list[WrittenLoad]:
    """Return the reports without those of brokers that are not in the list of brokers any more.

    A broker that reported after all that are listed joined after the list was made, so it stays.
    """
    if alive is None:
        return reports
    source, listed = alive
    newest = max((report.updated_at_ms for report in reports if report.load.broker in listed), default=-1)
    last = {report.load.broker: report.updated_at_ms for report in reports}
    gone = {broker for broker, at_ms in last.items() if broker not in listed and at_ms <= newest}
    for broker in sorted(gone):
        reason = f"{broker} has a load report and is not in this list of brokers, and others reported later"
        problems.append(Problem(source, "$", reason, "its reports are left out"))
    return [report for report in reports if report.load.broker not in gone]


def series_problems(written: Iterable[tuple[str, WrittenLoad]], longest_ms: int) -> list[Problem]:
    """Clocks that went back and holes in a series of reports, by file and report in the order they were saved.

    A broker writes a report at least every ``longest_ms``, so where more time is between two of them some are missing
    here, and with them samples of its averages.
    """
    problems: list[Problem] = []
    times: dict[str, list[tuple[int, str]]] = {}
    for file, report in written:
        if report.updated_at_ms > 0 and report.load.load_average is None:  # metrics are read, not written
            times.setdefault(report.load.broker, []).append((report.updated_at_ms, file))
    for broker, known in times.items():
        for (before_ms, _), (at_ms, file) in pairwise(known):
            if at_ms < before_ms:
                reason = f"the clock of {broker} went back by {time_text(before_ms - at_ms)} since the file before"
                problems.append(Problem(file, "$.lastUpdate", reason, "reports are taken by their times"))
        for (before_ms, _), (at_ms, file) in pairwise(sorted(known)):
            if at_ms - before_ms > longest_ms + MS_PER_MINUTE:
                reason = f"{broker} has no report of the {time_text(at_ms - before_ms)} before"
                advice = f"it writes one at least every {longest_ms / MS_PER_MINUTE:g} min, so averages lack samples"
                problems.append(Problem(file, "$.lastUpdate", reason, advice))
    return problems


def _single_owners(written: list[WrittenLoad], problems: list[Problem]) -> Sequence[WrittenLoad]:
    """Return the reports with every bundle at one broker only: the newest of the last reports counts."""
    last = {report.load.broker: at for at, report in enumerate(written)}
    owner: dict[str, int] = {}
    for at in sorted(last.values()):
        for bundle in written[at].load.bundles:
            if bundle in owner:
                broker, other = written[owner[bundle]].load.broker, written[at].load.broker
                reason = f"{bundle} is reported by {broker} and {other}"
                problems.append(Problem("load reports", "$.bundles", reason, "the newer report counts"))
                written[owner[bundle]] = _without(written[owner[bundle]], bundle)
            owner[bundle] = at
    return written


def _without(written: WrittenLoad, bundle: str) -> WrittenLoad:
    load = written.load
    kept = replace(
        load,
        bundles=tuple(name for name in load.bundles if name != bundle),
        stats=tuple(stats for stats in load.stats if stats.bundle != bundle),
    )
    return structs.replace(written, load=kept)


def _object(data: bytes) -> dict[str, Any]:
    try:
        decoded = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return decoded if isinstance(decoded, dict) else {}


def _broker_ids(brokers: object) -> dict[str, str]:
    """The ids of the brokers of a recording by the short names that its files have."""
    named = brokers if isinstance(brokers, dict) else {}
    ids = {name: about.get("id") for name, about in named.items() if isinstance(about, dict)}
    return {name: known for name, known in ids.items() if isinstance(known, str)}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value).strip("[]")
