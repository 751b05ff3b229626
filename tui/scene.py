"""What an app shows: a scene, or one that is still to be loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # the scene may be loaded after the first paint, so nothing heavy is imported here
    from engine.admin.moments import Moment
    from engine.cluster.timeline import Timeline
    from engine.diagnosis.model import Diagnosis
    from engine.scenarios.script.model import Script
    from engine.views.failover.model import Notice
    from engine.views.reported.view import Reported
    from tui.kit.store import Journal


class Feed(Protocol):
    """What brings newer scenes of a running cluster, each ``every_s`` seconds."""

    every_s: float

    def start(
        self,
        arrived: Callable[[Scene], object],
        missed: Callable[[str], object],
        progressed: Callable[[str], object],
    ) -> None:
        """Begin, in a thread of its own, in which all are called: with a newer scene, or why there is none.

        ``progressed`` gets how far a reading is that takes its time.
        """

    def show(self, topics: frozenset[str], *, brokers: bool) -> None:
        """Read at each refresh what is in view: topics without partitions, and the load of ``brokers``. Does not wait.

        What was read longer ago is read at once.
        """

    def stop(self) -> None:
        """Bring nothing more. Does not wait."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A timeline, the place of the subscription to show first, and the notes of opening the state.

    ``journal`` keeps the steps; ``script`` is what the screen plays; ``seen`` is what brokers reported; ``feed`` brings
    newer scenes, and ``origin`` is where they are from; ``stopped_at`` is how many topics of how many were read, where
    the reading was stopped. ``reported`` and ``diagnoses`` are of ``seen``, where they were
    made already.
    """

    timeline: Timeline
    subscription: int = 0
    problems: int = 0
    notes: tuple[Notice, ...] = ()
    journal: Journal | None = None
    script: Script | None = None
    seen: tuple[Moment, ...] = ()
    feed: Feed | None = None
    origin: str = ""
    reported: Reported | None = None
    diagnoses: tuple[Diagnosis, ...] | None = None
    stopped_at: tuple[int, int] | None = None


class FirstReading(Protocol):
    """The reading of a running cluster that the first scene is made of."""

    def watch(self, progressed: Callable[[str], object]) -> None:
        """Have this called with how far it is, in the thread of the reading."""

    def stop(self) -> None:
        """End it with what was read so far. Does not wait."""


@dataclass(frozen=True, slots=True)
class Opening:
    """A scene that is still to be loaded, and its name for the sentence "opening NAME …".

    ``load`` runs in a thread of its own; what it raises ends the app and is in ``RingsideApp.failure``. Where it
    begins with a ``reading``, the sentence says how far that is, and ``esc`` stops it.
    """

    name: str
    load: Callable[[], Scene]
    reading: FirstReading | None = None
