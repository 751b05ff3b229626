"""Segments of scalable topics that wait for an older one: who has to acknowledge, and what nobody reads."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import pytest

from engine.diagnosis.findings import findings_of
from engine.diagnosis.model import Diagnosis, Verdict
from engine.diagnosis.seen import readings_of, subscriptions_seen
from engine.diagnosis.why import diagnose_all, why
from engine.lint import Severity
from tests.engine.diagnosis.answers import Stats, consumer, diagnosed, moments, stats

SCALABLE = "admin/v2/scalable/t/n/x"
BROKER_STATS = "admin/v2/broker-stats/topics"
NAMES = ("segment://t/n/x/0000-ffff-0", "segment://t/n/x/0000-7fff-1", "segment://t/n/x/8000-ffff-2")


def answers(older: Stats, *, blocked: bool = True) -> dict[str, Any]:
    """A topic whose segment 0 was split into 1 and 2, where 20 messages wait, as one moment has it."""
    states = ("SEALED", "ACTIVE", "ACTIVE")
    segments = {
        str(at): {"name": NAMES[at], "state": states[at], "entryBuckets": 1, **({"parentIds": [0]} if at else {})}
        for at in range(3)
    }
    shown = {str(at): {"msgBacklog": 20, "blocked": blocked and at > 0} for at in range(3)}
    held = [{"consumerName": "a", "connected": True, "segmentIds": [0]}]
    topic = {"type": "STREAM", "uncoveredSegmentIds": [], "segments": shown, "consumers": held}
    younger = [stats("Exclusive", [], msgBacklog=20, topic={"msgInCounter": 20}) for _ in range(2)]
    return {
        f"{SCALABLE}/stats": {"layout": {"epoch": 1, "segments": segments}, "subscriptions": {"s": topic}},
        BROKER_STATS: {
            "t/n": {"0x00000000_0xffffffff": {"persistent": dict(zip(NAMES, (older, *younger), strict=True))}}
        },
    }


def by_segment(shown: dict[str, Any]) -> dict[str, Any]:
    """The same without the list of topics, segment by segment."""
    ((bundle,),) = (each.values() for each in shown.pop(BROKER_STATS).values())
    printed = {"terminated": False, "producers": []}
    return shown | {
        f"{SCALABLE}/segments/{at}/stats": {**bundle["persistent"][name], **printed} for at, name in enumerate(NAMES)
    }


def test_segments_are_enough_without_a_list_of_topics() -> None:
    shown = answers(held(30, "a"))
    alone = by_segment(dict(shown))
    for one in (waits(diagnosed(shown)), waits(diagnosed(alone)), waits(diagnosed(alone, alone))):
        assert (one.verdict, one.by, one.topics, one.waiting) == (Verdict.SLOWS, ("a-seg-0",), 2, 40)
    del alone[f"{SCALABLE}/segments/1/stats"]["subscriptions"]["s"]["msgBacklog"]
    assert waits(diagnosed(alone)).waiting == 20, "an unknown backlog is not counted"


def test_a_segment_that_a_later_list_has_too_is_seen_as_its_own_later_statistics_show_it() -> None:
    first = by_segment(answers(held(30, "a")))
    later = answers(held(0, "a"), blocked=False)
    for name in NAMES[1:]:
        later[BROKER_STATS]["t/n"]["0x00000000_0xffffffff"]["persistent"][name] = held(0, "a")
    both = by_segment(dict(later)) | later
    assert waits(diagnosed(first)).waiting == 40
    assert not [one for one in diagnosed(first, both).causes if one.id == "segment_waits"]


def test_the_statistics_of_the_topic_alone_are_enough() -> None:
    shown = answers(held(30, "a"))
    alone = {f"{SCALABLE}/stats": copy.deepcopy(shown[f"{SCALABLE}/stats"])}
    topic = alone[f"{SCALABLE}/stats"]["subscriptions"]["s"]
    topic["segments"]["0"] |= {"msgBacklog": 30, "consumerCount": 1}

    def cause() -> Any:
        seen = subscriptions_seen(moments(alone), partial(readings_of, by_topic=True))
        (diagnosis,) = diagnose_all(seen)
        return waits(diagnosis)

    one = cause()
    assert (one.verdict, one.by, one.topics, one.waiting) == (Verdict.SLOWS, ("a-seg-0",), 2, 40)
    topic["segments"]["0"]["consumerCount"], topic["consumers"] = 0, []
    assert (cause().verdict, cause().by) == (Verdict.BLOCKS, ())
    topic["segments"]["0"]["consumerCount"] = 1
    assert (cause().verdict, cause().by) == (Verdict.SLOWS, ()), "somebody whom the answers do not name"
    assert not [each for each in why(moments(alone)) if each.subscription]


def held(backlog: int, *names: str) -> Stats:
    consumers = [consumer(f"{name}-seg-0", unackedMessages=backlog) for name in names]
    return stats("Exclusive", consumers, msgBacklog=backlog, topic={"msgInCounter": 30})


def waits(diagnosis: Diagnosis) -> Any:
    return next(cause for cause in diagnosis.causes if cause.id == "segment_waits")


def test_who_holds_messages_of_the_older_segment_is_named() -> None:
    diagnosis = diagnosed(answers(held(30, "a")))
    cause = waits(diagnosis)
    assert (cause.verdict, cause.by, cause.topics, cause.waiting) == (Verdict.SLOWS, ("a-seg-0",), 2, 40)
    assert (cause.number("older_backlog"), cause.topic) == (30, NAMES[1])
    assert "no_consumers" not in [one.id for one in diagnosis.causes]
    (finding,) = findings_of([diagnosis], ["segment_waits"])
    assert finding.severity is Severity.WARNING


def test_an_older_segment_that_nobody_reads_blocks() -> None:
    diagnosis = diagnosed(answers(held(30)))
    assert (waits(diagnosis).verdict, waits(diagnosis).number("older_consumers")) == (Verdict.BLOCKS, 0)
    assert [one.topic for one in diagnosis.causes if one.id == "no_consumers"] == [NAMES[0]]


def test_an_older_segment_that_is_read_needs_only_the_next_check() -> None:
    cause = waits(diagnosed(answers(held(0, "a"))))
    assert (cause.verdict, cause.number("older_backlog")) == (Verdict.SLOWS, 0)


def test_an_older_segment_without_statistics_is_unknown() -> None:
    shown = answers(held(30, "a"))
    topics = copy.deepcopy(shown[BROKER_STATS])
    del topics["t/n"]["0x00000000_0xffffffff"]["persistent"][NAMES[0]]
    cause = waits(diagnosed({**shown, BROKER_STATS: topics}))
    assert (cause.verdict, cause.by) == (Verdict.SLOWS, ())


@pytest.mark.parametrize("without", ["printed", "read"])
def test_a_segment_that_does_not_wait_is_judged_as_any_topic(without: str) -> None:
    shown = answers(held(30, "a"), blocked=without != "printed")
    if without == "read":
        del shown[f"{SCALABLE}/stats"]
    diagnosis = diagnosed(shown)
    assert "segment_waits" not in [one.id for one in diagnosis.causes]
    assert [one.topics for one in diagnosis.causes if one.id == "no_consumers"] == [2]
