"""The schemas of every JSON document."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from tui.cli.commands.schema import ANSWERS, schema_named

DOCUMENTS: Final = tuple(ANSWERS)


@cache
def schema_of(document: str) -> dict[str, Any]:
    """The schema of a document by its name, one of ``DOCUMENTS``. Shared: do not change it."""
    return schema_named(document)
