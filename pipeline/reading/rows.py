"""Collect the rows of the tables while files are read, and count what was read and what was set aside."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from engine.errors import Problem
from engine.views.fleet.tables import Table
from pipeline.reading.topic_columns import Column, TopicsRead, rows_of_columns, table_of, topic_columns

Row = tuple[Any, ...]
BAD: Final = "bad"
NOTE: Final = "note"
SUPERSEDED: Final = "superseded"
CONTESTED: Final = "contested"
UNFIT: Final = (OverflowError, UnicodeEncodeError, pa.ArrowInvalid)
"""What pyarrow raises for a value that no column holds."""
# The engine's words for problems that lose nothing.
_NOTES: Final = (
    "the later one counts",
    "was read without",
    "was converted",
    "changed while it was being read",
    "passed over: ",
    "was mended: ",
)


def consumer_set_id(names: Sequence[str]) -> int:
    """Return a 64-bit number for a list of names, the same in every task; the job checks that no two lists share one.

    >>> consumer_set_id(["a", "b"]) == consumer_set_id(["ab"])
    False
    """
    digest = hashlib.blake2b(digest_size=8)
    for name in names:
        data = name.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(4, "little") + data)
    return int.from_bytes(digest.digest(), "little", signed=True)


IMPORT: Final = "import"
"""The job that reads answers, in rows of the quarantine."""


def quarantine_row(problem: Problem, table: str, rows: int = 0, kind: str = NOTE) -> Row:
    """Return one row of the quarantine; ``rows`` of ``table`` were set aside for this problem."""
    place = problem.path or "$"
    return (problem.source, place, problem.line, problem.column, table, rows, kind, problem.reason, problem.advice)


def is_note(problem: Problem) -> bool:
    """Whether a problem of the engine reports a repair, not a loss."""
    return any(words in problem.reason for words in _NOTES)


@dataclass(frozen=True)
class FileClusters:
    """The clusters of files by name: ``own`` of each, and those for which it holds if it is about no single broker."""

    own: Mapping[str, str] = field(default_factory=dict)
    concerned: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def of(self, file: str) -> str:
        """The cluster of a file, or of the file that it is a member of."""
        return self.own.get(file, self.own.get(file.partition(": ")[0], ""))

    def in_each(self, row: Row, file: str) -> list[Row]:
        """A row in every cluster for which its file holds."""
        clusters = self.concerned.get(file, self.concerned.get(file.partition(": ")[0], ("",)))
        return [(cluster, *row) for cluster in clusters]


@dataclass
class Rows:
    """The rows of some files, without their cluster.

    ``counts`` is the number of rows that the answers have by table, good or not.
    """

    topics: TopicsRead = field(default_factory=TopicsRead)
    boundary_lists: list[Row] = field(default_factory=list)
    bundle_reports: list[Row] = field(default_factory=list)
    brokers: list[Row] = field(default_factory=list)
    listed: list[Row] = field(default_factory=list)
    settings: list[Row] = field(default_factory=list)
    answers: list[Row] = field(default_factory=list)
    load_answers: list[Row] = field(default_factory=list)
    answer_bytes: int = 0
    quarantine: list[Row] = field(default_factory=list)
    sets: dict[tuple[str, tuple[str, ...]], int] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def add_topics(self, topics: TopicsRead) -> None:
        """Add topics with their subscriptions, consumers and publishers."""
        self.topics.extend(*vars(topics).values())
        self.counts.update(
            topics=len(topics),
            subscriptions=sum(len(wire.subscriptions) for wire in topics.wires),
            consumers=sum(len(facts.consumers) for wire in topics.wires for facts in wire.subscriptions.values()),
            publishers=sum(len(wire.publishers) for wire in topics.wires),
        )

    def keep_load_answer(self, broker: str, body: bytes, source: str) -> None:
        self.load_answers.append((broker, body, source))
        self.answer_bytes += len(body)

    def topic_tables(self, clusters: FileClusters) -> dict[Table, Any]:
        """The tables that have a topic, as ``pyarrow.Table``; there it is a dictionary."""
        shared: dict[str, tuple[Any, Any]] = {}
        of_files = [clusters.of(file) for file in self.topics.files]
        try:
            columns = topic_columns(self.topics, of_files, self.set_of)
            return {table: table_of(table, own, shared) for table, own in columns}
        except UNFIT:
            columns = topic_columns(self.topics, of_files, self.set_of)
            return {table: self._one_by_one(table, own) for table, own in columns}

    def _one_by_one(self, table: Table, columns: Iterable[Column]) -> Any:
        good = table.columns_of(self._fitting(table, rows_of_columns(table, columns)))
        topics = Column("topic", good["topic"].to_pylist(), range(good.num_rows))
        others = (Column(name, good[name].to_pylist()) for name in table.names if name != "topic")
        return table_of(table, [topics, *others], {})

    def table(self, table: Table, rows: Sequence[Row]) -> Any:
        """Some rows of another table."""
        try:
            return table.columns_of(rows)
        except UNFIT:
            return table.columns_of(self._fitting(table, rows))

    def _fitting(self, table: Table, rows: Iterable[Row]) -> list[Row]:
        """The rows without those that have a value that no column holds (a number of 100 digits), which go to the
        quarantine."""
        good: list[Row] = []
        for row in rows:
            try:
                table.columns_of([row])
                good.append(row)
            except UNFIT as fault:
                # The name itself may be what does not fit.
                name = str(row[1]).encode("utf-8", "backslashreplace").decode()
                reason = f"holds what no table can: {fault}"
                problem = Problem(str(row[-1]), f'$["{name}"]', reason, "record the answer again")
                self.quarantine.append(quarantine_row(problem, table.name, 1, BAD))
        return good

    def set_aside(self, table: str, problems: Iterable[Problem], rows: int, source: str) -> None:
        """Add the problems of one answer to the quarantine, with exactly ``rows`` rows of ``table`` charged to them.

        A problem at a place inside the answer is charged before one that concerns the whole answer.
        """
        ordered = sorted(problems, key=lambda problem: (is_note(problem), problem.path in ("", "$")))
        for problem in ordered:
            charged = min(rows, 0 if is_note(problem) else 1)
            rows -= charged
            self.quarantine.append(
                quarantine_row(problem, table, charged, NOTE if not charged and is_note(problem) else BAD)
            )
        if rows:
            rest = Problem(source, "$", f"{rows} more were set aside", "record the answer again, whole")
            self.quarantine.append(quarantine_row(rest, table, rows, BAD))

    def set_of(self, cluster: str, names: tuple[str, ...]) -> int:
        """Return the number of a list of consumer names, and keep the list for its table."""
        number = self.sets.get((cluster, names))
        if number is None:
            number = self.sets[cluster, names] = consumer_set_id(names)
        return number


def namespaces_of(topics: Any) -> Any:
    """``engine.names.namespace_of`` of an Arrow column. O(bytes)."""
    return pc.replace_substring_regex(topics, "(?s)^[^:]*://([^/]*/[^/]*).*$", r"\1")
