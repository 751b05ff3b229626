"""Pulsar releases in their order, and the settings whose default, or whose very existence, depends on the release.

This is the only place that says so: the defaults of ``BrokerSettings`` and ``LoadSettings``, what a release ignores,
which settings ``update-dynamic-config`` takes, and what ``upgrade`` lists are all derived from ``SETTINGS``. A setting
that is not here has had one default since 2.10.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from msgspec import Struct

SettingValue = bool | int | float | str | tuple[str, ...]
FINAL: Final = 1000
"""``milestone`` of a release proper; its milestones come before it."""


class Release(NamedTuple):
    """A release or a milestone of it, in the order in which they came out within one line.

    >>> Release(4, 2, 4) < Release(5, 0, 0, milestone=1) < Release(5, 0, 0)
    True
    """

    major: int
    minor: int
    patch: int
    milestone: int = FINAL

    def __str__(self) -> str:
        number = f"{self.major}.{self.minor}.{self.patch}"
        return number if self.milestone in (0, FINAL) else f"{number}-M{self.milestone}"

    @property
    def line(self) -> tuple[int, int]:
        return (self.major, self.minor)

    def has(self, *firsts: Release) -> bool:
        """Whether a release has a change that came with these: the first of each line, and all lines after the last.

        >>> Release(3, 1, 9).has(Release(3, 0, 6), Release(3, 2, 4)), Release(4, 0, 0).has(Release(3, 2, 4))
        (False, True)
        """
        in_line = any(self.line == first.line and self >= first for first in firsts)
        return in_line or self.line > firsts[-1].line


CURRENT_RELEASE: Final = Release(5, 0, 1)
"""The reference: what is not said otherwise has its rules and its defaults."""
OLDEST: Final = Release(2, 10, 0)
_ARRIVED_BEFORE: Final = (
    (Release(2, 4, 0), "Key_Shared subscriptions (PIP-34)"),
    (Release(2, 5, 0), "declared sticky ranges (PIP-51)"),
    (Release(2, 6, 0), "consistent hashing in Key_Shared (#6791)"),
    (Release(2, 6, 1), "sticky ranges between those of another consumer (#7217)"),
    (OLDEST, "consistent hashing in Key_Shared as the default (PIP-119)"),
)
"""What of our field releases before the oldest that is modelled lacked, by the first release that had it."""
_3_0: Final = Release(3, 0, 0)
_4_0: Final = Release(4, 0, 0, milestone=0)
_5_0_M1: Final = Release(5, 0, 0, milestone=1)
_5_0: Final = Release(5, 0, 0)
_AUTUMN_2026: Final = (Release(4, 0, 14), Release(4, 2, 5), Release(5, 0, 0, milestone=2))
"""The first releases of most fixes of that time, by their release notes."""


class Default(Struct, frozen=True):
    """What a setting is where nobody sets it. ``value`` None: brokers do not have the setting and ignore its line.

    ``dynamic``: ``update-dynamic-config`` takes it. A strategy is the full name of its class, as broker.conf has it.
    """

    value: SettingValue | None
    dynamic: bool

    @property
    def text(self) -> str:
        """The value as broker.conf writes it; "" where there is no such setting."""
        if self.value is None:
            return ""
        if isinstance(self.value, tuple):
            return ",".join(self.value)
        return str(self.value).lower() if isinstance(self.value, bool) else str(self.value)


class _Since(Struct, frozen=True):
    """A default, and the first release of each line that has it."""

    default: Default
    firsts: tuple[Release, ...]


def _dynamic(value: SettingValue | None, *firsts: Release) -> _Since:
    return _Since(Default(value, dynamic=True), firsts)


def _static(value: SettingValue | None, *firsts: Release) -> _Since:
    return _Since(Default(value, dynamic=False), firsts)


def _absent(*firsts: Release) -> _Since:
    return _Since(Default(None, dynamic=False), firsts)


_SPLITS_BEFORE_FLOW: Final = ("range_equally_divide", "topic_count_equally_divide", "specified_positions_divide")
_IMPL: Final = "org.apache.pulsar.broker.loadbalance.impl."

# The last entry of a setting whose releases include the given one holds. Defaults of 4.2.4 and 5.0.1 are those of their
# ServiceConfiguration. Between the two the pull requests say where a change came in: those of #25992 are in 5.0.0-M1;
# #26609, #26610, #26687 and #26744 were merged after it; #26578 was carried back to 4.0.14 and 4.2.5.
SETTINGS: Final[Mapping[str, tuple[_Since, ...]]] = {
    # Who is active (PIP-392).
    "activeConsumerFailoverConsistentHashing": (
        _absent(OLDEST),
        _static(False, Release(3, 0, 8), Release(3, 3, 3), Release(4, 0, 1)),
    ),
    # Key_Shared and Shared.
    "keySharedLookAheadMsgInReplayThresholdPerConsumer": (_dynamic(2000, OLDEST), _dynamic(4000, _5_0_M1)),
    "keySharedLookAheadMsgInReplayThresholdPerSubscription": (_dynamic(20000, OLDEST), _dynamic(40000, _5_0_M1)),
    "subscriptionKeySharedUseClassicPersistentImplementation": (
        _absent(OLDEST),
        _dynamic(False, _4_0),
        _absent(_5_0),
    ),
    "subscriptionSharedUseClassicPersistentImplementation": (_absent(OLDEST), _dynamic(False, _4_0), _absent(_5_0)),
    # Dispatching and storage.
    "dispatcherMaxReadBatchSize": (_dynamic(100, OLDEST), _dynamic(500, _5_0)),
    "dispatcherDispatchMessagesInSubscriptionThread": (
        _dynamic(True, OLDEST),
        _dynamic(False, Release(4, 0, 14), Release(4, 2, 5), _5_0),
    ),
    "managedLedgerBatchReadEnabled": (_absent(OLDEST), _dynamic(True, _5_0)),
    # "null" means 15 percent of the direct memory, and 0 no limit (#25979).
    "managedLedgerMaxReadsInFlightSizeInMB": (_static(0, OLDEST), _static("null", _5_0_M1)),
    "acknowledgmentAtBatchIndexLevelEnabled": (_static(False, OLDEST), _static(True, Release(4, 2, 0))),
    "managedLedgerMaxUnackedRangesToPersist": (_static(10000, OLDEST), _static(200000, _5_0_M1)),
    "managedLedgerMaxUnackedRangesToPersistInMetadataStore": (_static(1000, OLDEST), _static(200000, _5_0_M1)),
    "managedLedgerMaxBatchDeletedIndexToPersist": (_static(10000, OLDEST), _static(200000, _5_0_M1)),
    # Namespaces and topics.
    # PIP-169 (#16557).
    "supportedNamespaceBundleSplitAlgorithms": (
        _dynamic(_SPLITS_BEFORE_FLOW, OLDEST),
        _dynamic((*_SPLITS_BEFORE_FLOW, "flow_or_qps_equally_divide"), _3_0),
    ),
    "flowOrQpsDifferenceThresholdPercentage": (_absent(OLDEST), _dynamic(10, _3_0)),
    "defaultNumberOfNamespaceBundles": (_dynamic(4, OLDEST), _dynamic(32, _5_0)),
    "defaultNumberOfSystemNamespaceBundles": (_absent(OLDEST), _static(64, _5_0)),
    "brokerCloseInactiveTopicsEnabled": (_absent(OLDEST), _dynamic(False, _5_0)),
    "scalableTopicsEnabled": (_absent(OLDEST), _static(True, _5_0)),
    "scalableTopicAutoScaleEnabled": (_absent(OLDEST), _dynamic(True, _5_0)),
    # What answers over the admin API and metrics; #26313 and #26549 were carried back to 4.0.14 and 4.2.5.
    "exposeSubscriptionBacklogAgeInPrometheus": (_absent(OLDEST), _static(False, *_AUTUMN_2026)),
    "authenticateOriginalAuthData": (_static(False, OLDEST), _static(True, *_AUTUMN_2026)),
    "tlsHostnameVerificationEnabled": (_static(False, OLDEST), _static(True, _5_0)),
    # Shedding and placement.
    "loadBalancerLoadSheddingStrategy": (
        _dynamic(f"{_IMPL}ThresholdShedder", OLDEST),
        _dynamic(f"{_IMPL}AvgShedder", _5_0),
    ),
    "loadBalancerLoadPlacementStrategy": (
        _static(f"{_IMPL}LeastLongTermMessageRate", OLDEST),
        _static(f"{_IMPL}AvgShedder", _5_0),
    ),
    "loadBalancerDistributeBundlesEvenlyEnabled": (_dynamic(True, OLDEST), _dynamic(False, _5_0)),
    "maxUnloadPercentage": (_dynamic(0.2, OLDEST), _dynamic(0.5, _5_0)),
    "loadBalancerDirectMemoryResourceWeight": (_dynamic(1.0, OLDEST), _dynamic(0.0, Release(3, 1, 1))),
    "loadBalancerMemoryResourceWeight": (_dynamic(1.0, OLDEST), _dynamic(0.0, _4_0)),
}


class ReleaseDefaults(Struct, frozen=True):
    """The defaults of one release, of the settings in ``SETTINGS`` and of nothing else, in their order.

    >>> old, new = defaults_of(Release(4, 2, 4)), defaults_of(Release(5, 0, 1))
    >>> old["maxUnloadPercentage"].value, new["maxUnloadPercentage"].value
    (0.2, 0.5)
    >>> new["subscriptionSharedUseClassicPersistentImplementation"].value is None
    True
    """

    entries: tuple[tuple[str, Default], ...]

    def __getitem__(self, name: str) -> Default:
        return dict(self.entries)[name]

    def lacks(self, name: str) -> bool:
        """Whether brokers of the release ignore a setting because they do not have it."""
        default = dict(self.entries).get(name)
        return default is not None and default.value is None

    def values(self) -> Iterator[tuple[str, SettingValue]]:
        """The settings that the release has, with their defaults."""
        return ((name, default.value) for name, default in self.entries if default.value is not None)


def history_of(name: str) -> tuple[tuple[tuple[Release, ...], Default], ...]:
    """The defaults of a setting over time, each with the first releases that have it, one a line; () for one of all."""
    return tuple((since.firsts, since.default) for since in SETTINGS.get(name, ()))


def defaults_of(release: Release) -> ReleaseDefaults:
    """The defaults of a release. O(settings)."""
    return ReleaseDefaults(
        tuple(
            (name, [since.default for since in history if release.has(*since.firsts)][-1])
            for name, history in SETTINGS.items()
        )
    )


def not_modelled(release: Release, label: str) -> str:
    """What a release before ``OLDEST`` lacked, and how to come nearest to it.

    >>> not_modelled(Release(2, 7, 0), "2.7.0").partition(" Nearest")[0].partition(" It lacked ")[2]
    'consistent hashing in Key_Shared as the default (PIP-119).'
    """
    lacked = [what for first, what in _ARRIVED_BEFORE if release < first]
    return (
        f"Pulsar {label} is older than {OLDEST.major}.{OLDEST.minor}, the first modelled here."
        f" It lacked {'; '.join(lacked)}. Nearest: --pulsar {OLDEST.major}.{OLDEST.minor} with"
        " subscriptionKeySharedUseConsistentHashing=false"
    )


def defaults_ever(name: str) -> frozenset[SettingValue]:
    """The defaults of a setting in all releases; a strategy by its last part."""
    values = (since.default.value for since in SETTINGS[name])
    return frozenset(by_last_part(value) for value in values if value is not None)


def by_last_part(value: SettingValue) -> SettingValue:
    """A strategy by the last part of its class, any other value as it is."""
    return value.rpartition(".")[2] if isinstance(value, str) else value


CURRENT_DEFAULTS: Final = defaults_of(CURRENT_RELEASE)


def current_default(name: str) -> Any:
    """The default of a setting in ``CURRENT_RELEASE``, for the field of that name; a strategy by its last part."""
    value = CURRENT_DEFAULTS[name].value
    assert value is not None, name
    return by_last_part(value)
