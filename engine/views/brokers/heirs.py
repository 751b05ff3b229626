"""The brokers that take over the bundles of dead ones, and every single failure of a broker, the worst first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from engine.answer import about, extended
from engine.balance.ahead.broker_changes import BrokerDeath, Landing, broker_dies, every_broker_dies
from engine.balance.ahead.model import ShedStart
from engine.errors import Rejection
from engine.views.brokers.model import BrokersInput, BrokersQuestion
from engine.views.brokers.view import begun, usages_of


@dataclass(frozen=True, slots=True)
class BrokerHeir:
    """A broker that is left: its weighted usage before and after, and the bundles it gets by the seed's draws."""

    broker: Annotated[str, about("Its name.")]
    usage_before: Annotated[
        float, about("Weighted usage before, 1 is full; null where its report has no number.", nan=True)
    ]
    usage_after: Annotated[float, about("The same afterwards, where lots fall as drawn.", nan=True)]
    bundles: Annotated[int, about("Bundles that it gets.", 0)]
    msgs_per_sec: Annotated[float, about("Messages a second of them.")]


@dataclass(frozen=True, slots=True)
class BrokerHeirsView:
    """What the loss of ``gone`` does, one after the other. ``topics`` are interrupted; ``unowned`` bundles stay out.

    ``heirs``: the fullest first. ``landings`` in the order in which bundles are looked up.
    """

    gone: tuple[str, ...]
    heirs: tuple[BrokerHeir, ...]
    landings: tuple[tuple[str, Landing], ...]
    topics: int
    msgs_per_sec: float
    unowned: int


@dataclass(frozen=True, slots=True)
class BrokerLoss:
    """One single failure: what is interrupted, and the broker that is fullest afterwards."""

    broker: Annotated[str, about("The broker that dies.")]
    bundles: Annotated[int, about("Its bundles.", 0)]
    topics: Annotated[int, about("Their topics.", 0)]
    msgs_per_sec: Annotated[float, about("Their messages a second, in and out.")]
    fullest: Annotated[str, about("The broker that is fullest afterwards.")]
    usage_before: Annotated[
        float, about("Weighted usage before, 1 is full; null where its report has no number.", nan=True)
    ]
    usage_after: Annotated[float, about("The same afterwards, where lots fall as drawn.", nan=True)]
    unowned: Annotated[int, about("Bundles that no broker may own.", 0)]


def broker_heirs(given: BrokersInput, gone: Sequence[str], question: BrokersQuestion) -> BrokerHeirsView | Rejection:
    """What the loss of some brokers does. Refused: rules that no broker starts with, an unknown or the last broker."""
    start = begun(given, question)
    return start if isinstance(start, Rejection) else _after(start[0], gone)


def _after(start: ShedStart, gone: Sequence[str]) -> BrokerHeirsView | Rejection:
    deaths: list[BrokerDeath] = []
    for broker in gone:
        death = broker_dies(deaths[-1].start if deaths else start, broker)
        if isinstance(death, Rejection):
            return death
        deaths.append(death)
    return _heirs(usages_of(start), deaths)


def _heirs(before: Mapping[str, float], deaths: Sequence[BrokerDeath]) -> BrokerHeirsView:
    """The result of successive deaths; ``before``: the weighted usage of every broker before the first."""
    landings = [(death.broker, landing) for death in deaths for landing in death.landings]
    bundles: Counter[str] = Counter()
    msgs: dict[str, float] = dict.fromkeys(before, 0.0)
    for _, landing in landings:
        if landing.destination is not None:
            bundles[landing.destination] += 1
            msgs[landing.destination] += landing.stats.msgs_per_sec
    heirs = [
        BrokerHeir(broker, before[broker], after, bundles[broker], msgs[broker])
        for broker, after in (usages_of(deaths[-1].start) if deaths else before).items()
    ]
    heirs.sort(key=lambda heir: (_fullest_first(heir.usage_after), heir.broker))
    return BrokerHeirsView(
        tuple(death.broker for death in deaths),
        tuple(heirs),
        tuple(landings),
        sum(landing.stats.topics for _, landing in landings),
        sum(landing.stats.msgs_per_sec for _, landing in landings),
        sum(landing.destination is None for _, landing in landings),
    )


