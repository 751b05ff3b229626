"""The behaviour of a release by its version, for tests that say which one they are about."""

from __future__ import annotations

from engine.config import ReleaseBehaviour, behaviour_of


def known(version: str) -> ReleaseBehaviour:
    behaviour = behaviour_of(version)
    assert isinstance(behaviour, ReleaseBehaviour), behaviour
    return behaviour
