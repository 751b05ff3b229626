"""What holds in a release, by its version, for tests that say which one they are about."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from engine.balance.ahead.model import ShedStart
from engine.balance.brokers import BrokerLoad
from engine.balance.leadership.state import Leader
from engine.balance.settings import LoadSettings, default_load_settings
from engine.config import ReleaseBehaviour, behaviour_of


def known(version: str) -> ReleaseBehaviour:
    behaviour = behaviour_of(version)
    assert isinstance(behaviour, ReleaseBehaviour), behaviour
    return behaviour


def load_settings(version: str, **changed: Any) -> LoadSettings:
    """The defaults of a release with some settings changed."""
    return replace(default_load_settings(known(version)), **changed)


def leader_of(version: str, **changed: Any) -> Leader:
    """A leader by the rules and the defaults of a release with some settings changed."""
    return Leader(load_settings(version, **changed), rules=known(version).load)


def start_of(version: str, loads: tuple[BrokerLoad, ...], **members: Any) -> ShedStart:
    """A forecast by the rules, and but for ``settings`` by the defaults, of a release."""
    return ShedStart(loads, **{"settings": load_settings(version), "rules": known(version).load, **members})
