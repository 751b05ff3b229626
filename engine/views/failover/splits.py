"""A preview of splits: every algorithm's cuts for one bundle, with the topics and the traffic of each piece."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from engine.answer import Column, Kind, about
from engine.bundles.boundaries import BundleRange, NamespaceBundles
from engine.bundles.columns import sum_in_order
from engine.bundles.plan import SplitPlan, SplitWarning
from engine.bundles.preview import SplitPreview, hangs_on_order, preview_all
from engine.bundles.split import HOT, LARGEST, resolve_target
from engine.cluster.bundles import in_listing_order, lacking_rates, loads_of, refused_without_rates, topic_loads
from engine.cluster.commands import SplitBundle
from engine.cluster.grammar.text import command_text
from engine.cluster.state import ClusterState, behaviour_in, bundles_of
from engine.config import SPECIFIED_POSITIONS_DIVIDE
from engine.errors import Rejection
from engine.memo import LazyRows
from engine.views.failover.tree import EMPTY, hashed_topics, loads_by_hash

_MSGS: Final = about("Messages per second, in and out; null where a topic of the bundle lacks them.")
_BYTES: Final = about("Bytes per second, in and out; null where a topic of the bundle lacks them.")


@dataclass(frozen=True, slots=True)
class SplitPiece:
    """One child of a split: ``[lower, upper)`` with its contents."""

    range_text: Annotated[str, about("Its range.")]
    lower: Annotated[int, about("Its first hash.", 0)]
    upper: Annotated[int, about("The hash where it ends.", 0)]
    topics: Annotated[int, about("Topics in it.", 0)]
    msgs_per_sec: Annotated[float | None, _MSGS]
    bytes_per_sec: Annotated[float | None, _BYTES]
    rate_share: Annotated[
        float | None, about("Its part of the bundle's messages per second; 0 where those are 0, null where unknown.")
    ]


@dataclass(frozen=True, slots=True)
class SplitOption:
    """One algorithm's answer for one bundle. It can have both pieces and a refusal."""

    algorithm: Annotated[str, about("Pulsar's name of it.")]
    is_default: Annotated[bool, about("Whether it is the broker's default.")]
    as_proposed: Annotated[bool, about("Whether it is the rule of the first PIP-169 text, which no Pulsar has.")]
    cuts: Annotated[tuple[int, ...], about("Its boundaries, twins included.", 0)]
    pieces: Annotated[tuple[SplitPiece, ...], about("What they leave; empty where nothing would be split.")]
    refusal: Annotated[
        Rejection | None, about("What a broker with these settings answers to the request by name; null: it takes it.")
    ]
    status: Annotated[
        int | None, about("HTTP status of the request; null where none is answered. 204 may come without any change.")
    ]
    warnings: Annotated[tuple[SplitWarning, ...], about("What to know before.")]
    positions: Annotated[tuple[int, ...], about("Positions that specified_positions_divide is given.", 0)]
    positions_from: Annotated[str, about("Where these come from; empty for other algorithms.")]
    admin_line: Annotated[str, about("A pulsar-admin line that makes these very cuts; empty where none does.")]
    command_text: Annotated[str, about("A line that makes them in the model; empty where none does.")]

    @property
    def cut_texts(self) -> tuple[str, ...]:
        """The cuts as Pulsar writes boundaries, ``0x%08x``."""
        return tuple(f"0x{cut:08x}" for cut in self.cuts)


