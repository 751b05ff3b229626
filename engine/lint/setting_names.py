"""The names in ``ServiceConfiguration`` of eight releases: which settings a broker reads at all.

``setting_names.json`` has the fields of the class in 2.8.4, 2.10.5, 2.11.0, 3.0.7, 3.3.6, 4.0.7, 4.2.4 and 5.0.1. A
release between two of them counts as the earlier one, and may know a few names more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

import msgspec

_NUMBERS: Final = re.compile(r"(\d{1,4})\.(\d{1,4})")


class _Span(msgspec.Struct):
    since: str
    names: list[str]
    until: str = ""


class _Names(msgspec.Struct):
    releases: list[str]
    settings: list[_Span]


@dataclass(frozen=True, slots=True)
class SettingSpan:
    """The first and the last release that has a setting; ``until`` is "" for one that the newest has."""

    since: str
    until: str


@cache
def spans() -> dict[str, SettingSpan]:
    """Every setting by its name."""
    data = files("engine.lint").joinpath("setting_names.json").read_bytes()
    read = msgspec.json.decode(data, type=_Names)
    return {name: SettingSpan(span.since, span.until) for span in read.settings for name in span.names}


def is_read(name: str, release: str) -> bool:
    """Whether a broker of a release reads a setting that some release has.

    >>> is_read("streamingDispatch", "3.0.7"), is_read("streamingDispatch", "4.2.4")
    (True, False)
    """
    span, number = spans()[name], _number(release)
    return _number(span.since) <= number and (not span.until or number <= _number(span.until))


def is_new(name: str, release: str) -> bool:
    """Whether a setting came after a release."""
    return _number(spans()[name].since) > _number(release)


def _number(release: str) -> tuple[int, int]:
    match = _NUMBERS.match(release)
    return (int(match[1]), int(match[2])) if match is not None else (0, 0)
