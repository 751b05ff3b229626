"""A real standalone cluster from the pyspark package: a master and two workers, processes of their own on loopback."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
import pyspark
import pytest
from pyspark.sql import SparkSession

from engine.views.fleet.tables import SETTINGS
from pipeline.jobs import job_called
from pipeline.jobs.result import JobOptions
from tests import fleet_results
from tests.patience import HANG_S
from tests.pipeline.test_fleet import Fleet

SPARK_CLASS = "org.apache.spark.deploy"
DRIVER = """
import json
import os
import sys
import time
from pathlib import Path

import pyarrow as pa
from pipeline.jobs import job_called
from pipeline.jobs.result import JobOptions
from engine.views.fleet.tables import SETTINGS
from pipeline.session import open_session
from pipeline.sink import write_by_engine
from pipeline.jobs.keys_folding import FoldAccount
from pipeline.runs import new_run
from engine.views.fleet.runs import Manifest

master, source, target, attempts, marks = sys.argv[1], *map(Path, sys.argv[2:])


def where(batches):
    import engine.bulk_hashing
    import pipeline.sink
    files = [os.path.abspath(module.__file__) for module in (engine.bulk_hashing, pipeline.sink)]
    # Speculation would let the executor that starts first do everything: it waits for the other one.
    (marks / f"at-{os.getppid()}").touch()
    deadline = time.monotonic() + 60
    while len(list(marks.glob("at-*"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"place": [json.dumps([os.getppid(), *files])]})


def work(batches, parts):
    from pyspark import TaskContext

    context = TaskContext.get()
    number, attempt = context.partitionId(), context.attemptNumber()
    account = FoldAccount()
    for batch in batches:
        names = [str(value) for value in batch.column(0).to_pylist()]
        parts.write(SETTINGS, SETTINGS.columns_of([("", name, "1", "f") for name in names]))
        account.rows += len(names)
    (marks / f"{number}-{attempt}").touch()

    def wait_for(other):
        deadline = time.monotonic() + 60
        while not (marks / f"{number}-{other}").exists() and time.monotonic() < deadline:
            time.sleep(0.05)

    if attempt > 0:
        # What is quick ends the attempt beside it, also before that one has written a row.
        wait_for(0)
    if number == 1 and attempt == 0:
        raise OSError("this attempt fails after it wrote")
    if number == 2:
        # The first attempt is so slow that another one is started beside it, and writes the same rows.
        wait_for(1)
    return account


settings = {"spark.executor.memory": "512m", "spark.driver.memory": "512m", "spark.cores.max": "2",
            "spark.scheduler.minRegisteredResourcesRatio": "1.0", "spark.sql.shuffle.partitions": "4",
            "spark.scheduler.maxRegisteredResourcesWaitingTime": "10min",
            "spark.speculation": "true", "spark.speculation.interval": "100ms", "spark.speculation.quantile": "0.5",
            "spark.speculation.multiplier": "1.1", "spark.speculation.minTaskRuntime": "100ms"}
with open_session(master, settings, small=True) as spark:
    rows = spark.range(0, 8, 1, 8).mapInArrow(where, "place string").collect()
    places = [json.loads(row.place) for row in rows]
    with new_run(attempts, "import", Manifest("one")) as draft:
        accounts = write_by_engine(spark.range(0, 8000, 1, 8), draft, work, FoldAccount)
    job_called("assign")(spark, source, target, JobOptions({"policies": "all"}, run_id="one"))
    job_called("bundles")(spark, source, target, JobOptions(run_id="two"))
print(json.dumps({"places": places, "rows": sum(each.rows for each in accounts), "tasks": len(accounts)}))
"""


@contextmanager
def daemon(folder: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """One process of the cluster; it is gone at the end, whatever happens."""
    home = Path(pyspark.__file__).parent
    java = f"-XX:-UsePerfData -Djava.io.tmpdir={folder}"
    result = {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    env = (
        os.environ
        | result
        | {"SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": java, "SPARK_LOCAL_DIRS": str(folder)}
    )
    with (folder / f"{words[0]}-{time.monotonic_ns()}.log").open("wb") as log:
        process = subprocess.Popen(
            [home / "bin" / "spark-class", *words], env=env, stdout=log, stderr=log, cwd=folder, start_new_session=True
        )
    try:
        yield process
    finally:
        for number in (signal.SIGTERM, signal.SIGKILL):
            # The whole group: a worker that dies leaves its executor otherwise.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)


def with_project() -> dict[str, str]:
    """The environment in which the project is found from any folder."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


@contextmanager
def cluster(tmp_path: Path) -> Iterator[str]:
    """Its URL; two workers with one core each."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    url = f"spark://127.0.0.1:{port}"
    here = ("--host", "127.0.0.1", "--webui-port", "0")
    with ExitStack() as running:
        start = running.enter_context(daemon(tmp_path, f"{SPARK_CLASS}.master.Master", *here, "--port", str(port)))
        deadline = time.monotonic() + HANG_S
        while not answers(port):
            assert time.monotonic() < deadline, "the master does not answer"
            with suppress(subprocess.TimeoutExpired):
                pytest.fail(f"the master ended with {start.wait(0.2)}")
        # Spark starts no second attempt on the host of the first, so each worker has a host of its own.
        for name, host in (("first", "127.0.0.1"), ("second", "127.0.0.2")):
            size = ("--cores", "1", "--memory", "1g", "--work-dir", str(tmp_path / name))
            running.enter_context(
                daemon(tmp_path, f"{SPARK_CLASS}.worker.Worker", "--host", host, "--webui-port", "0", *size, url)
            )
        yield url


def answers(port: int) -> bool:
    with suppress(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), 5).close()
        return True
    return False


def rows_of(folder: Path, table: str) -> list[tuple[object, ...]]:
    return duckdb.sql(f"select * from {fleet_results.sql(folder, table)} order by all").fetchall()


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The folder of one driver on a cluster, and what it printed. Speculation is on for all that it does."""
    folder = tmp_path_factory.mktemp("cluster")
    Fleet(5).write(folder / "in")
    (folder / "marks").mkdir()
    with cluster(folder) as url:
        # Relative names: executors have working folders of their own.
        command = [sys.executable, "-c", DRIVER, url, "in", "far", str(folder / "attempts"), str(folder / "marks")]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=HANG_S, check=False, cwd=folder, env=with_project()
        )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder, json.loads(done.stdout)


