"""Names that no broker has are set aside with their place, wherever they enter; the rest is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.admin.facts import Snapshot
from engine.admin.namespaces import decode_hash_positions, decode_owned, decode_topic_list
from engine.admin.requests import parse_request
from engine.admin.snapshot import read_answers
from engine.admin.topics import decode_broker_stats_topics
from engine.errors import InputError
from engine.names import refuse_bundle, refuse_namespace, refuse_subscription, topic_fault
from engine.scenarios.opening import open_path
from tests.engine.verify.folders import verify_folder

EVIL = "evil/ns;$(touch pwned)"
GOOD = "persistent://t/n/x"
STATS: dict[str, Any] = {"msgRateIn": 1.0, "publishers": [], "subscriptions": {}}
RANGE = "0x00000000_0xffffffff"
HOSTILE = [EVIL, "t", "t/", "/n", "t/n/", "t/n m", "t/n\n", "t/n'", "t/`n`", "t/n\x1b", "t/ñ", "a/b/c/d", "", "t/n|x"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_namespace_that_pulsar_would_refuse_is_refused(name: str) -> None:
    refused = refuse_namespace(name)
    assert refused is not None and refused.error == "IllegalArgumentException"
    assert refuse_bundle(f"{name}/{RANGE}") is not None
    assert topic_fault(f"persistent://{name}/x")


@pytest.mark.parametrize("name", ["t/n", "a-b/c=d:e.f_g", "pulsar/host:8080", "t/cluster/n"])
def test_a_namespace_that_pulsar_has_is_taken(name: str) -> None:
    assert refuse_namespace(name) is None
    assert refuse_bundle(f"{name}/{RANGE}") is None


@pytest.mark.parametrize("piece", ["", "0x0", "0x0_", f"{RANGE}_;$(x)", "0x0_0xg", "0x0 _0x1", f"{RANGE}\n"])
def test_a_bundle_that_is_no_range_is_refused(piece: str) -> None:
    assert refuse_bundle(f"t/n/{piece}") is not None


def test_only_blank_subscriptions_are_refused() -> None:
    assert [refuse_subscription(name) is not None for name in ("", " ", "\t\u2003", "$(x)", "\u00a0", "a b")] == [
        True, True, True, False, False, False,
    ]  # fmt: skip


def test_a_request_path_with_a_shell_command_names_nothing() -> None:
    for path in (
        "GET /admin/v2/namespaces/evil/ns%3B%24%28touch%20pwned%29/bundles",
        "GET /admin/v2/persistent/evil/ns%3B%24%28touch%20pwned%29/x/stats",
        "GET /lookup/v2/topic/persistent/evil/ns%3B%24/x",
        "PUT /admin/v2/namespaces/evil/ns%27/LARGEST/split",
    ):
        request = parse_request(path)
        assert (request.topic, request.namespace) == ("", "")
        assert "evil/ns" in request.fault
    assert parse_request("GET /admin/v2/namespaces/t/n/bundles").fault == ""


def recording(folder: Path, *more: dict[str, str]) -> Snapshot:
    """A recording whose bundles are of a namespace with a shell command in its name, beside sound statistics."""
    bundles = {"boundaries": ["0x00000000", "0x80000000", "0xffffffff"], "numBundles": 2}
    asked = "GET /admin/v2/namespaces/evil/ns%3B%24%28touch%20pwned%29/bundles"
    answers = [{"request": asked, "status": 200, "file": "01-bundles.json"}, *more]
    folder.mkdir()
    (folder / "01-bundles.json").write_text(json.dumps(bundles))
    (folder / "stats.json").write_text(json.dumps({GOOD: STATS}))
    (folder / "scenario.json").write_text(json.dumps({"scenario": "x", "steps": [{"answers": answers}]}))
    return read_answers(folder)


def test_a_namespace_from_a_request_path_is_set_aside_with_its_place(tmp_path: Path) -> None:
    snapshot = recording(tmp_path / "inj")
    assert snapshot.bundles == {}
    assert list(snapshot.topics) == [GOOD]
    result = [(problem.source, problem.path) for problem in snapshot.problems]
    assert ("scenario.json", "$.steps[0].answers[0].request") in result
    assert ("01-bundles.json", "$") in result


def test_broker_stats_of_an_impossible_namespace_or_bundle_are_set_aside() -> None:
    good = {RANGE: {"persistent": {GOOD: STATS}}}
    answer = {"t/n": {**good, "0x0_;": {"persistent": {"persistent://t/n/y": STATS}}}, EVIL: good}
    decoded = decode_broker_stats_topics(json.dumps(answer).encode(), "a.json")
    assert list(decoded.good.topics) == [GOOD]
    assert decoded.good.places[GOOD].namespace == "t/n"
    assert decoded.set_aside == 2
    assert [problem.source for problem in decoded.problems] == ["a.json", "a.json"]
    assert "0x0_;" in decoded.problems[0].path and EVIL in decoded.problems[1].path


@pytest.mark.parametrize("bundle", ["0x90000000_0x10000000", "0x0_0x0", "0x0_0x1ffffffff", "0x0", "", "0_1"])
def test_broker_stats_of_a_range_that_no_bundle_has_are_set_aside(bundle: str) -> None:
    answer = {"t/n": {RANGE: {"persistent": {GOOD: STATS}}, bundle: {"persistent": {"persistent://t/n/y": STATS}}}}
    decoded = decode_broker_stats_topics(json.dumps(answer).encode(), "a.json")
    assert (list(decoded.good.topics), decoded.set_aside) == ([GOOD], 1)
    assert [problem.path for problem in decoded.problems] == [f'$["t/n"]["{bundle}"]']


def test_verify_sets_answers_about_impossible_names_aside_with_their_place(tmp_path: Path) -> None:
    asked = "GET /admin/v2/persistent/evil/ns%3B%24/x/stats"
    more = [{"request": asked, "status": status, "file": "stats.json"} for status in (200, 412)]
    recording(tmp_path / "inj", *more)
    report = verify_folder(tmp_path / "inj")
    places = [problem.path for problem in report.problems if problem.source == "scenario.json"]
    assert places == ["$.steps[0].answers[0].request", "$.steps[0].answers[1].request"]


def test_a_subscription_without_a_name_is_set_aside_and_the_others_are_kept() -> None:
    stats = {**STATS, "subscriptions": {"": {"type": "Shared"}, " ": {"type": "Shared"}, "$(x)": {"type": "Shared"}}}
    snapshot = read_answers(json.dumps({GOOD: stats}).encode())
    assert [subscription.name for subscription in snapshot.topics[GOOD].subscriptions] == ["$(x)"]
    assert len(snapshot.problems) == 2
    assert all("subscriptions" in problem.path for problem in snapshot.problems)


def test_lists_positions_and_owners_keep_what_has_a_name() -> None:
    evil = f"persistent://{EVIL}/x"
    listed = decode_topic_list(json.dumps([GOOD, evil, "x", GOOD]).encode())
    assert (listed.good, listed.set_aside) == ((GOOD, GOOD), 2)
    assert [problem.path for problem in listed.problems] == ["$[1]", "$[2]"]
    result = {"namespace": "t/n", "bundle": RANGE, "topicHashPositions": {GOOD: 1, evil: 2}}
    positions = decode_hash_positions(json.dumps(result).encode())
    assert positions.good is not None and positions.good.positions == {GOOD: 1}
    assert positions.set_aside == 1
    assert decode_hash_positions(json.dumps({**result, "namespace": EVIL}).encode()).good is None
    owned = decode_owned(json.dumps({f"t/n/{RANGE}": {}, f"{EVIL}/{RANGE}": {}}).encode())
    assert (owned.good, owned.set_aside) == ((f"t/n/{RANGE}",), 1)


def test_a_file_name_that_spells_an_impossible_topic_names_nothing(tmp_path: Path) -> None:
    (tmp_path / "persistent%3A%2F%2Fevil%2Fns%3B%24(touch)%2Fx.json").write_text(json.dumps(STATS))
    with pytest.raises(InputError) as caught:
        open_path(tmp_path)
    assert any("does not say which topic" in problem.reason for problem in caught.value.problems)
