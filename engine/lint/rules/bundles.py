"""Rules about bundles and their topics: hot topics, splits in vain, hashes that cannot be parted."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Final

from engine.bundles.algorithms import FlowLimits, flow_limits
from engine.bundles.boundaries import FULL_UPPER_BOUND, BundleRange
from engine.bundles.columns import topics_in
from engine.bundles.plan import shares_of
from engine.config import FLOW_OR_QPS_EQUALLY_DIVIDE, SPECIFIED_POSITIONS_DIVIDE
from engine.lint.model import Attempt, Finding, NamespaceCase, Rule, Severity, World, cuts_of
from engine.lint.topics import above, traffic_of, twins_of
from engine.text import counted, listed

_BUNDLE_HOT_TOPIC_ADVICE: Final = (
    "give the topic more partitions so that its traffic is in several bundles, or raise"
    " loadBalancerNamespaceBundleMaxMsgRate or ...MaxBandwidthMbytes above what one topic carries"
)


def bundle_hot_topic(case: NamespaceCase) -> Iterator[Finding]:
    """One topic that alone is above a limit of a bundle (bug pattern B01): no split divides a topic.

    One finding for each such topic; a warning while others are known to share its bundle, which is split in vain.

    O(t) for t topics, and O(t log b) once more when one is found. Rates are in plus out; limits are those of one
    bundle, the bandwidth in the 64 bits that were meant. ``share_of_bundle`` is that of messages where their limit is
    exceeded, else of bytes.

    >>> from engine.bundles.boundaries import NamespaceBundles
    >>> from engine.bundles.loads import TopicLoad
    >>> from engine.lint.model import World
    >>> two = (TopicLoad("persistent://t/n/a", 5, msg_rate_in=30_001.0), TopicLoad("persistent://t/n/b", 6))
    >>> case = NamespaceCase(World(), NamespaceBundles("t/n", (0, 0xFFFFFFFF)), two)
    >>> (finding,) = bundle_hot_topic(case)
    >>> [(finding.where.topic, finding.number("share_of_bundle"), finding.severity.label)]
    [('persistent://t/n/a', 1.0, 'warning')]
    """
    limits = flow_limits(case.world.settings)
    # A limit of 0 or less is exceeded by everything, and so says nothing about a topic.
    most_msgs = limits.max_msgs_per_sec if limits.max_msgs_per_sec > 0 else inf
    most_bytes = limits.max_bytes_per_sec if limits.max_bytes_per_sec > 0 else inf
    hot = above(case.topics, most_msgs, most_bytes)
    if not hot:
        return
    by_bundle = {str(inside.bundle): traffic_of(inside.topics) for inside in case.by_bundle}
    for topic in hot:
        bundle = case.bundle_text(topic.hash)
        traffic = by_bundle.get(bundle) or traffic_of((topic,))
        # Of what it is above the limit with; it is more than 0, and so is the sum.
        if topic.msgs_per_sec > most_msgs:
            share = topic.msgs_per_sec / traffic.msgs_per_sec
        else:
            share = topic.bytes_per_sec / traffic.bytes_per_sec
        others = traffic.topics - 1
        if others:
            company = f"its bundle, with {counted(others, 'other topic')}, is due because of it however it is split"
        elif bundle:
            company = "it has its bundle to itself, and no split makes that smaller"
        else:
            company = "no answer names its bundle, and no split divides a topic"
        what = (
            f"one topic carries {topic.msgs_per_sec:,.0f} messages/s and {topic.bytes_per_sec:,.0f} bytes/s, more than"
            f" a bundle may ({limits.max_msgs_per_sec:,} and {limits.max_bytes_per_sec:,}): {company}"
        )
        numbers = (
            ("msgs_per_sec", topic.msgs_per_sec),
            ("max_msgs_per_sec", limits.max_msgs_per_sec),
            ("bytes_per_sec", topic.bytes_per_sec),
            ("max_bytes_per_sec", limits.max_bytes_per_sec),
            ("share_of_bundle", share),
            ("other_topics", others),
        )
        severity = Severity.WARNING if others else Severity.INFO
        yield Finding(
            BUNDLE_HOT_TOPIC.id, severity, what, case.where(bundle, topic.name), numbers, _BUNDLE_HOT_TOPIC_ADVICE
        )


BUNDLE_HOT_TOPIC: Final = Rule(
    "bundle-hot-topic", "one topic alone is above a limit of a bundle", Severity.WARNING, "#11937", bundle_hot_topic
)


_MOST_ROUNDS: Final = 33
"""Halving 2^32 so many times leaves a width below 1."""


def split_empty_half(case: NamespaceCase) -> Iterator[Finding]:
    """A split that is due and leaves a bundle without topics (bug pattern B06).

    One finding for each bundle above a limit whose next split leaves a child without topics.

    ``splits_needed`` counts the splits until two topics are parted, 0 when the algorithm never parts them. Where the
    extensible load manager refuses several boundaries, nothing is split. O(t log b) for t topics, then O(k log k) for
    each split of k topics.

    >>> from engine.bundles.boundaries import NamespaceBundles
    >>> from engine.bundles.loads import TopicLoad
    >>> from engine.config import BrokerSettings
    >>> from engine.lint.model import World
    >>> two = (TopicLoad("persistent://t/n/a", 5), TopicLoad("persistent://t/n/b", 0x30000000))
    >>> tight = World(BrokerSettings(loadBalancerNamespaceBundleMaxTopics=1))
    >>> case = NamespaceCase(tight, NamespaceBundles("t/n", (0, 0x80000000, 0xFFFFFFFF)), two)
    >>> [finding.number("splits_needed") for finding in split_empty_half(case)]
    [2]
    """
    for attempt in case.attempts:
        children = attempt.children
        if case.world.load_manager == "extensible" and len(children) > 2:
            continue
        empty = [str(child.bundle) for child in shares_of(children, attempt.topics) if not child.topics]
        if not empty:
            continue
        needed = _splits_needed(case.world, attempt)
        topics = len(attempt.topics)
        effect = (
            f"it takes {needed} splits until two topics are parted" if needed else "no further split parts them either"
        )
        what = (
            f"{attempt.algorithm} would cut at {', '.join(f'{cut:#010x}' for cut in attempt.cuts or ())} and leave"
            f" {empty[0]} without any of the {counted(topics, 'topic')}: {effect}"
        )
        numbers = (("topics", topics), ("empty_children", len(empty)), ("splits_needed", needed))
        yield Finding(
            SPLIT_EMPTY_HALF.id,
            Severity.WARNING,
            what,
            case.where(str(attempt.bundle)),
            numbers,
            _advice(attempt, needed),
        )


def _splits_needed(world: World, attempt: Attempt) -> int:
    bundle, cuts, algorithm = attempt.bundle, attempt.cuts, attempt.algorithm
    for number in range(1, _MOST_ROUNDS + 1):
        children = Attempt(bundle, attempt.topics, attempt.reason, 0.0, 0.0, algorithm, cuts).children
        shares = shares_of(children, attempt.topics)
        full = [share.bundle for share in shares if share.topics]
        if len(full) != 1:
            return number if full else 0
        bundle = full[0]
        _, cuts, _ = cuts_of(world, bundle, attempt.topics)
    return 0


def _advice(attempt: Attempt, needed: int) -> str:
    if not needed:
        return (
            "split by hand with specified_positions_divide one above the lower hash, if the hashes differ; topics of"
            " one hash stay together for ever"
        )
    return "split by hand with topic_count_equally_divide, which cuts between topics"


SPLIT_EMPTY_HALF: Final = Rule(
    "split-empty-half",
    "a bundle above a limit, and its next split would leave an empty half",
    Severity.WARNING,
    "#6241; TopicCountEquallyDivideBundleSplitAlgorithm",
    split_empty_half,
)


def split_in_vain(case: NamespaceCase) -> Iterator[Finding]:
    """A bundle above a limit that automatic splits never bring below it: the algorithm finds no cut, or may not act.

    One finding for each bundle above a limit whose split changes nothing: no boundary, an impossible one, a refusal,
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
    >>> [finding.number("topics") for finding in split_in_vain(case)]
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
        yield Finding(SPLIT_IN_VAIN.id, severity, what, case.where(str(attempt.bundle)), numbers, _what_to_do(attempt))


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


