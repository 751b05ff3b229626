"""Diagnoses as plain JSON, as ``ringside why --json`` prints them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from engine.diagnosis.model import Cause, Diagnosis, Setting
from engine.diagnosis.seen import parent_of

FORMAT: Final = "ringside.why/1"


def diagnosis_document(diagnosis: Diagnosis) -> dict[str, Any]:
    """What was found about one subscription."""
    return {"format": FORMAT, **_diagnosis(diagnosis)}


def diagnoses_document(diagnoses: Sequence[Diagnosis]) -> dict[str, Any]:
    """What was found about every subscription, in the given order."""
    return {"format": FORMAT, "subscriptions": [_diagnosis(diagnosis) for diagnosis in diagnoses]}


def _diagnosis(diagnosis: Diagnosis) -> dict[str, Any]:
    return {
        "moments": diagnosis.moments,
        "namespace": diagnosis.namespace,
        "subscription": diagnosis.subscription,
        "type": diagnosis.type,
        "topic": parent_of(diagnosis.topic),
        "topics": diagnosis.topics,
        "backlog": diagnosis.backlog,
        "causes": [_cause(cause) for cause in diagnosis.causes],
        "ruled_out": [{"id": ruled.id, "why": ruled.why} for ruled in diagnosis.ruled_out],
        "earlier": None
        if diagnosis.earlier is None
        else {
            "moment": diagnosis.earlier.moment,
            "at_ms": diagnosis.earlier.at_ms,
            "cause": _cause(diagnosis.earlier.cause),
        },
    }


def _cause(cause: Cause) -> dict[str, Any]:
    return {
        "id": cause.id,
        "verdict": cause.verdict.value,
        "what": cause.what,
        "topic": cause.topic,
        "topics": cause.topics,
        "blocked": list(cause.blocked),
        "by": list(cause.by),
        "waiting": cause.waiting,
        "numbers": {name: [list(pair) for pair in value] if isinstance(value, tuple) else value
                    for name, value in cause.numbers},
        "setting": None if cause.setting is None else cause.setting.name,
        "setting_in_force": None if cause.setting is None else _in_force(cause.setting),
        "fix": cause.fix,
        "fields": list(cause.fields),
    }  # fmt: skip


def _in_force(setting: Setting) -> dict[str, Any]:
    return {"value": setting.value, "default": setting.default, "source": setting.source}
