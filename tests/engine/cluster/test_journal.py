"""The journal loses nothing that it reported as saved, whatever happens to the file, the disk or the process."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from engine.cluster.commands import AddConsumer, AddTopic, KillConsumer, SplitBundle
from engine.cluster.journal.file import Journal, JournalFailure, Resumed, recover
from engine.cluster.timeline import Timeline
from engine.disk import Disk
from engine.errors import InputError
from tests.engine.cluster.support import cluster
from tests.journal_bytes import serialise_state

ROOT = Path(__file__).parents[3]
COMMANDS = (
    AddConsumer("billing", "dé\U0001f600\ud800"),
    KillConsumer("billing", 1),
    AddTopic("shop/eu/neu-\u4e2d\u6587", 3),
    SplitBundle("shop/eu", "0x00000000_0x40000000"),
)


def grown() -> Timeline:
    """Four steps, then a branch of two more from the second one, with the cursor one step before its end."""
    timeline = Timeline.start(cluster(), seed=-5, source="a\nsource\udc80")
    for command in COMMANDS:
        timeline, rejection = timeline.submit(command)
        assert rejection is None
    timeline = timeline.go_to(2)
    for name in ("x", "y"):
        timeline, _ = timeline.submit(AddConsumer("billing", name))
    return timeline.undo()


def contents(timeline: Timeline) -> tuple[object, ...]:
    """Everything that a timeline holds."""
    return (
        timeline.seed,
        timeline.source,
        timeline.cursor,
        serialise_state(timeline.initial),
        serialise_state(timeline.state),
        [(step.number, step.parent, step.depth, step.command, step.text, step.events) for step in timeline.log],
        [step.number for step in timeline.steps],
        timeline.branches,
    )


def created(path: Path, timeline: Timeline, disk: Disk | None = None) -> Journal:
    journal = Journal.create(path, timeline, disk=disk)
    assert isinstance(journal, Journal), journal
    return journal


def resumed(path: Path, disk: Disk | None = None) -> Resumed:
    result = Journal.resume(path, disk=disk)
    assert isinstance(result, Resumed), result
    return result


def add(timeline: Timeline, name: str) -> Timeline:
    after, rejection = timeline.submit(AddConsumer("billing", name))
    assert rejection is None
    return after


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.journal"


def test_what_was_saved_at_once_and_what_was_saved_step_by_step_read_back(path: Path, tmp_path: Path) -> None:
    """Branches, the cursor, the seed, names of every kind; and the state is the same byte for byte."""
    timeline = grown()
    created(path, timeline).close()
    assert contents(recover(path)[0]) == contents(timeline)
    assert recover(path)[1] == ()

    other = tmp_path / "step-by-step"
    growing = Timeline.start(cluster(), seed=-5, source="a\nsource\udc80")
    with created(other, growing) as journal:
        for command in COMMANDS:
            growing, _ = growing.submit(command)
            assert journal.save(growing) is None
        growing = growing.go_to(2)
        assert journal.save(growing) is None
        assert contents(recover(other)[0]) == contents(growing), "a move of the cursor is saved"
        growing = add(add(growing, "x"), "y").undo()
        assert journal.save(growing) is None
    assert contents(recover(other)[0]) == contents(timeline)


def test_a_resumed_journal_goes_on(path: Path) -> None:
    created(path, grown()).close()

    result = resumed(path)
    timeline = add(result.timeline.switch_branch(0), "z")
    assert result.journal.save(timeline) is None
    result.journal.close()

    assert contents(recover(path)[0]) == contents(timeline)


def test_nothing_new_writes_nothing(path: Path) -> None:
    timeline = grown()
    with created(path, timeline) as journal:
        size = path.stat().st_size
        assert journal.save(timeline) is None
        assert path.stat().st_size == size


def test_a_line_torn_at_every_byte_costs_that_line_and_nothing_else(path: Path) -> None:
    """The last line is a step; its name breaks inside UTF-8 characters too. Resuming keeps the torn bytes."""
    timeline = grown().end()
    longer, _ = timeline.submit(AddTopic("shop/eu/\u4e2d\u6587\U0001f600"))
    with created(path, timeline) as journal:
        kept = path.read_bytes()
        assert journal.save(longer) is None
    whole = path.read_bytes()
    last = whole[len(kept) :]
    assert last.count(b"\n") == 1 and len(last) > len(last.decode())

    for cut in range(len(last)):
        path.write_bytes(kept + last[:cut])
        result, problems = recover(path)
        assert contents(result) == contents(timeline), f"cut after {cut} bytes"
        assert len(problems) == (1 if cut else 0)
        if cut in (1, len(last) // 2, len(last) - 1):
            again = resumed(path)
            torn = path.with_name(f"{path.name}.torn")
            assert torn.read_bytes() == last[:cut]
            assert torn.name in again.problems[0].advice
            assert path.read_bytes() == kept
            assert again.journal.save(add(again.timeline, "z")) is None
            again.journal.close()
            assert recover(path)[0].state.subscriptions[0].consumers[-1].name == "z"
            torn.unlink()


@pytest.mark.parametrize(
    ("tail", "reason"),
    [
        (b"\0" * 4096, "4096 NUL bytes"),
        (b'{"kind":"st\0\0\0', "ends in NUL bytes"),
        (b'{"text":"\xe4\xb8', "inside a UTF-8 character"),
        (b'{"kind":"step"', "no end of line"),
    ],
)
def test_a_torn_tail_is_set_aside_with_its_reason(path: Path, tail: bytes, reason: str) -> None:
    created(path, grown()).close()
    lines = path.read_bytes().count(b"\n")
    path.write_bytes(path.read_bytes() + tail)

    result, (problem,) = recover(path)

    assert contents(result) == contents(grown())
    assert reason in problem.reason
    assert problem.line == lines + 1


def test_a_damaged_line_in_the_middle_keeps_what_is_before_and_names_the_line(path: Path) -> None:
    """Every byte of the third line is changed in turn; the check sum finds each."""
    created(path, grown()).close()
    lines = path.read_bytes().splitlines(keepends=True)
    damaged = lines[2]
    for at in range(0, len(damaged) - 1, 7):
        changed = damaged[:at] + bytes([damaged[at] ^ 1]) + damaged[at + 1 :]
        path.write_bytes(b"".join([*lines[:2], changed, *lines[3:]]))
        result, (problem,) = recover(path)
        assert problem.line == 3
        assert [step.command for step in result.log] == [COMMANDS[0]]


def test_resuming_a_damaged_journal_keeps_the_rest_beside_it_each_time(path: Path) -> None:
    created(path, grown()).close()
    lines = path.read_bytes().splitlines(keepends=True)
    for number in (1, 2):
        path.write_bytes(b"".join([*lines[:3], b"rubbish\n", *lines[4:]]))
        result = resumed(path)
        result.journal.close()
        torn = path.with_name(f"{path.name}.torn" + (".2" if number == 2 else ""))
        assert torn.read_bytes() == b"".join([b"rubbish\n", *lines[4:]])
        assert f"the {len(lines) - 4} lines behind it" in result.problems[0].reason
    assert path.read_bytes() == b"".join(lines[:3])


def sealed(entry: dict[str, object]) -> bytes:
    body = json.dumps(entry).encode()[:-1]
    return body + b',"~":"%08x"}\n' % zlib.crc32(body)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"kind": "story"}, "kind of line"),
        ({"kind": "step", "step": 9, "parent": 0}, "step 7 should"),
        ({"kind": "step", "step": 7, "parent": 7, "events": [{}]}, "with parent 7"),
        ({"kind": "step", "step": 7, "parent": 0, "events": []}, "no events"),
        ({"kind": "step", "step": 7, "parent": 0, "events": [{}], "command": {"type": "Dance"}}, "is none of"),
        (
            {
                "kind": "step",
                "step": 7,
                "parent": 0,
                "command": {"type": "RemoveTopic", "topic": "x"},
                "events": [{"type": "TopicRemoved", "topic": "x"}],
            },
            "does not fit what happened before",
        ),
        ({"kind": "cursor", "tip": 1, "cursor": 0}, "not there"),
        ({"kind": "cursor", "tip": 6, "cursor": 5}, "not there"),
    ],
)
def test_a_line_that_does_not_follow_from_those_before_is_set_aside(
    path: Path, entry: dict[str, object], reason: str
) -> None:
    created(path, grown()).close()
    path.write_bytes(path.read_bytes() + sealed(entry))

    result, (problem,) = recover(path)

    assert contents(result) == contents(grown())
    assert reason in problem.reason


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is empty"),
        (b"\0" * 100, "breaks off in its first line"),
        (b"some text\n", "check sum"),
        (sealed({"kind": "step"}), "no format number"),
        (sealed({"kind": "header", "format": 3}), "use the newer one that wrote it"),
        (sealed({"kind": "step", "format": 1}), "header"),
    ],
)
def test_a_file_without_a_timeline_is_refused_and_left_alone(path: Path, data: bytes, reason: str) -> None:
    path.write_bytes(data)

    with pytest.raises(InputError, match=reason):
        recover(path)
    with pytest.raises(InputError, match=reason):
        Journal.resume(path)
    assert path.read_bytes() == data
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_missing_file_and_a_directory_are_refused_with_a_sentence(tmp_path: Path) -> None:
    for wrong in (tmp_path / "none", tmp_path):
        with pytest.raises(InputError, match=r"cannot be read|is not a file"):
            recover(wrong)
        failure = Journal.resume(wrong)
        assert isinstance(failure, JournalFailure) and failure.action == "resume"
    failure = Journal.create(tmp_path / "no" / "such", grown())
    assert isinstance(failure, JournalFailure) and "No such file" in str(failure)


def test_a_file_that_exists_is_never_written_over(path: Path) -> None:
    path.write_bytes(b"precious")

    failure = Journal.create(path, grown())

    assert isinstance(failure, JournalFailure) and "resume it" in failure.reason
    assert path.read_bytes() == b"precious"


def test_two_processes_do_not_write_one_file(path: Path) -> None:
    """``flock`` goes by open file, so a second opening in this process stands for another process."""
    with created(path, grown()):
        failure = Journal.resume(path)
        assert isinstance(failure, JournalFailure)
        assert "another process writes this journal" in str(failure)
        assert contents(recover(path)[0]) == contents(grown()), "reading is allowed"
    resumed(path).journal.close()


class FullDisk(Disk):
    """Takes ``room`` more bytes, then fails as told: in a write (half of it done), in a sync, and in taking back."""

    def __init__(self, room: int = 10**9, *, sync_fails: bool = False, truncate_fails: bool = False) -> None:
        self.room = room
        self.sync_fails = sync_fails
        self.truncate_fails = truncate_fails

    def write(self, descriptor: int, data: bytes) -> int:
        if self.room <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = super().write(descriptor, data[: min(self.room, 7)])
        self.room -= taken
        return taken

    def sync(self, descriptor: int) -> None:
        if self.sync_fails:
            raise OSError(errno.ENOSPC, "No space left on device")
        super().sync(descriptor)

    def truncate(self, descriptor: int, size: int) -> None:
        if self.truncate_fails:
            raise OSError(errno.EIO, "Input/output error")
        super().truncate(descriptor, size)


def test_a_disk_that_fills_at_any_byte_is_a_value_and_the_session_goes_on(path: Path) -> None:
    """Nothing saved is lost, half a line is taken back, and the next save with room writes what is missing."""
    disk = FullDisk()
    timeline = Timeline.start(cluster())
    with created(path, timeline, disk) as journal:
        for room in range(0, 260, 13):
            safe = path.read_bytes()
            disk.room = room
            timeline = add(timeline, f"full {room}")
            failure = journal.save(timeline)
            assert isinstance(failure, JournalFailure), "a step has more bytes than that"
            assert (failure.error_number, failure.rolled_back) == (errno.ENOSPC, True)
            assert failure.saved_steps == journal.saved_steps
            assert "No space left on device" in str(failure) and "the session goes on" in str(failure)
            assert path.read_bytes() == safe
            timeline = add(timeline, "meanwhile").undo()
            disk.room = 10**9
            assert journal.save(timeline) is None
            assert contents(recover(path)[0]) == contents(timeline)


def test_a_sync_that_fails_is_not_a_save(path: Path) -> None:
    disk = FullDisk()
    timeline = grown()
    with created(path, timeline, disk) as journal:
        safe = path.read_bytes()
        disk.sync_fails = True
        timeline = add(timeline, "z")
        assert isinstance(journal.save(timeline), JournalFailure)
        assert path.read_bytes() == safe
        disk.sync_fails = False
        assert journal.save(timeline) is None
    assert contents(recover(path)[0]) == contents(timeline)


def test_half_a_line_that_cannot_be_taken_back_is_cut_off_by_the_next_save(path: Path) -> None:
    disk = FullDisk()
    before = grown()
    with created(path, before, disk) as journal:
        disk.room, disk.truncate_fails = 20, True
        timeline = add(before, "z")
        failure = journal.save(timeline)
        assert isinstance(failure, JournalFailure) and not failure.rolled_back
        assert contents(recover(path)[0]) == contents(before), "and until then it is read past"
        disk.room = 10**9
        assert isinstance(journal.save(timeline), JournalFailure), "nothing is written behind a torn line"
        disk.truncate_fails = False
        assert journal.save(timeline) is None
    result, problems = recover(path)
    assert contents(result) == contents(timeline) and problems == ()


def test_a_journal_that_cannot_be_begun_leaves_no_file(path: Path) -> None:
    for room in (0, 50):
        failure = Journal.create(path, grown(), disk=FullDisk(room))
        assert isinstance(failure, JournalFailure) and failure.action == "create"
        assert not path.exists()


def test_a_torn_tail_that_cannot_be_set_aside_stays_where_it_is(path: Path) -> None:
    created(path, grown()).close()
    data = path.read_bytes() + b"torn"
    path.write_bytes(data)

    failure = Journal.resume(path, disk=FullDisk(2))

    assert isinstance(failure, JournalFailure) and "the file is as it was" in failure.reason
    assert path.read_bytes() == data
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_the_real_full_device_is_a_value_too(path: Path) -> None:
    """A system without /dev/full fails to open it, which is a failure of the disk like any other."""
    expected = errno.ENOSPC if Path("/dev/full").exists() else errno.ENOENT

    class DevFull(Disk):
        def write(self, descriptor: int, data: bytes) -> int:
            full = os.open("/dev/full", os.O_WRONLY)
            try:
                return os.write(full, data)
            finally:
                os.close(full)

    timeline = grown()
    created(path, timeline).close()
    result = resumed(path, DevFull())

    failure = result.journal.save(add(result.timeline, "z"))

    assert isinstance(failure, JournalFailure) and failure.error_number == expected
    result.journal.close()
    assert contents(recover(path)[0]) == contents(timeline)


@pytest.mark.parametrize("shown", [1, 2, 25])
def test_a_killed_process_loses_nothing_it_showed(path: Path, shown: int) -> None:
    """SIGKILL in the middle of writing: every step whose number was printed is there."""
    writer = subprocess.Popen(
        [sys.executable, "-m", "tests.engine.cluster.journal_writer", str(path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout is not None
    with writer.stdout:
        lines = [writer.stdout.readline() for _ in range(shown)]
        writer.kill()
        writer.wait()
        lines += writer.stdout.readlines()
    last = max(int(line) for line in lines if line.endswith("\n"))

    result = resumed(path)
    result.journal.close()

    assert result.timeline.length >= last >= shown
    names = [consumer.name for consumer in result.timeline.state.subscriptions[0].consumers]
    assert names == [f"worker-{number}" for number in range(result.timeline.length)]
