"""A setting that this release has no more, or not yet, does nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.lint.model import Finding, Rule, Severity, Where, World
from engine.lint.setting_names import is_new, is_read, spans

ID: Final = "setting-not-in-release"


def check(world: World) -> Iterator[Finding]:
    """A finding for each setting of another release. O(settings).

    >>> [finding.what for finding in check(World(configuration={"streamingDispatch": "true"}))]
    ['streamingDispatch=true does nothing: Pulsar 3.0 was the last release with it']
    """
    if not world.names_are_chosen:
        return  # a broker prints what it reads
    release = world.behaviour.label
    known = spans()
    for name, value in world.configuration.items():
        if name not in known or is_read(name, release):
            continue
        if is_new(name, release):
            reason, advice = f"it comes with Pulsar {known[name].since}", f"leave it out of brokers of {release}"
        else:
            reason, advice = f"Pulsar {known[name].until} was the last release with it", "take it out"
        what = f"{name}={value} does nothing: {reason}"
        yield Finding(ID, Severity.WARNING, what, Where(), (), advice)


RULE: Final = Rule(ID, "A setting is not of the release in force", Severity.WARNING, "ServiceConfiguration", check)
