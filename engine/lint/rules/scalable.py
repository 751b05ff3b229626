"""Rules about scalable topics: their policy, their segments, and the statistics they are scaled by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from engine.lint.model import Finding, Rule, ScalableCase, Severity, Where, World
from engine.scalable.load_reports import INTERVAL, interval_seconds
from engine.scalable.settings import METRICS, refuse_settings
from engine.text import counted, joined


def few_buckets(case: ScalableCase) -> Iterator[Finding]:
    """More STREAM consumers than buckets: those beyond have nothing until segments get more buckets.

    One finding for each STREAM subscription with more consumers than buckets of all active segments. O(segments).

    A topic that begins with three segments or more has one bucket in each, by the default budget of four.

    >>> from engine.lint.model import World
    >>> from engine.scalable.layout import first_layout
    >>> from engine.scalable.settings import AutoScaleSettings
    >>> groups = {"a": ("STREAM", 5), "b": ("STREAM", 3)}
    >>> case = ScalableCase(World(), "topic://t/n/x", first_layout(3), AutoScaleSettings(), groups)
    >>> [(finding.where.subscription, finding.number("idle")) for finding in few_buckets(case)]
    [('a', 2)]
    """
    active = case.layout.active()
    buckets = sum(segment.buckets for segment in active)
    for name, (kind, consumers) in case.subscriptions.items():
        idle = consumers - buckets
        if kind != "STREAM" or not active or idle <= 0:
            continue
        helped = "until the next evaluation gives them more" if case.settings.enabled else "and nothing gives them more"
        what = (
            f"{counted(idle, 'consumer')} of {consumers:,} have nothing: {counted(len(active), 'segment')} have"
            f" {counted(buckets, 'bucket')}, {helped}"
        )
        numbers = (("consumers", consumers), ("segments", len(active)), ("buckets", buckets), ("idle", idle))
        advice = "rebucket segments by hand, create topics with fewer segments, or raise scalableTopicEntryBucketBudget"
        yield Finding(FEW_BUCKETS.id, Severity.WARNING, what, case.where(name), numbers, advice)


FEW_BUCKETS: Final = Rule(
    "scalable-few-buckets",
    "more STREAM consumers than buckets of all segments",
    Severity.WARNING,
    "EntryBucketSplits",
    few_buckets,
)


_INVALID_POLICY_ADVICE: Final = (
    "change the policy of the topic or of its namespace; pulsar-admin checks only the one that is set last"
)


def invalid_policy(case: ScalableCase) -> Iterator[Finding]:
    """A policy of automatic scaling that contradicts itself: Pulsar then treats it as switched off.

    The first contradiction in Pulsar's order, if there is one.

    >>> from engine.lint.model import World
    >>> from engine.scalable.model import Layout
    >>> from engine.scalable.settings import AutoScaleSettings
    >>> case = ScalableCase(World(), "topic://t/n/x", Layout({}), AutoScaleSettings(minSegments=9, maxSegments=8))
    >>> [finding.rule for finding in invalid_policy(case)]
    ['scalable-invalid-policy']
    """
    refused = refuse_settings(case.settings)
    if refused is not None:
        what = f"no segment is split, merged or rebucketed automatically: {refused.message}"
        yield Finding(INVALID_POLICY.id, Severity.ERROR, what, case.where(), (), _INVALID_POLICY_ADVICE)


INVALID_POLICY: Final = Rule(
    "scalable-invalid-policy",
    "the policy of automatic scaling contradicts itself",
    Severity.ERROR,
    "AutoScaleConfig",
    invalid_policy,
)


MANY: Final = 10
"""A topic with fewer sealed segments is not worth a finding."""


def kept_segments(case: ScalableCase) -> Iterator[Finding]:
    """Sealed segments that are never pruned, since messages are kept for ever: the layout grows with every change.

    One finding where retention is unlimited and at least ``MANY`` segments are sealed. O(segments).

    Each of them stays a topic with its own cursors, is dealt to QUEUE consumers, and counts for the depth of merges.

    >>> from engine.lint.model import World
    >>> from engine.scalable.layout import first_layout, rebucket
    >>> from engine.scalable.settings import AutoScaleSettings
    >>> layout = first_layout(1)
    >>> for at in range(12):
    ...     layout = rebucket(layout, at, at + 5)
    >>> case = ScalableCase(World(), "topic://t/n/x", layout, AutoScaleSettings(), retention_minutes=-1)
    >>> [finding.number("sealed") for finding in kept_segments(case)]
    [12]
    """
    sealed = sum(1 for segment in case.layout.segments.values() if not segment.active)
    if case.retention_minutes is None or case.retention_minutes >= 0 or sealed < MANY:
        return
    what = f"{sealed:,} sealed segments are kept, and none is ever pruned: the retention time is unlimited"
    numbers = (("sealed", sealed), ("segments", len(case.layout.segments)), ("epoch", case.layout.epoch))
    advice = "limit the retention time of the namespace, or split and merge less often"
    yield Finding(KEPT_SEGMENTS.id, Severity.WARNING, what, case.where(), numbers, advice)


KEPT_SEGMENTS: Final = Rule(
    "scalable-kept-segments",
    "sealed segments are kept for ever",
    Severity.WARNING,
    "ScalableTopicController",
    kept_segments,
)


_KEYLESS_ADVICE: Final = (
    "let producers set keys, split the segment, or use a QUEUE subscription where order does not matter"
)


def keyless(case: ScalableCase) -> Iterator[Finding]:
    """Messages without a key all go to bucket 0 of a segment: of those that share it, one gets everything.

    One finding for each shared segment of which only the consumer with bucket 0 gets messages.

    Answers do not print whether producers set keys; few keys can look the same.

    >>> from engine.lint.model import OneBucket, World
    >>> from engine.scalable.model import Layout
    >>> from engine.scalable.settings import AutoScaleSettings
    >>> shared = OneBucket("s", 3, "a", 4, 20.0)
    >>> case = ScalableCase(World(), "topic://t/n/x", Layout({}), AutoScaleSettings(), one_bucket=(shared,))
    >>> [(finding.where.consumer, finding.number("consumers")) for finding in keyless(case)]
    [('a', 4)]
    """
    for one in case.one_bucket:
        what = (
            f"of {one.consumers:,} consumers that share segment {one.segment_id} only {one.consumer} gets messages"
            f" ({one.msgs_per_sec:,.1f}/s): it has bucket 0, where all messages without a key go"
        )
        numbers = (("segment", one.segment_id), ("consumers", one.consumers), ("msgs_per_sec", one.msgs_per_sec))
        yield Finding(
            KEYLESS.id,
            Severity.WARNING,
            what,
            case.where(one.subscription, one.consumer),
            numbers,
            _KEYLESS_ADVICE,
        )


KEYLESS: Final = Rule(
    "scalable-keyless",
    "of consumers that share a segment one gets every message",
    Severity.WARNING,
    "EntryBucketBatchContainer",
    keyless,
)


def max_segments(case: ScalableCase) -> Iterator[Finding]:
    """More CHECKPOINT consumers than segments are allowed: they never share one, so some are idle for good.

    One finding for each CHECKPOINT subscription with more consumers than ``maxSegments``.

    >>> from engine.lint.model import World
    >>> from engine.scalable.model import Layout
    >>> from engine.scalable.settings import AutoScaleSettings
    >>> groups = {"a": ("CHECKPOINT", 5), "b": ("CHECKPOINT", 4), "c": ("STREAM", 9)}
    >>> case = ScalableCase(World(), "topic://t/n/x", Layout({}), AutoScaleSettings(maxSegments=4), groups)
    >>> [(finding.where.subscription, finding.number("idle")) for finding in max_segments(case)]
    [('a', 1)]
    """
    most = case.settings.maxSegments
    for name, (kind, consumers) in case.subscriptions.items():
        if kind == "CHECKPOINT" and consumers > most:
            what = (
                f"{counted(consumers - most, 'consumer')} of {consumers:,} can never have a segment: CHECKPOINT"
                f" consumers do not share one, and maxSegments is {most:,}"
            )
            numbers = (("consumers", consumers), ("max_segments", most), ("idle", consumers - most))
            advice = f"set maxSegments to {consumers:,} or more, or take consumers away"
            yield Finding(MAX_SEGMENTS.id, Severity.WARNING, what, case.where(name), numbers, advice)


MAX_SEGMENTS: Final = Rule(
    "scalable-max-segments",
    "more CHECKPOINT consumers than segments are allowed",
    Severity.WARNING,
    "AutoScalePolicyEvaluator",
    max_segments,
)


def merge_window(case: ScalableCase) -> Iterator[Finding]:
    """A merge window shorter than the interval of load records: segments are taken for cold by a single record.

    One finding where a segment can be merged before its load is looked at again, by printed settings. O(1).

    >>> from engine.lint.model import World
    >>> from engine.scalable.model import Layout
    >>> from engine.scalable.settings import AutoScaleSettings
    >>> world = World(configuration={"scalableTopicLoadReportIntervalSeconds": "10"})
    >>> case = ScalableCase(world, "topic://t/n/x", Layout({}), AutoScaleSettings(mergeWindowSeconds=5))
    >>> [finding.number("report_interval_s") for finding in merge_window(case)]
    [10]
    """
    window, interval = case.settings.mergeWindowSeconds, interval_seconds(case.world.configuration)
    if not case.settings.enabled or interval is None or not 0 <= window < interval:
        return
    what = (
        f"mergeWindowSeconds is {window:,}, and loads are looked at every {interval:,} s: one quiet look is enough"
        " for a merge"
    )
    advice = f"set mergeWindowSeconds to several times {interval:,}"
    numbers = (("merge_window_s", window), ("report_interval_s", interval))
    yield Finding(MERGE_WINDOW.id, Severity.WARNING, what, case.where(), numbers, advice)


MERGE_WINDOW: Final = Rule(
    "scalable-merge-window",
    "segments are merged after one quiet load record",
    Severity.WARNING,
    "AutoScalePolicyEvaluator",
    merge_window,
)


def min_segments(case: ScalableCase) -> Iterator[Finding]:
    """``minSegments`` above the number of segments: it only stops merges, and nothing splits up to it.

    One finding where the topic has fewer active segments. O(segments).

    >>> from engine.lint.model import World
    >>> from engine.scalable.layout import first_layout
    >>> from engine.scalable.settings import AutoScaleSettings
    >>> case = ScalableCase(World(), "topic://t/n/x", first_layout(2), AutoScaleSettings(minSegments=4))
    >>> [finding.number("segments") for finding in min_segments(case)]
    [2]
    """
    segments, least = len(case.layout.active()), case.settings.minSegments
    if 0 < segments < least and case.settings.enabled:
        what = (
            f"minSegments is {least:,} and the topic has {counted(segments, 'segment')}: it keeps segments from being"
            " merged, and none is split to reach it"
        )
        advice = "split segments by hand, or create topics with that many"
        numbers = (("segments", segments), ("min_segments", least))
        yield Finding(MIN_SEGMENTS.id, Severity.WARNING, what, case.where(), numbers, advice)


MIN_SEGMENTS: Final = Rule(
    "scalable-min-segments",
    "minSegments is above the number of segments",
    Severity.WARNING,
    "AutoScalePolicyEvaluator",
    min_segments,
)


STATISTICS: Final = "statsUpdateFrequencyInSecs"


def old_rates(world: World) -> Iterator[Finding]:
    """Load records that are looked at more often than rates change: the same rates are seen again and again.

    One finding where scalable topics are scaled by rates older than their load records. O(1).

    That is so by default, so it is only to be known: a split follows a peak up to a minute later.

    >>> printed = {STATISTICS: "60", "scalableTopicLoadReportIntervalSeconds": "10"}
    >>> [finding.severity.label for finding in old_rates(World(configuration=printed, has_scalable_topics=True))]
    ['info']
    """
    every, interval = _number(world.configuration, STATISTICS), interval_seconds(world.configuration)
    if not world.has_scalable_topics or every is None or interval is None or not 0 < interval < every:
        return
    what = (
        f"{STATISTICS}={every:,} is longer than {INTERVAL}={interval:,}: rates change every {every:,} s, and load"
        " records in between repeat them"
    )
    numbers = (("statistics_interval_s", every), ("report_interval_s", interval))
    advice = f"lower {STATISTICS} where splits have to follow traffic faster"
    yield Finding(OLD_RATES.id, Severity.INFO, what, Where(), numbers, advice)


def _number(configuration: Mapping[str, str], name: str) -> int | None:
    text = configuration.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


OLD_RATES: Final = Rule(
    "scalable-old-rates",
    "rates are older than the load records of segments",
    Severity.INFO,
    "SegmentLoadReporter",
    old_rates,
)


def split_merges(case: ScalableCase) -> Iterator[Finding]:
    """Limits so close to each other that the halves of a split are cold, and are merged again.

    One finding with all rates whose split limit is less than two merge limits. O(1).

    A segment a little above such a limit has halves that are both below the merge limit, if keys are even and no other
    rate is high.

    >>> from engine.lint.model import World
    >>> from engine.scalable.model import Layout
    >>> from engine.scalable.settings import AutoScaleSettings
    >>> close = AutoScaleSettings(splitMsgRateInThreshold=1500)
    >>> [finding.numbers for finding in split_merges(ScalableCase(World(), "topic://t/n/x", Layout({}), close))]
    [(('msgRateIn_split', 1500), ('msgRateIn_merge', 1000.0))]
    """
    settings = case.settings
    if not settings.enabled or refuse_settings(settings) is not None:
        return
    limits = zip(METRICS, settings.split_limits(), settings.merge_limits(), strict=True)
    close = [(name, split, merge) for name, split, merge in limits if split < 2 * merge]
    if close:
        which = joined([f"{name} (split above {split:,.0f}, merge below {merge:,.0f})" for name, split, merge in close])
        what = f"one split by {which} makes two segments that are cold, and are merged after the window"
        numbers = tuple(
            pair for name, split, merge in close for pair in ((f"{name}_split", split), (f"{name}_merge", merge))
        )
        advice = "set the merge limit to a quarter of the split limit or less"
        yield Finding(SPLIT_MERGES.id, Severity.WARNING, what, case.where(), numbers, advice)


SPLIT_MERGES: Final = Rule(
    "scalable-split-merges",
    "a split makes segments that are merged again",
    Severity.WARNING,
    "AutoScalePolicyEvaluator",
    split_merges,
)
