"""Key_Shared subscriptions of recorded answers: the mode that explains the ranges, and exactly those ranges."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.admin.snapshot import read_answers
from engine.cluster.commands import SetSetting
from engine.cluster.journal.invariants import faults
from engine.cluster.keys.state import KeySubscription, SharingMode
from engine.cluster.timeline import Timeline
from engine.scenarios.key_subscriptions import joined_ids
from engine.scenarios.opening import Opened, open_path, open_snapshot
from engine.views.keys.view import key_colours, keys_view
from tests.engine.scenarios.recordings import RECORDINGS

RECORDED = sorted(path for path in RECORDINGS.iterdir() if re.search(r"(^|-)c-keyshared-", path.name))
TOPIC = "persistent://t/n/x"
Ranges = list[tuple[int, int]]


def reported(path: Path) -> list[tuple[str, Ranges]]:
    """(Name, ranges) of each consumer in the order of connecting, read with nothing of this project."""
    stats: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    consumers = [each for subscription in stats["subscriptions"].values() for each in subscription["consumers"]]
    consumers.sort(key=lambda each: str(each["connectedSince"]).rstrip("Z"))
    result = []
    for each in consumers:
        pairs = each.get("keyHashRangeArrays")
        if pairs is None:
            pairs = [re.findall(r"\d+", text) for text in each.get("keyHashRanges") or []]
        result.append((each["consumerName"], [(int(start), int(end)) for start, end in pairs]))
    return result


def opened(folder: Path, step: int) -> Opened:
    """One answer beside the scenario that names its topic."""
    paths = [folder / f"{step:02}-stats.json.gz", folder / "scenario.json.gz"]
    named = {path.name.removesuffix(".gz"): json.loads(gzip.decompress(path.read_bytes())) for path in paths}
    return open_snapshot(read_answers(json.dumps(named).encode()))


def shown(subscription: KeySubscription) -> list[tuple[str, Ranges]]:
    ranges = subscription.delivery.selector.ranges()
    return [
        (each.name, [(piece.start, piece.end) for piece in ranges.get(each.consumer_id, ())])
        for each in subscription.consumers
    ]


def mode_of(folder: Path) -> str:
    if "sticky" in folder.name:
        return "sticky"
    return "auto-split" if "autosplit" in folder.name else "consistent-auto-split"


def statistics(folder: Path) -> Iterator[tuple[int, Path]]:
    for path in sorted(folder.glob("*-stats.json.gz")):
        if any(ranges for _, ranges in reported(path)):
            yield int(path.name[:2]), path


@pytest.mark.parametrize("folder", RECORDED, ids=lambda path: path.name)
def test_every_recorded_answer_opens_in_its_mode_with_exactly_its_ranges(folder: Path) -> None:
    seen = 0
    for step, path in statistics(folder):
        result = opened(folder, step)
        (subscription,) = result.state.key_subscriptions
        assert (subscription.mode.value, shown(subscription)) == (mode_of(folder), reported(path))
        assert not faults(result.state)
        assert "key-ranges-differ" not in [note.code for note in result.notes]
        seen += 1
    assert seen


@pytest.mark.parametrize("folder", RECORDED, ids=lambda path: path.name)
def test_a_folder_with_its_scenario_opens_at_its_last_answer(folder: Path) -> None:
    last = sorted(folder.glob("*-stats.json.gz"))[-1]
    (subscription,) = open_path(folder).state.key_subscriptions
    assert shown(subscription) == reported(last)


def test_a_folder_of_plain_topics_opens_as_its_scenario_names_them() -> None:
    result = open_path(RECORDINGS / "b-failover-nonpartitioned-hash")
    assert len(result.state.topics) == 12
    assert all(name.startswith("persistent://ring/bbfailovernonpartitionedhash/t-") for name in result.state.topics)
    assert not result.problems


def snapshot_of(consumers: list[dict[str, Any]], *, name: str = "sub", kind: str = "Key_Shared") -> bytes:
    stats = {"msgRateIn": 0.0, "publishers": [], "subscriptions": {name: {"type": kind, "consumers": consumers}}}
    return json.dumps({TOPIC: stats}).encode()


def consumer(name: str, *ranges: tuple[int, int], since: str = "", unacked: int = 0) -> dict[str, Any]:
    return {
        "consumerName": name,
        "connectedSince": since,
        "unackedMessages": unacked,
        "keyHashRangeArrays": [list(each) for each in ranges],
    }


def of(consumers: list[dict[str, Any]]) -> Opened:
    return open_snapshot(read_answers(snapshot_of(consumers)))


def key_notes(found: Opened) -> dict[str, str]:
    return {note.code: note.text for note in found.notes if note.code.startswith("key-")}


def test_halved_ranges_of_any_order_are_taken_over_as_they_are() -> None:
    result = of([consumer("b", (16_385, 65_536)), consumer("a", (0, 16_384))])
    (subscription,) = result.state.key_subscriptions
    assert subscription.mode.value == "auto-split"
    assert key_notes(result) == {
        "key-mode-inferred": "sub: mode auto-split, since it gives the ranges that were reported"
    }
    owner = subscription.delivery.selector.owner
    assert [owner(1), owner(16_384), owner(16_385)] == [1, 1, 0]


def test_ranges_with_a_gap_are_declared_ones() -> None:
    result = of([consumer("a", (0, 9), (20, 29)), consumer("b", (10, 15))])
    (subscription,) = result.state.key_subscriptions
    assert subscription.mode.value == "sticky"
    assert [each.declared for each in subscription.consumers] == [((0, 9), (20, 29)), ((10, 15),)]


def test_without_ranges_the_setting_decides_and_no_mode_is_said_to_be_inferred() -> None:
    result = of([consumer("a"), consumer("b")])
    assert result.state.key_subscriptions[0].mode.value == "consistent-auto-split"
    assert key_notes(result) == {}


def test_ranges_that_no_mode_gives_are_shown_by_the_likeliest_and_said_to_differ() -> None:
    result = of([consumer("a", (0, 9)), consumer("b")])
    assert result.state.key_subscriptions[0].mode.value == "consistent-auto-split"
    assert key_notes(result) == {
        "key-ranges-differ": "sub: no mode gives exactly the ranges that were reported; shown is consistent-auto-split"
    }


def test_unacknowledged_messages_are_said_not_to_be_in_the_model() -> None:
    result = of([consumer("a", unacked=1_200)])
    assert key_notes(result) == {
        "key-messages-unknown": "sub: 1,200 messages are unacknowledged; no answer has their keys, so they are not "
        "in the model"
    }


def test_consumers_stand_in_the_order_of_their_time_stamps_and_else_in_the_brokers() -> None:
    stamps = ("2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.25Z")
    by_time = of([consumer(name, since=since) for name, since in zip("abc", stamps, strict=True)])
    assert [each.name for each in by_time.state.key_subscriptions[0].consumers] == ["b", "c", "a"]
    without = of([consumer("a", since=stamps[0]), consumer("b")])
    assert [each.name for each in without.state.key_subscriptions[0].consumers] == ["a", "b"]


def test_a_namesake_that_left_gives_the_one_that_stayed_its_index_and_takes_no_colour_from_it() -> None:
    result = opened(RECORDINGS / "v4.0.7-c-keyshared-ring", 8)
    (subscription,) = result.state.key_subscriptions
    assert "if 1 namesake had left before" in key_notes(result)["key-mode-inferred"]
    assert [each.name for each in subscription.consumers] == ["ks-b", "ks-c"]
    assert sorted(joined_ids(subscription)) == [0, 1, 2]
    assert key_colours(subscription) == {0: 0, 1: 1, 2: 2}
    assert result.state.next_consumer_id == 3
    rows = keys_view(Timeline.start(result.state), subscription.key).consumers
    assert [(row.name, row.tag) for row in rows] == [("ks-b", "A"), ("ks-c", "B")]


def test_subscriptions_of_one_name_in_two_groups_have_keys_of_their_own() -> None:
    answer = json.loads(snapshot_of([consumer("a")]))
    other = json.loads(snapshot_of([consumer("b")]))
    raw = json.dumps({TOPIC: answer[TOPIC], TOPIC + "2": other[TOPIC], TOPIC + "3": answer[TOPIC]}).encode()
    state = open_snapshot(read_answers(raw)).state
    assert [(subscription.key, subscription.topics) for subscription in state.key_subscriptions] == [
        ("sub", (TOPIC, TOPIC + "3")),
        ("sub#2", (TOPIC + "2",)),
    ]
    ids = [each.consumer_id for subscription in state.key_subscriptions for each in subscription.consumers]
    assert ids == [0, 1]
    assert state.next_consumer_id == 2


def test_a_subscription_without_consumers_is_left_out_and_counted() -> None:
    result = of([])
    assert result.state.key_subscriptions == ()
    assert "other-types" in [note.code for note in result.notes]


ALONE = RECORDINGS.parent / "samples" / "autosplit-alone"


def test_an_auto_split_dump_alone_opens_as_auto_split() -> None:
    result = open_path(ALONE)
    (shared,) = result.state.key_subscriptions
    assert shared.mode is SharingMode.AUTO_SPLIT
    assert result.state.settings.subscriptionKeySharedUseConsistentHashing is False
    assert shown(shared) == [("a", [(32769, 65536)]), ("b", [(0, 32768)])]


def test_another_setting_does_not_turn_an_auto_split_dump_into_a_ring() -> None:
    timeline, refusal = Timeline.start(open_path(ALONE).state).submit(SetSetting("maxUnackedMessagesPerConsumer", "9"))
    assert refusal is None
    (shared,) = timeline.state.key_subscriptions
    assert shared.mode is SharingMode.AUTO_SPLIT
