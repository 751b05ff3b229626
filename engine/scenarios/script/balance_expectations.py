"""``expect`` lines about bundles over time, checked against the forecast of the state at the cursor.

::

    expect next split NAMESPACE RANGE|nothing
    expect next reason NAMESPACE Topics|Sessions|MsgRate|Bandwidth
    expect forecast NAMESPACE cycle|seconds|splits|bundles|over|pieces OP N

Two brokers with the modular load manager, twenty cycles of steady traffic, the algorithm that the settings lead to.
``cycle``, ``seconds`` and ``pieces`` are of the next split; ``splits``, ``bundles`` and ``over`` (bundles above a
limit) are counted after the last cycle.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from engine.cluster.state import ClusterState
from engine.errors import Rejection
from engine.views.bundles.model import BalanceQuestion, BalanceView
from engine.views.bundles.view import balance_frame, balance_view

BALANCE_FORMS: Final[Mapping[str, tuple[int, bool, str]]] = {
    "next": (3, False, "expect next split NAMESPACE RANGE, or expect next reason NAMESPACE REASON"),
    "forecast": (2, True, "expect forecast NAMESPACE cycle|seconds|splits|bundles|over|pieces = N"),
}
"""Kind -> how many words name the subject, whether a comparison follows, how it is written."""

BALANCE_WORDS: Final[Mapping[str, tuple[int, tuple[str, ...]]]] = {
    "next": (0, ("split", "reason")),
    "forecast": (1, ("cycle", "seconds", "splits", "bundles", "over", "pieces")),
}
"""Kind -> which of its words is one of a list, and the list."""

NOTHING: Final = "nothing"


def balance_text_unmet(subject: tuple[str, ...], state: ClusterState) -> str:
    """Why ``next split`` or ``next reason`` does not hold, "" when it does."""
    what, namespace, wanted = subject
    view = _view(namespace, state)
    if isinstance(view, str):
        return view
    split = view.configured.next_split()
    if split is None:
        return "" if what == "split" and wanted == NOTHING else f"nothing splits within {view.question.cycles} cycles"
    found = split.range_text if what == "split" else split.reason
    return "" if found == wanted else f"it is {found}"


def balance_number(subject: tuple[str, ...], state: ClusterState) -> float | str:
    """The number to compare, or why there is none."""
    namespace, what = subject
    view = _view(namespace, state)
    if isinstance(view, str):
        return view
    tree = view.configured
    if what == "splits":
        return len(tree.splits)
    if what == "bundles":
        return tree.bundles
    if what == "over":
        return balance_frame(view, tree.algorithm, view.question.cycles).over
    split = tree.next_split()
    if split is None:
        return f"nothing splits within {view.question.cycles} cycles"
    return {"cycle": split.cycle, "seconds": split.at_seconds, "pieces": len(split.children)}[what]


def _view(namespace: str, state: ClusterState) -> BalanceView | str:
    view = balance_view(state, namespace, BalanceQuestion())
    return view.message if isinstance(view, Rejection) else view
