"""A question about shedding: whose load reports, under which rules, after which brokers came or went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from engine.balance.broker_lost import BrokerLost, broker_lost
from engine.balance.brokers import BrokerLoad, ResourceUsage
from engine.balance.leadership.reports import reports_read
from engine.balance.leadership.state import ClusterPolicies, Leader, LeaderState, elected
from engine.balance.settings import LoadSettings
from engine.balance.shed_ahead import shed_ahead
from engine.balance.shed_ahead_model import ShedAhead, ShedStart
from engine.bundles.plan import LoadManager
from engine.errors import Rejection
from engine.load_rules import CURRENT_LOAD_RULES, LoadRules

TRANSFER: Final = "TransferShedder"
AVERAGE: Final = "AvgShedder"
SHEDDERS: Final = ("ThresholdShedder", "OverloadShedder", "UniformLoadShedder", AVERAGE, TRANSFER)
PLACEMENTS: Final = ("LeastLongTermMessageRate", "LeastResourceUsageWithWeight", "RoundRobinBrokerSelector")
MAX_ADDED: Final = 100
"""Brokers that may be added: a limit of this model, against typing errors."""
_RESOURCES: Final = ("cpu", "memory", "direct_memory", "bandwidth_in", "bandwidth_out")


@dataclass(frozen=True, slots=True)
class ShedQuestion:
    """``reports``: all load reports, the oldest first; the last one of each broker is where the forecast begins.

    ``shedder`` decides the load manager: ``TransferShedder`` is the extensible one's. ``placement`` None: that of the
    settings, and for ``AvgShedder``, which only works with its own, that one. ``lost`` brokers are gone before the
    first cycle, in this order; ``added`` ones are there from the beginning, empty.
    """

    reports: tuple[BrokerLoad, ...]
    settings: LoadSettings = field(default_factory=LoadSettings)
    rules: LoadRules = CURRENT_LOAD_RULES
    policies: ClusterPolicies | None = None
    shedder: str = "ThresholdShedder"
    placement: str | None = None
    seed: int = 0
    cycles: int = 20
    lost: tuple[str, ...] = ()
    added: tuple[str, ...] = ()

    @property
    def load_manager(self) -> LoadManager:
        return "extensible" if self.shedder == TRANSFER else "modular"

    @property
    def in_force(self) -> LoadSettings:
        """The settings with the shedder and the placement of this question."""
        own = self.settings.loadBalancerLoadPlacementStrategy
        placement = self.placement
        if placement is None:
            placement = AVERAGE if self.shedder == AVERAGE else own
            if self.shedder != AVERAGE and own == AVERAGE:
                placement = LoadSettings().loadBalancerLoadPlacementStrategy
        return replace(
            self.settings, loadBalancerLoadSheddingStrategy=self.shedder, loadBalancerLoadPlacementStrategy=placement
        )

    def start(self) -> ShedStart | Rejection:
        """Where the forecast begins. Refused: a lost broker that is unknown or the last one, and too many added."""
        if len(self.added) > MAX_ADDED:
            return Rejection(
                "IllegalArgumentException", f"{len(self.added)} brokers added: {MAX_ADDED} at most", "added"
            )
        start = self._reported()
        for broker in self.lost:
            lost = broker_lost(start, broker)
            if isinstance(lost, Rejection):
                return lost
            # Without a series of reports nothing is known of the leader's memory before the loss either.
            start = replace(start, loads=lost.loads, state=lost.state if start.state is not None else None)
        return start

    def loss_of(self, broker: str) -> BrokerLost | Rejection:
        """What the loss of one more broker would do."""
        start = self.start()
        return start if isinstance(start, Rejection) else broker_lost(start, broker)

    def ask(self) -> ShedAhead | Rejection:
        """The forecast; refused where no broker of the release starts with these rules.

        >>> from engine.balance.brokers import report_of
        >>> reports = report_of("b:1", []), report_of("b:2", [])
        >>> found = ShedQuestion(reports, cycles=3, lost=("b:1",), added=("b:3",)).ask()
        >>> [load.broker for load in found.start.loads], len(found.cycles), found.moves
        (['b:2', 'b:3'], 3, ())
        """
        start = self.start()
        return start if isinstance(start, Rejection) else shed_ahead(start, self.cycles)

    def _reported(self) -> ShedStart:
        """What was reported, with the brokers that were added."""
        last = {load.broker: load for load in self.reports}
        loads = tuple(last.values())
        settings, policies = self.in_force, self.policies
        state = None
        if self.load_manager == "modular" and len(self.reports) > len(loads):
            state = state_after(Leader(settings, policies or ClusterPolicies(), self.rules), self.reports)
        loads += tuple(empty_broker(name, loads) for name in self.added if name not in last)
        if state is not None and self.added:
            state = reports_read(Leader(settings, policies or ClusterPolicies(), self.rules), state, loads)
        return ShedStart(loads, settings, self.rules, policies, self.load_manager, state, self.seed)


def state_after(leader: Leader, reports: Sequence[BrokerLoad]) -> LeaderState:
    """What the modular leader remembers after these reports, the oldest first: it reads all brokers' at each one."""
    state, current = elected(leader), dict[str, BrokerLoad]()
    for report in reports:
        current[report.broker] = report
        state = reports_read(leader, state, tuple(current.values()))
    return state


def empty_broker(name: str, like: Sequence[BrokerLoad]) -> BrokerLoad:
    """A broker that has just started on a machine as large as the largest of ``like``: no bundle, no usage."""
    limits = {each: max((getattr(load, each).limit for load in like), default=0.0) for each in _RESOURCES}
    newest = like[-1] if like else BrokerLoad(name)
    return BrokerLoad(
        name,
        **{each: ResourceUsage(0.0, limit) for each, limit in limits.items()},  # type: ignore[arg-type]
        version=newest.version,
        load_manager=newest.load_manager,
    )