def _what_to_do(attempt: Attempt) -> str:
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


SPLIT_IN_VAIN: Final = Rule(
    "split-in-vain",
    "a bundle above a limit that no automatic split brings below it",
    Severity.WARNING,
    "BundleSplitterTask, DefaultNamespaceBundleSplitStrategyImpl",
    split_in_vain,
)


_SPLIT_MANY_BOUNDARIES_ADVICE: Final = (
    "split the bundle by hand into two at one of these boundaries (specified_positions_divide), or set"
    " defaultNamespaceBundleSplitAlgorithm to topic_count_equally_divide"
)


def split_many_boundaries(case: NamespaceCase) -> Iterator[Finding]:
    """A flow split into three or more pieces, which the extensible load manager refuses (bug pattern B05).

    One finding for each bundle above a limit for which the default algorithm has more than one boundary.

    An error under the extensible load manager, to be known where the load manager is not, nothing under the others,
    which carry out any number. O(t log b) for t topics, then O(k log k) for each bundle of k topics above a limit.

    >>> from engine.bundles.boundaries import NamespaceBundles
    >>> from engine.bundles.loads import TopicLoad
    >>> from engine.config import BrokerSettings
    >>> from engine.lint.model import World
    >>> flow = BrokerSettings(defaultNamespaceBundleSplitAlgorithm="flow_or_qps_equally_divide")
    >>> topics = tuple(TopicLoad(f"persistent://t/n/{at}", at * 10, msg_rate_in=20_000.0) for at in range(3))
    >>> case = NamespaceCase(World(flow, load_manager="extensible"), NamespaceBundles("t/n", (0, 0xFFFFFFFF)), topics)
    >>> [finding.number("boundaries") for finding in split_many_boundaries(case)]
    [2]
    """
    manager = case.world.load_manager
    if manager not in ("extensible", None):
        return
    for attempt in case.attempts:
        count = len(attempt.cuts or ())
        if count < 2:
            continue
        effect = (
            "the extensible load manager takes exactly one, so this bundle is never split, in every cycle anew"
            if manager
            else "if the brokers run the extensible load manager, it takes exactly one and never splits this bundle"
        )
        what = (
            f"{attempt.algorithm} needs {count} boundaries for {attempt.msgs_per_sec:,.0f} messages/s and"
            f" {attempt.bytes_per_sec:,.0f} bytes/s: {effect}"
        )
        numbers = (
            ("boundaries", count),
            ("topics", len(attempt.topics)),
            ("msgs_per_sec", attempt.msgs_per_sec),
            ("bytes_per_sec", attempt.bytes_per_sec),
        )
        severity = Severity.ERROR if manager else Severity.INFO
        yield Finding(
            SPLIT_MANY_BOUNDARIES.id,
            severity,
            what,
            case.where(str(attempt.bundle)),
            numbers,
            _SPLIT_MANY_BOUNDARIES_ADVICE,
        )


