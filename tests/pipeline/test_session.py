"""A session leaves nothing behind and listens to nobody outside this machine."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyspark
import pytest
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from engine.errors import RingsideError
from engine.views.fleet.tables import EVERY_TABLE
from pipeline.session import (
    SMALL_INPUT,
    handling_signals,
    open_session,
    plans_for,
    session_settings,
    temporary_folder,
    zip_packages,
)
from tests.patience import HANG_S
from tests.starting import signals_heard

LONG = """
import sys
from pyspark import SparkContext
from pipeline.session import open_session

with open_session(cores=1, settings={"spark.driver.memory": "512m"}) as spark:
    print(SparkContext._gateway.proc.pid, spark.conf.get("spark.local.dir"), flush=True)
    if len(sys.argv) > 1:
        spark.range(10**15).selectExpr("sum(hash(id))").collect()
"""


def started(*words: str, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", LONG, *words]
    with signals_heard():
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)


@pytest.mark.xdist_group("java")
@pytest.mark.parametrize("number", [None, signal.SIGINT, signal.SIGTERM], ids=str)
def test_at_the_end_the_jvm_is_gone_and_so_is_the_folder(number: signal.Signals | None) -> None:
    """Also when somebody presses ctrl+c, or asks it to end, in the middle of a job."""
    with started(*([] if number is None else ["long"])) as process:
        assert process.stdout is not None
        pid, folder = process.stdout.readline().split()
        if number is not None:
            process.send_signal(number)
        _, result = process.communicate(timeout=HANG_S)
    assert "while sending command" not in result
    expected = {None: 0, signal.SIGINT: (-signal.SIGINT, 130, 1), signal.SIGTERM: 143}[number]
    assert process.returncode in (expected if isinstance(expected, tuple) else (expected,))
    assert not Path(folder).exists()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)


@pytest.mark.xdist_group("java")
def test_killed_it_leaves_no_jvm_and_a_folder_that_the_next_run_removes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with started("long", env=os.environ | {"TMPDIR": str(tmp_path)}) as process:
        assert process.stdout is not None
        pid, folder = process.stdout.readline().split()
        jvm = os.pidfd_open(int(pid))
        process.kill()
        process.communicate(timeout=HANG_S)
    assert select.select([jvm], [], [], HANG_S)[0], "the JVM goes on without its driver"
    os.close(jvm)
    assert Path(folder).is_relative_to(tmp_path) and Path(folder).exists()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with temporary_folder():
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.xdist_group("java")
def test_interrupted_while_it_starts_the_jvm_is_gone_as_well(tmp_path: Path) -> None:
    """PySpark would leave it: told to end before it could say where it listens, it waits for ever."""
    with started(env=os.environ | {"TMPDIR": str(tmp_path)}) as process:
        while not (java := java_below(process.pid)):
            assert process.poll() is None
            os.sched_yield()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=HANG_S)
    assert process.returncode != 0
    for pid in java:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert list(tmp_path.glob("ringside-*")) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_a_session_with_its_own_code(number: int, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[object] = []
    monkeypatch.setattr("pipeline.session._session_of_this_process", lambda: None)
    monkeypatch.setattr("pipeline.session._started", lambda *_, **__: "spark")
    monkeypatch.setattr("pipeline.session._kill_java", lambda *_: None)
    monkeypatch.setattr("pipeline.session._stop", lambda spark, **_: stopped.append(spark))
    with pytest.raises(SystemExit) as ended, open_session():
        signal.raise_signal(number)
    assert (ended.value.code, stopped) == (code, ["spark"])


def java_below(pid: int) -> list[int]:
    """The JVM that a process has started, or the script that is about to become one."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children if "java" in Path(f"/proc/{child}/comm").read_text()]


def test_the_active_session_is_used_and_goes_on(spark: SparkSession) -> None:
    with open_session() as same:
        assert same is spark
    assert spark.range(2).count() == 2


def test_the_session_of_another_thread_is_used_and_goes_on(spark: SparkSession) -> None:
    def opened() -> bool:
        assert SparkSession.getActiveSession() is None
        with open_session() as same:
            return same.sparkContext is spark.sparkContext

    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(opened).result()
    assert spark.range(2).count() == 2


@pytest.mark.xdist_group("java")
def test_a_jvm_that_others_started_is_used_and_goes_on() -> None:
    """Its context was stopped; two JVMs in one process would be taken for each other."""
    code = """
from pyspark import SparkContext
from pipeline.session import open_session

SparkContext("local[1]", "theirs").stop()
gateway = SparkContext._gateway
with open_session(cores=1) as spark:
    print(spark.range(2).count(), spark.sparkContext.appName, SparkContext._gateway is gateway)
print(SparkContext("local[1]", "again").appName, SparkContext._gateway is gateway)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stdout.split() == ["2", "ringside", "True", "again", "True"], ran.stderr


def test_who_started_it_with_nohup_is_obeyed() -> None:
    def heard(*_: object) -> None:
        pytest.fail("no signal was sent")

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with handling_signals(heard):
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is heard
        assert signal.getsignal(signal.SIGTERM) is not heard
    finally:
        signal.signal(signal.SIGHUP, before)


def test_without_java_one_sentence_says_what_to_install(tmp_path: Path) -> None:
    for word in ("bash", "dirname", "python3"):
        result = next(Path(folder) / word for folder in ("/usr/bin", "/bin") if (Path(folder) / word).exists())
        (tmp_path / word).symlink_to(result)
    env = {"PATH": str(tmp_path), "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    with started(env=env) as process:
        _, reported = process.communicate(timeout=HANG_S)
    assert process.returncode == 1
    last = reported.strip().splitlines()[-1]
    assert "Spark did not start" in last
    assert "install Java 17" in last
    assert "JAVA_HOME" in last


def test_a_master_that_nobody_answers_at_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a minute of tries Spark stops its context, and then says only that."""

    class Context:
        _gateway = object()  # of somebody else, so that no JVM is started or ended

        def __init__(self, **_: object) -> None:
            raise Py4JError("Cannot call methods on a stopped SparkContext.")

    monkeypatch.setattr("pyspark.SparkContext", Context)
    monkeypatch.setattr("pipeline.session._session_of_this_process", lambda: None)
    master = "spark://127.0.0.1:7999"
    with pytest.raises(RingsideError) as refused, open_session(master):
        pass
    assert f"no master answers at {master}" in str(refused.value) and "stopped" not in str(refused.value)


