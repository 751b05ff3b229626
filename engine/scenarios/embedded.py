"""The scenes that come with the package: answers of a real broker, or in its form, trimmed to what is read here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib.resources import files
from typing import Final

from engine.admin.facts import Snapshot, WrittenLoad
from engine.admin.moments import Moment
from engine.admin.shed_inputs import ShedInputs
from engine.admin.snapshot import read_answers
from engine.balance.brokers import BrokerLoad, ResourceUsage, report_of
from engine.balance.limits import BundleStats
from engine.balance.settings import MODULAR_CLASS
from engine.errors import InputError
from engine.scenarios.opening import Opened, open_moments


@dataclass(frozen=True, slots=True)
class Scene:
    """A scene by its name, and what it shows."""

    name: str
    about: str


DEFAULT_SCENE: Final = "pip392"
SCENES: Final = (
    Scene(DEFAULT_SCENE, "100 topics of one partition, ten consumers of one Failover subscription, the flag off"),
    Scene("flow-split", "60 topics at uneven rates in four bundles, the default split algorithm by flow"),
    Scene("pip-169", "the two examples of the proposal to split by flow (#16782), six topics in one bundle each"),
)


def embedded_default() -> Opened:
    """The scene a dashboard starts with when it is given nothing."""
    return embedded(DEFAULT_SCENE)


def embedded(name: str) -> Opened:
    """A scene by its name. Raises ``InputError`` with the names there are for any other."""
    names = [scene.name for scene in SCENES]
    if name not in names:
        near = get_close_matches(name, names, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise InputError(f"there is no scene {name!r}{hint} (scenes: {', '.join(names)})")
    return open_moments([Moment(None, embedded_answers(name))])


def embedded_answers(name: str) -> Snapshot:
    """What the broker of a scene answered; ``name`` must be one of the scenes'."""
    data = files("engine.scenarios").joinpath("scenes", f"{name}.json.gz").read_bytes()
    return replace(read_answers(data), source=f"scene {name}")


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
    return BundleStats(
        f"{namespace}/0x{number * width:08x}_0x{upper:08x}",
        topics=6 + 3 * number,
        msg_rate_in=msgs,
        msg_rate_out=msgs,
        throughput_in_bytes_per_sec=octets,
        throughput_out_bytes_per_sec=octets,
    )


def _broker(number: int, stats: list[BundleStats]) -> BrokerLoad:
    kbits = sum(each.throughput_in_bytes_per_sec for each in stats) * 8 / 1024
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
