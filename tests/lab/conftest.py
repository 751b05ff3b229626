"""The folders that are compared, and which tests run where. Its hooks are in plugin.py, loaded by tests/conftest.py."""

from pathlib import Path

import pytest

from tests.lab import plugin
from tests.own_folder import LAB

_HERE = Path(__file__).parent
_BALANCE = "balance"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each recorded folder."""
    if "recorded_folder" in metafunc.fixturenames:
        folders = plugin.folders(metafunc.config)
        metafunc.parametrize("recorded_folder", folders.values(), ids=folders)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave tests of the committed recordings out while other ones are compared."""
    return True if plugin.is_about_other_folders(config, collection_path) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep tests of the same recordings in one worker: what was read and compared there is used again."""
    if not LAB.is_committed(config):
        return
    for item in items:
        if item.path.is_relative_to(_HERE) and item.get_closest_marker("xdist_group") is None:
            is_balance = _BALANCE in item.path.name or "[g-" in item.name
            item.add_marker(pytest.mark.xdist_group(f"lab-{_BALANCE}" if is_balance else "lab"))
