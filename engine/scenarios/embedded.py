"""The scenes that come with the package: recorded answers of brokers, trimmed to what is read here.

Scenes of load reports are in ``engine.scenarios.broker_scenes``.
"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from engine.admin.facts import Snapshot
from engine.admin.moments import Moment
from engine.admin.snapshot import read_answers
from engine.errors import InputError
from engine.scenarios.opening import Opened, open_moments


class Scene(Struct, frozen=True):
    """A scene by its name, and what it shows."""

    name: str
    about: str


_SCENES: Final = Path(__file__).with_name("scenes")
DEFAULT_SCENE: Final = "pip392"
SCENES: Final = (
    Scene(DEFAULT_SCENE, "100 topics of one partition, ten consumers of one Failover subscription, the flag off"),
    Scene("flow-split", "60 topics at uneven rates in four bundles, the default split algorithm by flow"),
    Scene("pip-169", "the two examples of the proposal to split by flow (#16782), six topics in one bundle each"),
    Scene("scalable-order", "a scalable topic of one segment, 29 messages that its consumer has not acknowledged"),
    Scene("scalable-sharing", "a scalable topic of two segments, three stream consumers that share them by buckets"),
    Scene("scalable-load", "a scalable topic of one segment and two consumers that scales itself at low limits"),
    Scene("scalable-migrate", "a topic of three partitions just after it was made scalable, 28 messages in them"),
)


def embedded_default() -> Opened:
    """The scene a dashboard starts with when it is given nothing."""
    return embedded(DEFAULT_SCENE)


def embedded(name: str) -> Opened:
    """A scene by its name. Raises ``InputError`` with the names there are for any other."""
    names = [scene.name for scene in SCENES]
    if name not in names:
        near = get_close_matches(name, names, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise InputError(f"there is no scene {name!r}{hint} (scenes: {', '.join(names)})")
    return open_moments([Moment(None, embedded_answers(name))])


def embedded_answers(name: str) -> Snapshot:
    """What the broker of a scene answered; ``name`` must be one of the scenes'."""
    data = (_SCENES / f"{name}.json.gz").read_bytes()
    return replace(read_answers(data), source=f"scene {name}")
