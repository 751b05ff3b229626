"""Answers in strings: in the JSON of a chat, a log store, a browser or a notebook, and among other words."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Final
from urllib.parse import unquote

from engine.input import DEEPEST_STRING

_TIMESTAMP: Final = 10
"""A text of so many digits, or more, is a time."""
_LONG: Final = 200
"""A text of more characters that comes twice is one: tools give an output whole and in lines."""
_FEWEST, _MARKS = 3, '{}[]"'
_INSIDE: Final = re.compile(r"[{\[](?:\s|\\+[nrt]){0,40}(?:\\+[\"']|\\+u0022)")
"""An answer in a string, which may be in another string."""
_BROKEN: Final = re.compile(r"[{\[][ ]{0,40}\\[nrt](?:\\[nrt]|[ ]){0,40}[\"']")
"""One with the line breaks of a string, and no other escapes."""
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_BASE64_LINE: Final = 60
"""The least width of its lines, but for the last one."""
_ESCAPED_BREAK: Final = re.compile(r"\\[nrt]")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([nrt])|([\"'\\/]))")
_BARE: Final = re.compile(
    r"(?<!\\)\"(?:msgRateIn|msgBacklog|subscriptions|entriesAddedCounter|boundaries|brokerUrl|bundles)\"\s*:"
)
"""A member of an answer that is in no string: then strings around it are not taken for the output."""


def texts_in(value: object) -> Iterator[str]:
    """Yield the texts in a JSON value in their order, and those in JSON that is in a text; a list of lines is one text.

    O(length x depth of texts in texts).

    >>> list(texts_in({"url": "/admin", "cells": [{"text": ["{\\n", "}\\n"]}, 3], "log": '{"m": "a \\\\"b\\\\""}'}))
    ['/admin', '{\\n}', 'a "b"']
    """
    pending: list[tuple[object, int]] = [(value, DEEPEST_STRING)]
    seen: set[str] = set()
    while pending:
        one, depth = pending.pop()
        if isinstance(one, str):
            if depth and (inner := _records(one)) is not None:
                pending.append((inner, depth - 1))
            elif not _is_time(one) and one not in seen:
                if len(one) > _LONG:
                    seen.add(one)
                yield one
        elif isinstance(one, list) and len(one) > 1 and all(isinstance(each, str) for each in one):
            pending.append((_joined(text for text in one if not _is_time(text)), 0))
        elif isinstance(one, list | Mapping):
            inside = [*one.values()] if isinstance(one, Mapping) else _lines_of(one) or one
            pending += [(each, depth) for each in inside][::-1]


def _is_time(text: str) -> bool:
    return len(text) >= _TIMESTAMP and text.isdigit()


def _joined(lines: Iterable[str]) -> str:
    return "\n".join(line.removesuffix("\n") for line in lines)


def _lines_of(records: Sequence[object]) -> list[str] | None:
    """The lines in records that all have one, as a container's log has them; None for other values."""
    if len(records) < _FEWEST or not all(isinstance(each, Mapping) for each in records):
        return None
    names = [name for name, text in records[0].items() if isinstance(text, str)]  # type: ignore[attr-defined]
    columns = ([each.get(name) for each in records] for name in names)  # type: ignore[attr-defined]
    texts = [column for column in columns if all(isinstance(text, str) and "\n" not in text[:-1] for text in column)]
    line = max(texts, key=lambda column: sum(map(_MARKS.count, "".join(column))), default=[])
    return [_joined(line)] if any(text.strip() in ("{", "[") for text in line) else None


def _records(text: str) -> object:
    """The JSON in a text that is no answer but may have one in its texts, a document a line; None for other texts."""
    if text[:1] not in ("{", "[") or '\\"' not in text or _BARE.search(text) is not None:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def out_of_strings(text: str) -> str | None:
    """The text without one level of escapes or codes, where an answer seems to be in a string; None for other texts.

    >>> out_of_strings(r'body="{\\n\\"msgRateIn\\": 0}"')
    'body="{ "msgRateIn": 0}"'
    """
    if _INSIDE.search(text) is not None and _BARE.search(text) is None:
        return _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else match[3] or " ", text)
    if _BROKEN.search(text) is not None:
        return _ESCAPED_BREAK.sub(" ", text)
    if "%7B%22" in text or "%7B%0A" in text or "%7b%22" in text:
        return unquote(text)
    *lines, last = text.split() or [""]
    coded = [last, *takewhile(lambda line: len(line) >= _BASE64_LINE, reversed(lines))][::-1]
    if len(coded[0]) < _BASE64_LINE or not all(map(_BASE64.fullmatch, coded)):
        return None
    try:
        return base64.b64decode("".join(coded)).decode()
    except ValueError:
        return None
