"""One of a thing is told in the singular, with its verb."""

from __future__ import annotations

import doctest

from engine import text as counting


def test_examples() -> None:
    result = doctest.testmod(counting)
    assert result.failed == 0 and result.attempted
