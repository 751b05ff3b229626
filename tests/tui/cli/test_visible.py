"""Names in plain text never reach a terminal raw, and none of them fills the screen."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from tui.cli.main import main
from tui.kit.wording import LONGEST_WORD, safe_name

EVIL = "\x1b]0;owned\x07\x9b2J\r\u202eevil\x7f"
HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def statistics(name: str, kind: str, topic: str) -> dict[str, Any]:
    consumers = [{"consumerName": each, "msgRateOut": 1.0} for each in (name, "plain")]
    ranges = ([[0, 32767]], [[32768, 65535]])
    if kind == "Key_Shared":
        consumers = [{**each, "keyHashRangeArrays": some} for each, some in zip(consumers, ranges, strict=True)]
    subscription = {"type": kind, "consumers": consumers, "msgRateOut": 2.0, "activeConsumerName": name}
    return {topic: {"msgRateIn": 1.0, "publishers": [], "subscriptions": {f"sub-{name}": subscription}}}


def answers(folder: Path, name: str, kind: str) -> str:
    folder.mkdir()
    text = json.dumps(statistics(name, kind, f"persistent://t/n/topic-{name}"))
    (folder / "stats.json").write_text(text)
    return str(folder)


COMMANDS = (
    ("open", "--once"),
    ("open", "--once", "--ascii"),
    ("explain", "topic-"),
    ("split", "LARGEST"),
    ("lint",),
    ("forecast",),
    ("keys",),
    ("forecast", "--curve", "LARGEST"),
    ("open", "--json"),
)


@pytest.mark.parametrize("kind", ["Failover", "Key_Shared"])
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_escape_characters_in_names_are_never_printed_raw(
    words: tuple[str, ...], kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    main([*words, answers(tmp_path / f"answers{EVIL.replace('/', '')}", EVIL, kind)])
    printed = capfd.readouterr()
    for text in (printed.out, printed.err):
        lines = text.replace("\n", "") if "--json" not in words else text.replace("\n", "").replace("\u202e", "")
        assert {char for char in lines if unicodedata.category(char) in HIDDEN} == set()
    assert printed.out or printed.err


@pytest.mark.parametrize("kind", ["Failover", "Key_Shared"])
@pytest.mark.parametrize("words", COMMANDS[:1] + COMMANDS[2:-1], ids=" ".join)
def test_a_name_of_ten_kilobytes_is_shortened_in_text(
    words: tuple[str, ...], kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    name = "n" * 10_000
    main([*words, answers(tmp_path / "answers", name, kind)])
    printed = capfd.readouterr()
    assert printed.out or printed.err
    assert "n" * (LONGEST_WORD + 1) not in printed.out + printed.err
    assert len(printed.out + printed.err) < 10_000


def test_json_keeps_a_name_of_ten_kilobytes_whole(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    name = "n" * 10_000
    main(["--json", answers(tmp_path / "answers", name, "Failover")])
    assert f"topic-{name}" in capfd.readouterr().out


def test_controls_in_json_mean_the_same_escaped(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    main(["--json", answers(tmp_path / "answers", "a\x9b2J\x7f", "Failover")])
    text = capfd.readouterr().out
    assert "\x9b" not in text and "\x7f" not in text
    assert json.loads(text)["consumers"][0]["name"] == "a\x9b2J\x7f"


def test_words_of_a_sentence_are_shortened_one_by_one() -> None:
    long = "x" * 5_000
    result = safe_name(f"what {long} is")
    assert result.startswith("what x") and result.endswith("x is") and len(result) == LONGEST_WORD + len("what  is")
