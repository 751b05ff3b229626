"""Delta debugging: the fewest deeds that still lead to the same disagreement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from engine.cluster.state import ClusterState
from tests.soak.deeds import Deed
from tests.soak.episode import Episode, Played, Request
from tests.soak.tally import DisagreementError, Tally

T = TypeVar("T")

MOST_STEPS = 10
"""Commands of a failure that is kept; where it takes more, it begins with a later state."""


@dataclass(frozen=True)
class Small:
    """A failure in few commands from ``state``; the last one is where the disagreement shows."""

    episode: Episode
    state: ClusterState
    commands: tuple[Request, ...]
    found: DisagreementError


def shrunk(episode: Episode, first: Played) -> Small:
    """The failure with as few commands as delta debugging finds. Another disagreement of the same check counts too."""
    assert first.found is not None, "there is nothing to shrink"
    check, group, best = first.found.check, first.found.group, first

    def fails(deeds: Sequence[Deed | Request]) -> bool:
        nonlocal best
        played = episode.play(deeds, Tally(), only=group)
        if played.found is None or played.found.check != check:
            return False
        best = played
        return True

    # What shows at the end of a walk needs no last command of its own.
    deeds: Sequence[Deed | Request] = episode.deeds[: len(first.commands)]
    for _ in range(2):
        if fails(deeds):
            deeds = fewest(deeds, fails)
            fails(deeds)
        # Once more with the commands themselves: without its neighbours a deed can have become another command.
        deeds = best.commands
    if len(best.commands) > MOST_STEPS:
        later = _begun_later(episode, best, check, group)
        if later is not None:
            return later
    assert best.found is not None
    return Small(episode, episode.state, best.commands, best.found)


def _begun_later(episode: Episode, best: Played, check: str, group: str) -> Small | None:
    """The same failure from the state before its last commands; None where it needs what was before."""
    *before, last = [episode.play(best.commands[:count], Tally()).timeline for count in range(len(best.commands))]
    for timeline in [last, *reversed(before)][:MOST_STEPS]:
        count = len(best.commands) - 1 - [*before, last].index(timeline)
        played = episode.play(best.commands[-count - 1 :], Tally(), timeline.state, only=group)
        if played.found is not None and played.found.check == check:
            return Small(episode, timeline.state, played.commands, played.found)
    return None


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
