"""What the engine refuses, in the words of the command line: arguments by the options that were typed."""

from __future__ import annotations

import re
from typing import Final

OPTIONS: Final = {
    "topics": "--topics",
    "partitions": "--partitions",
    "consumers": "--consumers",
    "bundles": "--bundles",
    "seed": "--seed",
    "keys": "--keys",
    "mode": "--mode",
    "points": "--points",
    "producers": "--producers",
    "brokers": "--brokers",
    "numPartitionsLimit": "--partial",
    "accessMode": "--access",
    "hashingScheme": "--hashing",
    "producerName": "--producer-name",
    "messageRouter": "--router",
    "client": "--client",
}
"""The engine's name of an argument -> the option that gives it."""
_ARGUMENT: Final = re.compile(rf"(^|; )({'|'.join(OPTIONS)})(?= is |: )")


def as_typed(told: str) -> str:
    """A sentence, or several behind semicolons, with options where the engine names arguments.

    >>> as_typed("topics is -1: give 0 to 9; seed is -2: give 0 to 9")
    '--topics is -1: give 0 to 9; --seed is -2: give 0 to 9'
    >>> as_typed("numPartitionsLimit: a limit of 9 is above 3; give 1 to 3, or say that this is meant")
    '--partial: a limit of 9 is above 3; give 1 to 3, or add --limit-above'
    """
    named = _ARGUMENT.sub(lambda found: found[1] + OPTIONS[found[2]], told)
    return named.replace("or say that this is meant", "or add --limit-above")
