"""Which form of each rule of load shedding and placement one Pulsar release has.

Measured on the classes of 2.10.0, 2.11.0, 3.0.0, 3.0.2, 3.0.7, 3.1.0, 3.1.2, 3.2.0, 3.2.2, 3.2.3, 3.3.2, 3.3.5, 4.0.0
to 4.0.2, 4.0.4 to 4.0.8, 4.2.4 and 5.0.0-M1 (``tests/fresh_vectors``). Between two of these the first release of the
later one's line is taken to have changed, unless a public thread names another. Master of July 2026 is 5.0.
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
    messages and bytes together (#21016), or one each; in the first form it is enough if one of the two minimums is met.
    ``uniform_slack``, ``uniform_bytes_slack``: messages/s and bytes/s by which a bundle may exceed what
    ``UniformLoadShedder`` has left to move (#21906). ``avg_shedder``: whether it can be configured.
    ``avg_destinations``: what a planned destination is kept by (#26246). ``avg_scores_whole``: scores less than 1 apart
    are equal (#24954). ``restarts_idle_average``: #16766. ``round_robin``: ``RoundRobinBrokerSelector`` exists.
    ``chooses_destination``: an unloaded bundle gets its next owner before it is unloaded. ``system_namespace_shed``:
    bundles of ``pulsar/system`` are shed, and spread evenly, like others. ``excluded_namespaces``: PIP-380.
    ``placements_kept``: which of the bundles that the leader has placed on a broker still count there after a report:
    those that the leader itself owns and that broker does not report (#19420), or all until the broker reports one of
    them. ``extensible``: PIP-192 exists. ``shed_idle_bundles``: ``TransferShedder`` moves bundles without traffic.
    ``bundles_compared``: for the report of the largest, in steps, or as equal where less than a step apart (#24754,
    mended by #24772).
    ``underloaded_by_throughput``: a broker is underloaded beside one with far more throughput, not only where it has
    less than 1 byte/s (#22321).

    The defaults: weights of direct and of heap memory, the only spelling of the bandwidth weights' names, shedding and
    placement strategy, and the number of bundles of a new namespace.
    """

    overload_usage: Literal["weighted", "unweighted"] = "weighted"
    heap_memory_counts: bool = False
    forgets_brokers: bool = True
    uniform_source: Literal["separate", "mixed"] = "separate"
    uniform_slack: int = 0
    uniform_bytes_slack: int = 0
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
    bundles_compared: Literal["in-steps", "by-difference"] = "in-steps"
    underloaded_by_throughput: bool = True
    direct_memory_weight: float = 0.0
    memory_weight: float = 0.0
    old_bandwidth_spelling_only: bool = False
    default_shedder: str = "ThresholdShedder"
    default_placement: str = "LeastLongTermMessageRate"
    default_bundles: int = 4


def load_rules(version: tuple[int, int, int], *, milestone: bool = False) -> LoadRules:
    """The rules of one release, or of a milestone of it, which lacks the last changes of 5.0 (#26246, #26609).

    >>> load_rules((4, 0, 7)).uniform_slack, load_rules((5, 0, 0)).default_shedder
    (1000, 'AvgShedder')
    """
    since_3_0 = version >= (3, 0, 0)
    since_4_0 = version >= (4, 0, 0)
    since_4_2 = version >= (4, 2, 0)
    since_5_0 = version >= (5, 0, 0) and not milestone
    separate = _in_lines(version, (2, 11, 3), (3, 0, 2), (3, 1, 1))
    own_test = _in_lines(version, (2, 10, 4), (2, 11, 1))
    by_throughput = _in_lines(version, (3, 0, 5), (3, 1, 5), (3, 2, 3))
    idle_stay = _in_lines(version, (3, 0, 8), (3, 3, 3), (4, 0, 1))
    exact_scores = _in_lines(version, (4, 0, 8), (4, 1, 2))
    avg_shedder: Literal["present", "not-configurable", "absent"] = "absent"
    if _in_lines(version, (3, 0, 6), (3, 2, 4), (3, 3, 1)):
        avg_shedder = "present" if _in_lines(version, (3, 0, 8), (3, 3, 3)) else "not-configurable"
    by_contents_since: Literal["bundle-numbers", "bundle"] = "bundle-numbers" if since_4_0 else "bundle"
    return LoadRules(
        overload_usage="weighted" if since_4_0 else "unweighted",
        heap_memory_counts=not since_3_0,
        forgets_brokers=since_3_0,
        uniform_source="separate" if separate else "mixed",
        uniform_slack=0 if since_4_2 else 1000,
        uniform_bytes_slack=1000 if version < (2, 11, 0) or (separate and not since_4_2) else 0,
        avg_shedder=avg_shedder,
        avg_destinations="attempt" if since_5_0 else by_contents_since,
        avg_scores_whole=not exact_scores,
        restarts_idle_average=since_3_0,
        round_robin=since_3_0,
        chooses_destination=since_3_0,
        system_namespace_shed=since_3_0,
        excluded_namespaces=since_4_2,
        placements_kept="leaders-own" if own_test else "until-one-reported",
        extensible=since_3_0,
        shed_idle_bundles=not idle_stay,
        bundles_compared="in-steps" if _in_lines(version, (3, 0, 14), (3, 3, 9), (4, 0, 7)) else "by-difference",
        underloaded_by_throughput=by_throughput,
        direct_memory_weight=0.0 if version >= (3, 1, 1) else 1.0,
        memory_weight=0.0 if since_4_0 else 1.0,
        old_bandwidth_spelling_only=not since_4_0,
        default_shedder="AvgShedder" if since_5_0 else "ThresholdShedder",
        default_placement="AvgShedder" if since_5_0 else "LeastLongTermMessageRate",
        default_bundles=32 if since_5_0 else 4,
    )


def _in_lines(version: tuple[int, int, int], *firsts: tuple[int, int, int]) -> bool:
    """Whether a release has a change that came with these: the first of each line, and all lines after the last.

    >>> _in_lines((3, 1, 9), (3, 0, 6), (3, 2, 4)), _in_lines((3, 0, 6), (3, 0, 6), (3, 2, 4))
    (False, True)
    """
    in_line = any(version[:2] == first[:2] and version >= first for first in firsts)
    return in_line or version[:2] > firsts[-1][:2]


CURRENT_LOAD_RULES = load_rules((4, 2, 4))
