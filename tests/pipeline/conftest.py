"""One Spark session for all tests of this package, in one worker: a second one costs another start."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from pipeline.session import open_session


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    settings = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2"}
    with open_session(settings=settings, cores=2) as session:
        yield session
