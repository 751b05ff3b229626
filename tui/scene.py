"""What an app shows: a scene, or one that is still to be loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what is shown may be loaded after the first picture stands, so nothing heavy is imported here
    from engine.admin.snapshot import Moment
    from engine.cluster.timeline import Timeline
    from engine.scenarios.script_model import Script
    from engine.views.model import Notice
    from tui.kit.store import Journal


@dataclass(frozen=True, slots=True)
class Scene:
    """A timeline, the place of the subscription to show first, and what opening the state had to tell.

    ``journal`` keeps the steps; ``script`` is what the screen plays; ``seen`` is what brokers reported.
    """

    timeline: Timeline
    subscription: int = 0
    problems: int = 0
    notes: tuple[Notice, ...] = ()
    journal: Journal | None = None
    script: Script | None = None
    seen: tuple[Moment, ...] = ()


@dataclass(frozen=True, slots=True)
class Opening:
    """A scene that is still to be loaded, and its name for the sentence "opening NAME …".

    ``load`` runs in a thread of its own; what it raises ends the app and stands in ``RingsideApp.failure``.
    """

    name: str
    load: Callable[[], Scene]
