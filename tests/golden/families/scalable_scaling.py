"""Checkers of scalable topics: load records, settings, and the next automatic step."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from engine.errors import Rejection
from engine.scalable.layout import Clocks, merge, rebucket, split
from engine.scalable.load_reports import LoadRecord, Rates, is_written
from engine.scalable.model import Layout
from engine.scalable.scaling import Action, ScalingState, Step, next_steps
from engine.scalable.settings import OVERRIDABLE, AutoScaleSettings, refuse_settings, settings_in_force
from tests.golden.families.scalable import active, laid_out, refused
from tests.golden.harness import Line, checks


@checks("load_report")
def load_report(line: Line) -> None:
    given = line["in"]
    last: Rates | None = None
    written: list[bool | None] = []
    for sample in given["samples"]:
        if isinstance(sample, str):  # the stored record outlives a restart and an unload
            written.append(None)
            continue
        now = Rates(*sample)
        written.append(is_written(last, now, given["threshold"]))
        last = now if written[-1] else last
    assert written == line["out"]["written"]


@checks("autoscale_config")
def autoscale_config(line: Line) -> None:
    given, out = line["in"], dict(line["out"])
    broker = AutoScaleSettings(**given["broker"])
    settings = settings_in_force(broker, given["namespace"], given["topic"])
    shown = out.pop("shown")
    assert {name: getattr(settings, name) for name in OVERRIDABLE} == shown
    rejection = refuse_settings(settings)
    assert (asdict(settings) if rejection is None else refused(rejection)) == out


Given = dict[str, Any]


def _steps(layout: Layout, given: Given, clocks: Clocks, settings: AutoScaleSettings) -> tuple[Step, ...]:
    loads = {int(one): LoadRecord(Rates(*rates), time) for one, (*rates, time) in given["load"].items()}
    state = ScalingState(layout, loads, given["consumers"], given["bucketSharing"], clocks, settings)
    return next_steps(state, given["now"])


def _written(step: Step) -> list[Any]:
    match step.action:
        case Action.SPLIT | Action.MERGE:
            return [step.action.name.lower(), *step.segment_ids, step.reason]
        case Action.REBUCKET:
            return ["rebucket", list(step.segment_ids), step.buckets, step.reason]
        case Action.BLOCKED:
            return ["blocked", step.reason]
    return ["none"]


def _answers(steps: tuple[Step, ...]) -> list[Any]:
    return sorted(([_written(step), step.shown or None] for step in steps), key=str)


@checks("autoscale_decide")
def autoscale_decide(line: Line) -> None:
    given = line["in"]
    clocks = Clocks(given.get("lastSplit"), given.get("lastMerge"), given.get("lastRebucket"))
    steps = _steps(laid_out(given["start"], given["ops"]), given, clocks, AutoScaleSettings(**given["config"]))
    assert _answers(steps) == sorted(line["out"]["answers"], key=str)


@checks("autoscale_cycle")
def autoscale_cycle(line: Line) -> None:
    given = line["in"]
    layout = laid_out({"initial": given["initial"]}, [])
    settings = AutoScaleSettings(**given["config"])
    clocks = Clocks()
    load: Given = {}  # a record stays until it is written again
    for step, expected in zip(given["steps"], line["out"]["steps"], strict=True):
        load |= step["load"]
        answers = _steps(layout, step | {"load": load, "bucketSharing": given["bucketSharing"]}, clocks, settings)
        assert _answers(answers) == sorted(expected["answers"], key=str)
        (picked,) = [answer for answer in answers if _written(answer) == expected["picked"]]
        layout, clocks = _carried_out(layout, picked, clocks, step["now"], settings)
        assert active(layout) == expected["active"]


def _carried_out(
    layout: Layout, step: Step, clocks: Clocks, now_ms: int, settings: AutoScaleSettings
) -> tuple[Layout, Clocks]:
    changed: Layout | Rejection = layout
    match step.action:
        case Action.SPLIT:
            changed, clocks = split(layout, *step.segment_ids, now_ms), replace(clocks, last_split_ms=now_ms)
        case Action.MERGE:
            one, other = step.segment_ids
            changed = merge(layout, one, other, now_ms, max_buckets=settings.entryBucketMaxPerSegment)
            clocks = replace(clocks, last_merge_ms=now_ms)
        case Action.REBUCKET:
            for segment_id in step.segment_ids:
                assert isinstance(changed, Layout)
                changed = rebucket(changed, segment_id, step.buckets, now_ms)
            clocks = replace(clocks, last_rebucket_ms=now_ms)
    assert isinstance(changed, Layout)
    return changed, clocks
