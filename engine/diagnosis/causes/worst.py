"""Combine the causes of several dispatchers, and list names in sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from engine.diagnosis.model import Cause, Judgement
from engine.diagnosis.seen import Dispatcher, SubscriptionSeen
from engine.text import natural_key


def worst_of(
    seen: SubscriptionSeen, decide: Callable[[Dispatcher], Judgement], *, also_quiet: bool = False
) -> Judgement:
    """Judge each dispatcher; return the worst cause with all consumers that are blocked or block anywhere.

    If no dispatcher has the cause, the reason is that of the one with the largest backlog. Only busy dispatchers are
    judged unless ``also_quiet``: of many topics most are quiet.
    """
    judged = map(decide, seen.dispatchers if also_quiet else seen.busy)
    causes = [judgement for judgement in judged if isinstance(judgement, Cause)]
    if not causes:
        return decide(seen.largest)
    worst = min(causes, key=lambda cause: (cause.verdict.rank, -cause.waiting))
    same = [cause for cause in causes if cause.verdict is worst.verdict]
    return replace(
        worst,
        topics=len(same),
        blocked=union(cause.blocked for cause in same),
        by=union(cause.by for cause in same),
        waiting=sum(cause.waiting for cause in same),
    )


def union(names: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return all names once, in natural order: ``node-2`` before ``node-10``."""
    return natural({name for some in names for name in some})


def natural(names: Iterable[str]) -> tuple[str, ...]:
    """Sort names so that numbers in them count as numbers.

    >>> natural(["node-10", "node-2"])
    ('node-2', 'node-10')
    """
    return tuple(sorted(names, key=natural_key))
