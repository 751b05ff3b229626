"""A Spark session that leaves nothing behind: the active one, or a new one that ends with its ``with``.

Spark is imported only when a session is opened, since that takes long and Spark may not be installed.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from engine.errors import InputError, RingsideError
from pipeline.failures import interrupt_behind, start_failure
from pipeline.temporary import temporary_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHIPPED_PACKAGES: Final = ("engine", "pipeline")
INSTALL_HINT: Final = (
    "install Java 17 or newer, name it in JAVA_HOME, and install the extra: pip install 'pulsar-ringside[spark]'"
)
_LOOPBACK: Final = "127.0.0.1"
_PATIENCE_SEC: Final = 20
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


@contextmanager
def open_session(
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
    *,
    cores: int | None = None,
    small: bool = False,
) -> Iterator[SparkSession]:
    """Open the active session, or a new one whose JVM and files are gone at the end of the ``with``.

    ``master`` None means this machine with all its cores (or ``cores`` of them), or the master given to
    ``spark-submit``; ``sc://HOST`` is a Connect server. ``small``: the input is small (``pipeline.storage.is_small``).
    ``settings`` are Spark's, and override ours. SIGTERM and SIGHUP end the ``with`` like ctrl+c, with ``SystemExit(128
    + number)``. Raises ``InputError`` where Spark is missing or refuses a setting, ``RingsideError`` where it does not
    start.
    """
    need_pyspark()
    from pyspark.sql import SparkSession  # noqa: PLC0415

    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    with signals_as_exceptions(), _silent_py4j(), temporary_folder() as folder:
        spark = None
        try:
            spark = _started(master, settings or {}, folder, cores, small=small)
            # PySpark's own handler calls the JVM during another call, which ends in pages of errors.
            with _handling({signal.SIGINT: signal.default_int_handler}):
                yield spark
        except BaseException as fault:
            behind = interrupt_behind(fault)
            if behind is not None or spark is None:
                # A JVM with busy tasks would answer only after them; everything it leaves is removed here.
                _kill_java()
            if behind is None or behind is fault:
                raise
            raise behind from None
        finally:
            with _handling(dict.fromkeys((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), _kill_java)):
                _stop(spark)


def _started(
    master: str | None, settings: Mapping[str, str], folder: Path, cores: int | None, *, small: bool
) -> SparkSession:
    from py4j.protocol import Py4JError  # noqa: PLC0415
    from pyspark.errors import PySparkException, PySparkRuntimeError  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    own_python = "PYSPARK_PYTHON" not in os.environ
    # Without it workers run the first python3 on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # The JVM that only builds the command line of the other one.
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", _SHORT_LIVED)
    remote = urlsplit(master or "").scheme == "sc" or "SPARK_REMOTE" in os.environ
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    ours = _sql_settings()
    if not (remote or submitted):
        master = master or (f"local[{cores or '*'}]")
        ours |= session_settings(master, folder, small=small)
    builder = SparkSession.builder.config(map={**ours, **settings})
    if master is not None:
        builder = builder.remote(master) if remote else builder.master(master)
    local = own_python and not (remote or submitted) and _is_local(master)
    try:
        with _stderr_to(folder / "jvm.log"), _installed_pyspark(folder) if local else nullcontext():
            spark: SparkSession = builder.getOrCreate()
    except PySparkRuntimeError as fault:
        raise RingsideError(f"Spark did not start: {start_failure(str(fault))}; {INSTALL_HINT}") from fault
    except (PySparkException, Py4JError) as fault:
        raise InputError(f"Spark did not start: {start_failure(str(fault))}; look at --master and --set") from fault
    if not _is_local(spark.conf.get("spark.master", "")):
        spark.addArtifacts(str(zip_packages(folder)), pyfile=True)
    return spark


def _is_local(master: str | None) -> bool:
    return re.fullmatch(r"local(\[.*\])?", master or "") is not None


@contextmanager
def _installed_pyspark(folder: Path) -> Iterator[None]:
    """Let the workers of a JVM that is started inside import the installed pyspark.

    Spark puts the archive of its own home in front of it, from which each of seven processes compiles it anew, which
    takes 0.4 s. So the home is one without that archive, unless the user has named one.
    """
    if "SPARK_HOME" in os.environ:
        yield
        return
    from pyspark.find_spark_home import _find_spark_home  # noqa: PLC0415

    home = folder / "spark-home"
    home.mkdir()
    for path in Path(_find_spark_home()).iterdir():
        if path.name in ("bin", "conf", "jars", "sbin"):
            (home / path.name).symlink_to(path)
    os.environ["SPARK_HOME"] = str(home)
    try:
        yield
    finally:
        del os.environ["SPARK_HOME"]


@contextmanager
def _silent_py4j() -> Iterator[None]:
    """Keep Py4J from logging errors that the caller reports anyway."""
    silent = logging.NullHandler()
    logging.getLogger().addHandler(silent)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(silent)


@contextmanager
def _stderr_to(log: Path) -> Iterator[None]:
    """Redirect the stderr of a JVM that is started inside to a file; failures are reported in one sentence."""
    before = os.dup(2)
    try:
        with log.open("wb") as stream:
            os.dup2(stream.fileno(), 2)
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)


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


def _sql_settings() -> dict[str, str]:
    return {
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
    }


_SHORT_LIVED: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A JVM that compiles lightly and collects with one thread: more does not pay off in a short run."""
SMALL_INPUT: Final = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Run plans as they are: compiling or optimizing them takes longer than a few thousand rows."""


def session_settings(master: str, folder: Path, *, small: bool = False) -> dict[str, str]:
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
        # The raw file system writes no checksum file for each part; the disk has its own.
        "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
        # Buffers on disk would need the other file system.
        "spark.hadoop.fs.s3a.fast.upload.buffer": "bytebuffer",
        "spark.hadoop.fs.azure.data.blocks.buffer": "bytebuffer",
    }
    if stays_on_this_machine(master):
        settings |= {"spark.driver.bindAddress": _LOOPBACK, "spark.driver.host": _LOOPBACK}
        settings |= {"spark.sql.shuffle.partitions": str(max(4, 2 * (os.cpu_count() or 1)))}
    if small:
        settings |= {**SMALL_INPUT, "spark.driver.extraJavaOptions": f"{java} {_SHORT_LIVED}"}
    return settings


def stays_on_this_machine(master: str) -> bool:
    """Whether a master URL needs no other address than loopback.

    >>> [stays_on_this_machine(url) for url in ("local[2]", "spark://127.0.0.1:7077", "spark://big:7077", "yarn")]
    [True, True, False, False]
    """
    return master.startswith("local") or urlsplit(master).hostname in (_LOOPBACK, "localhost", "::1")


def zip_packages(folder: Path) -> Path:
    """Write ``ringside.zip`` into ``folder``, with the packages that executors import from it.

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


