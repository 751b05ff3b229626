"""Checkers of scalable topics: the statistics of a topic from those of its segments."""

from __future__ import annotations

from typing import Any

import msgspec

from engine.scalable.statistics import SegmentStatistics
from tests.golden.families.scalable import TOPIC, laid_out
from tests.golden.harness import Line, checks
from tests.golden.scalable_builder import Registered, Session, topic_statistics


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(each) for name, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list | tuple) else value


@checks("topic_stats")
def topic_stats(line: Line) -> None:
    given = line["in"]
    segments = {int(one): msgspec.convert(each, SegmentStatistics) for one, each in given["segmentStats"].items()}
    registered = Registered(
        given["types"],
        {
            name: [Session(one, connected, tuple(ids)) for one, connected, ids in sessions]
            for name, sessions in given["sessions"].items()
        },
        given["blocked"],
        given["checkpointGroups"],
    )
    statistics = topic_statistics(TOPIC, laid_out(given["start"], given["ops"]), segments, registered)
    assert _without_nulls(msgspec.to_builtins(statistics)) == line["out"]
