"""A Spark session that leaves nothing behind: the one of this process, or a new one that ends with its ``with``.

Spark is imported only when a session is opened, since that takes long and Spark may not be installed.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import shutil
import signal
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from importlib.util import find_spec
from pathlib import Path
from socketserver import BaseServer
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from engine.errors import INSTALL_SPARK, InputError, RingsideError, system_reason
from pipeline.failures import start_failure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


PREFIX: Final = "ringside-spark-"
_LOCK: Final = ".in-use"
_ROOM_BYTES: Final = 1 << 20


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder for the length of a ``with``; a lock in it shows that its owner is alive.

    Raises ``RingsideError`` when it cannot be written.
    """
    place = Path(tempfile.gettempdir())
    _sweep(place)
    with ExitStack() as stack:
        try:
            named = tempfile.TemporaryDirectory(prefix=PREFIX, dir=place, ignore_cleanup_errors=True)
            folder = Path(stack.enter_context(named))
            lock = stack.enter_context((folder / _LOCK).open("wb"))
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Spark's error is no help when it cannot write there, so try it first.
            lock.write(bytes(_ROOM_BYTES))
            lock.truncate(0)
        except OSError as fault:
            reason = f"cannot write to the temporary folder {place}: {system_reason(fault)}"
            raise RingsideError(f"{reason}; make room, or name another folder in TMPDIR") from fault
        yield folder


def _sweep(place: Path) -> None:
    """Remove our folders whose owner was killed: their lock is free."""
    for folder in place.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            # A folder without a lock file is new, or of a release without locks.
            with (folder / _LOCK).open("r+b") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)


