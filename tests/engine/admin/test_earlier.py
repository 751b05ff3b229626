"""Answers decoded with the memory of the reading before are the same as without it, and what is the same is kept."""

from __future__ import annotations

import random

import pytest

from engine.admin.earlier import EarlierAnswers, EarlierParts
from engine.admin.files import AnswerFile
from engine.admin.folders import FilesRead
from engine.admin.moments import Moment, read_moments
from engine.verify.answers import answers_of
from engine.verify.compare import verify_answers
from tests.playing.server import recorded

TOPIC = "persistent://public/default/orders-partition-{}"
PARTITIONS = 6
CHANGES = (
    (b'"msgRateOut":0.0', b'"msgRateOut":%d.5'),
    (b'"unackedMessages":0', b'"unackedMessages":%d'),
    (b'"c-1"', b'"c-%d"'),
    (b'"msgBacklog":0', b'"msgBacklog":"%d"'),  # not a number: the topic is set aside
    (b'{"', b'{"twice":1,"twice":%d,"'),
    (b'"partitions":{', b'"partitions":%d{'),  # not JSON
)


def files(turn: int) -> tuple[AnswerFile, ...]:
    """The recorded answers, with changes that depend on the turn."""
    draw = random.Random(turn)
    answers = dict(recorded())
    for path in draw.sample(sorted(answers), 6):
        old, new = draw.choice(CHANGES)
        place = draw.randrange(1 + answers[path].count(old))
        pieces = answers[path].split(old)
        if len(pieces) > place + 1:
            data = old.join(pieces[: place + 1]) + new.replace(b"%d", b"%d" % turn) + old.join(pieces[place + 1 :])
            answers[path] = data
    return tuple(AnswerFile(path.lstrip("/").replace("?", "@") + ".json", data) for path, data in answers.items())


def moment(read: tuple[AnswerFile, ...], earlier: EarlierAnswers | None = None) -> Moment:
    (only,) = read_moments(*read, title="here", earlier=earlier)
    return only


@pytest.mark.parametrize("seed", range(5))
def test_a_memory_changes_no_result(seed: int) -> None:
    earlier = EarlierAnswers()
    for turn in range(12):
        earlier.begin()
        read = files(seed * 100 + turn // 2)
        assert moment(read, earlier) == moment(read)
        folder = FilesRead(read, (), ())
        again = verify_answers(answers_of(folder, "here", earlier), None, earlier)
        assert again == verify_answers(answers_of(folder, "here"))


def test_only_the_topic_with_other_bytes_is_decoded_again() -> None:
    path = "admin/v2/persistent/public/default/orders/partitioned-stats.json"
    answers = {name.lstrip("/").replace("?", "@") + ".json": data for name, data in recorded().items()}
    earlier = EarlierAnswers()
    first = moment(tuple(AnswerFile(*one) for one in answers.items()), earlier)
    begin = answers[path].index(TOPIC.format(3).encode())
    answers[path] = answers[path][:begin] + answers[path][begin:].replace(b'"msgRateOut":0.0', b'"msgRateOut":7.5', 1)
    earlier.begin()
    second = moment(tuple(AnswerFile(*one) for one in answers.items()), earlier)
    same = [second.snapshot.topics[TOPIC.format(at)] is first.snapshot.topics[TOPIC.format(at)]
            for at in range(PARTITIONS)]  # fmt: skip
    assert same == [True, True, True, False, True, True]
    assert second.snapshot.topics[TOPIC.format(3)].msg_rate_out_msgs_per_sec == 7.5


def test_what_a_reading_does_not_ask_for_is_forgotten() -> None:
    decoded: list[str] = []

    def decode(_: EarlierParts) -> str:
        decoded.append("again")
        return "value"

    earlier = EarlierAnswers()
    for asks in (True, True, False, True):
        earlier.begin()
        if asks:
            assert earlier.get("purpose", "name", b"data", decode) == "value"
    assert len(decoded) == 2
