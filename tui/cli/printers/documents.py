"""Answers as JSON text: ASCII only, so that any name, even one that is no valid Unicode, survives every pipe."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any


def json_text(document: object) -> str:
    """A document of plain values as indented JSON; a number that JSON does not know is an error of ours."""
    return json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False)


def json_rows(rows: Iterable[object]) -> str:
    """A list of plain values with one row a line, for lists that are too long to be read with one number a line.

    >>> print(json_rows([{"node": 0, "ranges": [[0, 9]]}, {"node": 1, "ranges": []}]))
    [
      {"node": 0, "ranges": [[0, 9]]},
      {"node": 1, "ranges": []}
    ]
    """
    lines = ",\n".join(f"  {json.dumps(row, ensure_ascii=True, allow_nan=False)}" for row in rows)
    return f"[\n{lines}\n]" if lines else "[]"


def plain_values(value: object) -> Any:
    """Dataclasses as objects by field name, enumerations as their value, bytes in hexadecimal, tuples as arrays.

    >>> plain_values((b"ab", {"n": 1}))
    ['6162', {'n': 1}]
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain_values(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes):
        return value.hex()
    if hasattr(value, "tolist"):
        return value.tolist()  # columns of numbers
    if isinstance(value, (Sequence, frozenset)) and not isinstance(value, str):
        return [plain_values(each) for each in value]
    if isinstance(value, dict):
        return {str(key): plain_values(each) for key, each in value.items()}
    return value
