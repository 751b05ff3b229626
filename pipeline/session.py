"""A Spark session that leaves nothing behind: loopback only, no web pages, one folder of its own, no JVM afterwards.

Spark is imported here only when a session is wanted, since it takes long and may not be installed.
"""

from __future__ import annotations

import os
import signal
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from subprocess import TimeoutExpired
from types import FrameType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from engine.errors import RingsideError
from pipeline.temporary import temporary_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

APP_NAME: Final = "ringside"
DEFAULT_MASTER: Final = "local[*]"
SHIPPED_PACKAGES: Final = ("engine", "pipeline")
INSTALL_HINT: Final = "install Java 17 or newer and the extra: pip install 'pulsar-ringside[spark]'"
_JVM_PATIENCE_SEC: Final = 20
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


@contextmanager
def open_session(
    master: str | None = None, settings: Mapping[str, str] | None = None, *, cores: int | None = None
) -> Iterator[SparkSession]:
    """A session for the length of a ``with``; afterwards the JVM is gone and the temporary folder removed.

    ``master`` None means this machine with all its cores (``cores`` says how many), or what ``spark-submit`` was told.
    ``settings`` are Spark's own and win over ours. SIGTERM and SIGHUP end the ``with`` like ctrl+c does, with
    ``SystemExit(128 + number)``. Raises ``RingsideError`` when Spark or Java is missing.
    """
    _need_pyspark()
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    with _signals_as_exceptions(), temporary_folder() as folder:
        wanted = master or (None if submitted else _local_master(cores))
        conf = _sql_settings() | ({} if submitted else session_settings(wanted or "", folder)) | dict(settings or {})
        with _running(conf, wanted, folder) as spark:
            if not str(spark.conf.get("spark.master", "")).startswith("local"):
                spark.addArtifacts(str(zip_packages(folder)), pyfile=True)
            yield spark


def _local_master(cores: int | None) -> str:
    return DEFAULT_MASTER if cores is None else f"local[{cores}]"


def _need_pyspark() -> None:
    missing = [name for name in ("pyspark", "pyarrow", "pandas") if find_spec(name) is None]
    if missing:
        raise RingsideError(f"the fleet commands need Spark ({', '.join(missing)} is missing); {INSTALL_HINT}")


def _sql_settings() -> dict[str, str]:
    return {
        "spark.app.name": APP_NAME,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        "spark.sql.parquet.compression.codec": "zstd",
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


@contextmanager
def _running(conf: Mapping[str, str], master: str | None, folder: Path) -> Iterator[SparkSession]:
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415
    from pyspark.errors import PySparkRuntimeError  # noqa: PLC0415
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    # Without it workers take whatever python3 comes first on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark_conf = SparkConf(loadDefaults=False)
    spark_conf.setAll(list(conf.items()))
    if master is not None:
        spark_conf.setMaster(master)
    log = folder / "jvm.log"
    gateway = None
    spark = None
    try:
        try:
            with log.open("wb") as stream:
                gateway = launch_gateway(spark_conf, popen_kwargs={"stderr": stream})  # type: ignore[no-untyped-call]
        except (PySparkRuntimeError, OSError) as fault:
            raise RingsideError(f"Spark did not start: {_last_words(log)}; {INSTALL_HINT}") from fault
        context = SparkContext(conf=spark_conf, gateway=gateway)
        context.setLogLevel("ERROR")
        spark = SparkSession(context)
        yield spark
    finally:
        _end(spark, gateway)
        # The classes keep the dead gateway otherwise, and a second session in this process would use it.
        SparkContext._gateway = None
        SparkContext._jvm = None


def _last_words(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines()] if log.exists() else []
    telling = [line for line in lines if "JAVA" in line or "Error" in line or "Exception" in line]
    return next(iter([*telling, *reversed(lines)]), "no Java was found")


def _end(spark: SparkSession | None, gateway: Any) -> None:
    """Stop the session and wait for its JVM; killed when it does not go by itself."""
    if spark is not None:
        with suppress(Exception):
            spark.sparkContext.cancelAllJobs()
        with suppress(Exception):
            spark.stop()
    if gateway is None:
        return
    with suppress(Exception):
        gateway.shutdown()
    process = getattr(gateway, "proc", None)
    if process is None:
        return
    with suppress(OSError):
        process.stdin.close()
    try:
        process.wait(_JVM_PATIENCE_SEC)
    except TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def _signals_as_exceptions() -> Iterator[None]:
    """A polite request to end unwinds the stack instead of leaving the JVM and the folder behind."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    try:
        before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
        before[signal.SIGINT] = signal.getsignal(signal.SIGINT)
    except ValueError:  # not the main thread: signals are somebody else's
        before = {}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
