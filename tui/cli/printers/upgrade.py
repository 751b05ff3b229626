"""``upgrade`` as text: owners first, then gaps, rules and defaults."""

from __future__ import annotations

from collections.abc import Iterator

from engine.text import counted
from engine.views.comparing.upgrade import UpgradeView
from tui.cli.plain import wrapped
from tui.cli.printers.diff import differing_lines, sum_lines
from tui.kit.wording import safe_name


def upgrade_lines(view: UpgradeView, top: int) -> Iterator[str]:
    """What changes, of each subscription at most ``top`` rows."""
    yield from wrapped(f"{safe_name(view.source)}: from Pulsar {safe_name(view.before)} to {safe_name(view.after)}")
    yield from sum_lines(view.difference)
    yield from differing_lines(view.difference, top)
    for gap in view.gaps:
        told = (
            f"{safe_name(gap.subscription)}: slots without an owner {gap.before:,} → {gap.after:,}, and"
            f" {counted(gap.known_keys, 'known key')} among them; their messages wait until somebody declares them"
        )
        yield from wrapped(told, rest="  ")
    yield ""
    yield "rules that change" if view.rules else "no rule changes"
    for rule in view.rules:
        told = f"{rule.change.name}: {rule.change.before} → {rule.change.after}; {rule.meaning}"
        yield from wrapped(told, first="  ", rest="    ")
        if rule.subscriptions:
            yield f"    here: {counted(rule.subscriptions, 'subscription')}"
        if rule.change.keep:
            yield f"    keeps the old way: {rule.change.keep}"
    yield ""
    yield "defaults that change" if view.defaults else "no default changes"
    for each in view.defaults:
        yield from wrapped(f"{each.change.name}: {each.change.before} → {each.change.after}", first="  ", rest="    ")
        yield from wrapped(each.meaning, first="    ", rest="    ")
        if each.in_force and not each.follows:
            yield f"    here it is {each.in_force}, which is not the default, so it stays"
        else:
            yield f"    keeps the old way: {each.keep}"
