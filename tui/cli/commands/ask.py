"""Commands that answer one question and leave: ``explain`` and ``split``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from tui.cli.exits import FINE
from tui.cli.options import WhatIf, ascii_option, json_option, what_if_options
from tui.cli.output import write_out, write_page

if TYPE_CHECKING:
    from engine.cluster.state import ClusterState
    from engine.scenarios.opening import Opened
    from tui.cli.session import Session


@click.command("explain", short_help="Say why a topic goes to its active consumer.")
@click.argument("topic")
@click.argument("path", required=False, metavar="[FILE | FOLDER]", type=click.Path())
@click.option("--consumers", metavar="A,B,C", help="Instead of answers: a planned subscription with these consumers.")
@click.option("--partitions", metavar="N", type=int, help="With --consumers: partitions of the planned topic (none).")
@json_option
@ascii_option
@what_if_options
def explain_topic(
    *,
    topic: str,
    path: str | None,
    consumers: str | None,
    partitions: int | None,
    as_json: bool,
    ascii_only: bool,
    what_if: WhatIf,
) -> int:
    """Say why TOPIC (a full name, a local name, or a part of one) goes to its active consumer, and not to the others.

    Every number can be checked by hand: the bytes that are hashed, the hash, the point of the ring or the remainder.
    Of a Shared or Exclusive subscription in answers of brokers it says who can be served next, and who cannot, and why.

    The other forms, explain key KEY and explain route KEY, say why a key goes to its consumer of a Key_Shared
    subscription and to its partition (explain key --help), and explain bundle RANGE which brokers may own a bundle. A
    topic that is called key is explain topic key.

    Example: ringside explain topic-7 --flag on
    """
    from engine.views.failover.explanations import TopicExplanation
    from tui.cli.explained import topic_or_turn
    from tui.sources.answers import opened

    if consumers is not None:
        if path is not None or what_if.about is not None:
            raise click.UsageError("--consumers is about a topic that exists nowhere yet; leave out the answers")
        found = _planned(topic, partitions, consumers, what_if.pulsar)
    elif partitions is not None:
        raise click.UsageError("--partitions belongs to a planned topic; give --consumers A,B,C too")
    else:
        found = opened(path, release=what_if.pulsar, topic=what_if.about, limit_bytes=what_if.max_input)
    told = topic_or_turn(found, topic, what_if)
    place = None
    if isinstance(told, TopicExplanation) and found.seen:
        from engine.admin.moments import combined
        from engine.views.reported.bundles import whereabouts_of

        place = whereabouts_of(combined(found.seen), told.topic, told.namespace, told.bundle)
    if as_json:
        from tui.cli.printers.documents import json_text
        from tui.cli.printers.explanation import explanation_document

        write_out(json_text(explanation_document(told, place)))
    else:
        from tui.cli.printers.explanation import explanation_lines

        write_page(explanation_lines(told, place), ascii_only=ascii_only)
    return FINE


def _planned(topic: str, partitions: int | None, consumers: str, release: str | None) -> Opened:
    from engine.config import CURRENT
    from engine.scenarios.named_topic import named_topic
    from tui.sources.consumer_files import names_of_text

    names = names_of_text(consumers, "--consumers")
    return named_topic(topic, partitions, names, release=release or CURRENT.label)


@click.command(short_help="Show where each algorithm would cut a bundle.")
@click.argument("bundle")
@click.argument("path", required=False, metavar="[FILE | FOLDER]", type=click.Path())
@click.option("--algorithm", metavar="NAME", help="Show this one only.")
@click.option("--positions", metavar="N,N", help="For specified_positions_divide: hash values, decimal or 0x.")
@click.option("--namespace", metavar="NAME", help="tenant/namespace; needed where there are several.")
@json_option
@ascii_option
@what_if_options
def split(
    *,
    bundle: str,
    path: str | None,
    algorithm: str | None,
    positions: str | None,
    namespace: str | None,
    as_json: bool,
    ascii_only: bool,
    what_if: WhatIf,
) -> int:
    """Show where each algorithm would cut BUNDLE, what lies on either side, and the request that does it.

    BUNDLE is a range such as 0x00000000_0x40000000, LARGEST or HOT, or tenant/namespace/RANGE.

    Example: ringside split HOT dump/ --namespace shop/orders
    """
    from engine.errors import InputError
    from engine.views.failover.splits import split_preview

    session = _session(path, what_if)
    state = session.timeline.state
    owner, range_text = _bundle(bundle, namespace, state)
    view = split_preview(state, owner, range_text, positions=_positions(positions))
    if view.problem is not None:
        raise InputError(f"{bundle}: {view.problem.message}{_bundles_listed(state, owner)}")
    known = [option.algorithm for option in view.options]
    if algorithm is not None:
        if algorithm not in known:
            raise InputError(f"--algorithm {algorithm}: not known; known: {', '.join(dict.fromkeys(known))}")
        view = replace(view, options=tuple(each for each in view.options if each.algorithm == algorithm))
    if as_json:
        from tui.cli.printers.documents import json_text, plain_values

        write_out(json_text(plain_values(view)))
    else:
        from tui.cli.printers.split import split_lines

        write_page(split_lines(view), ascii_only=ascii_only)
    return FINE


def _session(path: str | None, what_if: WhatIf) -> Session:
    from tui.cli.session import begin
    from tui.sources.answers import opened

    return begin(opened(path, release=what_if.pulsar, topic=what_if.about, limit_bytes=what_if.max_input), what_if)


def _bundle(text: str, namespace: str | None, state: ClusterState) -> tuple[str, str]:
    """The namespace and the range that were meant. Raises ``UsageError`` when several namespaces could be."""
    if namespace is None and text.count("/") == 2:
        namespace, _, text = text.rpartition("/")
    if namespace is None:
        if len(state.namespaces) != 1:
            names = ", ".join(sorted(state.namespaces)[:5]) or "none"
            raise click.UsageError(f"which namespace? name one with --namespace; there is {names}")
        namespace = next(iter(state.namespaces))
    return namespace, text


def _bundles_listed(state: ClusterState, namespace: str, *, shown: int = 8) -> str:
    """The bundles that can be named instead."""
    from itertools import pairwise

    found = state.namespaces.get(namespace)
    if found is None:
        return f"; there is {', '.join(sorted(state.namespaces)[:shown])}"
    ranges = [f"0x{lower:08x}_0x{upper:08x}" for lower, upper in pairwise(found.boundaries)]
    more = " ..." if len(ranges) > shown else ""
    return f"; its bundles: {', '.join(ranges[:shown])}{more}, or LARGEST, or HOT"


def _positions(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return tuple(int(piece, 0) for piece in text.replace(" ", ",").split(",") if piece)
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is no list of hash values; write 123456,0x40000000") from error
