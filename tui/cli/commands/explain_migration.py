"""``explain migration``: a classic topic as it would be once it is migrated to a scalable one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from engine.errors import InputError, accepted
from tui.cli.key_options import KeyChoice, known_key_options
from tui.cli.options import form_options, max_input_option
from tui.cli.output import Form, say_problems
from tui.cli.plain import wrapped
from tui.cli.producer_options import RoutingChoice, routing_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.views.scalable.migration import ClassicTopic, MigrationView

_LABEL_CELLS = 12


@click.command("migration")
@click.argument("topic")
@click.argument("path", required=False, metavar="[FILE | FOLDER]", type=click.Path())
@routing_options
@known_key_options
@max_input_option
@form_options
def explain_migration(
    *,
    topic: str,
    path: str | None,
    routed: RoutingChoice,
    known: KeyChoice,
    max_input: int,
    form: Form,
) -> int:
    """Say what becomes of TOPIC, a classic one, once a broker of Pulsar 5 has migrated it to a scalable topic.

    Its segments, which keys change their place, what stays readable, and who still has to disconnect or to take a v5
    client. There is no way back. Without answers of brokers --partitions says how many partitions the topic has.

    Example: ringside explain migration orders answers/ --key order-17
    """
    from engine.routing.clients import key_routing
    from engine.views.scalable.migration import migration_view
    from tui.cli.key_options import known_keys

    routing = accepted(key_routing(routed.client or "java", routed.hashing))
    before = _classic_topic(topic, path, routed.partitions, max_input)
    view = accepted(migration_view(before, known_keys(known), routing))
    return form.show(view, _lines(view))


def _classic_topic(topic: str, path: str | None, partitions: int | None, limit_bytes: int) -> ClassicTopic:
    """The topic of the answers, or a planned one. Raises ``InputError`` with the names there are."""
    from engine.admin.moments import combined
    from engine.names import parse_topic_name, partitioned_name
    from engine.text import listed
    from engine.views.scalable.migration import ClassicTopic, classic_topic
    from tui.sources.answers import moments_of

    if path is None:
        if partitions is None:
            raise click.UsageError("answers of brokers show the topic's partitions; without them give --partitions N")
        name = accepted(parse_topic_name(topic))
        return ClassicTopic(str(name), partitions, None, ())
    if partitions is not None:
        raise click.UsageError("--partitions is for a topic without answers of brokers")
    moments = moments_of(path, topic=None, limit_bytes=limit_bytes)
    say_problems(tuple(problem for moment in moments for problem in moment.snapshot.problems))
    snapshot = combined(moments)
    names = {
        partitioned_name(name) if facts.partition_index >= 0 else name
        for name, facts in snapshot.topics.items()
        if facts.domain == "persistent"
    }
    matches = [name for name in sorted(names) if name == topic or name.endswith(f"/{topic}")]
    matches = matches or [name for name in sorted(names) if topic in name]
    if len(matches) != 1:
        several = (
            f"{len(matches):,} topics are named like {topic!r}" if matches else f"no topic persistent://… {topic!r}"
        )
        raise InputError(f"{several}; there is {listed(matches or sorted(names), 5)}")
    found = classic_topic(snapshot, matches[0])
    assert found is not None, matches[0]
    return found


def _lines(view: MigrationView) -> Iterator[str]:
    from engine.text import counted
    from engine.views.scalable.migration import migration_points
    from tui.kit.wording import safe_name

    for point in migration_points(view):
        label = f"{point.label:<{_LABEL_CELLS}} "
        yield from wrapped(safe_name(point.text), first=label, rest=" " * len(label))
    yield ""
    for segment in view.segments:
        yield (
            f"  segment {segment.id:>3} {segment.start:04x}-{segment.end:04x} {segment.state.lower():<6}"
            f" {counted(segment.buckets, 'bucket'):>12}  {safe_name(segment.topic)}"
        )
