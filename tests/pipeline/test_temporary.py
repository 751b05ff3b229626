"""The temporary folder of a run is gone when it ends, and when it was killed, with the next run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from engine.errors import RingsideError
from pipeline.session import PREFIX, temporary_folder

HOLDING = """
import os, signal, sys, tempfile
from pathlib import Path
from pipeline.session import temporary_folder
tempfile.tempdir = sys.argv[1]
with temporary_folder() as folder:
    (folder / "blocks").mkdir()
    print(folder, flush=True)
    sys.stdin.readline()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_it_is_empty_for_its_user_and_gone_at_the_end(place: Path) -> None:
    with pytest.raises(KeyboardInterrupt), temporary_folder() as folder:
        assert folder.parent == place and folder.stat().st_mode & 0o077 == 0
        assert sum(path.stat().st_size for path in folder.iterdir()) == 0
        (folder / "blocks").mkdir()
        raise KeyboardInterrupt
    assert list(place.iterdir()) == []


def test_what_a_killed_run_left_is_removed_and_what_a_living_one_uses_is_not(place: Path) -> None:
    command = [sys.executable, "-c", HOLDING, str(place)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        theirs = Path(process.stdout.readline().strip())
        with temporary_folder() as ours:
            assert (theirs / "blocks").is_dir() and ours != theirs
        process.stdin.write("\n")
    assert process.returncode == -signal.SIGKILL
    assert list(place.iterdir()) == [theirs]
    strangers = place / f"{PREFIX}without-a-lock"
    strangers.mkdir()
    with temporary_folder() as ours:
        assert set(place.iterdir()) == {ours, strangers}


def test_without_a_place_one_sentence_says_where_to_name_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(RingsideError, match=r"nowhere: No such file.*TMPDIR"), temporary_folder():
        pytest.fail("this must not be reached")


def test_without_room_nothing_is_left_and_the_sentence_says_so(place: Path) -> None:
    limited = HOLDING.replace("with temp", "import resource\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
                              "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\nwith temp")  # fmt: skip
    ran = subprocess.run([sys.executable, "-c", limited, str(place)], capture_output=True, text=True, check=False)
    assert f"RingsideError: cannot write to the temporary folder {place}: {os.strerror(27)}" in ran.stderr
    assert list(place.iterdir()) == []
