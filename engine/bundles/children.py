"""From cuts to bundles: ``NamespaceBundleFactory.splitBundles``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from engine.bundles.boundaries import MAX_BUNDLES, BundleRange, NamespaceBundles, namespace_bundles
from engine.errors import Rejection

Stage = Literal["sync", "async"]


@dataclass(frozen=True, slots=True)
class SplitResult:
    """The namespace's whole new list, and the children of the split bundle in order."""

    bundles: NamespaceBundles
    children: tuple[BundleRange, ...]


@dataclass(frozen=True, slots=True)
class SplitRefusal(Rejection):
    """Why a bundle cannot be split so. ``stage``: "sync" is thrown at the caller, "async" is heard by nobody."""

    stage: Stage = "sync"


def split_bundles(
    bundles: NamespaceBundles, target: BundleRange, number: int, boundaries: Sequence[int] | None = None
) -> SplitResult | SplitRefusal | None:
    """Replace one bundle by its children: at ``boundaries``, or into ``number`` equal parts without them.

    None: ``target`` is no bundle of the namespace. All other boundaries stay. Refused at once (stage "sync"): a width
    below 2, boundaries not strictly inside. Refused later ("async"), where Pulsar's request is never answered: equal
    boundaries, more parts than the width has, no or a negative number of parts. O(n + k log k).

    >>> whole = NamespaceBundles("t/n", (0, 0xFFFFFFFF))
    >>> [str(child) for child in split_bundles(whole, BundleRange(0, 0xFFFFFFFF), 2).children]
    ['0x00000000_0x7fffffff', '0x7fffffff_0xffffffff']
    """
    if not target.can_split:
        return SplitRefusal("IllegalArgumentException", f"{target} is too narrow to split", "bundle", 412)
    cuts = sorted(boundaries or ())
    if cuts and not (target.lower < cuts[0] and cuts[-1] < target.upper):
        outside = cuts[0] if cuts[0] <= target.lower else cuts[-1]
        message = f"split boundary {outside} ({outside:#010x}) is not strictly inside {target}"
        return SplitRefusal("IllegalArgumentException", message, "positions", 412)
    if not cuts and number < 0:
        # Pulsar makes room for the new list before it looks for the bundle, so this comes first.
        message = f"a bundle cannot be split into {number} parts"
        return SplitRefusal("ArrayIndexOutOfBoundsException", message, "number", 0, "async")
    place = bundles.index_of(target.lower)
    if place < 0 or bundles[place] != target:
        return None
    if not cuts:
        parts = _equal_cuts(target, number)
        if isinstance(parts, SplitRefusal):
            return parts
        cuts = parts
    renewed = namespace_bundles(
        bundles.namespace, (*bundles.boundaries[: place + 1], *cuts, *bundles.boundaries[place + 1 :])
    )
    if isinstance(renewed, Rejection):
        return SplitRefusal(renewed.error, renewed.message, "positions", 0, "async")
    return SplitResult(renewed, tuple(renewed[place + offset] for offset in range(len(cuts) + 1)))


def _equal_cuts(target: BundleRange, number: int) -> list[int] | SplitRefusal:
    if number == 0:
        return SplitRefusal("ArithmeticException", "a bundle cannot be split into 0 parts", "number", 0, "async")
    width = target.width // number
    if width == 0:
        message = f"{target} is {target.width} wide, so {number} parts would be empty ranges"
        return SplitRefusal("IllegalArgumentException", message, "number", 0, "async")
    if number > MAX_BUNDLES:
        return SplitRefusal("TooManyBundles", f"{number} parts: up to {MAX_BUNDLES} are modelled here", "number")
    return [target.lower + part * width for part in range(1, number)]
