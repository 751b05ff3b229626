"""Scalable topics of recordings agree with the model, and each thing that is spoilt in them differs, alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.verify.report import FactKind, VerifyReport
from engine.verify.scalable import HANDED_OVER, NOT_ATTACHED, OTHER_EPOCH, PRUNED
from tests.engine.scalable.scenes import scene, write
from tests.engine.verify.folders import verify_folder

SHARED = "2026-11-27T15-14-23Z"
"""Two segments of two buckets: c-a and c-b share 0, c-c has 1."""
SPLIT = "2026-11-27T15-14-24Z"
"""Segment 0 is split into 2 and 3, which wait."""
TOPIC = "admin/v2/scalable/ring/manual/orders"
RECORD, STATS = f"{TOPIC}.json", f"{TOPIC}/stats.json"
Change = Callable[[Any], object]

OWN = {
    FactKind.SEGMENT_TILES,
    FactKind.SEGMENT_DESCENT,
    FactKind.BUCKET_BORDERS,
    FactKind.SEGMENT_LISTED,
    FactKind.SEGMENTS_DEALT,
    FactKind.SEGMENTS_ATTACHED,
    FactKind.SEGMENTS_WAIT,
    FactKind.SEGMENT_OWNERS,
}


def counts(report: VerifyReport) -> dict[Any, int]:
    return {tally.kind: tally.compared for tally in report.tallies if tally.kind in OWN}


def spoilt(folder: Path, moment: str, file: str, change: Change) -> VerifyReport:
    path = write(folder, "manual", moment) / moment / file
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    return verify_folder(folder)


@pytest.mark.parametrize(
    ("name", "facts"), [("manual", 224), ("order", 69), ("holdup", 104), ("auto-load", 208), ("migrate", 100)]
)
def test_every_fact_of_a_recording_agrees(tmp_path: Path, name: str, facts: int) -> None:
    report = verify_folder(write(tmp_path, name))
    assert report.differences == ()
    assert sum(counts(report).values()) == facts
    assert not [what for what in report.not_compared if "scalable" in what]


def test_facts_are_counted_once_although_two_forms_of_the_rules_are_tried(tmp_path: Path) -> None:
    report = verify_folder(write(tmp_path, "manual", SHARED))
    assert len(report.rules.fits) == 2
    assert counts(report) == {
        FactKind.SEGMENT_TILES: 1,
        FactKind.SEGMENT_DESCENT: 1,
        FactKind.BUCKET_BORDERS: 2,
        FactKind.SEGMENT_LISTED: 2,
        FactKind.SEGMENTS_DEALT: 3,
        FactKind.SEGMENTS_WAIT: 1,
        FactKind.SEGMENT_OWNERS: 2,
    }


def segment(document: Any, number: int, **changes: Any) -> None:
    document["segments"][str(number)] |= changes


def listed(document: Any, number: int, **changes: Any) -> None:
    document["layout"]["segments"][str(number)] |= changes


def consumers(document: Any, *lists: list[int]) -> None:
    for consumer, ids in zip(document["subscriptions"]["sub"]["consumers"], lists, strict=True):
        consumer["segmentIds"] = ids


@pytest.mark.parametrize(
    ("moment", "file", "change", "kinds"),
    [
        # c-b has what is c-c's: it lacks its own, and holds one that it is not attached to
        (SHARED, STATS, lambda d: consumers(d, [0], [1], [0]), [FactKind.SEGMENTS_DEALT] * 2),
        (SHARED, STATS, lambda d: consumers(d, [0], [], [1]), [FactKind.SEGMENTS_DEALT]),
        (SHARED, STATS, lambda d: consumers(d, [0], [0], [0, 1]), [FactKind.SEGMENTS_DEALT]),
        (SHARED, STATS, lambda d: listed(d, 1, entryBuckets=4), [FactKind.SEGMENT_LISTED]),
        (SHARED, STATS, lambda d: listed(d, 1, name="segment://ring/manual/orders/8000-fffe-1"),
         [FactKind.SEGMENT_LISTED]),
        (SHARED, STATS, lambda d: d["layout"]["segments"].pop("1"), [FactKind.SEGMENT_LISTED]),
        (SHARED, RECORD, lambda d: segment(d, 1, entryBucketSplits=[32_767]), [FactKind.BUCKET_BORDERS]),
        (SHARED, RECORD, lambda d: d["segments"].pop("1"),
         [FactKind.SEGMENT_TILES, FactKind.SEGMENT_LISTED, FactKind.SEGMENTS_DEALT]),
        (SPLIT, STATS, lambda d: d["subscriptions"]["sub"]["segments"]["1"].update(blocked=True),
         [FactKind.SEGMENTS_WAIT]),
        (SPLIT, RECORD, lambda d: segment(d, 3, hashRange={"start": 16_385, "end": 32_767}),
         [FactKind.SEGMENT_TILES, FactKind.SEGMENT_DESCENT, FactKind.SEGMENT_LISTED]),
        (SPLIT, RECORD, lambda d: segment(d, 3, entryBucketSplits=[32_768]),
         [FactKind.SEGMENT_DESCENT, FactKind.SEGMENT_LISTED]),
        (SHARED, f"{TOPIC}/segments/0/stats.json", lambda d: d["subscriptions"]["sub"].update(type="Exclusive"),
         [FactKind.SEGMENT_OWNERS]),
    ],
)  # fmt: skip
def test_what_is_spoilt_differs(tmp_path: Path, moment: str, file: str, change: Change, kinds: list[FactKind]) -> None:
    report = spoilt(tmp_path, moment, file, change)
    assert sorted(one.kind.name for one in report.differences) == sorted(kind.name for kind in kinds)
    assert {one.moment for one in report.differences} == {moment}
    assert {one.file for one in report.differences} <= {f"{moment}/{RECORD}", f"{moment}/{STATS}"}


def test_a_hand_over_is_no_difference(tmp_path: Path) -> None:
    """c-c still holds a part of segment 0, where c-b, which is to have it, is not attached yet."""

    def attached(document: Any) -> None:
        first, second = document["subscriptions"]["sub"]["consumers"]
        first["consumerName"], second["consumerName"] = "c-a-seg-0", "c-c-seg-0"

    spoilt(tmp_path, SHARED, STATS, lambda document: consumers(document, [0], [0], [0, 1]))
    path = tmp_path / SHARED / f"{TOPIC}/segments/0/stats.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    attached(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    report = verify_folder(tmp_path)
    assert report.differences == ()
    assert report.not_compared[HANDED_OVER] == 1
    assert report.not_compared[NOT_ATTACHED] == 1
    assert counts(report)[FactKind.SEGMENT_OWNERS] == 1


def test_answers_of_two_epochs_are_not_compared_with_each_other(tmp_path: Path) -> None:
    report = spoilt(tmp_path, SHARED, RECORD, lambda document: document.update(epoch=7))
    assert report.differences == ()
    assert report.not_compared[OTHER_EPOCH] == 1
    assert FactKind.SEGMENT_LISTED not in counts(report)


def test_a_merge_of_which_a_parent_is_gone_is_not_judged(tmp_path: Path) -> None:
    moments = scene("manual")["answers"]
    of_two = {at: [one for one in moments[at][RECORD]["segments"].values() if len(one["parentIds"]) == 2]
              for at in moments if RECORD in moments[at]}  # fmt: skip
    moment = next(at for at, children in of_two.items() if children)
    parent = of_two[moment][0]["parentIds"][0]
    gone = {parent, *moments[moment][RECORD]["segments"][str(parent)]["parentIds"]}

    def change(document: Any) -> None:
        document["epoch"] += len(gone)
        for one in gone:
            document["segments"].pop(str(one))
        for one in document["segments"].values():
            one["parentIds"] = [parent for parent in one["parentIds"] if parent not in gone]

    report = spoilt(tmp_path, moment, RECORD, change)
    assert report.differences == ()
    assert report.not_compared[PRUNED] >= 1
