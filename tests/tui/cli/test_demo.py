"""``ringside demo`` for programs: the list of scripts, and what came of every line."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from engine.scenarios.broker_scenes import BROKER_SCENES
from engine.scenarios.script.model import Say
from engine.scenarios.script.run import SHIPPED_SCRIPTS, shipped_script
from tests.tui.cli.conftest import Run
from tui.cli import exits as terminal
from tui.cli import screen as cli_screen
from tui.drawing.film import CELL_HEIGHT, CELL_WIDTH, MARGIN

FAILING = """# Two expectations, one is met
# The other is not.
scene pip392
# This one is no part of what it shows.
expect totals.max_over_mean_partitions > 2
kill nobody-here
expect consumers[billing-0].active_partitions = 3
expect status.rule = ring
"""


def test_the_list_as_json_has_name_title_and_what_each_shows(run: Run) -> None:
    ran = run("demo", "--json")
    document = json.loads(ran.out)["scripts"]
    assert (ran.code, ran.err) == (0, "")
    assert [row["name"] for row in document] == list(SHIPPED_SCRIPTS)
    assert all(row["title"] == shipped_script(row["name"]).title and len(row["about"]) > 20 for row in document)
    assert document[0]["about"].endswith("as a broker recorded them.")
    scripts = run("demo").out.partition("\n\n")[0]
    assert [line.split()[0] for line in scripts.splitlines()] == list(SHIPPED_SCRIPTS)


def test_a_headless_run_as_json_tells_what_was_expected_and_what_came(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.ringside").write_text(FAILING)
    ran = run("demo", "mine.ringside", "--headless", "--json")
    document = json.loads(ran.out)
    assert ran.code == 1 and "expected consumers[billing-0].active_partitions = 3, but it is 100" in ran.err
    assert (document["title"], document["about"]) == ("Two expectations, one is met", "The other is not.")
    assert (document["expectations"], document["met"], document["failed_lines"]) == (3, 1, [6, 7, 8])
    first, killed, second, rule = document["steps"]
    assert first["text"] == "totals.max_over_mean_partitions > 2"
    assert first["expected"] == {"met": True, "found": 10.0, "instead": None}
    assert killed["expected"] is None and killed["refused"]["message"] and killed["failures"]
    assert second["expected"] == {"met": False, "found": 100.0, "instead": "it is 100"}
    assert rule["expected"] == {"met": False, "found": None, "instead": "it is modulo"}
    assert document["view"]["format"].startswith("ringside.dashboard/")


def test_without_headless_json_is_what_the_screen_tells(run: Run) -> None:
    document = json.loads(run("demo", "pip392", "--json").out)
    assert document == json.loads(run("demo", "pip392", "--headless", "--json").out)["view"]


@pytest.mark.parametrize("name", ["keys-blocked", "producers-lazy", "three-splits"])
def test_every_kind_of_story_is_printed_with_its_expectations(run: Run, name: str) -> None:
    document = json.loads(run("demo", name, "--headless", "--json").out)
    expected = [step for step in document["steps"] if step["kind"] == "expect"]
    assert document["expectations"] == len(expected) > 0 and document["met"] == len(expected)
    compared = [step for step in expected if step["text"].split()[-1].isdecimal() and " has " not in step["text"]]
    assert compared and all(step["expected"]["found"] is not None for step in compared)


def test_a_demo_that_is_wanted_is_opened_next(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = ["keys-blocked", "three-splits", ""]
    opened = []

    def ran(app: object) -> int:
        opened.append(app.store.timeline.source)  # type: ignore[attr-defined]
        app.wanted_demo = expected.pop(0)  # type: ignore[attr-defined]
        return 0

    monkeypatch.setattr(cli_screen, "run_screen", ran)
    monkeypatch.setattr(terminal, "why_no_screen", lambda: None)
    assert run("demo", "pip392").code == 0
    assert len(opened) == 3
    assert len(set(opened)) == 3


def test_a_cluster_is_a_demo_too(run: Run) -> None:
    listed = run("demo").out
    for scene in BROKER_SCENES:
        assert scene.name in listed
        shown = run("demo", scene.name, "--headless")
        assert shown.code == 0
        assert f"scene {scene.name}" in shown.out


def test_a_demo_becomes_a_film(run: Run, tmp_path: Path) -> None:
    ran = run("demo", "keys-blocked", "--record", "film.svg", "--columns", "160", "--rows", "24")
    root = ElementTree.fromstring((tmp_path / "film.svg").read_bytes())
    assert (ran.code, root.get("viewBox")) == (
        0,
        f"0 0 {160 * CELL_WIDTH + 2 * MARGIN} {24 * CELL_HEIGHT + 2 * MARGIN}",
    )
    words = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    said = {line.action.text for line in shipped_script("keys-blocked").lines if isinstance(line.action, Say)}
    assert len(said) > 3 and said <= {(text or "").removeprefix("» ") for text in words}
    assert run("demo", "keys-blocked", "--record", "film.svg").code == 2  # it is there already


@pytest.mark.parametrize("words", [("film.mp4",), ("film.svg", "--columns", "30"), ("missing/film.svg",)])
def test_no_film_where_it_cannot_be_written(run: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    ran = run("demo", "pip392", "--record", *words)
    assert ran.code == 2 and ran.err and not list(tmp_path.glob("film*"))


def test_a_film_as_a_gif_has_every_moment(run: Run, tmp_path: Path) -> None:
    cairo = pytest.importorskip("cairosvg")
    assert cairo is not None
    assert run("demo", "keys-sticky-gap", "--record", "film.gif", "--columns", "60", "--rows", "18").code == 0
    assert run("demo", "keys-sticky-gap", "--record", "film.cast", "--columns", "60", "--rows", "18").code == 0
    _, *events = map(json.loads, (tmp_path / "film.cast").read_text().splitlines())
    with Image.open(tmp_path / "film.gif") as film:
        durations = []
        for at in range(getattr(film, "n_frames", 1)):
            film.seek(at)
            durations.append(film.info["duration"])
    times = [event[0] for event in events]
    assert durations == [round(1000 * (end - begin)) for begin, end in pairwise(times)]
