"""``ringside keys`` shows exactly what each consumer has, and whether an uneven spread is luck."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from urllib.parse import quote

import pytest

from engine.keyshared.ownership import slots_by_consumer
from engine.ranges import HashRange, covers_exactly
from tests.engine.keyshared.selectors import ring
from tests.engine.scenarios.recordings import RECORDINGS
from tests.tui.cli.conftest import Run

ABC = ("--consumers", "a,b,c")
KEYS = ("--generated", "500")


def test_the_keys_and_slots_of_all_consumers_are_those_there_are(run: Run) -> None:
    every = [json.loads(run("keys", "--of", name, *ABC, *KEYS, "--json").out) for name in "abc"]
    keys = [key["key"] for row in every for key in row["keys"]]
    assert sorted(keys) == sorted(f"key-{number}" for number in range(500))
    pieces = [HashRange(*piece["range"]) for row in every for piece in row["pieces"]]
    assert covers_exactly(pieces, HashRange(1, 65_535))
    owned = slots_by_consumer(ring("abc"))
    assert [len(row["pieces"]) for row in every] == [len(owned[number]) for number in (1, 2, 3)]
    for each in every:
        assert each["slots"] == sum(piece["range"][1] - piece["range"][0] + 1 for piece in each["pieces"])
        for key in each["keys"]:
            assert any(low <= key["slot"] <= high for low, high in (piece["range"] for piece in each["pieces"]))


def test_the_table_agrees_with_the_words_about_each_consumer(run: Run) -> None:
    document = json.loads(run("keys", *ABC, *KEYS, "--json").out)
    page = run("keys", *ABC, *KEYS).out
    for row in document["consumers"]:
        alone = json.loads(run("keys", "--of", row["name"], *ABC, *KEYS, "--json").out)
        assert (row["slots"], row["keys"]) == (alone["slots"], len(alone["keys"]))
        assert any(line.split()[:2] == [row["name"], str(row["slots"])] for line in page.splitlines())
    assert document["known_keys"] == 500
    assert document["luck"]["sentence"] in " ".join(page.split())


@pytest.mark.parametrize(
    ("words", "slots"),
    [
        (("--consumers", "a,b", "--mode", "consistent-auto-split"), 65_535),
        (("--consumers", "a,b", "--mode", "auto-split"), 65_535),
        (("--ranges", "a=0-100", "--ranges", "b=300-65535"), 65_535),
        (("--consumers", "a,b", "--mode", "consistent-sticky"), 65_535),
        (("--ranges", "a=0-100", "--ranges", "b=300-65535", "--pulsar", "3.3.1"), 65_536),
    ],
)
def test_slots_are_those_that_keys_can_have(run: Run, words: tuple[str, ...], slots: int) -> None:
    """A ring has 65535 slots; sticky ranges and auto-split have 65536, of which slot 0 is nobody's key since 4.0."""
    document = json.loads(run("keys", *words, "--json").out)
    assert document["slots"] == slots
    assert sum(row["slots"] for row in document["consumers"]) + document["unowned"]["slots"] == slots
    alone = json.loads(run("keys", "--of", "b", *words, "--json").out)
    assert alone["share"] == alone["slots"] / slots


def test_points_that_are_shared_are_reported_by_remainder(run: Run) -> None:
    """In the oldest rings consumers of one name share all points: each gets the hashes of one remainder."""
    words = ("keys", "--of", "#1", "--consumers", "a,a", "--pulsar", "2.11.0", "--points", "1", "--json")
    pieces = json.loads(run(*words).out)["pieces"]
    assert {piece["divisor"] for piece in pieces} == {2}


def test_slots_of_nobody_are_reported_with_the_keys_in_them(run: Run) -> None:
    words = ("--ranges", "a=0-100", "--ranges", "b=300-30000", *KEYS)
    document = json.loads(run("keys", *words, "--json").out)
    assert document["unowned"]["ranges"] == [[101, 299], [30_001, 65_535]]
    served = sum(row["keys"] for row in document["consumers"])
    assert served + document["unowned"]["known_keys"] == 500
    assert "messages of their keys wait" in run("keys", *words).out


