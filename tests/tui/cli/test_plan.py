"""``ringside plan`` shows how another number of nodes is reached, and what stalls meanwhile."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.keyshared.consistent_sticky import moved_slots, node_ranges
from tests.engine.keyshared.selectors import accepted
from tests.tui.cli.conftest import Run


def test_the_steps_are_stop_configure_start_and_everything_stalls_meanwhile(run: Run) -> None:
    ran = run("plan", "--nodes", "4", "--to", "5", "--key", "a", "--key", "", "--key", "hex:ff")
    assert (ran.code, ran.err) == (0, "")
    steps = [line for line in ran.out.splitlines() if line[:2] in ("1.", "2.", "3.")]
    assert [step.split()[1] for step in steps] == ["stop", "give", "start"]
    page = " ".join(ran.out.split())
    assert "all 65,536 slots stall from the last stop on, and with them all 3 known keys" in page
    assert "Range conflict with consumer" in page
    assert f"moved: {accepted(moved_slots(100, 4, 5)):,} slots" in page
    assert max(map(len, ran.out.splitlines())) < 80
    for mode in ("consistent-sticky", "auto-split", "consistent-auto-split"):
        assert mode in page


def test_a_page_for_a_hundred_nodes_is_a_summary_and_all_has_every_range(run: Run) -> None:
    words = ("plan", "--nodes", "100", "--to", "101", "--generated", "500")
    page, whole = run(*words).out, run(*words, "--all").out
    assert len(page.splitlines()) < 100 and len(whole) > 20 * len(page)
    assert "nodes 0-99 (100 in all)" in page and "and 77 more (--all" in page
    assert "what each node declares: --all" in page and "more (--all" not in whole
    ranges = [str(piece) for pieces in accepted(node_ranges(100, 101)) for piece in pieces]
    assert not any(piece in page for piece in ranges) and all(piece in whole for piece in ranges)


def test_the_summary_counts_what_all_lists(run: Run) -> None:
    document = json.loads(run("plan", "--nodes", "4", "--to", "5", "--json").out)
    page = run("plan", "--nodes", "4", "--to", "5").out
    for source in range(4):
        moves = [move for move in document["moves"] if (move["from"], move["to"]) == (source, 4)]
        slots = sum(move["range"][1] - move["range"][0] + 1 for move in moves)
        assert f"node {source} → node 4: {slots:,} slots in {len(moves)} ranges" in page
    assert "known keys" not in page and "moved keys" not in page


def test_json_has_what_each_node_declares_before_and_after_and_every_move(run: Run) -> None:
    document = json.loads(run("plan", "--nodes", "4", "--to", "5", "--generated", "50", "--json").out)
    before, after = (accepted(node_ranges(100, nodes)) for nodes in (4, 5))
    for row in document["nodes"]:
        node = row["node"]
        assert row["ranges_before"] == ([[p.start, p.end] for p in before[node]] if node < 4 else [])
        assert row["ranges_after"] == [[p.start, p.end] for p in after[node]]
    assert document["moved_slots"] == sum(move["range"][1] - move["range"][0] + 1 for move in document["moves"])
    assert document["stalls_meanwhile"] == {"slots": 65_536, "known_keys": 50}
    assert [mode["needs_stop"] for mode in document["modes"]] == [True, False, False]
    for key in document["moved_keys"]:
        assert any(
            move["range"][0] <= key["slot"] <= move["range"][1]
            and (move["from"], move["to"]) == (key["from"], key["to"])
            for move in document["moves"]
        )


def test_the_last_index_takes_the_place_of_a_node_that_leaves(run: Run) -> None:
    ran = run("plan", "--nodes", "5", "--to", "4", "--leaving", "1")
    assert ran.code == 0
    assert "1 → leaves" in ran.out
    assert "4 → 1" in ran.out


def test_ascii_pages_are_ascii(run: Run) -> None:
    assert run("plan", "--nodes", "5", "--to", "4", "--key", "é", "--ascii").out.isascii()


def test_good_lines_of_a_key_file_are_kept_and_the_others_reported_with_their_place(run: Run, tmp_path: Path) -> None:
    (tmp_path / "keys.txt").write_bytes(b"\xef\xbb\xbfa\r\n\nb\t3\nhex:0\n\xff\xfe\nc\tx\ntext:\nbase64:AP8=\na\n")
    ran = run("plan", "--nodes", "4", "--to", "5", "--keys", "keys.txt", "--json")
    assert ran.code == 0
    assert json.loads(ran.out)["known_keys"] == 4  # a, b, the empty key, 00ff
    for line, advice in ((4, "hexadecimal"), (5, "hex:fffe"), (6, "tab")):
        assert f"keys.txt:{line}: " in ran.err
        assert advice in ran.err


def test_a_million_keys_are_taken(run: Run, tmp_path: Path) -> None:
    (tmp_path / "keys.txt").write_text("\n".join(f"order-{number}" for number in range(1_000_000)))
    ran = run("plan", "--nodes", "4", "--to", "5", "--keys", "keys.txt")
    assert (ran.code, ran.err) == (0, "")
    assert "of 1000000" in ran.out
    assert "more (--all and --json have them all)" in ran.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--to", "5"], "--nodes"),
        (["--nodes", "4"], "--to"),
        (["--nodes", "4", "--to", "4"], "--to: there are 4 nodes already"),
        (["--nodes", "4", "--to", "0"], "--to"),
        (["--nodes", "0", "--to", "4"], "--nodes"),
        (["--nodes", "4", "--to", "5", "--points", "0"], "--points"),
        (["--nodes", "4", "--to", "3", "--leaving", "4"], "--leaving: there is no node 4 among 4"),
        (["--nodes", "4", "--to", "3", "--leaving", "0,1"], "--leaving: from 4 nodes to 3 1 leave, not 2"),
        (["--nodes", "4", "--to", "3", "--leaving", "one"], "write 1,3"),
        (["--nodes", "4", "--to", "5", "--key", "hex:0"], "--key: 'hex:0'"),
        (["--nodes", "4", "--to", "5", "--key", "base64:?"], "--key"),
        (["--nodes", "4", "--to", "5", "--key", "\udcff"], "--key: '\\udcff' is not valid text"),
        (["--nodes", "4", "--to", "5", "--keys", "absent"], "absent: no such file"),
        (["--nodes", "4", "--to", "5", "--keys", "."], ".: is a folder"),
        (["--nodes", "4", "--to", "5", "--keys", "a\0b"], "no such file"),
        (["--nodes", "4", "--to", "5", "--keys", "blank"], "blank: no key in it"),
        (["--nodes", "4", "--to", "5", "--generated", "0"], "--generated"),
        (["--nodes", "4", "--to", "5", "--all", "--json"], "--json has everything already"),
    ],
    ids=lambda value: repr(" ".join(value)) if isinstance(value, list) else "",
)
def test_a_wrong_value_is_2_and_names_the_option(run: Run, tmp_path: Path, words: list[str], message: str) -> None:
    (tmp_path / "blank").write_text("\n\n")
    ran = run("plan", *words)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert "Traceback" not in ran.err
