"""The broker settings that decide who gets what, and which Pulsar release knows which rule.

Settings keep Pulsar's exact names (``conf/broker.conf``, class ``ServiceConfiguration``), so that what is typed here
can be pasted there. A rule takes a ``ReleaseBehaviour`` value, never a version number.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from functools import lru_cache
from typing import Final, Literal, get_args

from msgspec import Struct
from msgspec.structs import fields, replace

from engine.errors import Rejection
from engine.load_rules import CURRENT_LOAD_RULES, LoadRules, load_rules
from engine.releases import (
    CURRENT_DEFAULTS,
    CURRENT_RELEASE,
    FINAL,
    OLDEST,
    SETTINGS,
    Release,
    ReleaseDefaults,
    current_default,
    defaults_of,
    not_modelled,
)
from engine.setting_notes import SETTING_NOTES, UNMODELLED

FLAG: Final = "activeConsumerFailoverConsistentHashing"
"""The setting of PIP-392."""
CLASSIC_KEY_SHARED: Final = "subscriptionKeySharedUseClassicPersistentImplementation"
"""The setting that brings the dispatcher from before PIP-379 back, in 4.x only."""
SplitAlgorithmName = Literal[
    "range_equally_divide", "topic_count_equally_divide", "specified_positions_divide", "flow_or_qps_equally_divide"
]
RANGE_EQUALLY_DIVIDE: Final = "range_equally_divide"
TOPIC_COUNT_EQUALLY_DIVIDE: Final = "topic_count_equally_divide"
SPECIFIED_POSITIONS_DIVIDE: Final = "specified_positions_divide"
FLOW_OR_QPS_EQUALLY_DIVIDE: Final = "flow_or_qps_equally_divide"
SPLIT_ALGORITHMS: Final[tuple[SplitAlgorithmName, ...]] = get_args(SplitAlgorithmName)


class BrokerSettings(Struct, frozen=True):
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
    maxProducersPerTopic: int = 0
    subscriptionKeySharedUseConsistentHashing: bool = True
    subscriptionKeySharedConsistentHashingReplicaPoints: int = 100
    subscriptionKeySharedUseClassicPersistentImplementation: bool = False
    keySharedLookAheadMsgInReplayThresholdPerConsumer: int = current_default(
        "keySharedLookAheadMsgInReplayThresholdPerConsumer"
    )
    keySharedLookAheadMsgInReplayThresholdPerSubscription: int = current_default(
        "keySharedLookAheadMsgInReplayThresholdPerSubscription"
    )
    keySharedUnblockingIntervalMs: int = 10
    maxUnackedMessagesPerConsumer: int = 50000
    maxUnackedMessagesPerSubscription: int = 200000
    aggregatePublisherStatsByProducerName: bool = False
    defaultNumberOfNamespaceBundles: int = current_default("defaultNumberOfNamespaceBundles")
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

        Refused: what ``setting_value`` refuses.
        """
        value = setting_value(name, text)
        if isinstance(value, Rejection):
            return value
        return self if getattr(self, name) == value else replace(self, **{name: value})

    def text_of(self, name: str) -> str:
        """The setting as broker.conf writes it."""
        value = getattr(self, name)
        if isinstance(value, bool):
            return "true" if value else "false"
        return ",".join(value) if isinstance(value, tuple) else str(value)


SettingValue = bool | int | str | tuple[str, ...]
DEFAULTS: Final[dict[str, SettingValue]] = {
    field.name: getattr(BrokerSettings(), field.name) for field in fields(BrokerSettings)
}
_LOWEST: Final[Mapping[str, int]] = {"subscriptionKeySharedConsistentHashingReplicaPoints": 1}
_INT_32: Final = range(-(2**31), 2**31)


def setting_value(name: str, text: str) -> SettingValue | Rejection:
    """What a line of broker.conf sets ``name`` to.

    Refused: an unknown name, a text of another type, and points of a ring below 1, with which a broker would start
    and dispatch nothing.
    """
    default = DEFAULTS.get(name)
    if default is None and (reason := _why_unused(name)):
        return Rejection("NotModelled", reason, field=name)
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
    return value


