"""The settings of automatic scaling: those of the broker, overridden field by field by namespace and topic.

After ``AutoScaleConfig``, ``AutoScalePolicyOverride`` and ``ServiceConfiguration`` of Pulsar 5.0.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from engine.errors import Rejection
from engine.scalable.model import RING_SIZE

METRICS: Final = ("msgRateIn", "byteRateIn", "msgRateOut", "byteRateOut")
"""The four rates in the order in which limits are compared; the first of equal scores names the reason."""
BROKER_PREFIX: Final = "scalableTopic"
"""A setting of broker.conf is this and the field's name with a capital letter."""
MAX_BUCKETS: Final = "scalableTopicEntryBucketMaxPerSegment"
"""The one setting that no namespace or topic overrides, and no statistics print."""


@dataclass(frozen=True, slots=True)
class AutoScaleSettings:
    """What is in force for one topic, by Pulsar's names. Rates are per second; bytes have whole limits."""

    enabled: bool = True
    maxSegments: int = 64
    minSegments: int = 1
    maxDagDepth: int = 10
    splitCooldownSeconds: int = 60
    rebucketCooldownSeconds: int = 60
    mergeCooldownSeconds: int = 300
    mergeWindowSeconds: int = 300
    splitVsRebucketMinMsgRateInThreshold: float = 1000.0
    splitMsgRateInThreshold: float = 10_000.0
    splitBytesRateInThreshold: float = 50_000_000
    splitMsgRateOutThreshold: float = 50_000.0
    splitBytesRateOutThreshold: float = 250_000_000
    mergeMsgRateInThreshold: float = 1000.0
    mergeBytesRateInThreshold: float = 5_000_000
    mergeMsgRateOutThreshold: float = 5000.0
    mergeBytesRateOutThreshold: float = 25_000_000
    entryBucketMaxPerSegment: int = 1024

    def split_limits(self) -> tuple[float, float, float, float]:
        return (
            self.splitMsgRateInThreshold,
            self.splitBytesRateInThreshold,
            self.splitMsgRateOutThreshold,
            self.splitBytesRateOutThreshold,
        )

    def merge_limits(self) -> tuple[float, float, float, float]:
        return (
            self.mergeMsgRateInThreshold,
            self.mergeBytesRateInThreshold,
            self.mergeMsgRateOutThreshold,
            self.mergeBytesRateOutThreshold,
        )


FIELDS: Final = tuple(one.name for one in fields(AutoScaleSettings))
OVERRIDABLE: Final = tuple(name for name in FIELDS if name != "entryBucketMaxPerSegment")
"""What namespaces and topics can override, which is also what statistics show as the policy."""

Overrides = Mapping[str, bool | int | float]


def settings_in_force(
    broker: AutoScaleSettings | None = None, namespace: Overrides | None = None, topic: Overrides | None = None
) -> AutoScaleSettings:
    """The broker's settings with the namespace's and then the topic's overrides, not checked.

    >>> settings_in_force(namespace={"maxSegments": 8, "minSegments": 2}, topic={"maxSegments": 9}).maxSegments
    9
    """
    changes: dict[str, Any] = {**(namespace or {}), **(topic or {})}
    return replace(broker or AutoScaleSettings(), **{name: changes[name] for name in OVERRIDABLE if name in changes})


def refuse_settings(settings: AutoScaleSettings) -> Rejection | None:
    """None for settings that agree with each other, else the first fault, in Pulsar's order and words."""
    at_least = (
        ("minSegments", settings.minSegments >= 1, "must be >= 1"),
        ("maxSegments", settings.maxSegments >= settings.minSegments, "must be >= minSegments"),
        ("maxDagDepth", settings.maxDagDepth >= 0, "must be >= 0"),
        ("splitCooldown", settings.splitCooldownSeconds >= 0, "must not be negative"),
        ("rebucketCooldown", settings.rebucketCooldownSeconds >= 0, "must not be negative"),
        ("mergeCooldown", settings.mergeCooldownSeconds >= 0, "must not be negative"),
        ("mergeWindow", settings.mergeWindowSeconds >= 0, "must not be negative"),
    )
    limits = tuple(zip(_LIMIT_NAMES, settings.split_limits(), settings.merge_limits(), strict=True))
    checks = (
        *at_least,
        *((f"split{name}", split > 0, "must be > 0") for name, split, _ in limits),
        *((f"merge{name}", merge >= 0, "must be >= 0") for name, _, merge in limits),
        (
            "splitVsRebucketMinMsgRateInThreshold",
            settings.splitVsRebucketMinMsgRateInThreshold >= 0,
            "must be >= 0",
        ),
        (
            "maxEntryBucketsPerSegment",
            1 <= settings.entryBucketMaxPerSegment <= RING_SIZE,
            f"must be in [1, {RING_SIZE}]",
        ),
        *((f"split{name}", split > merge, f"must be > merge{name} (hysteresis)") for name, split, merge in limits),
    )
    for name, holds, rule in checks:
        if not holds:
            message = f"Invalid auto split/merge configuration: {name} {rule}"
            return Rejection("IllegalArgumentException", message, field=name, status=412)
    return None


_LIMIT_NAMES: Final = (
    "MsgRateInThreshold",
    "BytesRateInThreshold",
    "MsgRateOutThreshold",
    "BytesRateOutThreshold",
)


def max_buckets(printed: str | None) -> int:
    """What a segment may have at most, by a broker's setting; the default for a text that is no such number.

    >>> max_buckets("64"), max_buckets("none"), max_buckets(None)
    (64, 1024, 1024)
    """
    text = printed or ""
    default = AutoScaleSettings().entryBucketMaxPerSegment
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 and int(text) > 0 else default
