"""Scalable topics, segment by segment: the deal of a subscription and the evaluation of one topic.

A segment is a plain tuple here: id, start, end, buckets, sealed, parents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import ceil
from typing import Any

Row = tuple[int, int, int, int, bool, tuple[int, ...]]
Answer = tuple[Any, ...]


def has_undrained_ancestor(rows: Mapping[int, Row], segment_id: int, drained: set[int]) -> bool:
    seen: set[int] = set()
    todo = [parent for parent in rows[segment_id][5] if parent in rows]
    while todo:
        one = todo.pop()
        if one in seen:
            continue
        seen.add(one)
        if one not in drained or not rows[one][4]:
            return True
        todo += [parent for parent in rows[one][5] if parent in rows]
    return False


def dealt(
    listed: Sequence[Row], names: Sequence[str], drained: set[int], *, rule: bool, whole: bool
) -> dict[str, list[tuple[int, int]]]:
    """Each name's segments with the number of buckets its owners divide, 0 for a segment of its own."""
    rows = {row[0]: row for row in listed}
    chosen = [
        row
        for row in sorted(listed, key=lambda row: (row[1], row[2], row[0]))
        if not rule or (not (row[4] and row[0] in drained) and not has_undrained_ancestor(rows, row[0], drained))
    ]
    order = sorted(names)  # of ASCII names, which the callers take
    result: dict[str, list[tuple[int, int]]] = {name: [] for name in order}
    if not chosen or not order:
        return result
    if whole or len(order) <= len(chosen):
        for at, row in enumerate(chosen):
            result[order[at % len(order)]].append((row[0], 0))
        return result
    owners = [1] * len(chosen)
    surplus = len(order) - len(chosen)
    gave = True
    while surplus and gave:
        gave = False
        for at, row in enumerate(chosen):
            if surplus and owners[at] < row[3]:
                owners[at] += 1
                surplus -= 1
                gave = True
    queue = list(order)
    for at, row in enumerate(chosen):
        for name in queue[: owners[at]]:
            result[name].append((row[0], row[3] if owners[at] > 1 else 0))
        del queue[: owners[at]]
    return result


def next_steps(
    active: Sequence[tuple[int, int, int, int, int]],
    loads: Mapping[int, tuple[tuple[float, float, float, float], int]],
    counts: tuple[int, int, int],
    clocks: tuple[int | None, int | None, int | None],
    now: int,
    config: Mapping[str, Any],
) -> set[Answer]:
    """Active segments by start as id, start, end, buckets, merge depth; counts of all, whole and sharing consumers."""

    def cooling(last: int | None, name: str) -> bool:
        return last is not None and now - last < config[name] * 1000

    def rates(one: int) -> tuple[float, float, float, float]:
        return loads[one][0] if one in loads else (0.0, 0.0, 0.0, 0.0)

    if not config["enabled"] or not active:
        return {("none",)}
    most, whole, sharing = counts
    size, capacity = len(active), sum(row[3] for row in active)
    full = size >= config["maxSegments"]
    split_cools = cooling(clocks[0], "splitCooldownSeconds")
    note = ""
    if most > size:
        busy = min(active, key=lambda row: (-rates(row[0])[0], row[0]))
        slow = rates(busy[0])[0] < config["splitVsRebucketMinMsgRateInThreshold"]
        if not full and not slow:
            if not split_cools:
                single = busy[1] == busy[2]
                return {("blocked", "unsplittable")} if single else {("split", busy[0], "consumer-count")}
        else:
            if full and not slow and not split_cools and whole > size:
                note = "max_segments"
            if sharing > capacity and not cooling(clocks[2], "rebucketCooldownSeconds"):
                target = 1
                while target < ceil(sharing / size):
                    target *= 2
                target = min(target, config["entryBucketMaxPerSegment"])
                below = tuple(sorted(row[0] for row in active if row[3] < target))
                if below:
                    return {("rebucket", below, target, "at-max-segments" if full else "below-split-rate-floor")}
                note = "max_entry_buckets"
    if not split_cools:
        limits = [
            config[f"split{name}Threshold"] for name in ("MsgRateIn", "BytesRateIn", "MsgRateOut", "BytesRateOut")
        ]
        scored = []
        for row in active:
            parts = [rate / limit for rate, limit in zip(rates(row[0]), limits, strict=True)]
            scored.append((max(parts), parts.index(max(parts)), row))
        best = max(score for score, _, _ in scored)
        if best > 1:
            if not full:
                metrics = ("msgRateIn", "byteRateIn", "msgRateOut", "byteRateOut")
                return {
                    ("blocked", "unsplittable") if row[1] == row[2] else ("split", row[0], metrics[metric])
                    for score, metric, row in scored
                    if score == best
                }
            note = note or "max_segments"
    if size > config["minSegments"] and not cooling(clocks[1], "mergeCooldownSeconds"):
        limits = [
            config[f"merge{name}Threshold"] for name in ("MsgRateIn", "BytesRateIn", "MsgRateOut", "BytesRateOut")
        ]

        def cold(one: int) -> bool:
            return (
                one in loads
                and now - loads[one][1] >= config["mergeWindowSeconds"] * 1000
                and all(rate < limit for rate, limit in zip(loads[one][0], limits, strict=True))
            )

        deep = tight = False
        pairs: list[tuple[float, Answer]] = []
        for left, right in pairwise(active):
            if left[2] + 1 != right[1] or not cold(left[0]) or not cold(right[0]):
                continue
            both = left[3] + right[3]
            if max(left[4], right[4]) >= config["maxDagDepth"]:
                deep = True
            elif capacity - both + min(both, config["entryBucketMaxPerSegment"]) < min(most, capacity):
                tight = True
            else:
                ids = sorted((left[0], right[0]))
                pairs.append((sum(rates(left[0])) + sum(rates(right[0])), ("merge", *ids, "cold")))
        if pairs:
            least = min(load for load, _ in pairs)
            return {answer for load, answer in pairs if load == least}
        note = note or ("max_dag_depth" if deep else "max_entry_buckets" if tight else "")
    return {("blocked", note)} if note else {("none",)}
