"""``diff``: two states side by side, of dumps, journals, steps, rules and releases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from msgspec import structs

from engine.errors import InputError
from engine.names import refuse_namespace
from tui.cli.limits import code_under, limits_of
from tui.cli.options import FLAG, WhatIf, form_options, max_input_option
from tui.cli.output import Form, say_problems

if TYPE_CHECKING:
    from engine.cluster.state import ClusterState
    from tui.kit.session import Session

RULES: Final = {"ring": "true", "modulo": "false"}
KINDS: Final = ("rule", "release", "step", "apply")


@click.command("diff")
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option("--in", "base", metavar="PATH", help="What rule:, release:, step: and apply: are about.")
@click.option("--subscription", metavar="NAME", help="Only this subscription.")
@click.option("--fail-on", "limits", metavar="LIMIT", multiple=True, help="Exit 1 where it holds, such as 'moved>10%'.")
@click.option("--as", "names", metavar="OLD=NEW", multiple=True, help="Compare namespace OLD of A with NEW of B.")
@click.option("--top", metavar="N", type=click.IntRange(min=1), default=20, show_default=True, help="Rows of text.")
@max_input_option
@form_options
def diff_command(
    *,
    before: str,
    after: str,
    base: str | None,
    subscription: str | None,
    limits: tuple[str, ...],
    names: tuple[str, ...],
    top: int,
    max_input: int,
    form: Form,
) -> int:
    """Compare A and B: settings that differ, consumers that came and left, and topics that change hands.

    A and B are each a FILE or FOLDER of answers, a journal, or a change: rule:ring, rule:modulo, release:5.0, step:3,
    "apply:kill c-1". A change is about --in PATH, else about the other side, else about the embedded cluster. In
    changes of one state consumers are the same by identity, in two dumps by name. For two dumps it also says what
    brokers reported otherwise: who came and left, which active consumers, owners and ranges changed, what grew.
    A namespace of A that B lacks is compared with one of B that A lacks where most topics have the same names, such as
    those of two tenants; --as names another.

    --fail-on takes moved, least (also in %), msgs_per_sec, bytes_per_sec, unacked_at_risk, appeared, vanished, idle,
    max_over_mean, max_over_mean_rate, worse, and of scalable topics segments_moved and ring_moved (a part of 1). Exit
    code 1: a limit holds.

    Example: ringside diff monday/ tuesday/ --fail-on 'moved>10%'
    """
    from dataclasses import fields

    from engine.admin.moments import combined
    from engine.views.comparing.difference import (
        Sums,
        difference_view,
        reported_between,
    )

    wanted = limits_of(limits, [field.name for field in fields(Sums) if field.name != "items"])
    changes = [_change(text) for text in (before, after)]
    sides = _sides((before, after), changes, base, max_input)
    one_history = sum(change is not None for change in changes) > 0 and (
        base is None or all(change is not None for change in changes)
    )
    are_dumps = all(side.seen for side in sides) and all(change is None for change in changes)
    pairs = _named_pairs(names)
    if are_dumps:
        from tui.cli.session import as_namespaces

        sides[0], pairs = as_namespaces(sides[0], sides[1], pairs)
    elif pairs:
        raise InputError("--as: only of two dumps, which say what topics their namespaces have")
    states = [side.timeline.state for side in sides]
    if subscription is not None:
        states = [_only(state, subscription) for state in states]
    view = difference_view(states[0], states[1], (before, after), one_history=one_history)
    if are_dumps:
        then, now = (combined(side.seen) for side in sides)
        view = replace(view, reported=reported_between(then, now, subscription), namespaces=pairs)
    from tui.cli.printers.differences import difference_lines

    return form.show(view, difference_lines(view, top), code_under(wanted, view.sums))


def _named_pairs(texts: Iterable[str]) -> dict[str, str]:
    """Namespaces of ``--as``. Raises ``InputError``."""
    pairs = {}
    for text in texts:
        old, equals, new = text.partition("=")
        if not equals or any(map(refuse_namespace, (old, new))):
            raise InputError(f"--as {text}: write two namespaces, such as staging/shop=prod/shop")
        pairs[old] = new
    return pairs


def _change(text: str) -> tuple[str, str] | None:
    """Kind and value of a change, None for a path; an existing path has precedence."""
    kind, colon, value = text.partition(":")
    return (kind, value) if colon and kind in KINDS and not Path(text).exists() else None


def _sides(
    texts: Sequence[str], changes: Sequence[tuple[str, str] | None], base: str | None, max_input: int
) -> list[Session]:
    """Both states: a change is about ``base``, else about the other side. Raises ``InputError``."""
    pairs = [*zip(texts, changes, strict=True)]
    root = base if base is not None else next((text for text, change in pairs if change is None), None)
    sides = [_side(text, change, root, max_input) for text, change in pairs]
    for side in sides:
        say_problems(side.problems)
    return sides


def _side(text: str, change: tuple[str, str] | None, root: str | None, max_input: int) -> Session:
    """One of the two states. Raises ``InputError``."""
    from tui.cli.session import session_of

    what_if = WhatIf((), None, (), None, None, max_input)
    if change is None:
        return session_of(text, what_if)
    kind, value = change
    if kind == "rule":
        if value not in RULES:
            raise InputError(f"{text}: the rules of Failover are rule:ring and rule:modulo")
        what_if = structs.replace(what_if, settings=((FLAG, RULES[value]),))
    elif kind == "release":
        what_if = structs.replace(what_if, pulsar=value)
    elif kind == "step":
        if not value.isdecimal():
            raise InputError(f"{text}: write the number of a step, such as step:3; step:0 is the state as opened")
        what_if = structs.replace(what_if, commands=(f"step {int(value)}",))
    else:
        what_if = structs.replace(what_if, commands=(value,))
    return session_of(root, what_if)


def _only(state: ClusterState, name: str) -> ClusterState:
    """The state with only the subscriptions of a name or a key; there may be none."""
    return structs.replace(
        state,
        subscriptions=tuple(
            subscription for subscription in state.subscriptions if name in (subscription.key, subscription.name)
        ),
        key_subscriptions=tuple(
            key_subscription
            for key_subscription in state.key_subscriptions
            if name in (key_subscription.key, key_subscription.name)
        ),
    )