def test_ranges_come_from_options_lines_or_json_alike(run: Run, tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("a=0-100,200\n\nname=with=sign=300-400\n")
    (tmp_path / "json").write_text(
        '[{"name": "a", "ranges": [[0, 100], [200, 200]]}, {"name": "name=with=sign", "ranges": [[300, 400]]}]'
    )
    option = run("keys", "--ranges", "a=0-100,200", "--ranges", "name=with=sign=300-400", "--json")
    assert option.code == 0
    assert run("keys", "--mode", "sticky", "--consumers-from", "lines", "--json") == option
    assert run("keys", "--mode", "sticky", "--consumers-from", "json", "--json") == option
    both = ("--consumers", "a,name=with=sign", "--ranges", "name=with=sign=300-400", "--ranges", "a=200,0-100")
    assert json.loads(run("keys", *both, "--json").out) == json.loads(option.out)


def test_what_ranges_prints_is_taken_as_consumers(run: Run, tmp_path: Path) -> None:
    (tmp_path / "nodes.json").write_text(run("ranges", "--nodes", "4", "--json").out)
    document = json.loads(run("keys", "--mode", "sticky", "--consumers-from", "nodes.json", "--json").out)
    assert [row["name"] for row in document["consumers"]] == ["node-0", "node-1", "node-2", "node-3"]
    assert document["unowned"]["slots"] == 0


def test_a_hundred_thousand_ranges_in_a_file_are_judged(run: Run, tmp_path: Path) -> None:
    """Ranges of one slot, more than there are slots: the first beyond is named in the client's words."""
    pairs = ",".join(f"[{slot},{slot}]" for slot in range(100_000))
    (tmp_path / "many.json").write_text(f'[{{"name": "a", "ranges": [{pairs}]}}]')
    ran = run("keys", "--mode", "sticky", "--consumers-from", "many.json")
    assert (ran.code, ran.out) == (2, "")
    assert "--consumers-from many.json: 'a' cannot join" in ran.err
    assert "Ranges must be [0, 65535] but provided range is [65536, 65536]" in ran.err
    (tmp_path / "each.json").write_text(
        json.dumps([{"name": f"c-{slot}", "ranges": [[slot % 65_536] * 2]} for slot in range(100_000)])
    )
    ran = run("keys", "--mode", "sticky", "--consumers-from", "each.json")
    assert (ran.code, ran.out) == (2, "")
    assert "'c-65536' cannot join: Range conflict with consumer Consumer{consumerId=1, consumerName=c-0}" in ran.err


def test_auto_split_takes_no_more_consumers_than_it_has_slots(run: Run, tmp_path: Path) -> None:
    (tmp_path / "names").write_text("\n".join(f"c-{number}" for number in range(65_537)))
    ran = run("keys", "--mode", "auto-split", "--consumers-from", "names", "--of", "c-7")
    assert (ran.code, ran.out) == (2, "")
    assert "'c-65536' cannot join: No more range can assigned to new consumer, assigned consumers 65536" in ran.err


def test_many_keys_in_a_file_are_spread(run: Run, tmp_path: Path) -> None:
    (tmp_path / "keys.txt").write_text("\n".join(f"order-{number}" for number in range(200_000)))
    document = json.loads(run("keys", *ABC, "--keys", "keys.txt", "--json").out)
    assert sum(row["keys"] for row in document["consumers"]) == 200_000


def test_a_recorded_subscription_is_read_with_its_ranges(run: Run, tmp_path: Path) -> None:
    consumer = {"consumerName": "s-a", "keyHashRanges": ["[0, 9999]"]}
    other = {"consumerName": "s-b", "keyHashRanges": ["[20000, 65535]"]}
    stats = {
        "subscriptions": {"sub": {"type": "Key_Shared", "keySharedMode": "STICKY", "consumers": [consumer, other]}}
    }
    path = tmp_path / f"{quote('persistent://public/default/orders', safe='')}.json"
    path.write_text(json.dumps({"msgRateIn": 0.0, **stats}))
    ran = run("keys", path.name, "--json")
    assert ran.code == 0
    document = json.loads(ran.out)
    assert document["subscription"] == "sub"
    assert {row["name"]: row["slots"] for row in document["consumers"]} == {"s-a": 9_999, "s-b": 45_536}
    assert document["unowned"]["ranges"] == [[10_000, 19_999]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "--consumers"),
        (["--of", "z", *ABC], "--of: no consumer is named 'z'; there is 'a', 'b', 'c'"),
        (["--of", "c-11", "--consumers", "c-1,d"], "there is 'c-1'"),
        (["--of", "#9", *ABC], "--of"),
        (["--of", "a", "--consumers", "a,a"], "--of: 2 consumers are named 'a'; name one of #1, #2"),
        (["--ranges", "a"], "--ranges: 'a' has no ranges; write NAME=START-END"),
        (["--ranges", "a=x-5"], "--ranges 'a': 'x-5' is not a range; write START-END"),
        (["--ranges", "a=0-5,"], "--ranges 'a': '' is not a range"),
        (["--ranges", "a=9-3"], "--ranges 'a': '9-3': Range end must >= range start."),
        (["--ranges", "a=0-65536"], "Ranges must be [0, 65535] but provided range is [0, 65536]"),
        (["--ranges", "a=-1-5"], "Ranges must be [0, 65535] but provided range is [-1, 5]"),
        (["--ranges", "a=" + "9" * 100], "--ranges 'a'"),
        (["--ranges", "a="], "Ranges for KeyShared policy must not be empty."),
        (["--ranges", "a=0-9,5-12"], "Ranges for KeyShared policy with overlap between [0, 9] and [5, 12]"),
        (["--ranges", "a=0-9", "--ranges", "b=9-12"], "'b' cannot join: Range conflict with consumer"),
        (["--ranges", "a=0-9", "--ranges", "a=20-29"], "'a' is listed twice"),
        (["--ranges", "a=0-9", "--mode", "auto-split"], "--ranges: consumers declare none in the mode auto-split"),
        (["--ranges", "z=0-9", *ABC], "--ranges: 'z' is none of the consumers"),
        (["--mode", "sticky", *ABC], "'a' cannot join: Ranges for KeyShared policy must not be empty."),
        ([*ABC, "--consumers-from", "names"], "leave out one of them"),
        (["--consumers-from", "absent"], "absent: no such file"),
        (["--consumers-from", "."], "is a folder"),
        (["--consumers-from", "binary"], "binary:1: no UTF-8 text"),
        (["--consumers-from", "torn"], "torn:1:7: no JSON"),
        (["--consumers-from", "numbers"], "numbers at $[0]: a consumer is a name"),
        (["--consumers-from", "nameless"], "nameless at $[0].name"),
        (["--consumers-from", "pairs", "--mode", "sticky"], "pairs at $[0].ranges[1]: '[1, \"x\"]' is not a range"),
        (["--consumers-from", "inverted", "--mode", "sticky"], "inverted at $[0].ranges[0]: [9, 3]: Range end"),
        (["--consumers-from", "lines", "--mode", "sticky"], "lines:2: 'b' has no ranges"),
        (["--consumers-from", "deep"], "deep: no"),
        ([*ABC, "--keys", "absent"], "absent: no such file"),
        ([*ABC, "--key", "hex:0"], "--key: 'hex:0'"),
        ([*ABC, "--points", "0"], "--points"),
        (["absent"], "absent: no such file"),
        (["."], "file is in ."),
    ],
    ids=lambda value: repr(" ".join(value))[:60] if isinstance(value, list) else "",
)
def test_a_wrong_value_is_2_and_names_the_option_or_the_place(
    run: Run, tmp_path: Path, words: list[str], message: str
) -> None:
    for name, content in {
        "names": b"a\n",
        "binary": b"\xff\xfe\x00",
        "torn": b'["a", ',
        "numbers": b"[1, 2]",
        "nameless": b'[{"ranges": []}]',
        "pairs": b'[{"name": "a", "ranges": [[0, 1], [1, "x"]]}]',
        "inverted": b'[{"node": 0, "ranges": [[9, 3]]}]',
        "lines": b"a=0-9\nb\n",
        "deep": b"[" * 100_000,
    }.items():
        (tmp_path / name).write_bytes(content)
    ran = run("keys", *words)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert "Traceback" not in ran.err
    assert "unexpected" not in ran.err