SPLIT_MANY_BOUNDARIES: Final = Rule(
    "split-many-boundaries",
    "a split needs several boundaries, which the extensible load manager refuses",
    Severity.ERROR,
    "#22254",
    split_many_boundaries,
)


_TOPIC_CRC32_TWINS_ADVICE: Final = (
    "rename one of them if they must not stay together; a partition is hashed by its own name"
)


def topic_crc32_twins(case: NamespaceCase) -> Iterator[Finding]:
    """Topics of one namespace with one CRC-32 (bug pattern B07): no split of bundles ever parts them.

    One finding for each hash that several topics have; a warning when together they are above a limit of a bundle.

    O(t) for t topics. Among 100,000 topics one pair is to be expected by chance.

    >>> from engine.bundles.boundaries import NamespaceBundles
    >>> from engine.bundles.loads import TopicLoad
    >>> from engine.lint.model import World
    >>> three = tuple(TopicLoad(f"persistent://t/n/{name}", at) for name, at in (("a", 7), ("b", 7), ("c", 8)))
    >>> case = NamespaceCase(World(), NamespaceBundles("t/n", (0, 0xFFFFFFFF)), three)
    >>> [finding.number("topics") for finding in topic_crc32_twins(case)]
    [2]
    """
    limits = flow_limits(case.world.settings)
    for position, twins in twins_of(case.topics):
        names = sorted(topic.name for topic in twins)
        traffic = traffic_of(twins)
        rate, throughput = traffic.msgs_per_sec, traffic.bytes_per_sec
        # A limit of 0 or less is exceeded by everything, and so says nothing.
        above = 0 < limits.max_msgs_per_sec < rate or 0 < limits.max_bytes_per_sec < throughput
        effect = f"; together {rate:,.0f} messages/s, more than a bundle may carry" if above else ""
        what = (
            f"{len(twins)} topics have the CRC-32 {position:#010x} and stay in one bundle for ever: {listed(names)};"
            f" flow_or_qps_equally_divide counts one of them for all{effect}"
        )
        numbers = (("topics", len(twins)), ("msgs_per_sec", rate), ("bytes_per_sec", throughput))
        severity = Severity.WARNING if above else Severity.INFO
        yield Finding(
            TOPIC_CRC32_TWINS.id,
            severity,
            what,
            case.where(case.bundle_text(position), names[0]),
            numbers,
            _TOPIC_CRC32_TWINS_ADVICE,
        )


