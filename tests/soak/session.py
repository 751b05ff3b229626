"""One cluster under commands, with its oracle beside every step of every branch."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from engine.cluster.commands import Command, TimelineCommand
from engine.cluster.grammar.reading import parse_command
from engine.cluster.grammar.text import command_text
from engine.cluster.journal.invariants import faults
from engine.cluster.timeline import Timeline, navigate
from tests.journal_bytes import parse_command_json, serialise_command
from tests.oracles.cluster import Cluster
from tests.oracles.hashes import Hashes
from tests.soak.balancing import compare_balance
from tests.soak.bridge import oracle_of
from tests.soak.compare import compare_states
from tests.soak.facts import (
    compare_actives,
    compare_bundles,
    compare_occupancy,
    compare_owners,
    compare_previews,
    compare_statistics,
    judge_delivery,
)
from tests.soak.laws import compare_moves, judge_step, judge_time_travel
from tests.soak.shown import judge_documents
from tests.soak.tally import DisagreementError, Tally
from tests.soak.written import judge_file, judge_lines

COMMAND: Final = "command"
"""The group of what is judged with the command itself: refused or not, and its text."""
END: Final = "end"
"""The group of what is judged at the end of a walk."""
EVERY: Final = {"state": 1, "moves": 1, "owners": 1, "bundles": 1, "laws": 4, "written": 30, "shown": 30}
"""Turns between two inspections of a group."""


@dataclass(slots=True)
class Session:
    """``clusters``: the oracle after each step, by the number of the step.

    ``only``: the one group that is inspected, at every turn; None for all of them, each in its turn.
    """

    timeline: Timeline
    hashes: Hashes
    tally: Tally
    only: str | None = None
    clusters: dict[int, Cluster] = field(default_factory=dict)
    _judged: dict[str, tuple[object, ...]] = field(default_factory=dict)
    _turns: int = 0

    @classmethod
    def open(cls, timeline: Timeline, hashes: Hashes, tally: Tally, *, only: str | None = None) -> Session:
        """At the beginning of a timeline without steps."""
        assert not timeline.log, "a session begins with the first step"
        session = cls(timeline, hashes, tally, only)
        session.clusters[0] = oracle_of(timeline.state, hashes)
        return session

    @property
    def here(self) -> int:
        """The number of the step at the cursor."""
        return self.timeline.steps[self.timeline.cursor - 1].number if self.timeline.cursor else 0

    def carry_out(self, command: Command | TimelineCommand) -> None:
        """Carry a command out and inspect. Raises DisagreementError, also for whatever the engine raises."""
        self._turns += 1
        self.tally.commands += 1
        before, at = self.timeline, self.here
        with _group(COMMAND, command):
            if isinstance(command, TimelineCommand):
                self.timeline = navigate(before, command).timeline
            else:
                self._submit(command)
        for group, every in EVERY.items():
            if self.only == group or (self.only is None and self._turns % every == 0):
                with _group(group, command):
                    self._inspect(group, before, self.clusters[at])

    def close(self) -> None:
        """Judge what is written at the end of a walk. Raises DisagreementError."""
        if self.only in (None, END):
            with _group(END, "at the end"):
                judge_lines(self.timeline, self.tally)
                judge_file(self.timeline, self.tally)

    def _submit(self, command: Command) -> None:
        before, tally, old = self.timeline, self.tally, self.clusters[self.here]
        tally.agree("command as JSON", parse_command_json(serialise_command(command)), command)
        for text in (command_text(command), command_text(command, before.state)):
            tally.agree("command as text", parse_command(text, before.state), command, text)
        expected = old.after(command)
        after, rejection = before.submit(command)
        said = None if rejection is None else str(rejection)
        tally.agree("refused", rejection is not None, expected is None, f"{command}: {said};")
        tally.agree("changed", after is not before, expected is not None and expected is not old, command)
        if rejection is not None:
            tally.refused += 1
            tally.holds("a refusal changes nothing", after.state is before.state, command)
        if after is not before:
            assert expected is not None
            tally.events += len(after.steps[-1].events)
            self.clusters[after.steps[-1].number] = expected
            self.timeline = after

    def _inspect(self, group: str, before: Timeline, old: Cluster) -> None:
        timeline, cluster, tally = self.timeline, self.clusters[self.here], self.tally
        state = timeline.state
        match group:
            case "state":
                tally.agree("faults", faults(state), ())
                compare_states(state, cluster, tally)
                compare_actives(state, cluster, tally)
                for mine, theirs in zip(state.key_subscriptions, cluster.keyed, strict=True):
                    judge_delivery(mine, theirs, tally)
            case "moves" if state is not before.state:
                compare_moves(before.state, state, old, cluster, tally)
                if len(timeline.log) > len(before.log):
                    judge_step(before.state, state, tally)
            case "owners":
                for mine, theirs in zip(state.key_subscriptions, cluster.keyed, strict=True):
                    if self._new(mine.key, (mine.delivery.selector,)):
                        compare_owners(mine, theirs, tally)
            case "bundles" if self._new(group, (state.topics, state.namespaces)):
                compare_bundles(state, cluster, tally)
                compare_occupancy(state, cluster, tally)
            case "laws":
                judge_time_travel(before, timeline, tally)
            case "written":
                judge_lines(timeline, tally)
            case "shown":
                compare_statistics(state, cluster, tally)
                compare_previews(state, cluster, tally)
                compare_balance(state, cluster, tally)
                parent = timeline.steps[timeline.cursor - 1].parent if timeline.cursor else None
                judge_documents(timeline, cluster, None if parent is None else self.clusters[parent], tally)

    def _new(self, about: str, parts: tuple[object, ...]) -> bool:
        """Whether these parts are others than those last asked for."""
        old = self._judged.get(about, ())
        self._judged[about] = parts
        return len(old) != len(parts) or any(a is not b for a, b in zip(old, parts, strict=True))


@contextmanager
def _group(group: str, about: object) -> Iterator[None]:
    """Whatever is raised inside is a disagreement of this group, named by the function that raised it."""
    try:
        yield
    except DisagreementError as error:
        error.group = group
        raise
    except Exception as error:
        *_, last = traceback.extract_tb(error.__traceback__)
        check = f"{type(error).__name__} in {Path(last.filename).stem}.{last.name}"
        raise DisagreementError(check, f"{about}: {error}", group) from error
