"""The user's own settings: what is accepted, what is reported, and that options of the command line win."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.starting import piped
from tests.tui.cli.conftest import Run
from tests.tui.screens_under_test import app_of, cluster, main_screen, text_of
from tests.tui.screens_under_test import run as play
from tui.cli.commands import ringside
from tui.cli.config import EXAMPLE, VARIABLE, config_path, read_config
from tui.cli.group import with_clusters
from tui.cli.screen import bindings_of_screens
from tui.kit.bindings import Binding, chosen_keys
from tui.kit.footer import KeyFooter


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of settings of the commands in a test."""
    path = tmp_path / "config.toml"
    monkeypatch.setenv(VARIABLE, str(path))
    return path


def test_where_the_file_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(VARIABLE, "")
    assert config_path() is None
    monkeypatch.setenv(VARIABLE, "/x/y.toml")
    assert config_path() == Path("/x/y.toml")
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert config_path() == tmp_path / "ringside" / "config.toml"


def test_a_file_that_is_not_there_sets_nothing(settings: Path) -> None:
    result = read_config(settings)
    assert (result.defaults, result.keys, result.problems) == ({}, {}, ())
    assert read_config(settings / "below") == type(result)(settings / "below")


def test_no_settings_are_read_from_nowhere_and_none_are_waited_for(settings: Path) -> None:
    assert read_config(Path("/dev/null")).problems == ()
    os.mkfifo(settings)
    assert len(read_config(settings).problems) == 1
    with piped(b"mono = true") as path:
        assert read_config(Path(path)).defaults == {"mono": True}


def test_the_example_holds_and_says_the_defaults(settings: Path) -> None:
    settings.write_text(EXAMPLE)
    result = read_config(settings)
    assert result.problems == ()
    assert result.defaults == {
        "theme": "dark", "mono": False, "ascii_only": False, "no_animation": False, "no_journal": False,
        "max_input": "2GB",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("theme = 'pink'", 1), ("theme = 3", 1), ("mono = 'yes'", 1), ("max-input = 'much'", 1),
        ("max-input = true", 1),
        ("colour = 1", 1), ("keys = 3", 1), ("[keys]\nK = 3", 1), ("= nonsense", 1), ("mono = 1\nascii = 2", 2),
        ("nonsense.a.a.a.a.a.a.a.a = 1", 1), ("mono = true", 0),
        ("max-input = 5000000", 0), ("a = " + "[" * 100_000, 1),
    ],
)  # fmt: skip
def test_what_is_wrong_is_reported_and_the_rest_holds(settings: Path, text: str, problems: int) -> None:
    settings.write_text(f"journal = false\n{text}\n")
    result = read_config(settings)
    assert len(result.problems) == problems
    if "nonsense" not in text and "[[" not in text:
        assert result.defaults["no_journal"] is True


@pytest.mark.parametrize("data", [b"\xff\xfe", b"x" * 1_000_001])
def test_what_is_no_text_or_too_long_is_reported(settings: Path, data: bytes) -> None:
    settings.write_bytes(data)
    assert len(read_config(settings).problems) == 1


def test_a_folder_is_reported(tmp_path: Path) -> None:
    assert len(read_config(tmp_path).problems) == 1


def test_settings_are_the_defaults_of_options(settings: Path, run: Run) -> None:
    plain = run("new", "--topics", "3", "--once").out
    settings.write_text("ascii = true\n")
    assert not plain.isascii()
    assert run("new", "--topics", "3", "--once").out.isascii()
    settings.write_text('max-input = "10"\n')
    assert run("open", str(Path(__file__).parents[2] / "recordings" / "pip392-flag-on"), "--once").code == 2
    assert run("new", "--topics", "3", "--once").out == plain


def test_an_option_goes_before_a_setting(settings: Path, run: Run, tmp_path: Path) -> None:
    settings.write_text('max-input = "10"\njournal = false\n')
    journal = tmp_path / "steps.journal"
    answers = str(Path(__file__).parents[2] / "recordings" / "pip392-flag-on")
    assert run("open", answers, "--once", "--max-input", "1GB").code == 0
    assert run("new", "--topics", "3", "--once", "--apply", "add x", "--journal", str(journal)).code == 0
    assert journal.exists()


def test_what_is_wrong_is_said_once_by_every_command(settings: Path, run: Run) -> None:
    settings.write_text("colour = 1\n")
    ran = run("new", "--topics", "3", "--once")
    assert (ran.code, ran.err.count("colour")) == (0, 1)


def test_check_prints_what_holds_and_ends_with_2_where_something_does_not(settings: Path, run: Run) -> None:
    assert run("config", "check").code == 0  # there is none
    settings.write_text(EXAMPLE)
    good = run("config", "check")
    assert (good.code, good.err) == (0, "")
    assert 'theme = "dark"' in good.out
    settings.write_text('theme = "light"\n[keys]\nkill = "K"\nadd = "c"\nkll = "J"\nexplain = "no key"\n')
    bad = run("config", "check")
    assert (bad.code, len(bad.err.splitlines())) == (2, 3)
    assert "kill has the key K" in bad.out
    assert run("config", "check", str(settings.parent / "absent.toml")).code == 2
    assert run("config", "example").out == EXAMPLE