def _why_unused(name: str) -> str:
    """Why a setting that brokers have is not one of ``BrokerSettings``, "" for a name that is not known here."""
    if name in SETTING_NOTES:
        return f"{name} is a setting of load managers: ringside brokers takes it with --set"
    if name in UNMODELLED:
        return f"{name} changes nothing that is computed here. {UNMODELLED[name].remark.removesuffix('.')}"
    if name in SETTINGS:
        return f"{name} changes nothing that is computed here; ringside upgrade compares its defaults"
    return ""


def _parse(text: str, like: SettingValue) -> SettingValue | None:
    if isinstance(like, bool):
        return {"true": True, "false": False}.get(text.lower())
    if isinstance(like, int):
        return int(text) if re.fullmatch(r"[+-]?[0-9]{1,11}", text) and int(text) in _INT_32 else None
    if isinstance(like, tuple):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    return text


def _domain(like: SettingValue) -> str:
    return "true or false" if isinstance(like, bool) else "a whole number of 32 bits"


class ReleaseBehaviour(Struct, frozen=True):
    """Which form of each rule one Pulsar release has.

    ``knows_failover_consistent_hashing``: the setting of PIP-392 exists; a release without it ignores the line.
    ``nonpartitioned_failover``: "ring" since 3.0 (#19502); before, the first connected consumer stays active and
    neither names nor priority levels play a part (#4604). ``notices_on_nonpersistent_change``: #26482.
    ``split_algorithms``: the names the release accepts (PIP-169 added the fourth in 3.0).
    ``exclusive_attempts``: tries of a second Exclusive consumer (#24934).

    ``blank_ends``: whether a partitioned topic may be made whose name begins or ends with white space (#26281).

    A split request: ``flow_by_name``: whether it may name ``flow_or_qps_equally_divide`` while another algorithm is the
    default. ``equal_boundaries``: whether boundaries that repeat are refused, or the failure is dropped, so that the
    request is never answered (#26735). ``extensible_without_cuts``: whether the extensible load manager fails where the
    algorithm finds nothing to cut, or is done.

    Key_Shared: ``key_shared_ring`` is the form of the ring's points (#22053, #23327, #23441). ``sticky_gaps``: whether
    a gap between two sticky ranges of one consumer is served by it (#24730). ``keyless_messages``: since #23219 they
    are spread by producer name and sequence id, before all have one key. ``key_shared_order``: what keeps a key in
    order while consumers come and go, draining hashes (PIP-379) or the rule for consumers that joined recently.
    ``draining_takes_back``: a hash that returns to its consumer stops draining (#24736).
    ``key_shared_folds_slot_zero``: slot 0 becomes 1 (PIP-379). ``ownerless_key``: what waits while a sticky slot has no
    owner: that key, consumers that joined after its message too, or the whole subscription.

    ``unnamed_publishers``: how partitioned statistics add up publishers without a common name (#18807).
    ``serves_segment_statistics``: a broker answers for one segment of a scalable topic; 5.0.1 has no such path.
    ``load``: load shedding and placement. ``defaults``: what settings are where nobody sets them, and which ones the
    release lacks.
    """

    label: str
    nonpartitioned_failover: Literal["ring", "first-connected"] = "ring"
    knows_failover_consistent_hashing: bool = True
    notices_on_nonpersistent_change: bool = True
    split_algorithms: tuple[str, ...] = SPLIT_ALGORITHMS
    exclusive_attempts: int = 5
    blank_ends: Literal["taken", "refused"] = "refused"
    flow_by_name: bool = True
    equal_boundaries: Literal["refused", "never-answered"] = "refused"
    extensible_without_cuts: Literal["done", "fails"] = "done"
    key_shared_ring: Literal["name_i", "name_nul_i", "indexed_replace", "current"] = "current"
    sticky_gaps: Literal["served", "unserved"] = "unserved"
    keyless_messages: Literal["spread", "one-key"] = "spread"
    key_shared_order: Literal["draining-hashes", "recently-joined"] = "draining-hashes"
    draining_takes_back: bool = True
    key_shared_folds_slot_zero: bool = True
    ownerless_key: Literal["waits", "delays-newcomers", "stops-subscription"] = "waits"
    unnamed_publishers: Literal["added-once", "added-repeatedly"] = "added-once"
    serves_segment_statistics: bool = False
    load: LoadRules = CURRENT_LOAD_RULES
    defaults: ReleaseDefaults = CURRENT_DEFAULTS


