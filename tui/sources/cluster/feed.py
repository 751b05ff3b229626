"""A running cluster, read again and again in a thread of its own: what came, or why nothing did."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

from engine.errors import RingsideError
from tui.sources.cluster.reading import ClusterReading

T = TypeVar("T")


class ReadsOnce(Protocol):
    """What reads a cluster once, until ``stop`` is set."""

    def read(self, *, stop: threading.Event) -> ClusterReading: ...


class Feed(Generic[T]):
    """``make`` turns a reading into what is shown, in the same thread; it may raise a ``RingsideError``.

    A reading of another cluster than the first one's is not shown: somebody put it behind the same address.
    """

    def __init__(
        self, source: ReadsOnce, every_s: float, make: Callable[[ClusterReading], T], cluster: str = ""
    ) -> None:
        self.every_s = every_s
        self._source = source
        self._make = make
        self._cluster = cluster
        self._stop = threading.Event()

    def start(self, arrived: Callable[[T], object], missed: Callable[[str], object]) -> None:
        """Begin with a pause, for the first reading is there already. Both are called in the thread of the feed."""
        threading.Thread(target=self._run, args=(arrived, missed), name="live", daemon=True).start()

    def stop(self) -> None:
        """Ask nothing more. Nobody waits for what is under way."""
        self._stop.set()

    def _run(self, arrived: Callable[[T], object], missed: Callable[[str], object]) -> None:
        while not self._stop.wait(self.every_s):
            # The one who listens is gone when the loop is closed.
            with suppress(RuntimeError):
                self.turn(arrived, missed)

    def turn(self, arrived: Callable[[T], object], missed: Callable[[str], object]) -> None:
        """Read once and say what came of it."""
        try:
            reading = self._source.read(stop=self._stop)
            if self._stop.is_set():
                return
            if reading.cluster and self._cluster and reading.cluster != self._cluster:
                missed(f"another cluster, {reading.cluster}, answers at this address")
                return
            made = self._make(reading)
        except RingsideError as error:
            if not self._stop.is_set():
                missed(str(error))
            return
        arrived(made)
