"""Which form of each rule of load shedding and placement one Pulsar release has.

From the published sources of 2.11.0, 3.0.7, 3.3.2, 4.0.0, 4.0.7 and 4.2.4. Between two of these the first release of
the later one's line is taken to have changed, unless a public thread names another. Master of July 2026 is 5.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class LoadRules:
    """The rules of both load managers, and the defaults of their settings, in one release.

    ``overload_usage``: whether the resource weights count where a broker is compared with the overload limit and where
    a report is found worth writing. ``heap_memory_counts``: heap memory is one of the weighted resources of the modular
    manager. ``forgets_brokers``: averages of brokers that left are dropped. ``uniform_source``: one busiest broker for
    messages and bytes together (#21016), or one each. ``uniform_slack``: messages/s or bytes/s by which a bundle may
    exceed what ``UniformLoadShedder`` has left to move (#21906). ``avg_shedder``: whether it can be configured.
    ``avg_destinations``: what a planned destination is kept by (#26246). ``avg_scores_whole``: scores less than 1 apart
    are equal (#24954). ``restarts_idle_average``: #16766. ``round_robin``: ``RoundRobinBrokerSelector`` exists.
    ``chooses_destination``: an unloaded bundle gets its next owner before it is unloaded. ``system_namespace_shed``:
    bundles of ``pulsar/system`` are shed, and spread evenly, like others. ``excluded_namespaces``: PIP-380.
    ``placements_kept``: which of the bundles that the leader has placed on a broker still count there after a report:
    those that the leader itself owns and that broker does not report (#19420), or all until the broker reports one of
    them. ``extensible``: PIP-192 exists. ``shed_idle_bundles``: ``TransferShedder`` moves bundles without traffic.
    ``underloaded_by_throughput``: #22321.

    The defaults: weights of direct and of heap memory, the only spelling of the bandwidth weights' names, shedding and
    placement strategy, and the number of bundles of a new namespace.
    """

    overload_usage: Literal["weighted", "unweighted"] = "weighted"
    heap_memory_counts: bool = False
    forgets_brokers: bool = True
    uniform_source: Literal["separate", "mixed"] = "separate"
    uniform_slack: int = 0
    avg_shedder: Literal["present", "not-configurable", "absent"] = "present"
    avg_destinations: Literal["bundle-numbers", "bundle", "attempt"] = "bundle-numbers"
    avg_scores_whole: bool = False
    restarts_idle_average: bool = True
    round_robin: bool = True
    chooses_destination: bool = True
    system_namespace_shed: bool = True
    excluded_namespaces: bool = True
    placements_kept: Literal["leaders-own", "until-one-reported"] = "leaders-own"
    extensible: bool = True
    shed_idle_bundles: bool = False
    underloaded_by_throughput: bool = True
    direct_memory_weight: float = 0.0
    memory_weight: float = 0.0
    old_bandwidth_spelling_only: bool = False
    default_shedder: str = "ThresholdShedder"
    default_placement: str = "LeastLongTermMessageRate"
    default_bundles: int = 4


def load_rules(version: tuple[int, int, int], *, new_defaults: bool | None = None) -> LoadRules:
    """The rules of one release; ``new_defaults``: whether it has those of 5.0, which its milestones lack (#26609).

    >>> load_rules((4, 0, 7)).uniform_slack, load_rules((5, 0, 0)).default_shedder
    (1000, 'AvgShedder')
    """
    since_3_0 = version >= (3, 0, 0)
    since_4_0 = version >= (4, 0, 0)
    since_4_2 = version >= (4, 2, 0)
    since_5_0 = version >= (5, 0, 0)
    new_defaults = since_5_0 if new_defaults is None else new_defaults
    separate = version >= (3, 1, 1) or (3, 0, 2) <= version < (3, 1, 0) or (2, 11, 3) <= version < (3, 0, 0)
    own_test = version >= (2, 11, 1) or (2, 10, 4) <= version < (2, 11, 0)
    by_throughput = version >= (3, 2, 3) or (3, 1, 5) <= version < (3, 2, 0) or (3, 0, 5) <= version < (3, 1, 0)
    configurable: Literal["present", "not-configurable"] = "present" if since_4_0 else "not-configurable"
    by_contents_since: Literal["bundle-numbers", "bundle"] = "bundle-numbers" if since_4_0 else "bundle"
    return LoadRules(
        overload_usage="weighted" if since_4_0 else "unweighted",
        heap_memory_counts=not since_3_0,
        forgets_brokers=since_3_0,
        uniform_source="separate" if separate else "mixed",
        uniform_slack=0 if since_4_2 else 1000,
        avg_shedder=configurable if since_3_0 else "absent",
        avg_destinations="attempt" if since_5_0 else by_contents_since,
        avg_scores_whole=not since_4_2,
        restarts_idle_average=since_3_0,
        round_robin=since_3_0,
        chooses_destination=since_3_0,
        system_namespace_shed=since_3_0,
        excluded_namespaces=since_4_2,
        placements_kept="leaders-own" if own_test else "until-one-reported",
        extensible=since_3_0,
        shed_idle_bundles=version < (4, 0, 7),
        underloaded_by_throughput=by_throughput,
        direct_memory_weight=0.0 if version >= (3, 3, 0) else 1.0,
        memory_weight=0.0 if since_4_0 else 1.0,
        old_bandwidth_spelling_only=not since_4_0,
        default_shedder="AvgShedder" if new_defaults else "ThresholdShedder",
        default_placement="AvgShedder" if new_defaults else "LeastLongTermMessageRate",
        default_bundles=32 if new_defaults else 4,
    )


CURRENT_LOAD_RULES = load_rules((4, 2, 4))
