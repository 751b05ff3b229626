"""``verify_folder``: which rules to hold a recording against, and the outcome."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.admin.kinds import AnswerKind
from engine.admin.namespaces import decode_runtime_configuration
from engine.admin.reading import MAX_INPUT_BYTES
from engine.config import CURRENT, BrokerSettings, ReleaseBehaviour, behaviour_of
from engine.errors import InputError, Rejection
from tests.lab.folder import load_recording
from tests.lab.judge import Judge
from tests.lab.recording import Recording
from tests.lab.report import FactKind, Fit, FlagSource, VerifyReport, VersionSource
from tests.lab.settings import FLAG, KEY_SHARED_SETTINGS
from tests.lab.walk import Walk

# The last release before the ring came to topics without partitions: the only other rule there is.
_FIRST_CONNECTED_RELEASE = "2.11.0"


@dataclass(frozen=True, slots=True)
class _Given:
    judges: tuple[Judge, ...]
    version_source: VersionSource
    flag_source: FlagSource


def verify_folder(
    path: str | Path, pulsar_version: str | None = None, *, limit_bytes: int = MAX_INPUT_BYTES
) -> VerifyReport:
    """Hold the model against every answer recorded in a folder (or in one file).

    ``pulsar_version`` overrules what the folder says of its release. Where neither tells the release or the flag, each
    form of the rules is tried, and the one with the fewest differences counts; ``fits`` tells all of them.
    Raises ``InputError`` when nothing can be read, or for a version that is no version. O(bytes × rules tried).
    """
    recording = load_recording(Path(path), limit_bytes=limit_bytes)
    given = _given(recording, pulsar_version)
    walks: list[tuple[tuple[int, int, int], Judge, Walk]] = []
    for judge in given.judges:
        walk = Walk(recording, judge)
        walk.go()
        inferred = walk.ledger.compared[FactKind.ACTIVE_INFERRED_LEVELS]
        score = (len(walk.ledger.differences), inferred, -sum(walk.ledger.compared.values()))
        walks.append((score, judge, walk))
    walks.sort(key=lambda each: each[0])
    _, judge, best = walks[0]
    fits = tuple(
        Fit(each.behaviour.nonpartitioned_failover, each.consistent_hashing, score[0]) for score, each, _ in walks
    )
    return VerifyReport(
        path=recording.path,
        pulsar_version=judge.behaviour.label,
        version_source=given.version_source,
        consistent_hashing=judge.consistent_hashing,
        flag_source=given.flag_source,
        tallies=best.ledger.tallies(),
        differences=tuple(best.ledger.differences),
        not_compared=tuple(sorted(best.ledger.skipped.items())),
        problems=(*recording.problems, *best.problems),
        fits=fits if len(fits) > 1 else (),
        key_shared_settings=tuple((name, judge.settings.text_of(name)) for name in KEY_SHARED_SETTINGS)
        if recording.key_shared is not None
        else (),
    )


def _given(recording: Recording, pulsar_version: str | None) -> _Given:
    settings, flag_source = _settings(recording)
    behaviours: list[ReleaseBehaviour] = []
    version_source: VersionSource = "tried"
    wanted = pulsar_version or recording.version
    if wanted is not None:
        behaviour = behaviour_of(wanted)
        if isinstance(behaviour, Rejection) and pulsar_version is not None:
            raise InputError(behaviour.message)
        if not isinstance(behaviour, Rejection):
            behaviours.append(behaviour)
            version_source = "load report" if recording.version_from_load_report else "scenario.json"
            version_source = "asked for" if pulsar_version is not None else version_source
    if not behaviours:
        older = behaviour_of(_FIRST_CONNECTED_RELEASE)
        assert not isinstance(older, Rejection), "a release that is modelled"
        behaviours = [CURRENT, older]
    judges = [Judge(behaviour, settings) for behaviour in behaviours]
    if flag_source == "tried":
        judges = [
            judge.with_flag(flag)
            for judge in judges
            for flag in ((False, True) if judge.behaviour.knows_failover_consistent_hashing else (False,))
        ]
    return _Given(tuple(judges), version_source, flag_source)


def _settings(recording: Recording) -> tuple[BrokerSettings, FlagSource]:
    if FLAG in recording.named_settings:
        return recording.settings, "scenario.json"
    for step in recording.steps:
        for answer in step.answers:
            if answer.kind is AnswerKind.RUNTIME_CONFIGURATION:
                found = decode_runtime_configuration(answer.data, answer.file).good
                if found is not None and FLAG in found.named:
                    return found.settings, "run-time configuration"
    return recording.settings, "default" if recording.named_settings else "tried"
