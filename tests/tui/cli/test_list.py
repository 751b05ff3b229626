"""``ringside list``: the table, its filter and order, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from pathlib import Path

import pytest

from tests.engine.scenarios.recordings import RECORDINGS
from tests.playing.server import playing
from tests.tui.cli.conftest import Run


@pytest.fixture(autouse=True)
def virtual_time() -> None:
    """Requests go over a real socket, so the loop's clock is the real one."""


INVENTORY = str(RECORDINGS / "f-inventory-2")
STUCK = str(RECORDINGS.parents[1] / "docs" / "examples" / "stuck")


def rows(run: Run, *words: str) -> list[dict[str, str]]:
    ran = run("list", *words, "--csv")
    assert ran.code == 0
    return list(csv.DictReader(io.StringIO(ran.out)))


def test_the_same_rows_in_every_form(run: Run) -> None:
    table = run("list", INVENTORY).out.splitlines()
    document = json.loads(run("list", INVENTORY, "--json").out)
    records = rows(run, INVENTORY)
    assert len(table) - 1 == len(document["rows"]) == len(records) == 74
    assert [record["topic"] for record in records] == [row["topic"] for row in document["rows"]]


def test_filter_and_order(run: Run) -> None:
    some = rows(run, INVENTORY, "--filter", "idle>1 type=failover", "--sort", "consumers")
    assert {record["type"] for record in some} == {"Failover"}
    assert min(int(record["idle"]) for record in some) == 2
    consumers = [int(record["consumers"]) for record in some]
    assert consumers == sorted(consumers, reverse=True)
    assert run("list", INVENTORY, "--filter", "no-such-name").code == 0


def test_a_row_has_the_backlog_of_each_moment(run: Run) -> None:
    (row,) = json.loads(run("list", STUCK, "--json").out)["rows"]
    assert (row["trend"], row["backlog"]) == ([181, 363], 363)
    assert run("list", STUCK).out.splitlines()[-1].endswith("▄█")
    moments = [each["trend"] for each in json.loads(run("list", INVENTORY, "--json").out)["rows"]]
    assert moments == [[]] * 74, "one moment is no trend"
    assert run("list", STUCK, "--sort", "trend").code == 2


def test_a_step_changes_what_is_computed(run: Run) -> None:
    (before,), (after,) = rows(run), rows(run, "--flag", "on")
    assert (before["idle"], after["idle"]) == ("9", "0")
    assert before["backlog"] == after["backlog"]


@pytest.mark.parametrize("words", [("--filter", "idle>"), ("--sort", "colour"), ("no/such/folder",)])
def test_what_cannot_be_used_is_said(run: Run, words: tuple[str, ...]) -> None:
    ran = run("list", *words)
    assert (ran.code, ran.out) == (2, "")


def test_a_running_cluster(run: Run) -> None:
    with playing() as cluster:
        records = rows(run, cluster.url)
    assert records
    assert all(record["verdict"] for record in records)


def test_a_cluster_out_of_reach(run: Run) -> None:
    assert run("list", "http://127.0.0.1:9").code == 3


def test_several_clusters_have_a_column_and_one_that_cannot_be_read_loses_nothing(run: Run) -> None:
    both = rows(run, STUCK, INVENTORY)
    assert Counter(record["cluster"] for record in both) == {STUCK: 1, INVENTORY: 74}
    assert {record["cluster"] for record in rows(run, INVENTORY)} == {""}
    for code, other in ((2, "no/such/folder"), (3, "http://127.0.0.1:9")):
        ran = run("list", other, STUCK, "--csv")
        assert (ran.code, ran.out.splitlines()[1:]) == (code, run("list", STUCK, STUCK, "--csv").out.splitlines()[1:])
        assert other in ran.err
    assert run("list", "no/such/folder", "nor/this").code == 2


def test_clusters_of_the_settings_are_read_by_their_names(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with playing() as cluster:
        settings = "".join(f'[clusters.{name}]\nurl = "{cluster.url}"\n' for name in "ab")
        (tmp_path / "config.toml").write_text(settings)
        monkeypatch.setenv("RINGSIDE_CONFIG", str(tmp_path / "config.toml"))
        ran = run("list", "@a", "@b", "@c", "--csv")
    assert ran.code == 2
    assert "@c is not in your settings" in ran.err
    assert {record["cluster"] for record in csv.DictReader(io.StringIO(ran.out))} == {"a", "b"}
