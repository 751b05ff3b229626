"""What is counted while it runs, and how a disagreement is said."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

_SHOWN = 600


class DisagreementError(AssertionError):
    """The engine and an oracle differ; ``check`` names what was compared, in which ``group`` of checks."""

    def __init__(self, check: str, detail: str, group: str = "") -> None:
        super().__init__(f"{check}: {detail}")
        self.check = check
        self.group = group


@dataclass(slots=True)
class Tally:
    """``checks``: comparisons by name; ``events``: of the engine, steps that changed something."""

    checks: Counter[str] = field(default_factory=Counter)
    commands: int = 0
    refused: int = 0
    events: int = 0

    def agree(self, check: str, engine: Any, oracle: Any, about: object = "") -> None:
        """Count one comparison. Raises DisagreementError where the two differ."""
        self.checks[check] += 1
        if engine != oracle:
            raise DisagreementError(check, f"{about} engine {_short(engine)}, oracle {_short(oracle)}")

    def holds(self, check: str, true: bool, about: object = "") -> None:
        """Count one law. Raises DisagreementError where it does not hold."""
        self.checks[check] += 1
        if not true:
            raise DisagreementError(check, str(about))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
