"""Bundles of a namespace: which bundle holds a topic, where each split algorithm cuts, and what comes of it."""

from engine.bundles.algorithms import (
    range_equally_divide,
    resolve_algorithm,
    specified_positions_divide,
    topic_count_equally_divide,
)
from engine.bundles.boundaries import (
    FULL_UPPER_BOUND,
    BundleRange,
    NamespaceBundles,
    boundaries_at_creation,
    boundary_text,
    compare_bundles,
    default_boundaries,
    namespace_bundles,
    parse_range,
    pulsar_lookup_fails,
    validate_boundaries_at_creation,
)
from engine.bundles.children import SplitRefusal, SplitResult, split_bundles
from engine.bundles.flow import FlowLimits, flow_limits, flow_or_qps_as_proposed, flow_or_qps_equally_divide
from engine.bundles.loads import (
    BundleAverage,
    TopicLoad,
    bundle_of_topic,
    hottest_bundle,
    largest_bundle,
    topic_load,
    topics_in,
)
from engine.bundles.plan import (
    ChildShare,
    LoadManager,
    SplitPlan,
    SplitWarning,
    WarningCode,
    pulsar_admin_command,
    split_command,
)
from engine.bundles.preview import SplitPreview, preview_all
from engine.bundles.split import carry_out, choose_cuts, plan_split

__all__ = [
    "FULL_UPPER_BOUND",
    "BundleAverage",
    "BundleRange",
    "ChildShare",
    "FlowLimits",
    "LoadManager",
    "NamespaceBundles",
    "SplitPlan",
    "SplitPreview",
    "SplitRefusal",
    "SplitResult",
    "SplitWarning",
    "TopicLoad",
    "WarningCode",
    "boundaries_at_creation",
    "boundary_text",
    "bundle_of_topic",
    "carry_out",
    "choose_cuts",
    "compare_bundles",
    "default_boundaries",
    "flow_limits",
    "flow_or_qps_as_proposed",
    "flow_or_qps_equally_divide",
    "hottest_bundle",
    "largest_bundle",
    "namespace_bundles",
    "parse_range",
    "plan_split",
    "preview_all",
    "pulsar_admin_command",
    "pulsar_lookup_fails",
    "range_equally_divide",
    "resolve_algorithm",
    "specified_positions_divide",
    "split_bundles",
    "split_command",
    "topic_count_equally_divide",
    "topic_load",
    "topics_in",
    "validate_boundaries_at_creation",
]
