"""Whichever member the answers of a recording lack, nothing else is claimed: only less."""

from __future__ import annotations

import random
from typing import Final

import pytest

from tests.engine.diagnosis.left_out import new_claims, whole
from tests.engine.diagnosis.samples import NAMES

WHOLE: Final = frozenset({"slow-consumer-a", "keyshared-draining-a", "ghost-a"})
"""Of these every member is left out, of the others so many; ``left_out`` does it with all."""
TRIED: Final = 10


@pytest.mark.parametrize("name", NAMES)
def test_what_is_left_out_makes_no_other_claim(name: str) -> None:
    recording = whole(name)
    assert len(recording.members) > 30
    members = recording.members if name in WHOLE else random.Random(name).sample(recording.members, TRIED)
    assert {member: claims for member in members if (claims := new_claims(recording, member))} == {}
