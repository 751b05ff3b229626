"""How two records of statistics become one, field by field.

A statistics class names the rule of each field where it declares the field; ``added`` applies them. A field without
a rule keeps the value of the aggregate, the empty one: Pulsar leaves such fields unset in partitioned statistics.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import field, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    _Record = TypeVar("_Record", bound=DataclassInstance)

_RULE: Final = "added by"


def _earliest(total: int, new: int) -> int:
    return min(total, new) if total and new else max(total, new)


def summed(start: float = 0) -> Any:
    """A number that is added up in the order of the partitions."""
    return field(default=start, metadata={_RULE: operator.add})


def largest() -> Any:
    """The largest of the values, from 0 on."""
    return field(default=0, metadata={_RULE: max})


def earliest() -> Any:
    """The smallest time that is known; 0 means unknown."""
    return field(default=0, metadata={_RULE: _earliest})


def newest(start: Any) -> Any:
    """The value of the partition added last, whatever it is."""
    return field(default=start, metadata={_RULE: lambda _, new: new})


def any_of() -> Any:
    """True as soon as one value is."""
    return field(default=False, metadata={_RULE: operator.or_})


def all_of() -> Any:
    """True as long as every value is; the empty record is true."""
    return field(default=True, metadata={_RULE: operator.and_})


def added(total: _Record, new: _Record) -> _Record:
    """The aggregate after one more record, each field by its rule; linear in the number of fields.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Seen:
    ...     msgs: int = summed()
    ...     since_ms: int = earliest()
    ...     owner: str = ""
    >>> added(added(Seen(), Seen(2, 0, "b1")), Seen(3, 9, "b2"))
    Seen(msgs=5, since_ms=9, owner='')
    """
    rules = _rules(type(total))
    return replace(total, **{name: rule(getattr(total, name), getattr(new, name)) for name, rule in rules})


@cache
def _rules(record: type[DataclassInstance]) -> tuple[tuple[str, Callable[[Any, Any], Any]], ...]:
    return tuple((each.name, each.metadata[_RULE]) for each in fields(record) if _RULE in each.metadata)


def mean_with(mean: float, new: float, count: int) -> float:
    """The plain mean after the ``count``-th value, from the mean before it: not weighted by messages.

    Over partitions this makes a mean of means, and an idle partition (0.0) pulls it down. It is computed the way
    Pulsar does, rounding included.

    >>> mean_with(1.0, 5.0, 2)
    3.0
    """
    return (mean * (count - 1) + new) / count
