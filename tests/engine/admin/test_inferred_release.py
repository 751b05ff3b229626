"""The release that answers show: of real brokers of twelve releases the true one is always in the range."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from engine.admin.files import AnswerFile
from engine.admin.folders import FilesRead, read_files
from engine.admin.inferred_release import InferredRelease, inferred_release
from engine.admin.release_signs import SIGNS
from engine.admin.snapshot import AnswerCollector, is_scenario
from engine.config import release_of
from engine.input import Intake
from engine.releases import Release

RECORDINGS = Path(__file__).parents[2] / "recordings"
WITH_RELEASE = sorted(path.parent.name for path in RECORDINGS.glob("*/scenario.json.gz"))
LIMIT = 1 << 30
ITEMS = "persistent://acme/ns/items"


def release_shown(*answers: AnswerFile) -> InferredRelease | None:
    collector = AnswerCollector(LIMIT, keeps_nameless=True)
    collector.add(FilesRead(answers, (), ()))
    collector.version = None
    return inferred_release([collector.snapshot("test")])


def true_release(recording: str) -> Release:
    scenario = json.loads(gzip.decompress((RECORDINGS / recording / "scenario.json.gz").read_bytes()))
    release = release_of(scenario["pulsar_version"])
    assert isinstance(release, Release)
    return release


def answers_of(recording: str) -> tuple[AnswerFile, ...]:
    read = read_files(RECORDINGS / recording, Intake(LIMIT))
    return tuple(file for file in read.files if not is_scenario(file))


def answer(document: object) -> AnswerFile:
    return AnswerFile("stats.json", json.dumps({ITEMS: document}).encode())


@pytest.mark.parametrize("recording", WITH_RELEASE)
def test_the_true_release_of_every_recording_is_in_the_range(recording: str) -> None:
    shown, true = release_shown(*answers_of(recording)), true_release(recording)
    if shown is not None:
        assert shown.fits(true)
        assert shown.at_least is None or shown.at_least <= true
        assert shown.older_than is None or true < shown.older_than


@pytest.mark.parametrize(
    ("recording", "label", "at_least", "older_than", "classic"),
    [
        ("v2.11.0-c-keyshared-ring", "2.11", None, (3, 0, 0), False),
        ("v3.0.2-c-keyshared-ring", "3.2.0", (3, 0, 0), (3, 2, 1), False),
        ("v3.0.7-c-keyshared-ring", "3.0", (3, 0, 7), (3, 1, 0), False),
        ("v3.2.3-c-keyshared-ring", "3.3.1", (3, 0, 3), (3, 3, 2), False),
        ("v3.3.6-c-keyshared-ring", "3.3", (3, 0, 8), (4, 0, 0), False),
        ("v4.0.1-c-keyshared-ring", "4.0.6", (4, 0, 0), (4, 0, 7), False),
        ("v4.0.7-c-keyshared-ring", "4.0", (4, 0, 2), (4, 1, 0), False),
        ("v4.0.7-c-keyshared-ring-classic", "4.0", (4, 0, 2), (4, 1, 0), True),
        ("c-keyshared-ring", "4.2", (4, 0, 8), (5, 0, 0), False),
        ("c-keyshared-ring-classic", "4.2", (4, 0, 8), (5, 0, 0), True),
        ("v5.0.1-c-keyshared-ring", "5.0.1", (4, 0, 14), None, False),
    ],
)
def test_the_range_is_narrow_where_answers_are_whole(
    recording: str,
    label: str,
    at_least: tuple[int, int, int] | None,
    older_than: tuple[int, int, int] | None,
    classic: bool,
) -> None:
    shown = release_shown(*answers_of(recording))
    assert shown is not None
    bounds = tuple(bound and bound[:3] for bound in (shown.at_least, shown.older_than))
    assert (shown.label, *bounds, shown.classic) == (label, at_least, older_than, classic)


@pytest.mark.parametrize(
    ("release", "ring"),
    [("2.11.0", "name_i"), ("3.0.2", "name_i"), ("3.0.7", "indexed_replace"), ("3.2.3", "name_nul_i"),
     ("3.3.6", "indexed_replace"), ("4.0.7", "current")],
)  # fmt: skip
def test_the_rules_taken_have_the_ring_of_the_true_release(release: str, ring: str) -> None:
    shown = release_shown(*answers_of(f"v{release}-c-keyshared-ring"))
    assert shown is not None
    assert shown.behaviour.key_shared_ring == ring


def without_one_member(document: Any) -> Iterator[Any]:
    """The document without each member in turn, of every object in it, the first three of a list."""
    places: list[list[Any]] = [[]]
    while places:
        place = places.pop()
        value = document
        for step in place:
            value = value[step]
        if isinstance(value, dict):
            for name in value:
                changed = deepcopy(document)
                below = changed
                for step in place:
                    below = below[step]
                del below[name]
                yield changed
                places.append([*place, name])
        elif isinstance(value, list):
            places += [[*place, number] for number in range(min(3, len(value)))]


@pytest.mark.parametrize(
    "name",
    ["v2.11.0-c-keyshared-ring", "v3.3.6-c-keyshared-ring", "v4.0.7-c-keyshared-ring-classic", "c-keyshared-draining",
     "v5.0.1-c-keyshared-draining"],
)  # fmt: skip
def test_no_missing_member_excludes_the_true_release(name: str) -> None:
    document = json.loads(gzip.decompress((RECORDINGS / name / "04-stats.json.gz").read_bytes()))
    for consumer in document["subscriptions"]["sub"]["consumers"]:  # ranges are long, and their ring is tried elsewhere
        consumer.pop("keyHashRangeArrays", None)
        consumer["keyHashRanges"] = consumer.get("keyHashRanges", [])[:1]
    true, cases = true_release(name), 0
    for changed in without_one_member(document):
        shown = release_shown(answer(changed))
        assert shown is None or shown.fits(true)
        cases += 1
    assert cases > 100


def test_clients_of_another_release_show_nothing() -> None:
    consumer = {"consumerName": "a", "availablePermits": 1, "clientVersion": "Pulsar-Java-v2.8.0"}
    subscription = {"type": "Shared", "msgBacklog": 3, "consumers": [consumer]}
    assert release_shown(answer({"msgRateIn": 0.0, "subscriptions": {"s": subscription}, "publishers": []})) is None


def test_one_filled_member_is_enough_in_what_people_cut() -> None:
    consumer = {"consumerName": "a", "readPositionWhenJoining": "28:0"}
    shown = release_shown(answer({"subscriptions": {"s": {"type": "Key_Shared", "consumers": [consumer]}}}))
    assert shown is not None
    assert (shown.at_least, shown.older_than and shown.older_than[:3], shown.label) == (None, (4, 0, 0), "3.3")


def test_names_of_people_are_no_signs() -> None:
    consumer = {"consumerName": "a", "metadata": {"drainingHashesCount": "1", "readPositionWhenJoining": "1:1"}}
    names = {"drainingHashesCount": {"type": "Shared", "consumers": [consumer]}}
    assert release_shown(answer({"subscriptions": names, "publishers": []})) is None


def test_of_brokers_of_two_releases_the_newer_counts() -> None:
    old, new = answers_of("v2.11.0-a-failover-6p-hash"), answers_of("v5.0.1-a-failover-7p-modulo")
    shown = release_shown(*(AnswerFile(f"{number}.json", file.data) for number, file in enumerate((*old, *new))))
    assert shown is not None
    assert (shown.at_least and shown.at_least[:3], shown.label) == ((4, 0, 14), "5.0.1")


def test_every_sign_excludes_some_release_and_fits_another() -> None:
    releases = [Release(line, minor, 9) for line, minor in ((2, 11), (3, 0), (3, 3), (4, 0), (4, 2), (5, 0))]
    for sign in SIGNS.values():
        assert {sign.fits(release) for release in releases} == {True, False}, sign.id
