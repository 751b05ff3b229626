"""What a run sums up to."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from tests.soak_ui.judging import LIMIT_SECONDS, Finding, kinds_of
from tests.soak_ui.playing import Outcome
from tests.soak_ui.steps import is_input

SHOWN: Final = 25


@dataclass(slots=True)
class Tally:
    """Numbers of many sessions; those of several processes add up."""

    keys: int = 0
    sessions: int = 0
    checks: int = 0
    cpu_seconds: float = 0.0
    screens: Counter[str] = field(default_factory=Counter)
    blocks: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    findings: list[Finding] = field(default_factory=list)

    def add(self, outcome: Outcome, cpu_seconds: float) -> None:
        self.keys += outcome.session.keys
        self.sessions += 1
        self.checks += outcome.session.steps.count("=")
        self.cpu_seconds += cpu_seconds
        for moment in outcome.moments:
            self.screens[moment.screen] += sum(map(is_input, moment.steps))
            kind = kinds_of(moment.steps) if len(moment.steps) == 1 else "a burst"
            self.blocks[moment.screen, kind].append(moment.block.cpu_seconds)

    def merge(self, other: Tally) -> None:
        self.keys += other.keys
        self.sessions += other.sessions
        self.checks += other.checks
        self.cpu_seconds += other.cpu_seconds
        self.screens += other.screens
        for kind, seconds in other.blocks.items():
            self.blocks[kind] += seconds
        self.findings += other.findings


def lines(tally: Tally, seconds: float) -> Iterator[str]:
    """The tally as a page."""
    pace = tally.keys / max(seconds, 0.001)
    yield (
        f"{tally.keys:,} keys in {tally.sessions:,} sessions, {tally.checks:,} comparisons with the headless twin;"
        f" {seconds:,.0f} s, {pace:.1f} keys a second, {tally.cpu_seconds:,.0f} s of CPU"
    )
    yield "keys by screen: " + ", ".join(f"{name} {count:,}" for name, count in tally.screens.most_common())
    yield "longest callbacks of the event loop, ms of CPU (once; above 50 ms only what comes again is a failure)"
    ranked = sorted(tally.blocks.items(), key=lambda item: -max(item[1]))
    for (screen, kind), taken in ranked[:SHOWN]:
        median = sorted(taken)[len(taken) // 2] * 1000
        above = sum(each > LIMIT_SECONDS for each in taken)
        yield (
            f"  {max(taken) * 1000:6.0f}  median {median:5.1f}  {above:4} of {len(taken):5} above"
            f"  {kind[:40]} on {screen}"
        )
    yield f"{len(tally.findings)} failures" if tally.findings else "no failure"
    for finding in tally.findings:
        yield str(finding)
