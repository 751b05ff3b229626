"""What an app shows or a command prints: a session, or one that is still to be loaded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:  # a session may be loaded after the first paint, so nothing heavy is imported here
    from engine.admin.moments import Moment
    from engine.cluster.timeline import Timeline
    from engine.diagnosis.model import Diagnosis
    from engine.errors import Problem
    from engine.scenarios.script.model import Script
    from engine.views.failover.model import Notice
    from engine.views.reported.view import Reported
    from tui.kit.themed_app import Hides


class Journal(Protocol):
    """What keeps the steps on disk. Called before the screen shows a step, so what was seen is never lost."""

    def record(self, timeline: Timeline) -> str:
        """Write what is new. The answer says where the steps are kept, or what went wrong, for the status line."""

    def close(self) -> str:
        """Save what is missing, and return what could not be saved, "" for nothing."""


class Feed(Protocol):
    """What brings newer readings of a running cluster, each ``every_s`` seconds."""

    every_s: float

    def start(
        self,
        arrived: Callable[[Session], object],
        missed: Callable[[str], object],
        progressed: Callable[[str], object],
    ) -> None:
        """Begin, in a thread of its own, in which all are called: with a newer reading, or why there is none.

        ``progressed`` gets how far a reading is that takes its time.
        """

    def show(self, topics: frozenset[str], *, brokers: bool) -> None:
        """Read at each refresh what is in view: topics without partitions, and the load of ``brokers``. Does not wait.

        What was read longer ago is read at once.
        """

    def stop(self) -> None:
        """Bring nothing more. Does not wait."""


class Against(Struct, frozen=True):
    """Another dump, or a journal, that what is shown is compared with: what the user calls it and what is shown."""

    names: tuple[str, str]
    timeline: Timeline


class Session(Struct, frozen=True):
    """A timeline, the place of the subscription to show first, and the problems and notes of opening the state.

    ``journal`` keeps the steps; ``script`` is what the screen plays; ``seen`` is what brokers reported; ``feed`` brings
    newer readings; ``stopped_at`` is how many topics of how many were read, where the reading was stopped. ``reported``
    and ``diagnoses`` are of ``seen``, where they were made already. ``is_chosen``: somebody named the subscription.
    """

    timeline: Timeline
    subscription: int = 0
    problems: tuple[Problem, ...] = ()
    notes: tuple[Notice, ...] = ()
    journal: Journal | None = None
    script: Script | None = None
    seen: tuple[Moment, ...] = ()
    feed: Feed | None = None
    reported: Reported | None = None
    diagnoses: tuple[Diagnosis, ...] | None = None
    stopped_at: tuple[int, int] | None = None
    is_chosen: bool = False
    against: Against | None = None


class FirstReading(Protocol):
    """The reading of a running cluster that the first session is made of."""

    def watch(self, progressed: Callable[[str], object]) -> None:
        """Have this called with how far it is, in the thread of the reading."""

    def stop(self) -> None:
        """End it with what was read so far. Does not wait."""


class Contexts(Protocol):
    """Running clusters that the user gave names to."""

    @property
    def secret(self) -> Hides | None:
        """What must not be shown, of every cluster that was opened."""

    def names(self) -> Sequence[str]:
        """Those that were opened last come first."""

    def why_none(self) -> str:
        """Say why there is no name: what is wrong with the user's settings, or what to write there."""

    def opening(self, name: str) -> Opening:
        """Open one of them. Raises ``InputError``."""


class Opening(Struct, frozen=True):
    """A session that is still to be loaded, and its name for the sentence "opening NAME …".

    ``load`` runs in a thread of its own; what it raises ends the app and is in ``RingsideApp.failure``. Where it
    begins with a ``reading``, the sentence says how far that is, and ``esc`` stops it.
    """

    name: str
    load: Callable[[], Session]
    reading: FirstReading | None = None
