"""The schemas of every JSON document: derived from its answer, or still a file."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, Final

from tui.cli.commands.schema import ANSWERS, schema_named

SCREENS: Final = ("dashboard", "keys", "producers", "subscription")
DOCUMENTS: Final = (
    *SCREENS,
    "bundles",
    "brokers",
    "shed",
    "plan",
    "lint",
    "why",
    "explain",
    "verify",
    "script",
    "heirs",
    "broker-heirs",
    "diff",
    "fleet-diff",
    "upgrade",
    "suggest",
    "check",
    "scalable",
    "migration",
    "list",
)
"""What has one: four screens, then commands by their names; ``bundles`` is of ``forecast``, ``script`` of
``demo --headless``, ``broker-heirs`` of ``heirs --broker``, ``fleet-diff`` of ``fleet diff``."""


@cache
def schema_of(document: str) -> dict[str, Any]:
    """The schema of a document by its name, one of ``DOCUMENTS``. Shared: do not change it.

    >>> schema_of("plan")["title"]
    'Ringside plan'
    """
    assert document in DOCUMENTS, document
    if document in ANSWERS:
        return schema_named(document)
    text = files("engine.views").joinpath("schema", f"{document}.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema
