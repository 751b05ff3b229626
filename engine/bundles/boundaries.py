"""The hash space of a namespace cut into bundles: ranges, boundary lists, look-up and the rules that refuse them.

After ``NamespaceBundle``, ``NamespaceBundles``, ``NamespaceBundleFactory`` and ``PoliciesUtil``. Hashes and boundaries
are unsigned 32-bit numbers in 64-bit integers. A bundle contains its lower bound; its upper only if it is 0xffffffff.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal

from msgspec import Struct

from engine.errors import Rejection
from engine.names import long_decode

FULL_LOWER_BOUND: Final = 0x00000000
FULL_UPPER_BOUND: Final = 0xFFFFFFFF
MAX_BUNDLES: Final = 2**20
"""A limit of this model, against typing errors that would fill the memory; Pulsar's own is 2^32."""

RANGES_KEPT: Final = 1 << 12
"""How many parsed ranges are cached: all topics of a bundle have the same one."""


def boundary_text(value: int) -> str:
    """``0x%08x``, negative numbers as Java prints them: in 64 bits, two's complement.

    >>> boundary_text(0x40000000), boundary_text(-1)
    ('0x40000000', '0xffffffffffffffff')
    """
    return f"0x{value & 0xFFFFFFFFFFFFFFFF:08x}"


class BundleRange(Struct, frozen=True, order=True):
    """One bundle ``[lower, upper)``, closed above when ``upper`` is 0xffffffff. Its text is ``0x%08x_0x%08x``."""

    lower: int
    upper: int

    def __str__(self) -> str:
        return f"{boundary_text(self.lower)}_{boundary_text(self.upper)}"

    @property
    def upper_inclusive(self) -> bool:
        return self.upper == FULL_UPPER_BOUND

    @property
    def width(self) -> int:
        """``upper - lower`` as Pulsar counts it: the closed top of the last bundle adds nothing."""
        return self.upper - self.lower

    @property
    def can_split(self) -> bool:
        return self.width > 1

    def includes(self, topic_hash: int) -> bool:
        """Whether a hash is in this bundle (``NamespaceBundle.includes``)."""
        return self.lower <= topic_hash < self.upper or (self.upper_inclusive and topic_hash == FULL_UPPER_BOUND)


class NamespaceBundles(Struct, frozen=True):
    """The bundles of one namespace: a valid boundary list. Build it with :func:`namespace_bundles`."""

    namespace: str
    boundaries: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.boundaries) - 1

    def __iter__(self) -> Iterator[BundleRange]:
        return (BundleRange(low, high) for low, high in pairwise(self.boundaries))

    def __getitem__(self, index: int) -> BundleRange:
        """The bundle at a position counted from 0."""
        return BundleRange(self.boundaries[index], self.boundaries[index + 1])

    @property
    def bundles(self) -> tuple[BundleRange, ...]:
        return tuple(self)

    @property
    def full_names(self) -> tuple[str, ...]:
        """``tenant/namespace/0x..._0x...`` of every bundle, in order."""
        return tuple(f"{self.namespace}/{bundle}" for bundle in self)

    def index_of(self, topic_hash: int) -> int:
        """Position of the bundle that holds a hash, -1 for none (below the first boundary). O(log bundles)."""
        if topic_hash > FULL_UPPER_BOUND:
            return -1
        # The closed top belongs to the last bundle; by bisection alone it would be one bundle too far.
        return min(bisect_right(self.boundaries, topic_hash), len(self)) - 1

    def find(self, topic_hash: int) -> BundleRange | Rejection:
        """The bundle that holds a hash; a hash on a boundary belongs to the bundle that starts there.

        Refused below the first boundary. The hash 0xffffffff is placed in the last bundle, which includes it, although
        Pulsar's look-up fails there (:meth:`pulsar_find`).

        >>> two = NamespaceBundles("t/n", (0, 0x80000000, 0xFFFFFFFF))
        >>> str(two.find(0x80000000)), str(two.find(0xFFFFFFFF))
        ('0x80000000_0xffffffff', '0x80000000_0xffffffff')
        """
        index = self.index_of(topic_hash)
        if index < 0:
            return Rejection(
                "IndexOutOfBoundsException",
                f"hash {boundary_text(topic_hash)} is in none of the {len(self)} bundles of {self.namespace}",
                field="hash",
            )
        return self[index]

    def pulsar_find(self, topic_hash: int) -> BundleRange | Rejection:
        """What the broker's look-up answers, defect included: 0xffffffff is refused (IndexOutOfBoundsException)."""
        if pulsar_lookup_fails(topic_hash):
            return Rejection(
                "IndexOutOfBoundsException",
                "Pulsar's look-up fails for a topic whose hash is 0xffffffff, although the last bundle includes it",
                field="hash",
            )
        return self.find(topic_hash)

    def validate_bundle(self, bundle: BundleRange) -> Rejection | None:
        """None when the range is exactly one of the bundles (``NamespaceBundles.validateBundle``), else the refusal."""
        position = bisect_right(self.boundaries, bundle.lower) - 1
        if position < 0 or self.boundaries[position] != bundle.lower:
            return Rejection(
                "IllegalArgumentException",
                f"Cannot find bundle {self.namespace}/{bundle} in the bundles list",
                field="bundle",
                status=412,
            )
        if position == len(self):
            return Rejection(
                "IndexOutOfBoundsException",
                f"no bundle of {self.namespace} starts at {bundle.lower:#010x}",
                "bundle",
                412,
            )
        if self.boundaries[position + 1] != bundle.upper:
            return Rejection(
                "IllegalArgumentException",
                f"Invalid upper boundary for bundle {self.namespace}/{bundle}: the bundle there is {self[position]}",
                field="bundle",
                status=412,
            )
        return None