def test_the_share_of_a_single_sticky_consumer_is_of_all_slots(run: Run) -> None:
    words = ("keys", "--ranges", "a=0-9999")
    document = json.loads(run(*words, "--json").out)
    (consumer,) = document["consumers"]
    assert (consumer["slots"], round(consumer["share"], 4)) == (9_999, round(9_999 / 65_535, 4))
    assert "15.3%" in run(*words).out


def test_statistics_that_do_not_say_whose_they_are_get_their_topic_from_the_option(run: Run, tmp_path: Path) -> None:
    packed = (RECORDINGS / "c-keyshared-draining" / "05-stats.json.gz").read_bytes()
    (tmp_path / "05-stats.json.gz").write_bytes(packed)
    path = str(tmp_path / "05-stats.json.gz")
    refused = run("keys", path)
    assert (refused.code, "--topic" in refused.err) == (2, True)
    ran = run("keys", path, "--topic", "persistent://t/n/x", "--json")
    assert [row["name"] for row in json.loads(ran.out)["consumers"]] == ["d-a", "d-b", "d-c"]
    document = json.loads(run("explain", "key", "a", path, "--topic", "persistent://t/n/x", "--json").out)
    assert document["explanation"]["owner"]["name"] == "d-b"
    assert run("keys", "--consumers", "a,b", "--topic", "persistent://t/n/x").code == 2


