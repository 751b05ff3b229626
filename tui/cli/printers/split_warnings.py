"""What to know before a split, one sentence for each code of ``SplitWarning``."""

from __future__ import annotations

from engine.bundles.plan import SplitWarning
from tui.wording import bytes_per_sec, counted, msgs_per_sec, safe_name


def warning_text(warning: SplitWarning) -> str:
    """The warning as a sentence with its own numbers."""
    traffic = f"{msgs_per_sec(warning.msgs_per_sec)}, {bytes_per_sec(warning.bytes_per_sec)}"
    topics = _names(warning.topics)
    positions = ", ".join(str(position) for position in warning.positions)
    match warning.code:
        case "nothing-to-split":
            return "the broker answers 204 (done), and nothing changes"
        case "never-answered":
            return "the boundaries coincide; the broker fails where nobody listens: no answer, no change"
        case "empty-child":
            return f"{warning.bundle} gets no topic"
        case "equal-hashes":
            return f"{topics} have one hash and stay together in every split"
        case "hot-topic":
            return f"{topics} alone exceeds a limit ({traffic}); no split of bundles divides a topic"
        case "child-over-limit":
            return f"{warning.bundle} still exceeds a limit of the broker ({traffic})"
        case "recomputed-with-default":
            return f"the extensible load manager computes three or more children again, by {safe_name(warning.name)}"
        case "unload-ignored":
            return "the extensible load manager ignores the request to unload"
        case "hot-is-largest":
            return "HOT means LARGEST with this load manager"
        case "hot-from-current-rates":
            return "no stored averages are known; the rates of now stand in for them to find HOT"
        case "algorithm-not-known":
            return f"{safe_name(warning.name)} is no algorithm that is known; another one is used in its place"
        case "positions-not-used":
            return f"positions that are not used: {positions or 'all of them'}"
        case "lookup-fails":
            return f"{topics} has the hash 0xffffffff, which no bundle contains: a broker cannot look it up"
        case "above-maximum-bundles":
            return "the namespace then has more bundles than loadBalancerNamespaceMaximumBundles: no automatic splits"


def _names(topics: tuple[str, ...], *, shown: int = 3) -> str:
    named = ", ".join(safe_name(topic) for topic in topics[:shown])
    return f"{named} and {counted(len(topics) - shown, 'other topic')}" if len(topics) > shown else named
