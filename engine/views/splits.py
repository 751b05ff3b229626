"""A split before it is made: every algorithm's cuts for one bundle, with the topics and the traffic of each piece."""

from __future__ import annotations

from engine.bundles.boundaries import BundleRange, parse_range
from engine.bundles.loads import topics_in
from engine.bundles.plan import SplitPlan
from engine.bundles.preview import SplitPreview, preview_all
from engine.cluster.commands import SplitBundle
from engine.cluster.facts import behaviour_in, bundles_of, topic_loads
from engine.cluster.grammar_text import command_text
from engine.cluster.partitions import large_loads, large_topics
from engine.cluster.state import ClusterState
from engine.cluster.topic_table import NumberedNames, TopicTable
from engine.config import SPECIFIED_POSITIONS_DIVIDE
from engine.errors import Rejection
from engine.views.details import SplitOption, SplitPiece, SplitPreviewView
from engine.views.large_bundle import inside_of
from engine.views.large_splits import large_preview
from engine.views.tree import EMPTY, flow_of, hashed_topics


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
    large = large_topics(state)
    if large is not None:
        told = _large(state, large, namespace, range_text, positions)
        if told is not None:
            return told
    loads = topic_loads(state, namespace)
    found = preview_all(
        bundles_of(state, namespace), range_text, loads, state.settings, behaviour_in(state), positions=positions
    )
    if isinstance(found, Rejection):
        return _nothing(namespace, range_text, found)
    parent = _parent(found, range_text)
    inside = sorted(topics_in(parent, loads), key=lambda load: (load.hash, load.name))
    rate = sum(load.msgs_per_sec for load in inside)
    return SplitPreviewView(
        namespace=namespace,
        range_text=str(parent),
        lower=parent.lower,
        upper=parent.upper,
        topics=len(inside),
        msgs_per_sec=rate,
        bytes_per_sec=sum(load.bytes_per_sec for load in inside),
        options=tuple(
            _option(each, namespace, str(parent), rate, state.settings.defaultNamespaceBundleSplitAlgorithm)
            for each in found
        ),
        topic_names=tuple(load.name for load in inside),
        topic_hashes=tuple(load.hash for load in inside),
        topic_msgs_per_sec=tuple(load.msgs_per_sec for load in inside),
    )


def _large(
    state: ClusterState, topics: TopicTable, namespace: str, range_text: str, positions: tuple[int, ...] | None
) -> SplitPreviewView | None:
    """The same from columns; None where only a look at each topic tells."""
    bundles = bundles_of(state, namespace)
    parent = parse_range(range_text)
    if not isinstance(parent, BundleRange) or bundles.validate_bundle(parent) is not None:
        return None
    hashed = hashed_topics(state).get(namespace, EMPTY)
    if not isinstance(hashed.names, NumberedNames):
        return None
    flow = flow_of(hashed, state.loads)
    assert flow is not None, "a large state keeps what each topic carries"
    piece = slice(*hashed.inside(parent.lower, parent.upper))
    inside = inside_of(
        large_loads(topics, state.loads),
        hashed.names.numbers[piece],
        hashed.hashes[piece],
        (flow[0][piece], flow[1][piece]),
    )
    found = large_preview(bundles, parent, inside, state.settings, behaviour_in(state), positions=positions)
    if found is None:
        return None
    rate = float(inside.msgs_per_sec.sum())
    default = state.settings.defaultNamespaceBundleSplitAlgorithm
    return SplitPreviewView(
        namespace=namespace,
        range_text=str(parent),
        lower=parent.lower,
        upper=parent.upper,
        topics=len(inside),
        msgs_per_sec=rate,
        bytes_per_sec=float(inside.bytes_per_sec.sum()),
        options=tuple(_option(each, namespace, str(parent), rate, default) for each in found),
        topic_names=inside.names,
        topic_hashes=inside.hashes,
        topic_msgs_per_sec=inside.msgs_per_sec,
    )


def _parent(found: tuple[SplitPreview, ...], range_text: str) -> BundleRange:
    """The bundle the plans speak of: they know it also where the text was LARGEST or HOT."""
    for line in found:
        if isinstance(line.plan, SplitPlan):
            return line.plan.parent
    parsed = parse_range(range_text)
    assert isinstance(parsed, BundleRange), f"{range_text!r} was previewed, so it is a range"
    return parsed


def _option(line: SplitPreview, namespace: str, range_text: str, rate: float, default: str) -> SplitOption:
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


def _pieces(plan: SplitPlan, rate: float) -> tuple[SplitPiece, ...]:
    return tuple(
        SplitPiece(
            range_text=str(child.bundle),
            lower=child.bundle.lower,
            upper=child.bundle.upper,
            topics=len(child.topics),
            msgs_per_sec=child.msgs_per_sec,
            bytes_per_sec=child.bytes_per_sec,
            rate_share=child.msgs_per_sec / rate if rate > 0 else 0.0,
        )
        for child in plan.children
    )


def _command_text(namespace: str, range_text: str, algorithm: str, cuts: tuple[int, ...], *, by_name: bool) -> str:
    """The split as a command of the model; cuts that no request by name makes are handed over as positions."""
    if by_name and algorithm != SPECIFIED_POSITIONS_DIVIDE:
        return command_text(SplitBundle(namespace, range_text, algorithm))
    return command_text(SplitBundle(namespace, range_text, SPECIFIED_POSITIONS_DIVIDE, tuple(sorted(set(cuts)))))


def _nothing(namespace: str, range_text: str, problem: Rejection) -> SplitPreviewView:
    return SplitPreviewView(namespace, range_text, 0, 0, 0, 0.0, 0.0, (), (), (), (), problem)
