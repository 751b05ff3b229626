"""Delta debugging: the fewest deeds that still lead to the same disagreement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from engine.cluster.commands import Command
from engine.cluster.timeline_commands import TimelineCommand
from tests.soak.deeds import Deed
from tests.soak.episode import Episode
from tests.soak.tally import Disagreement, Tally

T = TypeVar("T")


@dataclass(frozen=True)
class Small:
    """A failure in few commands; the last one is where the disagreement shows."""

    episode: Episode
    commands: tuple[Command | TimelineCommand, ...]
    found: Disagreement


def shrunk(episode: Episode, found: Disagreement, length: int) -> Small:
    """The failure with as few deeds as delta debugging finds. Another disagreement of the same check counts too."""
    best: dict[tuple[Deed, ...], tuple[list[Command | TimelineCommand], Disagreement]] = {}

    def fails(deeds: Sequence[Deed]) -> bool:
        done, other = episode.play(deeds, Tally())
        if other is None or other.check != found.check:
            return False
        best[tuple(deeds)] = done, other
        return True

    deeds = episode.deeds[:length]
    if not fails(deeds):
        return Small(episode, (), found)
    deeds = tuple(fewest(deeds, fails))
    done, other = best[deeds]
    return Small(episode, tuple(done), other)


def fewest(items: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """A part of ``items``, in order, that fails and of which no single item can be left out (ddmin)."""
    left, parts = list(items), 2
    while len(left) > 1:
        size = -(-len(left) // parts)
        for at in range(0, len(left), size):
            rest = left[:at] + left[at + size :]
            if rest and fails(rest):
                left, parts = rest, max(parts - 1, 2)
                break
        else:
            if size == 1:
                break
            parts = min(len(left), parts * 2)
    return left