SHIPPED_PACKAGES: Final = ("engine", "pipeline")
INSTALL_HINT: Final = f"install Java 17 or newer and name it in JAVA_HOME; {INSTALL_SPARK}"
_STOPPED: Final = "stopped SparkContext"
_LOOPBACK: Final = "127.0.0.1"
_PATIENCE_SEC: Final = 20
SQL_SETTINGS: Final = {
    "spark.app.name": "ringside",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.parquet.compression.codec": "zstd",
    # Spark's own default is a deprecated form, which other tools read as a time without a zone.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Spark sizes a Parquet table by its compressed bytes: with its default of 10 MB it would hand five million rows
    # to every task, which do not fit into memory.
    "spark.sql.autoBroadcastJoinThreshold": "1m",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    # Else each call of a function of PySpark is several calls of the JVM, to name its line in errors.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}
"""The settings of every session that is opened here."""
SMALL_INPUT: Final = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Run plans as they are: compiling or optimizing them takes longer than a few thousand rows."""
SHORT_LIVED: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
"""A JVM that compiles lightly and collects with one thread: more does not pay off in a short run.

Where it compiles lightly, Java keeps at most 48 MB of compiled code. Spark fills that within minutes, and Java then
drops and compiles again what is still needed; 240 MB is its size otherwise.
"""
_CLASSES_OFTEN_USED: Final = (
    "PythonUtils",
    "functions",
    "org.apache.spark.sql.functions",
    "org.apache.spark.sql.classic.SparkSession",
    "org.apache.spark.sql.types.Metadata",
)
"""As PySpark spells them when it looks them up, thousands of times in a run."""


@contextmanager
def open_session(
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
    *,
    cores: int | None = None,
    small: bool = False,
) -> Iterator[SparkSession]:
    """Open the session of this process, or a new one whose JVM and files are gone at the end of the ``with``.

    ``master`` None means this machine with all its cores (or ``cores`` of them), or the master given to
    ``spark-submit``; ``sc://HOST`` is a Connect server. ``small``: the input is small (``pipeline.storage.is_small``).
    ``settings`` are Spark's, and override ours. SIGTERM and SIGHUP end the ``with`` like ctrl+c, with ``SystemExit(128
    + number)``. Raises ``InputError`` where Spark is missing or refuses a setting, ``RingsideError`` where it does not
    start.
    """
    need_pyspark()
    active = _session_of_this_process()
    if active is not None:
        yield active
        return
    from pyspark import SparkContext  # noqa: PLC0415

    # A JVM whose context was stopped belongs to who started it, and has room for another context.
    own_jvm = SparkContext._gateway is None
    signals: list[int] = []

    def leave(number: int, _: object) -> None:
        signals.append(number)
        # For no other exception Py4J closes the connection on which a call was interrupted.
        raise KeyboardInterrupt

    def kill(*_: object) -> None:
        if own_jvm:
            _kill_java()

    with _silent_py4j(), temporary_folder() as folder:
        spark = None
        try:
            with handling_signals(leave):
                spark = _started(master, settings or {}, folder, cores, small=small)
                # PySpark's own handler calls the JVM during another call, which ends in pages of errors.
                with handling_signals(leave):
                    yield spark
        except BaseException:
            if signals or spark is None:
                # A JVM with busy tasks would answer only after them; everything it leaves is removed here.
                kill()
            if not signals:
                raise
            # Unwinding an interrupted call often raises another exception.
            raise KeyboardInterrupt if signals[0] == signal.SIGINT else SystemExit(128 + signals[0]) from None
        finally:
            with handling_signals(kill):
                _stop(spark, own_jvm=own_jvm)


def _session_of_this_process() -> SparkSession | None:
    """The active session, or one of the only context that a process can have: other threads see no active session."""
    from pyspark.sql import SparkSession  # noqa: PLC0415

    active = SparkSession.getActiveSession()
    if active is None:
        from pyspark import SparkContext  # noqa: PLC0415

        if SparkContext._active_spark_context is not None:
            return SparkSession.builder.getOrCreate()
    return active


def _started(
    master: str | None, settings: Mapping[str, str], folder: Path, cores: int | None, *, small: bool
) -> SparkSession:
    from py4j.protocol import Py4JError  # noqa: PLC0415
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415
    from pyspark.errors import PySparkException, PySparkRuntimeError  # noqa: PLC0415
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    own_python = "PYSPARK_PYTHON" not in os.environ
    # Without it workers run the first python3 on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder, log = SparkSession.builder, folder / "jvm.log"
    try:
        remote = urlsplit(master or "").scheme == "sc" or "SPARK_REMOTE" in os.environ
        if remote or "PYSPARK_GATEWAY_PORT" in os.environ:  # of a JVM that spark-submit has started
            builder = builder.config(map={**SQL_SETTINGS, **settings})
            if master is not None:
                builder = builder.remote(master) if remote else builder.master(master)
        else:
            master = master or f"local[{cores or '*'}]"
            conf = SparkConf(loadDefaults=False).setMaster(master)
            conf.setAll([*(session_settings(master, folder, small=small) | dict(settings)).items()])
            gateway = SparkContext._gateway
            if gateway is None:
                home = _home_without_archive(folder) if own_python and _is_local(master) else nullcontext()
                with home, log.open("wb") as stream:
                    gateway = launch_gateway(conf, {"stderr": stream})  # type: ignore[no-untyped-call]
            SparkContext(conf=conf, gateway=gateway)
        spark: SparkSession = builder.getOrCreate()
    except PySparkRuntimeError as fault:
        # Of a JVM that cannot begin, PySpark says only that it is gone.
        gone = fault.getCondition() == "JAVA_GATEWAY_EXITED"
        reason = start_failure(log.read_text(errors="replace") if gone else str(fault))
        raise RingsideError(f"Spark did not start: {reason}; look at --master and --set, or {INSTALL_HINT}") from fault
    except (PySparkException, Py4JError) as fault:
        if _STOPPED in str(fault):  # by Spark, once it gave the master up
            raise RingsideError(f"Spark did not start: no master answers at {master}; check its address") from fault
        raise InputError(f"Spark did not start: {start_failure(str(fault))}; look at --master and --set") from fault
    if not remote:
        _keep_classes(spark.sparkContext._jvm)
    if not _is_local(spark.conf.get("spark.master", "")):
        spark.addArtifacts(str(zip_packages(folder)), pyfile=True)
    return spark


def _keep_classes(jvm: Any) -> None:
    """Look these classes up once: PySpark calls the JVM at each use, which searches all jars for a name alone."""
    for name in _CLASSES_OFTEN_USED:
        setattr(jvm, name, getattr(jvm, name))


def _is_local(master: str | None) -> bool:
    return re.fullmatch(r"local(\[.*\])?", master or "") is not None


@contextmanager
def _home_without_archive(folder: Path) -> Iterator[None]:
    """Let the workers of a JVM that is started inside import the installed pyspark.

    Spark puts the archive of its own home in front of it, from which each of seven processes compiles it anew, which
    takes 1.5 s of CPU. So the home is one without that archive, unless the user has named one.
    """
    if "SPARK_HOME" in os.environ:
        yield
        return
    import pyspark  # noqa: PLC0415

    home = folder / "spark-home"
    home.mkdir()
    for name in ("bin", "conf", "jars", "sbin"):
        (home / name).symlink_to(Path(pyspark.__file__).with_name(name))
    os.environ["SPARK_HOME"] = str(home)
    try:
        yield
    finally:
        del os.environ["SPARK_HOME"]


@contextmanager
def _silent_py4j() -> Iterator[None]:
    """Keep PySpark from printing errors that the caller reports anyway: Py4J logs them on the root logger, and the
    server of accumulators prints a page where the JVM ends before it."""
    silent = logging.NullHandler()
    logging.getLogger().addHandler(silent)
    printing, BaseServer.handle_error = BaseServer.handle_error, _ignore  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        BaseServer.handle_error = printing  # type: ignore[method-assign]
        logging.getLogger().removeHandler(silent)


def _ignore(*_: object) -> None:
    """Print nothing."""


def activate(spark: SparkSession) -> None:
    """Make a session the active one of this thread: writing looks up data sources there, and a new thread has none.

    The documented ways set it for the main thread only; this call sets it as a side effect.
    """
    spark.createDataFrame([], "nothing int")


def need_pyspark() -> None:
    """Raise ``InputError`` when packages are missing, before anything has begun."""
    missing = [name for name in ("pyspark", "pyarrow", "pandas") if find_spec(name) is None]
    if missing:
        names = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        raise InputError(f"the fleet commands need Spark ({names}); {INSTALL_HINT}")


def session_settings(master: str, folder: Path, *, small: bool = False) -> dict[str, str]:
    """The settings of a driver we start ourselves; ``folder`` takes everything Spark writes beside its results."""
    java = f"-XX:-UsePerfData -Djava.io.tmpdir={folder}"
    settings = {
        **SQL_SETTINGS,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder),
        "spark.driver.memory": "3g",
        "spark.driver.extraJavaOptions": java,
        # The raw file system writes no checksum file for each part; the disk has its own.
        "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
        # Buffers on disk would need the other file system.
        "spark.hadoop.fs.s3a.fast.upload.buffer": "bytebuffer",
        "spark.hadoop.fs.azure.data.blocks.buffer": "bytebuffer",
    }
    # These masters need no other address than loopback.
    if master.startswith("local") or urlsplit(master).hostname in (_LOOPBACK, "localhost", "::1"):
        settings |= {"spark.driver.bindAddress": _LOOPBACK, "spark.driver.host": _LOOPBACK}
        settings |= {"spark.sql.shuffle.partitions": str(max(4, 2 * (os.cpu_count() or 1)))}
    if small:
        settings |= {**SMALL_INPUT, "spark.driver.extraJavaOptions": f"{java} {SHORT_LIVED}"}
    return settings


@contextmanager
def plans_for(spark: SparkSession, *, small: bool) -> Iterator[None]:
    """Plan for ``small`` input within a ``with``, whatever the session was opened for."""
    before = {name: spark.conf.get(name, None) for name in SMALL_INPUT} if small else {}
    for name in before:
        spark.conf.set(name, SMALL_INPUT[name])
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)


def zip_packages(folder: Path) -> Path:
    """Write ``ringside.zip`` into ``folder``, with the packages that executors import from it.

    Pure Python only: numpy, pyarrow, pandas, mmh3, msgspec and sortedcontainers must be installed there.
    """
    target = folder / "ringside.zip"
    root = Path(__file__).resolve().parents[1]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for package in SHIPPED_PACKAGES for path in (root / package).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.write(path, path.relative_to(root))
    return target


def _stop(spark: SparkSession | None, *, own_jvm: bool) -> None:
    """Stop the session, and wait for the JVM that was started for it."""
    from pyspark import SparkContext  # noqa: PLC0415

    gateway: Any = SparkContext._gateway if own_jvm else None
    process = getattr(gateway, "proc", None)
    if spark is not None and (process is None or process.poll() is None):
        with suppress(Exception), warnings.catch_warnings(action="ignore"):
            spark.stop()
    if process is not None:
        with suppress(Exception):
            gateway.shutdown()
            process.stdin.close()
            process.wait(_PATIENCE_SEC)
        process.kill()
        process.wait()
        # A second session in this process would call the dead JVM.
        SparkContext._gateway = SparkContext._jvm = None


def _kill_java(*_: object) -> None:
    """Kill the JVMs of this process; one that was interrupted during its start would wait forever."""
    for listed in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):
            for child in listed.read_text().split():
                if "java" in Path(f"/proc/{child}/comm").read_text():
                    os.kill(int(child), signal.SIGKILL)


@contextmanager
def handling_signals(handler: Callable[[int, Any], None]) -> Iterator[None]:
    """Handle the signals that ask this process to end; one that was ignored (nohup) stays ignored."""
    before: dict[int, Any] = {}
    with suppress(ValueError):  # not the main thread, which alone handles signals
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for known, earlier in before.items():
            signal.signal(known, earlier)
