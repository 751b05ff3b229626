"""``ringside ranges`` prints what each node declares, for people, programs and clients."""

from __future__ import annotations

import json

import pytest

from engine.keyshared.consistent_sticky import RangeForm, moved_slots, node_ranges
from engine.keyshared.sticky import policy_problem
from engine.ranges import HashRange, covers_exactly
from tests.engine.keyshared.selectors import accepted
from tests.tui.cli.conftest import Run


def test_json_is_a_list_of_nodes_with_their_ranges_that_cover_all_slots_once(run: Run) -> None:
    ran = run("ranges", "--points", "100", "--nodes", "4", "--json")
    assert (ran.code, ran.err) == (0, "")
    document = json.loads(ran.out)
    assert [set(each) for each in document] == [{"node", "ranges"}] * 4
    assert [each["node"] for each in document] == [0, 1, 2, 3]
    pieces = [HashRange(start, end) for each in document for start, end in each["ranges"]]
    assert covers_exactly(pieces, HashRange(0, 65_535))
    for each in document:
        assert policy_problem(tuple((start, end) for start, end in each["ranges"])) is None


def test_one_node_is_the_same_alone_and_among_all(run: Run) -> None:
    every = json.loads(run("ranges", "--nodes", "4", "--json").out)
    alone = json.loads(run("ranges", "--nodes", "4", "--node", "2", "--json").out)
    assert alone == [every[2]]


def test_text_says_that_it_is_a_technique_of_clients_and_how_even_it_is(run: Run) -> None:
    ran = run("ranges", "--points", "4", "--nodes", "4")
    assert ran.code == 0
    assert "a technique of clients, not a mode of the broker" in ran.out
    every = accepted(node_ranges(4, 4, RangeForm.ARTICLE))
    assert "65,536 slots are declared; keys have 65,535 of them" in ran.out
    assert "17 ranges, largest over mean 1.22 (node 2)" in ran.out
    assert all(share in ran.out for share in ("27.1%", "24.3%", "30.5%", "18.1%"))
    assert all(str(piece) in ran.out for pieces in every for piece in pieces)
    assert max(map(len, ran.out.splitlines())) < 80


def test_the_form_of_simulated_subscriptions_is_there_by_name(run: Run) -> None:
    document = json.loads(run("ranges", "--points", "4", "--nodes", "4", "--form", "ringside", "--json").out)
    every = accepted(node_ranges(4, 4, RangeForm.RINGSIDE))
    assert [each["ranges"] for each in document] == [[[p.start, p.end] for p in pieces] for pieces in every]
    page = run("ranges", "--points", "4", "--nodes", "4", "--form", "ringside").out
    assert "10 ranges, largest over mean 1.66 (node 3)" in page
    assert max(map(len, page.splitlines())) < 80


def test_it_is_said_what_one_node_more_moves_in_each_form(run: Run) -> None:
    page = " ".join(run("ranges", "--nodes", "4").out.split())
    for form in RangeForm:
        assert f"{accepted(moved_slots(100, 4, 5, form)):,} slots" in page
    assert "one node more moves" not in run("ranges", "--points", "1", "--nodes", "200000", "--node", "0").out


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("java", "KeySharedPolicy node1 = KeySharedPolicy.stickyHashRange().ranges("),
        ("python", "node_1 = pulsar.ConsumerKeySharedPolicy("),
        ("go", "node1 := &pulsar.KeySharedPolicy{"),
    ],
)
def test_code_has_a_policy_for_each_node_that_is_wanted(run: Run, language: str, told: str) -> None:
    every = run("ranges", "--nodes", "4", "--code", language).out
    alone = run("ranges", "--nodes", "4", "--node", "1", "--code", language).out
    assert told in every
    assert alone.rstrip("\n") in every
    assert every.count("of 4, 100 points each") == 4


def test_a_node_without_a_range_is_told_and_the_others_are_printed(run: Run) -> None:
    nodes = 500
    idle = [node for node, pieces in enumerate(accepted(node_ranges(1, nodes, RangeForm.ARTICLE))) if not pieces]
    assert idle, "with one point each, of 500 nodes some meet"
    ran = run("ranges", "--points", "1", "--nodes", str(nodes), "--json")
    assert ran.code == 0
    assert json.loads(ran.out)[idle[0]] == {"node": idle[0], "ranges": []}
    assert f"node {idle[0]}" in ran.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--nodes", "4", "--points", "0"], "--points"),
        (["--nodes", "4", "--points", "-5"], "--points"),
        (["--nodes", "4", "--points", "many"], "--points"),
        (["--nodes", "0"], "--nodes"),
        (["--nodes", "4", "--node", "4"], "--node: there is no node 4 among 4; indices go from 0 to 3"),
        (["--nodes", "4", "--node", "-1"], "--node: there is no node -1"),
        (["--nodes", "100000000"], "--points"),
        (["--nodes", "4", "--code", "cobol"], "cobol"),
        (["--nodes", "4", "--form", "book"], "--form"),
        (["--nodes", "4", "--code", "go", "--json"], "choose one"),
        ([], "--nodes"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_value_is_2_and_names_the_option(run: Run, words: list[str], told: str) -> None:
    ran = run("ranges", *words)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert "Traceback" not in ran.err
