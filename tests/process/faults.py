"""A program that saves, stopped at every point at which it changes a file, one point after another.

``at_every_point`` starts a process that loads everything once and forks a child for each point:

* ``kill`` and ``term`` send SIGKILL or SIGTERM before the n-th call of Python that changes a file;
* ``ENOSPC``, ``EROFS`` and other names of errors let that call fail so;
* ``another`` lets another process save the same in the same place from its beginning to its end before that call;
* ``killed-writing`` and ``cut-writing`` let no file grow beyond n bytes, whoever writes, C++ too: the system kills who
  tries, or refuses it;
* ``small-disk`` and ``read-only`` mount a file system of n pages more than is on it, or one that is closed to writers.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NoReturn

from engine.errors import InputError, RingsideError
from tests.patience import HANG_S
from tests.starting import signals_heard
from tui.cli.exits import Unwinding

ROOT: Final = Path(__file__).resolve().parents[2]
CHANGES: Final = frozenset(
    [
        "open",
        "write",
        "fsync",
        "ftruncate",
        "link",
        "symlink",
        "unlink",
        "remove",
        "rename",
        "replace",
        "mkdir",
        "rmdir",
        "fchmod",
        "chmod",
        "flock",
        "close",
        "__exit__",
    ]
)
"""Functions of the interpreter that open, change, sync, lock or close a file."""
MOUNTED: Final = ("small-disk", "read-only")
DONE: Final = "done"
REACHED: Final = "(reached)"
UNEXPECTED: Final = 99
_MOUNT: Final = ("unshare", "--mount", *(() if os.getuid() == 0 else ("--map-root-user",)))
_PAGE: Final = 4096
_MOST_POINTS: Final = 2000

Say = Callable[[str], None]


@dataclass(frozen=True)
class Saver:
    """``save`` says what it has saved as soon as that is promised, at last ``DONE``; ``again`` is a later run of it."""

    prepare: Callable[[Path], None]
    save: Callable[[Path, Say], None]
    again: Callable[[Path, Say], None]


@dataclass(frozen=True)
class Outcome:
    """One child: its exit code, negative for a signal, and what it said.

    ``after`` is what it left behind, ``next`` the same after a later, undisturbed run, which said ``later``. ``other``
    is what another process said that saved at the same time.
    """

    folder: str
    fault: str
    code: int
    said: list[str]
    reached: bool
    later: list[str]
    other: list[str]

    @property
    def after(self) -> Path:
        return Path(self.folder) / "after"

    @property
    def next(self) -> Path:
        return Path(self.folder) / "next"


def at_every_point(saver: str, faults: Mapping[str, int], folder: Path, *, mounts: bool = False) -> list[Outcome]:
    """Stop ``saver`` (MODULE:NAME) by each fault at each of its points in turn, of which every so many are taken.

    The last outcome of each fault is that of a run that was left alone. Where something is mounted, only the process
    that is started here and its children see it, and it is gone with them.
    """
    asked = [f"{fault}={step}" for fault, step in faults.items()]
    command = [sys.executable, "-m", "tests.process.faults", saver, str(folder), *asked]
    with signals_heard():
        ran = subprocess.run(
            [*_MOUNT, *command] if mounts else command,
            cwd=ROOT, capture_output=True, text=True, timeout=HANG_S, check=False,
        )  # fmt: skip
    assert ran.returncode == 0, f"{ran.stdout[-2000:]}\n{ran.stderr[-4000:]}"
    outcomes = [Outcome(**json.loads(line)) for line in ran.stdout.splitlines()]
    for fault in faults:
        *disturbed, alone = [outcome for outcome in outcomes if outcome.fault == fault]
        assert disturbed and alone.code == 0 and not alone.reached and all(each.reached for each in disturbed)
    for each in outcomes:
        assert each.code != UNEXPECTED, each.said
        assert DONE in each.later, (each.folder, each.later)
    return outcomes


def can_mount() -> bool:
    """Whether this user may mount a file system that only its own processes see."""
    try:
        command = [*_MOUNT, "mount", "-t", "tmpfs", "none", "/mnt"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _main(name: str, folder: str, *faults: str) -> None:
    module, _, attribute = name.partition(":")
    saver: Saver = getattr(import_module(module), attribute)
    template = Path(folder) / "template"
    template.mkdir(parents=True)
    _in_child(lambda say: _prepared(saver, template, say), load=True)
    for each in faults:
        fault, _, step = each.partition("=")
        for count in range(_MOST_POINTS):
            point = count * int(step)
            outcome = _stopped(saver, template, Path(folder) / f"{fault}-{point}", fault, point)
            sys.stdout.write(json.dumps(asdict(outcome)) + "\n")
            if not outcome.reached:
                break
        else:
            raise AssertionError(f"{name} did not end within {_MOST_POINTS} points of {fault}")


def _prepared(saver: Saver, template: Path, say: Say) -> None:
    """What is there before; and a whole run elsewhere, to learn what it loads."""
    saver.prepare(template)
    trial = template.with_name("trial")
    shutil.copytree(template, trial, symlinks=True)
    saver.save(trial, say)
    saver.again(trial, say)


def _stopped(saver: Saver, template: Path, folder: Path, fault: str, point: int) -> Outcome:
    work = folder / ("work" if fault in MOUNTED else "next")
    work.mkdir(parents=True)
    if fault in MOUNTED:
        _mount("-t", "tmpfs", "-o", "size=64m", "none", str(work))
    shutil.copytree(template, work, symlinks=True, dirs_exist_ok=True)
    ballast = work / "ballast"
    if fault == "small-disk":
        ballast.write_bytes(bytes(_PAGE))  # a size of nothing would mean no limit
        room = os.statvfs(work)
        _mount("-o", f"remount,size={(room.f_blocks - room.f_bfree + point) * _PAGE}", str(work))
    elif fault == "read-only" and point == 0:
        _mount("-o", "remount,ro", str(work))
    other: list[str] = []

    def meanwhile() -> None:
        other.extend(_in_child(lambda say: saver.save(work, say))[1])

    code, said = _in_child(lambda say: saver.save(work, say), fault=fault, point=point, meanwhile=meanwhile)
    reached = REACHED in said or code == -signal.SIGXFSZ or (fault in MOUNTED and DONE not in said)
    if fault in MOUNTED:
        _mount("-o", "remount,rw,size=64m", str(work))
        ballast.unlink(missing_ok=True)
    shutil.copytree(work, folder / "after", symlinks=True)
    _, later = _in_child(lambda say: saver.again(work, say))
    if fault in MOUNTED:
        shutil.copytree(work, folder / "next", symlinks=True)
        subprocess.run(["umount", str(work)], check=True)
    return Outcome(str(folder), fault, code, [text for text in said if text != REACHED], reached, later, other)


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


def _in_child(
    task: Callable[[Say], None],
    *,
    fault: str = "",
    point: int = 0,
    meanwhile: Callable[[], None] | None = None,
    load: bool = False,
) -> tuple[int, list[str]]:
    """Do a task in a child of this process, disturbed or not. ``load``: then load here what was loaded there."""
    heard, result = os.pipe()
    waiting, go_on = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(heard)
        os.close(go_on)
        _be_child(task, result, _Disturbance(fault, point, waiting), load=load)
    os.close(result)
    os.close(waiting)
    said = []
    with os.fdopen(heard) as pipe, os.fdopen(go_on, "wb", buffering=0) as answer:
        for line in pipe:
            said.append(line.rstrip("\n"))
            if fault == "another" and said[-1] == REACHED and meanwhile is not None:
                meanwhile()
                answer.write(b"\n")
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if load:
        assert code == 0 and said.count(DONE) == 2, said
        for name in said[-1].split():
            import_module(name)
    return code, said


@dataclass(frozen=True)
class _Disturbance:
    """``waiting`` is where a child waits while another process saves."""

    fault: str
    point: int
    waiting: int


def _be_child(task: Callable[[Say], None], told: int, disturbance: _Disturbance, *, load: bool) -> NoReturn:
    """End with ``os._exit``, as nothing of what the parent would do at its end is to be done here."""

    def say(text: str) -> None:
        os.write(told, text.encode() + b"\n")

    code = UNEXPECTED
    try:
        ending = Unwinding()
        with ending.installed():
            _disturb(disturbance, say)
            try:
                task(say)
                ending.code = 0
            except (InputError, RingsideError, OSError) as refusal:
                sys.setprofile(None)
                say(f"told: {refusal}")
                ending.code = 1
            sys.setprofile(None)
        code = ending.code
        if load:
            say(" ".join(name for name in sys.modules if name.split(".")[0] not in ("__main__", "tests")))
    except BaseException:
        sys.setprofile(None)
        say(traceback.format_exc().replace("\n", " | "))
    finally:
        os._exit(code)


def _disturb(asked: _Disturbance, say: Say) -> None:
    fault, point = asked.fault, asked.point
    if fault in ("killed-writing", "cut-writing"):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL if fault == "killed-writing" else lambda *_: say(REACHED))
        resource.setrlimit(resource.RLIMIT_FSIZE, (point, point))
    elif fault and fault not in MOUNTED:
        sys.setprofile(_Hook(asked, say))


class _Hook:
    """Called before every call of a function that is written in C; does what is asked before the n-th change."""

    def __init__(self, asked: _Disturbance, say: Say) -> None:
        self._fault, self._left, self._waiting, self._say = asked.fault, asked.point, asked.waiting, say

    def __call__(self, _frame: Any, event: str, called: Any) -> None:
        if event != "c_call" or called.__name__ not in CHANGES:
            return
        self._left -= 1
        if self._left >= 0:
            return
        sys.setprofile(None)
        self._say(REACHED)
        if self._fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif self._fault == "term":
            signal.raise_signal(signal.SIGTERM)
        elif self._fault == "another":
            os.read(self._waiting, 1)
        else:
            number = getattr(errno, self._fault)
            raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    _main(*sys.argv[1:])
