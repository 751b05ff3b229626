"""Small cases for the rules: one subscription, one key space, one namespace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.bundles.boundaries import NamespaceBundles
from engine.bundles.loads import TopicLoad
from engine.config import BrokerSettings, ReleaseBehaviour, behaviour_of
from engine.errors import Rejection
from engine.failover.model import Consumer
from engine.keyshared.admission import JoinRefused, KeySharedMode, assemble
from engine.keyshared.model import Consumer as KeyConsumer
from engine.keyshared.model import DeclaredRanges
from engine.lint import Finding, KeyCase, NamespaceCase, SubscriptionCase, World
from engine.lint.model import Case, Rule

NAMESPACE = "t/n"
TOP = 0xFFFFFFFF


def release(version: str) -> ReleaseBehaviour:
    behaviour = behaviour_of(version)
    assert not isinstance(behaviour, Rejection)
    return behaviour


def world(version: str = "4.2.4", manager: Any = None, **settings: Any) -> World:
    """A world of one release; settings by Pulsar's names, ``flag`` for the long one."""
    if "flag" in settings:
        settings["activeConsumerFailoverConsistentHashing"] = settings.pop("flag")
    return World(BrokerSettings(**settings), release(version), manager)


def failover(
    names: list[str], where: World, *, partitioned: int = 1, unpartitioned: int = 0, levels: list[int] | None = None
) -> SubscriptionCase:
    levels = levels or [0] * len(names)
    consumers = tuple(Consumer(at, name, levels[at]) for at, name in enumerate(names))
    return SubscriptionCase(where, NAMESPACE, "sub", "persistent://t/n/x", consumers, partitioned, unpartitioned)


def automatic(names: list[str], where: World) -> KeyCase:
    """A Key_Shared subscription whose consumers joined in this order."""
    return _keys([KeyConsumer(at, name) for at, name in enumerate(names)], KeySharedMode.AUTO_SPLIT, where)


def sticky(ranges: Mapping[str, DeclaredRanges], where: World) -> KeyCase:
    """A Key_Shared subscription of consumers that declared these ranges, and could all join."""
    consumers = [KeyConsumer(at, name, declared) for at, (name, declared) in enumerate(ranges.items())]
    return _keys(consumers, KeySharedMode.STICKY, where)


def _keys(consumers: list[KeyConsumer], mode: KeySharedMode, where: World) -> KeyCase:
    result = assemble(consumers, mode, where.settings, where.behaviour)
    assert not isinstance(result, (Rejection, JoinRefused)), result
    return KeyCase(where, NAMESPACE, "keys", "persistent://t/n/x", 1, tuple(consumers), result)


def topic(position: int, rate: float = 0.0, throughput: float = 0.0, name: str | None = None) -> TopicLoad:
    """A topic whose CRC-32 is set by hand; the rate and throughput come in."""
    return TopicLoad(name or f"persistent://t/n/at-{position}", position, rate, 0.0, throughput, 0.0)


def namespace(topics: list[TopicLoad], where: World, *boundaries: int, **more: Any) -> NamespaceCase:
    """A namespace of these topics with boundaries between 0 and the top."""
    return NamespaceCase(where, NamespaceBundles(NAMESPACE, (0, *boundaries, TOP)), tuple(topics), **more)


def findings_by(rule: Rule[Case], case: Case) -> list[Finding]:
    """What one rule finds; each finding carries its id, keeps to its severity, and says what to change."""
    findings = list(rule.check(case))
    for finding in findings:
        assert finding.rule == rule.id
        assert finding.severity <= rule.worst
        assert finding.what and finding.advice and finding.numbers
        assert not finding.what.endswith(".") and not finding.advice.endswith(".")
    return findings