def test_what_brokers_reported_is_said_with_the_shares(run: Run, tmp_path: Path) -> None:
    recorded = RECORDINGS / "c-keyshared-draining" / "05-stats.json.gz"
    place = tmp_path / "dump" / "admin" / "v2" / "persistent" / "t" / "n" / "x"
    place.mkdir(parents=True)
    (place / "stats.json").write_bytes(gzip.decompress(recorded.read_bytes()))
    reported = json.loads(run("keys", "dump", "--json").out)["reported"]
    ids = {row["name"]: row["consumer_id"] for row in reported["consumers"]}
    assert (reported["backlog_entries"], reported["unacked_messages"], reported["draining_slots"]) == (200, 127, 73)
    assert [(row["owner"], row["holder"], row["slots"]) for row in reported["pairs"]] == [
        (ids["d-b"], ids["d-a"], 37),
        (ids["d-c"], ids["d-a"], 36),
    ]
    text = run("keys", "dump").out
    assert "31179" in text and "waits for A" in text
    assert json.loads(run("keys", "--consumers", "a,b", "--json").out)["reported"] is None


def counts_of(run: Run, *words: str) -> dict[str, int]:
    """The known keys of one consumer that has all of them, each with its messages."""
    document = json.loads(run("keys", "--of", "a", "--consumers", "a", *words, "--json").out)
    return {row["key"]: row["messages"] for row in document["keys"]}


