"""A flow split into three or more pieces, which the extensible load manager refuses (bug pattern B05)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.lint.model import Finding, NamespaceCase, Rule, Severity

ID: Final = "split-many-boundaries"
_ADVICE: Final = (
    "split the bundle by hand into two at one of these boundaries (specified_positions_divide), or set"
    " defaultNamespaceBundleSplitAlgorithm to topic_count_equally_divide"
)


def check(case: NamespaceCase) -> Iterator[Finding]:
    """One finding for each bundle above a limit for which the default algorithm has more than one boundary.

    An error under the extensible load manager, to be known where the load manager is not, nothing under the others,
    which carry out any number. O(t log b) for t topics, then O(k log k) for each bundle of k topics above a limit.

    >>> from engine.bundles.boundaries import NamespaceBundles
    >>> from engine.bundles.loads import TopicLoad
    >>> from engine.config import BrokerSettings
    >>> from engine.lint.model import World
    >>> flow = BrokerSettings(defaultNamespaceBundleSplitAlgorithm="flow_or_qps_equally_divide")
    >>> topics = tuple(TopicLoad(f"persistent://t/n/{at}", at * 10, msg_rate_in=20_000.0) for at in range(3))
    >>> case = NamespaceCase(World(flow, load_manager="extensible"), NamespaceBundles("t/n", (0, 0xFFFFFFFF)), topics)
    >>> [finding.number("boundaries") for finding in check(case)]
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
        yield Finding(ID, severity, what, case.where(str(attempt.bundle)), numbers, _ADVICE)


RULE: Final = Rule(
    ID,
    "a split needs several boundaries, which the extensible load manager refuses",
    Severity.ERROR,
    "#22254",
    check,
)
