"""Every golden line, family by family: the engine answers what Pulsar's own classes answered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.golden.harness import FAMILIES, load_families, run_family
from tests.own_folder import GOLDEN


def test_family(family: str, golden_dir: Path, record_property: Callable[[str, object], None]) -> None:
    """All lines of one family hold; what was checked and what was left for later is said at the end of the run."""
    load_families()
    path = golden_dir / f"{family}.jsonl"
    if not path.is_file():
        record_property(GOLDEN.name, f"{family}: absent")
        pytest.fail(f"{path} is missing", pytrace=False)
    outcome = run_family(path)
    said = f"{family}: {outcome.checked} lines checked"
    if outcome.failures:
        said += f", {len(outcome.failures)} failed"
    if outcome.later:
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(outcome.later.items()))
        said += f"; not covered yet: {kinds}"
    record_property(GOLDEN.name, said)
    if outcome.failures:
        pytest.fail(f"{len(outcome.failures)} of {outcome.checked} lines failed\n{outcome.report()}", pytrace=False)


def test_the_folder_holds_known_families(golden_dir: Path) -> None:
    """A folder without any family is a mistake, never a success."""
    assert [family for family in FAMILIES if (golden_dir / f"{family}.jsonl").is_file()], f"no vectors in {golden_dir}"
