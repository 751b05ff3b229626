"""The steps of a ``scenario.json``: the requests with their answers, who is connected, and what consumers got.

Owns what one step tells, and which of its facts are of kinds that are not modelled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from engine.admin.kinds import AnswerKind, recognise
from engine.admin.requests import parse_request
from engine.errors import Problem
from tests.lab.key_shared.steps import KEY_SHARED_FACTS, is_key_shared, key_shared_told
from tests.lab.members import dicts, items, text, whole
from tests.lab.producers.steps import PRODUCER_FACTS, producers_scenario, producers_told
from tests.lab.recording import Answer, Step
from tests.lab.scenario_files import Files

_REFUSED: Final = 400
# Members of steps that hold facts of kinds that are not modelled; the report counts them.
_STEP_FACTS = KEY_SHARED_FACTS | PRODUCER_FACTS


@dataclass(frozen=True, slots=True)
class _Forms:
    """What the scenario is about."""

    key_shared: bool
    producers: bool


def steps_of(scenario: dict[str, Any], files: Files) -> tuple[Step, ...]:
    """The steps in order; one without a label has its number. Files that they name count as used."""
    steps: list[Step] = []
    forms = _Forms(is_key_shared(scenario), producers_scenario(scenario) is not None)
    for place, raw in enumerate(items(scenario.get("steps"))):
        if isinstance(raw, dict):
            answers = _answers(raw, files, f"$.steps[{place}]")
            steps.append(_step(raw, str(raw.get("step", len(steps) + 1)), answers, forms))
    return tuple(steps)


def _answers(step: dict[str, Any], files: Files, where: str) -> tuple[Answer, ...]:
    """The answers of a step but those about names that no broker has: they are set aside with their place.

    A broker that refused such a name did what it should, and its refusal is kept.
    """
    found: list[Answer] = []
    for place, raw in enumerate(items(step.get("answers"))):
        if not isinstance(raw, dict):
            continue
        answer = _answer(raw, files)
        if answer.request.fault and (answer.status is None or answer.status < _REFUSED):
            at = f"{where}.answers[{place}].request"
            files.problems.append(Problem(files.scenario, at, answer.request.fault, "what it answered is set aside"))
        else:
            found.append(answer)
    return tuple(found)


def untold_of(scenario: dict[str, Any]) -> tuple[tuple[str, int], ...]:
    """Facts of steps that are not modelled, with the number of steps that tell them, by name."""
    untold: dict[str, int] = {}
    modelled = KEY_SHARED_FACTS if is_key_shared(scenario) else frozenset[str]()
    modelled |= PRODUCER_FACTS if producers_scenario(scenario) is not None else frozenset[str]()
    for raw in dicts(scenario.get("steps")):
        for name in raw.keys() & _STEP_FACTS - modelled:
            untold[name] = untold.get(name, 0) + 1
    return tuple(sorted(untold.items()))


def _answer(raw: dict[str, Any], files: Files) -> Answer:
    request = parse_request(text(raw.get("request")))
    status = whole(raw.get("status"))
    name = text(raw.get("file"))
    data = files.data(name) if name else b""
    kind = recognise(name, data) if data else AnswerKind.OTHER
    return Answer(
        request,
        status,
        name,
        data,
        kind,
        raw.get("body"),
        "no_answer_after_s" not in raw,
        text(raw.get("from")),
        text(raw.get("location")),
    )


def _step(raw: dict[str, Any], label: str, answers: tuple[Answer, ...], forms: _Forms) -> Step:
    connected = raw.get("connected")
    notices = raw.get("notices")
    delivered = raw.get("delivered")
    return Step(
        label,
        answers,
        tuple(text(each) for each in connected) if isinstance(connected, list) else None,
        _notices(notices) if isinstance(notices, dict) else None,
        _delivered(delivered) if isinstance(delivered, dict) and not forms.key_shared else None,
        key_shared_told(raw) if forms.key_shared else None,
        producers_told(raw) if forms.producers else None,
    )


def _notices(raw: dict[str, Any]) -> dict[str, tuple[tuple[str, bool], ...]]:
    return {
        who: tuple((text(pair[0]), bool(pair[1])) for pair in told if isinstance(pair, list) and len(pair) == 2)
        for who, told in raw.items()
        if isinstance(told, list)
    }


def _delivered(raw: dict[str, Any]) -> dict[str, dict[str, int]] | None:
    """Only the form partition -> consumer -> number of messages."""
    found: dict[str, dict[str, int]] = {}
    for partition, counts in raw.items():
        if not isinstance(counts, dict):
            return None
        found[partition] = {who: count for who, count in counts.items() if isinstance(count, int)}
    return found
