"""Random joins and leaves on a real broker while it is read again and again: the model must never disagree.

    python -m tests.broker.soak --minutes 60 --seed 1

Readings fall between, before and in the middle of what consumers do, as those of a dashboard do. As there, what did not
change is not compared again, which must come to the same as comparing everything. A disagreement is kept as a dump in
``build/broker`` that ``ringside verify`` and the lab read.
"""

from __future__ import annotations

import argparse
import random
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from engine.admin.earlier import EarlierAnswers
from engine.admin.folders import FilesRead
from engine.verify.answers import answers_of
from engine.verify.compare import verify_answers
from engine.verify.report import Difference
from tests.broker.driving import FOUND, Driven, driven
from tests.broker.jars import jars
from tests.broker.standalone import Broker, real_broker
from tui.sources.cluster.access import Access
from tui.sources.cluster.reading import ClusterReading, write_moment
from tui.sources.cluster.source import Source

SETTINGS: Final = (
    {"activeConsumerFailoverConsistentHashing": "true", "subscriptionKeySharedUseConsistentHashing": "false"},
    {"activeConsumerFailoverConsistentHashing": "false", "subscriptionKeySharedUseConsistentHashing": "true"},
)
"""One broker for each; half of the time for each."""
PARTITIONS: Final = 12
PAUSE_S: Final = 0.5
MOST_KEPT: Final = 20
"""Readings that are kept although what differs in them differs for the first time."""
LONGEST_REST_S: Final = 1.5


@dataclass(slots=True)
class Soaked:
    """What came of a soak."""

    readings: int = 0
    steps: int = 0
    compared: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)
    kept: list[Path] = field(default_factory=list)
    suspected: set[tuple[str, str]] = field(default_factory=set)
    """Facts that differed at the last reading: a broker writes an answer while consumers come and go."""
    transient: list[Difference] = field(default_factory=list)
    """What differed at one reading alone, or at first."""

    def line(self) -> str:
        facts = ", ".join(f"{count:,} × {kind}" for kind, count in self.compared.most_common())
        return (
            f"{self.readings:,} readings, {self.steps:,} joins and leaves, {sum(self.compared.values()):,} facts,"
            f" {len(self.differences):,} disagree, {len(self.transient):,} did at first ({facts})"
        )


def soak(broker: Broker, seconds: float, seed: int, soaked: Soaked) -> None:
    """Let consumers come and go for so long, and read meanwhile. The same seed makes the same steps."""
    over = threading.Event()
    with ExitStack() as ending:
        drivings = [
            ending.enter_context(driven(broker, f"soak-f-{seed}", "Failover", {f"f-{seed}": PARTITIONS, f"g-{seed}": 0},
                                        seed, (0, 1))),
            ending.enter_context(driven(broker, f"soak-k-{seed}", "Key_Shared", {f"k-{seed}": 0}, seed)),
        ]  # fmt: skip
        driver = threading.Thread(target=_come_and_go, args=(drivings, random.Random(seed), over, soaked))
        driver.start()
        ending.callback(driver.join)
        ending.callback(over.set)
        follower = ending.enter_context(closing(Source(Access(broker.url)).follower()))
        earlier = EarlierAnswers()
        until = time.monotonic() + seconds
        while time.monotonic() < until and driver.is_alive():
            _look(follower.read(), soaked, seed, earlier)
            time.sleep(PAUSE_S)
        if not driver.is_alive():
            raise RuntimeError("the consumers ended before the soak")


def _come_and_go(drivings: list[Driven], draw: random.Random, over: threading.Event, soaked: Soaked) -> None:
    while not over.wait(draw.uniform(0, LONGEST_REST_S)):
        draw.choice(drivings).step()
        soaked.steps += 1


def _look(reading: ClusterReading, soaked: Soaked, seed: int, earlier: EarlierAnswers) -> None:
    files = FilesRead(reading.files_of_moment(), (), ())
    earlier.begin()
    report = verify_answers(answers_of(files, reading.origin, earlier), None, earlier)
    if report != verify_answers(answers_of(files, reading.origin)):
        raise RuntimeError(f"what was kept of earlier readings changes the comparison, see {_kept(reading, seed)}")
    facts = {(difference.kind.name, difference.subject) for difference in report.differences}
    differences = [
        difference
        for difference in report.differences
        if (difference.kind.name, difference.subject) in soaked.suspected
    ]
    news = [
        difference
        for difference in report.differences
        if (difference.kind.name, difference.subject) not in soaked.suspected
    ]
    soaked.transient += news
    soaked.suspected = facts
    soaked.readings += 1
    soaked.compared.update({tally.kind.name.lower(): tally.compared for tally in report.tallies if tally.compared})
    if differences or (news and len(soaked.kept) < MOST_KEPT):
        soaked.differences += differences
        soaked.kept.append(_kept(reading, seed))


def _kept(reading: ClusterReading, seed: int) -> Path:
    """Keep a reading as a dump, and return its folder."""
    folder = FOUND / f"soak-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    return write_moment(folder, reading)[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    soaked = Soaked()
    for number, settings in enumerate(SETTINGS):
        with real_broker(jars(), settings) as broker:
            soak(broker, given.minutes * 60 / len(SETTINGS), given.seed + number, soaked)
        sys.stdout.write(f"{soaked.line()}\n")
        sys.stdout.flush()
    for place in soaked.kept:
        sys.stderr.write(f"kept {place}\n")
    for difference in soaked.differences:
        sys.stderr.write(f"disagrees: {difference}\n")
    for difference in soaked.transient:
        sys.stderr.write(f"at first: {difference}\n")
    return 1 if soaked.differences or not soaked.compared else 0


if __name__ == "__main__":
    sys.exit(main())
