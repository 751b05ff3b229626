"""Where the first word goes: a command, a path, or nothing."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from engine.errors import InputError
from tui.cli.commands import ringside
from tui.cli.group import RingsideGroup

Got = tuple[str, str | None, tuple[str, ...], bool]


@pytest.fixture(autouse=True)
def _in_a_folder_with_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("file.json", "x", "explain"):
        (tmp_path / name).touch()


@pytest.fixture
def group() -> RingsideGroup:
    """A group like the real one, whose commands return what they got."""
    result = RingsideGroup("ringside")

    def command(name: str) -> None:
        @result.command(name)
        @click.argument("path", required=False)
        @click.option("--set", "settings", multiple=True)
        @click.option("--once", is_flag=True)
        def run(path: str | None, settings: tuple[str, ...], once: bool) -> Got:
            return (name, path, settings, once)

    command("open")
    command("explain")
    return result


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], ("open", None, (), False)),
        (["file.json"], ("open", "file.json", (), False)),
        (["--once"], ("open", None, (), True)),
        (["--once", "file.json"], ("open", "file.json", (), True)),
        (["file.json", "--once"], ("open", "file.json", (), True)),
        (["explain", "x"], ("explain", "x", (), False)),
        (["--once", "explain", "x"], ("explain", "x", (), True)),
        (["--set", "explain", "x"], ("open", "x", ("explain",), False)),
        (["--set=a=b", "explain", "x"], ("explain", "x", ("a=b",), False)),
        (["./explain"], ("open", "./explain", (), False)),
        (["open", "explain"], ("open", "explain", (), False)),
        (["--", "explain"], ("open", "explain", (), False)),
        (["-"], ("open", "-", (), False)),
    ],
)
def test_the_first_word_is_a_command_if_it_names_one_and_a_path_otherwise(
    group: RingsideGroup, words: list[str], expected: Got
) -> None:
    assert group.main(words, standalone_mode=False) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("explian", "explian: no such file, folder or command; did you mean explain?"),
        ("answer.json", "answer.json: no such file, folder or command; did you mean answers.json?"),
        ("nothing-like-it", "nothing-like-it: no such file, folder or command"),
        ("no/such/folder/x", "no/such/folder/x: no such file, folder or command"),
    ],
)
def test_a_word_that_is_neither_command_nor_path_is_reported_with_the_nearest_names(
    group: RingsideGroup, tmp_path: Path, word: str, expected: str
) -> None:
    (tmp_path / "answers.json").touch()
    with pytest.raises(InputError) as refused:
        group.main([word], standalone_mode=False)
    assert str(refused.value) == expected


@pytest.mark.parametrize("words", [["--thme", "dark"], ["--flg=on", "x"]], ids=repr)
def test_of_a_misspelt_option_and_a_word_behind_it_the_option_is_reported(words: list[str]) -> None:
    with pytest.raises(click.NoSuchOption) as refused:
        ringside.main(words, standalone_mode=False)
    assert refused.value.option_name == words[0].partition("=")[0]
    with pytest.raises(InputError, match="did you mean plan"):
        ringside.main(["--nodes", "4", "pln"], standalone_mode=False)


def test_help_shows_both_forms_and_the_options_that_need_no_command(group: RingsideGroup) -> None:
    shown = group.get_help(click.Context(group, info_name="ringside"))
    assert "ringside [FILE | FOLDER]" in shown
    assert "explain" in shown
    assert "--set" in shown


@pytest.mark.parametrize(
    ("words", "incomplete", "expected"),
    [([], "exp", "explain"), ([], "--on", "--once"), (["explain"], "--on", "--once"), (["--once"], "--se", "--set")],
)
def test_completion_knows_commands_and_options(
    group: RingsideGroup, words: list[str], incomplete: str, expected: str
) -> None:
    completer = ShellComplete(group, {}, "ringside", "_RINGSIDE_COMPLETE")
    assert expected in [item.value for item in completer.get_completions(words, incomplete)]


def test_completion_offers_files_where_a_path_may_stand(group: RingsideGroup) -> None:
    completer = ShellComplete(group, {}, "ringside", "_RINGSIDE_COMPLETE")
    assert "file" in [item.type for item in completer.get_completions([], "sam")]
