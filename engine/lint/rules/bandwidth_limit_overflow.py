"""A bandwidth limit of 2048 binary megabytes or more does not fit the 32 bits in which it is multiplied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.balance.limits import bandwidth_finding, bandwidth_limit
from engine.lint.model import Finding, Rule, Severity, Where, World

ID: Final = "bandwidth-limit-overflow"


def check(world: World) -> Iterator[Finding]:
    """One finding for the limit of all brokers: what was meant, and what both load managers compare with. O(1).

    >>> from engine.config import BrokerSettings
    >>> large = World(BrokerSettings(loadBalancerNamespaceBundleMaxBandwidthMbytes=2048))
    >>> [finding.number("compared_bytes_per_sec") for finding in check(large)]
    [-2147483648]
    """
    refusal = bandwidth_finding(world.settings)
    if refusal is None:
        return
    limit = bandwidth_limit(world.settings)
    numbers = (
        ("mbytes_per_sec", limit.mbytes),
        ("meant_bytes_per_sec", limit.bytes_per_sec),
        ("compared_bytes_per_sec", limit.pulsar_bytes_per_sec),
    )
    advice = "set loadBalancerNamespaceBundleMaxBandwidthMbytes to 2047 or less"
    yield Finding(ID, Severity.ERROR, f"{refusal.field}: {refusal.message}", Where(), numbers, advice)


RULE: Final = Rule(
    ID,
    "loadBalancerNamespaceBundleMaxBandwidthMbytes is 2048 or more and overflows",
    Severity.ERROR,
    "BundleSplitterTask, DefaultNamespaceBundleSplitStrategyImpl",
    check,
)
