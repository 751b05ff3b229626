"""Bad input never loses good input, and every fault is reported with its place."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from engine.admin.files import read_file
from engine.admin.namespaces import (
    decode_bundles,
    decode_hash_positions,
    decode_policies,
    decode_runtime_configuration,
    decode_topic_list,
)
from engine.admin.snapshot import read_answers
from engine.admin.text import plain_json
from engine.admin.topics import (
    decode_broker_stats_topics,
    decode_named_stats,
    decode_partitioned_stats,
    decode_topic_stats,
)
from engine.errors import InputError, Problem
from engine.input import Intake, Source

A, B, C = (f"persistent://t/n/{name}" for name in "abc")


def _topic(**members: Any) -> dict[str, Any]:
    consumers = [{"consumerName": "c-1", "msgRateOut": 1.5, "unackedMessages": 3}]
    subscription = {"type": "Failover", "activeConsumerName": "c-1", "consumers": consumers}
    return {"msgRateIn": 2.5, "publishers": [], "subscriptions": {"sub": subscription}, **members}


def _named(bad: dict[str, Any]) -> bytes:
    return json.dumps({A: _topic(), B: bad, C: _topic()}).encode()


def _only(problems: tuple[Problem, ...]) -> Problem:
    assert len(problems) == 1, [str(problem) for problem in problems]
    return problems[0]


@pytest.mark.parametrize(
    ("bad", "path", "reason"),
    [
        (_topic(msgRateIn="2.5"), ".msgRateIn", "a number is expected here, not text"),
        (_topic(msgRateIn=-0.5), ".msgRateIn", "cannot be negative"),
        (_topic(msgRateIn=True), ".msgRateIn", "a number is expected here, not true or false"),
        (_topic(msgRateIn="NaN"), ".msgRateIn", "a number is expected here, not text"),
        (_topic(storageSize=1.5), ".storageSize", "a whole number is expected here"),
        (_topic(publishers={}), ".publishers", "a list is expected here, not an object"),
        (_topic(subscriptions=[]), ".subscriptions", "an object is expected here, not a list"),
        (_topic(subscriptions={"x": {"type": 7}}), ".subscriptions.x.type", "text is expected here"),
        (
            _topic(subscriptions={"s 1": {"consumers": [{}, {"msgRateOut": "1"}]}}),
            '.subscriptions["s 1"].consumers[1].msgRateOut',
            "a number is expected here, not text",
        ),
        (
            _topic(subscriptions={"k": {"type": "Key_Shared", "consumers": [{"keyHashRanges": ["0 to 7"]}]}}),
            "",
            "'0 to 7', which is not a range",
        ),
    ],
)
def test_a_bad_topic_is_set_aside_and_its_neighbours_are_kept(bad: dict[str, Any], path: str, reason: str) -> None:
    decoded = decode_named_stats(_named(bad), "stats.json")
    assert set(decoded.good) == {A, C}
    assert decoded.set_aside == 1
    problem = _only(decoded.problems)
    assert (problem.source, problem.path) == ("stats.json", f'$["{B}"]{path}')
    assert reason in problem.reason
    assert problem.advice


def test_all_bad_topics_are_reported_not_only_the_first() -> None:
    document = {f"persistent://t/n/{place}": _topic(msgRateIn=-1 if place % 2 else 1) for place in range(10)}
    decoded = decode_named_stats(json.dumps(document).encode())
    assert (len(decoded.good), len(decoded.problems), decoded.set_aside) == (5, 5, 5)


def test_a_name_that_is_no_topic_is_set_aside() -> None:
    decoded = decode_named_stats(json.dumps({A: _topic(), "persistent://t/x": _topic()}).encode())
    assert list(decoded.good) == [A]
    assert "invalid topic name" in _only(decoded.problems).reason


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity"])
def test_literals_that_json_does_not_have_are_reported_with_line_and_column(literal: str) -> None:
    text = '{\n  "msgRateIn": ' + literal + ',\n  "subscriptions": {}\n}'
    decoded = decode_topic_stats(text.encode(), A, "x.json")
    problem = _only(decoded.problems)
    assert decoded.good is None
    assert literal.lstrip("-") in problem.reason
    assert problem.line == 2
    assert problem.column in (16, 17)


def test_numbers_that_no_double_holds_are_reported() -> None:
    decoded = decode_topic_stats(b'{"msgRateIn": 1e999, "subscriptions": {}}', A)
    assert "out of range" in _only(decoded.problems).reason


def test_a_name_that_stands_twice_is_reported_and_the_later_one_counts() -> None:
    text = f'{{"{A}": {json.dumps(_topic(msgRateIn=1.0))}, "{A}": {json.dumps(_topic(msgRateIn=2.0))}}}'
    decoded = decode_named_stats(text.encode())
    assert decoded.good[A].msg_rate_in_msgs_per_sec == 2.0
    assert "twice" in _only(decoded.problems).reason


def test_a_member_that_stands_twice_deep_inside_is_reported() -> None:
    text = json.dumps(_topic()).replace('"type": "Failover"', '"type": "Shared", "type": "Failover"')
    decoded = decode_topic_stats(text.encode(), A)
    assert decoded.good is not None
    assert decoded.good.subscriptions[0].type == "Failover"
    assert "'type' occurs twice" in _only(decoded.problems).reason


def test_colons_in_texts_are_not_taken_for_members() -> None:
    odd = _topic()
    odd["subscriptions"]['a":"b'] = {"type": "None", "consumers": []}
    decoded = decode_topic_stats(json.dumps(odd).encode(), A)
    assert decoded.problems == ()


def test_equal_beginnings_of_values_do_not_hide_a_doubled_name() -> None:
    text = b'{"boundaries": 1, "boundaries": 12, "x": 1, "y": {"x": 2}}'
    assert [p.path for p in decode_runtime_configuration(text).problems] == ["$.boundaries"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b" \n ", "empty"),
        (b'{"msgRateIn": 1.0', "stops in the middle"),
        (b'{"msgRateIn": 1.0,}', "trailing comma"),
        (b'{"msgRateIn": 1.0} {}', "trailing characters"),
        (b"[]", "an object is expected here, not a list"),
        (b"<html>", "is not JSON"),
        pytest.param(b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested more than", id="nested"),
        (b'{"subscriptions": {"\xff": {}}}', "UTF-8"),
    ],
)
def test_texts_that_are_no_answer_are_reported(data: bytes, reason: str) -> None:
    decoded = decode_topic_stats(data, A, "x.json")
    assert decoded.good is None
    assert any(reason in problem.reason for problem in decoded.problems), decoded.problems
    assert all(problem.source == "x.json" for problem in decoded.problems)


def test_line_and_column_count_characters_from_one() -> None:
    problem = _only(decode_bundles('{\n "ü": 1,\n "öö": tru\n}'.encode(), "b.json").problems)
    assert (problem.line, problem.column) == (3, 8)
    assert str(problem).startswith("b.json:3:8")


def test_the_end_of_a_truncated_text_is_its_place() -> None:
    problem = _only(decode_bundles(b'{"boundaries": [\n"0x0000', "b.json").problems)
    assert (problem.line, problem.column) == (2, 8)


def test_a_byte_order_mark_is_reported_and_the_text_is_read() -> None:
    decoded = decode_topic_stats(b"\xef\xbb\xbf" + json.dumps(_topic()).encode(), A)
    assert decoded.good is not None
    assert "byte order mark" in _only(decoded.problems).reason


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_reported_and_the_text_is_read(encoding: str) -> None:
    decoded = decode_topic_stats(json.dumps(_topic()).encode(encoding), A)
    assert decoded.good is not None
    assert "UTF-16" in _only(decoded.problems).reason


def test_broken_utf_16_is_reported() -> None:
    data, problems = plain_json(b"\xff\xfe{\x00\x00\xd8", "x")
    assert data == b""
    assert "UTF-16" in _only(problems).reason


def test_packed_texts_are_read_whatever_their_name() -> None:
    packed = gzip.compress(json.dumps({A: _topic()}).encode())
    assert list(decode_named_stats(packed).good) == [A]
    two = gzip.compress(b'{"boundaries": ["0x00000000",') + gzip.compress(b'"0xffffffff"]}')
    assert decode_bundles(two).good.boundaries == (0, 0xFFFFFFFF)


def test_a_packed_text_that_stops_in_the_middle_keeps_what_came_before() -> None:
    document = {f"persistent://t/n/{place}": _topic(msgRateIn=place * 1.25) for place in range(400)}
    packed = gzip.compress(json.dumps(document).encode())
    decoded = decode_named_stats(packed[: len(packed) * 3 // 4])
    assert 0 < len(decoded.good) < 400
    assert any("gzip data stops" in problem.reason for problem in decoded.problems)


def test_damaged_gzip_and_too_large_gzip_are_reported() -> None:
    packed = bytearray(gzip.compress(b"{}" * 100))
    packed[12] ^= 0xFF
    _, problems = plain_json(bytes(packed), "x")
    assert "gzip" in problems[0].reason
    data, problems = plain_json(gzip.compress(b" " * 10_000), "x", limit=1000)
    assert data == b""
    assert "more than 1 kB" in _only(problems).reason


def test_a_truncated_answer_keeps_its_whole_topics() -> None:
    text = _named(_topic())
    decoded = decode_named_stats(text[: text.rindex(b'"subscriptions"')], "x.json")
    assert set(decoded.good) == {A, B}
    assert "stops in the middle" in decoded.problems[0].reason


def test_truncated_partitioned_statistics_keep_their_whole_partitions() -> None:
    partitions = {f"{A}-partition-{index}": _topic() for index in range(3)}
    text = json.dumps({**_topic(), "metadata": {"partitions": 3}, "partitions": partitions}).encode()
    decoded = decode_partitioned_stats(text[:-40])
    assert set(decoded.good) == {f"{A}-partition-0", f"{A}-partition-1"}
    assert decoded.problems


def _broker_stats() -> bytes:
    one = {"persistent": {A: _topic(), B: _topic()}}
    other = {"persistent": {C: _topic()}, "non-persistent": {C.replace("p", "non-p", 1): _topic()}}
    return json.dumps({"t/n": {"0x00000000_0x80000000": one, "0x80000000_0xffffffff": other}}).encode()


def test_objects_that_are_never_closed_cost_only_their_topic() -> None:
    """A broker writes the statistics while it makes them: a fault leaves the objects of that topic open."""
    whole = _broker_stats()
    start = whole.index(f'"{B}"'.encode())
    cut = whole.index(b'"consumers"', start)
    text = whole[:cut] + b'"consumers": [' + whole[whole.index(b'"0x80000000_0xffffffff"') - 1 :]
    decoded = decode_broker_stats_topics(text, "bs.json")
    assert set(decoded.good.topics) == {A, C, C.replace("p", "non-p", 1)}
    assert decoded.good.places[C].bundle == "0x80000000_0xffffffff"
    assert decoded.good.places[A].namespace == "t/n"
    assert decoded.set_aside == 1
    assert [p.path for p in decoded.problems if "not closed" in p.reason] == [
        f'$["t/n"]["0x00000000_0x80000000"]["{B}"]'
    ]


def test_broker_stats_of_wrong_forms_are_reported_level_by_level() -> None:
    text = {"t/n": {"0x00000000_0x80000000": {"persistent": []}, "0x80000000_0xffffffff": 7}, "t/m": None}
    decoded = decode_broker_stats_topics(json.dumps(text).encode())
    assert [problem.path for problem in decoded.problems] == [
        '$["t/n"]["0x00000000_0x80000000"].persistent',
        '$["t/n"]["0x80000000_0xffffffff"]',
        '$["t/m"]',
    ]


def test_a_topic_in_two_bundles_is_reported() -> None:
    one = {"persistent": {A: _topic()}}
    decoded = decode_broker_stats_topics(json.dumps({"t/n": {"0x0_0x1": one, "0x1_0x2": one}}).encode())
    assert "listed in 0x1_0x2 and in 0x0_0x1" in _only(decoded.problems).reason


@pytest.mark.parametrize(
    ("document", "path", "reason"),
    [
        ({"boundaries": ["0x00000000", "zero"], "numBundles": 1}, "$.boundaries[1]", "not a boundary"),
        ({"boundaries": ["0x00000000"], "numBundles": 0}, "$.boundaries", "at least two"),
        ({"boundaries": ["0x80000000", "0x00000000"], "numBundles": 1}, "$.boundaries", "do not ascend"),
        ({"boundaries": ["0x00000000", "0xffffffff"], "numBundles": 4}, "$.numBundles", "says 4 bundles"),
        ({"boundaries": [0, 1]}, "$.boundaries[0]", "text is expected here"),
        ({"numBundles": 4}, "$", "missing required field"),
    ],
)
def test_bad_bundle_lists_are_reported(document: dict[str, Any], path: str, reason: str) -> None:
    problem = _only(decode_bundles(json.dumps(document).encode()).problems)
    assert problem.path == path
    assert reason in problem.reason


def test_policies_without_bundles_are_reported() -> None:
    assert "name no bundles" in _only(decode_policies(b'{"bundles": null, "deleted": false}').problems).reason


def test_positions_lists_and_settings_of_wrong_kinds_are_reported() -> None:
    assert decode_hash_positions(b'{"namespace": "t/n", "bundle": "x", "topicHashPositions": {"a": "1"}}').good is None
    listed = decode_topic_list(b'["persistent://t/n/a", 7, null]')
    assert (listed.good, listed.set_aside) == ((A,), 2)
    configured = decode_runtime_configuration(
        b'{"loadBalancerNamespaceBundleMaxMsgRate": "many", "brokerId": "x", '
        b'"activeConsumerFailoverConsistentHashing": "true"}'
    )
    assert configured.good is not None
    assert configured.good.settings.activeConsumerFailoverConsistentHashing
    assert (configured.good.named, configured.good.others) == (("activeConsumerFailoverConsistentHashing",), 1)
    assert _only(configured.problems).path == "$.loadBalancerNamespaceBundleMaxMsgRate"


def test_a_file_that_changes_while_it_is_read_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({A: _topic()}))
    read = Source.read

    def growing(self: Source, limit: int) -> bytes | None:
        data = read(self, limit)
        with path.open("ab") as file:
            file.write(b" ")
        return data

    monkeypatch.setattr(Source, "read", growing)
    snapshot = read_answers(path)
    assert list(snapshot.topics) == [A]
    assert "changed while it was being read" in _only(snapshot.problems).reason


def test_a_file_of_absurd_size_is_refused_without_reading_it(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b"{}" * 100)
    file, problems = read_file(path, path.name, Intake(100))
    assert file is None
    assert "--max-input is 100 bytes" in _only(problems).reason


def test_a_folder_of_good_and_bad_files_keeps_the_good(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text(json.dumps({A: _topic()}))
    (tmp_path / "2.json").write_text('{"persistent://t/n/b": {"msgRate')
    (tmp_path / "3.json").write_text("hello")
    (tmp_path / "4.json").write_text("")
    snapshot = read_answers(tmp_path)
    assert list(snapshot.topics) == [A]
    assert {problem.source for problem in snapshot.problems} == {"2.json", "3.json", "4.json"}


def test_nothing_that_a_broker_answers_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text('{"name": "something else"}')
    with pytest.raises(InputError, match="none of 1 file"):
        read_answers(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        read_answers(tmp_path / "nowhere")
