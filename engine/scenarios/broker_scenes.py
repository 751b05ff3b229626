"""Clusters for the screen "brokers", as load reports: a plain one, and what users reported, in invented numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Final

from engine.balance.brokers import BrokerLoad, ResourceUsage, report_of
from engine.balance.limits import BundleStats
from engine.balance.settings import LoadSettings, default_load_settings
from engine.balance.shed_question import ShedQuestion
from engine.config import CURRENT, ReleaseBehaviour, behaviour_of
from engine.errors import InputError

_MESSAGE_BYTES: Final = 1_000
_BUNDLES: Final = 16
"""Of a namespace: its hash space in equal parts."""
_GBIT: Final = 1_000_000.0
"""Of a network card, in the unit of the reports: 1,000 bits a second."""


@dataclass(frozen=True, slots=True)
class BrokerScene:
    """A scene by its name, what it shows, and the release that it happens in."""

    name: str
    about: str
    release: str
    made: Callable[[LoadSettings], tuple[Sequence[BrokerLoad], LoadSettings]]

    def question(self, cycles: int = 20) -> ShedQuestion:
        """The scene as a question about its next cycles."""
        behaviour = behaviour_of(self.release)
        assert isinstance(behaviour, ReleaseBehaviour), behaviour
        reports, settings = self.made(default_load_settings(behaviour.load))
        return ShedQuestion(
            tuple(reports), settings, behaviour.load, shedder=settings.loadBalancerLoadSheddingStrategy, cycles=cycles
        )


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
    )


def _uneven(settings: LoadSettings) -> tuple[Sequence[BrokerLoad], LoadSettings]:
    rates = (
        [("shop/orders", at, 3_000.0 + 400.0 * at) for at in range(6)]
        + [("shop/clicks", at, 9_000.0 - 900.0 * at) for at in range(4)],
        [("shop/orders", at, 2_000.0) for at in range(6, 11)] + [("shop/clicks", at, 4_000.0) for at in range(4, 7)],
        [("shop/orders", at, 1_500.0) for at in range(11, 16)] + [("audit/log", at, 1_200.0) for at in range(4)],
        [("shop/clicks", at, 1_800.0) for at in range(7, 12)] + [("audit/log", at, 700.0) for at in range(4, 8)],
    )
    cpus = (64.0, 33.0, 24.0, 18.0)
    brokers = [
        _broker(number, [_stats(*rate) for rate in each], cpu)
        for number, (each, cpu) in enumerate(zip(rates, cpus, strict=True), 1)
    ]
    return brokers, settings


def _new_broker(settings: LoadSettings) -> tuple[Sequence[BrokerLoad], LoadSettings]:
    full = [
        _broker(number, [_stats("shop/orders", 5 * (number - 1) + at, 2_000.0) for at in range(5)], 30.0)
        for number in range(1, 4)
    ]
    return [*full, _broker(4, (), 0.0)], settings


def _uniform_never(settings: LoadSettings) -> tuple[Sequence[BrokerLoad], LoadSettings]:
    busy = _broker(1, [_stats("shop/orders", at, 150.0) for at in range(6)], 22.0)
    calm = _broker(2, [_stats("shop/orders", at, 50.0) for at in range(6, 8)], 6.0)
    return [busy, calm], replace(settings, loadBalancerLoadSheddingStrategy="UniformLoadShedder")


def _comes_back(settings: LoadSettings) -> tuple[Sequence[BrokerLoad], LoadSettings]:
    # Few messages and much work on the first broker: far above the mean, it still has the fewest messages.
    busy = _broker(1, [_stats("shop/images", at, 900.0) for at in range(4)], 75.0)
    others = [
        _broker(number, [_stats("shop/orders", 8 * (number - 2) + at, 6_000.0) for at in range(8)], 40.0)
        for number in (2, 3)
    ]
    return [busy, *others], replace(
        settings,
        loadBalancerDistributeBundlesEvenlyEnabled=False,
        loadBalancerBundleUnloadMinThroughputThreshold=0.0,
        loadBalancerSheddingGracePeriodMinutes=5,
    )


def _endless(settings: LoadSettings) -> tuple[Sequence[BrokerLoad], LoadSettings]:
    # One bundle is more than the difference that is looked for: whoever has it sheds it.
    brokers = [
        _broker(1, [_stats("shop/orders", at, rate) for at, rate in enumerate((60_000.0, 900.0, 900.0))], 58.0),
        _broker(2, [_stats("shop/orders", at, 900.0) for at in range(3, 7)], 8.0),
        _broker(3, [_stats("shop/orders", at, 900.0) for at in range(7, 11)], 8.0),
    ]
    return brokers, replace(
        settings, loadBalancerSheddingGracePeriodMinutes=0, loadBalancerHistoryResourcePercentage=0.5
    )


BROKER_SCENES: Final = (
    BrokerScene("uneven", "four brokers, one of them far above the mean", CURRENT.label, _uneven),
    BrokerScene("upgrade", "the same cluster with the defaults of 5.0: AvgShedder decides", "5.0", _uneven),
    BrokerScene("new-broker", "a fourth broker stays idle: nobody is far above the mean", CURRENT.label, _new_broker),
    BrokerScene("uniform-never", "nine times the messages, too few for an unload", CURRENT.label, _uniform_never),
    BrokerScene(
        "comes-back", "a bundle unloaded for nothing: its broker has the fewest messages", "2.11.0", _comes_back
    ),
    BrokerScene("endless", "one bundle that every broker sheds, wherever it is", CURRENT.label, _endless),
)
