"""The log of steps and a cursor in it: undo, redo, scrubbing, and the branches that a new command opens.

A timeline is a value. Steps form a tree: a command after an undo starts a branch, and the old tail stays reachable.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from engine.cluster.commands import Command, End, GoTo, Home, Redo, SwitchBranch, TimelineCommand, Undo
from engine.cluster.decide import decide
from engine.cluster.events import Event
from engine.cluster.evolve import evolve
from engine.cluster.limits import INT_64, MAX_STEPS
from engine.cluster.state import ClusterState
from engine.errors import Rejection

SNAPSHOT_EVERY: Final = 64
"""Steps between two kept states: scrubbing folds at most this many steps."""


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """One command that changed something.

    ``number`` counts from 1 in the order of submission over all branches; ``parent`` is the number of the step before
    (0: the state as opened), ``depth`` how many steps lie between the opening and the state after this one. ``text`` is
    the command in the grammar of the command line, as it reads in the state before.
    """

    number: int
    parent: int
    depth: int
    command: Command
    text: str
    events: tuple[Event, ...]
    snapshot: ClusterState | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Branch:
    """One end of the tree: the number of its last step, its length in steps, and whether it is the current one."""

    tip: int
    length: int
    current: bool


@dataclass(frozen=True, slots=True)
class BranchSummary:
    """A branch for people: its place from 1 on, its length in steps, where it leaves the branch it was opened from.

    ``leaves_at``: after how many steps, 0 for the first branch. ``first`` and ``last``: its own steps as commands.
    """

    place: int
    length: int
    current: bool
    leaves_at: int
    first: str
    last: str


@dataclass(frozen=True, eq=False, slots=True)
class Timeline:
    """An immutable timeline; begin one with :meth:`start`. Methods return a new value.

    ``steps`` are those of the current branch, ``cursor`` how many of them are applied in ``state``. ``log`` holds the
    steps of all branches by number, ``tips`` the last step of each branch in the order in which they were opened. At
    most ``MAX_STEPS`` steps.
    """

    initial: ClusterState
    seed: int
    source: str
    state: ClusterState
    cursor: int = 0
    steps: tuple[Step, ...] = ()
    log: tuple[Step, ...] = ()
    tips: tuple[int, ...] = ()

    @classmethod
    def start(cls, state: ClusterState, seed: int = 0, source: str = "") -> Timeline:
        """A timeline of no steps. ``source`` says where the state is from, ``seed`` belongs to it for replays."""
        assert seed in INT_64, f"the seed {seed} does not fit into 64 bits"
        return cls(initial=state, seed=seed, source=source, state=state)

    @property
    def length(self) -> int:
        """Steps of the current branch, those behind the cursor included."""
        return len(self.steps)

    @property
    def can_undo(self) -> bool:
        return self.cursor > 0

    @property
    def can_redo(self) -> bool:
        return self.cursor < len(self.steps)

    @property
    def branches(self) -> tuple[Branch, ...]:
        """All branches in the order in which they were opened; empty before the first step."""
        current = self.steps[-1].number if self.steps else 0
        return tuple(Branch(tip, self.log[tip - 1].depth, tip == current) for tip in self.tips)

    @property
    def branch_summaries(self) -> tuple[BranchSummary, ...]:
        """All branches with their own steps, those that no earlier branch has. O(steps of all branches)."""
        listed: set[int] = set()
        summaries = []
        for place, branch in enumerate(self.branches, 1):
            last = step = self.log[branch.tip - 1]
            while step.parent and step.parent not in listed:
                listed.add(step.number)
                step = self.log[step.parent - 1]
            listed.add(step.number)
            summaries.append(BranchSummary(place, branch.length, branch.current, step.depth - 1, step.text, last.text))
        return tuple(summaries)

    def submit(self, command: Command) -> tuple[Timeline, Rejection | None]:
        """Carry a command out at the cursor. A refused one, and one that changes nothing, leaves the timeline as it is.

        O(steps) for copying a row of references, plus the decision.
        """
        from engine.cluster.grammar.text import command_text

        if len(self.log) >= MAX_STEPS:
            message = f"a timeline holds {MAX_STEPS} steps; save this one and start another from its state"
            return self, Rejection("TimelineFull", message)
        outcome = decide(self.state, command)
        if isinstance(outcome, Rejection):
            return self, outcome
        if not outcome:
            return self, None
        return self.append(command, command_text(command, self.state), outcome), None

    def append(
        self, command: Command, text: str, events: tuple[Event, ...], after: ClusterState | None = None
    ) -> Timeline:
        """Add a step that was decided before, at the cursor; ``after`` is its state where it is known already."""
        state = self.state if after is None else after
        for event in events if after is None else ():
            state = evolve(state, event)
        number = len(self.log) + 1
        parent = self.steps[self.cursor - 1].number if self.cursor else 0
        depth = self.cursor + 1
        snapshot = state if depth % SNAPSHOT_EVERY == 0 else None
        step = Step(number, parent, depth, command, text, events, snapshot)
        extends = parent in self.tips
        return replace(
            self,
            state=state,
            cursor=depth,
            steps=(*self.steps[: self.cursor], step),
            log=(*self.log, step),
            tips=tuple(number if tip == parent else tip for tip in self.tips) if extends else (*self.tips, number),
        )

    def state_at(self, step: int) -> ClusterState:
        """The state after so many steps of the current branch, 0 .. ``length``. Folds at most ``SNAPSHOT_EVERY``."""
        assert 0 <= step <= len(self.steps), f"step {step} is not in 0 .. {len(self.steps)}"
        state, folded = (self.state, self.cursor) if self.cursor <= step else (self.initial, 0)
        kept = step - step % SNAPSHOT_EVERY
        if kept > folded:
            snapshot = self.steps[kept - 1].snapshot
            assert snapshot is not None, f"step {kept} should keep its state"
            state, folded = snapshot, kept
        for later in self.steps[folded:step]:
            for event in later.events:
                state = evolve(state, event)
        return state

    def go_to(self, step: int) -> Timeline:
        """The cursor after so many steps; past either end it stops there."""
        target = min(max(step, 0), len(self.steps))
        return self if target == self.cursor else replace(self, state=self.state_at(target), cursor=target)

    def step_by(self, count: int) -> Timeline:
        """The cursor moved by ``count`` steps, backwards when negative; past either end it stops there."""
        return self.go_to(self.cursor + count)

    def undo(self) -> Timeline:
        """One step back; nothing at the opening."""
        return self.step_by(-1)

    def redo(self) -> Timeline:
        """One step forward on the current branch; nothing at its end."""
        return self.step_by(1)

    def home(self) -> Timeline:
        """The state as opened."""
        return self.go_to(0)

    def end(self) -> Timeline:
        """The last step of the current branch."""
        return self.go_to(len(self.steps))

    def switch_branch(self, index: int) -> Timeline:
        """The branch of that place in ``branches``, with the cursor at its end; the place must exist. O(its length)."""
        assert 0 <= index < len(self.tips), f"there is no branch {index} among {len(self.tips)}"
        return self.select(self.tips[index], self.log[self.tips[index] - 1].depth)

    def select(self, tip: int, cursor: int) -> Timeline:
        """The branch that ends in step ``tip``, with the cursor after ``cursor`` of its steps."""
        assert tip in self.tips, f"step {tip} is not the end of a branch"
        return self._along(tip).go_to(cursor)

    def at_step(self, number: int) -> Timeline:
        """The cursor behind a step of any branch (0: at the opening), as a place to append to; for replaying a log."""
        current = self.steps[self.cursor - 1].number if self.cursor else 0
        return self if current == number else self._along(number).end()

    def _along(self, number: int) -> Timeline:
        """The steps from the opening to ``number``, with the cursor at the opening."""
        path: list[Step] = []
        while number:
            step = self.log[number - 1]
            path.append(step)
            number = step.parent
        path.reverse()
        return replace(self, steps=tuple(path), state=self.initial, cursor=0)


@dataclass(frozen=True, slots=True)
class Navigated:
    """The timeline after a request; if it was refused, the unchanged timeline and the reason."""

    timeline: Timeline
    rejection: Rejection | None = None


def navigate(timeline: Timeline, command: TimelineCommand) -> Navigated:
    """Carry a request about the timeline out. Refusals: nothing to undo or redo, no such step, no such branch."""
    match command:
        case Undo():
            return _moved(timeline, timeline.undo(), "there is nothing to undo: this is the state as opened")
        case Redo():
            return _moved(timeline, timeline.redo(), "there is nothing to redo: this is the last step")
        case Home():
            return Navigated(timeline.home())
        case End():
            return Navigated(timeline.end())
        case GoTo(step):
            if not 0 <= step <= timeline.length:
                return _refused(timeline, f"there is no step {step}; steps go from 0 to {timeline.length}")
            return Navigated(timeline.go_to(step))
        case SwitchBranch(branch):
            if not 1 <= branch <= len(timeline.tips):
                return _refused(timeline, f"there is no branch {branch}; there are {len(timeline.tips)}")
            return Navigated(timeline.switch_branch(branch - 1))


def _moved(before: Timeline, after: Timeline, message: str) -> Navigated:
    return _refused(before, message) if after is before else Navigated(after)


def _refused(timeline: Timeline, message: str) -> Navigated:
    return Navigated(timeline, Rejection("NoSuchStep", message))
