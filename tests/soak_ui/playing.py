"""One session: a scene is opened, steps are made, and whatever goes wrong is kept."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Final

from textual.app import App
from textual.message import Message

from tests.soak_ui import steps as words
from tests.soak_ui.loop import ENDLESS, Block, NothingLeftError, SimulatedLoop, simulated
from tests.soak_ui.scenes import Launched, Launcher
from tests.soak_ui.steps import Session

STUCK_CPU_SECONDS: Final = 60.0
"""A step that takes longer than this is stopped."""
PAINT_SECONDS: Final = 0.02
PAINTS_WAITED_FOR: Final = 10
PROJECT: Final = Path(__file__).parents[2]

Next = Callable[[Launched], Sequence[str]]
"""The next steps for what is on the screen; none ends the session."""
Check = Callable[[Launched], str]
"""What a screen shows that is not so, "" for nothing."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong: ``kind`` and ``place`` say whether two of them are the same; ``text`` is for people."""

    kind: str
    place: str
    text: str

    def is_like(self, other: Failure | None) -> bool:
        return other is not None and (self.kind, self.place) == (other.kind, other.place)


@dataclass(frozen=True, slots=True)
class Moment:
    """What happened at once, and the longest callback that followed."""

    steps: tuple[str, ...]
    screen: str
    block: Block
    at: int
    """How many steps of the session were made until then."""


@dataclass(slots=True)
class Outcome:
    """What became of a session."""

    session: Session
    failure: Failure | None = None
    moments: list[Moment] = field(default_factory=list)
    cpu_seconds: float = 0.0


class Stuck(KeyboardInterrupt):
    """One step took too long. Of this kind, since asyncio keeps all others to itself."""


def replay(session: Session, check: Check | None = None) -> Outcome:
    """Make the steps of a session again."""
    left = list(session.steps)

    def following(_: Launched) -> Sequence[str]:
        burst: list[str] = []
        while left:
            burst.append(left.pop(0))
            if not words.is_input(burst[-1]):
                break
        return burst

    return play(session.scene, session.size, following, check)


def play(scene: str, size: tuple[int, int], following: Next, check: Check | None = None) -> Outcome:
    """Open a scene and do what ``following`` says, until it has nothing more or something goes wrong."""
    outcome = Outcome(Session(scene, size, ()))
    results: list[str] = []
    with tempfile.TemporaryDirectory(prefix="soak-ui-") as name, _inside(Path(name)), simulated() as loop:
        player = _Player(loop, results, outcome, check)
        loop.set_exception_handler(player.hear)
        try:
            with _limited():
                loop.run_until_complete(player.run(Launcher(scene, Path(name)), size, following))
        except Stuck as stuck:
            outcome.failure = Failure("stuck", _place(stuck), f"a step took more than {STUCK_CPU_SECONDS:.0f} s")
        except NothingLeftError as error:
            outcome.failure = Failure("hangs", "", str(error))
        except RuntimeError as error:
            if loop.measured.callbacks <= ENDLESS:
                raise
            outcome.failure = Failure("endless", loop.measured.longest.owner, f"{ENDLESS} callbacks: {error}")
    outcome.session = outcome.session.with_steps(results)
    return outcome


