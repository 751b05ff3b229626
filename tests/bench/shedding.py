"""Load balancing of a large cluster: 60 cycles of both managers, a key press, one bundle explained, every failure.

The cluster is invented: a hundred brokers with a hundred bundles each, whose traffic has a long tail. In the busy form
of it every tenth broker is full, so that the cycles unload hundreds of bundles.
"""

from __future__ import annotations

import asyncio
import gc
import random
import time
from functools import partial
from typing import Final

from msgspec.structs import replace

from engine.admin.facts import WrittenLoad
from engine.admin.shed_inputs import ShedInputs
from engine.balance.ahead.bundle_explained import explain_bundle
from engine.balance.ahead.forecast import shed_ahead
from engine.balance.ahead.model import ShedStart
from engine.balance.brokers import BrokerLoad, ResourceUsage, report_of
from engine.balance.limits import BundleStats
from engine.balance.settings import LoadSettings
from engine.errors import Rejection
from engine.views.brokers.heirs import losses_from
from engine.views.brokers.model import BrokersInput, BrokersQuestion
from engine.views.brokers.view import SHEDDERS
from tests.bench.pressing import SIZE, Paints, Taken, peer_ms
from tests.bench.table import Row, median_ms
from tui.brokers.app import BrokersApp
from tui.brokers.screen import BrokersScreen
from tui.kit.collecting import collect_seldom

BROKERS: Final = 100
BUNDLES: Final = 100
CYCLES: Final = 60
ROUNDS: Final = 3
HOT: Final = LoadSettings(loadBalancerBundleUnloadMinThroughputThreshold=0.1, loadBalancerSheddingGracePeriodMinutes=10)
"""Settings with which the busy cluster unloads much."""
QUESTIONS: Final = ("x", "a", "m", "m", "r", "t", "u", "enter")
DIALOG: Final = ("equals_sign", "ctrl+right", "pageup", "down", "escape")
"""The settings are opened, a slider is moved by one and by ten steps, the next setting is marked."""
IDLE_S: Final = 0.1
PEER: Final = "one cycle from the reports, as many times"


def cluster(brokers: int = BROKERS, bundles: int = BUNDLES, *, busy: bool = False) -> tuple[BrokerLoad, ...]:
    """Brokers whose usage follows from the traffic of their bundles; ``busy``: but for those that are full."""
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
        used = 99.0 if busy and number % 10 == 0 else min(95.0, 45.0 * factor)
        loads.append(report_of(f"broker-{number}:8080", stats, cpu=ResourceUsage(used, 100.0)))
    return tuple(loads)


def rows(brokers: int = BROKERS, bundles: int = BUNDLES) -> list[Row]:
    """A row for each load manager's forecast, and one for each question about it."""
    loads = cluster(brokers, bundles)
    settings = LoadSettings(loadBalancerBrokerLoadTargetStd=0.05)
    gc.collect()
    result = []
    size = f"{brokers} brokers x {brokers * bundles:,} bundles"
    for manager in ("modular", "extensible"):
        start = ShedStart(loads, settings, load_manager=manager)
        once = median_ms(partial(shed_ahead, start, 1), ROUNDS)
        many = median_ms(partial(shed_ahead, start, CYCLES), 1)
        result.append(Row(f"shed, {manager}: {CYCLES} cycles, {size}", many, PEER, once * CYCLES, "< 5 s"))
        bundle = loads[0].bundles[0]
        explained = median_ms(partial(explain_bundle, start, bundle), ROUNDS)
        result.append(Row(f"explain bundle, {manager}, {size}", explained, "one cycle", once, ""))
        failures = median_ms(partial(losses_from, start), 1)
        assert not isinstance(losses_from(start), Rejection)
        result.append(
            Row(f"heirs of every broker, {manager}, {size}", failures, "one cycle for each", once * brokers, "")
        )
    busy = cluster(brokers, bundles, busy=True)
    for chosen in (HOT, replace(HOT, loadBalancerSheddingGracePeriodMinutes=0)):
        start = ShedStart(busy, chosen)
        ahead = shed_ahead(start, CYCLES)
        assert not isinstance(ahead, Rejection)
        many = median_ms(partial(shed_ahead, start, CYCLES), 1)
        once = median_ms(partial(shed_ahead, start, 1), 1)
        what = f"shed, modular: {CYCLES} cycles with {len(ahead.moves):,} unloads, {size}"
        result.append(Row(what, many, PEER, once * CYCLES, "< 5 s"))
    return [*result, *asyncio.run(_presses(busy, size))]


async def _presses(loads: tuple[BrokerLoad, ...], size: str) -> list[Row]:
    """What a key press takes in the dialog of settings, and a question until it is answered, beside a bare Textual.

    In processor time of the thread that paints. A question is answered by another thread, and shedder after shedder is
    compared then: a row of its own is about all paints until everything is there.
    """
    given = BrokersInput(ShedInputs(tuple(WrittenLoad(load, 1) for load in loads)), HOT)
    app, taken = BrokersApp(given, BrokersQuestion()), Taken()
    paints = Paints(app, time.thread_time)
    async with app.run_test(size=SIZE) as pilot:
        screen = app.screen
        assert isinstance(screen, BrokersScreen)
        while len(screen.compared) < len(SHEDDERS):  # worked out in threads
            await asyncio.sleep(IDLE_S)
        gc.collect()
        collect_seldom()  # as the product does once it has started
        for key in DIALOG * 3:
            taken.add(f"settings, key {key}", await paints.press(pilot, key))
        for key in QUESTIONS:
            if key == "enter":
                await pilot.press("equals_sign", "ctrl+right")
                await pilot.pause()
            view = screen.view
            paints.begin()
            await pilot.press(key)
            while screen.view is view or len(screen.compared) < len(SHEDDERS):
                await asyncio.sleep(IDLE_S)
            await asyncio.sleep(IDLE_S)
            taken.add("a question until its answer and all shedders are painted", paints.taken())
        gc.unfreeze()
    return taken.rows(f"brokers, {size}", await peer_ms(time.thread_time))
