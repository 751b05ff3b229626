"""What a broker reports of a bundle, and which limit of automatic splitting it exceeds.

Shared by ``BundleSplitterTask`` and ``DefaultNamespaceBundleSplitStrategyImpl``, which ask the same questions of
different numbers: long-term averages the one, current rates the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from engine.answer import about
from engine.bundles.algorithms import BYTES_PER_MBYTE
from engine.bundles.loads import BothWays
from engine.config import BrokerSettings
from engine.errors import Rejection

SplitReason = Literal["Topics", "Sessions", "MsgRate", "Bandwidth", "Unknown"]
"""``SplitDecision.Reason``; the modular load manager names none, but tests in the same order."""


@dataclass(frozen=True, slots=True)
class BundleStats(BothWays):
    """One bundle in a load report (``NamespaceBundleStats``): full name, counts, current msg/s and bytes/s.

    ``bundle`` is ``tenant/namespace/0x..._0x...``. ``topics`` are all that are loaded, system topics included: with
    topic policies on, each namespace has its ``__change_events`` in one of its bundles.
    """

    bundle: str
    topics: Annotated[int, about("Its topics, by the load report.", 0)] = 0
    producers: Annotated[int, about("Producers that connect again, by the load report.", 0)] = 0
    consumers: Annotated[int, about("Consumers that connect again, by the load report.", 0)] = 0
    msg_rate_in: float = 0.0
    msg_rate_out: float = 0.0
    throughput_in_bytes_per_sec: float = 0.0
    throughput_out_bytes_per_sec: float = 0.0

    @property
    def namespace(self) -> str:
        """What stands before the last slash (``LoadManagerShared.getNamespaceNameFromBundleName``)."""
        return self.bundle.rpartition("/")[0]

    @property
    def range_text(self) -> str:
        """What stands after the last slash, letter for letter (``getBundleRangeFromBundleName``)."""
        return self.bundle.rpartition("/")[2]

    @property
    def sessions(self) -> int:
        return self.producers + self.consumers


@dataclass(frozen=True, slots=True)
class BandwidthLimit:
    """``loadBalancerNamespaceBundleMaxBandwidthMbytes`` in bytes/s: as the deciders compare it, and as it is meant.

    Both deciders multiply in 32 bits, so from 2048 on the limit is another one; ``flow_or_qps_equally_divide``
    multiplies in 64 bits and is right.

    >>> [BandwidthLimit(mbytes).pulsar_bytes_per_sec for mbytes in (100, 2047, 2048, 4096, 5000)]
    [104857600, 2146435072, -2147483648, 0, 947912704]
    """

    mbytes: int

    @property
    def pulsar_bytes_per_sec(self) -> int:
        """The product as a Java ``int``: what is compared."""
        return (self.bytes_per_sec + 2**31) % 2**32 - 2**31

    @property
    def bytes_per_sec(self) -> int:
        """The product itself: what was meant."""
        return self.mbytes * BYTES_PER_MBYTE

    @property
    def overflows(self) -> bool:
        return self.pulsar_bytes_per_sec != self.bytes_per_sec


def bandwidth_limit(settings: BrokerSettings) -> BandwidthLimit:
    """The bandwidth limit of a broker's settings."""
    return BandwidthLimit(settings.loadBalancerNamespaceBundleMaxBandwidthMbytes)


def exceeded_limit(
    stats: BundleStats, msgs_per_sec: float, bytes_per_sec: float, settings: BrokerSettings
) -> SplitReason:
    """The first limit a bundle is above, of topics, sessions, messages, bandwidth; "Unknown" for none.

    Reaching a limit is not exceeding it. A session limit of 0 or less switches that test off; the others have no such
    value. A rate that is not a number exceeds nothing.

    >>> exceeded_limit(BundleStats("t/n/0x0_0x9", topics=1000), 30000.5, 0.0, BrokerSettings())
    'MsgRate'
    """
    if stats.topics > settings.loadBalancerNamespaceBundleMaxTopics:
        return "Topics"
    if 0 < settings.loadBalancerNamespaceBundleMaxSessions < stats.sessions:
        return "Sessions"
    if msgs_per_sec > settings.loadBalancerNamespaceBundleMaxMsgRate:
        return "MsgRate"
    if bytes_per_sec > bandwidth_limit(settings).pulsar_bytes_per_sec:
        return "Bandwidth"
    return "Unknown"


