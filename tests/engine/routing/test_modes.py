"""Which router a producer gets, and the check of a custom router's answer."""

from __future__ import annotations

import pytest

from engine.errors import Rejection
from engine.routing.modes import MessageRoutingMode, checked_partition, routing_mode


@pytest.mark.parametrize(
    ("mode", "has_router", "expected"),
    [
        (None, False, "RoundRobinPartition"),
        (None, True, "CustomPartition"),
        ("SinglePartition", False, "SinglePartition"),
        ("RoundRobinPartition", False, "RoundRobinPartition"),
        ("CustomPartition", True, "CustomPartition"),
    ],
)
def test_a_mode_asked_for_is_given_and_a_router_means_custom(
    mode: MessageRoutingMode | None, has_router: bool, expected: str
) -> None:
    assert routing_mode(mode, has_router=has_router) == expected


@pytest.mark.parametrize(
    ("mode", "has_router"), [("CustomPartition", False), ("SinglePartition", True), ("RoundRobinPartition", True)]
)
def test_a_router_and_the_mode_custom_need_each_other(mode: MessageRoutingMode, has_router: bool) -> None:
    refusal = routing_mode(mode, has_router=has_router)
    assert isinstance(refusal, Rejection)
    assert refusal.message == "When 'messageRouter' is set, 'messageRoutingMode' should be set as CustomPartition"


@pytest.mark.parametrize("partition", [0, 5])
def test_a_partition_that_exists_is_taken(partition: int) -> None:
    assert checked_partition(partition, 6) == partition


@pytest.mark.parametrize("partition", [-1, 6, 2**31])
def test_a_partition_that_does_not_exist_is_refused_by_its_number(partition: int) -> None:
    refusal = checked_partition(partition, 6)
    assert isinstance(refusal, Rejection)
    assert refusal.message == f"Illegal partition index chosen by the message routing policy: {partition}"
