"""Which worker has which tests: those of a file are in one, so that what they share is made once.

Much of what tests share is made for a file, or kept from the first call of a function. Handed out one by one, as xdist
does it, the tests of a file need all of that in each worker, and with 15,000 of them xdist counts what is left so often
that it takes longer than many a test.
"""

from __future__ import annotations

from typing import Final

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadGroupScheduling

LONGEST: Final = ("spark", "java", "saving", "broker", "process", "hostile")
"""The groups that take longest begin first: else one worker is left with them when all others are done."""


class FilesAndGroups(LoadGroupScheduling):
    """Hands out the tests of a named group together, and all others by files."""

    def _split_scope(self, nodeid: str) -> str:
        return super()._split_scope(nodeid).partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FilesAndGroups | None:
    if config.getvalue("dist") != "loadgroup":
        return None
    config.option.loadscopereorder = False  # by number of tests
    return FilesAndGroups(config, log)


@pytest.hookimpl(trylast=True)  # when all tests have their groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    group = item.get_closest_marker("xdist_group")
    if group is None:
        return len(LONGEST) + 1
    return LONGEST.index(group.args[0]) if group.args[0] in LONGEST else len(LONGEST)
