"""Splits on request: the status a broker answers with, and the bundle list that must be there afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from engine.bundles import NamespaceBundles, TopicLoad, boundary_text, flow_limits
from engine.bundles.plan import SplitPlan
from engine.bundles.split import plan_split
from engine.config import (
    FLOW_OR_QPS_EQUALLY_DIVIDE,
    RANGE_EQUALLY_DIVIDE,
    SPECIFIED_POSITIONS_DIVIDE,
    TOPIC_COUNT_EQUALLY_DIVIDE,
)
from engine.errors import Rejection
from engine.names import PERSISTENT
from tests.lab.bundles.flow_rates import reachable, windows
from tests.lab.judge import Judge
from tests.lab.report import FactKind, Ledger

_KINDS = {
    RANGE_EQUALLY_DIVIDE: FactKind.SPLIT_RANGE,
    TOPIC_COUNT_EQUALLY_DIVIDE: FactKind.SPLIT_TOPIC_COUNT,
    SPECIFIED_POSITIONS_DIVIDE: FactKind.SPLIT_SPECIFIED,
    FLOW_OR_QPS_EQUALLY_DIVIDE: FactKind.SPLIT_FLOW,
}


@dataclass(frozen=True, slots=True)
class Asked:
    """One split request as it was recorded. ``answered`` False: the recorder waited in vain."""

    namespace: str
    bundle: str
    algorithm: str
    positions: tuple[int, ...]
    unload: bool
    status: int | None
    answered: bool


@dataclass(frozen=True, slots=True)
class Awaited:
    """A split that was asked for, until the next bundle list shows what came of it.

    ``plan`` is None when the outcome cannot be told from what was recorded; ``rates_after`` are those recorded between
    the request and that list.
    """

    asked: Asked
    judge: Judge
    before: NamespaceBundles
    topics: tuple[TopicLoad, ...]
    plan: SplitPlan | Rejection | None
    rates_after: Mapping[str, TopicLoad]

    @property
    def list_after(self) -> NamespaceBundles | None:
        """The list a further request would meet; None when it cannot be told."""
        if self.plan is None:
            return None
        return self.before if isinstance(self.plan, Rejection) else self.plan.after

    @property
    def status(self) -> int | None:
        """The status of the plan; None for no answer, or where there is no plan."""
        return None if self.plan is None else self.plan.status


def ask(
    asked: Asked,
    judge: Judge,
    ledger: Ledger,
    before: NamespaceBundles,
    topics: Sequence[TopicLoad],
) -> Awaited | None:
    """Plan a recorded request and hold its status against the recorded one.

    None when it went to another broker, which is not modelled.
    """
    subject = f"{asked.namespace}/{asked.bundle} by {asked.algorithm or 'the default algorithm'}"
    if asked.status in (307, 302):
        ledger.skip("requests that were sent on to the broker that owns the bundle")
        return None
    if asked.status in (401, 403):
        ledger.skip("requests without permission")
        return None
    plan: SplitPlan | Rejection | None = plan_split(
        asked.namespace,
        before,
        asked.bundle,
        asked.algorithm or None,
        asked.positions,
        topics=topics,
        settings=judge.settings,
        behaviour=judge.behaviour,
        load_manager="modular",
        averages={},
        unload=asked.unload,
    )
    rule = f"order of checks of a split request, Pulsar {judge.behaviour.label}"
    if asked.bundle == "HOT":
        ledger.skip("HOT: depends on load data that brokers store and do not show")
        plan = None
    elif asked.bundle == "LARGEST" and isinstance(plan, SplitPlan) and _tied(before, topics):
        ledger.skip("LARGEST among bundles with equally many topics: depends on the order of listing")
        plan = None
    elif asked.answered and asked.status is None:
        ledger.skip("split requests without a recorded status")
    elif isinstance(plan, Rejection):
        recorded = str(asked.status) if asked.answered else "never answered"
        ledger.compare(FactKind.REFUSAL_STATUS, subject, recorded, str(plan.status), f"{rule}: {plan.error}")
    elif plan is not None:
        wanted = "never answered" if plan.status is None else str(plan.status)
        recorded = str(asked.status) if asked.answered else "never answered"
        kind = FactKind.NEVER_ANSWERED if "never answered" in (wanted, recorded) else FactKind.SPLIT_STATUS
        if asked.status is not None and asked.status >= 400:
            kind = FactKind.REFUSAL_STATUS
        ledger.compare(kind, subject, recorded, wanted, rule)
    return Awaited(asked, judge, before, tuple(topics), plan, {})


def needs_topics(asked: Asked, judge: Judge) -> bool:
    """Whether the outcome depends on the topics of the bundle."""
    used = asked.algorithm or judge.settings.defaultNamespaceBundleSplitAlgorithm
    return used != RANGE_EQUALLY_DIVIDE or asked.bundle in ("LARGEST", "HOT")


def is_by_rates(plan: SplitPlan | Rejection) -> bool:
    """Whether the outcome hangs on rates that were recorded a little before or after."""
    return isinstance(plan, SplitPlan) and plan.algorithm == FLOW_OR_QPS_EQUALLY_DIVIDE


def _tied(bundles: NamespaceBundles, topics: Sequence[TopicLoad]) -> bool:
    counts = Counter(bundles.index_of(topic.hash) for topic in topics if topic.name.startswith(f"{PERSISTENT}://"))
    top = counts.most_common(2)
    return len(top) == 2 and top[0][1] == top[1][1]


def with_rates_after(awaited: Awaited, rates: Mapping[str, TopicLoad]) -> Awaited:
    """The same request, with the rates that were recorded after it."""
    return replace(awaited, rates_after=dict(rates))


def judge_split_result(awaited: Awaited, ledger: Ledger, recorded: NamespaceBundles) -> None:
    """The list after a request: hold every boundary of it against the plan."""
    asked, plan = awaited.asked, awaited.plan
    subject = f"{asked.namespace}/{asked.bundle}"
    if plan is None:
        ledger.skip("bundle lists after a request whose outcome cannot be told")
        return
    seen = texts(recorded.boundaries)
    if isinstance(plan, Rejection):
        rule = f"a refused request changes nothing ({plan.error})"
        ledger.compare(FactKind.SPLIT_NO_CHANGE, subject, seen, texts(awaited.before.boundaries), rule)
        return
    rule = plan.algorithm
    kind = _KINDS.get(plan.algorithm, FactKind.SPLIT_RANGE)
    if kind is FactKind.SPLIT_FLOW:
        _judge_flow(awaited, plan, ledger, recorded)
    elif plan.changes:
        ledger.compare(kind, subject, seen, texts(plan.after.boundaries), rule)
    else:
        ledger.compare(FactKind.SPLIT_NO_CHANGE, subject, seen, texts(plan.after.boundaries), rule)


def _judge_flow(awaited: Awaited, plan: SplitPlan, ledger: Ledger, recorded: NamespaceBundles) -> None:
    """First with the rates before, then with those after; then whether any rates in between give the recorded list."""
    subject = f"{awaited.asked.namespace}/{awaited.asked.bundle}"
    seen = texts(recorded.boundaries)
    later = _plan_with(awaited, awaited.rates_after) if awaited.rates_after else None
    plans = [plan, *([later] if later is not None else [])]
    fitting = next((each for each in plans if each.after == recorded), None)
    if fitting is not None:
        kind = FactKind.SPLIT_FLOW if fitting.changes else FactKind.SPLIT_NO_CHANGE
        ledger.compare(kind, subject, seen, seen, plan.algorithm)
        return
    inside = {topic.name: topic for topic in awaited.topics if plan.parent.includes(topic.hash)}
    after = {name: load for name, load in awaited.rates_after.items() if plan.parent.includes(load.hash)}
    kept = set(awaited.before.boundaries) <= set(recorded.boundaries)
    cuts = sorted(set(recorded.boundaries) - set(awaited.before.boundaries))
    if kept and reachable(windows(inside, after), flow_limits(awaited.judge.settings), cuts):
        rule = "some rates between those recorded around that moment give it"
        ledger.compare(FactKind.SPLIT_FLOW_WITHIN, subject, seen, seen, rule)
        return
    rule = f"{plan.algorithm}; no rates between those recorded around that moment give it either"
    ledger.compare(FactKind.SPLIT_FLOW, subject, seen, texts(plan.after.boundaries), rule)


def _plan_with(awaited: Awaited, rates: Mapping[str, TopicLoad]) -> SplitPlan | None:
    topics = [rates.get(topic.name, replace(topic, has_stats=False)) for topic in awaited.topics]
    asked = awaited.asked
    plan = plan_split(
        asked.namespace,
        awaited.before,
        asked.bundle,
        asked.algorithm or None,
        asked.positions,
        topics=topics,
        settings=awaited.judge.settings,
        behaviour=awaited.judge.behaviour,
    )
    return plan if isinstance(plan, SplitPlan) else None


def texts(boundaries: tuple[int, ...]) -> tuple[str, ...]:
    """Boundaries as brokers write them."""
    return tuple(boundary_text(boundary) for boundary in boundaries)
