"""Limits on a difference, such as ``moved>10%``, on which a check in a pipeline fails."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Final, Protocol

from engine.errors import Rejection
from engine.views.comparing.difference import Sums

NAMES: Final = tuple(field.name for field in fields(Sums) if field.name != "items")
OF_ALL: Final = frozenset({"moved", "least"})
"""Numbers that can be a percentage: of all partitions."""
_LIMIT: Final = re.compile(
    r"\s*(?P<name>[a-z_]+)\s*(?P<sign>>=?|<=?)\s*(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<percent>%?)\s*"
)


class Numbers(Protocol):
    """The sums of a difference that limits refer to; ``items`` is 100 %."""

    @property
    def items(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Limit:
    """``name`` of the sums, compared with ``number`` (a fraction of all items where ``share``) by ``sign``."""

    text: str
    name: str
    sign: str
    number: float
    share: bool


def parse_limit(text: str, names: Collection[str] = NAMES) -> Limit | Rejection:
    """Parse a limit on one of the sums ``names``; refused with the reason.

    >>> limit = parse_limit("moved > 10%")
    >>> limit.name, limit.sign, limit.number, limit.share
    ('moved', '>', 0.1, True)
    >>> parse_limit("moved").error, parse_limit("idle>10%").error, parse_limit("speed>1").error
    ('NotALimit', 'NotAShare', 'UnknownNumber')
    """
    match = _LIMIT.fullmatch(text)
    if match is None:
        return Rejection("NotALimit", f"{text!r} is not a limit; write NAME>NUMBER, such as moved>10% or idle>0")
    name, share = match["name"], bool(match["percent"])
    if name not in names:
        return Rejection("UnknownNumber", f"{name!r} is not a number of a difference; there are {', '.join(names)}")
    if share and name not in OF_ALL:
        return Rejection("NotAShare", f"{name} is not a share of all partitions; write a number without %")
    number = float(match["number"]) / (100 if share else 1)
    return Limit(text.strip(), name, match["sign"], number, share)


def exceeded(limit: Limit, sums: Numbers) -> bool:
    """Whether a difference meets the condition of a limit, so that a check fails.

    >>> exceeded(parse_limit("moved>10%"), Sums(100, 11, 5, 0.0, 0.0, 0, 0, 0, 0, 1.0, 1.0, 0))
    True
    """
    value = float(getattr(sums, limit.name))
    if limit.share:
        value = value / sums.items if sums.items else 0.0
    return {
        ">": value > limit.number,
        ">=": value >= limit.number,
        "<": value < limit.number,
        "<=": value <= limit.number,
    }[limit.sign]
