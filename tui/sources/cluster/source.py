"""A running cluster as a source of readings: once from start to end, or again and again in a thread of its own.

Callers need no event loop: the command line, and workers of the screen.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final, Generic, Protocol, TypeVar

import msgspec

from engine.config import BrokerSettings
from engine.diagnosis.limits import NOT_MODELLED
from engine.errors import InputError, Rejection, RingsideError, fault_of_ours
from tui.sources.cluster import paths
from tui.sources.cluster.access import Access
from tui.sources.cluster.client import AdminClient
from tui.sources.cluster.outcomes import Answer, ClusterOutOfReachError, Fault
from tui.sources.cluster.pace import Clock, Limits, Stop
from tui.sources.cluster.reader import OnProgress, read_cluster
from tui.sources.cluster.reading import ClusterReading, Progress
from tui.sources.cluster.refresh import Earlier
from tui.sources.cluster.rounds import InView, Turn, refreshes_of
from tui.sources.cluster.scope import Scope

T = TypeVar("T")

EVERYTHING_EVERY: Final = 6
"""One in so many refreshes also reads what changes rarely: one a minute, by default."""
REFRESHED_AT_ONCE: Final = 2
"""Requests under way at a refresh: looking after more connections costs more than the few answers."""
PROGRESS_EVERY_S: Final = 0.5
REFRESHED_DETAILS: Final = 10
"""Topics with a backlog of which positions and limits are read at each refresh."""


@dataclass(frozen=True, slots=True)
class Source:
    """A cluster to read from, as the command line names it. ``settings`` overrule what brokers say of theirs."""

    access: Access
    scope: Scope = field(default_factory=Scope)
    limits: Limits = field(default_factory=Limits)
    settings: tuple[tuple[str, str], ...] = ()

    def read(
        self, on_progress: OnProgress | None = None, stop: threading.Event | None = None, clock: Clock | None = None
    ) -> ClusterReading:
        """Read it once. Raises ``ClusterOutOfReachError``; ``stop`` ends it early with what is there until then."""
        ends = stop or Stop()
        return apart(lambda: asyncio.run(self._read(on_progress, ends, clock)), ends.set)

    def follower(self, clock: Clock | None = None, rounds: tuple[float, float] | None = None) -> Follower:
        """A reader for one reading after another.

        ``rounds`` are the seconds between two readings, and those in which all of a large cluster is read; without
        them each reading is of everything.
        """
        scope = replace(self.scope, skips_idle=True, details=REFRESHED_DETAILS)
        limits = replace(self.limits, at_once=min(self.limits.at_once, REFRESHED_AT_ONCE))
        every_s, whole_every_s = rounds or (1.0, 1.0)
        turn = Turn(refreshes=refreshes_of(every_s, whole_every_s), whole_every_s=whole_every_s)
        return Follower(replace(self, scope=scope, limits=limits), clock, turn)

    async def _read(self, on_progress: OnProgress | None, stop: threading.Event, clock: Clock | None) -> ClusterReading:
        async with AdminClient(self.access, self.limits, clock=clock, stop=stop) as client:
            _give_up_at(stop, client)
            reading = await read_cluster(client, self.scope, on_progress)
        return with_settings(reading, self.settings)


def _give_up_at(stop: threading.Event | None, client: AdminClient) -> None:
    """Have ``client`` wait no longer for what is under way in this loop, once ``stop`` is set by another thread."""
    if not isinstance(stop, Stop):
        return
    loop = asyncio.get_running_loop()

    def give_up() -> None:
        with suppress(RuntimeError):  # the loop is closed: the reading is over
            loop.call_soon_threadsafe(client.give_up)

    stop.call_when_set(give_up)


def apart(call: Callable[[], T], give_up: Callable[[], object]) -> T:
    """Return what ``call`` returns or raise what it raises, computed in a thread of its own while this one waits.

    The handler of a signal raises in the main thread. With a loop in that thread the exception could be lost in a
    callback, where asyncio takes it for a fault of the connection. Here it ends the wait, after ``give_up``.
    """
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:  # raised where the result is awaited
            answer.set_exception(error)

    thread = threading.Thread(target=run, name="reading", daemon=True)
    try:
        thread.start()
        return answer.result()
    except BaseException:
        give_up()
        if thread.ident is not None:
            wait([answer])
        raise


def require_settings(pairs: tuple[tuple[str, str], ...]) -> None:
    """Raise ``InputError`` for a setting or a value that brokers do not have."""
    settings = BrokerSettings()
    for name, text in pairs:
        changed = settings.with_setting(name, text)
        if isinstance(changed, Rejection) and name not in NOT_MODELLED:
            raise InputError(f"--set {name}={text}: {changed.message}")


def with_settings(reading: ClusterReading, pairs: tuple[tuple[str, str], ...]) -> ClusterReading:
    """The reading as if the brokers had these settings, which then are not assumed any longer."""
    if not pairs:
        return reading
    configuration: dict[str, object] = {}
    for answer in reading.answers:
        if answer.path == paths.RUNTIME:
            configuration = msgspec.json.decode(answer.data, type=dict[str, object])
    configuration.update(pairs)
    others = tuple(answer for answer in reading.answers if answer.path != paths.RUNTIME)
    given = Answer(paths.RUNTIME, msgspec.json.encode(configuration))
    assumed = tuple(what for what in reading.assumed if what != "settings")
    return replace(reading, answers=(*others, given), assumed=assumed)


class StoppedError(RingsideError):
    """The first reading was stopped before there was anything to show."""


class FirstReading:
    """The reading that a screen waits for, in a thread of its own; the screen sees its progress and can stop it."""

    def __init__(self, source: Source, clock: Clock | None = None) -> None:
        self._source = source
        self._clock = clock
        self._stop = Stop()
        self._progressed: Callable[[str], object] | None = None

    def watch(self, progressed: Callable[[str], object]) -> None:
        """Have this called after each request, in the thread of the reading."""
        self._progressed = progressed

    def stop(self) -> None:
        """Ask nothing more; what was read so far is the reading."""
        self._stop.set()

    def read(self) -> ClusterReading:
        """Read until all is read or somebody stops it. Raises ``ClusterOutOfReachError`` and ``StoppedError``."""
        origin = self._source.access.origin
        nothing = f"{origin}: the reading was stopped before there was anything to show"
        try:
            reading = self._source.read(self._say, self._stop, self._clock)
        except ClusterOutOfReachError as error:
            if error.gap.fault is Fault.STOPPED:
                raise StoppedError(nothing) from error
            raise
        if reading.was_stopped and not reading.topics_read:
            raise StoppedError(nothing)
        return reading

    def _say(self, progress: Progress) -> None:
        if self._progressed is not None:
            self._progressed(str(progress))


class Follower:
    """Reads a cluster again and again over the same connections; all calls come from one thread.

    What changes rarely is asked for at every ``EVERYTHING_EVERY`` th reading, and where other topics are loaded. A
    large cluster is read in the rounds of ``turn``.
    """

    def __init__(self, source: Source, clock: Clock | None = None, turn: Turn | None = None) -> None:
        self._source = source
        self._clock = clock
        self._turn = turn or Turn()
        self._runner: asyncio.Runner | None = None
        self._client: AdminClient | None = None
        self._earlier = Earlier()
        self._readings = 0

    def read(
        self,
        *,
        stop: threading.Event | None = None,
        on_progress: OnProgress | None = None,
        view: InView | None = None,
        view_only: bool = False,
    ) -> ClusterReading:
        """Read it once more. Raises ``ClusterOutOfReachError``. ``view_only``: of a large cluster read nothing else."""
        if self._runner is None:
            self._runner = asyncio.Runner()
        turn = replace(self._turn, view=view or InView(), view_only=view_only)
        try:
            return self._runner.run(self._read(stop, on_progress, turn))
        except ClusterOutOfReachError:
            raise
        except Exception:
            # What is half done, and tasks that are still under way, are of no use to the next reading.
            self.close()
            raise

    def close(self) -> None:
        """Let the connections go, and forget what was read."""
        if self._runner is not None:
            if self._client is not None:
                self._runner.run(self._client.__aexit__())
            self._runner.close()
        self._runner = self._client = None
        self._earlier, self._readings = Earlier(), 0

    async def _read(self, stop: threading.Event | None, on_progress: OnProgress | None, turn: Turn) -> ClusterReading:
        if self._client is None:
            self._client = AdminClient(self._source.access, self._source.limits, clock=self._clock)
            await self._client.__aenter__()
        self._client.begin(stop)
        _give_up_at(stop, self._client)
        in_rounds = turn.refreshes > 1 and self._earlier.is_large
        if self._readings % EVERYTHING_EVERY == 0 and not in_rounds:
            self._earlier = Earlier(loaded=self._earlier.loaded, decoded=self._earlier.decoded)
        self._readings += 1
        try:
            reading = await read_cluster(self._client, self._source.scope, on_progress, self._earlier, turn)
        except ClusterOutOfReachError:
            self._earlier, self._readings = Earlier(), 0
            raise
        self._earlier.answers = {(answer.path, answer.broker): answer for answer in reading.answers}
        return with_settings(reading, self._source.settings)


class ReadsAgain(Protocol):
    """Reads a cluster again and again, until ``stop`` is set. ``on_progress`` is called after each request.

    Of a large one all that is in ``view`` is read, and nothing else where ``view_only`` says so.
    """

    def read(
        self, *, stop: threading.Event, on_progress: OnProgress, view: InView, view_only: bool
    ) -> ClusterReading: ...

    def close(self) -> None: ...


def _ignore_progress(_: str) -> None:
    return None


class _SpacedProgress:
    """Reports the progress of a reading every ``PROGRESS_EVERY_S`` seconds, and so not at all of a short one."""

    def __init__(self, progressed: Callable[[str], object]) -> None:
        self._progressed = progressed
        self._next_s = time.monotonic() + PROGRESS_EVERY_S

    def __call__(self, progress: Progress) -> None:
        now_s = time.monotonic()
        if now_s >= self._next_s:
            self._next_s = now_s + PROGRESS_EVERY_S
            self._progressed(str(progress))


class Feed(Generic[T]):
    """``make`` turns a reading into what is shown, in the same thread; it may raise a ``RingsideError``.

    A reading of another cluster than the first one's is not shown: somebody put it behind the same address.
    """

    def __init__(
        self, source: ReadsAgain, every_s: float, make: Callable[[ClusterReading], T], cluster: str = ""
    ) -> None:
        self.every_s = every_s
        self._source = source
        self._make = make
        self._cluster = cluster
        self._stop = threading.Event()
        self._woken = threading.Event()
        self._view = InView()
        self._last: ClusterReading | None = None

    def start(
        self,
        arrived: Callable[[T], object],
        missed: Callable[[str], object],
        progressed: Callable[[str], object] = _ignore_progress,
    ) -> None:
        """Begin with a pause, for the first reading is there already. All are called in the thread of the feed."""
        threading.Thread(target=self._run, args=(arrived, missed, progressed), name="live", daemon=True).start()

    def stop(self) -> None:
        """Ask nothing more. Nobody waits for what is under way."""
        self._stop.set()
        self._woken.set()

    def show(self, topics: frozenset[str], *, brokers: bool) -> None:
        """Read at each refresh what is now in view; at once where the last reading kept something older of it."""
        self._view = InView(topics, brokers)
        last = self._last
        if last is None:
            return
        if any(topic in last.older for topic in topics) or (brokers and 0 < last.lists_ms < last.at_ms):
            self._woken.set()

    def _run(
        self, arrived: Callable[[T], object], missed: Callable[[str], object], progressed: Callable[[str], object]
    ) -> None:
        try:
            next_s = time.monotonic() + self.every_s
            while True:
                self._woken.wait(max(0.0, next_s - time.monotonic()))
                if self._stop.is_set():
                    return
                self._woken.clear()
                view_only = time.monotonic() < next_s
                # A listener that is gone, its loop closed, or that fails has the next picture to do better with.
                with suppress(Exception):
                    self.turn(arrived, missed, progressed, view_only=view_only)
                if not view_only:
                    next_s = time.monotonic() + self.every_s
        finally:
            self._source.close()

    def turn(
        self,
        arrived: Callable[[T], object],
        missed: Callable[[str], object],
        progressed: Callable[[str], object] = _ignore_progress,
        *,
        view_only: bool = False,
    ) -> None:
        """Read once and report the picture or the failure, and the progress of a reading that takes long.

        Nothing that comes in, and no fault of ours in reading it, ends the feed.
        """
        try:
            reading = self._source.read(
                stop=self._stop, on_progress=_SpacedProgress(progressed), view=self._view, view_only=view_only
            )
            if self._stop.is_set():
                return
            if reading.cluster and self._cluster and reading.cluster != self._cluster:
                missed(f"another cluster, {reading.cluster}, answers at this address")
                return
            self._last = reading
            picture = self._make(reading)
        except Exception as error:
            if not self._stop.is_set():
                missed(str(error) if isinstance(error, RingsideError) else fault_of_ours(error))
            return
        arrived(picture)