@pytest.mark.xdist_group("spark")
def test_executors_of_a_cluster_get_the_engine_and_give_the_results_of_one_machine(
    ran: tuple[Path, dict[str, Any]], spark: SparkSession, tmp_path: Path
) -> None:
    """They run in other processes, import what was shipped to them, and write the same rows."""
    folder, result = ran
    source, far, near = folder / "in", folder / "far", tmp_path / "near"
    assert len({place[0] for place in result["places"]}) == 2
    for _, *files in result["places"]:
        assert all("ringside.zip" in file and str(folder) in file for file in files), files
    job_called("assign")(spark, source, near, JobOptions({"policies": "all"}, run_id="one"))
    job_called("bundles")(spark, source, near, JobOptions(run_id="two"))
    for table in ("assignments", "consumer_loads", "subscription_loads", "bundle_topics", "bundle_splits"):
        ours, theirs = (sorted(map(repr, rows_of(folder, table))) for folder in (far, near))
        assert ours == theirs != []
    for name in ("assign.json", "bundles.json"):
        assert fleet_results.text_of(far, name) == fleet_results.text_of(near, name)


@pytest.mark.xdist_group("spark")
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has more than one loopback address")
def test_failed_and_speculative_attempts_leave_each_row_once(ran: tuple[Path, dict[str, Any]]) -> None:
    folder, result = ran
    assert (result["rows"], result["tasks"]) == (8000, 8)
    assert {"1-0", "1-1", "2-0", "2-1"} <= {path.name for path in (folder / "marks").iterdir()}
    name = SETTINGS.names.index("name")
    rows = rows_of(folder / "attempts", SETTINGS.name)
    assert sorted(int(str(row[name])) for row in rows) == list(range(8000))
    parts = fleet_results.parts(folder / "attempts", "settings")
    assert len(parts) == 8 and sorted(parts[0].parent.iterdir()) == parts
    assert sorted(path.name for path in (folder / "attempts").iterdir()) == ["latest", "runs", "settings"]
