"""Lines of brokers' logs about shedding and placement, by both load managers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from engine.balance.limits import BundleStats
from tests.lab.balance.broker_log import timed

_DAY_MS: Final = 24 * 60 * 60 * 1000
_NUMBER: Final = r"([-+\dEe.]+|NaN|Infinity)"
_ELECTED: Final = re.compile(r"This broker (\S+) was elected leader")
_ONE_BROKER: Final = re.compile(r"Only 1 broker available: no load shedding")
_FOUND: Final = re.compile(rf"Shedder - Found bundle to unload with (msgRate|throughput) {_NUMBER}")
_CONSIDERED: Final = re.compile(r"(\d+) brokers being considered for assignment of (\S+)")
_UNLOADING: Final = re.compile(r"\[(\w+)\] Unloading bundle: (\S+) from broker (\S+) to dest broker (\S+)")
_ACQUIRED: Final = re.compile(r"Successfully acquired ownership of OwnedBundle\(bundle=([^,]+),")
_RELEASED: Final = re.compile(r"OwnedBundle - Unloading (\S+) namespace-bundle .* completed")
_WRITING: Final = re.compile(
    rf"Writing local data to metadata store because (?:maximum change {_NUMBER}% exceeded|time since last update)"
)
_CYCLE: Final = re.compile(r"UnloadScheduler - Load balancer enabled: true, Shedding enabled: true")
_AVAILABLE: Final = re.compile(r"UnloadScheduler - Available brokers: \[(.*)\]")
_SKIPPED: Final = re.compile(r"Can't continue the unload cycle\. Skipped the load stat update\. Reason:(\w+)")
_DECIDED: Final = re.compile(r"TransferShedder - Decided to unload bundle:([^,\s]+), throughput")
_CANNOT: Final = re.compile(
    r"TransferShedder - Can't unload bundle:(\S+?)\. (The traffic to unload|The remaining bundles)"
)
_OFFLOAD: Final = re.compile(rf"-- Trying to offload {_NUMBER}%, {_NUMBER} KByte/s of traffic")
_RESULT: Final = re.compile(r"UnloadScheduler - \[\w+\] Unload decision result: \[(.*)\]")
_DECISION: Final = re.compile(
    r"sourceBroker=([^,\]]+), serviceUnit=([^,\]]+), destBroker=Optional(?:\[([^\]]+)\]|\.empty)[^\]]*\], "
    r"label=(\w+), reason=(\w+)"
)
_COMPLETE: Final = re.compile(r"UnloadManager - Complete unload bundle: (\S+)")
_REPORT: Final = re.compile(
    rf"BrokerLoadDataReporter - (publishing|skipping) load report:cpu= {_NUMBER}%, memory= {_NUMBER}%, "
    rf"directMemory= {_NUMBER}%, bandwidthIn= {_NUMBER}%, bandwidthOut= {_NUMBER}%, .*"
    rf"msgThroughputIn= {_NUMBER}, msgThroughputOut= {_NUMBER}, msgRateIn= {_NUMBER}, msgRateOut= {_NUMBER}, "
    rf"bundleCount= (\d+), maxResourceUsage= {_NUMBER}%, weightedMaxEMA= {_NUMBER}%, msgThroughputEMA= {_NUMBER}, "
    r"updatedAt= (\d+)"
)
_TOP: Final = re.compile(r"Reporting TopBundlesLoadData:TopBundlesLoadData\(topBundlesLoadData=\[(.*)\]\)")
_TOP_BUNDLE: Final = re.compile(
    rf"bundleName=([^,\]]+), stats=NamespaceBundleStats\(msgRateIn={_NUMBER}, msgThroughputIn={_NUMBER}, "
    rf"msgRateOut={_NUMBER}, msgThroughputOut={_NUMBER}, consumerCount=(\d+), producerCount=(\d+), topics=(\d+)"
)
_OWNER: Final = re.compile(r"Selected new owner broker: (\S+) for bundle: (\S+?)\.$")
_BEST: Final = re.compile(
    r"Selected \d+ best brokers: \[(.*?)\] from candidate brokers: \[(.*?)\], noLoadDataBrokers:\[(.*?)\]"
)
_ASSIGNED: Final = re.compile(r"UnloadManager - Operation ASSIGN for service unit (\S+) took")

ModularWord = Literal["elected", "one-broker", "found", "considered", "unloading", "acquired", "released", "writing"]


@dataclass(frozen=True, slots=True)
class ModularLine:
    """One line of a broker of the modular manager; members that a word has no use for are empty.

    ``number``: the traffic a bundle was found by, how many brokers were considered, or the change a report was written
    for (None: it was written for its age).
    """

    at_ms: int
    broker: str
    word: ModularWord
    bundle: str = ""
    source: str = ""
    target: str = ""
    number: float | None = None


def modular_lines(text: str, letter: str) -> Iterator[ModularLine]:
    """The lines of one broker's log that are about shedding and placement; times are milliseconds of the day."""
    for at_ms, words in timed(text):
        if _ELECTED.search(words):
            yield ModularLine(at_ms, letter, "elected")
        elif _ONE_BROKER.search(words):
            yield ModularLine(at_ms, letter, "one-broker")
        elif match := _FOUND.search(words):
            yield ModularLine(at_ms, letter, "found", number=float(match[2]))
        elif match := _CONSIDERED.search(words):
            yield ModularLine(at_ms, letter, "considered", match[2], number=float(match[1]))
        elif match := _UNLOADING.search(words):
            yield ModularLine(at_ms, letter, "unloading", match[2], match[3], match[4])
        elif match := _ACQUIRED.search(words):
            yield ModularLine(at_ms, letter, "acquired", match[1])
        elif match := _RELEASED.search(words):
            yield ModularLine(at_ms, letter, "released", match[1])
        elif match := _WRITING.search(words):
            yield ModularLine(at_ms, letter, "writing", number=None if match[1] is None else float(match[1]))


