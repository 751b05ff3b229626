"""One Spark session for all tests of this package, in one worker: a second one costs another start.

Tests that start a JVM of their own are in another worker (group ``java``), so that neither has to wait for the other.
The session is one for small input. Each other JVM that these tests start is also told to compile once and lightly, and
to collect with one thread; and all take the classes of the jars as they are. ``tests/process/test_fleet.py`` runs a
whole fleet as users do.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import pytest
from pyspark.sql import SparkSession

from pipeline.session import SHORT_LIVED, open_session
from pipeline.storage import StorePath, place_of
from tests.pipeline.stores import BUCKET, NoJarsError, jars, object_store, settings_for

UNVERIFIED: Final = "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
"""A fifth of what a JVM does until Spark is there is to check classes that are the same every time."""


@pytest.hookimpl(tryfirst=True)  # before xdist looks for groups, however early this file is loaded
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session", autouse=True)
def short_lived_jvms() -> Iterator[None]:
    """What ``java`` reads by itself, so that it reaches launchers, daemons and executors as well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JDK_JAVA_OPTIONS", f"{os.environ.get('JDK_JAVA_OPTIONS', '')} {SHORT_LIVED} {UNVERIFIED}".strip())
        yield


@pytest.fixture(scope="session")
def spark(short_lived_jvms: None) -> Iterator[SparkSession]:
    # Some plans are wanted with more than one task.
    settings = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2"}
    # A Connect server that a test starts listens where it meets nobody.
    settings |= {"spark.connect.grpc.binding.address": "127.0.0.1", "spark.connect.grpc.binding.port": "0"}
    with suppress(NoJarsError):  # those who need them skip with the reason
        settings["spark.driver.extraClassPath"] = f"{jars()}/*"
    with open_session(settings=settings, cores=2, small=True) as session:
        yield session


@pytest.fixture(scope="session")
def store_url() -> Iterator[str]:
    """A server of S3 with an empty bucket."""
    with object_store() as url:
        yield url


@pytest.fixture
def place(store_url: str, request: pytest.FixtureRequest) -> StorePath:
    """A folder of its own in the bucket for each test."""
    folder = re.sub(r"[^\w-]+", ".", request.node.name)
    result = place_of(f"s3a://{BUCKET}/{folder}", settings_for(store_url).get)
    assert isinstance(result, StorePath)
    return result