def test_chosen_keys_do_what_the_others_did_and_are_shown_in_footer_help_and_palette() -> None:
    app = app_of(cluster())
    app.set_keymap({"kill": "K,f8", "filter": "f6", "quit": "Q"})

    async def story(pilot: Pilot[int]) -> None:
        before = len(main_screen(app).now.consumers)
        hints = {hint.action: hint.key for hint in main_screen(app).query_one(KeyFooter).keys}
        assert (hints["screen.kill"], hints["app.quit"], hints["screen.add"]) == ("K", "Q", "a")
        assert "Kill the selected consumer (K f8)" in [each.title for each in app.get_system_commands(app.screen)]
        await pilot.press("x", "q")
        assert len(main_screen(app).now.consumers) == before
        await pilot.press("K", "f8")
        assert len(main_screen(app).now.consumers) == before - 2
        await pilot.press("f6", *"Kx")
        assert main_screen(app).list_panel.filter_text == "Kx"
        await pilot.press("escape", "question_mark")
        await pilot.pause()
        assert "K f8  Kill the selected consumer" in text_of(app)

    play(app, story)


def test_a_letter_for_what_had_none_is_still_typed_into_a_prompt() -> None:
    app = app_of(cluster())
    app.set_keymap({"switch-theme": "N"})

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("slash", "N")
        assert main_screen(app).list_panel.filter_text == "N"
        assert app.theme == "ringside-dark"
        await pilot.press("escape", "N")
        await pilot.pause()
        assert app.theme == "ringside-light"

    play(app, story)


def test_no_action_of_any_screen_loses_its_key_unasked() -> None:
    screens = bindings_of_screens()
    for key in ("a", "[", ",", "ctrl+p", "ctrl+c", "j", "down", "f5", "m", "S"):
        chosen = chosen_keys({"kill": [key]}, screens)
        # "m" has a meaning only where consumers are killed as well, "S" only where they are not
        assert (chosen.keymap, len(chosen.problems)) == (({"kill": "S"}, 0) if key == "S" else ({}, 1)), key
    swapped = chosen_keys({"kill": ["c"], "toggle-flag": ["x"]}, screens)
    assert (swapped.keymap, swapped.problems) == ({"kill": "c", "toggle-flag": "x"}, [])
    # Keys of dialogs are checked too: those of one hide those of the screen below it.
    for key, problems in (("v", 1), ("/", 1), ("q", 1), ("j", 1), ("A", 0), ("x", 0)):
        assert len(chosen_keys({"all-failures": [key]}, screens).problems) == problems, key
    same = chosen_keys({"kill": ["K"], "add": ["K"]}, screens)
    assert (len(same.keymap), len(same.problems)) == (1, 1)


def test_every_action_but_the_prior_ones_has_a_name_and_one_meaning_on_a_screen() -> None:
    for screen in bindings_of_screens():
        ours = [each for each in screen if isinstance(each, Binding) and each.action != "none"]
        assert all(each.priority or each.key == "ctrl+p" for each in ours if each.id is None)
        actions = {(each.id, each.action) for each in ours if each.id}
        assert len(actions) == len({name for name, _ in actions})


CLUSTERS = """
[clusters.prod]
url = "https://broker:8443"
token-file = "prod.token"
namespace = ["shop/orders", "shop/bills"]
[clusters.here]
url = "http://localhost:8080"
"""
PROD = ["--token-file", "prod.token", "--namespace", "shop/orders", "--namespace", "shop/bills"]


@pytest.mark.parametrize(
    ("words", "expanded"),
    [
        (["live", "@prod", "--every", "5s"], ["live", *PROD, "https://broker:8443", "--every", "5s"]),
        (["@here"], ["live", "http://localhost:8080"]),
        (["record", "--once", "@here", "out"], ["record", "--once", "http://localhost:8080", "out"]),
        (["serve", "@prod"], ["serve", *PROD, "https://broker:8443"]),
        (["why", "--topic", "@other", "x.json"], ["why", "--topic", "@other", "x.json"]),
        (["explain", "--", "@here"], ["explain", "--", "@here"]),
    ],
)
def test_a_cluster_is_meant_by_its_name(settings: Path, words: list[str], expanded: list[str]) -> None:
    settings.write_text(CLUSTERS)
    assert with_clusters(words, ringside.commands) == expanded


def test_a_file_of_that_name_is_the_file(settings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.write_text(CLUSTERS)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "@prod").touch()
    assert with_clusters(["why", "@prod"], ringside.commands) == ["why", "@prod"]


def test_an_unknown_cluster_is_said_with_those_there_are(settings: Path, run: Run) -> None:
    settings.write_text(CLUSTERS)
    ran = run("live", "@test")
    assert ran.code == 2 and "@prod" in ran.err and "@here" in ran.err


@pytest.mark.parametrize(
    "text",
    [
        'clusters = "x"',
        "[clusters]\nprod = 3",
        '[clusters.prod]\nurl = "pulsar://broker"',
        '[clusters.prod]\nurl = "http://broker"\npassword = "x"',
        '[clusters.prod]\nurl = "http://broker"\nnamespace = [1]',
    ],
)
def test_a_cluster_that_cannot_be_used_is_reported_and_left_out(settings: Path, text: str) -> None:
    settings.write_text(text)
    config = read_config(settings)
    assert len(config.problems) == 1 and not config.clusters


def test_names_of_clusters_are_listed_without_a_password(settings: Path, run: Run) -> None:
    settings.write_text('[clusters.prod]\nurl = "https://me:secret@broker:8443"')
    ran = run("config", "check")
    assert (ran.code, "secret" in ran.out) == (0, False) and "@prod is broker:8443" in ran.out
