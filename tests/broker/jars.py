"""The broker's jars, brought by Maven once and kept in the user's cache; and whether this machine can run them."""

from __future__ import annotations

import fcntl
import os
import platform
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.broker.class_archive import forget
from tests.broker.java import java

HERE: Final = Path(__file__).parent
FOLDER_VARIABLE: Final = "RINGSIDE_BROKER_JARS"
RELEASE_VARIABLE: Final = "RINGSIDE_BROKER_RELEASE"
"""Which release is started, one of ``RELEASES``; without it the first one."""
LIMIT_S: Final = 600.0
"""How long Maven may take."""


@dataclass(frozen=True, slots=True)
class Release:
    """A release of Pulsar, the oldest Java that runs it, and versions that its own build does not fix."""

    version: str
    java: int
    properties: tuple[str, ...] = ()


RELEASES: Final = (
    Release("4.2.4", 17),
    # Its jackson-databind wants newer annotations than its parent pom names.
    Release("5.0.0-M1", 21, ("-Djackson.annotations.version=2.21",)),
)
_DONE: Final = ".complete"
_ROCKSDB: Final = {
    ("Linux", "x86_64"): "linux64",
    ("Linux", "aarch64"): "linux-aarch64",
    ("Darwin", "x86_64"): "osx",
    ("Darwin", "arm64"): "osx",
}


class NoBrokerError(Exception):
    """A real broker cannot be had here, and why."""


def release() -> Release:
    """The release to start. Raises ``NoBrokerError`` for one whose jars nobody has tried."""
    version = os.environ.get(RELEASE_VARIABLE) or RELEASES[0].version
    for known in RELEASES:
        if known.version == version:
            return known
    versions = ", ".join(known.version for known in RELEASES)
    raise NoBrokerError(f"{RELEASE_VARIABLE} is {version}; there are {versions}")


def more_jars(limit_s: float = LIMIT_S) -> Path:
    """The folder of what a cluster needs besides (1.6 MB), resolved if need be. Raises ``NoBrokerError``."""
    return jars(limit_s, _folder().with_name(f"pair-{release().version}"), HERE / "pair" / "pom.xml")


def jars_of(version: str, pom: Path) -> Path:
    """The folder of those jars of another release that a pom names, and of nothing that they depend on."""
    folder = _folder().with_name(f"load-managers-{version}")
    return jars(LIMIT_S, folder, pom, (f"-Dpulsar.version={version}", "-DexcludeTransitive=true"))


def jars(
    limit_s: float = LIMIT_S, folder: Path | None = None, pom: Path = HERE / "pom.xml", options: tuple[str, ...] = ()
) -> Path:
    """The folder of a broker's jars, resolved if need be (104 MB, in at most ``limit_s``). Raises ``NoBrokerError``.

    Of several test runs at once the first one brings them, and the others wait for it.
    """
    _require_java()
    folder = folder or _folder()
    if (folder / _DONE).is_file():
        return folder
    try:
        with _alone(folder):
            if not (folder / _DONE).is_file():
                _bring(folder, pom, limit_s, options)
    except OSError as error:
        raise NoBrokerError(f"the jars cannot be kept: {error}") from error
    return folder


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other test runs from bringing the same jars; the lock of a run that was killed is gone with it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _bring(folder: Path, pom: Path, limit_s: float, options: tuple[str, ...]) -> None:
    """Let Maven fill a folder beside this one, which gets its name once all of it is there."""
    if folder.exists() and any(entry.suffix != ".jar" for entry in folder.iterdir()):
        raise NoBrokerError(
            f"{folder} has other things in it than jars; name an empty folder, or one that is not there"
        )
    for left_over in folder.parent.glob(f".{folder.name}-*"):
        shutil.rmtree(left_over)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        _run_maven(draft, pom, limit_s, options)
        (draft / _DONE).write_text(folder.name)
        if folder.exists():
            shutil.rmtree(folder)
        draft.rename(folder)
        forget(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _run_maven(target: Path, pom: Path, limit_s: float, options: tuple[str, ...]) -> None:
    maven = shutil.which("mvn")
    native = _ROCKSDB.get((platform.system(), platform.machine()))
    if maven is None or native is None:
        raise NoBrokerError("Maven is not installed" if maven is None else f"no RocksDB for {platform.machine()}")
    process = subprocess.Popen(
        [
            *(maven, "-B", "-ntp", "-q", "-f", str(pom), "dependency:copy-dependencies"),
            *("-DincludeScope=runtime", f"-DoutputDirectory={target}", f"-Drocksdb.classifier={native}"),
            *(options or (f"-Dpulsar.version={release().version}", *release().properties)),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env=_with_the_java_on_the_path(),
    )
    try:
        printed, _ = process.communicate(timeout=limit_s)
    except BaseException as error:
        os.killpg(process.pid, signal.SIGKILL)  # it and all it started: one of them would hold the pipe open
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            raise NoBrokerError(f"Maven did not bring the jars within {limit_s:g} s") from error
        raise
    if process.returncode:
        raise NoBrokerError(f"Maven could not bring the jars: {printed.strip()[-300:]}")


def _with_the_java_on_the_path() -> dict[str, str]:
    """The environment without JAVA_HOME, if there is a Java on the path: the one it names may lack what Maven needs."""
    named = () if shutil.which("java") is None else ("JAVA_HOME",)
    return {name: value for name, value in os.environ.items() if name not in named}


def _folder() -> Path:
    given = os.environ.get(FOLDER_VARIABLE)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(given) if given else cache / "ringside" / f"broker-{release().version}"


def _require_java() -> None:
    if shutil.which(java()) is None:
        raise NoBrokerError("Java is not installed")
    printed = subprocess.run([java(), "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', printed)
    needed = release()
    if version is None or int(version[1]) < needed.java:
        raise NoBrokerError(
            f"Java {needed.java} or newer is needed for Pulsar {needed.version}; JAVA_HOME may name one"
        )
