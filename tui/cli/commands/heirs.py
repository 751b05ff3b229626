"""``heirs``: who inherits what when a consumer goes, and every single failure."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from engine.errors import InputError, Rejection, accepted
from engine.text import counted, listed
from tui.cli.options import WhatIf, form_options, what_if_options
from tui.cli.output import Form, say_problems
from tui.cli.plain import BY_TOP, PageColumn, and_more, listing, nearest, wrapped
from tui.kit.wording import (
    BUSIEST,
    BUSIEST_SHORT,
    judgement_word,
    percent,
    quantity,
    safe_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.balance.ahead.broker_changes import Landing
    from engine.views.brokers.heirs import BrokerHeir, BrokerHeirsView, BrokerLoss
    from engine.views.comparing.heirs import HeirRow, HeirsView, LossesView, LossRow
    from tui.kit.session import Session


@click.command("heirs")
@click.argument("words", nargs=-1, metavar="[FILE | FOLDER] [CONSUMER]...")
@click.option("--all", "every", is_flag=True, help="Every single failure, the worst first (also without a CONSUMER).")
@click.option(
    "--broker", "brokers", metavar="BROKER", multiple=True, help="This broker goes instead: FOLDER holds load reports."
)
@click.option("--brokers", "every_broker", is_flag=True, help="Every single failure of a broker, the worst first.")
@click.option("--top", metavar="N", type=click.IntRange(min=1), default=20, show_default=True, help="Rows of text.")
@what_if_options
@form_options
def heirs_command(
    *,
    words: tuple[str, ...],
    every: bool,
    brokers: tuple[str, ...],
    every_broker: bool,
    top: int,
    what_if: WhatIf,
    form: Form,
) -> int:
    """Say who inherits what when CONSUMER leaves, topic by topic, and the shares after; several go all at once.

    Without a CONSUMER, or with --all: every single failure, the worst first: whom each loss overloads, and how much.
    For a Key_Shared subscription it lists slots and known keys. Without a FILE or FOLDER the embedded cluster is taken.

    With --broker, or --brokers for every single failure, it is about bundles: who may get each, and how full the
    others are then. Several brokers die one after the other.

    Examples: ringside heirs answers/ billing-3; ringside heirs --brokers
    """
    from engine.views.comparing.heirs import heirs_document, heirs_view, losses_document, losses_view
    from tui.cli.session import session_of, subscription_key

    path, names = _path_and_names(words)
    if brokers or every_broker:
        if every or names:
            raise click.UsageError("--broker and --brokers are about brokers; leave --all and the consumers out")
        return _of_brokers(path, brokers, what_if, top, form=form)
    if every and names:
        raise click.UsageError("--all is about every consumer; leave it or the names out")
    session = session_of(path, what_if)
    say_problems(session.problems)
    state, key = session.timeline.state, subscription_key(session)
    if names:
        view = accepted(heirs_view(state, key, _ids(session, key, names)))
        return form.show(lambda: heirs_document(view), heirs_lines(view, top))
    losses = accepted(losses_view(state, key))
    return form.show(lambda: losses_document(losses), losses_lines(losses, top))


def _of_brokers(path: str | None, gone: tuple[str, ...], what_if: WhatIf, top: int, *, form: Form) -> int:
    """The losses of the named brokers, else of each single broker."""
    from engine.views.brokers.heirs import (
        BrokerHeirsDocument,
        broker_heirs,
        broker_heirs_document,
        broker_losses,
    )
    from engine.views.brokers.model import BrokersQuestion
    from engine.views.brokers.view import brokers_input
    from tui.cli.commands.brokers import inputs_of

    if what_if.commands or what_if.subscription is not None or what_if.about is not None:
        raise click.UsageError("--apply, --subscription and --topic are about consumers, not about brokers")
    inputs, source = inputs_of(path, None, what_if.max_input)
    given = brokers_input(inputs, what_if.pulsar, source)
    say_problems(given.problems)
    question = BrokersQuestion(settings=what_if.settings)
    if gone:
        view = broker_heirs(given, gone, question)
        if isinstance(view, Rejection):
            raise InputError(f"--broker: {view.message}" if view.field == "broker" else view.message)
        document, lines = broker_heirs_document(view), broker_heirs_lines(view, top)
    else:
        losses = accepted(broker_losses(given, question))
        document, lines = BrokerHeirsDocument(losses=losses), broker_losses_lines(losses, top)
    return form.show(document, lines)


def _path_and_names(words: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    """Split the words: the first is a path, unless it is the only one and no file has that name."""
    if not words:
        return None, ()
    if len(words) == 1 and words[0] != "-" and "/" not in words[0] and not Path(words[0]).exists():
        return None, words
    return words[0], words[1:]


def _ids(session: Session, key: str, names: tuple[str, ...]) -> tuple[int, ...]:
    """The ids of consumers by name; of namesakes those that connected first. Raises ``InputError``."""
    from engine.cluster.state import consumers_of

    consumers = consumers_of(session.timeline.state, key)
    ids = []
    for name in names:
        matching = [number for number, known in consumers if known == name and number not in ids]
        if not matching:
            known_names = [known for _, known in consumers]
            raise InputError(f"{key or 'this state'} has no consumer {name!r}; there is {nearest(name, known_names)}")
        ids.append(matching[0])
    return tuple(ids)


def heirs_lines(view: HeirsView, top: int) -> Iterator[str]:
    """The verdict, who gets more, and what goes to whom, busiest first."""
    from tui.cli.printers.differences import handover_lines
    from tui.kit.verdict_words import loss_text

    names = ", ".join(map(safe_name, view.gone))
    yield from wrapped(f"{safe_name(view.subscription)}: if {names} {'goes' if len(view.gone) == 1 else 'go'}")
    yield from wrapped(loss_text(view.verdict, view.heirs, view.noun), first="  ", rest="    ")
    yield ""
    yield from _heirs(view.heirs, view.noun, top)
    if view.rows:
        yield ""
        yield from handover_lines(view.rows, view.noun, top)


def _heirs(heirs: Sequence[HeirRow], noun: str, top: int) -> Iterator[str]:
    from engine.views.comparing.handovers import SLOT

    if not heirs:
        yield "nobody inherits anything"
        return
    columns: list[PageColumn[HeirRow]] = [
        ("heir", "<", lambda row: f"  {safe_name(row.name)}"),
        (f"{noun}s", ">", lambda row: f"{row.items_before:,}"),
        ("then", ">", lambda row: f"{row.items_after:,}"),
        ("out/s" if noun != SLOT else "messages", ">", lambda row: quantity(row.msgs_before)),
        ("then", ">", lambda row: quantity(row.msgs_after)),
    ]
    yield from listing(heirs[:top], columns)
    yield from and_more(len(heirs) - top, BY_TOP)


def losses_lines(view: LossesView, top: int) -> Iterator[str]:
    """Every single failure, a line each."""
    from engine.views.comparing.handovers import SLOT
    from tui.kit.wording import NOBODY

    now = f"{BUSIEST} {view.max_over_mean:.2f}"
    if view.max_over_mean_rate:
        now += f", by messages {view.max_over_mean_rate:.2f}"
    failures = f"{counted(len(view.rows), 'single failure')}, the worst first"
    yield from wrapped(f"{safe_name(view.subscription)}: {failures}; now {now}")
    columns: list[PageColumn[LossRow]] = [
        ("", "<", lambda row: judgement_word(row.judgement, row.moved, lost=bool(row.items))),
        ("if this goes", "<", lambda row: safe_name(row.name)),
        (f"{view.noun}s", ">", lambda row: f"{row.items:,}"),
        ("moved", ">", lambda row: f"{row.moved:,}"),
        ("heirs", ">", lambda row: f"{row.heirs:,}"),
        ("busiest then", "<", lambda row: NOBODY if row.busiest is None else safe_name(row.busiest)),
        (f"most {view.noun}s", ">", lambda row: f"{row.busiest_items:,}"),
        (f"most {'out/s' if view.noun != SLOT else 'messages'}", ">", lambda row: quantity(row.busiest_msgs)),
        (BUSIEST_SHORT, ">", lambda row: f"{row.max_over_mean:.2f}"),
        ("by messages", ">", lambda row: f"{row.max_over_mean_rate:.2f}" if row.max_over_mean_rate else ""),
        ("idle", ">", lambda row: f"{row.idle:,}"),
    ]
    yield from listing(view.rows[:top], columns, indent="  ")
    yield from and_more(len(view.rows) - top, BY_TOP)


def broker_heirs_lines(view: BrokerHeirsView, top: int) -> Iterator[str]:
    """What is interrupted, how full the others are then, and where each bundle may land."""
    names = ", ".join(map(safe_name, view.gone))
    yield from wrapped(
        f"if {names} {'dies' if len(view.gone) == 1 else 'die'}: {counted(len(view.landings), 'bundle')} with"
        f" {counted(view.topics, 'topic')} and {quantity(view.msgs_per_sec)} in+out/s are looked up again"
        + (f"; {counted(view.unowned, 'bundle')} may be owned by nobody" if view.unowned else "")
    )
    heirs: list[PageColumn[BrokerHeir]] = [
        ("broker", "<", lambda heir: f"  {safe_name(heir.broker)}"),
        ("usage", ">", lambda heir: _usage(heir.usage_before)),
        ("then", ">", lambda heir: _usage(heir.usage_after)),
        ("bundles", ">", lambda heir: f"{heir.bundles:,}"),
        ("in+out/s", ">", lambda heir: quantity(heir.msgs_per_sec)),
    ]
    yield ""
    yield from listing(view.heirs[:top], heirs)
    yield from and_more(len(view.heirs) - top, BY_TOP)
    if not view.landings:
        return
    landings: list[PageColumn[Landing]] = [
        ("bundle", "<", lambda landing: f"  {safe_name(landing.bundle)}"),
        ("topics", ">", lambda landing: f"{landing.stats.topics:,}"),
        ("in+out/s", ">", lambda landing: quantity(landing.stats.msgs_per_sec)),
        ("to", "<", lambda landing: "nobody" if landing.destination is None else safe_name(landing.destination)),
        ("or", "<", _others),
    ]
    yield ""
    yield from listing([landing for _, landing in view.landings[:top]], landings)
    yield from and_more(len(view.landings) - top, BY_TOP)


def _others(landing: Landing) -> str:
    """Where else it may land, or why nowhere."""
    chances = {name: chance for name, chance in landing.chances.items() if name != landing.destination}
    return listed([f"{safe_name(name)} {percent(chances[name])}" for name in chances], 3) or landing.refusal


def broker_losses_lines(losses: Sequence[BrokerLoss], top: int) -> Iterator[str]:
    """A line for each broker that may die."""
    columns: list[PageColumn[BrokerLoss]] = [
        ("if it dies", "<", lambda loss: f"  {safe_name(loss.broker)}"),
        ("bundles", ">", lambda loss: f"{loss.bundles:,}"),
        ("topics", ">", lambda loss: f"{loss.topics:,}"),
        ("in+out/s", ">", lambda loss: quantity(loss.msgs_per_sec)),
        ("fullest then", "<", lambda loss: safe_name(loss.fullest)),
        ("usage", ">", lambda loss: _usage(loss.usage_before)),
        ("then", ">", lambda loss: _usage(loss.usage_after)),
        ("", "<", lambda loss: f"{loss.unowned} of nobody" if loss.unowned else ""),
    ]
    yield from listing(losses[:top], columns)
    yield from and_more(len(losses) - top, BY_TOP)
    yield ""
    yield from wrapped("where brokers draw, the lots of one seed; usage is the weighted share that placement sees")


def _usage(share: float) -> str:
    return percent(share) if math.isfinite(share) else "-"
