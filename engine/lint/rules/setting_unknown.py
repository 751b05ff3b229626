"""A name that no release has is read by nobody: mostly it is spelt wrong."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final

from engine.lint.model import Finding, Rule, Severity, Where, World
from engine.lint.setting_names import spans
from engine.text import counted, joined

ID: Final = "setting-unknown"
_NEAR: Final = 0.88


def check(world: World) -> Iterator[Finding]:
    """A finding for each name that is nearly one of Pulsar's, and one for all others. O(settings x names).

    >>> [finding.severity.label for finding in check(World(configuration={"loadBalancerEnable": "true"}))]
    ['warning']
    """
    if not world.names_are_chosen:
        return  # a broker prints what it knows
    known = spans()
    unknown = [name for name in world.configuration if name not in known]
    others: list[str] = []
    for name in unknown:
        near = get_close_matches(name, known, n=1, cutoff=_NEAR)
        if near and near[0] not in world.configuration:
            what = f"no release has a setting {name}, so {name}={world.configuration[name]} does nothing"
            yield Finding(ID, Severity.WARNING, what, Where(), (), f"did you mean {near[0]}?")
        else:
            others.append(name)
    if others:
        what = f"{counted(len(others), 'name')} that no release of Pulsar has: {joined(others)}"
        advice = "leave them out, unless a plugin of these brokers reads them"
        yield Finding(ID, Severity.INFO, what, Where(), (("names", len(others)),), advice)


RULE: Final = Rule(ID, "A setting has a name that no release knows", Severity.WARNING, "ServiceConfiguration", check)
