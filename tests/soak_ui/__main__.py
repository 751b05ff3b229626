"""``make soak-ui [KEYS=n] [SEED=s] [JOBS=n] [REPLAY='…']``: press random keys until something goes wrong."""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from time import perf_counter
from typing import Final

from tests.soak_ui.judging import Finding, blocked, last_block
from tests.soak_ui.playing import replay
from tests.soak_ui.report import Tally, lines
from tests.soak_ui.scenes import forget_scenes
from tests.soak_ui.soaking import prepare, soaked
from tests.soak_ui.steps import session_of
from tests.soak_ui.twin import disagreement

PORTION: Final = 1_000


def main() -> int:
    parser = argparse.ArgumentParser(prog="make soak-ui", description=__doc__)
    parser.add_argument("--keys", type=int, default=2_000, help="how many keys are pressed")
    parser.add_argument("--seed", default="1", help="the same seed presses the same keys")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    parser.add_argument("--replay", default="", metavar="LINE", help="do what a line of a failure says")
    given = parser.parse_args()
    if given.replay:
        prepare()
        return replayed(given.replay)
    begin = perf_counter()
    tally = Tally()
    portions = [
        (f"{given.seed}-{at}", min(PORTION, given.keys - at * PORTION)) for at in range(-(-given.keys // PORTION))
    ]
    if given.jobs == 1:
        for seed, keys in portions:
            _take(tally, soaked(seed, keys), perf_counter() - begin)
    else:
        with ProcessPoolExecutor(given.jobs, get_context("spawn")) as pool:
            running = [pool.submit(soaked, seed, keys) for seed, keys in portions]
            for future in as_completed(running):
                _take(tally, future.result(), perf_counter() - begin)
    sys.stdout.write("\n".join(lines(tally, perf_counter() - begin)) + "\n")
    return 1 if tally.findings else 0


def _take(tally: Tally, other: Tally, seconds: float) -> None:
    known = {(finding.failure.kind, finding.failure.place) for finding in tally.findings}
    for finding in other.findings:
        if (finding.failure.kind, finding.failure.place) not in known:
            sys.stdout.write(f"{finding}\n")
    tally.merge(other)
    sys.stderr.write(f"{tally.keys:,} keys, {seconds:,.0f} s, {len(tally.findings)} failures\n")
    sys.stdout.flush()


def replayed(line: str) -> int:
    """Make the steps of a line three times, and say what they lead to; 1 if that is a failure."""
    session = session_of(line)
    for _ in range(3):
        forget_scenes()
        outcome = replay(session, disagreement)
        if outcome.failure is not None:
            sys.stdout.write(f"{Finding(outcome.failure, session)}\n")
            return 1
        for moment in outcome.moments:
            sys.stdout.write(f"{moment.screen:24} {' '.join(moment.steps)}: {blocked(moment).text}\n")
        sys.stdout.write(f"the last step blocks for {last_block(outcome) * 1000:.0f} ms\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
