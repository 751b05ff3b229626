"""One cluster under commands, with its oracle beside every step of every branch."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from jsonschema import Draft202012Validator

from engine.cluster.codec import parse_command_json, parse_state, serialise_command, serialise_state
from engine.cluster.commands import Command
from engine.cluster.grammar import parse_command
from engine.cluster.grammar_text import command_text
from engine.cluster.invariants import faults
from engine.cluster.journal import Journal, recover
from engine.cluster.journal_lines import cursor_line, header_line, read_lines, step_line
from engine.cluster.key_state import KeySubscription
from engine.cluster.navigation import navigate
from engine.cluster.timeline import Timeline
from engine.cluster.timeline_commands import TimelineCommand
from engine.views.dashboard import dashboard_view
from engine.views.document import dashboard_document
from engine.views.keys import keys_view
from engine.views.keys_document import keys_document
from engine.views.producers import producers_view
from engine.views.producers_answers import statistics_view
from engine.views.producers_document import producers_document
from engine.views.schemas import schema_of
from tests.oracles.cluster import Cluster
from tests.oracles.hashes import Hashes
from tests.soak.bridge import oracle_of
from tests.soak.compare import compare_states
from tests.soak.facts import compare_actives, compare_bundles, compare_owners, compare_statistics, judge_delivery
from tests.soak.tally import DisagreementError, Tally

LAWS_EVERY = 3
WRITTEN_EVERY = 12
SHOWN_EVERY = 20
"""Turns between two looks at what takes long: undo and branches; what is written; what is shown."""


@dataclass(slots=True)
class Session:
    """``clusters``: the oracle after each step, by the number of the step. ``thorough``: every look at every turn."""

    timeline: Timeline
    hashes: Hashes
    tally: Tally
    thorough: bool = False
    clusters: dict[int, Cluster] = field(default_factory=dict)
    _judged: dict[str, object] = field(default_factory=dict)
    _turns: int = 0

    @classmethod
    def open(cls, timeline: Timeline, hashes: Hashes, tally: Tally, *, thorough: bool = False) -> Session:
        """At the beginning of a timeline without steps."""
        assert not timeline.log, "a session begins with the first step"
        session = cls(timeline, hashes, tally, thorough)
        session.clusters[0] = oracle_of(timeline.state, hashes)
        return session

    @property
    def here(self) -> int:
        """The number of the step at the cursor."""
        return self.timeline.steps[self.timeline.cursor - 1].number if self.timeline.cursor else 0

    def carry_out(self, command: Command | TimelineCommand) -> None:
        """Carry a command out and compare everything. Raises DisagreementError, also for whatever the engine raises."""
        self._turns += 1
        self.tally.commands += 1
        with _raising(command):
            if isinstance(command, TimelineCommand):
                self._travel(command)
            else:
                self._submit(command)
            self._compare()

    def _submit(self, command: Command) -> None:
        before, tally, old = self.timeline, self.tally, self.clusters[self.here]
        self._read_back(command)
        expected = old.after(command)
        after, rejection = before.submit(command)
        said = None if rejection is None else str(rejection)
        tally.agree("refused", rejection is not None, expected is None, f"{command}: {said};")
        tally.agree("changed", after is not before, expected is not None and expected is not old, command)
        if rejection is not None:
            tally.refused += 1
            tally.holds("a refusal changes nothing", after.state is before.state, command)
        if after is before:
            return
        assert expected is not None
        step = after.steps[-1]
        tally.events += len(step.events)
        self.clusters[step.number] = expected
        self.timeline = after
        if not self._is_turn(LAWS_EVERY):
            return
        tally.holds("undo gives the state before", after.undo().state == before.state, command)
        tally.holds("redo gives the state after", after.undo().redo().state == after.state, command)
        if before.can_redo:
            old_tip = next(at for at, branch in enumerate(before.branches) if branch.current)
            back = after.switch_branch(old_tip)
            tally.holds("a branch leaves the original", back.state == before.end().state, command)

    def _travel(self, command: TimelineCommand) -> None:
        before = self.timeline
        moved = navigate(before, command).timeline
        self.timeline = moved
        again = (
            moved.go_to(before.cursor)
            if moved.steps == before.steps
            else moved.select(before.steps[-1].number, before.cursor)
        )
        self.tally.holds("there and back is the same", again.state == before.state, command)

    def _read_back(self, command: Command) -> None:
        state = self.timeline.state
        self.tally.agree("command as JSON", parse_command_json(serialise_command(command)), command)
        for text in (command_text(command), command_text(command, state)):
            self.tally.agree("command as text", parse_command(text, state), command, text)

    def _compare(self) -> None:
        state, cluster = self.timeline.state, self.clusters[self.here]
        self.tally.agree("faults", faults(state), ())
        compare_states(state, cluster, self.tally)
        compare_actives(state, cluster, self.tally)
        for mine, theirs in zip(state.key_subscriptions, cluster.keyed, strict=True):
            judge_delivery(mine, theirs, self.tally)
            self._owners(mine, theirs)
        if self._new("bundles", (state.topics, state.namespaces)):
            compare_bundles(state, cluster, self.tally)
        if self._is_turn(WRITTEN_EVERY):
            self._judge_written()
        if self._is_turn(SHOWN_EVERY):
            compare_statistics(state, cluster, self.tally)
            self._judge_documents(cluster)

    def _is_turn(self, every: int) -> bool:
        return self.thorough or self._turns % every == 0

    def _owners(self, mine: KeySubscription, theirs: Any) -> None:
        if self._new(mine.key, (mine.delivery.selector,)):
            compare_owners(mine, theirs, self._turns, self.tally)

    def _new(self, about: str, parts: tuple[object, ...]) -> bool:
        """Whether these parts are others than those last asked for."""
        old = self._judged.get(about)
        self._judged[about] = parts
        return not isinstance(old, tuple) or any(a is not b for a, b in zip(old, parts, strict=True))

    def _judge_written(self) -> None:
        timeline, tally = self.timeline, self.tally
        data = serialise_state(timeline.state)
        tally.holds("a state is the same bytes", serialise_state(parse_state(data)) == data)
        lines = [header_line(timeline), *map(step_line, timeline.log)]
        if timeline.steps:
            lines.append(cursor_line(timeline.steps[-1].number, timeline.cursor))
        found = read_lines(b"".join(lines), "soak")
        tally.agree("problems of a journal", found.problems, ())
        tally.agree("cursor of a journal", found.timeline.cursor, timeline.cursor)
        tally.agree("branches of a journal", found.timeline.branches, timeline.branches)
        tally.holds("a journal gives the live state", serialise_state(found.timeline.state) == data)

    def close(self) -> None:
        """What is judged at the end of a walk: all that is written, and a file. Raises DisagreementError."""
        with _raising("at the end"):
            self._judge_written()
            self._judge_file()

    def _judge_file(self) -> None:
        """Save a journal on a disk in two parts and read it again."""
        timeline = self.timeline
        with TemporaryDirectory() as folder:
            path = Path(folder, "soak.journal")
            made = Journal.create(path, timeline.home() if timeline.log else timeline)
            assert isinstance(made, Journal), made
            with made:
                failure = made.save(timeline)
            self.tally.agree("journal saved", failure, None)
            read, problems = recover(path)
            self.tally.agree("problems of a file", problems, ())
            same = serialise_state(read.state) == serialise_state(timeline.state)
            self.tally.holds("a file gives the live state", same and read.cursor == timeline.cursor)

    def _judge_documents(self, cluster: Cluster) -> None:
        timeline, tally = self.timeline, self.tally
        for at, subscription in enumerate(cluster.failover):
            document = dashboard_document(dashboard_view(timeline, subscription=at))
            _validate("dashboard", document, tally)
            shown = {row["name"]: row["active_consumer_id"] for row in document["partitions"]}
            tally.agree("active consumers shown", shown, cluster.actives(subscription), subscription.key)
            for node in document["namespaces"]:
                listed = len(cluster.listed(node["name"]))
                tally.agree("topics of a namespace shown", node["topics"], listed, node["name"])
        for keyed in cluster.keyed:
            document = keys_document(keys_view(timeline, keyed.key))
            _validate("keys", document, tally)
            selector = keyed.dispatcher.selector
            slots = sorted(selector.slot(key) for key in keyed.known)
            tally.agree("slots of keys shown", sorted(row["slot"] for row in document["keys"]), slots, keyed.key)
            for row in document["keys"]:
                tally.agree("owner of a key shown", row["consumer_id"], selector.owner(row["slot"]), row["key"])
        for producers in cluster.producers:
            view = producers_view(timeline, producers.topic)
            document = producers_document(view, statistics_view(timeline, producers.topic))
            _validate("producers", document, tally)
            objects = sum(map(len, producers.there))
            tally.agree("producer objects shown", document["totals"]["broker_producers"], objects, producers.topic)


@cache
def _validator(name: str) -> Any:
    return Draft202012Validator(schema_of(name))


def _validate(name: str, document: Any, tally: Tally) -> None:
    tally.agree(f"schema of {name}", [fault.message for fault in _validator(name).iter_errors(document)][:2], [])


@contextmanager
def _raising(about: object) -> Iterator[None]:
    """Whatever is raised inside is a disagreement, named by the place in the engine that raised it."""
    try:
        yield
    except DisagreementError:
        raise
    except Exception as error:
        *_, last = traceback.extract_tb(error.__traceback__)
        place = f"{Path(last.filename).stem}.{last.name}"
        raise DisagreementError(f"{type(error).__name__} in {place}", f"{about}: {error}") from error
