"""``split``: where each algorithm would cut a bundle, what is on either side, and the request that does it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from engine.errors import InputError
from engine.text import counted, visible
from tui.cli.options import WhatIf, form_options, what_if_options
from tui.cli.output import Form
from tui.cli.plain import PageColumn, listing, nearest, wrapped
from tui.kit.wording import bytes_per_sec, in_out_rate, percent, quantity, safe_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.cluster.state import ClusterState
    from engine.cluster.timeline import Timeline
    from engine.views.failover.splits import SplitOption, SplitPiece, SplitPreviewView

HOTTEST: Final = "HOT"
_PIECES: Final[tuple[PageColumn[SplitPiece], ...]] = (
    ("bundle", "<", lambda piece: piece.range_text),
    ("topics", ">", lambda piece: str(piece.topics)),
    ("in+out/s", ">", lambda piece: quantity(piece.msgs_per_sec)),
    ("B/s", ">", lambda piece: quantity(piece.bytes_per_sec)),
    ("of rate", ">", lambda piece: percent(piece.rate_share)),
)


@click.command("split")
@click.argument("bundle", required=False, default=HOTTEST)
@click.argument("path", required=False, metavar="[FILE | FOLDER]", type=click.Path())
@click.option("--algorithm", metavar="NAME", help="Show this one only.")
@click.option("--positions", metavar="N,N", help="For specified_positions_divide: hash values, decimal or 0x.")
@click.option("--namespace", metavar="NAME", help="tenant/namespace; needed where there are several.")
@form_options
@what_if_options
def split_command(
    *,
    bundle: str,
    path: str | None,
    algorithm: str | None,
    positions: str | None,
    namespace: str | None,
    form: Form,
    what_if: WhatIf,
) -> int:
    """Show where each algorithm would cut BUNDLE, what is on either side, and the request that does it.

    BUNDLE is a range such as 0x00000000_0x40000000, LARGEST or HOT (the default), or tenant/namespace/RANGE.

    Example: ringside split HOT dump/ --namespace shop/orders
    """
    from engine.views.failover.splits import split_preview
    from tui.cli.session import answers_of

    if path is None and Path(bundle).exists():
        bundle, path = HOTTEST, bundle
    session = answers_of(path, what_if)
    state = session.timeline.state
    owner, range_text = _bundle(bundle, namespace, session.timeline)
    view = split_preview(state, owner, range_text, positions=_positions(positions))
    if view.problem is not None:
        raise InputError(f"{bundle}: {view.problem.message}{_bundles_listed(state, owner)}")
    known = [option.algorithm for option in view.options]
    if algorithm is not None:
        if algorithm not in known:
            raise InputError(f"--algorithm {algorithm}: not known; known: {', '.join(dict.fromkeys(known))}")
        view = replace(view, options=tuple(shown for shown in view.options if shown.algorithm == algorithm))
    return form.show(view, lambda: split_lines(view))


def _bundle(text: str, namespace: str | None, timeline: Timeline) -> tuple[str, str]:
    """The namespace and the range that were meant. Raises ``UsageError`` when several namespaces could be."""
    from tui.cli.session import namespace_of

    if namespace is None and text.count("/") == 2:
        namespace, _, text = text.rpartition("/")
    return namespace_of(namespace, timeline), text


def _bundles_listed(state: ClusterState, namespace: str, *, shown: int = 8) -> str:
    """The bundles that can be named instead."""
    known = state.namespaces.get(namespace)
    if known is None:
        return f"; there is {nearest(namespace, sorted(state.namespaces))}"
    ranges = [f"0x{lower:08x}_0x{upper:08x}" for lower, upper in pairwise(known.boundaries)]
    more = " ..." if len(ranges) > shown else ""
    return f"; its bundles: {', '.join(ranges[:shown])}{more}, or LARGEST, or HOT"


def _positions(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return tuple(int(piece, 0) for piece in text.replace(" ", ",").split(",") if piece)
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is not a list of hash values; write 123456,0x40000000") from error


def split_lines(view: SplitPreviewView, algorithm: str | None = None) -> list[str]:
    """The bundle, then each algorithm (or the chosen one) one below the other."""
    shown = [option for option in view.options if algorithm in (None, option.algorithm)]
    return [
        f"bundle {view.range_text} of namespace {safe_name(view.namespace)}",
        f"{counted(view.topics, 'topic')} · {in_out_rate(view.msgs_per_sec)} · {bytes_per_sec(view.bytes_per_sec)}",
        *(line for option in shown for line in _option(option)),
    ]


def _option(option: SplitOption) -> Iterator[str]:
    from tui.bundles.words import AS_PROPOSED, CUTS_NOTHING, warning_sentences

    remarks = []
    if option.is_default:
        remarks.append("the default")
    if option.as_proposed:
        remarks.append(AS_PROPOSED)
    if option.positions_from:
        remarks.append(f"positions: {option.positions_from}")
    yield ""
    yield f"{option.algorithm}{_in_brackets(remarks)}"
    if option.refusal is not None:
        status = f" (HTTP {option.refusal.status})" if option.refusal.status else ""
        reason = f"{option.refusal.error}: {safe_name(option.refusal.message)}"
        yield from _indented(f"a broker refuses the request by name{status}: {reason}")
    elif not option.pieces:
        yield f"  {CUTS_NOTHING}"
    if option.pieces:
        yield f"  cut at {', '.join(option.cut_texts)}"
        yield from listing(option.pieces, _PIECES, indent="  ")
    for warning in warning_sentences(option):
        yield from _indented(f"warning: {warning}")
    if option.admin_line:
        yield f"  $ {visible(option.admin_line)}"


def _indented(sentence: str) -> list[str]:
    return wrapped(sentence, first="  ", rest="    ")


def _in_brackets(remarks: list[str]) -> str:
    return f" ({', '.join(remarks)})" if remarks else ""