def _key_shared_ring(version: Release) -> Literal["name_i", "name_nul_i", "indexed_replace", "current"]:
    if version >= (4, 0, 0):
        return "current"
    # Both changes went to the maintained branches only; 3.1 had ended before the first of them was carried back.
    if version >= (3, 3, 2) or (3, 0, 7) <= version < (3, 1, 0):
        return "indexed_replace"
    if version >= (3, 2, 1) or (3, 0, 3) <= version < (3, 1, 0):
        return "name_nul_i"
    return "name_i"


@lru_cache(maxsize=64)
def _behaviour(version: Release) -> ReleaseBehaviour:
    since_3_0 = version >= (3, 0, 0)
    pip_379 = version >= (4, 0, 0)
    # #24736 and #24730; that 4.1.1 has them and 4.1.0 has not is inferred from their dates.
    takes_back = version.has(Release(4, 0, 7), Release(4, 1, 1))
    gaps_unserved = takes_back or version.has(Release(3, 0, 14), Release(3, 3, 9), Release(4, 0, 7), Release(4, 1, 1))
    answered = version.has(Release(4, 0, 14), Release(4, 2, 5), Release(5, 0, 0))
    ownerless_before_4_0: Literal["delays-newcomers", "stops-subscription"]
    ownerless_before_4_0 = "delays-newcomers" if since_3_0 else "stops-subscription"
    defaults = defaults_of(version)
    return ReleaseBehaviour(
        label=f"{version.major}.{version.minor}.{version.patch}",
        nonpartitioned_failover="ring" if since_3_0 else "first-connected",
        knows_failover_consistent_hashing=not defaults.lacks(FLAG),
        # A broker of 5.0.1 has it, one of 4.2.4 has not; the milestones of 5.0 were cut before it was merged.
        notices_on_nonpersistent_change=version.has(Release(4, 0, 14), Release(4, 2, 5), Release(5, 0, 0)),
        split_algorithms=SPLIT_ALGORITHMS if since_3_0 else SPLIT_ALGORITHMS[:3],
        exclusive_attempts=5 if version >= (4, 0, 8) else 1,
        blank_ends="refused" if version.has(Release(5, 0, 0, milestone=2)) else "taken",
        # Both are measured on 5.0.1; that 5.0.0 has them is inferred.
        flow_by_name=version.has(Release(5, 0, 0)),
        extensible_without_cuts="done" if version.has(Release(5, 0, 0)) else "fails",
        equal_boundaries="refused" if answered else "never-answered",
        key_shared_ring=_key_shared_ring(version),
        sticky_gaps="unserved" if gaps_unserved else "served",
        keyless_messages="spread" if pip_379 else "one-key",
        key_shared_order="draining-hashes" if pip_379 else "recently-joined",
        draining_takes_back=takes_back,
        key_shared_folds_slot_zero=pip_379,
        ownerless_key="waits" if pip_379 else ownerless_before_4_0,
        unnamed_publishers="added-once" if since_3_0 else "added-repeatedly",
        serves_segment_statistics=Release(5, 0, 0, milestone=1) <= version < Release(5, 0, 1),
        load=load_rules(version),
        defaults=defaults,
    )


CURRENT: Final = _behaviour(CURRENT_RELEASE)
LINES: Final = ((2, 10), (2, 11), (3, 0), (3, 1), (3, 2), (3, 3), (4, 0), (4, 1), (4, 2), (5, 0))
"""The release lines whose rules are known, ascending."""


_VERSION: Final = re.compile(r"v?(\d{1,3})\.(\d{1,3}|x)(?:\.(\d{1,3}|x))?(?:\.\d+)?([-+].*)?", re.ASCII)


