"""The hand-checkable examples in the docstrings of names and bundles hold."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import engine.bundles

MODULES = [
    "engine.names",
    *(f"engine.bundles.{module.name}" for module in pkgutil.iter_modules(engine.bundles.__path__)),
]
WITHOUT_EXAMPLES = {
    f"engine.bundles.{name}"
    for name in (
        "balance_extensible",
        "balance_model",
        "balance_modular",
        "balance_world",
        "extensible_model",
    )
}


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.failed == 0
    assert (outcome.attempted == 0) is (name in WITHOUT_EXAMPLES)
