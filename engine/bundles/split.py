"""A split on request: from an operator's input to the new bundles, with every refusal of a broker.

After ``NamespacesBase.internalSplitNamespaceBundleAsync``, ``NamespaceService.splitAndOwnBundle`` and
``ExtensibleLoadManagerImpl``. Access rights, peer clusters and owners are not modelled: the request is taken as
allowed, and as sent to the broker that owns the bundle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from engine.bundles.algorithms import (
    flow_limits,
    range_equally_divide,
    resolve_algorithm,
    specified_positions_divide,
)
from engine.bundles.boundaries import (
    BundleRange,
    NamespaceBundles,
    SplitRefusal,
    SplitResult,
    parse_range,
    split_bundles,
)
from engine.bundles.bulk_splits import flow_or_qps_equally_divide, topic_count_equally_divide
from engine.bundles.columns import topics_in
from engine.bundles.loads import BundleAverage, TopicLoad, averages_of, hottest_bundle, largest_bundle
from engine.bundles.plan import (
    ChildShare,
    LoadManager,
    SplitPlan,
    SplitWarning,
    child_findings,
    pulsar_admin_command,
    shares_of,
    topic_findings,
)
from engine.config import (
    CURRENT,
    FLOW_OR_QPS_EQUALLY_DIVIDE,
    RANGE_EQUALLY_DIVIDE,
    SPECIFIED_POSITIONS_DIVIDE,
    SPLIT_ALGORITHMS,
    TOPIC_COUNT_EQUALLY_DIVIDE,
    BrokerSettings,
    ReleaseBehaviour,
)
from engine.errors import Rejection

__all__ = [
    "ChildShare",
    "SplitPlan",
    "SplitRefusal",
    "SplitResult",
    "SplitWarning",
    "carry_out",
    "choose_cuts",
    "plan_split",
    "pulsar_admin_command",
    "split_bundles",
]


def plan_split(
    namespace: str,
    bundles: NamespaceBundles,
    bundle_text: str,
    algorithm: str | None,
    positions: Sequence[int] | None,
    *,
    topics: Sequence[TopicLoad],
    settings: BrokerSettings,
    behaviour: ReleaseBehaviour = CURRENT,
    load_manager: LoadManager = "modular",
    averages: Mapping[str, BundleAverage] | None = None,
    unload: bool = False,
) -> SplitPlan | Rejection:
    """What ``PUT .../namespaces/{tenant}/{namespace}/{bundle}/split`` would do, without doing it.

    ``bundle_text`` is a range, ``LARGEST`` or ``HOT``; a blank ``algorithm`` means the broker's default; ``topics`` are
    the namespace's, in listing order (order counts for LARGEST and for sums). ``averages``, by range text, serve HOT.

    Refusals carry Pulsar's status: 404 unknown namespace or no bundle for the word, 412 unsupported name, missing or
    outside positions, a range that is no current bundle, a bundle too narrow, and in newer releases equal boundaries;
    500 in older ones ``flow_or_qps_equally_divide`` while another algorithm is the default (ClassCastException), and
    nothing to split with the extensible load manager. A plan can also say "204 and no change" or, in older releases,
    "never answered". O(topics × log topics).

    >>> topics = [TopicLoad(f"persistent://t/n/{h}", h) for h in (10, 30)]
    >>> whole = NamespaceBundles("t/n", (0, 0xFFFFFFFF))
    >>> ask = {"topics": topics, "settings": BrokerSettings()}
    >>> plan = plan_split("t/n", whole, "LARGEST", "topic_count_equally_divide", None, **ask)
    >>> plan.status, plan.cuts, [len(child.topics) for child in plan.children]
    (204, (20,), [1, 1])
    """
    if namespace != bundles.namespace:
        return Rejection("NotFound", f"namespace {namespace} does not exist", field="namespace", status=404)
    refusal = _refuse_name(algorithm, positions, settings, behaviour)
    if refusal is not None:
        return refusal
    target = resolve_target(bundles, bundle_text, topics, load_manager, averages)
    if isinstance(target, Rejection):
        return target
    used = resolve_algorithm(algorithm, settings.defaultNamespaceBundleSplitAlgorithm, behaviour.split_algorithms)
    inside = topics_in(target.bundle, topics)
    cuts = choose_cuts(target.bundle, used, positions, inside, settings, behaviour=behaviour)
    if isinstance(cuts, Rejection):
        return cuts
    warnings = [*target.warnings, *_request_warnings(algorithm, used, positions, target.bundle, settings)]
    if load_manager == "extensible":
        if not cuts and behaviour.extensible_without_cuts == "fails":
            return Rejection("ServiceUnitNotReadyException", f"bundle {namespace}/{target.bundle} not found", "", 500)
        warnings += [SplitWarning("unload-ignored")] if unload else []
        warnings += _recomputed(target.bundle, cuts or (), inside, settings, behaviour)
    plan = outcome(bundles, target.bundle, cuts, inside, settings)
    if isinstance(plan, Rejection):
        return plan
    if plan.status is None and (load_manager == "extensible" or behaviour.equal_boundaries == "refused"):
        # The extensible load manager has always reported the failing step, so its caller gets an answer.
        return _invalid_request("split boundaries repeat", "positions")
    return SplitPlan(
        requested_bundle=bundle_text,
        parent=target.bundle,
        algorithm=used,
        positions=tuple(positions or ()),
        cuts=cuts,
        children=plan.children,
        after=plan.after,
        status=plan.status,
        unload=unload,
        warnings=(*warnings, *plan.warnings),
    )


def choose_cuts(
    bundle: BundleRange,
    algorithm: str,
    positions: Sequence[int] | None,
    topics: Sequence[TopicLoad] | None,
    settings: BrokerSettings,
    *,
    behaviour: ReleaseBehaviour = CURRENT,
) -> tuple[int, ...] | Rejection | None:
    """The cuts of an algorithm by its exact name, for the topics of one bundle; None means null, ``()`` an empty list.

    In older releases statistics and limits reach ``flow_or_qps_equally_divide`` only when it is the broker's default;
    requested by name otherwise it fails with a ClassCastException, HTTP 500.
    """
    if algorithm == RANGE_EQUALLY_DIVIDE:
        return range_equally_divide(bundle.lower, bundle.upper)
    if algorithm == TOPIC_COUNT_EQUALLY_DIVIDE:
        return topic_count_equally_divide(topics or ())
    if algorithm == SPECIFIED_POSITIONS_DIVIDE:
        return specified_positions_divide(bundle, topics, positions)
    assert algorithm == FLOW_OR_QPS_EQUALLY_DIVIDE, algorithm
    default = settings.defaultNamespaceBundleSplitAlgorithm
    if default != FLOW_OR_QPS_EQUALLY_DIVIDE and not behaviour.flow_by_name:
        return Rejection(
            "ClassCastException",
            f"{algorithm} works only as defaultNamespaceBundleSplitAlgorithm, which is {default}:"
            " the broker hands it no statistics otherwise. Set the default, or give its cuts as specified positions",
            field="algorithm",
            status=500,
        )
    return flow_or_qps_equally_divide(topics or (), flow_limits(settings))


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of certain cuts; ``status`` None: never answered."""

    children: tuple[ChildShare, ...]
    after: NamespaceBundles
    status: int | None
    warnings: tuple[SplitWarning, ...]


