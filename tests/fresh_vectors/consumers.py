"""Consumers that come and go, for the selectors of Key_Shared and the dispatcher of Failover."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from engine.config import ReleaseBehaviour
from tests.fresh_vectors.inputs import Case

Line = dict[str, Any]
Ranges = Mapping[str, list[list[int]]]

NAMES: Final = ("a", "a1", "a11", "A", "consumer-1", "consumer-2", "", "0", "é", "\U0001f40d", "\uffee", "x" * 60)
KEYS: Final = ("", "NONE_KEY", "order-17", "é", "\U0001f40d", "\u0000", "x" * 100)
STICKY_SLOTS: Final = 65_536
CLASSIC_MAX: Final = 2**31 - 2
_INT_32: Final = (-(2**31), -1, 2**31 - 1)


def _names_and_steps(draw: random.Random, join: Callable[[int], Line]) -> list[Line]:
    """Joins and leaves, each with what ``join`` adds to a consumer; some that left come back under their names."""
    steps: list[Line] = []
    here: list[int] = []
    for number in range(1, draw.choice((2, 4, 8, 14, 25))):
        if here and draw.random() < 0.35:
            steps.append({"op": "remove", "id": here.pop(draw.randrange(len(here)))})
            continue
        own = f"{draw.choice('abc')}-{draw.randrange(100)}"
        name = draw.choice(NAMES) if draw.random() < 0.5 else own
        steps.append({"op": "add", "id": number, "name": name, **join(number)})
        here.append(number)
    return steps


def _looked_up(draw: random.Random, low: int, high: int, keys: bool) -> Line:
    """What a step is asked for: hashes between two, both ends among them, and keys."""
    hashes = [low, high, *(draw.randint(low, high) for _ in range(12))]
    drawn = [draw.choice(KEYS), *(f"{draw.choice('kKé')}{draw.randrange(10**6)}" for _ in range(5))]
    return {"select": hashes, "keys": drawn if keys else []}


def draw_ring(draw: random.Random, behaviour: ReleaseBehaviour) -> Case:
    """A consistent ring: many points, few, or slots so few that points of several consumers meet."""
    points = draw.choice((1, 2, 3, 10, 100, 100))
    largest = CLASSIC_MAX
    sizes = [points]
    if behaviour.key_shared_ring == "current":
        largest = draw.choice((STICKY_SLOTS - 1, STICKY_SLOTS - 1, CLASSIC_MAX, 50, 7, 2))
        sizes.append(largest)
    low = 1 if behaviour.key_shared_folds_slot_zero else 0
    steps = _names_and_steps(draw, lambda _: {})
    return {
        "kind": "keyshared_consistent",
        "in": {
            "sizes": sizes,
            "steps": [step | _looked_up(draw, low, largest, keys=True) for step in steps],
        },
    }


def ring_line(case: Case, behaviour: ReleaseBehaviour) -> Line:
    """A line of ``keyshared_consistent``, or of ``keyshared_consistent_legacy`` for earlier forms."""
    points, *largest = case["in"]["sizes"]
    form = {"rangeMax": largest[0]} if largest else {"form": behaviour.key_shared_ring}
    return {"points": points, **form, "steps": _answered_steps(case)}


def draw_auto_split(draw: random.Random, behaviour: ReleaseBehaviour) -> Case:
    """An auto-split of any size; few slots run out, and what is no power of two is refused."""
    size = draw.choice((STICKY_SLOTS, STICKY_SLOTS, 2**10, 64, 16, 8, 4, 2, 1, 0, -4, 3, 100))
    # Earlier selectors look keys up in 31 bits and divide them by the size.
    keys = behaviour.key_shared_folds_slot_zero
    steps = _names_and_steps(draw, lambda _: {})
    return {
        "kind": "keyshared_autosplit",
        "in": {
            "sizes": [size],
            "steps": [step | _looked_up(draw, 0, max(0, size - 1), keys) for step in steps],
        },
    }


def auto_split_line(case: Case, _: ReleaseBehaviour) -> Line:
    """A line of ``keyshared_autosplit``."""
    return {"rangeSize": case["in"]["sizes"][0], **_steps_or_refusal(case)}


def _drawn_ranges(draw: random.Random, size: int, behaviour: ReleaseBehaviour) -> list[list[int]] | None:
    """Ranges that mostly fit beside others, and all kinds of mistakes."""
    if draw.random() < 0.05:
        return draw.choice((None, []))
    ranges = []
    for _ in range(draw.choice((1, 1, 2, 3))):
        start = draw.randrange(max(1, size))
        end = start + draw.choice((0, 1, max(1, size) // 20, max(1, size) // 5))
        if draw.random() < 0.05:
            start, end = draw.choice(((end + 1, start), (start, size), (start, size + 7), (-1, end), _INT_32[1:]))
        ranges.append([start, end])
    if behaviour.sticky_gaps == "served" and any(start > end for start, end in ranges):
        return ranges[:1]  # which of two mistakes is said depends on the release
    return ranges


def draw_sticky(draw: random.Random, behaviour: ReleaseBehaviour) -> Case:
    """Consumers that declare ranges."""
    size = draw.choice((STICKY_SLOTS, STICKY_SLOTS, STICKY_SLOTS, 100, 10, 1, 0, -1))
    steps = _names_and_steps(draw, lambda _: {"ranges": _drawn_ranges(draw, size, behaviour)})
    return {
        "kind": "keyshared_sticky",
        "in": {
            "sizes": [size],
            "steps": [step | _looked_up(draw, 0, max(0, size - 1), keys=False) for step in steps],
        },
    }


def sticky_line(case: Case, behaviour: ReleaseBehaviour) -> Line:
    """A line of ``keyshared_sticky``, or of ``keyshared_sticky_legacy`` where gaps are served."""
    joined = {step["id"]: step for step in case["in"]["steps"] if step["op"] == "add"}
    line = {"rangeSize": case["in"]["sizes"][0], **_steps_or_refusal(case)}
    for step in line.get("steps", ()):
        owned = step["ranges"]
        if behaviour.sticky_gaps == "unserved":
            step["ranges_by_id"] = owned
        if step["op"] == "add":
            step["ranges"] = joined[step["id"]]["ranges"]
            step["ok"] = "error" not in step
            conflict = re.search(r"Consumer\{.*?consumerId=(\d+)", step.get("message", ""))
            if conflict is not None:
                other = int(conflict[1])
                step["conflictId"] = other
                stand_in = f"<{joined[other]['name']}#{other}>" if behaviour.sticky_gaps == "served" else ""
                step["message"] = step["message"].partition("Consumer{")[0] + stand_in
    return line


def draw_failover(draw: random.Random, behaviour: ReleaseBehaviour) -> Case:
    """A Failover subscription of one topic or partition; some priority levels are so far apart that they overflow."""
    index = draw.choice((-1, 0, 1, 2, 5, 77))
    if index < 0 and behaviour.nonpartitioned_failover == "first-connected":
        index = 0
    topic = f"persistent://t/n/{draw.choice('xyzé')}{draw.randrange(1000)}"
    flag = behaviour.knows_failover_consistent_hashing and draw.random() < 0.5
    levels = draw.choice(((0,), (0, 0, 1), (0, 1, 2, 3), (*_INT_32, 0)))
    return {
        "kind": "failover_sequences",
        "in": {
            "topic": topic if index < 0 else f"{topic}-partition-{index}",
            "partitionIndex": index,
            "config": {"activeConsumerFailoverConsistentHashing": flag, "activeConsumerFailoverDelayTimeMillis": 0},
            "steps": _names_and_steps(draw, lambda _: {"priority": draw.choice(levels)}),
        },
    }


def failover_line(case: Case, _: ReleaseBehaviour) -> Line:
    """A line of ``failover_sequences``."""
    given = case["in"]
    return {
        "topic": given["topic"],
        "partitionIndex": given["partitionIndex"],
        "consistent": given["config"]["activeConsumerFailoverConsistentHashing"],
        "maxConsumers": 0,
        "steps": [step | answer for step, answer in zip(given["steps"], case["out"]["steps"], strict=True)],
    }


def _steps_or_refusal(case: Case) -> Line:
    """The steps; where the selector could not be built, why."""
    return dict(case["out"]) if "error" in case["out"] else {"steps": _answered_steps(case)}


def _answered_steps(case: Case) -> list[Line]:
    """Every step with what the selector answered. Who was refused cannot leave."""
    steps = []
    for step, answer in zip(case["in"]["steps"], case["out"]["steps"], strict=True):
        if "refusedBefore" not in answer:
            looked_up = zip(step["select"], answer["select"], strict=True)
            steps.append(
                step | answer | {"select": list(map(list, looked_up)), "rangesSha256": _digest(answer["ranges"])}
            )
    return steps


def _digest(ranges: Ranges) -> str:
    rows = sorted((start, end, int(owner)) for owner, pieces in ranges.items() for start, end in pieces)
    return hashlib.sha256("".join(f"{start}-{end}:{owner}\n" for start, end, owner in rows).encode()).hexdigest()
