"""Numbers from which on the engine takes another way, made so small that a few topics and steps reach them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Final
from unittest.mock import patch

SMALL: Final = {
    "engine.bundles.bulk_splits": {"AT_ONCE": 2},
    "engine.bundles.columns": {"FEW": 1},
    "engine.cluster.moves": {"FEW_RUNS": 2},
    "engine.cluster.tables.topics": {"CHUNK": 3},
    "engine.memo": {"REMEMBERED_ANSWERS": 2},
    "engine.cluster.tables.texts": {"CHUNK": 3},
    "engine.cluster.timeline": {"SNAPSHOT_EVERY": 5},
    "engine.bulk_hashing": {"STEP": 3, "CHUNK": 3, "LONGEST": 30, "_FEW": 50, "_LONG_NAME": 2},
    "engine.failover.bulk_ring": {"FEW": 2, "CHUNK": 3},
    "engine.views.timeline": {"LINES_KEPT": 4, "STATES_KEPT": 2},
    "engine.views.failover.table": {"SORTED_AT_ONCE": 2},
}


@contextmanager
def lowered(*changes: dict[str, dict[str, int]]) -> Iterator[None]:
    """Inside, the engine has these numbers."""
    with ExitStack() as stack:
        for change in changes:
            for name, values in change.items():
                module = import_module(name)
                for constant, value in values.items():
                    assert isinstance(getattr(module, constant), int), f"{name}.{constant} is not a number"
                    stack.enter_context(patch.object(module, constant, value))
        yield
