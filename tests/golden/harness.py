"""The vectors' reader: which family has which checker, and one pass over one file.

A family is a file ``FAMILY.jsonl``. Modules in ``families/`` register checkers with :func:`checks`; a checker takes one
line and fails by an assertion. Nothing passes silently: a kind without a checker is a failure unless it is on the list
of kinds that later work covers, and those are counted.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from engine.config import ReleaseBehaviour
from tests.golden.load_lines import judged_by
from tests.releases import known

Line = dict[str, Any]
Checker = Callable[[Line], None]
BulkChecker = Callable[[list[Line]], Iterable[tuple[int, str]]]
"""Takes all lines of a family at once; gives the position of each that fails, and what is wrong with it."""

HERE = Path(__file__).parent
SCALABLE: Final = (
    "segment_hash",
    "segment_route",
    "segment_layout",
    "entry_buckets",
    "segment_assign",
    "key_consumer",
    "load_report",
    "autoscale_config",
    "autoscale_decide",
    "autoscale_cycle",
    "topic_stats",
)
"""Only releases from 5.0 have them."""
FAMILIES = (
    "murmur3",
    "partition_index",
    "failover",
    "failover_sequences",
    "bundle_hash",
    "bundles",
    "split_range",
    "split_topic_count",
    "split_specified",
    "split_flow_qps",
    "split_bundles",
    "autosplit",
    "load_average",
    "keyshared_autosplit",
    "keyshared_consistent",
    "keyshared_consistent_legacy",
    "keyshared_sticky",
    "keyshared_sticky_legacy",
    "keyshared_sticky_client",
    "routers",
    "publisher_stats",
    "partitioned_stats",
    "unit_tests",
    "shed_overload",
    "shed_threshold",
    "shed_uniform",
    "shed_avg",
    "transfer_shedder",
    "place_avg",
    "place_least_rate",
    "place_least_resource",
    "round_robin",
    "most_servicing",
    "filters",
    "bundle_choice",
    "broker_load_weighted",
    "report_needed",
    "modular_cycle",
    "strategy_pairing",
    *SCALABLE,
)
"""Families that must be checked wherever their file is."""
_OF_5_0_1: Final = (
    "shed_avg", "shed_uniform", "place_avg", "filters", "modular_cycle", "strategy_pairing",
    *SCALABLE,
)  # fmt: skip
KEPT: Final = (
    *(family for family in FAMILIES if family not in ("strategy_pairing", *SCALABLE)),
    *(f"5.0.1/{family}" for family in _OF_5_0_1),
)
"""The committed files, without their suffix."""
_RELEASES: Final = {"p501-": "5.0.1"}
"""How the ids of lines begin, and which release answered them; all others are judged by 4.2.4."""

LATER_KINDS: dict[str, frozenset[str]] = {}
"""Kinds inside a family whose theory is not modelled yet: counted, and named in the summary."""

SHOWN_FAILURES = 5

_checkers: dict[tuple[str, str | None], Checker] = {}
_bulk_checkers: dict[str, BulkChecker] = {}


def checks(family: str, kind: str | None = None) -> Callable[[Checker], Checker]:
    """Register the checker of a family, or of one kind of lines in it. Each may have one only."""

    def register(checker: Checker) -> Checker:
        assert (family, kind) not in _checkers, f"two checkers for {family}, kind {kind}"
        _checkers[family, kind] = checker
        return checker

    return register


def checks_in_bulk(family: str) -> Callable[[BulkChecker], BulkChecker]:
    """Register a second checker that gets the lines of a family that have passed the first one, all in one call."""

    def register(checker: BulkChecker) -> BulkChecker:
        assert family not in _bulk_checkers, f"two bulk checkers for {family}"
        _bulk_checkers[family] = checker
        return checker

    return register


def load_families() -> None:
    """Import every module in ``families/``, so that its checkers are registered; once for each run of Python."""
    for module in pkgutil.iter_modules([str(HERE / "families")]):
        importlib.import_module(f"tests.golden.families.{module.name}")


@dataclass
class Outcome:
    """One pass over one file: lines that met a checker, lines left for later by kind, what failed and where."""

    checked: int = 0
    later: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def report(self) -> str:
        """The first failing lines, one paragraph each."""
        shown = self.failures[:SHOWN_FAILURES]
        rest = len(self.failures) - len(shown)
        return "\n".join(shown + ([f"... and {rest} more"] if rest else []))


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that hold anything, counted from 1; as bytes, so that one bad line leaves the others."""
    with path.open("rb") as stream:
        for number, text in enumerate(stream, start=1):
            if text.strip():
                yield number, text


def release_of(line: Line) -> ReleaseBehaviour:
    """The release whose classes answered a line, or one that answers it alike."""
    text = str(line.get("id"))
    return known(next((version for start, version in _RELEASES.items() if text.startswith(start)), "4.2.4"))


def checker_of(family: str, kind: str) -> Checker | None:
    """The checker of a kind of lines; ``load_families`` has to be called before."""
    return _checkers.get((family, kind)) or _checkers.get((family, None))


def run_family(path: Path) -> Outcome:
    """Check every line of a family's file. A line that cannot be read, and one of an unknown kind, fails."""
    family = path.stem
    outcome = Outcome()
    passed: list[tuple[str, Line]] = []
    for number, text in numbered_lines(path):
        place = f"{path.name}:{number}"
        try:
            line = json.loads(text)
        except ValueError as error:  # no UTF-8 is one as well
            outcome.failures.append(f"{place}: not JSON: {error}")
            continue
        if not isinstance(line, dict):
            outcome.failures.append(f"{place}: not a JSON object")
            continue
        kind = str(line.get("kind"))
        checker = checker_of(family, kind)
        if checker is None and kind in LATER_KINDS.get(family, ()):
            outcome.later[kind] += 1
            continue
        outcome.checked += 1
        if checker is None:
            outcome.failures.append(f"{place}: no checker for kind {kind!r}")
            continue
        try:
            with judged_by(release_of(line)):
                checker(line)
        except Exception as error:  # a checker that breaks has found something, as much as one that asserts
            outcome.failures.append(f"{place} ({line.get('id', 'no id')}): {type(error).__name__}: {error}")
        else:
            passed.append((f"{place} ({line.get('id', 'no id')})", line))
    if not outcome.checked:
        outcome.failures.append(f"{path.name}: no line was checked")
    outcome.failures += _bulk_failures(path, passed)
    return outcome


def _bulk_failures(path: Path, passed: list[tuple[str, Line]]) -> list[str]:
    checker = _bulk_checkers.get(path.stem)
    if checker is None:
        return []
    by_release: dict[ReleaseBehaviour, list[tuple[str, Line]]] = {}
    for place, line in passed:
        by_release.setdefault(release_of(line), []).append((place, line))
    failures: list[str] = []
    for release, placed in by_release.items():
        try:
            with judged_by(release):
                wrong = list(checker([line for _, line in placed]))
        except Exception as error:  # as above: it has found something
            failures.append(f"{path.name}, in bulk: {type(error).__name__}: {error}")
        else:
            failures += [f"{placed[at][0]}, in bulk: {text}" for at, text in wrong]
    return failures
