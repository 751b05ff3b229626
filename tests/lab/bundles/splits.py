"""Splits on request: the status a broker answers with, and the bundle list that must be there afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from msgspec import structs

from engine.bundles.algorithms import flow_limits
from engine.bundles.boundaries import NamespaceBundles
from engine.bundles.loads import TopicLoad
from engine.bundles.plan import LoadManager, SplitPlan
from engine.bundles.split import plan_split
from engine.config import (
    FLOW_OR_QPS_EQUALLY_DIVIDE,
    RANGE_EQUALLY_DIVIDE,
    SPECIFIED_POSITIONS_DIVIDE,
    TOPIC_COUNT_EQUALLY_DIVIDE,
)
from engine.errors import Rejection
from engine.names import PERSISTENT
from engine.verify.bundles import boundary_texts
from engine.verify.report import Ledger, Rules
from tests.lab.bundles.flow_rates import reachable, windows
from tests.lab.facts import StepFact

NOT_ANSWERED: Final = "never answered"
TOPICS_UNKNOWN: Final = "splits of bundles whose topics were not recorded"
_KINDS: Final = {
    RANGE_EQUALLY_DIVIDE: StepFact.SPLIT_RANGE,
    TOPIC_COUNT_EQUALLY_DIVIDE: StepFact.SPLIT_TOPIC_COUNT,
    SPECIFIED_POSITIONS_DIVIDE: StepFact.SPLIT_SPECIFIED,
    FLOW_OR_QPS_EQUALLY_DIVIDE: StepFact.SPLIT_FLOW,
}


@dataclass(frozen=True, slots=True)
class SplitRequest:
    """One split request as it was recorded. ``answered`` is False where the recorder waited in vain."""

    namespace: str
    bundle: str
    algorithm: str
    positions: tuple[int, ...]
    unload: bool
    status: int | None
    answered: bool = True
    load_manager: LoadManager = "modular"

    def needs_topics(self, rules: Rules) -> bool:
        """Whether the outcome depends on the topics of the bundle."""
        used = self.algorithm or rules.settings.defaultNamespaceBundleSplitAlgorithm
        return used != RANGE_EQUALLY_DIVIDE or self.bundle in ("LARGEST", "HOT")

    @property
    def recorded_status(self) -> str:
        return str(self.status) if self.answered else NOT_ANSWERED


@dataclass(frozen=True, slots=True)
class PendingSplit:
    """A request whose outcome the next bundle list shows.

    ``plan`` is None when the outcome cannot be known from what was recorded; ``rates_after`` are those recorded between
    the request and that list.
    """

    request: SplitRequest
    rules: Rules
    before: NamespaceBundles
    topics: tuple[TopicLoad, ...]
    plan: SplitPlan | Rejection | None
    rates_after: Mapping[str, TopicLoad]

    @property
    def list_after(self) -> NamespaceBundles | None:
        """The list that a further request would meet; None when it cannot be known."""
        if self.plan is None:
            return None
        return self.before if isinstance(self.plan, Rejection) else self.plan.after

    @property
    def status(self) -> int | None:
        """The status of the plan; None for no answer, or without a plan."""
        return None if self.plan is None else self.plan.status

    @property
    def depends_on_rates(self) -> bool:
        """Whether the outcome depends on rates that were recorded a little before or after."""
        return isinstance(self.plan, SplitPlan) and self.plan.algorithm == FLOW_OR_QPS_EQUALLY_DIVIDE

    def with_rates_after(self, rates: Mapping[str, TopicLoad]) -> PendingSplit:
        return replace(self, rates_after=dict(rates))

    def planned_with(self, rates: Mapping[str, TopicLoad]) -> SplitPlan | None:
        """The plan with other rates of the same topics; None when it would be refused."""
        topics = [rates.get(topic.name, structs.replace(topic, has_stats=False)) for topic in self.topics]
        plan = _plan(self.request, self.rules, self.before, topics)
        return plan if isinstance(plan, SplitPlan) else None


def _plan(
    request: SplitRequest, rules: Rules, before: NamespaceBundles, topics: Sequence[TopicLoad]
) -> SplitPlan | Rejection:
    return plan_split(
        request.namespace,
        before,
        request.bundle,
        request.algorithm or None,
        request.positions,
        topics=topics,
        settings=rules.settings,
        behaviour=rules.behaviour,
        load_manager=request.load_manager,
        averages={},
        unload=request.unload,
    )


def plan_request(
    request: SplitRequest, rules: Rules, ledger: Ledger, before: NamespaceBundles, topics: Sequence[TopicLoad]
) -> PendingSplit | None:
    """Plan a recorded request and compare its status; None when it was redirected, or came without permission."""
    if request.status in (302, 307):
        ledger.skip("requests that were redirected to the broker that owns the bundle")
        return None
    if request.status in (401, 403):
        ledger.skip("requests without permission")
        return None
    plan: SplitPlan | Rejection | None = _plan(request, rules, before, topics)
    subject = f"{request.namespace}/{request.bundle} by {request.algorithm or 'the default algorithm'}"
    rule = f"order of checks of a split request, Pulsar {rules.behaviour.label}"
    if request.bundle == "HOT":
        ledger.skip("HOT: depends on load data that brokers store and do not show")
        plan = None
    elif request.bundle == "LARGEST" and isinstance(plan, SplitPlan) and _is_tied(before, topics):
        ledger.skip("LARGEST among bundles with equally many topics: depends on the order of listing")
        plan = None
    elif request.answered and request.status is None:
        ledger.skip("split requests without a recorded status")
    elif isinstance(plan, Rejection):
        sides = request.recorded_status, str(plan.status)
        ledger.compare(StepFact.REFUSAL_STATUS, subject, *sides, f"{rule}: {plan.error}")
    else:
        sides = request.recorded_status, NOT_ANSWERED if plan.status is None else str(plan.status)
        kind = StepFact.NEVER_ANSWERED if NOT_ANSWERED in sides else StepFact.SPLIT_STATUS
        if request.status is not None and request.status >= 400:
            kind = StepFact.REFUSAL_STATUS
        ledger.compare(kind, subject, *sides, rule)
    return PendingSplit(request, rules, before, tuple(topics), plan, {})


def _is_tied(bundles: NamespaceBundles, topics: Sequence[TopicLoad]) -> bool:
    counts = Counter(bundles.index_of(topic.hash) for topic in topics if topic.name.startswith(f"{PERSISTENT}://"))
    top = counts.most_common(2)
    return len(top) == 2 and top[0][1] == top[1][1]


def compare_outcome(pending: PendingSplit, ledger: Ledger, recorded: NamespaceBundles) -> None:
    """Compare the list after a request, every boundary of it, with the plan."""
    request, plan = pending.request, pending.plan
    subject = f"{request.namespace}/{request.bundle}"
    if plan is None:
        ledger.skip("bundle lists after a request whose outcome cannot be known")
        return
    listed = boundary_texts(recorded.boundaries)
    if isinstance(plan, Rejection):
        rule = f"a refused request changes nothing ({plan.error})"
        ledger.compare(StepFact.SPLIT_NO_CHANGE, subject, listed, boundary_texts(pending.before.boundaries), rule)
        return
    kind = _KINDS.get(plan.algorithm, StepFact.SPLIT_RANGE)
    if kind is StepFact.SPLIT_FLOW:
        _compare_flow(pending, plan, ledger, recorded)
        return
    kind = kind if plan.changes else StepFact.SPLIT_NO_CHANGE
    ledger.compare(kind, subject, listed, boundary_texts(plan.after.boundaries), plan.algorithm)


def _compare_flow(pending: PendingSplit, plan: SplitPlan, ledger: Ledger, recorded: NamespaceBundles) -> None:
    """With the rates before, with those after, and then with any rates in between."""
    subject = f"{pending.request.namespace}/{pending.request.bundle}"
    listed = boundary_texts(recorded.boundaries)
    later = pending.planned_with(pending.rates_after) if pending.rates_after else None
    fitting = next((one for one in (plan, later) if one is not None and one.after == recorded), None)
    if fitting is not None:
        kind = StepFact.SPLIT_FLOW if fitting.changes else StepFact.SPLIT_NO_CHANGE
        ledger.compare(kind, subject, listed, listed, plan.algorithm)
        return
    inside = {topic.name: topic for topic in pending.topics if plan.parent.includes(topic.hash)}
    after = {name: load for name, load in pending.rates_after.items() if plan.parent.includes(load.hash)}
    kept = set(pending.before.boundaries) <= set(recorded.boundaries)
    cuts = sorted(set(recorded.boundaries) - set(pending.before.boundaries))
    if kept and reachable(windows(inside, after), flow_limits(pending.rules.settings), cuts):
        rule = "some rates between those recorded around that moment give it"
        ledger.compare(StepFact.SPLIT_FLOW_WITHIN, subject, listed, listed, rule)
        return
    rule = f"{plan.algorithm}; no rates between those recorded around that moment give it either"
    ledger.compare(StepFact.SPLIT_FLOW, subject, listed, boundary_texts(plan.after.boundaries), rule)
