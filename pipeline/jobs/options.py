"""The options of each job and their values, checked before Spark starts, so that a typo costs no time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import Final

from engine.balance.ahead.forecast import MAX_CYCLES
from engine.balance.settings import LOAD_SETTING_DEFAULTS, LoadSettings
from engine.bundles.plan import LoadManager
from engine.config import DEFAULTS, BrokerSettings, ReleaseBehaviour, behaviour_of
from engine.errors import InputError, Rejection
from engine.failover.bulk_policies import policies_of
from engine.input import parse_size
from engine.keyshared.policies import key_policies_of
from engine.views.brokers.view import PLACEMENTS, SHEDDERS
from engine.views.fleet.options import (
    ALLOW_EMPTY,
    BACKFILL,
    CLUSTERS,
    EVERY,
    IN_RUN,
    KEEP,
    MAX_INPUT,
    ONCE,
    RUN,
    names_of,
)
from pipeline.clusters import given_clusters

SETTINGS_OF: Final[Mapping[str, Collection[str]]] = {
    "keys": DEFAULTS,
    "bundles": DEFAULTS,
    "lint": DEFAULTS,
    "balance": LOAD_SETTING_DEFAULTS,
}
"""Job -> the broker settings that it takes, by their exact names."""
LOAD_MANAGERS: Final[tuple[LoadManager, ...]] = ("modular", "simple", "extensible")
SPARK: Final = "spark."
_BOOLEAN: Final = ("true", "false")


def known_to(job: str) -> tuple[str, ...]:
    """Every option that a job takes.

    >>> known_to("watch")
    ('clusters', 'max-input', 'keep', 'flag', 'pulsar', 'every', 'once')
    """
    if job == RUN:
        settings = dict.fromkeys(name for known in SETTINGS_OF.values() for name in known)
        of_jobs = (f"{own}.{name}" for own in IN_RUN for name in known_to(own))
        return (*names_of(RUN), *settings, *of_jobs)
    return (*names_of(job), *SETTINGS_OF.get(job, ()))


def own_options(job: str, given: Mapping[str, str]) -> dict[str, str]:
    """Those of the options that are the job's own; the others are broker settings."""
    return {name: value for name, value in given.items() if name in names_of(job)}


def broker_settings(job: str, given: Mapping[str, str]) -> dict[str, str]:
    """Those of the options that are broker settings by their exact names."""
    return {name: value for name, value in given.items() if name not in names_of(job)}


def _words(job: str) -> str:
    own = (*names_of(job), *(["JOB.OPTION"] if job == RUN else []))
    settings = ("broker settings",) if job in (*SETTINGS_OF, RUN) else ()
    return ", ".join((*own, *settings, "and spark.*" if own or settings else "spark.*"))


def check_names(job: str, names: Iterable[str]) -> None:
    """Raise ``InputError``, with a suggestion, for an option that a job does not know; ``spark.*`` are Spark's.

    >>> check_names("assign", ["spark.driver.memory", "ad"])
    Traceback (most recent call last):
    engine.errors.InputError: assign knows no option 'ad'; did you mean add?
    """
    known = known_to(job)
    for name in names:
        if name in known or name.startswith(SPARK):
            continue
        like_spark = [SPARK + name.partition(".")[2]] if get_close_matches(name.partition(".")[0], ["spark"]) else []
        near = get_close_matches(name, [*like_spark, *known], n=3, cutoff=0.6)
        # For run, a name without its job may be an option of several jobs.
        near += [option for option in known if option.partition(".")[2] == name and option not in near]
        hint = f"did you mean {' or '.join(near)}?" if near else f"it knows {_words(job)}"
        raise InputError(f"{job} knows no option {name!r}; {hint}")


def check_options(job: str, settings: Mapping[str, str]) -> None:
    """Raise ``InputError`` for an option that the job does not know, or for a bad value.

    The job itself checks what depends on its tables, such as the name of a consumer to remove.

    >>> check_options("run", {"assign.flag": "maybe"})
    Traceback (most recent call last):
    engine.errors.InputError: flag is true or false, not 'maybe'
    """
    check_names(job, settings)
    for name, value in settings.items():
        own = name.partition(".")[2] if job == RUN and name.partition(".")[0] in IN_RUN else name
        check = _CHECKS.get(own)
        if check is not None:
            check(value)
        elif own in DEFAULTS:
            _refused(BrokerSettings().with_setting(own, value))
        elif own in LOAD_SETTING_DEFAULTS:
            _refused(LoadSettings().with_setting(own, value))


def release_of(settings: Mapping[str, str]) -> ReleaseBehaviour | None:
    """The release that the option ``pulsar`` names, None without it. Raises ``InputError`` for an unknown one."""
    behaviour = behaviour_of(settings["pulsar"]) if "pulsar" in settings else None
    if isinstance(behaviour, Rejection):
        raise InputError(behaviour.message)
    return behaviour


def _refused(value: object) -> None:
    if isinstance(value, Rejection):
        raise InputError(str(value))


def _one_of(name: str, words: tuple[str, ...]) -> Callable[[str], None]:
    def check(value: str) -> None:
        if value not in words:
            known = " or ".join(words) if len(words) < 3 else f"one of {', '.join(words)}"
            raise InputError(f"{name} is {known}, not {value!r}")

    return check


def _number(name: str, low: int, high: int) -> Callable[[str], None]:
    def check(value: str) -> None:
        if not (value.isascii() and value.isdecimal() and low <= int(value) <= high):
            raise InputError(f"{name} is a whole number from {low} to {high}, not {value!r}")

    return check


_CHECKS: Final[Mapping[str, Callable[[str], object]]] = {
    "pulsar": lambda value: release_of({"pulsar": value}),
    "flag": _one_of("flag", _BOOLEAN),
    "load-manager": _one_of("load-manager", LOAD_MANAGERS),
    "policies": policies_of,
    "modes": key_policies_of,
    "top": _number("top", 0, 10_000),
    "cycles": _number("cycles", 1, MAX_CYCLES),
    "seed": _number("seed", 0, 2**31 - 1),
    "shedder": _one_of("shedder", SHEDDERS),
    "placement": _one_of("placement", PLACEMENTS),
    ALLOW_EMPTY: _one_of(ALLOW_EMPTY, _BOOLEAN),
    CLUSTERS: given_clusters,
    KEEP: _number(KEEP, 1, 10_000),
    BACKFILL: _one_of(BACKFILL, _BOOLEAN),
    EVERY: _number(EVERY, 1, 10**6),
    ONCE: _one_of(ONCE, _BOOLEAN),
    "listed": _one_of("listed", _BOOLEAN),
    MAX_INPUT: lambda value: _refused(parse_size(value)),
}
"""Option -> the check that raises ``InputError`` for a bad value."""