@dataclass(frozen=True, eq=False, slots=True)
class SplitPreviewView:
    """All algorithms side by side for one bundle, and where its topics are between ``lower`` and ``upper``."""

    FORMAT: ClassVar = "ringside.split/1"

    namespace: Annotated[str, about("tenant/namespace.")]
    range_text: Annotated[str, about("The bundle.")]
    lower: Annotated[int, about("Its first hash.", 0)]
    upper: Annotated[int, about("The hash where it ends.", 0)]
    topics: Annotated[int, about("Topics in it.", 0)]
    msgs_per_sec: Annotated[float | None, _MSGS]
    bytes_per_sec: Annotated[float | None, _BYTES]
    options: Annotated[tuple[SplitOption, ...], about("Each algorithm, in Pulsar's order.")]
    topic_names: Annotated[Sequence[str], about("Its topics, ascending by hash.")]
    topic_hashes: Annotated[Sequence[int] | NDArray[np.int64], about("Their hashes, parallel.", 0)]
    topic_msgs_per_sec: Annotated[Sequence[float] | NDArray[np.float64], about("Their messages per second, parallel.")]
    problem: Annotated[Rejection | None, about("Why there is nothing to split.")] = None


class SplitTopic(Struct, frozen=True):
    """A topic of the bundle, and where an algorithm puts it."""

    topic: Annotated[str, about("The topic or partition."), Column("topic", Kind.NAME, 0)]
    hash: Annotated[str, about("Its hash."), Column("hash", Kind.WORD, 3)]
    msgs_per_sec: Annotated[
        float | None, about("Messages per second, in and out; null where not known."), Column("in+out/s", Kind.RATE, 1)
    ]
    goes_to: Annotated[
        str, about("The bundle that it is in after the split; empty without one."), Column("goes to", Kind.WORD, 2)
    ]


def split_topics(view: SplitPreviewView, option: SplitOption | None) -> Sequence[SplitTopic]:
    """The topics of the bundle, the busiest first, each made on demand. O(topics log topics)."""
    rates = view.topic_msgs_per_sec if view.msgs_per_sec is not None else None
    order = range(view.topics) if rates is None else np.argsort(-np.asarray(rates), kind="stable")
    pieces = option.pieces if option is not None else ()
    ends = [piece.upper for piece in pieces]

    def row(at: int) -> SplitTopic:
        place = int(order[at])
        value = int(view.topic_hashes[place])
        piece = min(bisect_right(ends, value), len(ends) - 1)  # the last one has the last hash, too
        rate = None if rates is None else float(rates[place])
        return SplitTopic(
            view.topic_names[place].rpartition("/")[2], f"0x{value:08x}", rate, pieces[piece].range_text if ends else ""
        )

    return LazyRows(view.topics, row)


def split_preview(
    state: ClusterState, namespace: str, range_text: str, *, positions: tuple[int, ...] | None = None
) -> SplitPreviewView:
    """All algorithms side by side; ``range_text`` may also be ``LARGEST`` or ``HOT``. O(t log t) for its topics.

    ``positions`` are hash values for ``specified_positions_divide``; None leaves them to the preview. A namespace or
    bundle that is not there gives a view with ``problem`` set.
    """
    if namespace not in state.namespaces:
        return _nothing(
            namespace, range_text, Rejection("NotFound", f"no namespace {namespace!r} here", "namespace", 404)
        )
    bundles = bundles_of(state, namespace)
    parent = _parent(state, bundles, range_text)
    if isinstance(parent, Rejection):
        return _nothing(namespace, range_text, parent)
    behaviour, settings = behaviour_in(state), state.settings
    hashed = hashed_topics(state).get(namespace, EMPTY)
    low, high = hashed.inside(parent.lower, parent.upper)
    inside = loads_by_hash(state, namespace).between(low, high)
    previews = preview_all(bundles, str(parent), inside, settings, behaviour, positions=positions)
    if not isinstance(previews, Rejection) and hangs_on_order(previews, inside, settings):
        listed = loads_of(state, in_listing_order(state, hashed.names.numbers[low:high]))
        previews = preview_all(bundles, str(parent), listed, settings, behaviour, positions=positions)
    if isinstance(previews, Rejection):
        return _nothing(namespace, range_text, previews)
    msgs_per_sec, bytes_per_sec = inside.flow
    numbers = hashed.names.numbers[low:high]
    is_known = not lacking_rates(state, numbers).any()
    rate = sum_in_order(msgs_per_sec) if is_known else None
    default = settings.defaultNamespaceBundleSplitAlgorithm
    return SplitPreviewView(
        namespace=namespace,
        range_text=str(parent),
        lower=parent.lower,
        upper=parent.upper,
        topics=len(inside),
        msgs_per_sec=rate,
        bytes_per_sec=sum_in_order(bytes_per_sec) if is_known else None,
        options=tuple(
            _option(_computed(option, state, numbers), namespace, str(parent), rate, default) for option in previews
        ),
        topic_names=inside.names,
        topic_hashes=inside.hashes,
        topic_msgs_per_sec=msgs_per_sec,
    )