@dataclass(frozen=True, slots=True)
class LoggedReport:
    """What a broker of the extensible manager was about to publish, as printed: two decimals."""

    at_ms: int
    broker: str
    published: bool
    percents: tuple[float, ...]
    throughput_in: float
    throughput_out: float
    rate_in: float
    rate_out: float
    bundles: int
    max_usage: float
    load: float
    throughput_average: float
    updated_at_ms: int


@dataclass(frozen=True, slots=True)
class LoggedTop:
    """The largest bundles a broker reported, smallest first."""

    at_ms: int
    broker: str
    bundles: tuple[BundleStats, ...]


@dataclass(frozen=True, slots=True)
class LoggedSelection:
    """A placement: the brokers it could draw, the candidates, those without load data, the owner and the bundle."""

    at_ms: int
    broker: str
    best: tuple[str, ...]
    candidates: tuple[str, ...]
    no_data: tuple[str, ...]
    owner: str
    bundle: str


@dataclass(frozen=True, slots=True)
class LoggedMove:
    """The leader has finished an unload (its source is known from the decision), or a bundle was assigned."""

    at_ms: int
    bundle: str
    word: Literal["unloaded", "assigned"]


@dataclass(slots=True)
class LoggedUnloadCycle:
    """One cycle of the leader: registered brokers, bundles in the order they were decided, the published decisions.

    ``offload``: percent and kB/s of each pair; ``stopped``: the bundle that ended a pair, and why; ``skip``: the reason
    of a cycle skipped before the brokers were compared.
    """

    at_ms: int
    registered: tuple[str, ...] = ()
    decided: tuple[str, ...] = ()
    decisions: tuple[tuple[str, str, str, str], ...] | None = None
    offloads: tuple[tuple[float, float], ...] = ()
    stopped: tuple[tuple[str, str], ...] = ()
    skip: str = ""


ExtensibleLine = LoggedReport | LoggedTop | LoggedSelection | LoggedMove | LoggedUnloadCycle


def extensible_lines(text: str, broker: str) -> Iterator[ExtensibleLine]:
    """The lines of one extensible broker's log, cycles as a whole at the time they began. O(length)."""
    cycle: LoggedUnloadCycle | None = None
    best: re.Match[str] | None = None
    for at_ms, words in timed(text):
        if _CYCLE.search(words):
            cycle = LoggedUnloadCycle(at_ms)
        elif cycle is not None and _in_cycle(cycle, words):
            if cycle.decisions is not None:
                yield cycle
                cycle = None
        elif match := _REPORT.search(words):
            numbers = [float(match[place]) for place in range(2, 16) if place != 11]
            yield LoggedReport(
                at_ms,
                broker,
                match[1] == "publishing",
                tuple(numbers[:5]),
                *numbers[5:9],
                int(match[11]),
                numbers[9] / 100,
                numbers[10] / 100,
                numbers[11],
                int(match[15]),
            )
        elif match := _TOP.search(words):
            yield LoggedTop(at_ms, broker, tuple(_stats(each) for each in _TOP_BUNDLE.finditer(match[1])))
        elif match := _BEST.search(words):
            best = match
        elif match := _OWNER.search(words):
            if best is not None:
                sets = [_listed(best[place]) for place in (1, 2, 3)]
                yield LoggedSelection(at_ms, broker, *sets, match[1], match[2])
            best = None
        elif match := _COMPLETE.search(words):
            yield LoggedMove(at_ms, match[1], "unloaded")
        elif match := _ASSIGNED.search(words):
            yield LoggedMove(at_ms, match[1], "assigned")


def _in_cycle(cycle: LoggedUnloadCycle, words: str) -> bool:
    if match := _AVAILABLE.search(words):
        cycle.registered = _listed(match[1])
    elif match := _SKIPPED.search(words):
        cycle.skip = match[1]
    elif match := _OFFLOAD.search(words):
        cycle.offloads += ((float(match[1]), float(match[2])),)
    elif match := _DECIDED.search(words):
        cycle.decided += (match[1],)
    elif match := _CANNOT.search(words):
        cycle.stopped += ((match[1], "too-large" if "traffic" in match[2] else "last-one"),)
    elif match := _RESULT.search(words):
        cycle.decisions = tuple(
            (each[2], each[1], each[3] or "", each[5]) for each in _DECISION.finditer(match[1]) if each[4] == "Success"
        )
    else:
        return False
    return True


def _stats(match: re.Match[str]) -> BundleStats:
    rate_in, thr_in, rate_out, thr_out = (float(match[place]) for place in (2, 3, 4, 5))
    consumers, producers, topics = (int(match[place]) for place in (6, 7, 8))
    return BundleStats(match[1], topics, producers, consumers, rate_in, rate_out, thr_in, thr_out)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
