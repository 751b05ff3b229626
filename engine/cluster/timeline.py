"""The log of steps and a cursor in it: undo, redo, scrubbing, and the branches that a new command opens.

A timeline is a value. Steps form a tree: a command after an undo starts a branch, and the old tail stays reachable. A
timeline shares its log with the one it was made from, so that a step costs what it changes, however many are before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from types import MappingProxyType
from typing import Final, TypeVar, overload

from msgspec import Struct

from engine.cluster.commands import Command, End, GoTo, Home, Redo, SwitchBranch, TimelineCommand, Undo
from engine.cluster.decide import decide
from engine.cluster.events import Event
from engine.cluster.evolve import evolve
from engine.cluster.limits import INT_64, MAX_STEPS
from engine.cluster.state import ClusterState
from engine.errors import Rejection

SNAPSHOT_EVERY: Final = 64
"""Steps between two kept states: scrubbing folds at most this many steps."""
SCALABLE_EVERY: Final = 8
"""The same with scalable topics, of which a step takes longer: each deals all segments anew."""


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """One command that changed something.

    ``number`` counts from 1 in the order of submission over all branches; ``parent`` is the number of the step before
    (0: the state as opened), ``depth`` how many steps lie between the opening and the state after this one. ``text`` is
    the command in the grammar of the command line, as it reads in the state before. ``branch`` is the place in ``tips``
    of the branch it was added to.
    """

    number: int
    parent: int
    depth: int
    command: Command
    text: str
    events: tuple[Event, ...]
    branch: int
    snapshot: ClusterState | None = field(default=None, repr=False)


NOTHING_KNOWN: Final[Mapping[int, ClusterState]] = MappingProxyType({})
T = TypeVar("T")


class Row(Sequence[T]):
    """Items that never change: a longer row made with ``grown`` shares those of this one. O(1) an item."""

    __slots__ = ("_items", "_length")

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items = list(items)
        self._length = len(self._items)

    def grown(self, item: T) -> Row[T]:
        """These items and one more. O(1), but O(length) where another row grew from this one before."""
        longer: Row[T] = Row()
        longer._items, longer._length = self._items, self._length + 1
        if len(self._items) == self._length:
            self._items.append(item)
        if self._items[self._length] is not item:  # another row has this place, maybe one of another thread just now
            longer._items = [*self, item]
        return longer

    def replaced(self, at: int, item: T) -> Row[T]:
        """The same with another item at a place. O(length)."""
        items = self._items[: self._length]
        items[at] = item
        return Row(items)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[T, ...]: ...
    def __getitem__(self, at: int | slice) -> T | tuple[T, ...]:
        places = range(self._length)[at]
        return self._items[places] if isinstance(places, int) else tuple(map(self._items.__getitem__, places))

    def __iter__(self) -> Iterator[T]:
        return islice(self._items, self._length)


class Branch(Struct, frozen=True):
    """One end of the tree: the number of its last step, its length in steps, and whether it is the current one."""

    tip: int
    length: int
    current: bool


class BranchSummary(Struct, frozen=True):
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

    ``tip`` is the number of the current branch's last step (0: none), ``cursor`` how many of its steps are applied in
    ``state``. ``log`` holds the steps of all branches by number, ``tips`` the last step of each branch in the order in
    which they were opened. At most ``MAX_STEPS`` steps.
    """

    initial: ClusterState
    seed: int
    source: str
    state: ClusterState
    cursor: int = 0
    tip: int = 0
    log: Row[Step] = field(default_factory=Row)
    tips: Row[int] = field(default_factory=Row)
    _steps: Row[Step] | None = field(default=None, repr=False)

    @classmethod
    def start(cls, state: ClusterState, seed: int = 0, source: str = "") -> Timeline:
        """A timeline of no steps. ``source`` says where the state is from, ``seed`` belongs to it for replays."""
        assert seed in INT_64, f"the seed {seed} does not fit into 64 bits"
        return cls(initial=state, seed=seed, source=source, state=state)

    @property
    def steps(self) -> Row[Step]:
        """The steps of the current branch, those behind the cursor included. O(length) once, then O(1)."""
        if self._steps is None:
            path: list[Step] = []
            number = self.tip
            while number:
                path.append(self.log[number - 1])
                number = path[-1].parent
            object.__setattr__(self, "_steps", Row(reversed(path)))
            assert self._steps is not None
        return self._steps

    @property
    def length(self) -> int:
        """How many steps the current branch has."""
        return self.log[self.tip - 1].depth if self.tip else 0

    @property
    def current(self) -> int:
        """The number of the step before the cursor, 0 at the opening."""
        if self.cursor in (0, self.length):
            return self.tip if self.cursor else 0
        return self.steps[self.cursor - 1].number

    @property
    def can_undo(self) -> bool:
        return self.cursor > 0

    @property
    def can_redo(self) -> bool:
        return self.cursor < self.length

    @property
    def branches(self) -> tuple[Branch, ...]:
        """All branches in the order in which they were opened; empty before the first step."""
        return tuple(Branch(tip, self.log[tip - 1].depth, tip == self.tip) for tip in self.tips)

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
        """Carry a command out at the cursor; one that is refused or changes nothing leaves the timeline as it is."""
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
        parent = self.current
        extends = self.is_tip(parent)
        branch = self.log[parent - 1].branch if extends else len(self.tips)
        depth = self.cursor + 1
        every = SCALABLE_EVERY if state.scalable_topics else SNAPSHOT_EVERY
        snapshot = state if depth % every == 0 else None
        step = Step(len(self.log) + 1, parent, depth, command, text, events, branch, snapshot)
        return replace(
            self,
            state=state,
            cursor=depth,
            tip=step.number,
            log=self.log.grown(step),
            tips=self.tips.replaced(branch, step.number) if extends else self.tips.grown(step.number),
            _steps=self._steps.grown(step) if self._steps is not None and parent == self.tip else None,
        )

    def is_tip(self, number: int) -> bool:
        """Whether a step is the last one of a branch. O(1)."""
        return 0 < number <= len(self.log) and self.tips[self.log[number - 1].branch] == number

    def state_at(self, step: int) -> ClusterState:
        """The state after so many steps of the current branch, 0 .. ``length``. Folds at most ``SNAPSHOT_EVERY``."""
        assert 0 <= step <= self.length, f"step {step} is not in 0 .. {self.length}"
        return self._state_after(self.steps[step - 1].number if step else 0)

    def _state_after(self, number: int, known: Mapping[int, ClusterState] = NOTHING_KNOWN) -> ClusterState:
        """The state after a step of any branch, folded from the cursor or the nearest state that is kept before it."""
        state, known = self.initial, {**known, self.current: self.state}
        later: list[Step] = []
        while number:
            step = self.log[number - 1]
            kept = known.get(number, step.snapshot)
            if kept is not None:
                state = kept
                break
            later.append(step)
            number = step.parent
        for step in reversed(later):
            for event in step.events:
                state = evolve(state, event)
        return state

    def go_to(self, step: int) -> Timeline:
        """The cursor after so many steps; past either end it stops there."""
        target = min(max(step, 0), self.length)
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
        return self.go_to(self.length)

    def switch_branch(self, index: int) -> Timeline:
        """The branch of that place in ``branches``, with the cursor at its end; the place must exist. O(its length)."""
        assert 0 <= index < len(self.tips), f"there is no branch {index} among {len(self.tips)}"
        return self.select(self.tips[index], self.log[self.tips[index] - 1].depth)

    def select(self, tip: int, cursor: int) -> Timeline:
        """The branch that ends in step ``tip``, with the cursor after ``cursor`` of its steps."""
        assert self.is_tip(tip), f"step {tip} is not the end of a branch"
        return self.at_step(tip).go_to(cursor)

    def at_step(self, number: int, known: Mapping[int, ClusterState] = NOTHING_KNOWN) -> Timeline:
        """The cursor behind a step of any branch (0: at the opening), as a place to append to; for replaying a log.

        ``known`` has states after other steps. Folds at most ``SNAPSHOT_EVERY``.
        """
        if number == self.current:
            return self
        depth = self.log[number - 1].depth if number else 0
        return replace(self, state=self._state_after(number, known), cursor=depth, tip=number, _steps=None)

    def back_at(self, number: int) -> Timeline:
        """The cursor behind a step (0: at the opening): on the current branch, or else on the newest that has it."""
        if not number:
            return self.home()
        depth = self.log[number - 1].depth
        for tip in (self.tip, *reversed(self.tips)):
            branch = self if tip == self.tip else self.at_step(tip)
            if branch.length >= depth and branch.steps[depth - 1].number == number:
                return branch.go_to(depth)
        raise AssertionError(f"step {number} is on no branch")


class Navigated(Struct, frozen=True):
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
