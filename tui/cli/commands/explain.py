"""``explain``: why a topic has its active consumer and a key its consumer; the other forms have files of their own."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engine.errors import accepted
from tui.cli.exits import FINE
from tui.cli.key_options import SharingChoice, sharing_options
from tui.cli.options import form_options
from tui.cli.output import Form, say_problems
from tui.cli.producer_options import RoutingChoice, routing_options

if TYPE_CHECKING:
    from engine.keyshared.keys import EntryMetadata
    from engine.views.setting import SettingView
from typing import TYPE_CHECKING, Final

from engine.errors import InputError
from engine.text import path_word
from tui.cli.commands.explain_bundle import explain_bundle
from tui.cli.commands.explain_migration import explain_migration
from tui.cli.commands.routes import explain_route
from tui.cli.group import first_word, takes_value
from tui.cli.options import WhatIf, pulsar_option, what_if_options
from tui.cli.plain import labelled

if TYPE_CHECKING:
    from engine.diagnosis.seen import SubscriptionSeen
    from engine.diagnosis.turns import TurnExplanation
    from engine.scenarios.opening import Opened
    from engine.views.failover.explanations import TopicExplanation


@click.command("key")
@click.argument("words", nargs=-1, metavar="[KEY] [FILE | FOLDER]")
@click.option("--no-key", is_flag=True, help="Instead of KEY: the message has no key at all.")
@click.option("--ordering-key", metavar="KEY", help="Instead of KEY: the ordering key, which goes before any other.")
@click.option("--key-base64", metavar="TEXT", help="Instead of KEY: the base64 form of a key that was given as bytes.")
@click.option("--producer", metavar="NAME", help="The producer's name; counts for a message without a key.")
@click.option("--sequence", metavar="N", type=int, help="The sequence id; counts for a message without a key.")
@routing_options
@sharing_options
@form_options
def explain_key(
    *,
    words: tuple[str, ...],
    routed: RoutingChoice,
    sharing: SharingChoice,
    form: Form,
    **given: Any,
) -> int:
    """Say why KEY goes to its consumer: bytes, hash, slot, owner, who inherits it, and what it waits for.

    Of a partitioned topic it says first to which partition the client's hash sends the key, where other clients send
    it, and which slots the keys of that partition can have. Of a scalable topic it says segment, bucket and consumer.

    Bytes that are not text are written hex:00ff or base64:AP8=. "" is the empty key; --no-key is none.

    Example: ringside explain key order-17 --consumers a,b,c
    """
    from engine.keyshared.explain import explain_key as explained
    from engine.keyshared.keys import sticky_key
    from tui.cli.sharing import sharing_of, way_of

    instead = given["no_key"] or given["ordering_key"] is not None or given["key_base64"] is not None
    key, path = _key_and_path(words, replaced=instead)
    if (given["producer"] is None) is not (given["sequence"] is None):
        raise click.UsageError("--producer and --sequence belong together; give both or none")
    metadata = _metadata(key, given)
    if key is None and not instead and given["producer"] is None:
        raise click.UsageError('which key? write one, "" for the empty key, or --no-key for a message without a key')
    try:
        who = sharing_of(sharing, path)
    except InputError:
        if key is None or not _explain_scalable(key, path, sharing, form=form):
            raise
        return FINE
    sticky = sticky_key(metadata, who.behaviour)
    who, key_way = way_of(who, routed, metadata)
    explanation = explained(
        who.selector, sticky.data, draining=who.delivery.draining if who.delivery is not None else None
    )
    from tui.cli.printers.key_answers import explained_document, explained_lines

    return form.show(
        lambda: explained_document(who, sticky, explanation, key_way),
        lambda: explained_lines(who, sticky, explanation, key_way),
    )


def _explain_scalable(key: str, path: str | None, sharing: SharingChoice, *, form: Form) -> bool:
    """Print where a key of a scalable topic goes; return whether the answers have one. Raises ``InputError``."""
    from tui.cli.commands.scalable import shown_topic
    from tui.sources.answers import moments_of

    if path is None:
        return False
    try:
        moments = moments_of(path, topic=sharing.about, limit_bytes=sharing.max_input)
    except InputError:
        return False
    if not any(moment.snapshot.scalable for moment in moments):
        return False
    view = shown_topic(moments, None, [key])
    from tui.cli.printers.scalable_page import key_lines

    form.show(view, key_lines(view))
    return True


def _key_and_path(words: tuple[str, ...], *, replaced: bool) -> tuple[str | None, str | None]:
    """The words as KEY and PATH; only PATH where an option gives the key."""
    allowed = 1 if replaced else 2
    if len(words) > allowed:
        instead = " (an option gives the key already)" if replaced else ""
        raise click.UsageError(f"{words[allowed]!r} is too much; write [KEY] [FILE | FOLDER]{instead}")
    key, path = ((None, *words, None) if replaced else (*words, None, None))[:2]
    return key, path


def _metadata(key: str | None, given: dict[str, Any]) -> EntryMetadata:
    """What the message has. Raises ``InputError`` for a text that is not a key."""
    from engine.keyshared.keys import EntryMetadata
    from tui.cli.key_options import key_of

    ordering: str | None = given["ordering_key"]
    partition_key, encoded = given["key_base64"], given["key_base64"] is not None
    if key is not None:
        data = key_of(key, "KEY")
        try:
            partition_key = data.decode("utf-8")
        except UnicodeDecodeError:
            # A client that is given bytes as a key sends their base64 form.
            partition_key, encoded = base64.b64encode(data).decode("ascii"), True
    return EntryMetadata(
        ordering_key=None if ordering is None else key_of(ordering, "--ordering-key"),
        partition_key=partition_key,
        partition_key_b64_encoded=encoded,
        producer_name=given["producer"],
        sequence_id=given["sequence"],
    )


@click.command("explain")
@click.argument("topic")
@click.argument("path", required=False, metavar="[FILE | FOLDER]", type=click.Path())
@click.option("--consumers", metavar="A,B,C", help="Instead of answers: a planned subscription with these consumers.")
@click.option("--partitions", metavar="N", type=int, help="With --consumers: partitions of the planned topic (none).")
@form_options
@what_if_options
def explain_topic(
    *,
    topic: str,
    path: str | None,
    consumers: str | None,
    partitions: int | None,
    form: Form,
    what_if: WhatIf,
) -> int:
    """Say why TOPIC (a full name, a local name, or a part of one) goes to its active consumer, and not to the others.

    Every number can be checked by hand: the bytes that are hashed, the hash, the point of the ring or the remainder.
    Of a Shared or Exclusive subscription in answers of brokers it says who can be served next, and who cannot, and why.

    The other forms, explain key KEY and explain route KEY, say why a key goes to its consumer of a Key_Shared
    subscription and to its partition (explain key --help), explain bundle RANGE which brokers may own a bundle, explain
    setting NAME what a broker setting does, and explain migration TOPIC what becomes of a topic once it is scalable.
    A topic that is called key is explain topic key.

    Example: ringside explain topic-7 --flag on
    """
    from engine.views.failover.explanations import TopicExplanation
    from tui.sources.answers import opened

    if consumers is not None:
        if path is not None or what_if.about is not None:
            raise click.UsageError("--consumers is about a topic that exists nowhere yet; leave out the answers")
        session = _planned(topic, partitions, consumers, what_if.pulsar)
    elif partitions is not None:
        raise click.UsageError("--partitions belongs to a planned topic; give --consumers A,B,C too")
    else:
        if path is None and Path(topic).is_file():
            raise click.UsageError(
                f"{topic} is a file: name the topic before it, as in explain TOPIC {path_word(topic)}"
            )
        session = opened(path, release=what_if.pulsar, topic=what_if.about, limit_bytes=what_if.max_input)
        say_problems(session.problems)
    try:
        explanation = topic_or_turn(session, topic, what_if)
    except InputError:
        if not _explain_unsubscribed(session, topic, form=form):
            raise
        return FINE
    place = bundle = reported = None
    if session.seen:
        from engine.admin.moments import combined
        from engine.views.reported.bundles import reported_bundle, whereabouts_of
        from engine.views.reported.partition import partition_reported

        name, namespace, snapshot = explanation.topic, explanation.namespace, combined(session.seen)
        computed = explanation.bundle if isinstance(explanation, TopicExplanation) else None
        bundle = computed or reported_bundle(snapshot, name, namespace)
        place = whereabouts_of(snapshot, name, namespace, bundle) if bundle else None
        reported = partition_reported(snapshot, name, explanation.subscription)
    from tui.cli.printers.explanation import explanation_document, explanation_lines

    return form.show(
        lambda: explanation_document(explanation, place, bundle, reported),
        lambda: explanation_lines(explanation, place, bundle, reported),
    )


def _explain_unsubscribed(session: Opened, topic: str, *, form: Form) -> bool:
    """Print where a topic without subscriptions is; return whether the answers have a topic of this name."""
    if not session.seen:
        return False
    from engine.admin.moments import combined
    from engine.views.reported.bundles import reported_bundle, whereabouts_of

    snapshot = combined(session.seen)
    full = topic if "://" in topic else f"persistent://{topic}"
    names = [full] if full in snapshot.topics else [name for name in snapshot.topics if name.endswith(f"/{topic}")]
    if len(names) != 1 or snapshot.topics[names[0]].subscriptions:
        return False
    name = names[0]
    namespace = snapshot.topics[name].namespace
    bundle = reported_bundle(snapshot, name, namespace)
    place = whereabouts_of(snapshot, name, namespace, bundle) if bundle else None
    from tui.cli.printers.explanation import Unsubscribed, located, unsubscribed_lines

    form.show(
        lambda: Unsubscribed(name, namespace, bundle, **located(place)),
        lambda: unsubscribed_lines(name, namespace, place, bundle),
    )
    return True


def _planned(topic: str, partitions: int | None, consumers: str, release: str | None) -> Opened:
    from engine.config import CURRENT
    from engine.scenarios.synthetic import named_topic
    from tui.sources.consumer_files import names_of_text

    names = names_of_text(consumers, "--consumers")
    return named_topic(topic, partitions, names, release=release or CURRENT.label)


def topic_or_turn(opened: Opened, topic: str, what_if: WhatIf) -> TopicExplanation | TurnExplanation:
    """Explain a topic in the subscription that is named, else in the first that has it; Shared and Exclusive come last.

    Raises ``InputError`` with similar names.
    """
    from engine.diagnosis.seen import EXCLUSIVE, SHARED, subscriptions_seen
    from engine.diagnosis.turns import TurnExplanation, explain_turn
    from engine.views.failover.dashboard import topic_explanation
    from engine.views.failover.explanations import TopicExplanation
    from tui.cli.session import begin

    wanted = what_if.subscription
    seen: list[SubscriptionSeen] | None = None
    if wanted is not None and opened.seen:
        seen = subscriptions_seen(opened.seen)
        types = {row.type for row in seen if row.name == wanted}
        if types and types <= {SHARED, EXCLUSIVE}:
            return accepted(explain_turn(seen, topic, wanted))
    session = begin(opened, what_if)
    explanation = topic_explanation(session.timeline, session.subscription, topic)
    if isinstance(explanation, TopicExplanation):
        return explanation
    for place in range(len(session.timeline.state.subscriptions) if wanted is None else 0):
        elsewhere = topic_explanation(session.timeline, place, topic)
        if isinstance(elsewhere, TopicExplanation):
            return elsewhere
        if elsewhere.error == "Ambiguous":  # it has the topic, and wants to know which partition is meant
            explanation = elsewhere
    if opened.seen:
        turn = explain_turn(seen if seen is not None else subscriptions_seen(opened.seen), topic, wanted)
        if isinstance(turn, TurnExplanation):
            return turn
        if turn.error not in ("NotFound", "IsFailover") or not session.timeline.state.subscriptions:
            raise InputError(turn.message)
    raise InputError(explanation.message)


@click.command("setting")
@click.argument("name")
@pulsar_option("The release whose default is meant, such as 4.0.7 or 2.11.")
@form_options
def explain_setting(*, name: str, pulsar: str | None, form: Form) -> int:
    """Say what the broker setting NAME does, what it is where nobody sets it, since when, and how brokers take it.

    Example: ringside explain setting activeConsumerFailoverConsistentHashing
    """
    from engine.config import CURRENT, behaviour_of
    from engine.views.setting import setting_view

    behaviour = accepted(CURRENT if pulsar is None else behaviour_of(pulsar), f"--pulsar {pulsar}")
    view = accepted(setting_view(name, behaviour))
    return form.show(view, lambda: setting_lines(view))


def setting_lines(view: SettingView) -> list[str]:
    """The view as a page."""
    history = [
        f"{', '.join(past.since)}: {'no such setting' if past.default is None else past.default}"
        for past in view.history
    ] or [f"2.10 or before: {view.default or '(empty)'}"]
    default = f"Pulsar {view.release} does not have it" if view.default is None else f"{view.default or '(empty)'}"
    taken = "while brokers run (update-dynamic-config)" if view.dynamic else "from broker.conf at the start of a broker"
    parts = [
        ("setting", view.name),
        ("category", view.category),
        ("default", f"{default} ({view.release})" if view.default is not None else default),
        ("since", "; ".join(history)),
        ("taken", taken if view.default is not None else ""),
        ("does", view.text),
        ("but", view.remark),
        ("source", view.source),
    ]
    return [line for label, text in parts if text for line in labelled(label, text)]


FORMS: Final[dict[str | None, click.Command]] = {
    "key": explain_key,
    "topic": explain_topic,
    "route": explain_route,
    "bundle": explain_bundle,
    "setting": explain_setting,
    "migration": explain_migration,
}
"""What ``explain`` can explain, by the word behind it."""


class ExplainCommand(click.Command):
    """``explain TOPIC``, and ``explain`` with the word of another form in front."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Return the context of the form that is meant; the word that chooses it is taken away."""
        at = first_word(args, lambda option: takes_value(option, FORMS.values()))
        form = args[at] if at is not None and "--" not in args[:at] else None
        if at is None or form not in FORMS:
            return explain_topic.make_context(info_name, args, parent, **extra)
        real = FORMS[form]
        return real.make_context(f"{info_name} {form}", [*args[:at], *args[at + 1 :]], parent, **extra)


explain_command = ExplainCommand("explain", params=explain_topic.params, help=explain_topic.help)
