"""A timeline under arbitrary commands: what holds of every cluster, whatever its subscriptions and topics are."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from engine.cluster.commands import Command
from engine.cluster.grammar.reading import parse_command
from engine.cluster.grammar.text import command_text
from engine.cluster.journal.invariants import check
from engine.cluster.journal.lines import header_line, read_lines, step_line
from engine.cluster.state import ClusterState
from engine.cluster.timeline import Timeline
from engine.errors import Rejection
from tests.journal_bytes import parse_command_json, parse_state, serialise_command, serialise_state


class TimelineMachine(RuleBasedStateMachine):
    """Commands of people, refused or not. The first one creates the state, so no undo goes back before it."""

    timeline: Timeline

    def submit(self, command: Command) -> Rejection | None:
        """Carry a command out; it reads back from its own words, and what is refused changes nothing."""
        state = self.timeline.state
        assert parse_command_json(serialise_command(command)) == command
        assert parse_command(command_text(command), state) == command
        assert parse_command(command_text(command, state), state) == command
        self.timeline, refusal = self.timeline.submit(command)
        assert refusal is None or self.timeline.state is state
        return refusal

    @precondition(lambda self: self.timeline.length)
    @rule(count=st.integers(-3, 3))
    def travel(self, count: int) -> None:
        """There and back is the same state."""
        there = self.timeline.cursor
        moved = self.timeline.step_by(max(count, 1 - there))
        assert moved.go_to(there).state == self.timeline.state
        self.timeline = moved

    def same_history(self, written: ClusterState) -> None:
        """What follows from the events without being a field of the state is equal too."""
        raise NotImplementedError

    @invariant()
    def the_state_holds_and_is_the_fold_of_what_is_written(self) -> None:
        state = self.timeline.state
        check(state)
        written = parse_state(serialise_state(state))
        assert written == state
        self.same_history(written)

    @invariant()
    def the_journal_reads_back(self) -> None:
        lines = [header_line(self.timeline), *(step_line(step) for step in self.timeline.log)]
        result = read_lines(b"".join(lines), "machine")
        assert not result.problems
        assert result.timeline.state == self.timeline.at_step(len(self.timeline.log)).state