class _Player:
    def __init__(self, loop: SimulatedLoop, made: list[str], outcome: Outcome, check: Check | None) -> None:
        self._loop = loop
        self._made = made
        self._outcome = outcome
        self._check = check
        self._at_once: list[str] = []

    def hear(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """What the loop itself complains of."""
        error = context.get("exception")
        if error is not None:
            self._outcome.failure = self._outcome.failure or failure_of(error)

    async def run(self, launcher: Launcher, size: tuple[int, int], following: Next) -> None:
        launched: Launched | None = launcher.first()
        while launched is not None:
            goes_on = await self._run_app(launched, size, following)
            self._judge_end(launched)
            if self._outcome.failure is not None or not goes_on:
                return
            size = tuple(launched.app.size)
            launched = launcher.after(launched)

    async def _run_app(self, launched: Launched, size: tuple[int, int], following: Next) -> bool:
        """Whether the app ended by itself, so that another one may follow."""
        app = launched.app
        try:
            async with app.run_test(
                size=size, headless=False, tooltips=True, notifications=True, message_hook=self._note
            ):
                await asyncio.sleep(words.SETTLED_MS / 1000)
                self._loop.measured.reset()
                while self._goes_on(app):
                    burst = following(launched)
                    if not burst:
                        return False
                    for step in burst:
                        await self._make(launched, step)
                return self._outcome.failure is None
        except Exception as error:
            self._outcome.failure = self._outcome.failure or failure_of(error)
            return False
        finally:
            self._outcome.cpu_seconds += self._loop.measured.cpu_seconds

    def _note(self, message: Message) -> None:
        self._loop.measured.messages.append(type(message).__name__)

    def _goes_on(self, app: App[Any]) -> bool:
        return not app._exit and app._exception is None and self._outcome.failure is None and app.is_running

    async def _make(self, launched: Launched, step: str) -> None:
        app = launched.app
        if not self._goes_on(app):
            return
        self._made.append(step)
        if step == words.CHECK:
            if self._check is not None:
                await app.animator.wait_until_complete()  # what moves is painted when it has arrived
                await asyncio.sleep(words.SETTLED_MS / 1000)
                await _painted(app)
                result = self._check(launched)
                if result:
                    self._outcome.failure = Failure("disagrees", result.partition(":")[0], result)
        elif words.is_input(step):
            self._at_once.append(step)
            words.post(app, step)
        else:
            screen = type(app.screen).__name__ if app.screen_stack else ""
            await asyncio.sleep(words.milliseconds(step) / 1000)
            measured = self._loop.measured
            if self._at_once:
                moment = Moment(tuple(self._at_once), screen, measured.longest, len(self._made))
                self._outcome.moments.append(moment)
            self._outcome.cpu_seconds += measured.cpu_seconds
            measured.reset()
            self._at_once.clear()

    def _judge_end(self, launched: Launched) -> None:
        error = launched.app._exception
        trouble = launched.close()
        if self._outcome.failure is None:
            if error is not None:
                self._outcome.failure = failure_of(error)
            elif trouble:
                self._outcome.failure = Failure("not saved", "", trouble)


async def _painted(app: App[Any]) -> None:
    """Wait for a paint that is due: the timer of a notice that goes may have come just now.

    Looking at a screen in between would make what it owes to the terminal forgotten.
    """
    for _ in range(PAINTS_WAITED_FOR):
        screen = app.screen
        owed = screen._layout_required or screen._dirty_widgets or screen._repaint_required
        if not (owed or getattr(screen, "_owes_paint", False) or getattr(screen, "_postponed", 0)):
            return
        await asyncio.sleep(PAINT_SECONDS)


def failure_of(error: BaseException) -> Failure:
    """An exception, and the innermost line of the project that it came through."""
    place = _place(error)
    return Failure(f"raises {type(error).__name__}", place, f"{type(error).__name__}: {error}"[:400])


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if _is_ours(frame.filename)]
    frame = ours[-1] if ours else frames[-1] if frames else None
    if frame is None:
        return ""
    name = os.path.relpath(frame.filename, PROJECT) if _is_ours(frame.filename) else Path(frame.filename).name
    last = frames[-1]
    inner = f" ({Path(last.filename).name}:{last.lineno})" if last is not frame else ""
    return f"{name}:{frame.lineno}{inner}"


def _is_ours(name: str) -> bool:
    return any(name.startswith(str(PROJECT / room)) for room in ("tui", "engine", "themes"))


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """In a folder of its own: whatever is exported stays there."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def _limited() -> Iterator[None]:
    """Stop whatever computes and computes."""

    def stop(_: int, frame: FrameType | None) -> None:
        raise Stuck

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, STUCK_CPU_SECONDS * 10)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
