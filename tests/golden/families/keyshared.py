"""Checkers of the vectors about Key_Shared: auto-split, the ring in all its forms, sticky ranges old and new."""

from __future__ import annotations

import hashlib
from typing import Any

from engine.errors import Rejection
from engine.keyshared.autosplit import auto_split_selector
from engine.keyshared.model import Consumer, DeclaredRanges, RangesById, Selector, SlotSpace
from engine.keyshared.ownership import impact_of
from engine.keyshared.ring import RingForm, ring_selector
from engine.keyshared.sticky import RangeConflict, legacy_sticky_selector, policy_problem, sticky_selector
from tests.golden.harness import checks

Line = dict[str, Any]


def declared(ranges: list[list[int]] | None) -> DeclaredRanges | None:
    return None if ranges is None else tuple((start, end) for start, end in ranges)


def as_lists(ranges: RangesById) -> dict[str, list[list[int]]]:
    return {str(owner): [[piece.start, piece.end] for piece in pieces] for owner, pieces in ranges.items()}


def digest(ranges: RangesById) -> str:
    rows = sorted((piece.start, piece.end, owner) for owner, pieces in ranges.items() for piece in pieces)
    return hashlib.sha256("".join(f"{start}-{end}:{owner}\n" for start, end, owner in rows).encode()).hexdigest()


def check_constructor(line: Line, selector: Selector | Rejection) -> Selector | None:
    """The selector, or None where Pulsar refused to build one as this model did."""
    if "error" in line:
        assert isinstance(selector, Rejection)
        assert (selector.error, selector.message) == (line["error"], line["message"])
        return None
    assert not isinstance(selector, Rejection), selector
    return selector


def check_steps(line: Line, selector: Selector) -> None:
    """Joins and leaves with look-ups, slots of keys, ranges and what moved after each step."""
    for number, step in enumerate(line["steps"]):
        before = selector
        if step["op"] == "add":
            outcome = selector.join(Consumer(step["id"], step["name"]))
            if "error" in step:
                assert isinstance(outcome, Rejection), f"step {number}"
                assert f"{outcome.error}Exception" == step["error"], f"step {number}"
                assert outcome.message == step["message"], f"step {number}"
            else:
                assert not isinstance(outcome, Rejection), f"step {number}: {outcome}"
                selector = outcome
        else:
            selector = selector.leave(step["id"])
        if "rangesSha256" in step:
            shown = selector.ranges()
            assert digest(shown) == step["rangesSha256"], f"step {number}"
            assert as_lists(shown) == step.get("ranges", as_lists(shown)), f"step {number}"
        for slot, owner in step.get("select", ()):
            assert selector.owner(slot) == owner, f"step {number}, slot {slot}"
        for key, slot, owner in step.get("keys", ()):
            assert selector.slots.slot_of_key(key.encode()) == slot, f"step {number}, key {key!r}"
            assert selector.owner(slot) == owner, f"step {number}, key {key!r}"
        if "removed" in step:
            removed = impact_of(before.ranges(), selector.ranges()).removed
            assert as_lists(removed) == step["removed"], f"step {number}"


@checks("keyshared_autosplit")
def check_auto_split(line: Line) -> None:
    """Auto-split of any range size, and the sizes it refuses."""
    selector = check_constructor(line, auto_split_selector(line["rangeSize"]))
    if selector is not None:
        check_steps(line, selector)


@checks("keyshared_consistent")
def check_ring(line: Line) -> None:
    """The current ring: 65535 slots, the classic dispatcher's, and tiny spaces in which all points meet."""
    selector = ring_selector(points=line["points"], slots=SlotSpace(1, line["rangeMax"]))
    assert not isinstance(selector, Rejection)
    check_steps(line, selector)


@checks("keyshared_consistent_legacy")
def check_earlier_rings(line: Line) -> None:
    """The three earlier forms of the ring."""
    selector = ring_selector(RingForm(line["form"]), points=line["points"])
    assert not isinstance(selector, Rejection)
    check_steps(line, selector)


def check_sticky_steps(line: Line, selector: Selector, *, stand_in: bool) -> None:
    """Sticky joins with refusals; ``stand_in``: the message ends in ``<name#id>`` for the consumer in the way."""
    for number, step in enumerate(line["steps"]):
        if step["op"] == "remove":
            selector = selector.leave(step["id"])
        else:
            consumer = Consumer(step["id"], step.get("name", f"c{step['id'] - 1}"), declared(step["ranges"]))
            outcome = selector.join(consumer)
            assert isinstance(outcome, Rejection) is not step["ok"], f"step {number}: {outcome}"
            if not isinstance(outcome, Rejection):
                selector = outcome
            else:
                assert f"{outcome.error}Exception" == step["error"], f"step {number}"
                message = outcome.message
                if isinstance(outcome, RangeConflict):
                    assert outcome.other.consumer_id == step.get("conflictId", outcome.other.consumer_id), (
                        f"step {number}"
                    )
                    named = f"<{outcome.other.name}#{outcome.other.consumer_id}>" if stand_in else ""
                    assert f"consumerId={outcome.other.consumer_id}" in message
                    message = f"{message.partition('Consumer{')[0]}{named}"
                assert message == step["message"], f"step {number}"
        for slot, owner in step["select"]:
            assert selector.owner(slot) == owner, f"step {number}, slot {slot}"
        if "ranges_by_id" in step:
            assert as_lists(selector.ranges()) == step["ranges_by_id"], f"step {number}"


@checks("keyshared_sticky")
def check_sticky(line: Line) -> None:
    """Sticky ranges since #24730, with every refusal."""
    selector = check_constructor(line, sticky_selector(line["rangeSize"]))
    if selector is not None:
        check_sticky_steps(line, selector, stand_in=False)


@checks("keyshared_sticky_legacy")
def check_legacy_sticky(line: Line) -> None:
    """Sticky ranges before #24730: gaps between ranges of one consumer are served."""
    selector = check_constructor(line, legacy_sticky_selector(line["rangeSize"]))
    if selector is not None:
        check_sticky_steps(line, selector, stand_in=True)


@checks("keyshared_sticky_client")
def check_sticky_policy(line: Line) -> None:
    """What the client says of a sticky policy before it sends it."""
    ranges = declared(line["ranges"])
    assert ranges is not None
    problem = policy_problem(ranges)
    assert (problem is None) is line["ok"], problem
    if problem is not None:
        assert (problem.error, problem.message) == (line["error"], line["message"])
