"""``scalable``: who has the segments of a scalable topic, where keys go, what waits, and what is split next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from engine.errors import InputError, Rejection
from tui.cli.exits import FINE
from tui.cli.options import ascii_option, json_option, max_input_option, setting_option, topic_option
from tui.cli.output import json_text, say_problems, write_out, write_page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engine.admin.moments import Moment
    from engine.views.scalable.model import ScalableView


@click.command("scalable")
@click.argument("path", metavar="FILE | FOLDER")
@click.argument("name", metavar="[TOPIC]", required=False)
@click.option("--key", "keys", metavar="KEY", multiple=True, help="Say where this key goes. Repeatable.")
@topic_option
@setting_option
@max_input_option
@json_option
@ascii_option
def scalable_command(
    *,
    path: str,
    name: str | None,
    keys: tuple[str, ...],
    about: str | None,
    settings: tuple[tuple[str, str], ...],
    max_input: int,
    as_json: bool,
    ascii_only: bool,
) -> int:
    """Say who has which segment of a scalable topic of Pulsar 5 (topic://), as printed and as computed.

    FOLDER is a dump of the admin API: the answers below admin/v2/scalable/. A FILE is one answer, with the topic's
    statistics or its record. Of several topics name one, or a part of its name. Segments that wait for an ancestor are
    listed with what keeps it from being drained, and the next automatic step with its reason.

    Example: ringside scalable answers/ orders --key order-17
    """
    from tui.sources.answers import moments_of

    moments = moments_of(path, topic=about, settings=settings, limit_bytes=max_input)
    say_problems(tuple(problem for moment in moments for problem in moment.snapshot.problems))
    view = shown_topic(moments, name, keys)
    if as_json:
        from engine.documents import document

        write_out(json_text(document(view)))
    else:
        from tui.cli.printers.scalable_page import scalable_lines

        write_page(scalable_lines(view), ascii_only=ascii_only)
    return FINE


def shown_topic(moments: Sequence[Moment], name: str | None, keys: Sequence[str]) -> ScalableView:
    """The only scalable topic of the answers, or the one that is named, at its last moment. Raises ``InputError``."""
    from engine.views.scalable.view import scalable_view

    with_topics = [moment for moment in moments if moment.snapshot.scalable]
    if not with_topics:
        source = moments[-1].snapshot.source
        raise InputError(
            f"{source}: the answers have no scalable topic; record those below admin/v2/scalable/, as"
            " TENANT/NAMESPACE/TOPIC and TENANT/NAMESPACE/TOPIC/stats"
        )
    topic = _chosen({one: None for moment in with_topics for one in moment.snapshot.scalable}, name)
    of_topic = [moment for moment in with_topics if topic in moment.snapshot.scalable]
    last, before = of_topic[-1], of_topic[-2] if len(of_topic) > 1 else None
    view = scalable_view(
        last.snapshot.scalable[topic],
        last.at_ms,
        keys,
        before=before.snapshot.scalable[topic] if before is not None else None,
        max_buckets=_max_buckets(moments),
    )
    if isinstance(view, Rejection):
        raise InputError(view.message)
    return view


def _chosen(topics: Mapping[str, None], name: str | None) -> str:
    from engine.text import listed

    matches = [topic for topic in topics if name is None or name in topic]
    exact = [topic for topic in matches if name is not None and topic.endswith(f"/{name}")]
    matches = [name] if name is not None and name in topics else exact or matches
    if not matches:
        raise InputError(f"no scalable topic {name!r}; there is {listed(sorted(topics))}")
    if len(matches) > 1:
        raise InputError(f"the answers have {len(matches):,} scalable topics; name one: {listed(sorted(matches), 5)}")
    return matches[0]


def _max_buckets(moments: Sequence[Moment]) -> int:
    """What a segment may have at most, by the settings of the brokers."""
    from engine.scalable.settings import MAX_BUCKETS, max_buckets

    printed = [moment.snapshot.configuration.get(MAX_BUCKETS) for moment in moments]
    return max_buckets(next((one for one in reversed(printed) if one is not None), None))
