"""Figures as OpenMetrics text: families with their help, samples with escaped labels, and the mark of the end."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from engine.text import visible

CONTENT_TYPE: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"
LONGEST_LABEL: Final = 256
"""In characters: names from outside are no place for whole documents."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One number, and what tells it from the others of its family, in the order in which it is written."""

    value: float
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Family:
    """Numbers of one name and meaning. A counter's name has no ``_total``: that is written behind it."""

    name: str
    meaning: str
    samples: tuple[Sample, ...]
    kind: Literal["gauge", "counter"] = "gauge"


def exposition(families: Iterable[Family]) -> str:
    r"""The text that a scraper reads. A family without samples is left out.

    >>> print(exposition([Family("x", "how many", (Sample(2, (("name", 'a"b'),)),))]), end="")
    # TYPE x gauge
    # HELP x how many
    x{name="a\"b"} 2
    # EOF
    """
    lines: list[str] = []
    for family in families:
        if not family.samples:
            continue
        lines += [f"# TYPE {family.name} {family.kind}", f"# HELP {family.name} {_escaped(family.meaning)}"]
        suffix = "_total" if family.kind == "counter" else ""
        lines += [f"{family.name}{suffix}{_labels(each)} {_number(each.value)}" for each in family.samples]
    return "\n".join([*lines, "# EOF", ""])


def _labels(sample: Sample) -> str:
    if not sample.labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(_short(value))}"' for name, value in sample.labels) + "}"


def _short(value: str) -> str:
    shown = visible(value)
    return shown if len(shown) <= LONGEST_LABEL else f"{shown[: LONGEST_LABEL - 1]}…"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))