def outcome(
    bundles: NamespaceBundles,
    parent: BundleRange,
    cuts: tuple[int, ...] | None,
    topics: Sequence[TopicLoad],
    settings: BrokerSettings,
) -> Outcome | Rejection:
    """The children that these cuts make of a current bundle, and warnings about them."""
    limits = flow_limits(settings)
    about_topics = topic_findings(topics, limits)
    if not cuts:
        return Outcome((), bundles, 204, (SplitWarning("nothing-to-split", bundle=str(parent)), *about_topics))
    result = split_bundles(bundles, parent, len(cuts) + 1, cuts)
    if isinstance(result, SplitRefusal):
        if result.stage == "sync":
            return _invalid_request(result.message, result.field)
        twins = tuple(sorted(cut for cut, times in Counter(cuts).items() if times > 1))
        return Outcome((), bundles, None, (SplitWarning("never-answered", positions=twins), *about_topics))
    if result is None:
        return _not_ready(bundles, parent)
    children = shares_of(result.children, topics)
    maximum = settings.loadBalancerNamespaceMaximumBundles
    about_children = child_findings(children, result.bundles, limits, maximum)
    return Outcome(children, result.bundles, 204, (*about_topics, *about_children))


def carry_out(plan: SplitPlan, current: NamespaceBundles) -> SplitResult | Rejection:
    """Apply a plan to the list as it is *now*, which may differ from the list the plan was made with.

    All boundaries that others added meanwhile are kept; a parent that is gone is refused (ServiceUnitNotReady, 500), so
    a plan cannot be carried out twice. A plan without change leaves the list as it is.
    """
    if not plan.cuts or not plan.changes:
        return SplitResult(current, ())
    result = split_bundles(current, plan.parent, len(plan.cuts) + 1, plan.cuts)
    return _not_ready(current, plan.parent) if result is None else result


