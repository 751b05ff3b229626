"""The check of the partition that a custom router answers."""

from __future__ import annotations

import pytest

from engine.errors import Rejection
from engine.routing.routers import checked_partition


@pytest.mark.parametrize("partition", [0, 5])
def test_a_partition_that_exists_is_taken(partition: int) -> None:
    assert checked_partition(partition, 6) == partition


@pytest.mark.parametrize("partition", [-1, 6, 2**31])
def test_a_partition_that_does_not_exist_is_refused_by_its_number(partition: int) -> None:
    refusal = checked_partition(partition, 6)
    assert isinstance(refusal, Rejection)
    assert refusal.message == f"Illegal partition index chosen by the message routing policy: {partition}"
