"""A split that is due and leaves a bundle without topics (bug pattern B06)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.bundles.plan import shares_of
from engine.lint.model import Attempt, Finding, NamespaceCase, Rule, Severity, World, cuts_of
from engine.text import counted

ID: Final = "split-empty-half"
_MOST_ROUNDS: Final = 33
"""Halving 2^32 so many times leaves a width below 1."""


def check(case: NamespaceCase) -> Iterator[Finding]:
    """One finding for each bundle above a limit whose next split leaves a child without topics.

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
    >>> [finding.number("splits_needed") for finding in check(case)]
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
        yield Finding(ID, Severity.WARNING, what, case.where(str(attempt.bundle)), numbers, _advice(attempt, needed))


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


RULE: Final = Rule(
    ID,
    "a bundle above a limit, and its next split would leave an empty half",
    Severity.WARNING,
    "#6241; TopicCountEquallyDivideBundleSplitAlgorithm",
    check,
)