def release_of(version: str) -> Release | Rejection:
    """The release that a text names, such as ``4.0.7``, ``3.3``, ``v2.11.0`` or ``5.0.0-M2-SNAPSHOT``.

    A missing patch number means the newest of that line; a fourth number (a vendor's build) plays no part. Versions
    before 2.10 are refused.

    >>> release_of("5.0.0-M2") == Release(5, 0, 0, milestone=2), release_of("4.2") > Release(4, 2, 5)
    (True, True)
    """
    match = _VERSION.fullmatch(version.strip())
    if match is None:
        return Rejection("UnknownVersion", f"{version!r} is not a Pulsar version; write it like 4.0.7", field="pulsar")
    major, minor, patch = (999 if part in (None, "x") else int(part) for part in match.groups()[:3])
    # 5.0.0-M1 and a snapshot of 5.0.0 came before 5.0.0; a vendor's 5.0.1-7 or 5.0.0+7 did not.
    before_final = patch == 0 and (match[4] or "").startswith("-")
    milestone = re.match(r"-M(\d{1,2})\b", match[4] or "", re.ASCII)
    number = int(milestone[1]) if milestone is not None else 1
    release = Release(major, minor, patch, milestone=number if before_final else FINAL)
    if release < OLDEST[:3]:
        return Rejection("UnknownVersion", not_modelled(release, version.strip()), field="pulsar")
    return release


def behaviour_of(version: str) -> ReleaseBehaviour | Rejection:
    """The behaviour of the release that a text names; refused as ``release_of`` does.

    >>> behaviour_of("2.11.0").nonpartitioned_failover
    'first-connected'
    >>> behaviour_of("4.0.0").knows_failover_consistent_hashing
    False
    """
    release = release_of(version)
    if isinstance(release, Rejection):
        return release
    return replace(_behaviour(release), label=version.strip().removeprefix("v"))


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


def ignored_setting(name: str, behaviour: ReleaseBehaviour) -> str:
    """Say that brokers of a release do not have a setting, "" where they have it.

    >>> ignored_setting(CLASSIC_KEY_SHARED, _behaviour(Release(5, 0, 1)))
    'Pulsar 5.0.1 does not have subscriptionKeySharedUseClassicPersistentImplementation and ignores it'
    """
    return f"Pulsar {behaviour.label} does not have {name} and ignores it" if behaviour.defaults.lacks(name) else ""


def rebased(
    settings: BrokerSettings, before: ReleaseBehaviour, after: ReleaseBehaviour, but: Container[str] = ()
) -> BrokerSettings:
    """The settings with defaults of one release replaced by those of another, except those named in ``but``.

    >>> rebased(BrokerSettings(defaultNumberOfNamespaceBundles=4), _behaviour(Release(4, 2, 4)), _behaviour(
    ...     Release(5, 0, 0))).defaultNumberOfNamespaceBundles
    32
    """
    old, new = default_settings(before), default_settings(after)
    changed = {
        name: getattr(new, name)
        for name in DEFAULTS
        if name not in but and getattr(settings, name) == getattr(old, name) != getattr(new, name)
    }
    return replace(settings, **changed)


def is_dynamic(name: str, behaviour: ReleaseBehaviour = CURRENT) -> bool:
    """Whether brokers of a release take a setting that is known here while they run.

    >>> is_dynamic("maxUnloadPercentage"), is_dynamic("activeConsumerFailoverConsistentHashing")
    (True, False)
    """
    by_release = dict(behaviour.defaults.entries).get(name)
    return SETTING_NOTES[name].dynamic if by_release is None else by_release.dynamic


def default_settings(behaviour: ReleaseBehaviour = CURRENT) -> BrokerSettings:
    """The settings of a broker of one release whose broker.conf changes none.

    >>> settings = default_settings(_behaviour(Release(5, 0, 0)))
    >>> settings.keySharedLookAheadMsgInReplayThresholdPerConsumer, settings.defaultNumberOfNamespaceBundles
    (4000, 32)
    """
    known = {name: value for name, value in behaviour.defaults.values() if name in DEFAULTS}
    return replace(BrokerSettings(), **known)