TOPIC_CRC32_TWINS: Final = Rule(
    "topic-crc32-twins",
    "topics of one namespace have one CRC-32",
    Severity.WARNING,
    "FlowOrQpsEquallyDivideBundleSplitAlgorithm",
    topic_crc32_twins,
)


_LOST: Final = BundleRange(FULL_UPPER_BOUND, FULL_UPPER_BOUND)
"""The hashes for which ``pulsar_lookup_fails``: only the top, which is closed."""


def topic_lookup_fails(case: NamespaceCase) -> Iterator[Finding]:
    """A topic whose hash is 0xffffffff: the broker's look-up of its bundle fails.

    One finding for each such topic; one name in 2^32 is one. O(t) for t topics.

    >>> from engine.bundles.boundaries import NamespaceBundles
    >>> from engine.bundles.loads import TopicLoad
    >>> from engine.lint.model import World
    >>> one = (TopicLoad("persistent://t/n/a", 0xFFFFFFFF), TopicLoad("persistent://t/n/b", 0xFFFFFFFE))
    >>> case = NamespaceCase(World(), NamespaceBundles("t/n", (0, 2**32 - 1)), one)
    >>> [finding.where.topic for finding in topic_lookup_fails(case)]
    ['persistent://t/n/a']
    """
    for topic in topics_in(_LOST, case.topics):
        what = "its CRC-32 is 0xffffffff, and for this one hash the broker's look-up of the bundle fails"
        where = case.where(case.bundle_text(topic.hash), topic.name)
        yield Finding(TOPIC_LOOKUP_FAILS.id, Severity.ERROR, what, where, (("hash", topic.hash),), "rename the topic")


TOPIC_LOOKUP_FAILS: Final = Rule(
    "topic-lookup-fails",
    "a topic's hash is the one the broker cannot look up",
    Severity.ERROR,
    "NamespaceBundles.findBundle",
    topic_lookup_fails,
)
