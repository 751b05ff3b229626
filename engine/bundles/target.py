"""Which bundle a split request means: a range text, or one of the words ``LARGEST`` and ``HOT``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from engine.bundles.boundaries import BundleRange, NamespaceBundles, parse_range
from engine.bundles.loads import BundleAverage, TopicLoad, averages_of, hottest_bundle, largest_bundle
from engine.bundles.plan import LoadManager, SplitWarning
from engine.errors import Rejection

LARGEST: Final = "LARGEST"
HOT: Final = "HOT"


@dataclass(frozen=True, slots=True)
class Target:
    """A current bundle of the namespace, and what to know about how it was found."""

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
    found: BundleRange | Rejection | None
    warnings: tuple[SplitWarning, ...] = ()
    if text == HOT and load_manager == "modular":
        stored = averages_of(bundles, topics) if averages is None else averages
        warnings = (SplitWarning("hot-from-current-rates"),) if averages is None else ()
        found = hottest_bundle(bundles, stored)
    elif text in (LARGEST, HOT):
        warnings = (SplitWarning("hot-is-largest"),) if text == HOT else ()
        found = largest_bundle(bundles, topics)
    else:
        found = parse_range(text)
    if found is None:
        return Rejection("RestException", f"Bundle range {text} not found", field="bundle", status=404)
    if isinstance(found, Rejection):
        return found
    return bundles.validate_bundle(found) or Target(found, warnings)
