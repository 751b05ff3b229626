"""What a rule is: an id, a sentence about it, and a function from one case to its findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from engine.lint.model import Finding, Severity

Case = TypeVar("Case")


@dataclass(frozen=True, slots=True)
class Rule(Generic[Case]):
    """``worst`` is the highest severity it gives; ``source`` are Pulsar's threads or classes it comes from."""

    id: str
    about: str
    worst: Severity
    source: str
    check: Callable[[Case], Iterable[Finding]]
