"""``scalable``: who has the segments of a scalable topic, where keys go, what waits, and what is split next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from engine.errors import InputError, Rejection, accepted
from engine.views.scalable.figures import FiguresDocument, TopicFigures
from tui.cli.options import form_options, max_input_option, setting_option, topic_option
from tui.cli.output import Form, say, say_problems
from tui.cli.plain import table
from tui.kit.declared import aligns, page_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engine.admin.moments import Moment
    from engine.views.scalable.model import ScalableView


@click.command("scalable")
@click.argument("path", metavar="FILE | FOLDER")
@click.argument("name", metavar="[TOPIC]", required=False)
@click.option("--key", "keys", metavar="KEY", multiple=True, help="Say where this key goes. Repeatable.")
@click.option("--all", "lists_all", is_flag=True, help="List every scalable topic in numbers, the worst first.")
@click.option("--fail-on", "texts", metavar="LIMIT", multiple=True, help="Exit 1 where it holds, such as 'blocked>0'.")
@topic_option
@setting_option
@max_input_option
@form_options
def scalable_command(
    *,
    path: str,
    name: str | None,
    keys: tuple[str, ...],
    lists_all: bool,
    texts: tuple[str, ...],
    about: str | None,
    settings: tuple[tuple[str, str], ...],
    max_input: int,
    form: Form,
) -> int:
    """Say who has which segment of a scalable topic of Pulsar 5 (topic://), as printed and as computed.

    FOLDER is a dump of the admin API: the answers below admin/v2/scalable/. A FILE is one answer, with the topic's
    statistics or its record. Of several topics name one, or a part of its name. Segments that wait for an ancestor are
    listed with what keeps it from being drained, and the next automatic step with its reason.

    --fail-on takes blocked, idle, uncovered, unattached, stuck, score, flaps (changes within an hour), backlog,
    segments and sealed; with --all each of the topics is judged. Exit code 1: a limit holds.

    Examples: ringside scalable answers/ orders --key order-17; ringside scalable answers/ --all --fail-on 'blocked>0'
    """
    from engine.views.scalable.figures import LIMITED, figures_of
    from tui.cli.limits import code_under, limits_of
    from tui.sources.answers import moments_of

    limits = limits_of(texts, LIMITED)
    if lists_all and (name is not None or keys):
        raise click.UsageError("--all lists every topic; leave out TOPIC and --key")
    moments = moments_of(path, topic=about, settings=settings, limit_bytes=max_input)
    say_problems(tuple(problem for moment in moments for problem in moment.snapshot.problems))
    if lists_all:
        rows = _all_figures(moments)
        code = max(code_under(limits, row, of=row.topic) for row in rows)
        return form.show(FiguresDocument(rows), table(page_rows(rows, TopicFigures), aligns(rows, TopicFigures)), code)
    view = shown_topic(moments, name, keys)
    from tui.cli.printers.scalable_page import scalable_lines

    return form.show(view, scalable_lines(view), code_under(limits, figures_of(view)))


def _all_figures(moments: Sequence[Moment]) -> Sequence[TopicFigures]:
    """The topics that can be shown, the worst first; the others are said. Raises ``InputError`` without any."""
    from engine.views.scalable.figures import figures_of, worst_first
    from engine.views.scalable.view import last_views

    views = last_views(moments)
    if not views:
        raise _without_topics(moments)
    refused = [view.message for view in views.values() if isinstance(view, Rejection)]
    if len(refused) == len(views):
        raise InputError("; ".join(refused))
    for message in refused:
        say(message)
    return worst_first(figures_of(view) for view in views.values() if not isinstance(view, Rejection))


def shown_topic(moments: Sequence[Moment], name: str | None, keys: Sequence[str]) -> ScalableView:
    """The only scalable topic of the answers, or the one that is named, at its last moment. Raises ``InputError``."""
    from engine.views.scalable.view import last_views

    topics = {topic: None for moment in moments for topic in moment.snapshot.scalable}
    if not topics:
        raise _without_topics(moments)
    (view,) = last_views(moments, (_chosen(topics, name),), keys).values()
    return accepted(view)


def _without_topics(moments: Sequence[Moment]) -> InputError:
    return InputError(
        f"{moments[-1].snapshot.source}: the answers have no scalable topic; record those below admin/v2/scalable/, as"
        " TENANT/NAMESPACE/TOPIC and TENANT/NAMESPACE/TOPIC/stats"
    )


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
