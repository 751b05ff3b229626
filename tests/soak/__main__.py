"""``python -m tests.soak``: soak for some seconds, or play one episode or one journal again."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.soak.episode import Episode
from tests.soak.keeping import keep, play_journal
from tests.soak.shrink import shrunk
from tests.soak.tally import Tally

FIRST_REPORT_S = 10.0


def main() -> int:
    """0 where nothing was found, 1 where something was."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1, help="episodes are SEED * 1000000 and on")
    parser.add_argument("--episode", type=int, help="only this one")
    parser.add_argument("--most", type=int, default=5, help="stop after so many findings")
    parser.add_argument("--into", type=Path, default=Path("build/soak"), help="folder for journals of failures")
    parser.add_argument("--journal", type=Path, help="play a journal of a failure again")
    parser.add_argument("--then", action="append", default=[], metavar="COMMAND", help="after the journal")
    parser.add_argument("--only", metavar="GROUP", help="with a journal: inspect this group of checks, at every step")
    asked = parser.parse_args()
    if asked.journal is not None:
        journal = play_journal(asked.journal, asked.then, asked.only)
        _say(journal or "no disagreement")
        return 1 if journal else 0
    return _soak(asked)


def _soak(asked: argparse.Namespace) -> int:
    tally, findings = Tally(), 0
    start, report_at = time.monotonic(), FIRST_REPORT_S
    number = asked.seed * 1_000_000 if asked.episode is None else asked.episode
    episodes = 0
    while True:
        episode = Episode.drawn(number)
        played = episode.play(episode.deeds, tally)
        episodes += 1
        if played.found is not None:
            findings += 1
            count = len(played.commands)
            _say(f"\nFOUND in episode {number} ({episode.terms}) after {count} commands\n{played.found}")
            _say("\n".join(keep(shrunk(episode, played), asked.into).lines))
        spent = time.monotonic() - start
        if spent >= report_at:
            _say(_line(tally, episodes, findings, spent))
            report_at = max(spent, report_at * 2)
        if asked.episode is not None or spent >= asked.seconds or findings >= asked.most:
            break
        number += 1
    _say(_line(tally, episodes, findings, time.monotonic() - start))
    return 1 if findings else 0


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _line(tally: Tally, episodes: int, findings: int, spent: float) -> str:
    checks, busy = sum(tally.checks.values()), max(time.process_time(), 0.01)
    return (
        f"{spent:.0f} s ({busy:.0f} s of CPU): {episodes} episodes, {tally.commands} commands"
        f" ({tally.refused} refused), {tally.events} events, {checks} checks of {len(tally.checks)} kinds;"
        f" {tally.events / spent:.0f} events/s, {checks / spent:.0f} checks/s"
        f" ({tally.events / busy:.0f} and {checks / busy:.0f} a second of CPU); {findings} found"
    )


if __name__ == "__main__":
    sys.exit(main())
