"""Why answers and model may differ: another flag or release than was taken, or statistics of different times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from engine.config import FLAG, LINES, behaviour_of
from engine.errors import Rejection
from engine.verify.report import Difference, FactKind, LikelyReason, Rules

OTHER_FLAG: Final = "flag"
OTHER_RELEASE: Final = "release"
OLD_STATISTICS: Final = "old-statistics"
MIXED_STATISTICS: Final = "mixed-statistics"
_WRITTEN_ONCE_AN_INTERVAL: Final = frozenset(
    {FactKind.TOPIC_BUNDLE, FactKind.BUNDLE_IN_LIST, FactKind.REPORT_TOTALS, FactKind.REPORT_ORDER}
)
_ADDED_UP: Final = frozenset(
    {
        FactKind.PARTITIONED_SUM,
        FactKind.PARTITIONED_AVERAGE,
        FactKind.PUBLISHER_ENTRIES,
        FactKind.PUBLISHER_SUM,
        FactKind.PUBLISHER_AVERAGE,
        FactKind.SUBSCRIPTION_SUM,
        FactKind.CONSUMER_ENTRIES,
        FactKind.DRAINING_COUNT,
        FactKind.SEGMENTS_DEALT,
        FactKind.SEGMENTS_ATTACHED,
        FactKind.SEGMENT_OWNERS,
    }
)
Place = tuple[str, str, str]


def with_reasons(
    differences: Sequence[Difference], rules: Rules, compare: Callable[[Rules], Sequence[Difference]]
) -> tuple[Difference, ...]:
    """The differences, each with its likeliest reason where one fits.

    ``compare`` gives the differences under other rules. Rules are the reason if all in all they differ less, and leave
    no difference at that place. Of several the ones that differ least count, the flag before a release.
    """
    if not differences:
        return ()
    tried = [(reason, compare(other)) for reason, other in _other_rules(rules)]
    better = sorted((len(left), at, reason, {_place(one) for one in left}) for at, (reason, left) in enumerate(tried)
                    if len(left) < len(differences))  # fmt: skip

    def likely(difference: Difference) -> LikelyReason | None:
        for _, _, reason, left in better:
            if _place(difference) not in left:
                return reason
        return _of_time(difference)

    return tuple(replace(difference, likely=likely(difference)) for difference in differences)


def _other_rules(rules: Rules) -> Iterator[tuple[LikelyReason, Rules]]:
    """The other value of the flag, and the releases that have different rules for these facts."""
    if rules.behaviour.knows_failover_consistent_hashing:
        flag = not rules.consistent_hashing
        text = f"{FLAG} is {str(flag).lower()} at the broker, not {str(not flag).lower()}"
        yield LikelyReason(OTHER_FLAG, text), rules.with_flag(flag)
    tried = {(rules.behaviour.nonpartitioned_failover, rules.behaviour.unnamed_publishers)}
    for major, minor in reversed(LINES):
        behaviour = behaviour_of(f"{major}.{minor}")
        if isinstance(behaviour, Rejection):
            continue
        form = (behaviour.nonpartitioned_failover, behaviour.unnamed_publishers)
        if form not in tried:
            tried.add(form)
            text = f"the broker is of another release than {rules.behaviour.label}, such as {behaviour.label}"
            yield LikelyReason(OTHER_RELEASE, text), Rules(behaviour, rules.settings)


def _of_time(difference: Difference) -> LikelyReason | None:
    if difference.kind in _WRITTEN_ONCE_AN_INTERVAL:
        return LikelyReason(OLD_STATISTICS, "brokers write these statistics once an interval, so they may be old")
    if difference.kind in _ADDED_UP:
        return LikelyReason(MIXED_STATISTICS, "the broker added up while clients came, went or sent")
    return None


def _place(difference: Difference) -> Place:
    return difference.moment, difference.file, difference.subject
