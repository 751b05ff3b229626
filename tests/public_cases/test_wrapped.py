"""An answer that somebody pasted opens to the same facts as the answer itself."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any, Final

import pytest
from msgspec import structs

from engine.admin.facts import Counts, Snapshot
from engine.admin.files import AnswerFile
from engine.admin.snapshot import read_answers
from engine.reading.margins import without_margins
from tests.public_cases.answers import Recorded, recorded
from tests.public_cases.wrappers import ALL, OF_STATISTICS, YAML, Wrapper

_MENDED: Final = re.compile(r"passed over|was mended|UTF-16|byte order mark")


def _facts(snapshot: Snapshot) -> tuple[Any, ...]:
    """All that a snapshot says of a cluster, without the names of files."""
    topics = {name: replace(topic, source="", kind="") for name, topic in snapshot.topics.items()}
    return (
        topics, snapshot.bundles, snapshot.bundle_of_topic, snapshot.known_names, snapshot.settings, snapshot.version,
        snapshot.ledgers, snapshot.topic_policies, snapshot.configuration, snapshot.loaded, snapshot.owners,
        snapshot.broker_loads, snapshot.namespace_policies.keys(),
    )  # fmt: skip


@cache
def _bare(answer: Recorded) -> tuple[Any, ...]:
    path, _, query = answer.path.partition("?")
    snapshot = read_answers(AnswerFile(f"{path.strip('/')}{'@' if query else ''}{query}.json", answer.data))
    assert snapshot.problems == ()
    return _facts(snapshot)


@pytest.mark.parametrize("wrapper", (*ALL, *YAML, *OF_STATISTICS), ids=lambda wrapper: wrapper.__name__)
def test_a_wrapped_answer_has_the_facts_of_the_bare_one(wrapper: Wrapper) -> None:
    wrong = {}
    for answer in recorded():
        if wrapper in OF_STATISTICS and not answer.is_statistics:
            continue
        wrapped = read_answers(AnswerFile("paste.txt", wrapper(answer)))
        reasons = [problem.reason for problem in wrapped.problems if not _MENDED.search(problem.reason)]
        if reasons or _facts(structs.replace(wrapped, counts=Counts())) != _bare(answer):
            wrong[f"{answer.name} {answer.path}"] = reasons or "other facts"
    assert wrong == {}


def test_there_are_as_many_wrappers_and_answers_as_promised() -> None:
    assert len({answer.name for answer in recorded()}) >= 20
    assert len({*ALL, *YAML, *OF_STATISTICS}) >= 25


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}\n{"b": 2}\n{"c": 3}',
        "first | one\nsecond | two\nthird | three",
        "L1 is a lane\nL2 is another\nL3 too",
        '{"log": "a {code} and `{noformat}`"}',
        '"body": "no JSON at all"',
        '{"log": "x", "stdout": "{\\n\\"a\\": 1}"}\n{"msgRateIn": 1.0}',
    ],
)
def test_what_has_no_margin_stays_as_it_is(text: str) -> None:
    assert without_margins(text) == text


def test_lines_keep_their_numbers_without_their_margins() -> None:
    text = "\n".join(f"web-1 | {line}" for line in ("$ x", '{"a":', "1}", "end"))
    assert without_margins(text) == '$ x\n{"a":\n1}\nend'
    assert without_margins("\n".join(text.splitlines()[:2])) == "\n".join(text.splitlines()[:2])
