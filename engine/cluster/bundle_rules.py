"""A split on request, as a decision: the plan of ``engine.bundles`` becomes an event or a refusal."""

from __future__ import annotations

from dataclasses import dataclass

from engine.bundles.plan import SplitPlan
from engine.bundles.split import plan_split
from engine.cluster.commands import SplitBundle
from engine.cluster.consumer_rules import refuse_long_name
from engine.cluster.events import BundleWasSplit, Event
from engine.cluster.limits import INT_64, MAX_POSITIONS
from engine.cluster.listing import topic_loads
from engine.cluster.state import ClusterState, behaviour_in, bundles_of
from engine.errors import Rejection

NOTHING_TO_SPLIT = "NothingToSplit"
"""``error`` of a :class:`SplitWithoutEffect`: the broker answers 204 and changes nothing."""

NEVER_ANSWERED = "NeverAnswered"
"""``error`` of a :class:`SplitWithoutEffect`: the broker fails where nobody listens, so the caller waits for ever."""


@dataclass(frozen=True, slots=True)
class SplitWithoutEffect(Rejection):
    """A split that Pulsar does not refuse and that yet changes nothing: 204 with a log line only, or no answer at all.

    ``plan`` is what would have been done, with its warnings. ``status`` is 204, or 0 for no answer.
    """

    plan: SplitPlan | None = None


def split_bundle(state: ClusterState, command: SplitBundle) -> tuple[Event, ...] | Rejection:
    """Refusals: those of ``plan_split`` with Pulsar's status, and :class:`SplitWithoutEffect`. O(topics log topics)."""
    refusal = _refuse_input(command)
    if refusal is not None:
        return refusal
    if command.namespace not in state.namespaces:
        return Rejection("NotFound", f"namespace {command.namespace} does not exist", "namespace", 404)
    plan = plan_split(
        command.namespace,
        bundles_of(state, command.namespace),
        command.bundle,
        command.algorithm,
        command.positions or None,
        topics=topic_loads(state, command.namespace),
        settings=state.settings,
        behaviour=behaviour_in(state),
    )
    if isinstance(plan, Rejection):
        return plan
    if not plan.changes:
        return _without_effect(plan)
    # The children tell the cuts in ascending order, however the algorithm listed them.
    cuts = tuple(child.bundle.lower for child in plan.children[1:])
    return (BundleWasSplit(command.namespace, plan.parent.lower, plan.parent.upper, cuts, plan.algorithm),)


def _without_effect(plan: SplitPlan) -> SplitWithoutEffect:
    place = f"{plan.namespace}/{plan.parent}"
    if plan.status is None:
        return SplitWithoutEffect(
            NEVER_ANSWERED,
            f"{plan.algorithm} gives equal boundaries for {place}: the broker never answers and nothing changes;"
            " leave out the repeated position or split by another algorithm",
            "positions",
            0,
            plan,
        )
    return SplitWithoutEffect(
        NOTHING_TO_SPLIT,
        f"{plan.algorithm} finds nothing to split in {place}: the broker answers 204 and nothing changes",
        "bundle",
        plan.status,
        plan,
    )


def _refuse_input(command: SplitBundle) -> Rejection | None:
    for field, text in (("bundle", command.bundle), ("algorithm", command.algorithm or "")):
        refusal = refuse_long_name(text, field)
        if refusal is not None:
            return refusal
    if len(command.positions) > MAX_POSITIONS:
        return Rejection("TooManyPositions", f"up to {MAX_POSITIONS} positions are taken here", "positions")
    for position in command.positions:
        if position not in INT_64:
            return Rejection("RestException", f"position {position} is no 64-bit number", "positions", 400)
    return None
