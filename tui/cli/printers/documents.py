"""Answers as JSON text: ASCII only, so that any name, even one that is no valid Unicode, survives every pipe."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any


def json_text(document: object) -> str:
    """A document of plain values as indented JSON; a number that JSON does not know is an error of ours."""
    return json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False)


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
    if isinstance(value, (tuple, list, frozenset)):
        return [plain_values(each) for each in value]
    if isinstance(value, dict):
        return {str(key): plain_values(each) for key, each in value.items()}
    return value
