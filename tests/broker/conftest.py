"""Real brokers, one for each set of settings, started when the first test needs it and ended with the last of these."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.broker.jars import jars
from tests.broker.releases import NoBrokerError
from tests.broker.standalone import Broker, real_broker

Brokers = Callable[[Mapping[str, str]], Broker]
STEPS_VARIABLE = "RINGSIDE_BROKER_STEPS"
SEED_VARIABLE = "RINGSIDE_BROKER_SEED"
LEAST_VARIABLE = "RINGSIDE_BROKER_PREDICTIONS"
"""How many predictions a whole run has to check; ``make test-broker`` says it."""
SHORT = 10
"""Steps of each run where nobody asks for more: all of them take half a minute."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = f"{Path(__file__).parent}{os.sep}"  # comparing paths takes a second for all tests of the project
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.xdist_group("broker"))


@pytest.fixture(scope="session")
def broker_jars() -> Path:
    """The jars, or a skip that says in one line why there is no broker."""
    try:
        return jars()
    except NoBrokerError as error:
        pytest.skip(f"no real broker here: {error}")


@pytest.fixture(scope="package")
def brokers(broker_jars: Path) -> Iterator[Brokers]:
    """A broker with the given settings, the same one for the same settings.

    A broker that idles takes a fiftieth of a core, so none waits for the end of the session.
    """
    running: dict[tuple[tuple[str, str], ...], Broker] = {}
    with ExitStack() as ending:

        def started(settings: Mapping[str, str]) -> Broker:
            key = tuple(sorted(settings.items()))
            if key not in running:
                running[key] = ending.enter_context(real_broker(broker_jars, settings))
            return running[key]

        yield started


@pytest.fixture(scope="session")
def predictions() -> Iterator[list[int]]:
    """How many predictions each run checked; all of them together have to be enough where somebody says how many."""
    checked: list[int] = []
    yield checked
    least = int(os.environ.get(LEAST_VARIABLE, "0"))
    assert sum(checked) >= least, f"{sum(checked)} predictions were checked, not {least}"


@pytest.fixture
def steps() -> int:
    """How many changes a run makes."""
    return int(os.environ.get(STEPS_VARIABLE) or SHORT)


@pytest.fixture
def seed() -> int:
    return int(os.environ.get(SEED_VARIABLE) or "1")
