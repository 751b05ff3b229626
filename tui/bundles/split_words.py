"""What screen and printer say of a split: one sentence for each code of ``SplitWarning``, and which of them hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from engine.bundles.plan import SplitWarning, WarningCode
from engine.text import counted
from engine.views.failover.splits import SplitOption
from tui.kit.wording import bytes_per_sec, msgs_per_sec, safe_name

TOPICS_SHOWN: Final = 3
AS_PROPOSED: Final = "as first proposed in PIP-169; no Pulsar has this rule"
CUTS_NOTHING: Final = "it finds nothing to cut here"
_ANSWERS: Final[frozenset[WarningCode]] = frozenset({"nothing-to-split", "never-answered"})
"""Codes that tell how a broker answers the request by name."""
SENTENCES: Final[Mapping[WarningCode, str]] = {
    "nothing-to-split": "the broker answers 204 (done), and nothing changes",
    "never-answered": "the boundaries coincide; the broker fails where nobody listens: no answer, no change",
    "empty-child": "{bundle} gets no topic",
    "equal-hashes": "{topics} have one hash and stay together in every split",
    "hot-topic": "{topics} alone exceeds a limit ({traffic}); no split of bundles divides a topic",
    "child-over-limit": "{bundle} still exceeds a limit of the broker ({traffic})",
    "recomputed-with-default": "the extensible load manager computes three or more children again, by {name}",
    "unload-ignored": "the extensible load manager ignores the request to unload",
    "hot-is-largest": "HOT means LARGEST with this load manager",
    "hot-from-current-rates": "no stored averages are known; the rates of now stand in for them to find HOT",
    "algorithm-not-known": "{name} is no algorithm that is known; another one is used in its place",
    "positions-not-used": "positions that are not used: {positions}",
    "lookup-fails": "{topics} has the hash 0xffffffff, which no bundle contains: a broker cannot look it up",
    "above-maximum-bundles": (
        "the namespace then has more bundles than loadBalancerNamespaceMaximumBundles: no automatic splits any more"
    ),
}


def warning_sentences(option: SplitOption) -> tuple[str, ...]:
    """The warnings that are true of an option, as sentences.

    A plan that no broker makes by that name (it refuses, or no release has the rule) gets no answer to tell of.
    """
    unanswered = option.refusal is not None or option.as_proposed
    return tuple(warning_text(warning) for warning in option.warnings if not (unanswered and warning.code in _ANSWERS))


def warning_text(warning: SplitWarning) -> str:
    """The warning as a sentence with its own numbers."""
    return SENTENCES[warning.code].format(
        bundle=warning.bundle,
        topics=_names(warning.topics),
        traffic=f"{msgs_per_sec(warning.msgs_per_sec)}, {bytes_per_sec(warning.bytes_per_sec)}",
        name=safe_name(warning.name),
        positions=", ".join(str(position) for position in warning.positions) or "all of them",
    )


def _names(topics: tuple[str, ...]) -> str:
    named = ", ".join(safe_name(topic) for topic in topics[:TOPICS_SHOWN])
    more = len(topics) - TOPICS_SHOWN
    return f"{named} and {counted(more, 'other topic')}" if more > 0 else named
