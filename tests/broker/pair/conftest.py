"""Two real brokers for each set of settings, started when the first test needs them and ended with the session."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.broker.conftest import STEPS_VARIABLE
from tests.broker.jars import more_jars
from tests.broker.pair.cluster import two_brokers
from tests.broker.releases import NoBrokerError
from tests.broker.standalone import Broker

Pairs = Callable[[Mapping[str, str]], tuple[Broker, Broker]]


@pytest.fixture(scope="module")
def pairs(broker_jars: Path) -> Iterator[Pairs]:
    """Two brokers with the given settings. The short form of these tests does without: four processes take half a
    minute."""
    if not os.environ.get(STEPS_VARIABLE):
        pytest.skip(f"two brokers are started by make test-broker ({STEPS_VARIABLE} is not set)")
    try:
        jars = more_jars()
    except NoBrokerError as error:
        pytest.skip(f"no two brokers here: {error}")
    with ExitStack() as ending:
        yield lambda settings: ending.enter_context(two_brokers(broker_jars, jars, settings))