def _stop(spark: SparkSession | None) -> None:
    """Stop the session, and wait for the JVM that was started for it."""
    from pyspark import SparkContext  # noqa: PLC0415

    gateway: Any = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    if spark is not None and (process is None or process.poll() is None):
        with suppress(Exception), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Unable to cleanly shutdown Spark JVM process")
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


class _Signalled(KeyboardInterrupt):
    """A request to end. A KeyboardInterrupt, since only for those Py4J notices that a call was interrupted."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def signals_as_exceptions() -> Iterator[None]:
    """Make SIGTERM and SIGHUP unwind the stack, so that the JVM and the folder are not left behind."""

    def leave(number: int, _: object) -> None:
        raise _Signalled(number)

    try:
        with _handling(dict.fromkeys((signal.SIGTERM, signal.SIGHUP), leave)):
            yield
    except _Signalled as signalled:
        raise SystemExit(128 + signalled.number) from None


@contextmanager
def _handling(handlers: Mapping[signal.Signals, Any]) -> Iterator[None]:
    """Install handlers for the length of a ``with``; a signal that was ignored (nohup) stays ignored."""
    before: dict[int, Any] = {}
    with suppress(ValueError):  # not the main thread, which alone handles signals
        for number, handler in handlers.items():
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for known, earlier in before.items():
            signal.signal(known, earlier)