def pulsar_lookup_fails(topic_hash: int) -> bool:
    """Whether the broker cannot look up a topic of this hash in any bundle list: one hash of 2^32 is affected."""
    return topic_hash == FULL_UPPER_BOUND


def namespace_bundles(namespace: str, boundaries: Sequence[int | str]) -> NamespaceBundles | Rejection:
    """A boundary list as bundles, numbers or texts of ``Long.decode`` (constructor of ``NamespaceBundles``).

    Refused: fewer than two boundaries, a descending or empty pair, a last boundary other than 0xffffffff, 0xffffffff
    before the last place. The first boundary may be any number; hashes below it are then in no bundle. O(n).

    >>> [str(bundle) for bundle in namespace_bundles("t/n", ["0x0", "0x80000000", "0xffffffff"])]
    ['0x00000000_0x80000000', '0x80000000_0xffffffff']
    """
    values: list[int] = []
    for boundary in boundaries:
        value = long_decode(boundary) if isinstance(boundary, str) else boundary
        if isinstance(value, Rejection):
            return value
        values.append(value)
    if len(values) < 2:
        return _refuse(f"{len(values)} boundaries make no bundle; at least two are needed")
    for place, (low, high) in enumerate(pairwise(values)):
        last = place == len(values) - 2
        if (high == FULL_UPPER_BOUND) != last:
            wanted = "the last boundary must be 0xffffffff" if last else "0xffffffff may only be the last boundary"
            return _refuse(f"{wanted}, and boundary {place + 2} of {len(values)} is {boundary_text(high)}")
        # Only a closed range [x, x] is not empty, and only the very top is closed.
        if low > high or (low == high and not last):
            what = "an empty range" if low == high else "out of order"
            return _refuse(f"{boundary_text(low)}, {boundary_text(high)} is {what}")
    return NamespaceBundles(namespace, tuple(values))


def default_boundaries(count: int) -> tuple[int, ...] | Rejection:
    """The boundaries of ``count`` equal bundles (``PoliciesUtil.getBundles``); the last bundle takes the remainder.

    Refused: less than 1 (HTTP 400); more than ``MAX_BUNDLES`` by this model only. O(count).

    >>> [f"{boundary:#x}" for boundary in default_boundaries(3)]
    ['0x0', '0x55555555', '0xaaaaaaaa', '0xffffffff']
    """
    if count <= 0:
        return Rejection(
            "RestException", f"Invalid number of bundles {count}: it has to be above 0", field="numBundles", status=400
        )
    if count > MAX_BUNDLES:
        return Rejection(
            "TooManyBundles", f"{count} bundles: up to {MAX_BUNDLES} are modelled here", field="numBundles"
        )
    width = 2**32 // count
    return (*(place * width for place in range(count)), FULL_UPPER_BOUND)