def _refuse_name(
    algorithm: str | None, positions: Sequence[int] | None, settings: BrokerSettings, behaviour: ReleaseBehaviour
) -> Rejection | None:
    if algorithm is None or not algorithm.strip():
        return None
    # Names that a release does not know yet are dropped from the configured list.
    supported = [
        name
        for name in settings.supportedNamespaceBundleSplitAlgorithms
        if name in behaviour.split_algorithms or name not in SPLIT_ALGORITHMS
    ]
    if algorithm not in supported:
        message = f"Unsupported namespace bundle split algorithm, supported algorithms are [{', '.join(supported)}]"
        return Rejection("RestException", message, field="algorithm", status=412)
    if algorithm.lower() == SPECIFIED_POSITIONS_DIVIDE and not positions:
        message = "With specified_positions_divide split algorithm, splitBoundaries must not be empty"
        return Rejection("RestException", message, field="positions", status=412)
    return None


def _request_warnings(
    requested: str | None, used: str, positions: Sequence[int] | None, bundle: BundleRange, settings: BrokerSettings
) -> list[SplitWarning]:
    wanted = requested if requested and requested.strip() else settings.defaultNamespaceBundleSplitAlgorithm
    warnings = [SplitWarning("algorithm-not-known", name=wanted)] if wanted != used else []
    unused = tuple(
        position
        for position in positions or ()
        if used != SPECIFIED_POSITIONS_DIVIDE or not bundle.lower < position < bundle.upper
    )
    return [*warnings, SplitWarning("positions-not-used", positions=unused, name=used)] if unused else warnings


def _recomputed(
    bundle: BundleRange,
    cuts: tuple[int, ...],
    topics: Sequence[TopicLoad],
    settings: BrokerSettings,
    behaviour: ReleaseBehaviour,
) -> list[SplitWarning]:
    if len(cuts) < 2:
        return []
    default = resolve_algorithm(None, settings.defaultNamespaceBundleSplitAlgorithm, behaviour.split_algorithms)
    again = choose_cuts(bundle, default, None, topics, settings, behaviour=behaviour)
    replayed = again if isinstance(again, tuple) else ()
    return [SplitWarning("recomputed-with-default", bundle=str(bundle), positions=replayed, name=default)]


def _invalid_request(reason: str, field: str) -> Rejection:
    message = f"Split bundle failed due to invalid request: {reason}"
    return Rejection("IllegalArgumentException", message, field=field, status=412)


def _not_ready(bundles: NamespaceBundles, parent: BundleRange) -> Rejection:
    message = f"bundle {bundles.namespace}/{parent} is no longer in the bundles list; it may have been split already"
    return Rejection("ServiceUnitNotReadyException", message, field="bundle", status=500)


LARGEST: Final = "LARGEST"
HOT: Final = "HOT"


@dataclass(frozen=True, slots=True)
class Target:
    """A current bundle of the namespace, and warnings about how it was chosen."""

    bundle: BundleRange
    warnings: tuple[SplitWarning, ...] = ()


def resolve_target(
    bundles: NamespaceBundles,
    text: str,
    topics: Sequence[TopicLoad],
    load_manager: LoadManager = "modular",
    averages: Mapping[str, BundleAverage] | None = None,
) -> Target | Rejection:
    """The bundle meant by ``text``; the words are case-sensitive.

    HOT needs the modular load manager and means LARGEST with the others; without ``averages`` the current throughput
    stands in. Refused: 404 when a word finds no bundle (no topics), 412 for a bad range or one that is no
    current bundle.
    """
    target: BundleRange | Rejection | None
    warnings: tuple[SplitWarning, ...] = ()
    if text == HOT and load_manager == "modular":
        stored = averages_of(bundles, topics) if averages is None else averages
        warnings = (SplitWarning("hot-from-current-rates"),) if averages is None else ()
        target = hottest_bundle(bundles, stored)
    elif text in (LARGEST, HOT):
        warnings = (SplitWarning("hot-is-largest"),) if text == HOT else ()
        target = largest_bundle(bundles, topics)
    else:
        target = parse_range(text)
    if target is None:
        return Rejection("RestException", f"Bundle range {text} not found", field="bundle", status=404)
    if isinstance(target, Rejection):
        return target
    return bundles.validate_bundle(target) or Target(target, warnings)
