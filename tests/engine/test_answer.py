"""Declared answers: columns, schema and filter follow from the members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest
from jsonschema import Draft202012Validator

from engine.answer import Column, Kind, about, column_meant, columns_of, filter_of
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
    validator = Draft202012Validator(schema(Page, "Page"))
    plain = document(Page(ROWS))
    validator.validate(plain)
    assert plain["rows"][1]["idle"] is None
    for spoilt in ({"rows": [{**plain["rows"][0], "more": 1}]}, {"rows": [{"name": "x"}]}, {}):
        assert not validator.is_valid(spoilt)


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
