"""Declared answers: columns, schema and filter follow from the members."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, ClassVar

import pytest
from jsonschema import Draft202012Validator

from engine.answer import Column, Kind, about, column_meant, columns_of, extended, filter_of
from engine.documents import document, schema


@dataclass(frozen=True, slots=True)
class Row:
    name: Annotated[str, about("Its name."), Column("name", Kind.NAME, 0)]
    idle: Annotated[int | None, about("Idle ones."), Column("idle", Kind.COUNT, 1)]
    ratio: Annotated[float | None, about("How uneven."), Column("busiest÷avg", Kind.RATIO, 2)]
    parts: Annotated[tuple[int, ...], about("Its parts."), Column("parts", Kind.BAR, 3)]
    note: Annotated[str, about("Not in tables.")] = ""


@dataclass(frozen=True, slots=True)
class Page:
    rows: Annotated[tuple[Row, ...], about("All rows.")]


ROWS = (Row("orders-1", 3, 2.5, (1, 2)), Row("Orders-2", None, None, ()), Row("billing", 0, 1.0, (4,)))


def test_columns_are_the_members_that_have_one() -> None:
    assert [(column.name, column.meaning, column.rank) for column in columns_of(Row)] == [
        ("name", "Its name.", 0),
        ("idle", "Idle ones.", 1),
        ("ratio", "How uneven.", 2),
        ("parts", "Its parts.", 3),
    ]


def test_a_document_fits_its_schema_and_a_spoilt_one_does_not() -> None:
    validator = Draft202012Validator(schema("Page", Page))
    plain = document(Page(ROWS))
    validator.validate(plain)
    assert plain["rows"][1]["idle"] is None
    for spoilt in ({"rows": [{**plain["rows"][0], "more": 1}]}, {"rows": [{"name": "x"}]}, {}):
        assert not validator.is_valid(spoilt)


class Word(Enum):
    ONE = "one"
    TWO = "two"


@dataclass(frozen=True, slots=True)
class Base:
    count: Annotated[int, about("How many.", 0, 9)]
    share: Annotated[float, about("NaN where it is unknown.", 0, nan=True)]
    from_: Annotated[Word | None, about("A name that Python keeps for itself.")]
    pair: Annotated[tuple[int, int], about("First and last.", 0)]
    by_name: Annotated[Mapping[str, int], about("By name.", 0)]
    screen: object = None

    @property
    def twice(self) -> Annotated[int, about("Computed.")]:
        return 2 * self.count


@dataclass(frozen=True, slots=True)
class Whole(Base):
    FORMAT: ClassVar = "ringside.whole/3"

    inner: Annotated[Base | None, about("A part of the same form.")] = None


def ends(piece: range) -> tuple[int, int]:
    return piece.start, piece.stop


@dataclass(frozen=True, slots=True)
class Formed:
    piece: Annotated[range, about("Its ends.", 0, form=ends, key="ends")]
    word: Annotated[object, about("One of these.", form=Word)]


def test_a_member_is_in_a_document_as_its_form_makes_it() -> None:
    plain = document(Formed(range(2, 5), "two"))
    assert plain == {"ends": [2, 5], "word": "two"}
    members = schema("Formed", Formed)["properties"]
    assert members["ends"]["items"] == {"type": "integer", "minimum": 0}
    assert members["word"]["enum"] == ["one", "two"]


def test_members_without_a_meaning_are_not_in_a_document() -> None:
    base = Base(1, math.nan, Word.TWO, (3, 4), {"a": 5}, screen=object())
    plain = {"count": 1, "share": None, "from": "two", "pair": [3, 4], "by_name": {"a": 5}, "twice": 2}
    assert document(base) == plain
    assert document(extended(Whole, base, inner=base)) == {"format": "ringside.whole/3", **plain, "inner": plain}


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("count", 10),
        ("count", None),
        ("share", -1.0),
        ("from", "three"),
        ("pair", [1]),
        ("pair", [1, -2]),
        ("by_name", {"a": -1}),
        ("by_name", {"a": "x"}),
        ("twice", "2"),
        ("inner", {}),
        ("format", "ringside.whole/2"),
        ("screen", 1),
    ],
)
def test_a_schema_refuses_what_the_types_and_bounds_do_not_admit(member: str, value: object) -> None:
    validator = Draft202012Validator(schema("Whole", Whole))
    plain = document(extended(Whole, Base(1, 0.5, None, (3, 4), {}), inner=Base(0, math.inf, Word.ONE, (0, 0), {})))
    validator.validate(plain)
    assert not validator.is_valid(plain | {member: value})


@pytest.mark.parametrize(
    ("text", "fitting"),
    [
        ("", [0, 1, 2]),
        ("ORDERS", [0, 1]),
        ("idle>2", [0]),
        ("idle=0", [2]),
        ("idle<9", [0, 2]),  # unknown is not 0
        ("ratio>1", [0]),
        ("busiest>1", [0]),
        ("name=bill", [2]),
        ("orders idle>1", [0]),
        ("parts>1", []),  # a bar is not a column to filter by, so this is a part of a name
        ("what>1", []),
    ],
)
def test_filters(text: str, fitting: list[int]) -> None:
    fits = filter_of(Row, text).fits
    assert [at for at, row in enumerate(ROWS) if fits(row)] == fitting


def test_a_half_typed_condition_lets_everything_through_and_is_named() -> None:
    chosen = filter_of(Row, "idle> orders")
    assert chosen.half_typed == "idle>"
    assert [chosen.fits(row) for row in ROWS] == [True, True, False]


@pytest.mark.parametrize(
    ("word", "name"), [("idle", "idle"), ("RATIO", "ratio"), ("b", "ratio"), ("", None), ("parts", None), ("x", None)]
)
def test_which_column_a_word_means(word: str, name: str | None) -> None:
    column = column_meant(Row, word)
    assert (column.name if column is not None else None) == name
