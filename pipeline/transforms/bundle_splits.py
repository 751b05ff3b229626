"""The splits that an algorithm proposes, as columns of ``bundle_splits`` and ``bundle_children``."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.balance.limits import over_limits
from engine.bundles.bulk_children import CARRIED_OUT, REFUSALS, Children
from engine.config import FLOW_OR_QPS_EQUALLY_DIVIDE, BrokerSettings, ReleaseBehaviour
from pipeline.schemas import BUNDLE_CHILDREN, BUNDLE_SPLITS

NOT_DEFAULT: Final = "not-the-default-algorithm"
"""No broker of these releases would take this algorithm: beside it the row says what it would do."""
_FEWEST_TOPICS: Final = 2
"""Both load managers leave a bundle with fewer loaded topics whole, however busy it is."""
_HEX: Final = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
_SHIFTS: Final = np.arange(28, -1, -4)
_TEXT_BYTES: Final = 21


def range_texts(lower: NDArray[np.int64], upper: NDArray[np.int64]) -> Any:
    """``0x%08x_0x%08x`` of each range (``engine.bundles.BundleRange``) as an Arrow column; bounds 0 .. 0xffffffff.

    >>> range_texts(np.array([0x10]), np.array([0xffffffff])).to_pylist()
    ['0x00000010_0xffffffff']
    """
    count = len(lower)
    text = np.empty((count, _TEXT_BYTES), dtype=np.uint8)
    text[:] = np.frombuffer(b"0x--------_0x--------", dtype=np.uint8)
    text[:, 2:10] = _HEX[(lower[:, None] >> _SHIFTS) & 15]
    text[:, 13:21] = _HEX[(upper[:, None] >> _SHIFTS) & 15]
    offsets = np.arange(count + 1, dtype=np.int32) * _TEXT_BYTES
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(text))


def split_columns(
    names: tuple[Any, Any, Any],
    algorithm: str,
    children: Children,
    settings: BrokerSettings,
    *,
    behaviour: ReleaseBehaviour,
) -> Any:
    """Rows of ``bundle_splits``, one per bundle; ``names``: its own, its cluster's, its namespace's, in Arrow."""
    bundles, clusters, namespaces = names
    count = len(bundles)
    whole = children.refusal != CARRIED_OUT
    needs_default = algorithm == FLOW_OR_QPS_EQUALLY_DIVIDE and not behaviour.flow_by_name
    taken = not needs_default or settings.defaultNamespaceBundleSplitAlgorithm == algorithm
    refusals = np.where(~whole & (not taken), len(REFUSALS), children.refusal)
    # The load manager would split these again, but none that is loaded with a single topic.
    over = (
        over_limits(children.loaded, children.sessions, children.msgs_per_sec, children.bytes_per_sec, settings)
        & (children.loaded >= _FEWEST_TOPICS)
        & (children.upper - children.lower > 1)
    )
    arrays = [
        clusters,
        bundles,
        namespaces,
        pa.repeat(algorithm, count),
        pa.ListArray.from_arrays(pa.array(children.cuts.start.astype(np.int32)), pa.array(children.cuts.positions)),
        pa.array(np.where(whole, 0, np.diff(children.start))),
        pa.array((*REFUSALS, NOT_DEFAULT), pa.string()).take(pa.array(refusals, mask=refusals == CARRIED_OUT)),
        pa.array(np.where(whole, 0, children.count(children.topics == 0))),
        pa.array(np.where(whole, 1.0, children.largest_share(children.topics))),
        pa.array(np.where(whole, 1.0, children.largest_share(children.msgs_per_sec))),
        pa.array(np.where(whole, 0, children.count(over))),
    ]
    return pa.Table.from_arrays(arrays, names=list(BUNDLE_SPLITS.names))


def child_columns(names: tuple[Any, Any, Any], algorithm: str, children: Children) -> Any:
    """Rows of ``bundle_children``; a bundle that stays whole has none."""
    bundles, clusters, namespaces = names
    shown = np.flatnonzero((children.refusal == CARRIED_OUT)[children.parent])
    parent = pa.array(children.parent[shown])
    spaces = namespaces.take(parent)
    texts = range_texts(children.lower[shown], children.upper[shown])
    numbers = (children.lower, children.upper, children.topics, children.msgs_per_sec, children.bytes_per_sec)
    arrays = [
        clusters.take(parent),
        bundles.take(parent),
        spaces,
        pa.repeat(algorithm, len(shown)),
        pc.binary_join_element_wise(spaces, texts, "/"),
        *(pa.array(values[shown]) for values in numbers),
    ]
    return pa.Table.from_arrays(arrays, names=list(BUNDLE_CHILDREN.names))
