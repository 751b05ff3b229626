"""The classes of a broker as Java keeps them once they are loaded and verified: they are half of what a start costs.

The first broker that ends without an archive being there writes one (90 MB, beside the jars). Java refuses an archive
of another release or of other jars and goes on without it. Such an archive goes on from one of Java's own classes; a
Java that was put together for a wheel has none, so one is made (12 MB, in a second).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Final

from tests.broker.releases import java, java_version

WRITING_S: Final = 60.0
"""How long a broker may take to write its classes down when it is asked to end."""
_QUIET: Final = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off")


def archive_of(jars: Path) -> Path:
    """Where the classes of these jars are kept for the installed Java."""
    return jars.with_name(f"{jars.name}-java-{java_version(java())}.jsa")


def to_read(jars: Path) -> tuple[str, ...]:
    """Options of a Java whose class path begins with these jars."""
    archive = archive_of(jars)
    return (f"-XX:SharedArchiveFile={archive}", *_QUIET) if archive.is_file() else ()


def to_write(draft: Path, jars: Path) -> tuple[str, ...]:
    """Options of one that writes its classes down when it ends."""
    return (*_to_go_on_from(jars), f"-XX:ArchiveClassesAtExit={draft}", *_QUIET)


def _to_go_on_from(jars: Path) -> tuple[str, ...]:
    """The option that names Java's own classes, where it does not find them by itself."""
    if (Path(java()).resolve().parents[1] / "lib" / "server" / "classes.jsa").is_file():
        return ()
    archive = archive_of(jars).with_suffix(".base.jsa")
    if not archive.is_file():
        beside = _beside(archive)
        dump = [java(), "-Xshare:dump", "-XX:+UseSerialGC", f"-XX:SharedArchiveFile={beside}"]
        if subprocess.run(dump, capture_output=True, check=False).returncode:
            return ()
        beside.replace(archive)
    return (f"-XX:SharedArchiveFile={archive}",)


def end_and_keep(process: subprocess.Popen[bytes], draft: Path, jars: Path) -> None:
    """Ask a process that was started ``to_write`` to end, and give its classes their name, if none was as fast."""
    if archive_of(jars).exists():
        return
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(WRITING_S)
        if draft.is_file():
            archive = archive_of(jars)
            with suppress(OSError):  # a disk without room: the next start takes as long as this one did
                beside = _beside(archive)
                shutil.copyfile(draft, beside)
                beside.replace(archive)


def forget(jars: Path) -> None:
    """Remove what was written of jars that are replaced now."""
    for archive in jars.parent.glob(f"{jars.name}-java-*.jsa"):
        archive.unlink(missing_ok=True)


def _beside(archive: Path) -> Path:
    """Where a process writes an archive that gets its name when all of it is there."""
    return archive.with_name(f".{archive.name}-{os.getpid()}")