@pytest.mark.xdist_group("java")
def test_a_setting_that_java_refuses_is_the_reason(tmp_path: Path) -> None:
    """PySpark only says that Java is gone."""
    code = "from pipeline.session import open_session\nwith open_session(settings={'spark.driver.memory': '1x'}): pass"
    env = os.environ | {"TMPDIR": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=env)
    last = ran.stderr.strip().splitlines()[-1]
    assert "-Xmx1x" in last and "--set" in last
    assert list(tmp_path.iterdir()) == []


def test_everything_that_listens_listens_on_loopback(spark: SparkSession) -> None:
    pid = SparkContext._gateway.proc.pid  # type: ignore[union-attr]
    folder = Path(f"/proc/{pid}/fd")
    if not folder.is_dir():
        assert sys.platform != "linux"
        return
    own = {os.readlink(entry).removeprefix("socket:[").rstrip("]") for entry in folder.iterdir()}  # noqa: PTH115
    listening = []
    for family in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{family}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in own:
                listening.append(words[1].partition(":")[0])
    assert listening
    assert set(listening) <= {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}


def test_nothing_is_written_into_the_working_folder(spark: SparkSession, tmp_path: Path) -> None:
    assert spark.range(3).count() == 3
    assert not {"spark-warehouse", "metastore_db", "derby.log", "artifacts"} & {
        path.name for path in Path.cwd().iterdir()
    }
    assert spark.conf.get("spark.ui.enabled") == "false"


def test_a_cluster_elsewhere_is_not_made_to_find_the_driver_on_loopback(tmp_path: Path) -> None:
    assert session_settings("local[2]", tmp_path)["spark.driver.bindAddress"] == "127.0.0.1"
    assert "spark.driver.bindAddress" not in session_settings("spark://big:7077", tmp_path)


def test_a_small_input_gets_a_session_without_what_pays_later(tmp_path: Path) -> None:
    small, large = (session_settings("local[2]", tmp_path, small=small) for small in (True, False))
    assert small["spark.driver.extraJavaOptions"].startswith(large["spark.driver.extraJavaOptions"])
    assert small["spark.sql.shuffle.partitions"] == "1" < large["spark.sql.shuffle.partitions"]
    assert "spark.sql.codegen.wholeStage" not in large


def test_the_archive_for_executors_holds_both_packages(tmp_path: Path) -> None:
    with zipfile.ZipFile(zip_packages(tmp_path)) as archive:
        names = set(archive.namelist())
    assert {"engine/bulk_hashing.py", "pipeline/transforms/owners.py"} <= names
    assert not any("__pycache__" in name for name in names)


def test_a_table_is_the_same_to_spark_and_to_arrow(spark: SparkSession) -> None:
    from pyspark.sql.pandas.types import to_arrow_schema

    for table in EVERY_TABLE:
        frame = spark.createDataFrame([], table.ddl)
        theirs = to_arrow_schema(frame.schema, timezone="UTC")
        assert [(field.name, _plain(field.type)) for field in theirs] == [
            (field.name, _plain(field.type)) for field in table.arrow
        ]


def _plain(kind: object) -> str:
    return str(kind).replace("element:", "item:").replace(" not null", "")


def test_workers_import_the_installed_pyspark(spark: SparkSession) -> None:
    """Not the archive of Spark's home, which each process would compile anew."""

    def where(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyspark

        yield from (pa.RecordBatch.from_pydict({"place": [pyspark.__file__]}) for _ in batches)

    (row,) = spark.range(0, 1, 1, 1).mapInArrow(where, "place string").collect()
    assert row.place == pyspark.__file__


def test_plans_for_small_input_end_with_it(spark: SparkSession) -> None:
    name = "spark.sql.shuffle.partitions"
    earlier = spark.conf.get(name)
    spark.conf.set(name, "3")
    try:
        before = {setting: spark.conf.get(setting, None) for setting in SMALL_INPUT}
        with pytest.raises(OSError, match="full"), plans_for(spark, small=True):
            assert {setting: spark.conf.get(setting) for setting in SMALL_INPUT} == SMALL_INPUT
            raise OSError("full")
        with plans_for(spark, small=False):
            assert {setting: spark.conf.get(setting, None) for setting in SMALL_INPUT} == before
        assert {setting: spark.conf.get(setting, None) for setting in SMALL_INPUT} == before
    finally:
        spark.conf.set(name, earlier)
