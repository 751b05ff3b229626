"""The jobs on Spark Connect, where there is no ``sparkContext``: the session is a client of a server on loopback.

The server is in the JVM of the other tests, the client a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests import fleet_results
from tests.patience import HANG_S

RECORDING = Path(__file__).parents[1] / "recordings" / "a-priority-001-8p-hash"
DRIVER = """
import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pipeline import jobs
from pipeline.jobs.result import JobOptions
from pipeline.session import SMALL_INPUT, open_session

spark = SparkSession.builder.remote(sys.argv[3]).config(map=SMALL_INPUT).getOrCreate()
try:
    with open_session() as session:
        assert session is spark, "the active session is not used"
    result = jobs.job_called("run")(spark, Path(sys.argv[1]), Path(sys.argv[2]), JobOptions())
    print(json.dumps([type(spark).__module__, result.summary["failed"]]))
finally:
    spark.stop()
"""


def test_a_whole_run_works_through_a_connect_server(spark: SparkSession, tmp_path: Path) -> None:
    missing = [name for name in ("grpc", "grpc_status", "zstandard") if find_spec(name) is None]
    if missing:
        pytest.skip(f"Spark Connect needs {', '.join(missing)}; pip install 'pyspark[connect]' brings them")
    services = spark._jvm.org.apache.spark.sql.connect.service  # type: ignore[union-attr]
    service = getattr(getattr(services, "SparkConnectService$"), "MODULE$")
    service.start(spark.sparkContext._jsc.sc())
    out = tmp_path / "out"
    ran = subprocess.run(
        [sys.executable, "-c", DRIVER, str(RECORDING), str(out), f"sc://127.0.0.1:{service.localPort()}"],
        capture_output=True, text=True, timeout=HANG_S, check=False, cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert json.loads(ran.stdout.splitlines()[-1]) == ["pyspark.sql.connect.session", {}]
    summary = fleet_results.document(out, "summary.json")
    assert summary["jobs"] == ["import", "assign", "bundles", "lint"]
    assert summary["agreement"]["reported"] == summary["agreement"]["agreeing"] > 0
