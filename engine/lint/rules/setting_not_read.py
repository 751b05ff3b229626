"""A setting that this release has no more, or not yet, does nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.config import FLAG
from engine.lint.model import Finding, Rule, Severity, Where, World
from engine.lint.setting_names import is_new, is_read, spans
from engine.releases import SETTINGS

ID: Final = "setting-not-in-release"


def check(world: World) -> Iterator[Finding]:
    """A finding for each setting of another release. O(settings).

    >>> [finding.what for finding in check(World(configuration={"streamingDispatch": "true"}))]
    ['streamingDispatch=true does nothing: Pulsar 3.0 was the last release with it']
    """
    if not world.names_are_chosen:
        return  # a broker prints what it reads
    release = world.behaviour.label
    known, chosen = spans(), world.chosen
    for name, value in world.configuration.items():
        lacks = (
            world.behaviour.defaults.lacks(name) if name in SETTINGS else name in known and not is_read(name, release)
        )
        if not lacks or (world.has_default(name) and name not in chosen):
            continue
        if name == FLAG:
            continue  # failover-flag-unknown says what it means for subscriptions
        if name not in known:
            reason, advice = f"Pulsar {release} does not have it", "take it out"
        elif is_new(name, release):
            reason, advice = f"it comes with Pulsar {known[name].since}", f"leave it out of brokers of {release}"
        else:
            reason, advice = f"Pulsar {known[name].until} was the last release with it", "take it out"
        what = f"{name}={value} does nothing: {reason}"
        yield Finding(ID, Severity.WARNING, what, Where(), (), advice)


RULE: Final = Rule(ID, "A setting is not of the release in force", Severity.WARNING, "ServiceConfiguration", check)
