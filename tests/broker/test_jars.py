"""Bringing the jars of a broker, with commands in the place of Java and Maven."""

from __future__ import annotations

import fcntl
import threading
from pathlib import Path

import pytest

from tests.broker.jars import FOLDER_VARIABLE, RELEASE_VARIABLE, NoBrokerError, jars, jars_of

JAVA = """#!/bin/sh
echo 'openjdk version "17.0.1"' >&2
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
        self.has("java", JAVA)
        patch.setenv("PATH", f"{self._commands}:/usr/bin:/bin")
        patch.setenv("RUNS", str(self._runs))
        patch.setenv(FOLDER_VARIABLE, str(self.kept))
        patch.delenv("JAVA_HOME", raising=False)
        patch.delenv(RELEASE_VARIABLE, raising=False)
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


def test_another_release_has_jars_of_its_own_and_may_need_a_newer_java(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(FOLDER_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    machine.has("mvn", BRINGS)
    first = jars()
    monkeypatch.setenv(RELEASE_VARIABLE, "5.0.0-M1")
    with pytest.raises(NoBrokerError, match="Java 21"):
        jars()
    home = tmp_path / "jdk"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text(JAVA.replace("17.0.1", "21.0.8"))
    (home / "bin" / "java").chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(home))
    second = jars()
    assert first != second
    assert (second / ".complete").read_text() == second.name == "broker-5.0.0-M1"
    monkeypatch.setenv(RELEASE_VARIABLE, "1.22")
    with pytest.raises(NoBrokerError, match=r"4\.2\.4, 5\.0\.0-M1"):
        jars()


def test_classes_of_another_release_have_a_folder_of_their_own_beside_the_brokers(machine: Machine) -> None:
    machine.has("mvn", BRINGS)
    folder = jars_of("3.0.7", machine.kept / "pom.xml")
    assert (folder.parent, folder.name) == (machine.kept.parent, "load-managers-3.0.7")
    assert (folder / "broker.jar").is_file() and not machine.kept.exists()
    assert jars_of("3.0.7", machine.kept / "pom.xml") == folder
    assert machine.runs == 1
