"""Load balancing of a large cluster: 60 cycles of both managers, a key press, one bundle explained, every failure.

The cluster is invented: a hundred brokers with a hundred bundles each, whose traffic has a long tail.
"""

from __future__ import annotations

import gc
import random
from functools import partial
from typing import Final

from engine.balance.ahead.bundle_explained import explain_bundle
from engine.balance.ahead.forecast import shed_ahead
from engine.balance.ahead.model import ShedStart
from engine.balance.brokers import BrokerLoad, ResourceUsage, report_of
from engine.balance.limits import BundleStats
from engine.balance.settings import LoadSettings
from engine.errors import Rejection
from engine.views.brokers.heirs import losses_from
from tests.bench.table import Row, median_ms

BROKERS: Final = 100
BUNDLES: Final = 100
CYCLES: Final = 60
ROUNDS: Final = 3
PEER: Final = "one cycle from the reports, as many times"


def cluster(brokers: int = BROKERS, bundles: int = BUNDLES) -> tuple[BrokerLoad, ...]:
    """Brokers whose usage follows from the traffic of their bundles."""
    lots = random.Random(11)
    loads = []
    for number in range(brokers):
        factor = lots.uniform(0.4, 1.6)
        stats = [
            BundleStats(
                f"tenant-{at % 7}/space-{at % 5}/0x{number * bundles + at:08x}_0x{number * bundles + at + 1:08x}",
                lots.randrange(1, 40),
                msg_rate_in=(rate := factor * lots.lognormvariate(4, 1)),
                msg_rate_out=rate,
                throughput_in_bytes_per_sec=rate * 1_000,
                throughput_out_bytes_per_sec=rate * 1_000,
            )
            for at in range(bundles)
        ]
        used = min(95.0, 45.0 * factor)
        loads.append(report_of(f"broker-{number}:8080", stats, cpu=ResourceUsage(used, 100.0)))
    return tuple(loads)


def rows(brokers: int = BROKERS, bundles: int = BUNDLES) -> list[Row]:
    """A row for each load manager's forecast, and one for each question about it."""
    loads = cluster(brokers, bundles)
    settings = LoadSettings(loadBalancerBrokerLoadTargetStd=0.05)
    gc.collect()
    found = []
    size = f"{brokers} brokers x {brokers * bundles:,} bundles"
    for manager in ("modular", "extensible"):
        start = ShedStart(loads, settings, load_manager=manager)
        once = median_ms(partial(shed_ahead, start, 1), ROUNDS)
        many = median_ms(partial(shed_ahead, start, CYCLES), 1)
        found.append(Row(f"shed, {manager}: {CYCLES} cycles, {size}", many, PEER, once * CYCLES, "< 5 s"))
        one = loads[0].bundles[0]
        explained = median_ms(partial(explain_bundle, start, one), ROUNDS)
        found.append(Row(f"explain bundle, {manager}, {size}", explained, "one cycle", once, ""))
        failures = median_ms(partial(losses_from, start), 1)
        assert not isinstance(losses_from(start), Rejection)
        found.append(
            Row(f"heirs of every broker, {manager}, {size}", failures, "one cycle for each", once * brokers, "")
        )
    return found
