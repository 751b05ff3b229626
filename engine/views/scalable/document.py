"""The document of a scalable topic and its schema, both derived from the declaration."""

from __future__ import annotations

from typing import Any

import msgspec

from engine.views.scalable.model import FORMAT, ScalableView


def scalable_document(view: ScalableView) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(view)
    return document


def scalable_schema() -> dict[str, Any]:
    """The JSON schema (2020-12) of the document."""
    (schema,), parts = msgspec.json.schema_components([ScalableView], ref_template="#/$defs/{name}")
    view = parts.pop(schema["$ref"].rpartition("/")[2])
    name, _, version = FORMAT.partition("/")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{name.replace('.', ':')}:{version}",
        **view,
        "title": "Ringside scalable",
        "description": "A scalable topic: its segments, who has which, what waits, and the next automatic step.",
        "$defs": parts,
    }
