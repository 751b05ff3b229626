"""One Spark session for all tests of this package, in one worker: a second one costs another start.

Each JVM that these tests start is told to compile once and lightly, and to collect with one thread, and the shared
session to run small plans as they are: none lives long enough to win back what more costs, which is more than half of
its CPU time. ``tests/process/test_fleet.py`` runs a whole fleet with the Spark settings that users have.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

import pytest
from pyspark.sql import SparkSession

from pipeline.session import open_session

SHORT_LIVED: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
TINY_DATA: Final = {
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@pytest.hookimpl(tryfirst=True)  # before xdist looks for groups, however early this file is loaded
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session", autouse=True)
def short_lived_jvms() -> Iterator[None]:
    """What ``java`` reads by itself, so that it reaches launchers, daemons and executors as well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JDK_JAVA_OPTIONS", f"{os.environ.get('JDK_JAVA_OPTIONS', '')} {SHORT_LIVED}".strip())
        yield


@pytest.fixture(scope="session")
def spark(short_lived_jvms: None) -> Iterator[SparkSession]:
    with open_session(settings=TINY_DATA, cores=2) as session:
        yield session
