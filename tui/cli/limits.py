"""``--fail-on`` of answers with sums: limits on them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from engine.errors import Rejection
from tui.cli.exits import FAILED, FINE
from tui.cli.output import say

if TYPE_CHECKING:
    from engine.limit import Limit

OF_ALL: Final = frozenset({"moved", "least"})
"""Sums that can be a percentage: of all partitions."""


def limits_of(texts: Iterable[str], names: Collection[str]) -> list[Limit]:
    """The limits of ``--fail-on``, on sums of these names. Raises ``BadParameter``."""
    from engine.limit import parse_limit

    limits = []
    for text in texts:
        limit = parse_limit(text, names, OF_ALL)
        if isinstance(limit, Rejection):
            raise click.BadParameter(limit.message, param_hint="--fail-on")
        limits.append(limit)
    return limits


def code_under(limits: Sequence[Limit], sums: Any, *, of: str = "") -> int:
    """The exit code of a difference with these ``sums``, of which ``items`` is 100 %; says which limits are exceeded.

    ``of`` is what the sums are about. No limit fails for a number that is unknown.
    """
    code = FINE
    for limit in limits:
        value = getattr(sums, limit.name)
        about = f" of {of}" if of else ""
        whole = getattr(sums, "items", 0) or 0
        if value is None:
            say(f"--fail-on {limit.text}: {limit.name}{about} is unknown")
        elif limit.holds(float(value), whole):
            say(f"--fail-on {limit.text}: fails, {limit.name}{about} is {limit.measured(float(value), whole)}")
            code = FAILED
    return code
