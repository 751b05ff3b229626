"""Answers as declared values: a member says once what it is; table, filter, CSV, document and schema follow from it.

An answer is a frozen dataclass. Members are annotated with ``about`` (what they mean, and their bounds) and, in rows of
a table, with a ``Column`` (heading, kind and when it gives way)::

    idle: Annotated[int | None, about("Consumers that get nothing.", 0), Column("idle", Kind.COUNT, 3)]

Members and properties with ``about`` are the document (``engine.documents``); what a screen needs besides has none.
``FORMAT`` of a class is the name and version of the whole document.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Annotated, Any, Final, TypeVar, get_args, get_origin, get_type_hints

from msgspec import Struct

A = TypeVar("A")


class Kind(Enum):
    """What the values of a column are: names and words are aligned left, numbers right."""

    NAME = "name"
    WORD = "word"
    ID = "id"
    """A number that names something: all its digits count."""
    COUNT = "count"
    RATIO = "ratio"
    RATE = "rate"
    BAR = "bar"
    """Parts of a whole, drawn where there are colours or letters for them: nothing to sort or filter by."""
    TREND = "trend"
    """A number at each moment, the newest last: nothing to sort or filter by, either."""

    @property
    def is_number(self) -> bool:
        return self in (Kind.ID, Kind.COUNT, Kind.RATIO, Kind.RATE)

    @property
    def is_text(self) -> bool:
        return self in (Kind.NAME, Kind.WORD)

    @property
    def is_picture(self) -> bool:
        return self in (Kind.BAR, Kind.TREND)


class Column(Struct, frozen=True):
    """How a member is shown in a table. Of columns that do not fit, those with the highest ``rank`` are left out."""

    heading: str
    kind: Kind
    rank: int


class TableColumn(Struct, frozen=True):
    """A column of a type of rows: ``name`` is the member, ``meaning`` what ``about`` says of it."""

    name: str
    meaning: str
    heading: str
    kind: Kind
    rank: int

    @property
    def label(self) -> str:
        """The heading as it is typed in filters.

        >>> TableColumn("ratio", "", "busiest ÷ avg", Kind.RATIO, 1).label
        'busiest-/-avg'
        """
        return self.heading.replace(" ", "-").replace("÷", "/")


Value = float | str | None
_SIGNS: Final = (">", "<", "=")


class About(Struct, frozen=True):
    """What a member means, and the bounds of its numbers (of a list: of the numbers in it).

    ``nan``: the number may be NaN or infinite, which is null in a document. ``key`` is its name there where that is
    another one; ``null`` a value that stands for none. ``place``: positions, of which a document has the ids.
    ``flat``: the members of the record, all null without one, are in the document instead of it, but for those that the
    document has already. ``form`` makes of the value what the document has; what it returns is its type there.
    """

    meaning: str
    least: float | None = None
    most: float | None = None
    nan: bool = False
    key: str = ""
    null: int | str | None = None
    place: bool = False
    flat: bool = False
    form: Callable[[Any], Any] | None = None


FLAT: Final = About("", flat=True)


def about(
    meaning: str,
    least: float | None = None,
    most: float | None = None,
    *,
    nan: bool = False,
    key: str = "",
    null: int | str | None = None,
    place: bool = False,
    form: Callable[[Any], Any] | None = None,
) -> About:
    """What a member means, for people and schemas, and how it is in a document (see ``About``)."""
    return About(meaning, least, most, nan, key, null, place, form=form)


def extended(kind: type[A], answer: Any, **more: Any) -> A:
    """An answer with the members that ``answer`` and another kind share, and ``more``."""
    shared = [name for name in member_names(kind) or () if name not in more and hasattr(answer, name)]
    return kind(**{name: getattr(answer, name) for name in shared}, **more)


def is_record(kind: type) -> bool:
    """Whether values of this type have declared members: it is a dataclass or a struct."""
    return hasattr(kind, "__struct_fields__") or is_dataclass(kind)


def member_names(kind: type) -> Sequence[str] | None:
    """The names of the members of a dataclass or a struct; None for any other type."""
    names: Sequence[str] | None = getattr(kind, "__struct_fields__", None)
    return [member.name for member in fields(kind)] if names is None and is_dataclass(kind) else names


@cache
def columns_of(row: type) -> tuple[TableColumn, ...]:
    """The columns of a type of rows, in the order of its members."""
    columns = []
    for name, hint in get_type_hints(row, include_extras=True).items():
        extras = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
        meaning = next((extra.meaning for extra in extras if isinstance(extra, About)), "")
        columns += [
            TableColumn(name, meaning, extra.heading, extra.kind, extra.rank)
            for extra in extras
            if isinstance(extra, Column)
        ]
    return tuple(columns)


def sortable_columns(row: type) -> tuple[TableColumn, ...]:
    """The columns that rows can be sorted and filtered by: all but pictures."""
    return tuple(column for column in columns_of(row) if not column.kind.is_picture)


def column_meant(row: type, word: str) -> TableColumn | None:
    """The sortable column that a word means: its label, the name of its member, or the only one that begins so."""
    folded = word.casefold()
    columns = sortable_columns(row)
    exact = [column for column in columns if folded in (column.label.casefold(), column.name)]
    begun = [column for column in columns if folded and column.label.casefold().startswith(folded)]
    return exact[0] if exact else begun[0] if len(begun) == 1 else None


# filters


class Filtered(Struct, frozen=True):
    """What a filter lets through. ``half_typed`` is the first word that needs a number and has none, "" without one."""

    fits: Callable[[Any], bool]
    half_typed: str = ""


def filter_of(row: type, text: str) -> Filtered:
    """Return the filter that a text means for rows of a type.

    A word is a part of a name or word, or a column (``column_meant``) with ``>``, ``<`` or ``=`` and a number or a part
    of a text: ``orders idle>2 type=key``. All words have to fit. A number that is unknown fits no condition.
    """
    texts = [column.name for column in sortable_columns(row) if column.kind.is_text]
    tests: list[Callable[[Any], bool]] = []
    half_typed = ""
    for word in text.split():
        sign = next((sign for sign in _SIGNS if sign in word and column_meant(row, word.partition(sign)[0])), "")
        label, _, wanted = word.partition(sign) if sign else (word, "", "")
        column = column_meant(row, label) if sign else None
        if column is None:
            tests.append(_containing(texts, word))
            continue
        if column.kind.is_text:
            tests.append(_containing([column.name], wanted))
            continue
        number = _number(wanted)
        if number is None:
            half_typed = half_typed or word
        else:
            tests.append(_comparing(column.name, sign, number))
    return Filtered(lambda row: all(test(row) for test in tests), half_typed)


def _containing(names: Sequence[str], part: str) -> Callable[[Any], bool]:
    folded = part.casefold()
    return lambda row: any(folded in str(getattr(row, name) or "").casefold() for name in names)


def _comparing(name: str, sign: str, number: float) -> Callable[[Any], bool]:
    def fits(row: Any) -> bool:
        value = getattr(row, name)
        if value is None:
            return False
        return bool(value > number if sign == ">" else value < number if sign == "<" else value == number)

    return fits


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
