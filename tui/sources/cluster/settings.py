"""Settings that somebody gives for brokers that do not say theirs."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from engine.config import BrokerSettings
from engine.errors import InputError, Rejection
from tui.sources.cluster import paths
from tui.sources.cluster.outcomes import Answer
from tui.sources.cluster.reading import ClusterReading


def require_settings(pairs: tuple[tuple[str, str], ...]) -> None:
    """Raise ``InputError`` for a setting or a value that brokers do not have."""
    settings = BrokerSettings()
    for name, text in pairs:
        changed = settings.with_setting(name, text)
        if isinstance(changed, Rejection):
            raise InputError(f"--set {name}={text}: {changed.message}")


def with_settings(reading: ClusterReading, pairs: tuple[tuple[str, str], ...]) -> ClusterReading:
    """The reading as if the brokers had these settings, which then are not assumed any longer."""
    if not pairs:
        return reading
    told: dict[str, object] = {}
    for answer in reading.answers:
        if answer.path == paths.RUNTIME:
            told = msgspec.json.decode(answer.data, type=dict[str, object])
    told.update(pairs)
    others = tuple(answer for answer in reading.answers if answer.path != paths.RUNTIME)
    given = Answer(paths.RUNTIME, msgspec.json.encode(told))
    assumed = tuple(each for each in reading.assumed if each != "settings")
    return replace(reading, answers=(*others, given), assumed=assumed)
