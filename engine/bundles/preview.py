"""Compare all split algorithms for one bundle, without splitting it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

import numpy as np
from msgspec.structs import replace

from engine.bundles.algorithms import flow_limits, range_equally_divide
from engine.bundles.boundaries import BundleRange, NamespaceBundles
from engine.bundles.bulk_splits import along_the_axis, flow_or_qps_as_proposed
from engine.bundles.columns import LoadColumns, running_sums, sum_in_order, topics_in
from engine.bundles.loads import BundleAverage, TopicLoad
from engine.bundles.plan import LoadManager, SplitPlan, hottest_rows, pulsar_admin_command, split_command
from engine.bundles.split import choose_cuts, outcome, plan_split, resolve_target
from engine.config import (
    CURRENT,
    FLOW_OR_QPS_EQUALLY_DIVIDE,
    SPECIFIED_POSITIONS_DIVIDE,
    SPLIT_ALGORITHMS,
    TOPIC_COUNT_EQUALLY_DIVIDE,
    BrokerSettings,
    ReleaseBehaviour,
)
from engine.errors import Rejection

ROUNDING_MARGIN: Final = 1e-9
"""Within this relative distance of a limit, the order of additions may change the decision."""
PositionsFrom = Literal["", "given", "topic count", "middle"]


@dataclass(frozen=True, slots=True)
class SplitPreview:
    """One algorithm's line of a preview.

    ``plan`` is the result of its cuts; ``refusal`` is the answer of a broker with these settings to a request by name,
    None when it accepts (so ``flow_or_qps_equally_divide`` can have both). ``as_proposed`` marks the rule that no
    Pulsar has. ``positions_from`` says where the positions of ``specified_positions_divide`` come from. ``command`` is
    a ``pulsar-admin`` line that makes exactly these cuts, empty without cuts.
    """

    algorithm: str
    plan: SplitPlan | Rejection
    refusal: Rejection | None
    command: str
    as_proposed: bool = False
    positions_from: PositionsFrom = ""


def preview_all(
    bundles: NamespaceBundles,
    bundle_text: str,
    topics: Sequence[TopicLoad],
    settings: BrokerSettings,
    behaviour: ReleaseBehaviour = CURRENT,
    *,
    positions: Sequence[int] | None = None,
    load_manager: LoadManager = "modular",
    averages: Mapping[str, BundleAverage] | None = None,
) -> tuple[SplitPreview, ...] | Rejection:
    """Every algorithm in Pulsar's order, then the flow rule as first proposed. Refused when the bundle is not found.

    Positions that are not given are the topic-count cut where that lies inside the bundle, else its middle.

    >>> topics = [TopicLoad(f"persistent://t/n/{h}", h) for h in (10, 30)]
    >>> lines = preview_all(NamespaceBundles("t/n", (0, 0xFFFFFFFF)), "LARGEST", topics, BrokerSettings())
    >>> [line.plan.cuts for line in lines]
    [(2147483647,), (20,), (20,), None, ()]
    """
    target = resolve_target(bundles, bundle_text, topics, load_manager, averages)
    if isinstance(target, Rejection):
        return target
    parent = target.bundle
    inside = topics_in(parent, topics)
    chosen, positions_from = _positions(parent, inside, positions, settings)
    lines = []
    for name in SPLIT_ALGORITHMS:
        given = chosen if name == SPECIFIED_POSITIONS_DIVIDE else None
        ask = partial(
            plan_split, bundles.namespace, bundles, str(parent), name, given,
            topics=inside, behaviour=behaviour, load_manager=load_manager,
        )  # fmt: skip
        plan = ask(settings=settings)
        refusal = plan if isinstance(plan, Rejection) else None
        if refusal is not None and refusal.error == "ClassCastException":
            plan = ask(settings=replace(settings, defaultNamespaceBundleSplitAlgorithm=name))
        command = _command(plan, refusal)
        source: PositionsFrom = "" if given is None else positions_from
        lines.append(SplitPreview(name, plan, refusal, command, positions_from=source))
    return (*lines, _proposed_line(bundles, parent, inside, settings))


def hangs_on_order(lines: Sequence[SplitPreview], inside: LoadColumns, settings: BrokerSettings) -> bool:
    """Whether the listing order of the topics may change the cuts, through rounding of a sum or through equal topics.

    ``lines`` are those of ``preview_all`` for the topics ``inside`` the bundle. O(n log n).
    """
    limits = flow_limits(settings)
    most = (limits.max_msgs_per_sec, limits.max_bytes_per_sec)
    plans = [line.plan for line in lines if isinstance(line.plan, SplitPlan)]
    shares = [(child.msgs_per_sec, child.bytes_per_sec) for plan in plans for child in plan.children]
    compared: list[tuple[float, float]] = [pair for share in shares for pair in zip(share, most, strict=True)]
    known = inside.with_stats
    last = along_the_axis(inside.hashes[known])[1]
    for values, limit in zip(inside.flow, most, strict=True):
        total = sum_in_order(values[known])
        compared.append((total, limit * limits.gate_factor))
        # Half of the total is compared with the running sum at each topic; the nearest sum decides.
        running = running_sums(values[known][last])
        place = int(np.searchsorted(running, total / 2))
        compared += [(near, total / 2) for near in running[max(place - 1, 0) : place + 1].tolist()]
    near = any(total and abs(total - limit) <= ROUNDING_MARGIN * max(abs(limit), total) for total, limit in compared)
    return near or len(hottest_rows(inside, limits)) > 1


def _positions(
    parent: BundleRange, topics: Sequence[TopicLoad], given: Sequence[int] | None, settings: BrokerSettings
) -> tuple[tuple[int, ...], PositionsFrom]:
    if given:
        return tuple(given), "given"
    cuts = choose_cuts(parent, TOPIC_COUNT_EQUALLY_DIVIDE, None, topics, settings)
    if isinstance(cuts, tuple) and cuts and parent.lower < cuts[0] < parent.upper:
        return cuts, "topic count"
    return range_equally_divide(parent.lower, parent.upper), "middle"


def _command(plan: SplitPlan | Rejection, refusal: Rejection | None) -> str:
    if isinstance(plan, Rejection) or not plan.cuts:
        return ""
    if refusal is None and plan.changes:
        return pulsar_admin_command(plan)
    return _as_positions(plan)


def _as_positions(plan: SplitPlan) -> str:
    # Any cuts can be requested as positions, without duplicates.
    return split_command(plan.namespace, plan.parent, SPECIFIED_POSITIONS_DIVIDE, plan.cuts or ())


def _proposed_line(
    bundles: NamespaceBundles, parent: BundleRange, topics: Sequence[TopicLoad], settings: BrokerSettings
) -> SplitPreview:
    cuts = flow_or_qps_as_proposed(topics)
    result = outcome(bundles, parent, cuts, topics, settings)
    if isinstance(result, Rejection):
        return SplitPreview(FLOW_OR_QPS_EQUALLY_DIVIDE, result, None, "", as_proposed=True)
    plan = SplitPlan(
        requested_bundle=str(parent),
        parent=parent,
        algorithm=FLOW_OR_QPS_EQUALLY_DIVIDE,
        positions=(),
        cuts=cuts,
        children=result.children,
        after=result.after,
        status=result.status,
        unload=False,
        warnings=result.warnings,
    )
    command = _as_positions(plan) if plan.changes else ""
    return SplitPreview(FLOW_OR_QPS_EQUALLY_DIVIDE, plan, None, command, as_proposed=True)
