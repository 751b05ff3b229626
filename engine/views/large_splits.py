"""The split preview of a bundle with very many topics: what ``engine.bundles.preview_all`` says, from columns.

Sums are added in the order of the hashes and not of the listing, so they can differ in their last digits. Where a
decision hangs on such digits ``None`` is the answer, and the caller asks topic by topic.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from engine.bundles.boundaries import FULL_UPPER_BOUND, BundleRange, NamespaceBundles
from engine.bundles.flow import flow_limits
from engine.bundles.loads import TopicLoad
from engine.bundles.plan import ChildShare, SplitPlan, SplitWarning, pulsar_admin_command, split_command
from engine.bundles.preview import PositionsFrom, SplitPreview
from engine.bundles.split import choose_cuts, outcome, plan_split
from engine.cluster.topic_table import NumberedNames
from engine.config import (
    FLOW_OR_QPS_EQUALLY_DIVIDE,
    SPECIFIED_POSITIONS_DIVIDE,
    SPLIT_ALGORITHMS,
    TOPIC_COUNT_EQUALLY_DIVIDE,
    BrokerSettings,
    ReleaseBehaviour,
)
from engine.errors import Rejection
from engine.views.large_bundle import (
    Inside,
    RoundingDecidesError,
    child_warnings,
    flow_cuts,
    middle_cuts,
    proposed_cuts,
    sum_of,
    topic_warnings,
)
from engine.views.lazy import LazyRows

_OF_REQUEST: Final = ("algorithm-not-known", "positions-not-used")


def large_preview(
    bundles: NamespaceBundles,
    parent: BundleRange,
    inside: Inside,
    settings: BrokerSettings,
    behaviour: ReleaseBehaviour,
    *,
    positions: tuple[int, ...] | None,
) -> tuple[SplitPreview, ...] | None:
    """``preview_all`` for a current bundle; None where rounding decides. O(n) in whole columns."""
    try:
        return _Preview(bundles, parent, inside, behaviour).lines(settings, positions)
    except RoundingDecidesError:
        return None


class _Preview:
    def __init__(
        self, bundles: NamespaceBundles, parent: BundleRange, inside: Inside, behaviour: ReleaseBehaviour
    ) -> None:
        self.bundles, self.parent, self.inside, self.behaviour = bundles, parent, inside, behaviour

    def lines(self, settings: BrokerSettings, positions: tuple[int, ...] | None) -> tuple[SplitPreview, ...]:
        limits = flow_limits(settings)
        about_topics = topic_warnings(self.inside, limits)
        given, source = self._positions(positions, settings)
        lines = []
        for name in SPLIT_ALGORITHMS:
            mine = given if name == SPECIFIED_POSITIONS_DIVIDE else None
            plan = self._plan(name, mine, settings, about_topics)
            refusal = plan if isinstance(plan, Rejection) else None
            if refusal is not None and refusal.error == "ClassCastException":
                default = replace(settings, defaultNamespaceBundleSplitAlgorithm=name)
                plan = self._plan(name, mine, default, about_topics)
            lines.append(
                SplitPreview(
                    name, plan, refusal, _command(plan, refusal), positions_from="" if mine is None else source
                )
            )
        return (*lines, self._proposed(settings, about_topics))

    def _positions(
        self, given: tuple[int, ...] | None, settings: BrokerSettings
    ) -> tuple[tuple[int, ...], PositionsFrom]:
        if given:
            return given, "given"
        cuts = middle_cuts(self.inside.hashes)
        if cuts and self.parent.lower < cuts[0] < self.parent.upper:
            return cuts, "topic count"
        return (self.parent.lower + (self.parent.upper - self.parent.lower) // 2,), "middle"

    def _plan(
        self,
        name: str,
        positions: tuple[int, ...] | None,
        settings: BrokerSettings,
        about_topics: tuple[SplitWarning, ...],
    ) -> SplitPlan | Rejection:
        # Without topics the request is refused, or warned of, all the same.
        request = plan_split(
            self.bundles.namespace, self.bundles, str(self.parent), name, positions,
            topics=(), settings=settings, behaviour=self.behaviour,
        )  # fmt: skip
        if isinstance(request, Rejection):
            return request
        cuts = self._cuts(request.algorithm, positions, settings)
        if isinstance(cuts, Rejection):
            return cuts
        warned = tuple(each for each in request.warnings if each.code in _OF_REQUEST)
        return self._carried_out(replace(request, cuts=cuts, warnings=warned), settings, about_topics)

    def _cuts(
        self, algorithm: str, positions: tuple[int, ...] | None, settings: BrokerSettings
    ) -> tuple[int, ...] | Rejection | None:
        if algorithm == TOPIC_COUNT_EQUALLY_DIVIDE:
            return middle_cuts(self.inside.hashes)
        if algorithm == FLOW_OR_QPS_EQUALLY_DIVIDE:
            return flow_cuts(self.inside, flow_limits(settings))
        # The others only count the topics.
        return choose_cuts(self.parent, algorithm, positions, LazyRows(len(self.inside), self._load), settings)

    def _load(self, at: int) -> TopicLoad:
        return TopicLoad(self.inside.names[at], int(self.inside.hashes[at]))

    def _carried_out(
        self, plan: SplitPlan, settings: BrokerSettings, about_topics: tuple[SplitWarning, ...]
    ) -> SplitPlan | Rejection:
        """The plan with what its cuts make of the bundle."""
        found = outcome(self.bundles, self.parent, plan.cuts, (), settings)
        if isinstance(found, Rejection):
            return found
        children = tuple(self._share(each.bundle) for each in found.children)
        about_children = child_warnings(children, flow_limits(settings))
        # What is left of the warnings without topics: nothing to split, never answered, too many bundles.
        first = tuple(each for each in found.warnings if each.code in ("nothing-to-split", "never-answered"))
        last = tuple(each for each in found.warnings if each.code == "above-maximum-bundles")
        return replace(
            plan,
            children=children,
            after=found.after,
            status=found.status,
            warnings=(*plan.warnings, *first, *about_topics, *about_children, *last),
        )

    def _share(self, bundle: BundleRange) -> ChildShare:
        inside = self.inside
        past = bundle.upper + 1 if bundle.upper == FULL_UPPER_BOUND else bundle.upper
        low, high = np.searchsorted(inside.hashes, (bundle.lower, past), side="left").tolist()
        names = NumberedNames(inside.names.topics, inside.names.numbers[low:high])
        return ChildShare(bundle, names, sum_of(inside.msgs_per_sec[low:high]), sum_of(inside.bytes_per_sec[low:high]))

    def _proposed(self, settings: BrokerSettings, about_topics: tuple[SplitWarning, ...]) -> SplitPreview:
        cuts = proposed_cuts(self.inside)
        plan = self._carried_out(
            SplitPlan(
                requested_bundle=str(self.parent),
                parent=self.parent,
                algorithm=FLOW_OR_QPS_EQUALLY_DIVIDE,
                positions=(),
                cuts=cuts,
                children=(),
                after=self.bundles,
                status=None,
                unload=False,
                warnings=(),
            ),
            settings,
            about_topics,
        )
        command = "" if isinstance(plan, Rejection) or not plan.changes else _as_positions(plan)
        return SplitPreview(FLOW_OR_QPS_EQUALLY_DIVIDE, plan, None, command, as_proposed=True)


def _command(plan: SplitPlan | Rejection, refusal: Rejection | None) -> str:
    if isinstance(plan, Rejection) or not plan.cuts:
        return ""
    return pulsar_admin_command(plan) if refusal is None and plan.changes else _as_positions(plan)


def _as_positions(plan: SplitPlan) -> str:
    return split_command(plan.namespace, plan.parent, SPECIFIED_POSITIONS_DIVIDE, plan.cuts or ())
