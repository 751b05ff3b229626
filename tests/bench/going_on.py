"""A benchmark that fails does not keep the others from running; which one it was is said at the end."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager


class NotTimedError(Exception):
    """Something that a benchmark needs is not here, such as Java; the text says what."""


class Outcomes:
    """How the benchmarks of a run ended."""

    def __init__(self) -> None:
        self._failed: list[str] = []
        self._not_timed: list[str] = []

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Note where this benchmark fails, with its traceback on stderr."""
        try:
            yield
        except NotTimedError as error:
            self._not_timed.append(f"{name} ({error})")
        except Exception as error:
            traceback.print_exc()
            self._failed.append(f"{name} ({type(error).__name__})")

    def code(self) -> int:
        """Say what failed and what was not timed; the exit code, which is 1 where something failed."""
        for what, names in (("not timed", self._not_timed), ("failed", self._failed)):
            if names:
                sys.stderr.write(f"{what}: {', '.join(names)}\n")
        return 1 if self._failed else 0
