"""A judged plan as a document, and as SARIF for code hosts."""

from __future__ import annotations

from typing import Any, Final

from engine.plan.model import GOALS, Judged, Outcome

FORMAT: Final = "ringside.check/1"
SARIF_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def check_document(judged: Judged) -> dict[str, Any]:
    """Every goal with what was found."""
    return {
        "format": FORMAT,
        "source": judged.plan.source,
        "release": judged.plan.release,
        "met": not judged.missed,
        "goals": [
            {
                "part": outcome.part,
                "goal": outcome.goal.kind,
                "allowed": outcome.goal.allowed,
                "losses": outcome.goal.losses,
                "by_messages": outcome.goal.by_messages,
                "met": outcome.met,
                "found": outcome.found,
                "who": list(outcome.who),
                "key": outcome.key,
                "reason": outcome.reason,
                "line": outcome.goal.line,
            }
            for outcome in judged.outcomes
        ],
    }


def sarif_document(judged: Judged, sentences: dict[Outcome, str], version: str) -> dict[str, Any]:
    """SARIF 2.1.0 with a result for each goal that is missed, at its line; ``sentences`` say what was found."""
    return {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "ringside",
                        "version": version,
                        "rules": [{"id": kind, "shortDescription": {"text": text}} for kind, text in GOALS.items()],
                    }
                },
                "results": [
                    {
                        "ruleId": outcome.goal.kind,
                        "level": "error",
                        "message": {"text": sentences[outcome]},
                        "locations": [
                            {
                                "physicalLocation": {
                                    "artifactLocation": {"uri": judged.plan.source},
                                    "region": {"startLine": outcome.goal.line},
                                }
                            }
                        ],
                    }
                    for outcome in judged.missed
                ],
            }
        ],
    }
