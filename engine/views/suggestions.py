"""Suggestions as documents: names, numbers of consumers, partitions, bundles and points, the flag."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from engine.compare.names import Fit, Score
from engine.compare.sizes import Goal, Sizing
from engine.compare.verdict import Verdict

FORMAT: Final = "ringside.suggest/1"


def names_document(fit: Fit, *, fitted_to: str, seed: int) -> dict[str, Any]:
    """Names, what they were fitted to, and what they are worth there and elsewhere."""
    return _document(
        "names",
        names={
            "given": list(fit.given),
            "names": list(fit.names),
            "before": asdict(fit.before),
            "after": asdict(fit.after),
            "held_out_before": _score(fit.held_out_before),
            "held_out_after": _score(fit.held_out_after),
            "fitted_to": fitted_to,
            "seed": seed,
            "tried": fit.tried,
        },
    )


def sizing_document(kind: str, sizing: Sizing, goal: Goal) -> dict[str, Any]:
    """A number with the curve around it."""
    plain = asdict(sizing) | {"goal": asdict(goal)}
    del plain["rows"]
    return _document(kind, sizing=plain, rows=[asdict(row) for row in sizing.rows])


def flag_document(verdict: Verdict, *, on: bool) -> dict[str, Any]:
    """The flag: what the other setting would make of it. ``on`` is the present one."""
    return _document("flag", flag={"on": on, "verdict": asdict(verdict), "change": verdict.judgement == "better"})


def _document(kind: str, **members: Any) -> dict[str, Any]:
    return {"format": FORMAT, "kind": kind, "names": None, "sizing": None, "rows": [], "flag": None} | members


def _score(score: Score | None) -> dict[str, float] | None:
    return None if score is None else asdict(score)
