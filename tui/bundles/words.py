"""English for bundles: splits and their warnings, curves, what a cycle did, loops, occupancy, and the hint."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from engine.bundles.occupancy import CountedOccupancy
from engine.bundles.plan import SplitWarning, WarningCode
from engine.bundles.sizing import EVEN_ENOUGH
from engine.errors import Rejection
from engine.text import counted
from engine.views.bundles.model import BalanceFrame, BalanceView, TreeRow
from engine.views.bundles.words import NO_RUNS, assumed_text, span_text, topics_text
from engine.views.failover.splits import SplitOption
from tui.kit.wording import BUSIEST, Line, bytes_per_sec, in_out_rate, safe_name

SHORT_NAMES: Final = {
    "range_equally_divide": "range",
    "topic_count_equally_divide": "topic count",
    "specified_positions_divide": "positions",
    "flow_or_qps_equally_divide": "flow or qps",
}
ATTEMPTS_SHOWN: Final = 8


def status_texts(view: BalanceView, reported: int = 0) -> tuple[str, ...]:
    """The question in words, longest first; ``reported``: of how many brokers there are load reports."""
    question = view.question
    growth = f"traffic x{question.growth_per_cycle:g} a cycle" if question.growth_per_cycle != 1 else "steady traffic"
    brokers = f"{counted(question.brokers, 'broker')} assumed"  # no answer says how many there are
    if reported not in (0, question.brokers):
        brokers += f" ({reported:,} reported)"
    load = f"{topics_text(view)}, {in_out_rate(view.msgs_per_sec)}, {bytes_per_sec(view.bytes_per_sec)}"
    as_if = " · as if automatic splits were on" * question.as_if_on
    manager = f"{question.load_manager} load manager{as_if}"
    return (
        f"{manager} · {brokers} · {growth} · {load} · Pulsar {view.release}",
        f"{manager} · {brokers} · {growth} · {load}",
        f"{manager} · {brokers} · {growth}",
        f"{question.load_manager}{as_if} · {brokers} · {growth}",
        f"{question.load_manager}{as_if} · {brokers}",
    )


def forecast_lines(view: BalanceView, tree: TreeRow, frame: BalanceFrame) -> tuple[Line, ...]:
    """The panel beside the tree: what comes next, what this cycle did, what goes round, and how topics spread."""
    return (
        *_coming(view, tree, frame),
        *_done(frame),
        *((f"! {loop.sentence}", "warn") for loop in tree.loops),
        *((f"! {safe_name(problem.message)}", "bad") for problem in view.problems),
        *occupancy_lines(view),
    )


def _coming(view: BalanceView, tree: TreeRow, frame: BalanceFrame) -> Iterator[Line]:
    if view.idle:
        yield view.idle, "warn"
        return
    coming, after = tree.next_split(frame.cycle), " more" if frame.cycle else ""
    if coming is None:
        yield f"no{after} split within {view.question.cycles} cycles", "head"
        attempt = next(
            (attempt for attempt in tree.attempts if attempt.cycle > frame.cycle and attempt.outcome != "gone"), None
        )
        if attempt is not None:
            yield f"{attempt.range_text} is tried in cycle {attempt.cycle}: {attempt.sentence}", "warn"
        elif frame.over:
            yield f"{counted(frame.over, 'bundle')} above a limit all the same", "warn"
        return
    yield f"{coming.range_text} splits next", "head"
    yield f"in cycle {coming.cycle}, {span_text(coming.at_seconds)} from now ({coming.at_seconds:,.0f} s)", "text"
    yield f"why: {coming.why}", "text"
    yield coming.sentence, "good"


def _done(frame: BalanceFrame) -> Iterator[Line]:
    if not frame.cycle:
        return
    early = ", early" if frame.early else ""
    yield f"cycle {frame.cycle}, {span_text(frame.at_seconds)} from now{early}", "head"
    if not frame.attempts:
        yield "no split is requested", "dim"
    seen = Counter((attempt.range_text, attempt.sentence) for attempt in frame.attempts)
    for (range_text, outcome), times in list(seen.items())[:ATTEMPTS_SHOWN]:
        yield f"{range_text} {outcome}" + (f" ({times} times)" if times > 1 else ""), "text"
    if len(seen) > ATTEMPTS_SHOWN:
        yield f"and {counted(len(seen) - ATTEMPTS_SHOWN, 'attempt')} more", "dim"
    for move in frame.moves[:3]:
        yield move, "dim"
    if len(frame.moves) > 3:
        yield f"and {counted(len(frame.moves) - 3, 'unload')} more", "dim"
    for remark in frame.remarks:
        yield remark, "warn"


def occupancy_lines(view: BalanceView) -> tuple[Line, ...]:
    """How topics are spread over bundles and brokers, what chance would give, and how many bundles are enough."""
    texts = (*occupancy_texts(view.occupancy), assumed_text(view))
    return (("occupancy now", "head"), *((text, "dim") for text in texts if text), *_needed(view))


def _needed(view: BalanceView) -> Iterator[Line]:
    needed = view.needed
    if needed.problem is not None:
        yield needed.problem.message, "dim"
    else:
        brokers = counted(view.question.brokers, "broker")
        more = view.bundles >= needed.bundles
        need = (
            f"{needed.bundles:,} would do for" if more else f"too few to keep even; {needed.bundles:,} are needed for"
        )
        yield f"{counted(view.bundles, 'bundle')}: {need} {brokers} ({BUSIEST} up to {EVEN_ENOUGH:g})", "dim"


def occupancy_texts(occupancy: CountedOccupancy | Rejection) -> tuple[str, ...]:
    """Two sentences, of bundles and of brokers: topics as counted, and what chance would give."""
    if isinstance(occupancy, Rejection):
        return (occupancy.message,)
    expected = occupancy.expected
    first = (
        f"fullest bundle {occupancy.fullest_bundle} of {counted(occupancy.topics, 'topic')} (by chance"
        f" {expected.fullest_bundle:.1f}), {occupancy.empty_bundles} of {counted(expected.bundles, 'bundle')} empty"
        f" (by chance {expected.empty_bundles:.1f})"
    )
    second = (
        f"fullest broker {occupancy.fullest_broker} (by chance {expected.fullest_broker_dealt:.1f}, if all is even"
        f" {expected.mean_per_broker:.1f}), {len(occupancy.idle_brokers)} without a topic"
        f" (by chance {expected.idle_brokers:.1f})"
    )
    return first, second


def hint_text(view: BalanceView, tree: TreeRow, frame: BalanceFrame) -> str:
    """What the screen shows, and what to try next."""
    if view.idle:
        switched_off = view.idle == NO_RUNS["switched-off"]
        # The key comes first: the setting has a long name, and a narrow screen cuts the end.
        return f"A forecasts as if splits were on: {view.idle}" if switched_off else view.idle
    if frame.cycle:
        bundles = counted(len(frame.leaves), "bundle")
        over = f"{frame.over} above a limit" if frame.over else "all within their limits"
        return f"after cycle {frame.cycle}: {bundles}, {over}. [ ] step, tab: next algorithm"
    coming = tree.next_split()
    if coming is None:
        return f"nothing splits within {view.question.cycles} cycles. + adds a broker, t lets the traffic grow"
    return f"{coming.range_text} splits next, in {span_text(coming.at_seconds)}. ] goes on to the next cycle"


def share_text(share: float) -> str:
    """A share of a limit as whole per cent, three digits at most.

    >>> share_text(0.934), share_text(12.0), share_text(0.001)
    ('93%', '>999%', '<1%')
    """
    if 0 < share < 0.005:
        return "<1%"
    return f"{share * 100:.0f}%" if share < 9.995 else ">999%"


TOPICS_SHOWN: Final = 3
AS_PROPOSED: Final = "as first proposed in PIP-169; no Pulsar has this rule"
CUTS_NOTHING: Final = "it finds nothing to cut here"
_ANSWERS: Final[frozenset[WarningCode]] = frozenset({"nothing-to-split", "never-answered"})
"""Codes that say how a broker answers the request."""
SENTENCES: Final[Mapping[WarningCode, str]] = {
    "nothing-to-split": "the broker answers 204 (done), and nothing changes",
    "never-answered": "the boundaries coincide: the broker drops its error, so there is no answer and no change",
    "empty-child": "{bundle} gets no topic",
    "equal-hashes": "{topics} have one hash and stay together in every split",
    "hot-topic": "{topics} alone exceeds a limit ({traffic}); no split of bundles divides a topic",
    "child-over-limit": "{bundle} still exceeds a limit of the broker ({traffic})",
    "recomputed-with-default": "the extensible load manager computes three or more children again, by {name}",
    "unload-ignored": "the extensible load manager ignores the request to unload",
    "hot-is-largest": "HOT means LARGEST with this load manager",
    "hot-from-current-rates": "no stored averages are known; HOT is found by the present rates",
    "algorithm-not-known": "{name} is not a known algorithm; another one is used instead",
    "positions-not-used": "positions that are not used: {positions}",
    "lookup-fails": "{topics} has the hash 0xffffffff, which no bundle contains: a broker cannot look it up",
    "above-maximum-bundles": (
        "the namespace then has more bundles than loadBalancerNamespaceMaximumBundles: no automatic splits any more"
    ),
}


def warning_sentences(option: SplitOption) -> tuple[str, ...]:
    """The warnings about an option, as sentences.

    How the broker answers is left out where none would carry out the request: it refuses, or no release has the rule.
    """
    unanswered = option.refusal is not None or option.as_proposed
    return tuple(warning_text(warning) for warning in option.warnings if not (unanswered and warning.code in _ANSWERS))


def warning_text(warning: SplitWarning) -> str:
    """The warning as a sentence with its own numbers."""
    return SENTENCES[warning.code].format(
        bundle=warning.bundle,
        topics=_names(warning.topics),
        traffic=f"{in_out_rate(warning.msgs_per_sec)}, {bytes_per_sec(warning.bytes_per_sec)}",
        name=safe_name(warning.name),
        positions=", ".join(str(position) for position in warning.positions) or "all of them",
    )


def _names(topics: tuple[str, ...]) -> str:
    named = ", ".join(safe_name(topic) for topic in topics[:TOPICS_SHOWN])
    more = len(topics) - TOPICS_SHOWN
    return f"{named} and {counted(more, 'other topic')}" if more > 0 else named
