"""A disk that takes no more, and one that may not be written to: one sentence, and the old result stays."""

from __future__ import annotations

import hashlib
import json
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession

from engine.errors import RingsideError
from pipeline.jobs import job_called
from pipeline.jobs.result import JobOptions
from tests import fleet_results
from tests.bench_spark.spending import descendants
from tests.patience import HANG_S

TOPIC = {"msgRateIn": 1.0, "subscriptions": {"s": {"type": "Failover", "consumers": [{"consumerName": "a"}]}}}
NOBODY = """
import os, sys
from pathlib import Path
import pyarrow as pa
from pipeline.blocks import opened
from pipeline.jobs import job_called
from pipeline.jobs.import_reading import ReadAnswers
from pipeline.jobs.result import JobOptions
from pipeline.reading.contexts import contexts_of
from pipeline.reading.files import find_answers

def read(source):
    files = find_answers(source).files
    contexts = contexts_of(files)
    blocks = list(ReadAnswers(1, 10**6)([(file, contexts[file.name]) for file in files], 0))
    named = {block["name"][0].as_py(): opened(block["block"][0].as_py()) for block in blocks[:-1]}
    return named["topics"].num_rows, named["quarantine"].select(["file", "reason"]).to_pylist()

def written(source, target):
    try:
        job_called("import")(None, source, target, JobOptions())
    except Exception as fault:
        return f"{type(fault).__name__} {fault}"

first, second, target = map(Path, sys.argv[1:])
# Once as it is, so that everything is loaded before anything is taken away.
read(first)
written(first, first / "1-broker-stats.json" / "out")
if os.getuid() == 0:
    os.setuid(65534)
print(*read(second))
print(written(second, target))
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """Where also somebody without rights can look."""
    folder = Path(tempfile.mkdtemp(prefix="ringside-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def put(folder: Path, name: str, count: int) -> Path:
    folder.mkdir(exist_ok=True)
    # Names that no compression makes small.
    topics = {f"persistent://t/n/{hashlib.sha256(b'%d' % at).hexdigest()}": TOPIC for at in range(count)}
    path = folder / name
    path.write_text(json.dumps({"t/n": {"0x00000000_0xffffffff": {"persistent": topics}}}))
    return path


def ran(script: str, *places: Path) -> list[str]:
    command = [sys.executable, "-c", script, *map(str, places)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def topics_in(target: Path) -> int:
    result = duckdb.sql(f"select count(*) from {fleet_results.sql(target, 'topics')}").fetchall()
    return int(result[0][0])


@contextmanager
def no_file_beyond(size: int) -> Iterator[None]:
    """For the processes that write results; the JVM has files of its own."""

    def limit(size: int) -> None:
        for pid in descendants():
            with suppress(FileNotFoundError, ProcessLookupError):
                if Path(f"/proc/{pid}/comm").read_text().strip() != "java":
                    _, most = resource.prlimit(pid, resource.RLIMIT_FSIZE)
                    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, most))

    limit(size)
    try:
        yield
    finally:
        limit(resource.RLIM_INFINITY)


def test_a_disk_that_takes_no_more_costs_only_the_new_result(spark: SparkSession, tmp_path: Path) -> None:
    """In the middle of a part, where Arrow writes: nothing half is left, and what was there is there."""
    target = tmp_path / "out"
    first, second = (
        put(tmp_path / name, "broker-stats.json", count).parent for name, count in (("a", 20), ("b", 6_000))
    )
    run = job_called("import")
    assert "topics 20" in run(spark, first, target, JobOptions()).sentence
    with no_file_beyond(20_000), pytest.raises(RingsideError) as refused:
        run(spark, second, target, JobOptions())
    assert str(refused.value).startswith("cannot write to")
    assert str(refused.value).endswith("The result that was there is untouched")
    assert topics_in(target) == 20
    assert len(fleet_results.run_ids(target)) == len([*(target / "topics").iterdir()]) == 1


def test_a_folder_without_permission_is_reported_and_so_is_a_file(place: Path) -> None:
    """To write where one may not is one sentence; a file that may not be read costs only itself."""
    first = put(place / "warm", "1-broker-stats.json", 3).parent
    put(first, "2-broker-stats.json", 0).write_text("")
    put(place / "in", "1-broker-stats.json", 20)
    put(place / "in", "2-broker-stats.json", 30).chmod(0)
    closed = place / "closed"
    closed.mkdir(mode=0o555)
    read, result = ran(NOBODY, first, place / "in", closed)
    assert read.startswith("20 ")
    assert "2-broker-stats.json" in read and "ermission" in read
    assert result.startswith("RingsideError cannot write to")
    assert "there is no permission to write there" in result
    assert list(closed.iterdir()) == []