def _parent(state: ClusterState, bundles: NamespaceBundles, range_text: str) -> BundleRange | Rejection:
    """The bundle that a text names; only LARGEST and HOT need all topics."""
    topics = topic_loads(state, bundles.namespace) if range_text in (LARGEST, HOT) else ()
    target = resolve_target(bundles, range_text, topics)
    return target if isinstance(target, Rejection) else target.bundle


def _computed(line: SplitPreview, state: ClusterState, numbers: NDArray[np.int32]) -> SplitPreview:
    """The line without cuts where an algorithm would compare rates that are not known."""
    unknown = refused_without_rates(state, numbers, line.algorithm)
    return line if unknown is None else replace(line, plan=unknown, refusal=line.refusal or unknown, command="")


def _option(line: SplitPreview, namespace: str, range_text: str, rate: float | None, default: str) -> SplitOption:
    plan = line.plan
    refused = isinstance(plan, Rejection)
    cuts = () if isinstance(plan, Rejection) else plan.cuts or ()
    makes = not refused and bool(line.command)
    by_name = line.refusal is None and not line.as_proposed
    return SplitOption(
        algorithm=line.algorithm,
        is_default=line.algorithm == default and not line.as_proposed,
        as_proposed=line.as_proposed,
        cuts=cuts,
        pieces=() if isinstance(plan, Rejection) else _pieces(plan, rate),
        refusal=plan if isinstance(plan, Rejection) else line.refusal,
        status=_status(line),
        warnings=() if isinstance(plan, Rejection) else plan.warnings,
        positions=() if isinstance(plan, Rejection) else plan.positions,
        positions_from=line.positions_from,
        admin_line=line.command,
        command_text=_command_text(namespace, range_text, line.algorithm, cuts, by_name=by_name) if makes else "",
    )


def _status(line: SplitPreview) -> int | None:
    if line.refusal is not None:
        return line.refusal.status
    return line.plan.status


def _pieces(plan: SplitPlan, rate: float | None) -> tuple[SplitPiece, ...]:
    return tuple(
        SplitPiece(
            range_text=str(child.bundle),
            lower=child.bundle.lower,
            upper=child.bundle.upper,
            topics=len(child.topics),
            msgs_per_sec=None if rate is None else child.msgs_per_sec,
            bytes_per_sec=None if rate is None else child.bytes_per_sec,
            rate_share=None if rate is None else child.msgs_per_sec / rate if rate > 0 else 0.0,
        )
        for child in plan.children
    )


def _command_text(namespace: str, range_text: str, algorithm: str, cuts: tuple[int, ...], *, by_name: bool) -> str:
    """The split as a command of the model; cuts that no algorithm makes by name are passed as positions."""
    if by_name and algorithm != SPECIFIED_POSITIONS_DIVIDE:
        return command_text(SplitBundle(namespace, range_text, algorithm))
    return command_text(SplitBundle(namespace, range_text, SPECIFIED_POSITIONS_DIVIDE, tuple(sorted(set(cuts)))))


def _nothing(namespace: str, range_text: str, problem: Rejection) -> SplitPreviewView:
    return SplitPreviewView(namespace, range_text, 0, 0, 0, 0.0, 0.0, (), (), (), (), problem)
