"""A path can be a pipe or a device: never waited for without a writer, never read without an end."""

from __future__ import annotations

import os
import select
import socket
import threading
from pathlib import Path

import pytest

from engine.admin.files import read_file
from engine.admin.folders import read_files
from engine.errors import InputError
from engine.input import head_of, read_path
from engine.scenarios.script.run import load_script
from tests.starting import piped


def _pipe(folder: Path) -> Path:
    path = folder / "pipe.json"
    os.mkfifo(path)
    return path


def test_a_pipe_that_nobody_writes_to_is_not_waited_for(tmp_path: Path) -> None:
    pipe = _pipe(tmp_path)
    with pytest.raises(InputError, match="nobody writes to"):
        read_files(pipe)
    with pytest.raises(InputError, match="nobody writes to"):
        load_script(pipe)


def test_a_pipe_is_read_to_its_end_and_has_not_changed_meanwhile(tmp_path: Path) -> None:
    pipe, text = _pipe(tmp_path), b'{"boundaries": []}' * 20_000
    writer = threading.Thread(target=pipe.write_bytes, args=(text,), daemon=True)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    writer.start()
    select.select([reader], [], [])  # before the writer has opened the pipe, a read would find its end at once
    first = os.read(reader, 1)
    file, problems = read_file(pipe, pipe.name)
    writer.join()
    os.close(reader)
    assert file is not None
    assert (first + file.data, problems) == (text, ())


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_a_device_is_no_file(device: str) -> None:
    with pytest.raises(InputError, match="is a device"):
        read_files(Path(device))
    with pytest.raises(InputError, match="is a device"):
        load_script(device)


def test_a_file_without_an_end_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``/proc/kmsg`` calls itself a file, and has nothing more to read until the kernel says something."""
    path = tmp_path / "kmsg.json"
    path.touch()
    pieces = iter((b"some",))

    def nothing_more(*_: int) -> bytes:
        for piece in pieces:
            return piece
        raise BlockingIOError

    monkeypatch.setattr("os.read", nothing_more)
    with pytest.raises(InputError, match="no end"):
        read_path(path)


@pytest.mark.parametrize("kind", ["socket", "folder"])
def test_what_is_no_file_says_what_it_is(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x"
    if kind == "folder":
        path.mkdir()
    else:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(os.path.relpath(path))
    with pytest.raises(InputError, match=kind):
        read_path(path)
    assert head_of(path, 10) == b""


def test_what_a_command_writes_is_read_once_and_no_head_is_taken_from_it() -> None:
    with piped(b"x" * 1000) as path:
        assert head_of(Path(path), 10) == b""
        assert len(read_path(Path(path))) == 1000


def test_what_has_more_than_the_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "long.json"
    path.write_bytes(b"x" * 100)
    assert len(read_path(path, limit=100)) == 100
    with pytest.raises(InputError, match="more than 99 bytes"):
        read_path(path, limit=99)
