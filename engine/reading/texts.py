"""The texts in JSON that is no answer: a chat's export, a record of a log store, a browser's capture, a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


def texts_in(value: object) -> Iterator[str]:
    """Yield the texts in a JSON value in their order; a list of lines is one text. O(length), to any depth.

    >>> list(texts_in({"url": "/admin", "cells": [{"text": ["{\\n", "}\\n"]}, 3]}))
    ['/admin', '{\\n}\\n']
    """
    pending: list[object] = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, list) and _are_lines(one):
            yield "".join(one)
        elif isinstance(one, list | Mapping):
            pending += reversed([*(one.values() if isinstance(one, Mapping) else one)])


def _are_lines(values: list[object]) -> bool:
    return len(values) > 1 and all(isinstance(each, str) for each in values) and "\n" in str(values[0])
