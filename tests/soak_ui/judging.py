"""What counts as a failure, and what a failure looks like when it is printed."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from tests.soak_ui.playing import Check, Failure, Moment, Outcome, replay
from tests.soak_ui.scenes import forget_scenes
from tests.soak_ui.shrinking import Budget, shrunk
from tests.soak_ui.steps import Session, kind_of

LIMIT_SECONDS: Final = 0.050
"""Of CPU time for one callback of the event loop: what is typed meanwhile waits."""
REPLAYS: Final = 3
"""A block counts only if it comes again every time."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A failure and the shortest session that shows it."""

    failure: Failure
    session: Session

    @property
    def line(self) -> str:
        """What replays it."""
        return f"make soak-ui REPLAY='{self.session}'"

    def __str__(self) -> str:
        return f"{self.line}  # {self.failure.kind}: {self.failure.text} [{self.failure.place}]"


def judged(
    outcome: Outcome,
    check: Check | None = None,
    limit_seconds: float = LIMIT_SECONDS,
    known: Collection[Failure] = (),
) -> Finding | None:
    """The failure of a session, as short as it can be shown; None where all is well. What is known is not shrunk."""
    failure = outcome.failure
    if failure is None:
        return _blocked(outcome, limit_seconds)
    if any(failure.is_like(other) for other in known):
        return Finding(failure, outcome.session)
    budget = Budget(lambda session: failure.is_like(replay(session, check).failure))
    return Finding(failure, shrunk(outcome.session, budget))


def _blocked(outcome: Outcome, limit_seconds: float) -> Finding | None:
    for moment in sorted(outcome.moments, key=lambda each: -each.block.cpu_seconds)[:2]:
        if moment.block.cpu_seconds <= limit_seconds:
            return None
        steps = outcome.session.with_steps(outcome.session.steps[: moment.at])

        def blocks(session: Session, times: int = 1) -> bool:
            return all(last_block(_replayed_anew(session)) > limit_seconds for _ in range(times))

        if blocks(steps, REPLAYS):
            session = shrunk(steps, Budget(lambda each: blocks(each, REPLAYS)))
            shown = min((_replayed_anew(session) for _ in range(REPLAYS)), key=last_block)
            # Beside other work a callback takes longer at times; what is printed must show it whenever it is replayed.
            if last_block(shown) > limit_seconds:
                return Finding(blocked(shown.moments[-1]), session)
    return None


def _replayed_anew(session: Session) -> Outcome:
    """Replay a session of a scene that is made anew: what was remembered of the former one hides what it costs."""
    forget_scenes()
    return replay(session)


def last_block(outcome: Outcome) -> float:
    """The longest callback of the last moment; nothing where it went wrong in another way."""
    return outcome.moments[-1].block.cpu_seconds if outcome.moments and outcome.failure is None else 0.0


def blocked(moment: Moment) -> Failure:
    block = moment.block
    text = f"{block.cpu_seconds * 1000:.0f} ms of CPU in {block.owner} ({', '.join(block.messages[:6])})"
    return Failure("blocks", f"{moment.screen} {kinds_of(moment.steps)}", text)


def kinds_of(steps: Iterable[str]) -> str:
    """The kinds of steps that happened at once."""
    return "+".join(map(kind_of, steps))