@lru_cache(maxsize=RANGES_KEPT)
def parse_range(text: str) -> BundleRange | Rejection:
    """A range text ``lower_upper``, each in ``Long.decode`` syntax; further ``_`` pieces are ignored, as in Pulsar.

    Refused: no ``_`` or an empty or inverted range (IllegalArgumentException), a missing piece
    (ArrayIndexOutOfBoundsException), not a number (NumberFormatException). All are HTTP 412 where a broker is asked.

    >>> str(parse_range("0x0_0X10"))
    '0x00000000_0x00000010'
    """
    if "_" not in text:
        return _range_refusal("IllegalArgumentException", f"{text!r} is not a range: write 0x00000000_0x80000000")
    # Java's split drops empty pieces at the end, so "0x0_" has one piece only.
    pieces = text.rstrip("_").split("_") if text.strip("_") else []
    bounds: list[int] = []
    for place in range(2):
        if place >= len(pieces):
            return _range_refusal(
                "ArrayIndexOutOfBoundsException", f"{text!r} lacks its {('lower', 'upper')[place]} end"
            )
        value = long_decode(pieces[place])
        if isinstance(value, Rejection):
            return _range_refusal(value.error, f"in range {text!r}, {value.message}")
        bounds.append(value)
    bundle = BundleRange(bounds[0], bounds[1])
    if bundle.lower > bundle.upper:
        return _range_refusal("IllegalArgumentException", f"range {text!r} has its lower end above its upper end")
    if bundle.lower == bundle.upper and not bundle.upper_inclusive:
        return _range_refusal("IllegalArgumentException", f"range {text!r} is empty")
    return bundle


def compare_bundles(namespace_a: str, a: BundleRange, namespace_b: str, b: BundleRange) -> int | Rejection:
    """-1, 0 or 1: by namespace text, then lower bound (``NamespaceBundle.compareTo``).

    Refused: overlapping ranges of one namespace that are not equal.
    """
    if namespace_a != namespace_b:
        return 1 if namespace_a > namespace_b else -1
    if a == b:
        return 0
    low, high = max(a.lower, b.lower), min(a.upper, b.upper)
    if low < high or (low == high and a.upper_inclusive and b.upper_inclusive):
        return _range_refusal("IllegalArgumentException", f"{a} and {b} overlap, so neither comes first")
    return 1 if a.lower > b.lower else -1


def _refuse(message: str) -> Rejection:
    return Rejection("IllegalArgumentException", message, field="boundaries")


def _range_refusal(error: str, message: str) -> Rejection:
    return Rejection(error, message, field="bundle", status=412)


Stage = Literal["sync", "async"]


class SplitResult(Struct, frozen=True):
    """The new list of the whole namespace, and the children of the split bundle in order."""

    bundles: NamespaceBundles
    children: tuple[BundleRange, ...]


class SplitRefusal(Rejection, frozen=True):
    """Why a bundle cannot be split so. ``stage``: "sync" is thrown to the caller, "async" reaches no client."""

    stage: Stage = "sync"


def split_bundles(
    bundles: NamespaceBundles, target: BundleRange, number: int, boundaries: Sequence[int] | None = None
) -> SplitResult | SplitRefusal | None:
    """Replace one bundle by its children: at ``boundaries``, or into ``number`` equal parts without them.

    None: ``target`` is not a bundle of the namespace. All other boundaries stay. Refused at once (stage "sync"): a
    width below 2, boundaries not strictly inside. Refused later ("async"), where Pulsar's request is never answered:
    equal boundaries, more parts than the width has, no or a negative number of parts. O(n + k log k).

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
        # Pulsar allocates the new list before it looks for the bundle, so this is checked first.
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
