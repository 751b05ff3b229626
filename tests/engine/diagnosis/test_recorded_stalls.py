"""Every stall that was made on a real broker has its name and exit code 1, and its healthy twin has neither."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from engine.diagnosis.model import Verdict
from tests.engine.diagnosis.stalls import NAMES, stall
from tests.tui.cli.conftest import Run, run

__all__ = ["run"]

FAULTS: Final = tuple(name for name in NAMES if not name.endswith("-healthy"))
CAUSES: Final = {
    "never-acknowledged": {"sent_not_acknowledged"},
    # Of one that gets everything, that it has no permits says as much, and that it has never asked.
    "never-asked-exclusive": {"no_permits"},
    "never-asked-failover": {"failover_active_no_permits"},
    "never-asked": {"consumer_never_asked"},
    "lost-partitions": {"consumer_lost_partitions"},
    "cursor-reset-failover": {"failover_active_no_permits"},
    "cursor-reset": {"no_permits", "keyshared_no_permits"},
}
FINE: Final = {Verdict.FINE.value, Verdict.BY_DESIGN.value}


def diagnosed(run: Run, name: str, folder: Path, *words: str) -> tuple[int, dict[str, object]]:
    for time, answers in stall(name).items():
        for path, answer in answers.items():
            file = folder / "dump" / time / f"{path}.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(answer))
    ran = run("why", str(folder / "dump"), "--json", *words)
    return ran.code, json.loads(ran.out)


@pytest.mark.parametrize("name", FAULTS)
def test_a_stall_has_its_name(name: str, run: Run, tmp_path: Path) -> None:
    code, row = diagnosed(run, name, tmp_path)
    expected = next(causes for stall_name, causes in CAUSES.items() if name.startswith(stall_name))
    first = row["causes"][0]  # type: ignore[index]
    assert (code, row["subscription"]) == (1, "billing")
    assert first["id"] in expected
    assert first["verdict"] not in FINE
    if not name.startswith("lost"):
        assert first["by"] == ["worker-1"]


@pytest.mark.parametrize("name", FAULTS)
def test_nothing_is_wrong_with_its_twin(name: str, run: Run, tmp_path: Path) -> None:
    code, row = diagnosed(run, f"{name}-healthy", tmp_path)
    assert code == 0
    assert {cause["verdict"] for cause in row["causes"]} <= FINE  # type: ignore[attr-defined]


def test_there_are_four_faults_of_four_types_each_with_its_twin() -> None:
    assert len(FAULTS) == 15
    assert {f"{name}-healthy" for name in FAULTS} == set(NAMES) - set(FAULTS)
