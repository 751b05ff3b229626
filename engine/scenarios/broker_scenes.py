"""Scenes of load reports that come with the package: invented numbers, with which the rules do what users saw."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final

from engine.admin.facts import WrittenLoad
from engine.admin.shed_inputs import ShedInputs
from engine.balance.brokers import BrokerLoad, ResourceUsage, report_of
from engine.balance.limits import BundleStats
from engine.balance.settings import MODULAR_CLASS
from engine.errors import InputError

NAMESPACES: Final = ("shop/orders", "shop/clicks", "fleet/positions")
BUNDLES: Final = 8
_BYTES_PER_MESSAGE: Final = 2048.0
_RATES: Final = (900.0, 400.0, 1500.0)
"""Messages/s in and out of the smallest bundle of each namespace."""
_CPU: Final = (620.0, 240.0, 200.0, 150.0)
_LIMIT_KBITS: Final = 1_000_000.0


def embedded_brokers() -> ShedInputs:
    """One report of each broker, as Pulsar 4.0 would write it: the first has half of all bundles."""
    deals: list[list[BundleStats]] = [[], [], [], []]
    for at, (namespace, rate) in enumerate(zip(NAMESPACES, _RATES, strict=True)):
        for number in range(BUNDLES):
            owner = 0 if number % 2 == 0 else 1 + (number // 2 + at) % 3
            deals[owner].append(_bundle(namespace, number, rate))
    written = tuple(WrittenLoad(_broker(number, deals[number]), 1_700_000_000_000) for number in range(4))
    return ShedInputs(written, version="4.0.7")


def _bundle(namespace: str, number: int, rate: float) -> BundleStats:
    width = 0x1_0000_0000 // BUNDLES
    upper = 0xFFFFFFFF if number == BUNDLES - 1 else (number + 1) * width
    msgs = rate * (1 + number % 4) / 2
    octets = msgs * _BYTES_PER_MESSAGE
    topics = 6 + 3 * number
    return BundleStats(
        f"{namespace}/0x{number * width:08x}_0x{upper:08x}",
        topics=topics,
        producers=topics,
        consumers=2 * topics,
        msg_rate_in=msgs,
        msg_rate_out=msgs,
        throughput_in_bytes_per_sec=octets,
        throughput_out_bytes_per_sec=octets,
    )


def _broker(number: int, stats: list[BundleStats]) -> BrokerLoad:
    kbits = sum(bundle.throughput_in_bytes_per_sec for bundle in stats) * 8 / 1024
    return report_of(
        f"broker-{number + 1}:8080",
        stats,
        cpu=ResourceUsage(_CPU[number], 800.0),
        memory=ResourceUsage(900.0 + 250.0 * number, 2048.0),
        direct_memory=ResourceUsage(120.0 + 300.0 * (number == 0), 1024.0),
        bandwidth_in=ResourceUsage(kbits, _LIMIT_KBITS),
        bandwidth_out=ResourceUsage(kbits, _LIMIT_KBITS),
        version="4.0.7",
        load_manager=MODULAR_CLASS,
    )


_MESSAGE_BYTES: Final = 1_000
_BUNDLES: Final = 16
"""Bundles of most namespaces, which have equal parts of its hash space."""
_WRITTEN_MS: Final = 1_700_000_000_000
_GBIT: Final = 1_000_000.0
"""The speed of a network card in kbit/s, the unit of load reports."""


@dataclass(frozen=True, slots=True)
class BrokerScene:
    """A scene by its name, what it shows, the release that it happens in, and settings that are not its defaults.

    ``cycles``: in how many it can be seen.
    """

    name: str
    about: str
    release: str
    loads: Callable[[], Sequence[BrokerLoad]]
    settings: Mapping[str, str] = field(default_factory=dict)
    cycles: int = 20

    def inputs(self) -> ShedInputs:
        """The scene as what would be read from a folder: one report of each broker."""
        written = tuple(WrittenLoad(load, _WRITTEN_MS) for load in self.loads())
        return ShedInputs(written, self.settings, version=self.release)


def broker_scene(name: str) -> BrokerScene:
    """A scene by its name. Raises ``InputError`` with the names there are for any other."""
    match = next((scene for scene in BROKER_SCENES if scene.name == name), None)
    if match is None:
        names = [scene.name for scene in BROKER_SCENES]
        near = get_close_matches(name, names, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise InputError(f"there is no scene {name!r}{hint} (scenes: {', '.join(names)})")
    return match


def _bundle_name(namespace: str, at: int, bundles: int) -> str:
    width = 2**32 // bundles
    upper = 0xFFFFFFFF if at == bundles - 1 else (at + 1) * width
    return f"{namespace}/0x{at * width:08x}_0x{upper:08x}"


def _stats(namespace: str, at: int, msgs_per_sec: float, *, topics: int = 5, bundles: int = _BUNDLES) -> BundleStats:
    """A bundle that takes in and gives out the same; half of the messages each way."""
    rate = msgs_per_sec / 2
    octets = rate * _MESSAGE_BYTES
    return BundleStats(_bundle_name(namespace, at, bundles), topics, topics, topics, rate, rate, octets, octets)


def _four_cores(number: int, stats: Sequence[BundleStats], cpu_percent: float) -> BrokerLoad:
    """One broker with 4 cores; its bandwidth is what its bundles need."""
    inward = sum(bundle.throughput_in_bytes_per_sec for bundle in stats) * 8 / 1_000
    outward = sum(bundle.throughput_out_bytes_per_sec for bundle in stats) * 8 / 1_000
    return report_of(
        f"broker-{number}:8080",
        stats,
        cpu=ResourceUsage(cpu_percent * 4, 400.0),
        memory=ResourceUsage(900.0, 4_096.0),
        direct_memory=ResourceUsage(512.0, 4_096.0),
        bandwidth_in=ResourceUsage(inward, _GBIT),
        bandwidth_out=ResourceUsage(outward, _GBIT),
        load_manager=MODULAR_CLASS,
    )


def _uneven() -> Sequence[BrokerLoad]:
    return embedded_brokers().loads


def _new_broker() -> Sequence[BrokerLoad]:
    full = [
        _four_cores(number, [_stats("shop/orders", 5 * (number - 1) + at, 2_000.0) for at in range(5)], 30.0)
        for number in range(1, 4)
    ]
    return [*full, _four_cores(4, (), 0.0)]


def _uniform_never() -> Sequence[BrokerLoad]:
    busy = _four_cores(1, [_stats("shop/orders", at, 150.0) for at in range(6)], 22.0)
    calm = _four_cores(2, [_stats("shop/orders", at, 50.0) for at in range(6, 8)], 6.0)
    return [busy, calm]


def _comes_back() -> Sequence[BrokerLoad]:
    # Few messages and much work on the first broker: far above the mean, it still has the fewest messages.
    busy = _four_cores(1, [_stats("shop/images", at, 900.0) for at in range(4)], 75.0)
    others = [
        _four_cores(number, [_stats("shop/orders", 8 * (number - 2) + at, 6_000.0) for at in range(8)], 40.0)
        for number in (2, 3)
    ]
    return [busy, *others]


def _endless() -> Sequence[BrokerLoad]:
    # A broker with heavy bundles has fewer than one with light bundles, so what it sheds goes to its like.
    heavy, light = 6, 4
    counts = [5] * heavy + [8] * light
    loads, at = [], 0
    for number, count in enumerate(counts, 1):
        rate, cpu = (30_000.0, 60.0) if number <= heavy else (1_500.0, 10.0)
        stats = [_stats("shop/orders", at + place, rate, bundles=64) for place in range(count)]
        loads.append(_four_cores(number, stats, cpu))
        at += count
    return loads


def _heavy_bundle() -> Sequence[BrokerLoad]:
    # One bundle carries more than the difference that triggers shedding, so every broker that gets it sheds it.
    return [
        _four_cores(1, [_stats("shop/orders", at, rate) for at, rate in enumerate((60_000.0, 900.0, 900.0))], 58.0),
        _four_cores(2, [_stats("shop/orders", at, 900.0) for at in range(3, 7)], 8.0),
        _four_cores(3, [_stats("shop/orders", at, 900.0) for at in range(7, 11)], 8.0),
    ]


BROKER_SCENES: Final = (
    BrokerScene(
        "uneven",
        "one of four brokers has far more than its share; both bundles that it sheds go to the same other one",
        "4.0.7",
        lambda: embedded_brokers().loads,
    ),
    BrokerScene(
        "upgrade",
        "the cluster of uneven with the defaults of 5.0: AvgShedder unloads five bundles where ThresholdShedder unloads"
        " two, and the fullest broker comes nearer to the mean",
        "5.0.1",
        lambda: embedded_brokers().loads,
    ),
    BrokerScene(
        "new-broker",
        "a fourth broker stays idle, since nobody is far above the mean (pulsar#18215, pulsar#17456)",
        "4.2.4",
        _new_broker,
    ),
    BrokerScene(
        "uniform-never",
        "one broker has nine times the messages of the other, still too few for an unload (pulsar#21174, pulsar#21299)",
        "4.2.4",
        _uniform_never,
        {"loadBalancerLoadSheddingStrategy": "UniformLoadShedder"},
    ),
    BrokerScene(
        "comes-back",
        "bundles come back to the broker that unloads them, as it has the fewest messages (pulsar#21722)",
        "2.11.0",
        _comes_back,
        {
            "loadBalancerDistributeBundlesEvenlyEnabled": "false",
            "loadBalancerBundleUnloadMinThroughputThreshold": "0",
            "loadBalancerSheddingGracePeriodMinutes": "5",
        },
    ),
    BrokerScene(
        "endless",
        "brokers with heavy bundles have the fewest bundles, so what one of them sheds goes to another of them: over"
        " 400 unloads in ten hours; 12 without loadBalancerDistributeBundlesEvenlyEnabled (pulsar#16059)",
        "2.11.0",
        _endless,
        cycles=60,  # a bundle is not unloaded again within half an hour
    ),
    BrokerScene(
        "heavy-bundle",
        "one bundle is heavier than what a broker may have above the mean, so every broker that gets it sheds it",
        "4.2.4",
        _heavy_bundle,
        {
            "loadBalancerDistributeBundlesEvenlyEnabled": "false",
            "loadBalancerSheddingGracePeriodMinutes": "0",
            "loadBalancerHistoryResourcePercentage": "0.5",
        },
    ),
)
"""The first one is shown where nothing is given."""
