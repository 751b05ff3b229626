"""The likeliest reason of a difference: what was wrongly taken as given is found out again."""

from __future__ import annotations

import gzip
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from engine.admin.earlier import EarlierAnswers
from engine.admin.kinds import AnswerKind
from engine.verify.answers import Answers, read_folder
from engine.verify.compare import verify_answers
from engine.verify.consumers import compare_subscription
from engine.verify.report import VerifyReport
from tests.engine.verify.folders import verify_folder

RECORDINGS = Path(__file__).parents[2] / "recordings"


def spoilt(folder: Path, recording: str, old: str, new: str) -> VerifyReport:
    """The comparison of a recording in whose answers one text is another one."""
    for file in (RECORDINGS / recording).iterdir():
        data = file.read_bytes()
        packed = file.name.endswith(".gz")
        text = (gzip.decompress(data) if packed else data).decode()
        text = text.replace(old, new)
        (folder / file.name).write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    return verify_folder(folder)


def codes(report: VerifyReport) -> set[str | None]:
    return {None if difference.likely is None else difference.likely.code for difference in report.differences}


@pytest.mark.parametrize("recording", ["a-failover-8p-hash", "a-failover-8p-modulo"])
def test_another_flag(recording: str) -> None:
    answers = read_folder(RECORDINGS / recording)
    flag = answers.settings.activeConsumerFailoverConsistentHashing
    other = structs.replace(answers.settings, activeConsumerFailoverConsistentHashing=not flag)
    assert codes(verify_answers(replace(answers, settings=other))) == {"flag"}


def test_a_lasting_disagreement_is_compared_under_other_rules_once(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = read_folder(RECORDINGS / "a-failover-8p-hash")
    flag = answers.settings.activeConsumerFailoverConsistentHashing
    wrong = replace(
        answers, settings=structs.replace(answers.settings, activeConsumerFailoverConsistentHashing=not flag)
    )
    compared = 0

    def counting(*args: Any, **more: Any) -> None:
        nonlocal compared
        compared += 1
        compare_subscription(*args, **more)

    monkeypatch.setattr("engine.verify.compare.compare_subscription", counting)
    earlier, counts, reports = EarlierAnswers(), [], []
    for _ in range(3):
        earlier.begin()
        reports.append(verify_answers(wrong, None, earlier))
        counts.append(compared)
    assert counts[0] > 0 and counts[1:] == [counts[0]] * 2
    assert reports == [verify_answers(wrong)] * 3


def test_another_release() -> None:
    answers = read_folder(RECORDINGS / "v2.11.0-e-pip79-6p")
    assert codes(verify_answers(answers)) == set()
    assert codes(verify_answers(answers, "4.2.4")) == {"release"}


def test_topics_of_a_bundle_that_is_listed_no_longer() -> None:
    answers = read_folder(RECORDINGS / "d-bundles-4x60")
    (bundle, *_) = sorted(re.findall(rb"0x[0-9a-f]{8}_0x[0-9a-f]{8}", _loaded(answers)))
    moved = tuple(
        replace(answer, data=answer.data.replace(bundle, b"0x00000001_0x00000002"))
        if answer.kind is AnswerKind.BROKER_STATS_TOPICS else answer
        for answer in answers.answers
    )  # fmt: skip
    assert codes(verify_answers(replace(answers, answers=moved))) == {"old-statistics"}


def _loaded(answers: Answers) -> bytes:
    return next(answer.data for answer in answers.answers if answer.kind is AnswerKind.BROKER_STATS_TOPICS)


def test_what_no_known_reason_fits_has_none(tmp_path: Path) -> None:
    report = spoilt(tmp_path, "a-failover-3p-modulo", '"activeConsumerName":"c-b"', '"activeConsumerName":"nobody"')
    assert report.differences
    assert codes(report) == {None}
