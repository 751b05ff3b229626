"""Which form of each rule of load shedding and placement one Pulsar release has.

Measured on the classes of 2.10.0, 2.11.0, 3.0.0, 3.0.2, 3.0.7, 3.1.0, 3.1.2, 3.2.0, 3.2.2, 3.2.3, 3.3.2, 3.3.5, 4.0.0
to 4.0.2, 4.0.4 to 4.0.8, 4.2.4, 5.0.0-M1 and 5.0.1 (``tests/fresh_vectors``). Between two of these the first release of
the later one's line is taken to have changed, unless a public thread names another.
"""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from engine.releases import CURRENT_RELEASE, Release

VersionLibrary = Literal["0.9", "0.10"]


class LoadRules(Struct, frozen=True):
    """The rules of both load managers in one release; ``engine.releases`` has the defaults of their settings.

    ``overload_usage``: whether the resource weights count where a broker is compared with the overload limit and where
    a report is found worth writing. ``heap_memory_counts``: heap memory is one of the weighted resources of the modular
    manager. ``forgets_brokers``: averages of brokers that left are dropped. ``uniform_source``: one busiest broker for
    messages and bytes together (#21016), or one each; in the first form it is enough if one of the two minimums is met.
    ``uniform_slack``, ``uniform_bytes_slack``: messages/s and bytes/s by which a bundle may exceed what
    ``UniformLoadShedder`` has left to move (#21906). ``avg_shedder``: whether it can be configured.
    ``avg_destinations``: what a planned destination is kept by: the numbers of the bundle, the bundle, or the bundle
    with the broker that it leaves, for one cycle (#26246). In the last form what was drawn is not remembered, the
    broker that the bundle leaves is not drawn, and an overloaded destination gives way.
    ``avg_placement_alone``: whether a broker starts with ``AvgShedder`` as placement beside another shedder; where it
    is replaced, by ``LeastLongTermMessageRate`` (#26609). ``avg_scores_whole``: scores less than 1 apart
    are equal (#24954). ``restarts_idle_average``: #16766. ``round_robin``: ``RoundRobinBrokerSelector`` exists.
    ``chooses_destination``: an unloaded bundle gets its next owner before it is unloaded. ``system_namespace_shed``:
    bundles of ``pulsar/system`` are shed, and spread evenly, like others. ``excluded_namespaces``: PIP-380.
    ``placements_kept``: which of the bundles that the leader has placed on a broker still count there after a report:
    those that the leader itself owns and that broker does not report (#19420), or all until the broker reports one of
    them. ``extensible``: PIP-192 exists. ``shed_idle_bundles``: ``TransferShedder`` moves bundles without traffic.
    ``bundles_compared``: for the report of the largest, in steps, or as equal where less than a step apart (#24754,
    mended by #24772).
    ``underloaded_by_throughput``: a broker is underloaded beside one with far more throughput, not only where it has
    less than 1 byte/s (#22321). ``old_bandwidth_spelling_only``: the weights of bandwidth go by ``Bandwith``.
    ``isolation_by_port``: an expression of an isolation policy that has a colon is tried on ``host:port`` too.
    ``version_library``: which java-semver compares versions. In 0.10 numbers have 64 bits instead of 32, a number of a
    pre-release has no sign and has to fit, and of equal versions only one build is the newest. ``roomy_sets``: a
    Java set made of a collection is larger than it has to be, as it was before Java 19; 5.0 needs Java 21.
    """

    overload_usage: Literal["weighted", "unweighted"] = "weighted"
    heap_memory_counts: bool = False
    forgets_brokers: bool = True
    uniform_source: Literal["separate", "mixed"] = "separate"
    uniform_slack: int = 0
    uniform_bytes_slack: int = 0
    avg_shedder: Literal["present", "not-configurable", "absent"] = "present"
    avg_destinations: Literal["bundle-numbers", "bundle", "attempt"] = "attempt"
    avg_placement_alone: Literal["refused", "replaced"] = "replaced"
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
    isolation_by_port: bool = True
    version_library: VersionLibrary = "0.10"
    roomy_sets: bool = False
    old_bandwidth_spelling_only: bool = False


def load_rules(release: Release) -> LoadRules:
    """The rules of one release or of a milestone of it.

    >>> load_rules(Release(4, 0, 7)).uniform_slack, load_rules(Release(4, 2, 4)).uniform_slack
    (1000, 0)
    """
    since_3_0 = release >= (3, 0, 0)
    since_4_0 = release >= (4, 0, 0)
    since_4_2 = release >= (4, 2, 0)
    since_5_0 = release.has(Release(5, 0, 0))
    for_an_attempt = release.has(Release(4, 0, 14), Release(4, 2, 5), Release(5, 0, 0))
    separate = release.has(Release(2, 11, 3), Release(3, 0, 2), Release(3, 1, 1))
    avg_shedder: Literal["present", "not-configurable", "absent"] = "absent"
    if release.has(Release(3, 0, 6), Release(3, 2, 4), Release(3, 3, 1)):
        avg_shedder = "present" if release.has(Release(3, 0, 8), Release(3, 3, 3)) else "not-configurable"
    by_contents_since: Literal["bundle-numbers", "bundle"] = "bundle-numbers" if since_4_0 else "bundle"
    idle_stay = release.has(Release(3, 0, 8), Release(3, 3, 3), Release(4, 0, 1))
    in_steps = release.has(Release(3, 0, 14), Release(3, 3, 9), Release(4, 0, 7))
    return LoadRules(
        overload_usage="weighted" if since_4_0 else "unweighted",
        heap_memory_counts=not since_3_0,
        forgets_brokers=since_3_0,
        uniform_source="separate" if separate else "mixed",
        uniform_slack=0 if since_4_2 else 1000,
        uniform_bytes_slack=1000 if release < (2, 11, 0) or (separate and not since_4_2) else 0,
        avg_shedder=avg_shedder,
        avg_destinations="attempt" if for_an_attempt else by_contents_since,
        avg_placement_alone="replaced" if since_5_0 else "refused",
        avg_scores_whole=not release.has(Release(4, 0, 8), Release(4, 1, 2)),
        restarts_idle_average=since_3_0,
        round_robin=since_3_0,
        chooses_destination=since_3_0,
        system_namespace_shed=since_3_0,
        excluded_namespaces=since_4_2,
        placements_kept="leaders-own" if release.has(Release(2, 10, 4), Release(2, 11, 1)) else "until-one-reported",
        extensible=since_3_0,
        shed_idle_bundles=not idle_stay,
        bundles_compared="in-steps" if in_steps else "by-difference",
        underloaded_by_throughput=release.has(Release(3, 0, 5), Release(3, 1, 5), Release(3, 2, 3)),
        old_bandwidth_spelling_only=not since_4_0,
        isolation_by_port=since_5_0,
        version_library="0.10" if since_5_0 else "0.9",
        roomy_sets=release < (5, 0, 0),
    )


CURRENT_LOAD_RULES: Final = load_rules(CURRENT_RELEASE)
