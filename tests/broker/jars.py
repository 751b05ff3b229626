"""The broker's jars, brought by Maven once and kept in the user's cache; and whether this machine can run them."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
RELEASE: Final = "4.2.4"
JAVA: Final = 17
FOLDER_VARIABLE: Final = "RINGSIDE_BROKER_JARS"
_DONE: Final = ".complete"
_ROCKSDB: Final = {
    ("Linux", "x86_64"): "linux64",
    ("Linux", "aarch64"): "linux-aarch64",
    ("Darwin", "x86_64"): "osx",
    ("Darwin", "arm64"): "osx",
}


class NoBrokerError(Exception):
    """A real broker cannot be had here, and why."""


def jars() -> Path:
    """The folder of the jars, resolved if need be (about 104 MB). Raises ``NoBrokerError``."""
    folder = _folder()
    if (folder / _DONE).is_file():
        _require_java()
        return folder
    _require_java()
    maven = shutil.which("mvn")
    native = _ROCKSDB.get((platform.system(), platform.machine()))
    if maven is None or native is None:
        raise NoBrokerError("Maven is not installed" if maven is None else f"no RocksDB for {platform.machine()}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    done = subprocess.run(
        [
            *(maven, "-B", "-ntp", "-q", "-f", str(HERE / "pom.xml"), "dependency:copy-dependencies"),
            *("-DincludeScope=runtime", f"-DoutputDirectory={folder}", f"-Drocksdb.classifier={native}"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise NoBrokerError(f"Maven could not bring the jars: {done.stdout.strip()[-300:]}")
    (folder / _DONE).write_text(RELEASE)
    return folder


def _folder() -> Path:
    given = os.environ.get(FOLDER_VARIABLE)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(given) if given else cache / "ringside" / f"broker-{RELEASE}"


def _require_java() -> None:
    if shutil.which("java") is None:
        raise NoBrokerError("Java is not installed")
    told = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', told)
    if version is None or int(version[1]) < JAVA:
        raise NoBrokerError(f"Java {JAVA} or newer is needed")
