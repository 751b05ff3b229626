"""New files: there whole or not at all, never over another one, and drafts of the dead are removed."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from engine.disk import Disk, whole_file


@pytest.fixture(params=["hard links", "no hard links"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """On file systems of both kinds."""

    def refused(*_: Any, **__: Any) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    if request.param == "no hard links":
        monkeypatch.setattr(os, "link", refused)
    return tmp_path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_has_its_name_once_it_is_whole(folder: Path) -> None:
    with whole_file(folder / "list") as file:
        file.write(b"all of it")
        assert "list" not in names(folder)
    assert names(folder) == ["list"]
    assert (folder / "list").read_bytes() == b"all of it"
    assert (folder / "list").stat().st_nlink == 1


def test_what_ends_the_writing_leaves_nothing(folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt), whole_file(folder / "list") as file:
        file.write(b"a part")
        raise KeyboardInterrupt
    assert names(folder) == []


@pytest.mark.parametrize("when", ["before", "meanwhile"])
@pytest.mark.parametrize("kind", ["file", "dangling link"])
def test_what_is_there_stays_as_it_is(folder: Path, kind: str, when: str) -> None:
    place = folder / "list"

    def put() -> None:
        if kind == "file":
            place.write_bytes(b"precious")
        else:
            place.symlink_to("nowhere")

    if when == "before":
        put()
    with pytest.raises(FileExistsError), whole_file(place):
        assert when == "meanwhile"
        put()
    assert names(folder) == ["list"]
    assert place.is_symlink() if kind == "dangling link" else place.read_bytes() == b"precious"


def test_drafts_of_the_dead_are_removed_and_those_of_the_living_stay(tmp_path: Path) -> None:
    disk = Disk()
    living = disk.draft(tmp_path)
    dead = disk.draft(tmp_path)
    os.close(dead.descriptor)  # as the system does when a process ends
    (tmp_path / ".ringside-mine.part").touch()
    (tmp_path / ".ringside-0123456789abcdef.part").mkdir()
    disk.discard(disk.draft(tmp_path))
    assert not dead.path.exists()
    assert names(tmp_path) == sorted([".ringside-0123456789abcdef.part", ".ringside-mine.part", living.path.name])
    disk.publish(living, tmp_path / "kept")
    disk.close(living.descriptor)
    assert (tmp_path / "kept").exists() and not living.path.exists()


def test_a_draft_that_is_taken_for_a_left_one_before_it_is_locked_is_begun_again(tmp_path: Path) -> None:
    class Robbed(Disk):
        robbed = False

        def lock(self, descriptor: int) -> bool:
            if not self.robbed:
                self.robbed = True
                for path in tmp_path.iterdir():
                    path.unlink()
            return super().lock(descriptor)

    disk = Robbed()
    draft = disk.draft(tmp_path)
    assert disk.robbed and names(tmp_path) == [draft.path.name]
    disk.discard(draft)
    assert names(tmp_path) == []


class Recorded(Disk):
    """What is done to which kind of file, in order."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def sync(self, descriptor: int) -> None:
        self.done.append("sync")
        super().sync(descriptor)

    def sync_directory(self, path: Path) -> None:
        self.done.append(f"sync {path.name}/")
        super().sync_directory(path)

    def close(self, descriptor: int) -> None:
        self.done.append("close")
        super().close(descriptor)


def open_descriptors() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}


@pytest.mark.parametrize(("private", "mode"), [(True, 0o600), (False, 0o644)])
def test_a_draft_has_the_rights_that_are_asked_for(tmp_path: Path, private: bool, mode: int) -> None:
    before, mask = open_descriptors(), os.umask(0o022)
    try:
        disk = Disk()
        draft = disk.draft(tmp_path, private=private)
        assert draft.path.stat().st_mode & 0o777 == mode
        assert os.get_inheritable(draft.descriptor) is False
        disk.discard(draft)
    finally:
        os.umask(mask)
    assert (names(tmp_path), open_descriptors()) == ([], before)


def test_a_file_is_on_the_disk_before_its_name_and_then_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, flushed = Recorded(), list[int]()
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (flushed.append(descriptor), fsync(descriptor))[1])
    before = open_descriptors()
    draft = disk.draft(tmp_path)
    disk.write_all(draft.descriptor, b"all")
    link = os.link
    monkeypatch.setattr(os, "link", lambda *paths: (disk.done.append("name"), link(*paths))[1])
    disk.publish(draft, tmp_path / "list")
    disk.close(draft.descriptor)
    assert disk.done == ["sync", "name", f"sync {tmp_path.name}/", "close"]
    assert len(flushed) == 2 and flushed[0] == draft.descriptor
    assert open_descriptors() == before
