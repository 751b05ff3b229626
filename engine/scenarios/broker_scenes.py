"""What users reported of load balancing, in invented numbers: by the rules each scene does what they saw."""

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
from engine.config import CURRENT
from engine.errors import InputError
from engine.scenarios.embedded import embedded_brokers

_MESSAGE_BYTES: Final = 1_000
_BUNDLES: Final = 16
"""Of a namespace: its hash space in equal parts."""
_WRITTEN_MS: Final = 1_700_000_000_000
_GBIT: Final = 1_000_000.0
"""Of a network card, in the unit of the reports: 1,000 bits a second."""


@dataclass(frozen=True, slots=True)
class BrokerScene:
    """A scene by its name, what it shows, the release that it happens in, and settings that are not its defaults."""

    name: str
    about: str
    release: str
    made: Callable[[], Sequence[BrokerLoad]]
    settings: Mapping[str, str] = field(default_factory=dict)

    def inputs(self) -> ShedInputs:
        """The scene as what would be read from a folder: one report of each broker."""
        written = tuple(WrittenLoad(load, _WRITTEN_MS) for load in self.made())
        return ShedInputs(written, self.settings, version=self.release)


def broker_scene(name: str) -> BrokerScene:
    """A scene by its name. Raises ``InputError`` with the names there are for any other."""
    found = next((scene for scene in BROKER_SCENES if scene.name == name), None)
    if found is None:
        names = [scene.name for scene in BROKER_SCENES]
        near = get_close_matches(name, names, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise InputError(f"there is no scene {name!r}{hint} (scenes: {', '.join(names)})")
    return found


def _bundle(namespace: str, at: int) -> str:
    width = 2**32 // _BUNDLES
    upper = 0xFFFFFFFF if at == _BUNDLES - 1 else (at + 1) * width
    return f"{namespace}/0x{at * width:08x}_0x{upper:08x}"


def _stats(namespace: str, at: int, msgs_per_sec: float, *, topics: int = 5) -> BundleStats:
    """A bundle that takes in and gives out the same; half of the messages each way."""
    each = msgs_per_sec / 2
    octets = each * _MESSAGE_BYTES
    return BundleStats(_bundle(namespace, at), topics, topics, topics, each, each, octets, octets)


def _broker(number: int, stats: Sequence[BundleStats], cpu_percent: float) -> BrokerLoad:
    """One broker with 4 cores; its bandwidth is what its bundles need."""
    inward = sum(each.throughput_in_bytes_per_sec for each in stats) * 8 / 1_000
    outward = sum(each.throughput_out_bytes_per_sec for each in stats) * 8 / 1_000
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
        _broker(number, [_stats("shop/orders", 5 * (number - 1) + at, 2_000.0) for at in range(5)], 30.0)
        for number in range(1, 4)
    ]
    return [*full, _broker(4, (), 0.0)]


def _uniform_never() -> Sequence[BrokerLoad]:
    busy = _broker(1, [_stats("shop/orders", at, 150.0) for at in range(6)], 22.0)
    calm = _broker(2, [_stats("shop/orders", at, 50.0) for at in range(6, 8)], 6.0)
    return [busy, calm]


def _comes_back() -> Sequence[BrokerLoad]:
    # Few messages and much work on the first broker: far above the mean, it still has the fewest messages.
    busy = _broker(1, [_stats("shop/images", at, 900.0) for at in range(4)], 75.0)
    others = [
        _broker(number, [_stats("shop/orders", 8 * (number - 2) + at, 6_000.0) for at in range(8)], 40.0)
        for number in (2, 3)
    ]
    return [busy, *others]


def _endless() -> Sequence[BrokerLoad]:
    # One bundle is more than the difference that is looked for: whoever has it sheds it.
    return [
        _broker(1, [_stats("shop/orders", at, rate) for at, rate in enumerate((60_000.0, 900.0, 900.0))], 58.0),
        _broker(2, [_stats("shop/orders", at, 900.0) for at in range(3, 7)], 8.0),
        _broker(3, [_stats("shop/orders", at, 900.0) for at in range(7, 11)], 8.0),
    ]


BROKER_SCENES: Final = (
    BrokerScene(
        "uneven", "four brokers, one of them with far more than its share", "4.0.7", lambda: embedded_brokers().loads
    ),
    BrokerScene(
        "upgrade",
        "the same cluster with the defaults of 5.0: AvgShedder decides",
        "5.0",
        lambda: embedded_brokers().loads,
    ),
    BrokerScene("new-broker", "a fourth broker stays idle: nobody is far above the mean", CURRENT.label, _new_broker),
    BrokerScene(
        "uniform-never",
        "nine times the messages, too few for an unload",
        CURRENT.label,
        _uniform_never,
        {"loadBalancerLoadSheddingStrategy": "UniformLoadShedder"},
    ),
    BrokerScene(
        "comes-back",
        "a bundle unloaded for nothing: its broker has the fewest messages",
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
        "one bundle that every broker sheds, wherever it is",
        CURRENT.label,
        _endless,
        {
            "loadBalancerDistributeBundlesEvenlyEnabled": "false",
            "loadBalancerSheddingGracePeriodMinutes": "0",
            "loadBalancerHistoryResourcePercentage": "0.5",
        },
    ),
)
"""The first one is shown where nothing is given."""
