"""What a demo script is made of, once it is read: where to start, and actions with their lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from engine.cluster.producers.state import ProducerPlan

REFUSED: Final = "refused"
ViewName = Literal["ring", "map", "focus", "migration"]
VIEW_NAMES: Final[tuple[ViewName, ...]] = ("ring", "map", "focus", "migration")


@dataclass(frozen=True, slots=True)
class Expectation:
    """One ``expect`` line without its first word; of ``expect refused`` the question is that, the value the error."""

    text: str
    question: str
    path: str = ""
    sign: str = ""
    value: str = ""

    @property
    def is_refusal(self) -> bool:
        return self.question == REFUSED


@dataclass(frozen=True, slots=True)
class StartScene:
    """``scene NAME``: an embedded scene."""

    name: str


@dataclass(frozen=True, slots=True)
class StartPath:
    """``open PATH``: recorded answers; a relative path counts from the script's folder."""

    path: str


@dataclass(frozen=True, slots=True)
class StartNew:
    """``new topics 100 consumers 10 …``: a made-up cluster; the numbers are those of ``synthetic_state``."""

    topics: int = 100
    partitions: int = 1
    consumers: int = 10
    seed: int = 0
    bundles: int = 4
    consistent_hashing: bool = False
    release: str = ""


@dataclass(frozen=True, slots=True)
class StartKeys:
    """``new keys 1000 consumers 4 mode sticky …``: a made-up Key_Shared subscription, see ``synthetic_keys``."""

    keys: int = 1_000
    consumers: int = 4
    mode: str = "consistent-auto-split"
    points: int = 100
    partitions: int = 0
    client: str = "java"
    hashing: str | None = None
    seed: int = 0
    release: str = ""


@dataclass(frozen=True, slots=True)
class StartProducers:
    """``new producers 100 partitions 1000 start lazy …``: producers on one topic, see ``synthetic_producers``."""

    plan: ProducerPlan
    partitions: int = 12
    brokers: int = 3
    seed: int = 0
    release: str = ""


Start = StartScene | StartPath | StartNew | StartKeys | StartProducers


@dataclass(frozen=True, slots=True)
class Say:
    """``say TEXT``: the caption from here on; an empty text takes it away."""

    text: str


@dataclass(frozen=True, slots=True)
class Do:
    """A command of the cluster's grammar, read when its turn comes, since names mean what the state then says."""

    text: str


@dataclass(frozen=True, slots=True)
class Select:
    """``select CONSUMER|KEY|TOPIC|BUNDLE``: what a person would put the cursor on."""

    text: str


@dataclass(frozen=True, slots=True)
class Show:
    """``view ring|map|focus``: how the hash space is drawn; ``migration``: what the topic would be once scalable."""

    view: ViewName


Action = Say | Do | Select | Show | Expectation


@dataclass(frozen=True, slots=True)
class ScriptLine:
    """One action: its line (from 1) and its simulated time in seconds since the start, which never falls."""

    line: int
    at_seconds: float
    action: Action


@dataclass(frozen=True, slots=True)
class Script:
    """A script that can be run. ``title`` is its first comment, ``folder`` where ``open`` looks from ("" unknown).

    ``about``: what it shows, the other comments before its first line.
    """

    source: str
    title: str
    start: Start
    lines: tuple[ScriptLine, ...]
    folder: str = ""
    about: str = ""
