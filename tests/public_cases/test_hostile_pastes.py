"""Whatever a text holds, it opens to facts of the answers in it or to a sentence, in time that grows with the text."""

from __future__ import annotations

import json
import random
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.admin.facts import CursorFacts, Snapshot
from engine.admin.files import AnswerFile
from engine.admin.moments import Moment
from engine.admin.snapshot import read_answers
from engine.diagnosis.why import why
from engine.errors import InputError
from engine.reading.lenient import DEEPEST, Reader
from engine.reading.paste import MAX_PASTE_BYTES, read_paste
from tests.public_cases.answers import Recorded, recorded
from tests.public_cases.wrappers import ALL, OF_STATISTICS, YAML, plain_prompt, prompted

PIECES: Final = st.sampled_from(
    ["{", "}", "[", "]", '"', "'", ",", ":", "\n", " ", "...", "…", "//x", "/*", "*/", "#", "1", "-", "True", "None",
     "a=", "A(a=1", ")", "“", "”", "\\", "\x1b[0m", "> ", "12:", '"msgRateIn": 1', '"subscriptions": {', "- a: b\n",
     "persistent://t/n/x", "$ pulsar-admin topics stats x\n", "msgRateIn: 1\n", "\t", "\r\n", "\u00a0", "\ud800",
     "\x00", "&quot;"]
)  # fmt: skip


def _opened(data: bytes) -> Snapshot | None:
    """What is read of a text, None where it is refused with a sentence."""
    try:
        return read_answers(AnswerFile("paste.txt", data))
    except InputError as error:
        assert str(error)
        return None


@given(st.lists(PIECES, max_size=60))
@settings(max_examples=400, deadline=None)
def test_any_text_is_read_or_refused_and_what_is_mended_is_json(pieces: list[str]) -> None:
    data = "".join(pieces).encode("utf-8", "surrogatepass")
    _opened(data)
    for document in read_paste(data).documents:
        json.loads(document.data)
        assert 1 <= document.line <= data.count(b"\n") + data.count(b"\r") + 1


@given(st.integers(0, 2**32), st.sampled_from([*ALL, *YAML, *OF_STATISTICS]))
@settings(max_examples=150, deadline=None)
def test_damaged_pastes_are_read_or_refused(seed: int, wrapper: object) -> None:
    chance = random.Random(seed)
    answer = chance.choice([answer for answer in recorded() if answer.is_statistics and len(answer.data) < 60_000])
    assert callable(wrapper)
    data = bytearray(wrapper(answer))
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(data))
        length = chance.choice((1, 1, 7, 300))
        match chance.randrange(3):
            case 0:
                del data[at : at + length]
            case 1:
                data[at:at] = bytes(chance.choice(b"{}[]\",:'\n \\x#\xff") for _ in range(length))
            case _:
                data[at:at] = data[chance.randrange(len(data)) :][:length]
    _opened(bytes(data))


@pytest.mark.parametrize("command", ["brokers list c", "brokers namespaces c --url b", "topics stats x"])
def test_a_byte_that_is_no_text_in_a_command_costs_no_answer(command: str) -> None:
    (answer, *_) = (answer for answer in recorded() if answer.is_statistics)
    opened = _opened(f"$ pulsar-admin {command}".encode() + b"\xff\n" + answer.data)
    assert opened is not None and opened.topics


UNKNOWN: Final = ("None", None)
"""Type and backlog of a subscription of which the answer has a part."""
STATISTICS: Final = [pytest.param(answer, id=answer.name) for answer in recorded() if answer.is_statistics]


@pytest.mark.parametrize("answer", STATISTICS)
def test_of_a_cut_answer_nothing_is_kept_that_the_whole_one_does_not_say(answer: Recorded) -> None:
    whole = read_answers(AnswerFile("paste.txt", plain_prompt(answer)))
    text = plain_prompt(answer)
    chance = random.Random(answer.name)
    for _ in range(40):
        cut = _opened(text[: chance.randrange(len(text))])
        for name, topic in cut.topics.items() if cut is not None else ():
            known = {sub.name: sub for sub in whole.topics[name].subscriptions}
            for sub in topic.subscriptions:
                same = known[sub.name]
                both = sub.type, sub.msg_backlog_entries
                assert both in ((same.type, same.msg_backlog_entries), UNKNOWN)
                assert sub.consumers in ((), same.consumers)
                assert set(sub.some_consumers[:-1]) <= set(same.consumers)
        for name, ledger in cut.ledgers.items() if cut is not None else ():
            for cursor, facts in ledger.cursors.items():
                same_cursor = whole.ledgers[name].cursors[cursor]
                only_marked = CursorFacts(same_cursor.mark_delete_position, None)
                assert facts in (same_cursor, only_marked, CursorFacts(None, None))


