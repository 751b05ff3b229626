"""What is written: states, the lines of a journal, and a journal on a disk, each read back."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from engine.cluster.journal.file import Journal, recover
from engine.cluster.journal.lines import cursor_line, header_line, read_lines, step_line
from engine.cluster.timeline import Timeline
from tests.journal_bytes import parse_state, serialise_state
from tests.soak.tally import Tally


def judge_lines(timeline: Timeline, tally: Tally) -> None:
    """The state and all lines of a journal give what is there."""
    data = serialise_state(timeline.state)
    tally.holds("a state is the same bytes", serialise_state(parse_state(data)) == data)
    lines = [header_line(timeline), *map(step_line, timeline.log)]
    if timeline.steps:
        lines.append(cursor_line(timeline.steps[-1].number, timeline.cursor))
    result = read_lines(b"".join(lines), "soak")
    tally.agree("problems of a journal", result.problems, ())
    tally.agree("cursor of a journal", result.timeline.cursor, timeline.cursor)
    tally.agree("branches of a journal", result.timeline.branches, timeline.branches)
    tally.holds("a journal gives the live state", serialise_state(result.timeline.state) == data)


def judge_file(timeline: Timeline, tally: Tally) -> None:
    """A journal saved in two parts, and read again."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "soak.journal")
        result = Journal.create(path, timeline.home() if timeline.log else timeline)
        assert isinstance(result, Journal), result
        with result:
            failure = result.save(timeline)
        tally.agree("journal saved", failure, None)
        read, problems = recover(path)
        tally.agree("problems of a file", problems, ())
        same = serialise_state(read.state) == serialise_state(timeline.state)
        tally.holds("a file gives the live state", same and read.cursor == timeline.cursor)
