"""Which options each job knows: asked before Spark is started, so that a misspelt word costs no time and no result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final

from engine.config import DEFAULTS
from engine.errors import InputError

MAX_INPUT: Final = "max-input"
OWN: Final[Mapping[str, tuple[str, ...]]] = {
    "import": (MAX_INPUT,),
    "assign": ("policies", "add", "kill", "consumers-from", "flag", "pulsar"),
    "keys": ("modes", "top", "consumers", "consumers-from", "tables", "pulsar"),
    "bundles": ("listed",),
    "lint": ("pulsar", "load-manager"),
    "report": ("top",),
    "watch": ("every", "files", "flag", "pulsar", MAX_INPUT),
}
"""Job -> the options that are its own; those below take broker settings by their exact names as well."""
TAKE_SETTINGS: Final = ("keys", "bundles", "lint")
TAKE_RELEASE: Final = ("assign", "keys", "lint")
IN_RUN: Final = ("import", "assign", "keys", "bundles", "lint", "report")
"""The jobs of ``run``, in their order."""
SPARK: Final = "spark."


def known_to(job: str) -> tuple[str, ...]:
    """Every option that a job takes.

    >>> known_to("watch")
    ('every', 'files', 'flag', 'pulsar', 'max-input')
    """
    if job == "run":
        return ("pulsar", *DEFAULTS, *(f"{each}.{name}" for each in IN_RUN for name in known_to(each)))
    return (*OWN[job], *(DEFAULTS if job in TAKE_SETTINGS else ()))


def _words(job: str) -> str:
    own = ("pulsar", "JOB.OPTION") if job == "run" else OWN[job]
    settings = ("broker settings",) if job in (*TAKE_SETTINGS, "run") else ()
    return ", ".join((*own, *settings, "and spark.*" if own or settings else "spark.*"))


def check_options(job: str, names: Iterable[str]) -> None:
    """Raises ``InputError`` for a name the job does not know, with what it may be meant to be. ``spark.*`` is Spark's.

    >>> check_options("assign", ["spark.driver.memory", "ad"])
    Traceback (most recent call last):
    engine.errors.InputError: assign knows no option 'ad'; did you mean add?
    """
    known = known_to(job)
    for name in names:
        if name in known or name.startswith(SPARK):
            continue
        like_spark = [SPARK + name.partition(".")[2]] if get_close_matches(name.partition(".")[0], ["spark"]) else []
        near = get_close_matches(name, [*like_spark, *known], n=3, cutoff=0.6)
        # For run, a name without its job may be an option of several of them.
        near += [each for each in known if each.partition(".")[2] == name and each not in near]
        hint = f"did you mean {' or '.join(near)}?" if near else f"it knows {_words(job)}"
        raise InputError(f"{job} knows no option {name!r}; {hint}")
