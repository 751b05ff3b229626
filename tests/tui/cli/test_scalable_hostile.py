"""Layouts that no broker has end in sentences, for every command that reads them, and in a time that is no square."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from engine.admin.files import AnswerFile
from engine.admin.scalable import MAX_PLACES, decode_record, decode_scalable_stats
from engine.ranges import HashRange
from engine.scalable.dealing import deal
from engine.scalable.layout import by_descent, merge_depths
from engine.scalable.model import Layout, Segment, SegmentState
from engine.views.fleet.tables import SCALE_FORECAST
from engine.views.scalable.view import SHOWN_ANCESTORS, last_views
from pipeline.jobs.scalable import rows_of
from tests.tui.cli.conftest import Run

TOPIC = "admin/v2/scalable/t/n/x"
Ranges = list[tuple[int, int, tuple[int, ...]]]


def answers(segments: Ranges, *, subscriptions: int = 1) -> tuple[dict[str, Any], dict[str, Any]]:
    """A record and statistics: start, end and parents of each segment; those that are no parents are active."""
    sealed = {parent for _, _, parents in segments for parent in parents}
    states = ["SEALED" if at in sealed else "ACTIVE" for at in range(len(segments))]
    record = {
        str(at): {"segmentId": at, "hashRange": {"start": start, "end": end}, "state": states[at],
                  "parentIds": list(parents)}
        for at, (start, end, parents) in enumerate(segments)
    }  # fmt: skip
    listed = {
        str(at): {"name": f"segment://t/n/x/{start:04x}-{end:04x}-{at}", "state": states[at],
                  "parentIds": list(parents)}
        for at, (start, end, parents) in enumerate(segments)
    }  # fmt: skip
    shown = {str(at): {"msgBacklog": 5, "blocked": bool(parents)} for at, (_, _, parents) in enumerate(segments)}
    consumers = [{"consumerName": "a", "connected": True, "segmentIds": [0]}]
    one = {"type": "STREAM", "uncoveredSegmentIds": [], "segments": shown, "consumers": consumers}
    epochs = {"epoch": 1, "nextSegmentId": len(segments)}
    statistics = {
        "layout": {"epoch": 1, "segments": listed},
        "subscriptions": {f"s{at}": one for at in range(subscriptions)},
    }
    return {**epochs, "segments": record}, statistics


def dump(folder: Path, record: Any, statistics: Any) -> Path:
    place = folder / "2026-11-27T15-00-00Z" / TOPIC
    place.mkdir(parents=True)
    (place.parent / "x.json").write_text(json.dumps(record), encoding="utf-8")
    (place / "stats.json").write_text(json.dumps(statistics), encoding="utf-8")
    return folder


HOSTILE: dict[str, Ranges] = {
    "holes": [(0, 100, ()), (50, 2000, ()), (60_000, 60_001, ())],
    "beyond": [(0, 70_000, ()), (-5, 3, ()), (9, 8, ())],
    "circle": [(at * 100, at * 100 + 99, ((at + 1) % 10, (at + 2) % 10)) for at in range(10)],
    "line": [(0, 65_535, (at - 1,) if at else ()) for at in range(3000)],
    "merges": [(0, 65_535, tuple(one for one in (at - 1, at - 2) if one >= 0)) for at in range(3000)],
    "unknown parents": [(0, 65_535, (2**62, -4, 7))],
    "nothing": [],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_every_command_ends_in_a_sentence(run: Run, tmp_path: Path, name: str) -> None:
    place = str(dump(tmp_path, *answers(HOSTILE[name])))
    for words in (("scalable", place), ("scalable", place, "--all"), ("verify", place), ("lint", place)):
        ran = run(*words)
        assert ran.code in (0, 1, 2), (words, ran.err)
        assert "Traceback" not in ran.err
    files = [AnswerFile(path.relative_to(tmp_path).as_posix(), path.read_bytes()) for path in tmp_path.rglob("*.json")]
    assert len(rows_of("", "t/n", files).get(SCALE_FORECAST, [])) <= 1


def test_segments_that_descend_from_themselves_lose_their_parents_and_are_named() -> None:
    record, statistics = answers([*HOSTILE["circle"], (0, 9, (0,)), (0, 9, ())])
    decoded = decode_record(json.dumps(record).encode(), "r.json")
    assert decoded.good is not None
    assert {segment.parent_ids for segment in decoded.good.segments.values()} == {()}
    assert [problem.path for problem in decoded.problems] == ["$.segments"]
    read = decode_scalable_stats(json.dumps(statistics).encode(), "s.json")
    assert read.good is not None
    assert (read.good.layout.segments, read.good.subscriptions.keys()) == ({}, {"s0"})
    assert [problem.path for problem in read.problems] == ["$.layout.segments"]


def test_too_many_subscriptions_of_too_many_segments_are_set_aside() -> None:
    _, statistics = answers([(at, at, ()) for at in range(1024)])
    one = {"type": "STREAM"}
    statistics["subscriptions"] = {f"s{at}": one for at in range(MAX_PLACES // 1024 + 1)}
    read = decode_scalable_stats(json.dumps(statistics).encode(), "s.json")
    assert read.good is not None
    assert (read.good.layout.segments, len(read.problems)) == ({}, 1)
    statistics["subscriptions"].popitem()
    assert decode_scalable_stats(json.dumps(statistics).encode(), "s.json").problems == ()


def family(seed: int, count: int) -> Layout:
    chance = random.Random(seed)
    parents = [tuple(chance.sample(range(at), min(at, chance.choice((0, 1, 1, 2, 3))))) for at in range(count)]
    sealed = {parent for one in parents for parent in one}
    every = HashRange(0, 65_535)
    states = [SegmentState.SEALED if at in sealed else SegmentState.ACTIVE for at in range(count)]
    return Layout({at: Segment(at, every, states[at], parents[at]) for at in range(count)})


@pytest.mark.parametrize("seed", range(20))
def test_merges_above_a_segment_are_counted_once(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.scalable.layout.MERGES_TOGETHER", 3)
    layout = family(seed, 40)
    merges = {one for one, segment in layout.segments.items() if len(segment.parent_ids) > 1}
    assert merge_depths(layout) == {one: len(merges.intersection(layout.ancestors(one))) for one in layout.segments}
    places = {one: at for at, one in enumerate(by_descent(layout))}
    assert all(places[parent] < places[one] for one in places for parent in layout.segments[one].parent_ids)


@pytest.mark.parametrize("seed", range(20))
def test_a_long_line_waits_as_a_short_one_does(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = family(seed, 40)
    expected = deal(layout, "ab", {0, 1, 2})
    monkeypatch.setattr("engine.scalable.dealing.GENERATIONS_TOGETHER", 1)
    assert deal(layout, "ab", {0, 1, 2}) == expected


def test_of_many_parents_some_are_shown_with_one_that_is_read(run: Run, tmp_path: Path) -> None:
    tiles = [(at * 6, at * 6 + 5, tuple(range(200))) for at in range(200)]
    record, statistics = answers([*[(0, 65_535, ())] * 200, *tiles])
    from engine.admin.moments import read_moments

    (view,) = last_views(read_moments(place := dump(tmp_path, record, statistics))).values()
    shown = [line for line in run("scalable", str(place)).out.splitlines() if "  active  " in line]
    assert (len(shown), max(map(len, shown)) < 120) == (200, True)
    waits = view.subscriptions[0].waits
    assert len(waits) == 200 * SHOWN_ANCESTORS
    assert {wait.segment for wait in waits} == set(range(200, 400))
    assert 0 in {wait.ancestor for wait in waits}
