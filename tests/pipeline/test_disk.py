"""A disk that takes no more, and one that may not be written to: one sentence, and the old result stays.

They run in a process of their own, that has its limits set for good.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tests import fleet_results
from tests.patience import HANG_S

TOPIC = {"msgRateIn": 1.0, "subscriptions": {"s": {"type": "Failover", "consumers": [{"consumerName": "a"}]}}}
FULL = """
import resource, sys
from pathlib import Path
from pipeline.jobs import job_called
from pipeline.jobs.result import JobOptions
from pipeline.session import open_session
from tests.bench_spark.spending import descendants

first, second, target = map(Path, sys.argv[1:])
run = job_called("import")
with open_session(cores=1, small=True) as spark:
    print(run(spark, first, target, JobOptions()).sentence)
    # Those that write the result; the JVM has files of its own.
    for pid in descendants():
        if Path(f"/proc/{pid}/comm").read_text().strip() != "java":
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (20_000, 20_000))
    try:
        print(run(spark, second, target, JobOptions()).sentence)
    except Exception as fault:
        print(type(fault).__name__, fault)
"""
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


@pytest.mark.xdist_group("java")
def test_a_disk_that_takes_no_more_costs_only_the_new_result(place: Path) -> None:
    """In the middle of a part, where Arrow writes: nothing half is left, and what was there is there."""
    target = place / "out"
    first, second = (put(place / name, "broker-stats.json", count).parent for name, count in (("a", 20), ("b", 6_000)))
    before, result = ran(FULL, first, second, target)
    assert "topics 20" in before
    assert result.startswith("RingsideError cannot write to")
    assert result.endswith("The result that was there is untouched")
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
