"""``ringside ranges`` prints what each node declares, for people, programs and clients."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.keyshared.consistent_sticky import known_key_slot, moved_slots, node_ranges
from engine.keyshared.sticky import policy_problem
from engine.ranges import HashRange, covers_exactly
from tests.engine.keyshared.selectors import accepted
from tests.tui.cli.conftest import Run

REGIONS = (
    *("Berlin", "Hyderabad", "SF", "Dallas", "Delhi", "Calcutta"),
    *("New York", "Munich", "London", "Wales", "Hamburg", "Kiev"),
)


def slot_of(text: str) -> int:
    return known_key_slot(text.encode())


def test_json_is_a_list_of_nodes_with_their_ranges_that_cover_all_slots_once(run: Run) -> None:
    ran = run("ranges", "--points", "100", "--nodes", "4", "--json")
    assert (ran.code, ran.err) == (0, "")
    document = json.loads(ran.out)["nodes"]
    assert [set(each) for each in document] == [{"node", "ranges", "keys"}] * 4
    assert [row["node"] for row in document] == [0, 1, 2, 3]
    pieces = [HashRange(start, end) for row in document for start, end in row["ranges"]]
    assert covers_exactly(pieces, HashRange(0, 65_535))
    for each in document:
        assert policy_problem(tuple((start, end) for start, end in each["ranges"])) is None


def test_one_node_is_the_same_alone_and_among_all(run: Run) -> None:
    every = json.loads(run("ranges", "--nodes", "4", "--json").out)["nodes"]
    alone = json.loads(run("ranges", "--nodes", "4", "--node", "2", "--json").out)["nodes"]
    assert alone == [every[2]]


def test_text_says_that_it_is_a_technique_of_clients_and_how_even_it_is(run: Run) -> None:
    ran = run("ranges", "--points", "4", "--nodes", "4")
    assert ran.code == 0
    assert "a technique of clients, not a mode of the broker" in ran.out
    every = accepted(node_ranges(4, 4))
    assert "65,536 slots are declared; keys have 65,535 of them" in ran.out
    assert "17 ranges, largest over mean 1.22 (node 2)" in ran.out
    assert all(share in ran.out for share in ("27.1%", "24.3%", "30.5%", "18.1%"))
    assert all(str(piece) in ran.out for pieces in every for piece in pieces)
    assert max(map(len, ran.out.splitlines())) < 80


def test_it_is_said_what_one_node_more_moves(run: Run) -> None:
    page = " ".join(run("ranges", "--nodes", "4").out.split())
    assert f"one node more moves {accepted(moved_slots(100, 4, 5)):,} slots" in page
    assert "one node more moves" not in run("ranges", "--points", "1", "--nodes", "200000", "--node", "0").out


def test_code_has_a_policy_for_each_node(run: Run) -> None:
    every = run("ranges", "--nodes", "4", "--code", "java").out
    alone = run("ranges", "--nodes", "4", "--node", "1", "--code", "java").out
    assert "KeySharedPolicy node1 = KeySharedPolicy.stickyHashRange().ranges(" in every
    assert alone.rstrip("\n") in every
    assert every.count("of 4, 100 points each") == 4


def test_a_node_without_a_range_is_reported_and_the_others_are_printed(run: Run) -> None:
    nodes = 500
    idle = [node for node, pieces in enumerate(accepted(node_ranges(1, nodes))) if not pieces]
    assert idle, "with one point each, of 500 nodes some meet"
    ran = run("ranges", "--points", "1", "--nodes", str(nodes), "--json")
    assert ran.code == 0
    assert json.loads(ran.out)["nodes"][idle[0]] == {"node": idle[0], "ranges": [], "keys": None}
    assert f"node {idle[0]}" in ran.err


def test_each_node_declares_the_slots_of_its_share_of_known_keys(run: Run, tmp_path: Path) -> None:
    (tmp_path / "regions.txt").write_text("\n".join(REGIONS))
    words = ("ranges", "--keys", "regions.txt", "--nodes", "4")
    page, document = run(*words, "--size", "3"), json.loads(run(*words, "--json").out)["nodes"]
    assert (page.code, page.err) == (0, "")
    assert "52727=Berlin 55100=Hyderabad 11889=SF" in page.out
    assert max(map(len, page.out.splitlines())) < 80
    assert [row["keys"] for row in document] == [list(REGIONS[at : at + 3]) for at in range(0, 12, 3)]
    assert document[2]["ranges"] == [[6006, 6006], [56951, 56951], [11314, 11314]]
    assert json.loads(run(*words, "--node", "2", "--json").out)["nodes"] == [document[2]]
    code = run(*words, "--code", "java", "--node", "2").out
    assert (
        "node 2 of 4, 3 known keys each: 3 ranges" in code
        and "Range.of(6006, 6006), Range.of(56951, 56951), Range.of(11314, 11314)" in code
    )


def test_what_known_keys_declare_is_taken_as_consumers(run: Run, tmp_path: Path) -> None:
    keys = [word for region in REGIONS for word in ("--key", region)]
    (tmp_path / "nodes.json").write_text(run("ranges", *keys, "--nodes", "4", "--json").out)
    ran = run("keys", "--mode", "sticky", "--consumers-from", "nodes.json", *keys)
    assert ran.code == 0
    assert "Traceback" not in ran.err


def test_nodes_that_no_key_is_left_for_and_keys_that_meet_are_named(run: Run) -> None:
    idle = run("ranges", "--key", "a", "--nodes", "3")
    assert "node 1 and 1 more: no key is left for it" in idle.err
    first = next(number for number in range(1_000, 10**6) if slot_of(f"{number}") == slot_of("Berlin"))
    clash = run("ranges", "--key", "Berlin", "--key", str(first), "--nodes", "2")
    assert "slot 52727: nodes 0 and 1 have keys there" in clash.err
    zero = next(number for number in range(10**6) if slot_of(f"{number}") == 0)
    assert f"{zero} (node 0): slot 0 counts as 1" in run("ranges", "--key", str(zero), "--nodes", "1").err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--nodes", "4", "--points", "0"], "--points"),
        (["--nodes", "4", "--points", "-5"], "--points"),
        (["--nodes", "4", "--points", "many"], "--points"),
        (["--nodes", "0"], "--nodes"),
        (["--nodes", "4", "--node", "4"], "--node: there is no node 4 among 4; indices go from 0 to 3"),
        (["--nodes", "4", "--node", "-1"], "--node: there is no node -1"),
        (["--nodes", "100000000"], "--points"),
        (["--nodes", "4", "--code", "cobol"], "cobol"),
        (["--nodes", "4", "--code", "java", "--json"], "choose one"),
        (["--nodes", "4", "--size", "3"], "--size: it says how many known keys a node has"),
        (["--nodes", "2", "--key", "a", "--key", "b", "--key", "c", "--size", "1"], "--size: 2 nodes with 1 keys each"),
        (["--nodes", "2", "--key", "a", "--size", "0"], "--size"),
        (["--nodes", "0", "--key", "a"], "--nodes"),
        (["--nodes", "2", "--key", "a", "--node", "2"], "--node: there is no node 2 among 2"),
        (["--nodes", "2", "--key", "a", "--points", "100"], "--points"),
        (["--nodes", "65537", "--points", "1"], "--nodes: 65,537 nodes"),
        (["--nodes", "2", "--keys", "absent"], "absent: no such file"),
        ([], "--nodes"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_value_is_2_and_names_the_option(run: Run, words: list[str], message: str) -> None:
    ran = run("ranges", *words)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert "Traceback" not in ran.err
