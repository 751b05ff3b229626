"""The JVM behind a session: started, watched over while it starts, and gone at the end whatever happens."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from engine.errors import InputError, RingsideError
from pipeline.failures import interrupt_behind, start_failure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INSTALL_HINT: Final = "install Java 17 or newer and the extra: pip install 'pulsar-ringside[spark]'"
_PATIENCE_SEC: Final = 20
_WORKERS_PATIENCE_SEC: Final = 2
_ASKED_TO_END: Final = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def running(conf: Mapping[str, str], master: str | None, folder: Path) -> Iterator[SparkSession]:
    """A session in a JVM of its own; what that says goes to ``folder``.

    Raises ``RingsideError`` when it does not start, ``InputError`` when the master or a setting is none.
    """
    from py4j.protocol import Py4JError  # noqa: PLC0415
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415
    from pyspark.errors import PySparkException  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    # Without it workers take whatever python3 comes first on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark_conf = SparkConf(loadDefaults=False)
    spark_conf.setAll(list(conf.items()))
    if master is not None:
        spark_conf.setMaster(master)
    gateway = None
    spark = None
    here = at_once = False
    with _without_stories():
        try:
            gateway = _launched(spark_conf, folder)
            try:
                context = SparkContext(conf=spark_conf, gateway=gateway)
                context.setLogLevel("ERROR")
                spark = SparkSession(context)
                here = str(spark.conf.get("spark.master", "")).startswith("local")
            except (PySparkException, Py4JError) as fault:
                raise InputError(f"Spark did not start: {start_failure(str(fault))}") from fault
            # PySpark's own handler speaks to the JVM in the middle of a call to it, which ends in pages of errors.
            with handling({signal.SIGINT: signal.default_int_handler}):
                yield spark
        except Exception as fault:
            behind = interrupt_behind(fault)
            if behind is None:
                raise
            at_once = here
            raise behind from None
        except BaseException:
            # On a cluster the master has to be told; here all that would be put in order is removed anyway.
            at_once = here or spark is None
            raise
        finally:
            _end(spark, gateway, at_once=at_once)
            # The classes keep the dead gateway otherwise, and a second session in this process would use it.
            SparkContext._gateway = None
            SparkContext._jvm = None


@contextmanager
def _without_stories() -> Iterator[None]:
    """What goes wrong is told once, by whoever catches it; Py4J also tells it to whoever set up no logging."""
    quiet = logging.NullHandler()
    logging.getLogger().addHandler(quiet)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Unable to cleanly shutdown Spark JVM process")
            yield
    finally:
        logging.getLogger().removeHandler(quiet)


def _launched(conf: Any, folder: Path) -> Any:
    """The gateway to a new JVM, or to that of ``spark-submit``; interrupted while it starts, it is killed."""
    from pyspark import java_gateway  # noqa: PLC0415
    from pyspark.errors import PySparkRuntimeError  # noqa: PLC0415

    log = folder / "jvm.log"
    started: list[subprocess.Popen[bytes]] = []

    class Remembered(subprocess.Popen[bytes]):
        def __init__(self, *words: Any, **named: Any) -> None:
            started.append(self)
            super().__init__(*words, **named)

    module: Any = java_gateway
    before, place = module.Popen, tempfile.tempdir
    # PySpark keeps the process to itself until it answers, and nobody could end it; it puts its own files there.
    module.Popen, tempfile.tempdir = Remembered, str(folder)
    try:
        with log.open("wb") as stream:
            return module.launch_gateway(conf, popen_kwargs={"stdout": stream, "stderr": stream})
    except (PySparkRuntimeError, OSError) as fault:
        _kill(started)
        raise _no_start(log) from fault
    except BaseException:
        _kill(started)
        raise
    finally:
        module.Popen, tempfile.tempdir = before, place


def _kill(started: list[subprocess.Popen[bytes]]) -> None:
    for process in started:
        if getattr(process, "pid", None) is not None:
            process.kill()
            process.wait()


def _no_start(log: Path) -> RingsideError:
    """What a JVM said that did not start: a setting that means nothing, or a Java that is missing or too old."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines()] if log.exists() else []
    wrong = next(
        (line for line in lines if line.startswith(("Invalid ", "Unrecognized ")) or "SparkException: " in line), None
    )
    if wrong is not None:
        return InputError(f"Spark did not start: {wrong.rpartition('Exception: ')[2]}; look at --master and --set")
    telling = [line for line in lines if "JAVA" in line or "Error" in line or "Exception" in line]
    words = next(iter([*telling, *reversed(lines)]), "no Java was found")
    return RingsideError(f"Spark did not start: {words}; {INSTALL_HINT}")


def _end(spark: SparkSession | None, gateway: Any, *, at_once: bool) -> None:
    """Stop the session and wait for its JVM and its workers; killed when they do not go by themselves.

    ``at_once``: killed without being asked first. To ask a JVM whose workers are busy takes as long as they are.
    """
    process = getattr(gateway, "proc", None)
    workers = _below(process.pid) if process is not None else []
    with _killing_on_signals(process):
        if process is not None and at_once:
            process.kill()
        if spark is not None:
            with suppress(Exception):
                spark.sparkContext.cancelAllJobs()
            with suppress(Exception):
                spark.stop()
        if gateway is not None:
            with suppress(Exception):
                gateway.shutdown()
        if process is None:
            return
        with suppress(OSError):
            process.stdin.close()
        try:
            process.wait(_PATIENCE_SEC)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        _wait_for(workers)


def _below(pid: int) -> list[tuple[int, str]]:
    """Every process that one started, directly or not, as far as the system tells: its id and when it began."""
    found: list[tuple[int, str]] = []
    with suppress(OSError):
        for listed in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in map(int, listed.read_text().split()):
                found += [(child, _began(child)), *_below(child)]
    return found


def _began(pid: int) -> str:
    """Tells a process from a later one of the same id; empty for one that has ended."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if state == "Z" else rest[18]


def _wait_for(workers: Sequence[tuple[int, str]]) -> None:
    """Workers end when their JVM does; one that is deep in a call is ended."""
    deadline = time.monotonic() + _WORKERS_PATIENCE_SEC
    while left := [pid for pid, began in workers if began and _began(pid) == began]:
        if time.monotonic() > deadline:
            for pid in left:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            return
        time.sleep(0.01)


@contextmanager
def _killing_on_signals(process: Any) -> Iterator[None]:
    """Who presses ctrl+c once more while it ends shortens the waiting, and what has to be removed is removed."""

    def kill(number: int, frame: FrameType | None) -> None:
        if process is not None:
            process.kill()

    with handling(dict.fromkeys((signal.SIGINT, *_ASKED_TO_END), kill)):
        yield


class _Asked(KeyboardInterrupt):
    """A polite request to end; only of this kind does Py4J know that a call was left in its middle."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def signals_as_exceptions() -> Iterator[None]:
    """A polite request to end unwinds the stack instead of leaving the JVM and the folder behind."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise _Asked(number)

    try:
        with handling(dict.fromkeys(_ASKED_TO_END, leave)):
            yield
    except _Asked as asked:
        raise SystemExit(128 + asked.number) from None


@contextmanager
def handling(handlers: Mapping[signal.Signals, Any]) -> Iterator[None]:
    """Signals handled so for the length of a ``with``; one that was ignored (nohup) stays ignored."""
    before: dict[int, Any] = {}
    try:
        for number, handler in handlers.items():
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, handler)
    except ValueError:  # not the main thread: signals are somebody else's
        before = {}
    try:
        yield
    finally:
        for known, earlier in before.items():
            signal.signal(known, earlier)
