"""What becomes visible, character by character, and what stays as it is."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.bundles.boundaries import BundleRange, NamespaceBundles
from engine.bundles.loads import TopicLoad
from engine.bundles.plan import split_command
from engine.bundles.preview import preview_all
from engine.config import SPECIFIED_POSITIONS_DIVIDE, BrokerSettings
from engine.text import BLANK_LETTERS, path_word, shell_line, visible
from tests.patience import HANG_S


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("a b~", "a b~"),
        ("\x00\t\n\x1f\x7f", r"\x00\t\n\x1f\x7f"),
        ("a\x9bb", r"a\x9bb"),
        ("\u202e\u200b\ufeff", r"\u202e\u200b\ufeff"),
        ("\u2028\u2029", r"\u2028\u2029"),
        ("\ud800", r"\ud800"),
        ("\ue000\U0010ffff", r"\ue000\U0010ffff"),
        ("é日本😀\u00a0", "é日本😀\u00a0"),
        ("a\\x1b", "a\\x1b"),
    ],
)
def test_a_character_that_is_not_seen_is_shown_as_its_escape(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize("char", BLANK_LETTERS)
def test_a_letter_that_shows_nothing_is_escaped(char: str) -> None:
    assert visible(f"a{char}b") == f"a\\u{ord(char):04x}b"


@pytest.mark.parametrize("mark", "\u0301\u20dd")
def test_four_marks_may_share_a_cell_with_their_letter(mark: str) -> None:
    assert visible("e" + mark * 4) == "e" + mark * 4
    assert visible("e" + mark * 6) == "e" + mark * 4 + f"\\u{ord(mark):04x}" * 2
    assert visible(mark * 5) == mark * 4 + f"\\u{ord(mark):04x}"
    assert visible(("e" + mark * 4) * 3) == ("e" + mark * 4) * 3


HOSTILE = (
    "evil/ns;$(touch pwned)",
    "t/n`touch pwned`",
    "t/n' ; touch pwned ; '",
    't/n" ; touch pwned ; "',
    "t/n && touch pwned",
    "t/n | touch pwned",
    "t/n > pwned",
    "t/n\ntouch pwned",
    "t/n\\\ntouch pwned",
    "t/n #",
    "~/n",
    "*",
    "t/${HOME}",
    "t/ünïcode",
    "",
)
RECORDER = '#!/bin/sh\nfor word in "$0" "$@"; do printf "%s\\0" "$word"; done > "$RECORD"\n'


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",))), min_size=1))
@example(list(HOSTILE))
def test_a_pasted_line_splits_into_the_words_it_was_made_of(words: list[str]) -> None:
    assert shlex.split(shell_line(*words)) == words


@given(st.text(min_size=1))
def test_a_path_is_never_taken_for_an_option(path: str) -> None:
    assert not path_word(path).startswith("-")
    assert Path(path_word(path)) == Path(path) or "\0" in path


@pytest.mark.parametrize("namespace", HOSTILE)
@pytest.mark.parametrize("algorithm", [SPECIFIED_POSITIONS_DIVIDE, "$(touch pwned)"])
def test_a_namespace_with_a_shell_command_runs_nothing_when_the_line_is_pasted(
    namespace: str, algorithm: str, tmp_path: Path
) -> None:
    line = split_command(namespace, BundleRange(0, 0x80000000), algorithm, [106])
    record, home = _pasted(line, tmp_path)
    words = ["namespaces", "split-bundle", namespace, "-b", "0x00000000_0x80000000", "-san", algorithm]
    positions = ["-sb", "106"] if algorithm == SPECIFIED_POSITIONS_DIVIDE else []
    assert record[1:] == words + positions
    assert home == []


def test_every_line_of_a_split_preview_runs_pulsar_admin_alone(tmp_path: Path) -> None:
    bundles = NamespaceBundles(HOSTILE[0], (0, 0x80000000, 0xFFFFFFFF))
    topics = [TopicLoad(f"persistent://evil/ns/{at}", at) for at in (10, 30)]
    lines = preview_all(bundles, "0x00000000_0x80000000", topics, BrokerSettings())
    assert isinstance(lines, tuple)
    commands = [line.command for line in lines if line.command]
    assert commands
    for number, command in enumerate(commands):
        folder = tmp_path / str(number)
        folder.mkdir()
        record, home = _pasted(command, folder)
        assert record[1:4] == ["namespaces", "split-bundle", HOSTILE[0]]
        assert home == []


def _pasted(line: str, folder: Path) -> tuple[list[str], list[str]]:
    """The words that a stand-in for pulsar-admin received, and what else is in the folder where the line ran."""
    programs, home, record = folder / "programs", folder / "home", folder / "record"
    programs.mkdir()
    home.mkdir()
    recorder = programs / "pulsar-admin"
    recorder.write_text(RECORDER)
    recorder.chmod(0o755)
    environment = {"PATH": f"{programs}{os.pathsep}{os.defpath}", "RECORD": str(record), "HOME": str(home)}
    subprocess.run(["sh"], input=line + "\n", text=True, cwd=home, env=environment, check=True, timeout=HANG_S)
    return record.read_text().split("\0")[:-1], [path.name for path in home.iterdir()]
