"""Which router a producer gets, and what becomes of the answer of a router of one's own.

Source: ``ProducerBuilderImpl.setMessageRoutingMode``, ``PartitionedProducerImpl``. A custom router is the caller's own
code: it is not modelled, its answer is checked.
"""

from __future__ import annotations

from typing import Literal

from engine.errors import Rejection

MessageRoutingMode = Literal["SinglePartition", "RoundRobinPartition", "CustomPartition"]


def routing_mode(mode: MessageRoutingMode | None, *, has_router: bool) -> MessageRoutingMode | Rejection:
    """The mode of a producer for which ``mode`` was asked (None: nothing), with or without a router of one's own.

    A router and the mode CustomPartition need each other; without a mode, the presence of a router decides.

    >>> routing_mode(None, has_router=False), routing_mode(None, has_router=True)
    ('RoundRobinPartition', 'CustomPartition')
    """
    if mode is None:
        return "CustomPartition" if has_router else "RoundRobinPartition"
    if (mode == "CustomPartition") != has_router:
        message = "When 'messageRouter' is set, 'messageRoutingMode' should be set as CustomPartition"
        return Rejection("PulsarClientException", message, field="messageRoutingMode")
    return mode


def checked_partition(partition: int, partitions: int) -> int | Rejection:
    """The answer of a router, refused where it is not one of 0 .. ``partitions`` - 1.

    >>> checked_partition(5, 6), str(checked_partition(6, 6))
    (5, 'Illegal partition index chosen by the message routing policy: 6')
    """
    if 0 <= partition < partitions:
        return partition
    message = f"Illegal partition index chosen by the message routing policy: {partition}"
    return Rejection("IllegalArgumentException", message)
