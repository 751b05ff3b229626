"""The broker settings that decide who gets what, and which Pulsar release knows which rule.

Settings keep Pulsar's exact names (``conf/broker.conf``, class ``ServiceConfiguration``), so that what is typed here
can be pasted there. A rule takes a ``ReleaseBehaviour`` value, never a version number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Final, Literal, get_args

from engine.errors import Rejection
from engine.load_rules import CURRENT_LOAD_RULES, LoadRules, load_rules

FLAG: Final = "activeConsumerFailoverConsistentHashing"
"""The setting of PIP-392."""
SplitAlgorithmName = Literal[
    "range_equally_divide", "topic_count_equally_divide", "specified_positions_divide", "flow_or_qps_equally_divide"
]
RANGE_EQUALLY_DIVIDE: Final = "range_equally_divide"
TOPIC_COUNT_EQUALLY_DIVIDE: Final = "topic_count_equally_divide"
SPECIFIED_POSITIONS_DIVIDE: Final = "specified_positions_divide"
FLOW_OR_QPS_EQUALLY_DIVIDE: Final = "flow_or_qps_equally_divide"
SPLIT_ALGORITHMS: Final[tuple[str, ...]] = get_args(SplitAlgorithmName)


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """Broker settings by their exact names, with the defaults of ``ServiceConfiguration`` in the release ``CURRENT``.

    Rates are messages per second, bandwidth is 1048576 bytes per second, times are milliseconds. A limit of 0 for the
    numbers of consumers, of unacknowledged messages and of the look-ahead means no limit. ``default_settings`` has the
    defaults of other releases. The limits of unacknowledged messages are 50000 a consumer and 200000 (in the class 4 *
    50000) a subscription in ``ServiceConfiguration`` and in ``conf/broker.conf`` alike; that of a whole broker is 0 in
    both, so it is not modelled.
    """

    activeConsumerFailoverConsistentHashing: bool = False
    activeConsumerFailoverDelayTimeMillis: int = 1000
    maxConsumersPerSubscription: int = 0
    maxConsumersPerTopic: int = 0
    subscriptionKeySharedUseConsistentHashing: bool = True
    subscriptionKeySharedConsistentHashingReplicaPoints: int = 100
    subscriptionKeySharedUseClassicPersistentImplementation: bool = False
    keySharedLookAheadMsgInReplayThresholdPerConsumer: int = 2000
    keySharedLookAheadMsgInReplayThresholdPerSubscription: int = 20000
    keySharedUnblockingIntervalMs: int = 10
    maxUnackedMessagesPerConsumer: int = 50000
    maxUnackedMessagesPerSubscription: int = 200000
    aggregatePublisherStatsByProducerName: bool = False
    defaultNumberOfNamespaceBundles: int = 4
    loadBalancerAutoBundleSplitEnabled: bool = True
    loadBalancerAutoUnloadSplitBundlesEnabled: bool = True
    loadBalancerNamespaceBundleMaxTopics: int = 1000
    loadBalancerNamespaceBundleMaxSessions: int = 1000
    loadBalancerNamespaceBundleMaxMsgRate: int = 30000
    loadBalancerNamespaceBundleMaxBandwidthMbytes: int = 100
    loadBalancerNamespaceMaximumBundles: int = 128
    loadBalancerMaxNumberOfBundlesToSplitPerCycle: int = 10
    loadBalancerNamespaceBundleSplitConditionHitCountThreshold: int = 3
    defaultNamespaceBundleSplitAlgorithm: str = RANGE_EQUALLY_DIVIDE
    supportedNamespaceBundleSplitAlgorithms: tuple[str, ...] = SPLIT_ALGORITHMS
    flowOrQpsDifferenceThresholdPercentage: int = 10

    def with_setting(self, name: str, text: str) -> BrokerSettings | Rejection:
        """These settings with one changed; ``text`` is what a line of broker.conf has after the ``=``.

        Refused: an unknown name, a text of another type, and points of a ring below 1, with which a broker would start
        and dispatch nothing.
        """
        default = DEFAULTS.get(name)
        if default is None:
            near = [known for known in DEFAULTS if known.lower() == name.lower()]
            hint = f"; did you mean {near[0]}?" if near else ""
            return Rejection("UnknownSetting", f"no broker setting {name!r} is known here{hint}", field=name)
        value = _parse(text.strip(), default)
        if value is None:
            return Rejection("IllegalArgumentException", f"{text!r} is not {_domain(default)}", field=name)
        lowest = _LOWEST.get(name)
        if lowest is not None and isinstance(value, int) and value < lowest:
            return Rejection("InvalidPoints", f"{name} is {value}; a ring needs {lowest} point or more", field=name)
        return replace(self, **{name: value})  # type: ignore[arg-type]

    def text_of(self, name: str) -> str:
        """The setting as broker.conf writes it."""
        value = getattr(self, name)
        if isinstance(value, bool):
            return "true" if value else "false"
        return ",".join(value) if isinstance(value, tuple) else str(value)


_Value = bool | int | str | tuple[str, ...]
DEFAULTS: Final[dict[str, _Value]] = {
    field.name: getattr(BrokerSettings(), field.name) for field in fields(BrokerSettings)
}
_LOWEST: Final[Mapping[str, int]] = {"subscriptionKeySharedConsistentHashingReplicaPoints": 1}
_INT_32: Final = range(-(2**31), 2**31)


def _parse(text: str, like: _Value) -> _Value | None:
    if isinstance(like, bool):
        return {"true": True, "false": False}.get(text.lower())
    if isinstance(like, int):
        return int(text) if re.fullmatch(r"[+-]?[0-9]{1,11}", text) and int(text) in _INT_32 else None
    if isinstance(like, tuple):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    return text


def _domain(like: _Value) -> str:
    return "true or false" if isinstance(like, bool) else "a whole number of 32 bits"


@dataclass(frozen=True, slots=True)
class ReleaseBehaviour:
    """Which form of each rule one Pulsar release has.

    ``knows_failover_consistent_hashing``: the setting of PIP-392 exists; a release without it ignores the line.
    ``nonpartitioned_failover``: "ring" since 3.0 (#19502); before, the first connected consumer stays active and
    neither names nor priority levels play a part (#4604). ``notices_on_nonpersistent_change``: #26482.
    ``split_algorithms``: the names the release accepts (PIP-169 added the fourth in 3.0).
    ``exclusive_attempts``: tries of a second Exclusive consumer (#24934).

    Key_Shared: ``key_shared_ring`` is the form of the ring's points (#22053, #23327, #23441). ``sticky_gaps``: whether
    a gap between two sticky ranges of one consumer is served by it (#24730). ``keyless_messages``: since #23219 they
    are spread by producer name and sequence id, before all have one key. ``key_shared_order``: what keeps a key in
    order while consumers come and go, draining hashes (PIP-379) or the rule for consumers that joined recently.
    ``draining_takes_back``: a hash that returns to its consumer stops draining (#24736).
    ``key_shared_folds_slot_zero``: slot 0 becomes 1 (PIP-379). ``ownerless_key``: what waits while a sticky slot has no
    owner: that key, consumers that joined after its message too, or the whole subscription. ``look_ahead_defaults`` of
    ``keySharedLookAheadMsgInReplayThresholdPerConsumer`` and ``...PerSubscription`` (#25992 doubled them).

    ``unnamed_publishers``: how partitioned statistics add up publishers without a common name (#18807).
    ``serves_segment_statistics``: a broker answers for one segment of a scalable topic; 5.0.1 has no such path.
    ``load``: load shedding and placement, and the number of bundles of a new namespace.
    """

    label: str
    nonpartitioned_failover: Literal["ring", "first-connected"] = "ring"
    knows_failover_consistent_hashing: bool = True
    notices_on_nonpersistent_change: bool = False
    split_algorithms: tuple[str, ...] = SPLIT_ALGORITHMS
    exclusive_attempts: int = 5
    key_shared_ring: Literal["name_i", "name_nul_i", "indexed_replace", "current"] = "current"
    sticky_gaps: Literal["served", "unserved"] = "unserved"
    keyless_messages: Literal["spread", "one-key"] = "spread"
    key_shared_order: Literal["draining-hashes", "recently-joined"] = "draining-hashes"
    draining_takes_back: bool = True
    key_shared_folds_slot_zero: bool = True
    ownerless_key: Literal["waits", "delays-newcomers", "stops-subscription"] = "waits"
    look_ahead_defaults: tuple[int, int] = (2000, 20000)
    unnamed_publishers: Literal["added-once", "added-repeatedly"] = "added-once"
    serves_segment_statistics: bool = False
    load: LoadRules = CURRENT_LOAD_RULES


def _key_shared_ring(version: tuple[int, int, int]) -> Literal["name_i", "name_nul_i", "indexed_replace", "current"]:
    if version >= (4, 0, 0):
        return "current"
    # Both changes went to the maintained branches only; 3.1 had ended before the first of them was carried back.
    if version >= (3, 3, 2) or (3, 0, 7) <= version < (3, 1, 0):
        return "indexed_replace"
    if version >= (3, 2, 1) or (3, 0, 3) <= version < (3, 1, 0):
        return "name_nul_i"
    return "name_i"


def _has_fixes_of_september_2025(version: tuple[int, int, int]) -> bool:
    # #24736 and #24730; that 4.1.1 has them and 4.1.0 has not is inferred from their dates.
    return version >= (4, 1, 1) or (4, 0, 7) <= version < (4, 1, 0)


def _behaviour(major: int, minor: int, patch: int, *, milestone: bool = False) -> ReleaseBehaviour:
    version = (major, minor, patch)
    # PIP-392 went into 4.1 and was carried back; a branch older than its first release there never has it.
    knows_flag = version >= (4, 0, 1) or (3, 3, 3) <= version < (4, 0, 0) or (3, 0, 8) <= version < (3, 1, 0)
    pip_379 = version >= (4, 0, 0)
    fixes_of_september_2025 = _has_fixes_of_september_2025(version)
    gaps_unserved = fixes_of_september_2025 or (3, 3, 9) <= version < (4, 0, 0) or (3, 0, 14) <= version < (3, 1, 0)
    ownerless_before_4_0: Literal["delays-newcomers", "stops-subscription"]
    ownerless_before_4_0 = "delays-newcomers" if version >= (3, 0, 0) else "stops-subscription"
    return ReleaseBehaviour(
        label=f"{major}.{minor}.{patch}",
        nonpartitioned_failover="ring" if version >= (3, 0, 0) else "first-connected",
        knows_failover_consistent_hashing=knows_flag,
        # Merged after the milestones of 5.0 were cut; no release label was found, so 5.0.0 is inferred from the date.
        notices_on_nonpersistent_change=version >= (5, 0, 0) and not milestone,
        split_algorithms=SPLIT_ALGORITHMS if version >= (3, 0, 0) else SPLIT_ALGORITHMS[:3],
        exclusive_attempts=5 if version >= (4, 0, 8) else 1,
        key_shared_ring=_key_shared_ring(version),
        sticky_gaps="unserved" if gaps_unserved else "served",
        keyless_messages="spread" if pip_379 else "one-key",
        key_shared_order="draining-hashes" if pip_379 else "recently-joined",
        draining_takes_back=fixes_of_september_2025,
        key_shared_folds_slot_zero=pip_379,
        ownerless_key="waits" if pip_379 else ownerless_before_4_0,
        # 4.2.4 has the smaller ones; that 5.0 is the first with the others is inferred from the date of #25992, which
        # its first milestone has.
        look_ahead_defaults=(4000, 40000) if version >= (5, 0, 0) else (2000, 20000),
        unnamed_publishers="added-once" if version >= (3, 0, 0) else "added-repeatedly",
        serves_segment_statistics=(5, 0, 0) <= version < (5, 0, 1),
        load=load_rules(version, milestone=milestone),
    )


# One row for each stretch of releases that behaves alike; the label is the first release of the stretch.
CURRENT: Final = _behaviour(4, 2, 4)
OLDEST_SUPPORTED: Final = (2, 10, 0)
LINES: Final = ((2, 10), (2, 11), (3, 0), (3, 1), (3, 2), (3, 3), (4, 0), (4, 1), (4, 2), (5, 0))
"""The release lines whose rules are known, ascending."""


_VERSION: Final = re.compile(r"v?(\d{1,3})\.(\d{1,3}|x)(?:\.(\d{1,3}|x))?(?:\.\d+)?([-+].*)?", re.ASCII)


def behaviour_of(version: str) -> ReleaseBehaviour | Rejection:
    """The behaviour of a Pulsar version such as ``4.0.7``, ``3.3``, ``v2.11.0`` or ``5.0.0-M1-SNAPSHOT``.

    A missing patch number means the newest of that line; a fourth number (a vendor's build) plays no part. Versions
    before 2.10 are refused.

    >>> behaviour_of("2.11.0").nonpartitioned_failover
    'first-connected'
    >>> behaviour_of("4.0.0").knows_failover_consistent_hashing
    False
    """
    match = _VERSION.fullmatch(version.strip())
    if match is None:
        return Rejection("UnknownVersion", f"{version!r} is not a Pulsar version; write it like 4.0.7", field="pulsar")
    major, minor, patch = (999 if part in (None, "x") else int(part) for part in match.groups()[:3])
    if (major, minor, patch) < OLDEST_SUPPORTED:
        return Rejection(
            "UnknownVersion", f"Pulsar {version} is older than 2.10, the first modelled here", field="pulsar"
        )
    return replace(
        _behaviour(major, minor, patch, milestone=match[4] is not None), label=version.strip().removeprefix("v")
    )


def unknown_line(version: str) -> str:
    """Say which rules replace those of an unknown release line; "" for a known line or no version at all.

    >>> unknown_line("9.9")
    'Pulsar 9.9 is not known here: it is answered by the rules of 5.0, the newest known'
    >>> unknown_line("3.9.1")
    'Pulsar 3.9.1 is not known here: it is answered by the rules of 3.3, the line before'
    >>> unknown_line("4.0.7")
    ''
    """
    match = _VERSION.fullmatch(version.strip())
    if match is None or match[2] == "x":
        return ""
    line = (int(match[1]), int(match[2]))
    before = [known for known in LINES if known < line]
    if line in LINES or not before:
        return ""
    which = "the newest known" if before[-1] == LINES[-1] else "the line before"
    major, minor = before[-1]
    return f"Pulsar {version.strip()} is not known here: it is answered by the rules of {major}.{minor}, {which}"


def default_settings(behaviour: ReleaseBehaviour = CURRENT) -> BrokerSettings:
    """The settings of a broker of one release whose broker.conf changes none.

    >>> settings = default_settings(_behaviour(5, 0, 0))
    >>> settings.keySharedLookAheadMsgInReplayThresholdPerConsumer, settings.defaultNumberOfNamespaceBundles
    (4000, 32)
    """
    per_consumer, per_subscription = behaviour.look_ahead_defaults
    return BrokerSettings(
        keySharedLookAheadMsgInReplayThresholdPerConsumer=per_consumer,
        keySharedLookAheadMsgInReplayThresholdPerSubscription=per_subscription,
        defaultNumberOfNamespaceBundles=behaviour.load.default_bundles,
    )
