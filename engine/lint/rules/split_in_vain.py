"""A bundle above a limit that automatic splits never bring below it: the algorithm finds no cut, or may not act."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.bundles.algorithms import FlowLimits, flow_limits
from engine.config import FLOW_OR_QPS_EQUALLY_DIVIDE, SPECIFIED_POSITIONS_DIVIDE
from engine.lint.model import Attempt, Finding, NamespaceCase, Rule, Severity

ID: Final = "split-in-vain"


def check(case: NamespaceCase) -> Iterator[Finding]:
    """One finding for each bundle above a limit whose split changes nothing: no boundary, an impossible one, a refusal,
    or a namespace that has ``loadBalancerNamespaceMaximumBundles`` already.

    Only to be known where rates are above a limit by less than ``flowOrQpsDifferenceThresholdPercentage``.

    The modular load manager tries at every report and logs a success, the extensible one counts a failure in every
    cycle; in a full namespace none is tried. O(t log b) for t topics, then O(k log k) for each bundle of k topics
    above a limit.

    >>> from engine.bundles.boundaries import NamespaceBundles
    >>> from engine.bundles.loads import TopicLoad
    >>> from engine.config import BrokerSettings
    >>> from engine.lint.model import World
    >>> flow = BrokerSettings(
    ...     defaultNamespaceBundleSplitAlgorithm="flow_or_qps_equally_divide", loadBalancerNamespaceBundleMaxTopics=2
    ... )
    >>> idle = tuple(TopicLoad(f"persistent://t/n/{at}", at * 10) for at in range(3))
    >>> case = NamespaceCase(World(flow), NamespaceBundles("t/n", (0, 0xFFFFFFFF)), idle)
    >>> [finding.number("topics") for finding in check(case)]
    [3]
    """
    limits = flow_limits(case.world.settings)
    for attempt in case.attempts:
        if attempt.children:
            continue
        what = (
            f"the bundle is above its limit of {_LIMIT[attempt.reason]}, but"
            f" {_full(case) if attempt.full else _tried(attempt, limits)}"
        )
        numbers = (
            ("topics", len(attempt.topics)),
            ("msgs_per_sec", attempt.msgs_per_sec),
            ("bytes_per_sec", attempt.bytes_per_sec),
        )
        severity = Severity.INFO if _below_gate(attempt, limits) else Severity.WARNING
        yield Finding(ID, severity, what, case.where(str(attempt.bundle)), numbers, _advice(attempt))


_LIMIT: Final = {
    "Topics": "topics",
    "Sessions": "sessions",
    "MsgRate": "messages/s",
    "Bandwidth": "bytes/s",
}


def _full(case: NamespaceCase) -> str:
    return (
        f"the namespace has {len(case.bundles)} bundles, and loadBalancerNamespaceMaximumBundles is"
        f" {case.world.settings.loadBalancerNamespaceMaximumBundles}: it is passed over"
    )


def _tried(attempt: Attempt, limits: FlowLimits) -> str:
    return f"{attempt.algorithm} {_why(attempt, limits)}: the split is tried again and again and changes nothing"


def _below_gate(attempt: Attempt, limits: FlowLimits) -> bool:
    """Whether rates are above a limit, but by less than the flow algorithm asks for before it acts."""
    if (
        attempt.full
        or attempt.algorithm != FLOW_OR_QPS_EQUALLY_DIVIDE
        or attempt.reason not in ("MsgRate", "Bandwidth")
    ):
        return False
    factor = limits.gate_factor
    return (
        attempt.msgs_per_sec < limits.max_msgs_per_sec * factor
        and attempt.bytes_per_sec < limits.max_bytes_per_sec * factor
    )


def _why(attempt: Attempt, limits: FlowLimits) -> str:
    if _below_gate(attempt, limits):
        return f"acts only on {limits.difference_threshold_percentage} % more than that"
    if attempt.refusal is not None:
        return "needs positions, which an automatic split does not have"
    if attempt.cuts:
        inside = all(attempt.bundle.lower < cut < attempt.bundle.upper for cut in attempt.cuts)
        return "cuts twice at one place" if inside else "cuts at the bundle's own edge"
    return "has no boundary for it"


def _advice(attempt: Attempt) -> str:
    if attempt.full:
        return "raise loadBalancerNamespaceMaximumBundles, or split the bundle by hand, which the maximum does not stop"
    if attempt.algorithm == SPECIFIED_POSITIONS_DIVIDE:
        return "set defaultNamespaceBundleSplitAlgorithm to another algorithm"
    if attempt.algorithm == FLOW_OR_QPS_EQUALLY_DIVIDE and not attempt.cuts:
        return (
            "split it by hand with topic_count_equally_divide, or raise the limit that is exceeded: the flow algorithm"
            " looks at rates only"
        )
    return "split it by hand at a position between two topics, or raise the limit that is exceeded"


RULE: Final = Rule(
    ID,
    "a bundle above a limit that no automatic split brings below it",
    Severity.WARNING,
    "BundleSplitterTask, DefaultNamespaceBundleSplitStrategyImpl",
    check,
)
