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

import duckdb
import pyspark
import pytest
from pyspark.sql import SparkSession

from pipeline.jobs import job_called
from pipeline.jobs.result import JobOptions
from tests.patience import HANG_S
from tests.pipeline.test_fleet import Fleet

SPARK_CLASS = "org.apache.spark.deploy"
DRIVER = """
import json
import sys
from pathlib import Path

from pipeline.jobs import dealing, job_called
from pipeline.jobs.result import JobOptions
from pipeline.session import open_session

master, source, target = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
settings = {"spark.executor.memory": "512m", "spark.driver.memory": "512m", "spark.cores.max": "2",
            "spark.scheduler.minRegisteredResourcesRatio": "1.0"}
# However small the fleet is, the executors do the work.
dealing.SMALL_ROWS = -1


def where(number):
    import os
    import engine.bulk_hashing
    import pipeline.pieces
    files = [os.path.abspath(module.__file__) for module in (engine.bulk_hashing, pipeline.pieces)]
    return json.dumps([os.getppid(), *files]).encode()


with open_session(master, settings) as spark:
    places = [json.loads(each) for each in dealing.in_tasks(spark, 8, where)]
    job_called("assign")(spark, source, target, JobOptions({"policies": "all"}))
    job_called("bundles")(spark, source, target, JobOptions())
print(json.dumps(places))
"""


@contextmanager
def daemon(folder: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """One process of the cluster; it is gone at the end, whatever happens."""
    home = Path(pyspark.__file__).parent
    java = f"-XX:-UsePerfData -Djava.io.tmpdir={folder}"
    told = {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    env = (
        os.environ
        | told
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


@pytest.fixture
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
        for name in ("first", "second"):
            size = ("--cores", "1", "--memory", "1g", "--work-dir", str(tmp_path / name))
            running.enter_context(daemon(tmp_path, f"{SPARK_CLASS}.worker.Worker", *here, *size, url))
        yield url


def answers(port: int) -> bool:
    with suppress(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), 5).close()
        return True
    return False


def rows_of(folder: Path, table: str) -> list[tuple[object, ...]]:
    return duckdb.sql(f"select * from '{folder}/{table}/*.parquet' order by all").fetchall()


@pytest.mark.xdist_group("spark")
def test_executors_of_a_cluster_get_the_engine_and_give_the_results_of_one_machine(
    cluster: str, spark: SparkSession, tmp_path: Path
) -> None:
    """They run in other processes, import what was shipped to them, and write the same rows."""
    source, far, near = (tmp_path / name for name in ("in", "far", "near"))
    Fleet(5).write(source)
    # Relative names: executors have working folders of their own.
    command = [sys.executable, "-c", DRIVER, cluster, source.name, far.name]
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=HANG_S, check=False, cwd=tmp_path, env=with_project()
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    places = json.loads(ran.stdout)
    assert len({place[0] for place in places}) == 2
    for _, *files in places:
        assert all("ringside.zip" in file and str(tmp_path) in file for file in files), files
    job_called("assign")(spark, source, near, JobOptions({"policies": "all"}))
    job_called("bundles")(spark, source, near, JobOptions())
    for table in ("assignments", "consumer_loads", "subscription_loads", "bundle_topics", "bundle_splits"):
        assert rows_of(far, table) == rows_of(near, table)
        assert rows_of(far, table)
    for name in ("assign.json", "bundles.json"):
        assert (far / name).read_bytes() == (near / name).read_bytes()
