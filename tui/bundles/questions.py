"""What the screen "bundles" asks the engine, and what its keys change about the question."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from textual.reactive import var

from engine.bundles.curve import FlowRule
from engine.bundles.occupancy import MAX_BROKERS
from engine.bundles.plan import LoadManager
from engine.cluster.state import ClusterState
from engine.errors import Rejection
from engine.views.balance import balance_frame, balance_view
from engine.views.balance_model import BalanceFrame, BalanceQuestion, BalanceView, TreeRow
from tui.kit.background import beside
from tui.kit.single_paint import SinglePaintScreen

GROWTHS: Final = (1.0, 1.05, 1.1, 1.25, 1.5)
QUICK_TOPICS: Final = 2_000
"""With more topics than this a forecast takes longer than a key may, so it is computed beside the screen."""


class BundlesQuestions(SinglePaintScreen[None]):
    """Asks the engine once for each question; cycles and algorithms are pages of one answer."""

    cycle: var[int] = var(0, init=False)
    """The cycle shown, 0 is now."""
    algorithm: var[int] = var(0, init=False)
    """The place of the algorithm shown."""
    rule: var[FlowRule] = var[FlowRule]("merged", init=False)
    """Which rule the curve is drawn by."""

    def __init__(self, state: ClusterState, namespace: str) -> None:
        super().__init__()
        self._state = state
        self._namespace = namespace
        self.question = BalanceQuestion()
        self.view: BalanceView | None = None
        self._computing: BalanceQuestion | None = None
        self._refused = ""
        self._marked = ""

    def show_all(self) -> None:
        """Every panel, for the cycle and the algorithm looked at."""
        raise NotImplementedError

    def say(self, kind: str, text: str) -> None:
        """The line above the panels."""
        raise NotImplementedError

    # the question

    @property
    def namespaces(self) -> tuple[str, ...]:
        """All namespaces, by name."""
        return tuple(sorted(self._state.namespaces))

    def ask(self, question: BalanceQuestion) -> None:
        """Answer at once, or where that takes longer, beside the screen."""
        self._refused = ""
        if len(self._state.topics) <= QUICK_TOPICS:
            self._take(question, balance_view(self._state, self._namespace, question))
        elif self._computing is None:
            self._computing = question
            self.say("hint", f"computing {question.cycles} cycles for {len(self._state.topics):,} topics")
            self.run_worker(self._compute(question))
        else:
            self.say("hint", "still computing the last question; one at a time")

    async def _compute(self, question: BalanceQuestion) -> None:
        found = await beside(balance_view, self._state, self._namespace, question)
        self._computing = None
        self._take(question, found)

    def _take(self, question: BalanceQuestion, found: BalanceView | Rejection) -> None:
        if isinstance(found, Rejection):
            self._refused = str(found)
            self.show_all()
            return
        first = self.view is None or self.view.namespace != found.namespace
        self.question, self.view = question, found
        if first:
            at = found.trees.index(found.configured)
            self.set_reactive(BundlesQuestions.algorithm, at)
            self.set_reactive(BundlesQuestions.cycle, 0)
            self.mark_next()
        self.show_all()

    # what is looked at

    @property
    def projected(self) -> TreeRow:
        """The tree of the algorithm looked at."""
        assert self.view is not None
        return self.view.trees[self.algorithm]

    @property
    def frame(self) -> BalanceFrame:
        """The cycle looked at, under that algorithm."""
        assert self.view is not None
        return balance_frame(self.view, self.projected.algorithm, self.cycle)

    def mark_next(self) -> None:
        """Mark the bundle that splits next, else the one nearest to a limit."""
        coming = self.projected.next_split(self.cycle) or self.projected.next_attempt(self.cycle)
        nearest = max(self.frame.leaves, key=lambda row: row.nearest.share)
        known = [row.range_text for row in self.frame.leaves]
        self._marked = coming.range_text if coming is not None and coming.range_text in known else nearest.range_text

    # keys

    def watch_cycle(self) -> None:
        """Another page of the same answer."""
        self.show_all()

    def watch_algorithm(self) -> None:
        """Likewise."""
        self.show_all()

    def validate_cycle(self, cycle: int) -> int:
        """Keep to the cycles there are."""
        return max(0, min(cycle, self.question.cycles))

    def action_step(self, by: int) -> None:
        self._refused = ""
        self.cycle += by

    def action_cycle(self, number: int) -> None:
        self.cycle = number if number >= 0 else self.question.cycles

    def action_next_split(self) -> None:
        if self.view is None:
            return
        coming = self.projected.next_split(self.cycle)
        if coming is None:
            self._refused = f"no more split within {self.question.cycles} cycles under {self.projected.algorithm}"
            self.show_all()
        else:
            self._refused, self.cycle = "", coming.cycle

    def action_algorithm(self, place: int) -> None:
        if self.view is not None:
            self.algorithm = place

    def action_next_algorithm(self, by: int) -> None:
        if self.view is not None:
            self.algorithm = (self.algorithm + by) % len(self.view.trees)

    def action_load_manager(self) -> None:
        other: LoadManager = "extensible" if self.question.load_manager == "modular" else "modular"
        self.ask(replace(self.question, load_manager=other))

    def action_rule(self) -> None:
        self.rule = "proposed" if self.rule == "merged" else "merged"

    def action_brokers(self, by: int) -> None:
        self.ask(replace(self.question, brokers=min(self.question.brokers + by, MAX_BROKERS)))

    def action_growth(self) -> None:
        at = GROWTHS.index(self.question.growth_per_cycle)
        self.ask(replace(self.question, growth_per_cycle=GROWTHS[(at + 1) % len(GROWTHS)]))

    def action_namespace(self, by: int) -> None:
        names = self.namespaces
        if len(names) < 2:
            self._refused = "there is no other namespace to show"
            self.show_all()
        elif self._computing is not None:
            self.say("hint", "still computing the last question; one at a time")
        else:
            self._namespace = names[(names.index(self._namespace) + by) % len(names)]
            self.ask(self.question)
