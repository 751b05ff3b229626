"""Limits on numbers, such as ``moved>10%``: the language of every ``--fail-on``."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

from engine.errors import Rejection
from engine.text import apart

_SIGNS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_FORM: Final = re.compile(
    r"\s*(?P<name>[a-z_]+)\s*(?P<sign>>=?|<=?)\s*(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<percent>%?)\s*", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Limit:
    """What is called ``name`` is compared with ``number`` by ``sign``: as it is, or in percent of all."""

    text: str
    name: str
    sign: str
    number: float
    percent: bool

    def compared(self, value: float, whole: float) -> float:
        """What is compared for this value; ``whole`` is 100 %."""
        if not self.percent:
            return value
        return 100 * value / whole if whole else 0.0

    def holds(self, value: float, whole: float) -> bool:
        """Whether the condition is met, so that a check fails.

        >>> limit = parse_limit("moved>10%", ("moved",), ("moved",))
        >>> limit.holds(11, 100), limit.holds(10, 100), limit.holds(5, 0)
        (True, False, False)
        """
        return _SIGNS[self.sign](self.compared(value, whole), self.number)

    def measured(self, value: float, whole: float) -> str:
        """What is compared, and the number it is compared with, as text.

        >>> parse_limit("moved>10%", ("moved",), ("moved",)).measured(44, 120)
        '36.7 % (44 of 120), the limit is 10 %'
        >>> parse_limit("idle>1.5", ("idle",), ()).measured(1.5001, 0)
        '1.5001, the limit is 1.5'
        """
        unit = " %" if self.percent else ""
        compared, limit = (
            text.rstrip("0").rstrip(".") + unit for text in apart(self.compared(value, whole), self.number)
        )
        of = f" ({value:,g} of {whole:,g})" if self.percent else ""
        return f"{compared}{of}, the limit is {limit}"


def parse_limit(text: str, names: Collection[str], shares: Collection[str]) -> Limit | Rejection:
    """Parse a limit on one of ``names``, of which ``shares`` may be percentages; refused with the reason.

    >>> parse_limit("moved > 10%", ("moved",), ("moved",))
    Limit(text='moved > 10%', name='moved', sign='>', number=10.0, percent=True)
    >>> [parse_limit(text, ("idle",), ()).error for text in ("idle", "idle>10%", "speed>1")]
    ['NotALimit', 'NotAShare', 'UnknownNumber']
    """
    match = _FORM.fullmatch(text)
    if match is None:
        return Rejection("NotALimit", f"{text!r} is not a limit; write NAME>NUMBER, such as moved>10% or idle>0")
    name, percent = match["name"], bool(match["percent"])
    if name not in names:
        return Rejection("UnknownNumber", f"{name!r} is not a number of this; there are {', '.join(names)}")
    if percent and name not in shares:
        return Rejection("NotAShare", f"{name} is not a share of anything; write a number without %")
    return Limit(text.strip(), name, match["sign"], float(match["number"]), percent)