def broker_losses(given: BrokersInput, question: BrokersQuestion) -> tuple[BrokerLoss, ...] | Rejection:
    """Every single failure, the one that fills a broker most first. O(bundles × brokers)."""
    start = begun(given, question)
    if isinstance(start, Rejection):
        return start
    return losses_from(start[0])


def losses_from(start: ShedStart) -> tuple[BrokerLoss, ...] | Rejection:
    """The same of a cluster with its rules. O(bundles × brokers)."""
    losses = []
    before = usages_of(start)
    for death in every_broker_dies(start):
        if isinstance(death, Rejection):
            return death
        after = _heirs(before, [death])
        worst = after.heirs[0]
        losses.append(
            BrokerLoss(
                death.broker,
                len(after.landings),
                after.topics,
                after.msgs_per_sec,
                worst.broker,
                worst.usage_before,
                worst.usage_after,
                after.unowned,
            )
        )
    losses.sort(key=lambda loss: (-loss.unowned, _fullest_first(loss.usage_after), loss.broker))
    return tuple(losses)


def _fullest_first(usage: float) -> float:
    """A key to sort by; unknown usage, of a report without a limit, comes last: NaN compares with nothing."""
    return -usage if math.isfinite(usage) else math.inf


@dataclass(frozen=True, slots=True)
class Chance:
    broker: Annotated[str, about("Its name.")]
    chance: Annotated[float, about("How likely it is.", 0, 1)]


@dataclass(frozen=True, slots=True)
class LandingRow:
    broker: Annotated[str, about("The broker that had it.")]
    bundle: Annotated[str, about("Its full name.")]
    topics: Annotated[int, about("Its topics.", 0)]
    msgs_per_sec: Annotated[float, about("Its messages a second, in and out.")]
    destination: Annotated[str | None, about("The broker that was drawn; null where nobody may own it.")]
    chances: Annotated[Sequence[Chance], about("Every broker that may get it.")]
    refusal: Annotated[str, about("Why nobody may own it, else empty.")]


@dataclass(frozen=True, slots=True)
class BrokerHeirsDocument:
    """What the loss of brokers does."""

    FORMAT: ClassVar = "ringside.broker-heirs/1"

    gone: Annotated[
        Sequence[str], about("Brokers that die, one after the other; empty where every single failure is listed.")
    ] = ()
    topics: Annotated[int, about("Topics that are interrupted.", 0)] = 0
    msgs_per_sec: Annotated[float, about("Messages a second of them, in and out.")] = 0.0
    unowned: Annotated[int, about("Bundles that no broker may own.", 0)] = 0
    heirs: Annotated[Sequence[BrokerHeir], about("The brokers that are left, the fullest afterwards first.")] = ()
    landings: Annotated[Sequence[LandingRow], about("Bundles in the order in which they are looked up.")] = ()
    losses: Annotated[
        Sequence[BrokerLoss],
        about("Every single failure, the one that fills a broker most first; empty where some brokers are named."),
    ] = ()


def broker_heirs_document(view: BrokerHeirsView) -> BrokerHeirsDocument:
    return extended(
        BrokerHeirsDocument,
        view,
        landings=[
            LandingRow(
                broker=broker,
                bundle=landing.bundle,
                topics=landing.stats.topics,
                msgs_per_sec=landing.stats.msgs_per_sec,
                destination=landing.destination,
                chances=[Chance(*chance) for chance in landing.chances.items()],
                refusal=landing.refusal,
            )
            for broker, landing in view.landings
        ],
    )
