"""``why``: what is wrong with a subscription in the answers of brokers, who causes it, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from engine.answer import extended
from engine.diagnosis.model import Cause, Diagnosis, Verdict, worst_first
from engine.diagnosis.seen import SubscriptionSeen
from engine.errors import InputError, Rejection, accepted
from engine.text import counted, shell_line
from tui.cli.cluster import ClusterChoice, Duration, cluster_options, require_no_cluster
from tui.cli.exits import FAILED, FINE
from tui.cli.options import form_options, max_input_option, pulsar_option, setting_option
from tui.cli.output import Form, say_problems
from tui.cli.plain import Align, table, wrapped
from tui.kit.reported import earlier_text, setting_text, verdict_word
from tui.kit.wording import known, safe_name, short_topic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.admin.moments import Moment
    from engine.diagnosis.release import ReleaseSeen
    from tui.sources.cluster.source import Source

_ALIGNS: tuple[Align, ...] = ("<", "<", "<", "<", ">")


@click.command("why")
@click.argument("path", metavar="[FILE | FOLDER | URL]", required=False)
@click.argument("what", metavar="[SUBSCRIPTION | TOPIC | CONSUMER]", required=False)
@click.option("--subscription", metavar="NAME", help="The subscription, where another thing has its name too.")
@click.option("--keys", metavar="FILE", help="Known keys, one a line, or CSV with key,count: which is hot?")
@click.option("--all", "lists_all", is_flag=True, help="List every subscription, the worst first.")
@click.option("--ruled-out", is_flag=True, help="Say also which causes were ruled out, and how.")
@click.option("--again-after", type=Duration(), metavar="TIME", help="URL: read twice, which shows what does not move.")
@click.option("--topic", metavar="NAME", help="The topic that FILE is about. URL: only topics like this (* and ?).")
@setting_option
@pulsar_option("Judge by the rules of this Pulsar version.")
@max_input_option
@form_options
@cluster_options(topic=False, settings=False)
def why_command(
    *,
    path: str | None,
    what: str | None,
    subscription: str | None,
    keys: str | None,
    lists_all: bool,
    ruled_out: bool,
    again_after: float | None,
    topic: str | None,
    settings: tuple[tuple[str, str], ...],
    pulsar: str | None,
    max_input: int,
    form: Form,
    cluster: ClusterChoice,
) -> int:
    """Say what is wrong with a subscription: who waits for whom, in numbers, which setting is in force, what to do.

    FOLDER is a dump: answers of the admin API below admin/v2/..., by moments where folders are named by time. Loose
    files are read too. Two moments some seconds apart show what has stopped. Without a name the worst subscription is
    taken; without a FILE or FOLDER the embedded cluster. A URL (http://HOST:8080) is a running cluster, which is only
    read. With --keys a trace says which key makes a consumer of a Key_Shared subscription slow.

    Exit code 0: every subscription is fine or as it is meant to be. 1: something blocks, slows, is uneven, or waits
    without known movement. 2: the input cannot be used. 3: the cluster is out of reach.

    Example: ringside why answers/ billing --ruled-out
    """
    from engine.diagnosis.seen import readings_of, subscriptions_seen
    from engine.diagnosis.why import diagnose_all, with_earlier, without_statistics, worst_in
    from tui.sources.answers import moments_of, overruled
    from tui.sources.cluster.addresses import is_url

    if path is not None and is_url(path):
        read = _moments_at(cluster.source(path, topic=topic, settings=settings), again_after, max_input)
        moments = overruled(read, (), pulsar)
    else:
        require_no_cluster(cluster, "--again-after" if again_after is not None else None)
        moments = moments_of(path, topic=topic, settings=settings, release=pulsar, limit_bytes=max_input)
    say_problems(tuple(dict.fromkeys(problem for moment in moments for problem in moment.snapshot.problems)))
    show = partial(_shown, lists_all=lists_all, in_full=ruled_out, form=form)
    seen = subscriptions_seen(moments, partial(readings_of, by_topic=True))
    besides = worst_first(_named(without_statistics(moments), what, subscription))
    if not seen:
        besides = besides or [*_without_any(moments, what, subscription)]
    chosen = _chosen(seen, what, subscription)
    if besides and (isinstance(chosen, Rejection) or not seen):
        return show(besides if lists_all else besides[:1], len(besides) - 1)
    chosen = accepted(chosen)
    shown = with_earlier(diagnose_all(chosen), moments) if lists_all else [worst_in(chosen, moments)]
    if keys is not None:
        from engine.diagnosis.traces import with_trace
        from tui.cli.key_options import KeyChoice, known_keys

        counts = known_keys(KeyChoice((), keys, 0))
        by_name = {(row.namespace, row.name): row for row in chosen}
        shown = [with_trace(row, by_name[row.namespace, row.subscription], counts) for row in shown]
    return show(with_others(shown, besides, lists_all=lists_all), len(chosen) + len(besides) - 1)


def _chosen(
    seen: Sequence[SubscriptionSeen], what: str | None, subscription: str | None
) -> Sequence[SubscriptionSeen] | Rejection:
    """The subscriptions that are meant, of all that were seen."""
    from engine.diagnosis.why import selected

    named = [row for row in seen if subscription in (None, row.name)]
    if subscription is not None and not named:
        return Rejection("NotFound", f"--subscription: the answers have no subscription {subscription!r}")
    return named if what is None else selected(named, what)


def _without_any(moments: Sequence[Moment], what: str | None, subscription: str | None) -> Sequence[Diagnosis]:
    """What answers without a subscription show. Raises ``InputError`` for those that show nothing."""
    from engine.diagnosis.placed import without_any_statistics
    from engine.diagnosis.producing import without_subscriptions

    snapshot = moments[-1].snapshot
    rows = _named(without_subscriptions(moments), what, subscription)
    if not rows and not snapshot.topics and not snapshot.scalable:
        rows = without_any_statistics(moments)
    if rows:
        return rows
    give = "stats, partitioned-stats or broker-stats"
    if snapshot.scalable:
        give = f"the stats of the scalable topic ({shell_line('ringside', 'record')} saves them)"
    raise InputError(f"{snapshot.source}: the answers show no subscription; give {give}")


def _named(rows: Sequence[Diagnosis], what: str | None, subscription: str | None) -> list[Diagnosis]:
    """The diagnoses of a subscription or topic of that name; all without one."""
    words = (what, subscription)
    return [
        row
        for row in rows
        if all(word in (None, row.subscription, row.topic, row.topic.rpartition("/")[2]) for word in words)
    ]


def with_others(shown: Sequence[Diagnosis], others: Sequence[Diagnosis], *, lists_all: bool) -> Sequence[Diagnosis]:
    """Add what is seen without statistics to all subscriptions, or show its worst instead of a better one."""
    if lists_all:
        return sorted([*shown, *others], key=lambda row: row.first.verdict.rank if row.first else len(Verdict))
    worse = [row for row in others if row.rank < shown[0].rank and shown[0].earlier is None]
    return worse[:1] or shown


def _shown(shown: Sequence[Diagnosis], others: int, *, lists_all: bool, in_full: bool, form: Form) -> int:
    """Print diagnoses, and return the exit code."""
    from engine.diagnosis.findings import Why, WhyAll

    code = FINE if all(row.is_settled for row in shown) else FAILED
    if lists_all:
        return form.show(WhyAll(shown), all_lines(shown), code)
    return form.show(extended(Why, shown[0]), why_lines(shown[0], others=others, in_full=in_full), code)


def _moments_at(source: Source, again_after: float | None, limit_bytes: int) -> Sequence[Moment]:
    """One reading of a running cluster, or two at this distance."""
    import time

    from tui.cli.cluster import read_once
    from tui.sources.cluster.reading import moments_read

    readings = [read_once(source)]
    if again_after is not None:
        time.sleep(again_after)
        readings.append(read_once(source))
    return moments_read(readings, limit_bytes=limit_bytes)


def why_lines(diagnosis: Diagnosis, *, others: int = 0, in_full: bool = False) -> Iterator[str]:
    """One subscription: the first cause whole, the others in short, and what was ruled out where ``in_full``.

    ``others`` is the number of other subscriptions.
    """
    from engine.diagnosis.placed import NO_STATISTICS
    from engine.diagnosis.seen import parent_of
    from engine.names import NAMELESS

    place = short_topic(parent_of(diagnosis.topic)) if diagnosis.topic else diagnosis.namespace or "brokers"
    if diagnosis.namespace == NAMELESS:
        place = "a topic without a name"
    if diagnosis.topics > 1:
        place += f" and {diagnosis.topics - 1:,} more"
    moments = counted(diagnosis.moments, "moment")
    whose = f"{diagnosis.subscription} ({diagnosis.type}) on" if diagnosis.subscription else "producers of"
    if diagnosis.said and diagnosis.said[0].id == NO_STATISTICS:
        whose = "answers about"
    yield safe_name(f"{whose} {place}, {moments}")
    if not diagnosis.said:
        yield ""
        yield "  no cause was found"
    for number, cause in enumerate(diagnosis.said):
        yield ""
        if number == 0 and diagnosis.earlier is not None:
            yield f"  {earlier_text(diagnosis.earlier, diagnosis.moments)}"
        yield from cause_lines(cause) if number == 0 else _in_short(cause)
    if in_full:
        yield ""
        yield "ruled out"
        yield from table([(f"  {other.id}", safe_name(other.why)) for other in diagnosis.ruled_out], ("<", "<"))
    if diagnosis.release.text and diagnosis.subscription:
        yield ""
        yield from _release_lines(diagnosis.release, in_full=in_full)
    if diagnosis.moments == 1 and whose != "answers about":
        yield ""
        yield "One moment alone does not show what has stopped: take a second dump some seconds later."
    if others:
        yield ""
        yield f"{counted(others, 'other subscription')}: --all lists them, worst first."


def _release_lines(release: ReleaseSeen, *, in_full: bool) -> Iterator[str]:
    """By which rules it was judged: one line, and in full how they are known."""
    if in_full:
        yield from wrapped(f"{release.text} (--pulsar names another).")
    else:
        known_by = ": no answer has the release" if release.inferred is None else ", which the answers look like"
        yield f"Judged as Pulsar {release.behaviour.label}{known_by} (--pulsar names another)."


def cause_lines(cause: Cause) -> Iterator[str]:
    """One cause with numbers, setting, fix and sources."""
    from engine.names import NAMELESS, namespace_of

    yield from wrapped(safe_name(f"{verdict_word(cause.verdict)}: {cause.what}"), first="  ", rest="    ")
    yield f"    cause     {cause.id}"
    if cause.topic and (cause.topics > 1 or namespace_of(cause.topic) != NAMELESS):
        waiting = f"; {cause.waiting:,} wait in all of them together" if cause.waiting else ""
        more = f" (worst of {cause.topics:,}{waiting})" if cause.topics > 1 else ""
        yield f"    topic     {safe_name(cause.topic)}{more}"
    if cause.blocked:
        yield from wrapped(safe_name(", ".join(cause.blocked)), first="    blocked   ", rest="              ")
    if cause.by:
        yield from wrapped(safe_name(", ".join(cause.by)), first="    by        ", rest="              ")
    if cause.setting is not None:
        yield f"    setting   {safe_name(setting_text(cause.setting))}"
    if cause.fix:
        yield from wrapped(safe_name(cause.fix), first="    to do     ", rest="              ")
    for bug in cause.looks_like:
        yield from wrapped(bug.text, first="    looks like ", rest="              ")
        yield from wrapped(bug.attach, first="    report    with ", rest="              ")
    yield from wrapped(", ".join(cause.fields), first="    read from ", rest="              ")


def _in_short(cause: Cause) -> Iterator[str]:
    yield from wrapped(safe_name(f"{verdict_word(cause.verdict)}: {cause.what}"), first="  ", rest="    ")
    yield f"    cause     {cause.id}"


def all_lines(diagnoses: Sequence[Diagnosis]) -> Iterator[str]:
    """Every subscription in a line, in the given order."""
    from engine.diagnosis.seen import parent_of

    rows = [("VERDICT", "CAUSE", "SUBSCRIPTION", "TOPIC", "BACKLOG")]
    for diagnose in diagnoses:
        first = diagnose.first
        topic = short_topic(parent_of(diagnose.topic)) + (f" +{diagnose.topics - 1:,}" if diagnose.topics > 1 else "")
        verdict = verdict_word(first.verdict if first is not None else Verdict.FINE)
        cause = first.id if first is not None else ""
        if diagnose.earlier is not None:
            verdict = f"{verdict_word(diagnose.earlier.cause.verdict)}, now {verdict}"
            cause = diagnose.earlier.cause.id
        rows.append((verdict, cause, safe_name(diagnose.subscription), safe_name(topic), known(diagnose.backlog)))
    yield from table(rows, _ALIGNS)
