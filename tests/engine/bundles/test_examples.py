"""The hand-checkable examples in the docstrings of names, bundles and balance hold."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import engine.balance
import engine.bundles

MODULES = [
    "engine.names",
    *(f"engine.bundles.{module.name}" for module in pkgutil.iter_modules(engine.bundles.__path__)),
    *(module.name for module in pkgutil.walk_packages(engine.balance.__path__, "engine.balance.") if not module.ispkg),
]
WITHOUT_EXAMPLES = {
    f"engine.balance.{name}"
    for name in (
        *("splitting.model", "splitting.modular_cycles", "splitting.world", "shedding.model", "shedding.transfer"),
        *("leadership.placement", "leadership.shedding", "leadership.state"),
        "ahead.modular",
    )
}


def test_those_without_examples_are_modules() -> None:
    assert set(MODULES) >= WITHOUT_EXAMPLES


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.failed == 0
    assert (outcome.attempted == 0) is (name in WITHOUT_EXAMPLES)