def over_limits(
    topics: NDArray[np.int64], sessions: NDArray[np.float64], msgs_per_sec: NDArray[np.float64],
    bytes_per_sec: NDArray[np.float64], settings: BrokerSettings,
) -> NDArray[np.bool_]:  # fmt: skip
    """Whether each of n bundles is above any limit: ``exceeded_limit`` of arrays of (n,); ``topics`` are loaded."""
    most_sessions = settings.loadBalancerNamespaceBundleMaxSessions
    over: NDArray[np.bool_] = topics > settings.loadBalancerNamespaceBundleMaxTopics
    over |= (sessions > most_sessions) & (most_sessions > 0)
    over |= msgs_per_sec > settings.loadBalancerNamespaceBundleMaxMsgRate
    over |= bytes_per_sec > bandwidth_limit(settings).pulsar_bytes_per_sec
    return over


@dataclass(frozen=True, slots=True)
class LimitMeasure:
    """One number of a bundle beside the limit a decider compares it with, in the unit of its reason.

    Topics and Sessions are counts, MsgRate is msg/s, Bandwidth is bytes/s. The bandwidth limit is the one compared, so
    it can be negative (:class:`BandwidthLimit`).
    """

    reason: SplitReason
    measured: float
    limit: float

    @property
    def over_by(self) -> float:
        """How far above the limit; 0 or less: not above it."""
        return self.measured - self.limit

    @property
    def exceeds(self) -> bool:
        return self.measured > self.limit

    @property
    def share_of_limit(self) -> float:
        """Measured in terms of the limit, 1.0 on it; above 1 for any number above a limit of 0 or less."""
        if self.limit > 0:
            return self.measured / self.limit
        return 2.0 if self.exceeds else 0.0


def limit_measures(
    stats: BundleStats, msgs_per_sec: float, bytes_per_sec: float, settings: BrokerSettings
) -> tuple[LimitMeasure, ...]:
    """All numbers a decider compares, in its order; the sessions only while their limit is above 0.

    >>> measures = limit_measures(BundleStats("t/n/0x0_0x9", topics=1001), 15000.0, 0.0, BrokerSettings())
    >>> [(measure.reason, measure.over_by, round(measure.share_of_limit, 3)) for measure in measures[:3]]
    [('Topics', 1.0, 1.001), ('Sessions', -1000.0, 0.0), ('MsgRate', -15000.0, 0.5)]
    """
    found = [LimitMeasure("Topics", float(stats.topics), float(settings.loadBalancerNamespaceBundleMaxTopics))]
    if settings.loadBalancerNamespaceBundleMaxSessions > 0:
        sessions = float(settings.loadBalancerNamespaceBundleMaxSessions)
        found.append(LimitMeasure("Sessions", float(stats.sessions), sessions))
    found.append(LimitMeasure("MsgRate", msgs_per_sec, float(settings.loadBalancerNamespaceBundleMaxMsgRate)))
    found.append(LimitMeasure("Bandwidth", bytes_per_sec, float(bandwidth_limit(settings).pulsar_bytes_per_sec)))
    return tuple(found)


def bandwidth_finding(settings: BrokerSettings) -> Rejection | None:
    """What is wrong with a bandwidth limit that does not fit 32 bits: what Pulsar compares, and what was meant.

    None while the limit is right. Automatic splitting goes on with Pulsar's number, as the brokers do.

    >>> bandwidth_finding(BrokerSettings(loadBalancerNamespaceBundleMaxBandwidthMbytes=4096)).error
    'BandwidthLimitOverflow'
    """
    limit = bandwidth_limit(settings)
    if not limit.overflows:
        return None
    compared = limit.pulsar_bytes_per_sec
    effect = {True: "so any traffic at all is over it", False: "which is not what was asked for"}[compared == 0]
    if compared < 0:
        effect = "so every bundle with two topics is over it, idle ones too"
    return Rejection(
        "BandwidthLimitOverflow",
        f"{limit.mbytes} binary megabytes a second are {limit.bytes_per_sec} bytes/s, but both load managers multiply"
        f" in 32 bits and compare with {compared}, {effect}; flow_or_qps_equally_divide uses the right number."
        " The largest limit that works is 2047",
        field="loadBalancerNamespaceBundleMaxBandwidthMbytes",
    )
