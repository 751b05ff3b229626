"""A disk that takes no more, and one that may not be written to: one sentence, and the old result stays.

Small fleets need no JVM, so these run in a process of their own that has its limits set for good.
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

from tests.patience import HANG_S

TOPIC = {"msgRateIn": 1.0, "subscriptions": {"s": {"type": "Failover", "consumers": [{"consumerName": "a"}]}}}
RUN = """
import os, resource, signal, sys
from pathlib import Path
from pipeline.jobs import job_called
from pipeline.jobs.result import JobOptions

source, target, limit = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
run = job_called("import")
# Once as it is, so that everything is loaded before anything is taken away.
run(None, source / "warm", source / "done", JobOptions())
if limit == "full":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
elif limit == "nobody" and os.getuid() == 0:
    os.setuid(65534)
try:
    print(run(None, source / "in", target, JobOptions()).sentence)
except Exception as fault:
    print(type(fault).__name__, fault)
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


def ran(place: Path, target: Path, limit: str) -> str:
    command = [sys.executable, "-c", RUN, str(place), str(target), limit]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


def topics_in(target: Path) -> int:
    told = duckdb.sql(f"select count(*) from '{target}/topics/*.parquet'").fetchall()
    return int(told[0][0])


def test_a_disk_that_takes_no_more_costs_only_the_new_result(place: Path) -> None:
    """In the middle of a part, where Arrow writes: nothing half is left, and what was there is there."""
    put(place / "warm", "broker-stats.json", 3)
    put(place / "in", "broker-stats.json", 20)
    target = place / "out"
    assert "topics 20" in ran(place, target, "none")
    put(place / "in", "broker-stats.json", 6_000)
    told = ran(place, target, "full")
    assert told.startswith("RingsideError cannot write to")
    assert told.endswith("The result that was there is untouched")
    assert "\n" not in told
    assert topics_in(target) == 20
    assert len([path for path in (target / ".runs").iterdir() if path.name.startswith("import-")]) == 1


def test_a_folder_without_permission_is_reported_and_so_is_a_file(place: Path) -> None:
    """To write where one may not is one sentence; a file that may not be read costs only itself."""
    put(place / "warm", "broker-stats.json", 3)
    put(place / "in", "1-broker-stats.json", 20)
    put(place / "in", "2-broker-stats.json", 30).chmod(0)
    closed, opened = place / "closed", place / "open"
    closed.mkdir(mode=0o555)
    opened.mkdir()
    opened.chmod(0o777)
    told = ran(place, closed, "nobody")
    assert told.startswith("RingsideError cannot write to")
    assert "there is no permission to write there" in told
    assert list(closed.iterdir()) == []
    assert "topics 20" in ran(place, opened, "nobody")
    reasons = duckdb.sql(f"select file, reason from '{opened}/quarantine/*.parquet'").fetchall()
    assert any(file == "2-broker-stats.json" and "ermission" in reason for file, reason in reasons)
