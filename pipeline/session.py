"""A Spark session and a temporary folder that leave nothing behind: loopback only, no web pages, no JVM afterwards.

Spark is imported here only when a session is wanted, since it takes long and may not be installed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from engine.errors import InputError, RingsideError
from pipeline.gateway import INSTALL_HINT, running, signals_as_exceptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

APP_NAME: Final = "ringside"
DEFAULT_MASTER: Final = "local[*]"
SHIPPED_PACKAGES: Final = ("engine", "pipeline")
_LOOPBACK: Final = "127.0.0.1"
_LOG_SETTINGS: Final = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c{1}: %m%n%ex
logger.repl.name = org.apache.spark.api.python.PythonGatewayServer
logger.repl.level = error
"""
PREFIX: Final = "ringside-spark-"
_LOCK: Final = ".in-use"
_ROOM_BYTES: Final = 1 << 20


@contextmanager
def open_session(
    master: str | None = None, settings: Mapping[str, str] | None = None, *, cores: int | None = None
) -> Iterator[SparkSession]:
    """A session for the length of a ``with``; afterwards the JVM is gone and the temporary folder removed.

    ``master`` None means this machine with all its cores (``cores`` says how many), or what ``spark-submit`` was told.
    ``settings`` are Spark's own and win over ours. SIGTERM and SIGHUP end the ``with`` like ctrl+c does, with
    ``SystemExit(128 + number)``. Raises ``InputError`` when Spark is missing, ``RingsideError`` when Java is.
    """
    need_pyspark()
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    with signals_as_exceptions(), temporary_folder() as folder:
        wanted = master or (None if submitted else _local_master(cores))
        conf = _sql_settings() | ({} if submitted else session_settings(wanted or "", folder)) | dict(settings or {})
        with running(conf, wanted, folder) as spark:
            if not str(spark.conf.get("spark.master", "")).startswith("local"):
                spark.addArtifacts(str(zip_packages(folder)), pyfile=True)
            yield spark


def _local_master(cores: int | None) -> str:
    return DEFAULT_MASTER if cores is None else f"local[{cores}]"


def need_pyspark() -> None:
    """Raises ``InputError`` when packages are missing: that is told before anything is begun."""
    missing = [name for name in ("pyspark", "pyarrow", "pandas") if find_spec(name) is None]
    if missing:
        told = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        raise InputError(f"the fleet commands need Spark ({told}); {INSTALL_HINT}")


def _sql_settings() -> dict[str, str]:
    return {
        "spark.app.name": APP_NAME,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        "spark.sql.parquet.compression.codec": "zstd",
        # Spark sizes a Parquet table by its compressed bytes: with its default of 10 MB it would hand five million rows
        # to every task, which do not fit into memory.
        "spark.sql.autoBroadcastJoinThreshold": "1m",
        "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    }


def session_settings(master: str, folder: Path) -> dict[str, str]:
    """The settings of a driver we start ourselves; ``folder`` takes everything Spark writes beside its results."""
    quiet = folder / "log4j2.properties"
    quiet.write_text(_LOG_SETTINGS)
    java = f"-XX:-UsePerfData -Djava.io.tmpdir={folder} -Dlog4j2.configurationFile=file:{quiet}"
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder),
        "spark.driver.memory": "3g",
        "spark.driver.extraJavaOptions": java,
        # The plain form writes no check-sum file beside each part; the disk has its own.
        "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
        # Buffers on disk would need the other form.
        "spark.hadoop.fs.s3a.fast.upload.buffer": "bytebuffer",
        "spark.hadoop.fs.azure.data.blocks.buffer": "bytebuffer",
    }
    if stays_on_this_machine(master):
        settings |= {"spark.driver.bindAddress": _LOOPBACK, "spark.driver.host": _LOOPBACK}
        settings |= {"spark.sql.shuffle.partitions": str(max(4, 2 * (os.cpu_count() or 1)))}
    return settings


def stays_on_this_machine(master: str) -> bool:
    """Whether a master URL needs no other address than loopback.

    >>> [stays_on_this_machine(url) for url in ("local[2]", "spark://127.0.0.1:7077", "spark://big:7077", "yarn")]
    [True, True, False, False]
    """
    return master.startswith("local") or urlsplit(master).hostname in (_LOOPBACK, "localhost", "::1")


def zip_packages(folder: Path) -> Path:
    """``ringside.zip`` in ``folder`` with the packages that executors import from it.

    Pure Python only: numpy, pyarrow, pandas, mmh3, msgspec and sortedcontainers must be installed there.
    """
    target = folder / "ringside.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in SHIPPED_PACKAGES:
            root = Path(__file__).resolve().parents[1] / package
            for path in sorted(root.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    archive.write(path, f"{package}/{path.relative_to(root).as_posix()}")
    return target


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder for the length of a ``with``; a lock in it says that its owner lives.

    Raises ``RingsideError`` when there is no place for one.
    """
    place = Path(tempfile.gettempdir())
    _sweep(place)
    folder = None
    try:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
        lock = (folder / _LOCK).open("wb")
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Spark says nothing that helps when it cannot write there, so it is tried first.
        lock.write(bytes(_ROOM_BYTES))
        lock.truncate(0)
    except OSError as fault:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        reason = f"cannot write to the temporary folder {place}: {fault.strerror or fault}"
        raise RingsideError(f"{reason}; make room, or name another folder in TMPDIR") from fault
    try:
        with lock:
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _sweep(place: Path) -> None:
    """Remove folders of ours whose owner was killed: nobody holds their lock."""
    for folder in place.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            # One without a lock has just been made, or is older than locks are.
            with (folder / _LOCK).open("r+b") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
