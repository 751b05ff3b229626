"""The policies a fleet is judged under: Pulsar's two, and the least that would have to move for even numbers."""

from __future__ import annotations

from enum import Enum
from typing import Final

from engine.errors import InputError


class Policy(Enum):
    """By the name in the tables. ``flag`` is ``activeConsumerFailoverConsistentHashing``."""

    FLAG_OFF = "flag_off"
    FLAG_ON = "flag_on"
    FEWEST_MOVES = "fewest_moves"

    @property
    def what_if(self) -> bool:
        """True for a policy that no Pulsar has."""
        return self is Policy.FEWEST_MOVES

    @property
    def needs_whole_subscription(self) -> bool:
        """Whether where one partition goes depends on the others."""
        return self is Policy.FEWEST_MOVES


WHAT_IF_RULE: Final = "what-if"
"""The ``rule`` of every what-if; Pulsar's are ``modulo``, ``ring`` and ``first-connected``."""


def policies_of(text: str) -> tuple[Policy, ...]:
    """A comma list of policies, ``all`` or ``pulsar``. Raises ``InputError`` for a word that is none.

    >>> [policy.value for policy in policies_of("pulsar")]
    ['flag_off', 'flag_on']
    """
    if text.strip() == "all":
        return tuple(Policy)
    if text.strip() == "pulsar":
        return (Policy.FLAG_OFF, Policy.FLAG_ON)
    known = {policy.value: policy for policy in Policy}
    words = [word.strip() for word in text.split(",") if word.strip()]
    wrong = [word for word in words if word not in known]
    if wrong or not words:
        raise InputError(f"{(wrong or ['nothing'])[0]} is no policy; known are {', '.join(known)}, all, pulsar")
    return tuple(dict.fromkeys(known[word] for word in words))