@pytest.mark.parametrize(
    ("name", "content", "counts"),
    [
        ("t.csv", b"key\nuser,1\n", {}),  # one field too many: set aside, and nothing is left
        ("t.csv", b'key\r\n"user,1"\r\nb\r\n', {"user,1": 1, "b": 1}),
        ("t.csv", b"\xef\xbb\xbfat,key,count\n1,a,2\n2,b,3\n3,a,4\n", {"a": 6, "b": 3}),
        ("T.CSV", b"key,count\na,2\n", {"a": 2}),
        ("t.txt", b"key,count\na,2\n\nb,\n", {"a": 2, "b": 1}),
        ("t.csv", b"key_base64,ordering_key\nYQ==,\nYQ==,o\n", {"a": 1, "o": 1}),
        ("t.csv", b"producer_name,sequence_id,key\np,7,\np,8,k\n,,\n", {"p-7": 1, "k": 1, "NONE_KEY": 1}),
        ("t.csv", b"key,count\na,x\nb,-1\nc\n,\nd,4\n", {"NONE_KEY": 1, "d": 4}),
        ("t.txt", b"key\nuser,1\n", {"key": 1, "user,1": 1}),  # keys, one a line
        ("t.csv", b"a,b\nc\n", {"a,b": 1, "c": 1}),  # no column has a key
    ],
)
def test_a_trace_with_a_header_is_read_by_its_columns(
    run: Run, tmp_path: Path, name: str, content: bytes, counts: dict[str, int]
) -> None:
    (tmp_path / name).write_bytes(content)
    if counts:
        assert counts_of(run, "--keys", name) == counts
    else:
        assert run("keys", "--consumers", "a", "--keys", name).code == 2


def test_rows_of_a_trace_that_are_no_events_are_reported_with_their_lines(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"key,count\na,1\nb,x\n\nc\n" + b'"' + b"d" * 200_000 + b"\ne,1\n")
    ran = run("keys", "--consumers", "a", "--keys", "t.csv", "--json")
    assert ran.code == 0
    assert [line.split(": ")[1] for line in ran.err.splitlines()] == ["t.csv:3", "t.csv:5", "t.csv:6"]


def test_a_column_that_may_be_the_count_and_is_not_read_is_reported(run: Run, tmp_path: Path) -> None:
    for name, header, problems in (
        ("n.csv", b"key,n", 1),
        ("count.csv", b"key,count", 0),
        ("both.csv", b"key,count,n", 0),
    ):
        (tmp_path / name).write_bytes(header + b"\na" + b",5" * header.count(b",") + b"\n")
        assert run("keys", "--consumers", "a", "--keys", name, "--json").err.count(f"{name}:1:") == problems


def test_a_trace_of_several_subscriptions_is_refused(run: Run, tmp_path: Path) -> None:
    header = b"namespace,subscription,key\nt/n,one,a\n"
    (tmp_path / "one.csv").write_bytes(header + b"t/n,one,b\n")
    (tmp_path / "two.csv").write_bytes(header + b"t/n,two,b\n")
    assert counts_of(run, "--keys", "one.csv") == {"a": 1, "b": 1}
    refused = run("keys", "--consumers", "a", "--keys", "two.csv")
    assert (refused.code, "two.csv:3" in refused.err) == (2, True)


@pytest.mark.parametrize("release", ["3.3.2", "4.2.5", "5.0.1"])
@pytest.mark.parametrize(
    "words",
    [
        ("keys", "--consumers", "a,b"),
        ("keys", str(RECORDINGS / "v5.0.1-c-keyshared-ring")),
        ("lint", str(RECORDINGS / "v5.0.1-c-keyshared-ring")),
        ("lint", "--names", "a,b"),
    ],
)
def test_a_setting_that_the_release_ignores_is_named(run: Run, words: tuple[str, ...], release: str) -> None:
    given = "subscriptionKeySharedUseClassicPersistentImplementation=true"
    ran = run(*words, "--pulsar", release, "--set", given)
    assert (f"Pulsar {release} does not have {given.partition('=')[0]} and ignores it" in ran.err) == (
        release != "4.2.5"
    )
