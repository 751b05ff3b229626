"""The broker's jars, brought by Maven once and kept in the user's cache."""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.broker.class_archive import forget
from tests.broker.releases import NoBrokerError, java, release

HERE: Final = Path(__file__).parent
FOLDER_VARIABLE: Final = "RINGSIDE_BROKER_JARS"
LIMIT_S: Final = 600.0
"""How long Maven may take."""
_COMPILER: Final = ("org.eclipse.jdt", "ecj", "3.42.0")
"""It needs no more than a Java that runs it (17 at least), and no installed Java has to be one with a compiler."""
_DONE: Final = ".complete"
_ROCKSDB: Final = {
    ("Linux", "x86_64"): "linux64",
    ("Linux", "aarch64"): "linux-aarch64",
    ("Darwin", "x86_64"): "osx",
    ("Darwin", "arm64"): "osx",
}


def jars(limit_s: float = LIMIT_S) -> Path:
    """The folder of a broker's jars, resolved if need be (108 MB, in at most ``limit_s``). Raises ``NoBrokerError``."""
    native = _ROCKSDB.get((platform.system(), platform.machine()))
    if native is None:
        raise NoBrokerError(f"no RocksDB for {platform.machine()}")
    one = release()
    options = (f"-Dpulsar.version={one.version}", f"-Drocksdb.classifier={native}", *one.options)
    return _brought(_folder(), ("-f", str(HERE / "pom.xml"), "generate-resources", *options), limit_s)


def more_jars() -> Path:
    """The folder of what a cluster needs besides (1.6 MB), resolved if need be. Raises ``NoBrokerError``."""
    folder = _folder().with_name(f"pair-{release().version}")
    return _brought(folder, ("-f", str(HERE / "pair" / "pom.xml"), "dependency:copy-dependencies"))


def jars_of(version: str, pom: Path) -> Path:
    """The folder of those jars of another release that a pom names, and of nothing that they depend on."""
    folder = _folder().with_name(f"load-managers-{version}")
    return _brought(folder, ("-f", str(pom), "generate-resources", f"-Dpulsar.version={version}"))


def compiler() -> Path:
    """The jar of a Java compiler (3 MB), resolved if need be. Raises ``NoBrokerError``."""
    _, name, version = _COMPILER
    folder = _folder().with_name(f"{name}-{version}")
    return _brought(folder, ("dependency:copy", f"-Dartifact={':'.join(_COMPILER)}")) / f"{name}-{version}.jar"


def _brought(folder: Path, words: tuple[str, ...], limit_s: float = LIMIT_S) -> Path:
    """A folder that Maven has filled when told these words.

    Of several test runs at once the first one brings the jars, and the others wait for it.
    """
    java()
    if (folder / _DONE).is_file():
        return folder
    try:
        with _alone(folder):
            if not (folder / _DONE).is_file():
                _bring(folder, words, limit_s)
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


def _bring(folder: Path, words: tuple[str, ...], limit_s: float) -> None:
    """Let Maven fill a folder beside this one, which gets its name once all of it is there."""
    if folder.exists() and any(entry.suffix != ".jar" for entry in folder.iterdir()):
        raise NoBrokerError(
            f"{folder} has other things in it than jars; name an empty folder, or one that is not there"
        )
    for left_over in folder.parent.glob(f".{folder.name}-*"):
        shutil.rmtree(left_over)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        _run_maven(draft, words, limit_s)
        (draft / _DONE).write_text(folder.name)
        if folder.exists():
            shutil.rmtree(folder)
        draft.rename(folder)
        forget(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _run_maven(target: Path, words: tuple[str, ...], limit_s: float) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise NoBrokerError("Maven is not installed")
    process = subprocess.Popen(
        [maven, "-B", "-ntp", "-q", *words, f"-DoutputDirectory={target}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env=_environment(),
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


def _environment() -> dict[str, str]:
    """Let Maven run with the Java on the path, if there is one: that of JAVA_HOME may lack what Maven needs."""
    others = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    return others if shutil.which("java") else {**others, "JAVA_HOME": str(Path(java()).resolve().parents[1])}


def _folder() -> Path:
    given = os.environ.get(FOLDER_VARIABLE)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(given) if given else cache / "ringside" / f"broker-{release().version}"