@pytest.mark.parametrize("answer", STATISTICS)
def test_a_part_of_an_answer_claims_no_harm_that_the_whole_one_does_not(answer: Recorded) -> None:
    """The end is missing, the beginning, or both, as of what was still on a screen."""
    lines = plain_prompt(answer).splitlines(keepends=True)
    harms = _harms(read_answers(AnswerFile("paste.txt", b"".join(lines))))
    chance = random.Random(answer.name)
    for _ in range(30):
        ends = sorted((chance.randrange(1, len(lines) + 1), chance.choice((0, len(lines)))))
        part = _opened(b"".join(lines[slice(*ends)]))
        assert part is None or _harms(part) <= harms


def _harms(snapshot: Snapshot) -> set[tuple[str, tuple[str, ...]]]:
    """The causes that harm, with those who make others wait."""
    causes = [cause for diagnosis in why([Moment(None, snapshot)]) for cause in diagnosis.causes]
    return {(cause.id, cause.by) for cause in causes if cause.verdict.harms}


@pytest.mark.parametrize(
    "piece",
    ['{"a":', "[[", '{"a" ', '\n{"a" 1', '{"a": ...,', "/* {", '\n"a": {', "{\n", '\n{"msgRateIn": 1,\nfoo bar',
     '{"a": "b\n', "pulsar-admin ", "for i in {0..99999}; do pulsar-admin topics stats a$i\n", "Abc (a=", "> > {",
     "\n1:{", "&quot;", "x\x08", "{'a': ('", "\n[{}", "“", "{}\n"],
)  # fmt: skip
def test_a_long_row_of_one_piece_is_read_step_by_step(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps are counted and not seconds: twice the text takes at most about twice the steps."""
    counts: list[int] = []
    step = Reader._step

    def counted(reader: Reader) -> bool:
        counts[-1] += 1
        return step(reader)

    monkeypatch.setattr(Reader, "_step", counted)
    for size in (20_000, 40_000):
        counts.append(0)
        _opened((piece * (size // len(piece))).encode())
    assert counts[1] <= 2.5 * counts[0] + 200


def test_depth_and_size_are_bounded() -> None:
    deep = b"$ curl\n" + b'{"msgRateIn":1,"x":' * 400
    assert any(f"more than {DEEPEST} levels" in note.text for note in read_paste(deep).notes)
    assert read_paste(b"$ x\n{}" + b" " * MAX_PASTE_BYTES).documents == ()


def test_references_in_yaml_are_refused() -> None:
    bomb = "msgRateIn: 1\na: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"
    assert _opened(bomb.encode()) is None


def test_a_sound_answer_never_goes_to_the_reader_of_pastes(monkeypatch: pytest.MonkeyPatch) -> None:

    def never(*_: object) -> None:
        raise AssertionError("a sound answer was searched for others")

    monkeypatch.setattr("engine.reading.paste.read_paste", never)
    for answer in recorded():
        path, _, query = answer.path.partition("?")
        assert _opened(answer.data) is not None or "/stats" in path, query


def test_nothing_of_one_answer_is_in_another() -> None:
    by_path = {answer.path: answer for answer in recorded() if answer.path.partition("?")[0].endswith("/stats")}
    text = b"\n".join(prompted(answer, answer.data.decode()) for answer in by_path.values())
    together = read_answers(AnswerFile("paste.txt", text))
    for answer in by_path.values():
        alone = read_answers(AnswerFile("paste.txt", prompted(answer, answer.data.decode())))
        for name, topic in alone.topics.items():
            assert together.topics[name].subscriptions == topic.subscriptions
