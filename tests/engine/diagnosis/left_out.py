"""Whichever member the answers of a recording lack, nothing else is claimed: only less.

``python -m tests.engine.diagnosis.left_out`` tries every member of every recording, which takes an hour; the tests try
some of each.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from engine.admin.files import AnswerFile
from engine.admin.moments import read_moments
from engine.diagnosis.model import Diagnosis, Verdict
from engine.diagnosis.why import why
from tests.engine.diagnosis.samples import NAMES as SAMPLES
from tests.engine.diagnosis.samples import sample
from tests.engine.diagnosis.stalls import NAMES as STALLS
from tests.engine.diagnosis.stalls import stall
from tests.engine.scenarios.recordings import RECORDINGS

RECORDED: Final = tuple(sorted(path.parent.name for path in RECORDINGS.glob("*/scenario.json.gz")))
NAMES: Final = (*SAMPLES, *STALLS, *RECORDED)
STATISTICS: Final = ("stats", "partitioned-stats", "internalStats", "broker-stats/topics")
CERTAIN: Final = (Verdict.BLOCKS, Verdict.SLOWS, Verdict.FINE)
NOTHING_WAITS: Final = "fine_idle"
_EARLIEST_MS: Final = 1_400_000_000_000
Claim = tuple[str, str, str]
"""Subscription, cause and verdict."""
Moments = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Whole:
    """A recording, the members of its statistics that can be left out, and what may be claimed of it."""

    moments: Moments
    members: tuple[str, ...]
    claims: frozenset[Claim]


def whole(name: str) -> Whole:
    moments = moments_of(name)
    diagnoses = _diagnosed(moments)
    # Where harm comes first, it goes without saying that nothing waits.
    idle = {(row.subscription, NOTHING_WAITS, "fine") for row in diagnoses if not row.backlog}
    # What answers cannot be read without: other answers of the same moment are judged then, which say less.
    names = {row.subscription for row in diagnoses} | {"subscriptions", "partitions", "persistent"}
    members = set().union(*(_members(answer) for path, answer in _answers(moments) if _is_statistics(path)))
    kept = sorted(member for member in members - names if "/" not in member)
    return Whole(moments, tuple(kept), frozenset(_claims(diagnoses) | idle))


def moments_of(name: str) -> Moments:
    """A sample, a stall, or the last two steps of a recording that have statistics."""
    if name in STALLS:
        return stall(name)
    return sample(name)["moments"] if name in SAMPLES else _last_two_steps(name)


def _last_two_steps(name: str) -> Moments:
    folder = RECORDINGS / name
    scenario = json.loads(gzip.decompress((folder / "scenario.json.gz").read_bytes()))
    steps = [
        {
            answer["request"].partition(" /")[2].replace("?", "@"): answer["file"]
            for answer in step.get("answers", ())
            if "file" in answer and answer.get("status", 200) == 200
        }
        for step in scenario["steps"]
    ]
    counted = [step for step in steps if any(map(_is_statistics, step))][-2:]
    moments: Moments = {}
    for step in counted:
        read = {path: _json_of(folder / f"{file.removesuffix('.gz')}.gz") for path, file in step.items()}
        answers = {path: answer for path, answer in read.items() if answer is not None}
        at_ms = max(_times(list(answers.values())), default=0) + 1000 * len(moments)
        moments[f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%dT%H-%M-%S.%f}"[:-3] + "Z"] = answers
    return moments


def _times(value: Any) -> Iterator[int]:
    """All times in epoch milliseconds in answers, which are not older."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _times(inner)
    elif isinstance(value, int) and _EARLIEST_MS < value < 2 * _EARLIEST_MS:
        yield value


def _json_of(path: Path) -> Any:
    try:
        return json.loads(gzip.decompress(path.read_bytes()))
    except (FileNotFoundError, ValueError):  # metrics are not kept, and the range of a bundle is plain text
        return None


def new_claims(recording: Whole, member: str) -> set[Claim]:
    """What is claimed without a member and not with it."""
    less = {
        time: {path: _without(answer, member) if _is_statistics(path) else answer for path, answer in answers.items()}
        for time, answers in recording.moments.items()
    }
    return _claims(_diagnosed(less)) - recording.claims


def _answers(moments: Moments) -> Iterator[tuple[str, Any]]:
    return (item for answers in moments.values() for item in answers.items())


def _is_statistics(path: str) -> bool:
    return path.partition("@")[0].endswith(STATISTICS)


def _members(value: Any) -> set[str]:
    if isinstance(value, list):
        return set().union(*map(_members, value))
    return set(value).union(*map(_members, value.values())) if isinstance(value, dict) else set()


def _without(value: Any, member: str) -> Any:
    if isinstance(value, list):
        return [_without(item, member) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: _without(inner, member) for name, inner in value.items() if name != member}


def _diagnosed(moments: Moments) -> list[Diagnosis]:
    files = [
        AnswerFile(f"{time}/{path}.json", json.dumps(answer).encode())
        for time, answers in moments.items()
        for path, answer in answers.items()
    ]
    return why(read_moments(*files))


def _claims(diagnoses: Iterable[Diagnosis]) -> set[Claim]:
    return {
        (diagnosis.subscription, cause.id, cause.verdict.value)
        for diagnosis in diagnoses
        for cause in diagnosis.causes
        if cause.verdict in CERTAIN
    }


def main() -> int:
    """Try every member of every recording, or of those that are named; 1 where a claim is new."""
    tried = failed = 0
    for name in sys.argv[1:] or NAMES:
        recording = whole(name)
        for member in recording.members:
            tried += 1
            for claim in sorted(new_claims(recording, member)):
                failed += 1
                sys.stdout.write(f"{name} without {member}: {' '.join(claim)}\n")
    sys.stdout.write(f"{tried:,} members left out, {failed:,} new claims\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
