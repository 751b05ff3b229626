"""Where a topic is, and what unloading its bundle interrupts: counted by hand from a few answers."""

from __future__ import annotations

import json
import zlib
from typing import Any

import pytest

from engine.admin.files import AnswerFile
from engine.admin.moments import combined, read_moments
from engine.views.reported.bundles import Unload, whereabouts_of
from tests.engine.diagnosis.made import Stats, consumer

LOWER, UPPER = "0x00000000_0x80000000", "0x80000000_0xffffffff"


def found(answers: dict[str, Any], topic: str, bundle: str, namespace: str = "t/n") -> Any:
    files = [AnswerFile(f"{path}.json", json.dumps(answer).encode()) for path, answer in answers.items()]
    return whereabouts_of(combined(read_moments(*files)), topic, namespace, bundle)


def stats(publishers: int, **subscriptions: Stats) -> Stats:
    return {"publishers": [{}] * publishers, "subscriptions": subscriptions}


def in_bundle(name: str) -> str:
    """By the CRC-32 of the name."""
    return LOWER if zlib.crc32(name.encode()) < 0x80000000 else UPPER


NAMES = [f"persistent://t/n/x{number}" for number in range(40)]
IN_LOWER = [name for name in NAMES if in_bundle(name) == LOWER][:3]
ELSEWHERE = next(name for name in NAMES if in_bundle(name) == UPPER)


def path(name: str) -> str:
    return f"admin/v2/persistent/t/n/{name.rpartition('/')[2]}/stats"


def test_everything_in_the_bundle_is_counted_and_nothing_else() -> None:
    two = [consumer("a"), consumer("b", drainingHashes=[{"hash": 9, "unackMsgs": 1, "blockedAttempts": 2}])]
    answers = {
        path(IN_LOWER[0]): stats(2, s={"type": "Failover", "consumers": two, "unackedMessages": 4}),
        path(IN_LOWER[1]): stats(
            0,
            s={"type": "Exclusive", "consumers": two[:1]},
            k={"type": "Key_Shared", "consumers": two, "unackedMessages": 3},
            none={"type": "Failover", "consumers": []},
        ),
        path(ELSEWHERE): stats(9, s={"type": "Failover", "consumers": two, "unackedMessages": 90}),
    }
    place = found(answers, IN_LOWER[0], LOWER)
    assert place.unload == Unload(2, 2, 5, 2, 2, 7)
    assert (place.broker, place.by_look_up) == ("", False)
    assert found(answers, ELSEWHERE, UPPER).unload == Unload(1, 9, 2, 1, 1, 90)
    assert found(answers, IN_LOWER[0], LOWER, "t/other").unload == Unload(0, 0, 0, 0, 0, 0)


@pytest.mark.parametrize("bundle", ["", "nonsense"])
def test_without_a_bundle_nothing_is_said(bundle: str) -> None:
    assert found({path(ELSEWHERE): stats(1)}, ELSEWHERE, bundle) is None
