"""Lines of a broker's log about automatic splitting, by both load managers.

The modular leader logs what it chose by which numbers, and what it tried. With ``loadBalancerDebugModeEnabled`` an
extensible broker logs every bundle in every cycle.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

CycleWord = Literal["too-few-topics", "hits", "namespace-full", "taken", "no-boundary", "not-one-boundary", "other"]

_TIME: Final = re.compile(r"(\d\d):(\d\d):(\d\d)[.,](\d{3}) (.*)")
_NUMBER: Final = r"([-+\dEe.]+|NaN|Infinity)"
_NUMBERS: Final = (
    r"Topics: (\d+)/\d+, Sessions: \((\d+)\+(\d+)\)/-?\d+, "
    rf"Message Rate: {_NUMBER}/-?\d+ \(msgs/s\), Message Throughput: {_NUMBER}/-?\d+ \(MB/s\)"
)
_CONSIDERED: Final = re.compile(rf"The bundle (\S+) is considered to be unload\. {_NUMBERS}")
_ATTEMPT: Final = re.compile(r"Load-manager splitting bundle (\S+) and unloading")
_GONE: Final = re.compile(r"Bundle (\S+) has been removed, skip split this bundle")
_CYCLE: Final = re.compile(r"SplitScheduler - Load balancer enabled: true, Split enabled: true")
_DECIDED: Final = re.compile(r"SplitScheduler - Split Decisions: \[(.*)\]")
_DECISION: Final = re.compile(
    r"Split\[serviceUnit=([^,\]]+), sourceBroker=[^,\]]+, splitServiceUnitToDestBroker=\{([^}]*)\}\], "
    r"label=(\w+), reason=(\w+)"
)
_STOPPED: Final = re.compile(r"Can't continue the split cycle")
_CANNOT: Final = re.compile(r"Can't split broker:(\S+)\. (.*)")
_TAKEN: Final = re.compile(rf"Splitting bundle: (\S+)\. {_NUMBERS}")
_HITS: Final = re.compile(rf"Split condition hit count: (\d+) is less than or equal to threshold: -?\d+\. {_NUMBERS}")
_WORDS: Final[tuple[tuple[str, CycleWord], ...]] = (
    ("The topic count is less than 2", "too-few-topics"),
    ("Namespace:", "namespace-full"),
    ("The split boundaries is null", "no-boundary"),
    ("The size of split boundaries is not 1", "not-one-boundary"),
)


@dataclass(frozen=True, slots=True)
class LoggedNumbers:
    """What a decider compared, as it was printed. ``msgs_per_sec`` and ``mbytes_per_sec`` are in plus out.

    Of the modular leader these are all digits; an extensible broker prints two decimals.
    """

    topics: int
    producers: int
    consumers: int
    msgs_per_sec: float
    mbytes_per_sec: float


@dataclass(frozen=True, slots=True)
class LeaderLine:
    """One line of the modular leader about one bundle."""

    at_ms: int
    word: Literal["chosen", "attempted", "gone"]
    bundle: str
    numbers: LoggedNumbers | None = None


@dataclass(frozen=True, slots=True)
class CycleLine:
    """What an extensible broker says of one bundle in a cycle. ``boundaries``: those an algorithm gave too many of."""

    bundle: str
    word: CycleWord
    hits: int = 0
    numbers: LoggedNumbers | None = None
    boundaries: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LoggedDecision:
    """A bundle an extensible broker splits, the reason, and its children's ranges from the lowest up."""

    bundle: str
    reason: str
    children: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LoggedCycle:
    """One cycle. ``stopped``: its maximum was reached, so the other bundles were not looked at."""

    at_ms: int
    lines: tuple[CycleLine, ...]
    stopped: bool
    decisions: tuple[LoggedDecision, ...]


def leader_lines(text: str) -> tuple[LeaderLine, ...]:
    """Lines of the modular leader, in order; times are milliseconds of the day. O(length).

    >>> leader_lines("11:31:08.115 INFO  X - Load-manager splitting bundle t/n/0x0_0x9 and unloading true")[0].bundle
    't/n/0x0_0x9'
    """
    lines: list[LeaderLine] = []
    for at_ms, words in timed(text):
        considered, attempt, gone = _CONSIDERED.search(words), _ATTEMPT.search(words), _GONE.search(words)
        if considered is not None:
            lines.append(LeaderLine(at_ms, "chosen", considered[1], _numbers(considered, 2)))
        elif attempt is not None:
            lines.append(LeaderLine(at_ms, "attempted", attempt[1]))
        elif gone is not None:
            lines.append(LeaderLine(at_ms, "gone", gone[1]))
    return tuple(lines)


def cycles(text: str) -> tuple[LoggedCycle, ...]:
    """The whole cycles of an extensible broker; one whose end is not in the log is left out. O(length)."""
    finished: list[LoggedCycle] = []
    begun: int | None = None
    lines: list[CycleLine] = []
    stopped = False
    for at_ms, words in timed(text):
        decided = _DECIDED.search(words)
        if _CYCLE.search(words):
            begun, lines, stopped = at_ms, [], False
        elif begun is None:
            continue
        elif decided is not None:
            finished.append(LoggedCycle(begun, tuple(lines), stopped, _decisions(decided[1])))
            begun = None
        elif _STOPPED.search(words):
            stopped = True
        else:
            _add(lines, words)
    return tuple(finished)


def _add(lines: list[CycleLine], words: str) -> None:
    taken, cannot = _TAKEN.search(words), _CANNOT.search(words)
    if taken is not None:
        lines.append(CycleLine(taken[1], "taken", numbers=_numbers(taken, 2)))
    elif cannot is not None:
        line = _refused(cannot[1], cannot[2])
        # A failure follows the line that says the bundle was taken.
        if lines and lines[-1].word == "taken" and lines[-1].bundle == line.bundle:
            taken_numbers = lines.pop().numbers
            line = CycleLine(line.bundle, line.word, line.hits, taken_numbers, line.boundaries)
        lines.append(line)


def _refused(bundle: str, why: str) -> CycleLine:
    hits = _HITS.match(why)
    if hits is not None:
        return CycleLine(bundle, "hits", int(hits[1]), _numbers(hits, 2))
    words = (word for beginning, word in _WORDS if why.startswith(beginning))
    word: CycleWord = next(words, "other")
    _, _, listed = why.partition("splitBoundary:[")
    boundaries = tuple(map(int, re.findall(r"\d+", listed))) if word == "not-one-boundary" else ()
    return CycleLine(bundle, word, boundaries=boundaries)


def _decisions(text: str) -> tuple[LoggedDecision, ...]:
    decisions: list[LoggedDecision] = []
    for match in _DECISION.finditer(text):
        if match[3] == "Success":
            children = tuple(sorted(re.findall(r"0x[0-9a-fA-F]+_0x[0-9a-fA-F]+", match[2])))
            decisions.append(LoggedDecision(match[1], match[4], children))
    return tuple(decisions)


def _numbers(match: re.Match[str], first: int) -> LoggedNumbers:
    topics, producers, consumers, rate, throughput = (match[at] for at in range(first, first + 5))
    return LoggedNumbers(int(topics), int(producers), int(consumers), float(rate), float(throughput))


def timed(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a log that begin with a time, each with that time in milliseconds of the day."""
    for line in text.splitlines():
        match = _TIME.match(line)
        if match is not None:
            hours, minutes, seconds, milliseconds = (int(match[at]) for at in range(1, 5))
            yield ((hours * 60 + minutes) * 60 + seconds) * 1000 + milliseconds, match[5]
