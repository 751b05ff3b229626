"""What makes every test cheaper and changes nothing that a test can see.

What apps have in common is in ``textual_memo``.
"""

from __future__ import annotations

import atexit
import gc
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Final

import pytest
from _pytest.doctest import DoctestModule

GC_THRESHOLDS: Final = (1_000_000, 3, 20)
"""An app leaves a whole tree of widgets behind when it ends, and until then none of it is garbage.

With Python's own thresholds the collector took a sixth of the time of a screen's tests, with those of an open screen
an eighth and with these a twelfth; a process that runs screens takes some 100 MB more for them.
"""


def pytest_configure(config: pytest.Config) -> None:
    gc.set_threshold(*GC_THRESHOLDS)
    # At the end of the process all objects are examined again, since libraries report on stderr what seems leaked: not
    # before, for pytest itself collects five times when it is done, a second for each.
    atexit.register(gc.unfreeze)
    config.pluginmanager.register(_DoctestsWhereTheyAre())


class _DoctestsWhereTheyAre:
    """Two of three modules have no example: they are not imported and searched for one."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
        collectors = yield
        return [
            collector
            for collector in collectors
            if not isinstance(collector, DoctestModule) or b">>>" in file_path.read_bytes()
        ]


def pytest_collection_finish() -> None:
    """Modules and collected tests stay to the end: the collector need not examine them."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def styles_parsed_once() -> Iterator[None]:
    """To be imported by the ``conftest.py`` of a folder that runs apps."""
    from tests.textual_memo import sharing

    with sharing():
        yield
