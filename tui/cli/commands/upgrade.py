"""``upgrade``: the same state under another release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from engine.errors import accepted
from engine.keyshared.delivery_state import OrderRule
from engine.text import counted, visible
from tui.cli.options import WhatIf, form_options, known_version, what_if_options
from tui.cli.output import Form, say_problems
from tui.cli.plain import wrapped
from tui.kit.wording import in_out_rate, safe_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.compare.releases import ChangeKind
    from engine.views.comparing.upgrade import KeysHere, LoadHere, UpgradeRow, UpgradeView


@click.command("upgrade")
@click.argument("path", metavar="[FILE | FOLDER]", required=False)
@click.option(
    "--to", "release", metavar="VERSION", required=True, callback=known_version, help="The release, such as 5.0."
)
@click.option("--top", metavar="N", type=click.IntRange(min=1), default=20, show_default=True, help="Rows of text.")
@what_if_options
@form_options
def upgrade_command(*, path: str | None, release: str, top: int, what_if: WhatIf, form: Form) -> int:
    """Say what Pulsar --to VERSION does with the same state: owners and keys that change, gaps that are no longer
    served, what shedding does with reported loads, and every rule, setting and fault that changes, each with what it
    concerns here and the setting that keeps the old way.

    The present release is that of the answers, else --pulsar.

    Example: ringside upgrade answers/ --to 5.0
    """
    from engine.views.comparing.upgrade import upgrade_view
    from tui.cli.session import session_of

    session = session_of(path, what_if)
    say_problems(session.problems)
    seen = [moment.snapshot for moment in session.seen]
    view = accepted(upgrade_view(session.timeline.state, release, session.timeline.source, seen), f"--to {release}")
    return form.show(view, upgrade_lines(view, top))


def upgrade_lines(view: UpgradeView, top: int) -> Iterator[str]:
    """What changes, of each subscription at most ``top`` rows."""
    from tui.cli.printers.differences import differing_lines, sum_lines

    yield from wrapped(f"{safe_name(view.source)}: from Pulsar {safe_name(view.before)} to {safe_name(view.after)}")
    yield from sum_lines(view.difference)
    yield from differing_lines(view.difference, top)
    for keys in view.keys:
        yield from wrapped(_keys_text(keys), rest="  ")
    for gap in view.gaps:
        text = (
            f"{safe_name(gap.subscription)}: slots without an owner {gap.before:,} → {gap.after:,}, and"
            f" {counted(gap.known_keys, 'known key')} among them; their messages wait until somebody declares them"
        )
        yield from wrapped(text, rest="  ")
    if view.load is not None:
        yield from wrapped(_load_text(view.load), rest="  ")
    for title, kinds in _GROUPS:
        rows = view.of_kind(*kinds)
        yield ""
        yield title if rows else f"{title}: none"
        for row in rows:
            yield from _row_lines(row)


_GROUPS: Final[tuple[tuple[str, tuple[ChangeKind, ...]], ...]] = (
    ("rules that change", ("rule",)),
    ("settings that change", ("setting",)),
    ("faults that come or go", ("mended",)),
    ("what else changes", ("answers", "platform")),
)


def _row_lines(row: UpgradeRow) -> Iterator[str]:
    absent = "no such setting"
    change = f"{row.name}: {row.before or absent} → {row.after or absent}"
    if row.kind == "setting":
        yield from wrapped(change, first="  ", rest="    ")
        yield from wrapped(row.meaning, first="    ", rest="    ")
    else:
        source = f" ({row.source})" if row.source else ""
        yield from wrapped(f"{change}; {row.meaning}{source}", first="  ", rest="    ")
    if row.count is not None:
        yield from wrapped(f"here, {row.counted}: {row.count:,}", first="    ", rest="      ")
    value = visible(row.in_force or "")
    if row.effect == "stays":
        yield from wrapped(f"here it is {value}, which is not the default, so it stays", first="    ", rest="      ")
    elif row.effect == "ignored" and row.in_force not in (None, row.before):
        yield from wrapped(f"here it is {value}; the line is ignored from then on", first="    ", rest="      ")
    elif row.keep:
        yield f"    keeps the old behaviour: {row.keep}"


def _keys_text(keys: KeysHere) -> str:
    share = f"{keys.sample_moved:,} of the {keys.sample_keys:,} keys key-0 to key-{keys.sample_keys - 1}"
    known = f" and {keys.known_moved:,} of {counted(keys.known_keys, 'known key')}" if keys.known_keys else ""
    text = f"{safe_name(keys.subscription)}: {share}{known} go to another of {counted(keys.consumers, 'consumer')}"
    if keys.slots_before != keys.slots_after:
        text += f"; every key has another slot, of {keys.slots_before:,} → {keys.slots_after:,}"
    if keys.order_before != keys.order_after:
        text += f"; order is kept by {keys.order_before} → {keys.order_after}"
        if keys.order_after == OrderRule.DRAINING_HASHES.value:
            text += ": a hash that changes hands waits until its earlier messages are acknowledged"
    return text


def _load_text(load: LoadHere) -> str:
    was, now = load.before, load.after
    parts = (
        f"{was.shedder} → {now.shedder}" if was.shedder != now.shedder else was.shedder,
        f"{was.topics:,} → {now.topics:,} topics interrupted",
        f"{in_out_rate(was.msgs_per_sec)} → {in_out_rate(now.msgs_per_sec)} moved",
        f"busiest ÷ average {_ratio(was.busiest_over_average)} → {_ratio(now.busiest_over_average)}",
    )
    return (
        f"load of {counted(load.brokers, 'broker')}, {counted(load.cycles, 'cycle')} of shedding ahead:"
        f" {was.unloads:,} → {now.unloads:,} unloads by {', '.join(parts)}"
    )


def _ratio(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}"
