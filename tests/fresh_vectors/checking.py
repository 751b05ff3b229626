"""Fresh lines, answered by Pulsar and held against the engine."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from engine.config import ReleaseBehaviour
from tests.fresh_vectors.families import DRAWN
from tests.fresh_vectors.inputs import ANSWERED, Case, fresh, seeds
from tests.fresh_vectors.pulsar import POLICIES, Pulsar
from tests.golden.harness import HERE as KEPT
from tests.golden.harness import checker_of, load_families

AT_ONCE: Final = 250
"""Lines of each family for one Java process, which takes a second to start."""


@dataclass(slots=True)
class Checked:
    """How many lines of a family were checked, and those that differ, each with what is wrong."""

    lines: int = 0
    differing: list[tuple[Case, str]] = field(default_factory=list)


def check(
    pulsar: Pulsar, families: Iterable[str], lines: int, seed: int, behaviour: ReleaseBehaviour
) -> dict[str, Checked]:
    """Check so many new lines of each family, of the kinds that the release can answer; none where it has none."""
    load_families()
    average_alone = behaviour.load.avg_placement_alone == "replaced"
    every = seeds(KEPT, with_clusters=pulsar.has_clusters_in_names, with_policies=POLICIES not in pulsar.lacking)
    results = {family: Checked() for family in families}
    draws = {family: random.Random(f"{seed} {family}") for family in results}
    kept = {
        family: [case for case in every[family] if case["kind"] not in pulsar.lacking]
        for family in results
        if family in ANSWERED
    }

    def cases_of(family: str, count: int) -> Iterator[Case]:
        draw = draws[family]
        if family in DRAWN:
            drawn = (DRAWN[family].draw(draw, behaviour) for _ in range(count))
            return (case for case in drawn if case["kind"] not in pulsar.lacking)
        return fresh(kept[family], count, draw, average_alone=average_alone) if kept[family] else iter(())

    for begin in range(0, lines, AT_ONCE):
        count = min(AT_ONCE, lines - begin)
        drawn = [(family, case) for family in results for case in cases_of(family, count)]
        answered = pulsar.answered([case for _, case in drawn])
        for (family, _), case in zip(drawn, answered, strict=True):
            if case["kind"] not in pulsar.lacking:
                line = DRAWN[family].line(case, behaviour) if family in DRAWN else case
                _check(family, line, results[family])
    return results


def _check(family: str, line: Case, result: Checked) -> None:
    result.lines += 1
    checker = checker_of(family, str(line.get("kind")))
    assert checker is not None, family
    try:
        checker(line)
    except Exception as error:  # a checker that breaks has found something, as much as one that asserts
        result.differing.append((line, f"{type(error).__name__}: {error}"))
